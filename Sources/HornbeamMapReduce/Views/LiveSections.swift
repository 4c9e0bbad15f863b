// SPDX-License-Identifier: Apache-2.0
// A view's list with sections, observed after each commit. Between two elements the observer keeps the state that it
// has reported, so that the next element is the difference of two states, however many commits lie between.

import HornbeamTree

/// A list with sections as it is now.
public struct LiveSections<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    /// The positions and number of rows.
    public let mappings: ViewMappings<Entity, Group>
    /// The changes since the previous element. Nil in the first element, and if the previous state is no longer kept:
    /// then show all rows again.
    public let changes: SectionChanges?
    /// The entities at `changes.insertions` and `changes.updates` and in `changes.insertedSections`; all of them if
    /// `changes` is nil.
    public let entities: [ListPath: Entity]

    /// Returns the present rows, made from the rows of the previous element.
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
    /// Observes a view's list with sections: gives one element now and one after each commit that changes its content.
    /// The cost of an element is proportional to the changes. While the consumer handles an element, its state stays in
    /// the file for up to a minute. If the consumer takes longer, and entities of the view's type were saved or deleted
    /// meanwhile, the next element has all rows and no changes. A consumer that waits for elements always gets changes.
    public func observe<Entity, Group>(
        _ mappings: ViewMappings<Entity, Group>
    ) -> LiveQuery<LiveSections<Entity, Group>> {
        LiveQuery(self) { SectionsResult(mappings, self) }
    }
}

struct SectionsResult<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: LiveResult {
    typealias Element = LiveSections<Entity, Group>

    private let database: Database
    /// The time for which a state is kept for a consumer that doesn't request the next element.
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
        // The read may have moved on to a later state in which the view is the same.
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
