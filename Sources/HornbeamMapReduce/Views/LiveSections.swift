// SPDX-License-Identifier: Apache-2.0
// A view's list with sections, observed after each commit. Between two elements the observer keeps the state that it
// has reported, so that the next element is the difference of two states, however many commits lie between.

import HornbeamTree

/// A list with sections as it is now.
public struct LiveSections<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    /// The positions and number of rows.
    public let mappings: ViewMappings<Entity, Group>
    /// The changes since the element before; nil in the first one, and if the state before was too old to be kept: then
    /// show all rows again.
    public let changes: SectionChanges?
    /// The entities at `changes.insertions` and `changes.updates` and in `changes.insertedSections`; all of them if
    /// `changes` is nil.
    public let entities: [ListPath: Entity]

    /// The present rows, made from those of the element before.
    public func applied(to old: [[Entity]]) -> [[Entity]] {
        guard let changes else {
            return (0..<mappings.sectionCount).map { section in
                (0..<mappings.count(ofSection: section)).compactMap { entities[ListPath(section, $0)] }
            }
        }
        // Each requested position has its entity.
        let rows = changes.applied(to: old.map { $0.map(Optional.some) }) { entities[$0] }
        return rows.map { $0.compactMap(\.self) }
    }
}

extension Database {
    /// A view's list with sections, now and after each commit that changes its content. The cost of an element is that
    /// of the changes. While the consumer handles an element, its state stays in the file, for a minute. If entities of
    /// the view's type were saved or deleted by then, the next element has no changes, and all rows. A consumer that
    /// waits always gets changes.
    public func observe<Entity, Group>(
        _ mappings: ViewMappings<Entity, Group>
    ) -> LiveQuery<LiveSections<Entity, Group>> {
        LiveQuery(self) { SectionsResult(mappings, self) }
    }
}

struct SectionsResult<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: LiveResult {
    typealias Element = LiveSections<Entity, Group>

    private let database: Database
    /// How long a state is kept for a consumer that doesn't ask.
    private let maximumAge: Duration
    private(set) var mappings: ViewMappings<Entity, Group>
    private(set) var read: LongLivedRead?
    private(set) var trees: Set<TreeID> = []

    init(
        _ mappings: ViewMappings<Entity, Group>, _ database: Database, maximumAge: Duration = .seconds(60)
    ) {
        self.mappings = mappings
        self.database = database
        self.maximumAge = maximumAge
    }

    mutating func begin(_ view: LiveView) throws -> Element {
        view.figures.noteQuery()
        trees = [try view.session.store(Entity.self).type.rows]
        let read = try LongLivedRead(database, maximumAge: maximumAge) { old, new in
            try !new.hasChangedRows(of: Entity.self, since: old)
        }
        var mappings = mappings
        let element = try read.read { context in
            try mappings.load(in: context)
            var entities: [ListPath: Entity] = [:]
            for section in 0..<mappings.sectionCount { try Self.add(section, mappings, context, to: &entities) }
            return Element(mappings: mappings, changes: nil, entities: entities)
        }
        self.mappings = mappings
        self.read = read
        return element
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Element? {
        guard let read else { return try begin(view) }
        var mappings = mappings
        // It may have moved on since, to a state that shows the same.
        mappings.renumber(read.version)
        do {
            let element = try read.moveForward { step -> Element? in
                let changes = try mappings.move(step)
                if changes.isEmpty { return nil }
                var entities: [ListPath: Entity] = [:]
                for section in changes.insertedSections { try Self.add(section, mappings, step.after, to: &entities) }
                for path in changes.insertions + changes.updates {
                    entities[path] = try mappings.entity(at: path, in: step.after)
                }
                return Element(mappings: mappings, changes: changes, entities: entities)
            }
            self.mappings = mappings
            return element
        } catch let error as HornbeamError where error.code == .snapshotExpired {
            return try begin(view)
        }
    }

    private static func add(
        _ section: Int, _ mappings: ViewMappings<Entity, Group>, _ context: Context,
        to entities: inout [ListPath: Entity]
    ) throws {
        for (row, entity) in try mappings.entities(ofSection: section, in: context).enumerated() {
            entities[ListPath(section, row)] = entity
        }
    }
}
