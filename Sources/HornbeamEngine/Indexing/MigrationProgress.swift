// SPDX-License-Identifier: Apache-2.0
// The progress that a database reports while it is opened: the work that its schema needs.

/// Progress of a step of opening. Each step counts its own rows; `done` never exceeds `total`.
public struct MigrationProgress: Sendable, Equatable {
    /// The kind of work.
    public enum Step: String, Sendable {
        /// Rows get other columns: properties are converted, derived or forgotten.
        case migratingRows
        /// Links are converted: the links of a relation or, as an intermediate step, of a whole type.
        case migratingLinks
        /// Rows that are older than a property get its default.
        case completingRows
        /// An index is built from the rows.
        case buildingIndex
        /// A step of the program's own.
        case running
    }

    /// The work of the step.
    public var step: Step
    /// The entity type; empty for a step of the program's own.
    public var entity: String
    /// The index, the relation or the program's own step; empty for work on all rows or all links of a type.
    public var name: String
    /// Number of rows or links that are done.
    public var done: Int
    /// Number of rows or links in this step.
    public var total: Int

    /// Receives a report at the end of a step and every 1,024 rows. If it throws, opening fails with the error, and the
    /// file is unchanged.
    public typealias Handler = (MigrationProgress) throws -> Void
}

/// Reports the progress of one step, at its end and every 1,024 rows.
package struct StepProgress {
    private let handler: MigrationProgress.Handler?
    private var progress: MigrationProgress

    package init(
        _ step: MigrationProgress.Step, _ entity: String, _ name: String = "", total: Int,
        _ handler: MigrationProgress.Handler?
    ) {
        self.handler = handler
        progress = MigrationProgress(step: step, entity: entity, name: name, done: 0, total: total)
    }

    mutating func advance() throws {
        progress.done += 1
        if progress.done.isMultiple(of: 1024), progress.done < progress.total { try handler?(progress) }
    }

    package mutating func finish() throws {
        progress.done = progress.total
        try handler?(progress)
    }
}
