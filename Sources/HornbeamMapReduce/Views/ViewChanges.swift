// SPDX-License-Identifier: Apache-2.0
// The changes of a view between two states, in groups and indexes. They are found from the rows that differ: the view's
// functions give the old and new keys, and the counts of both trees give the indexes. So they are exact, and cost only
// what has changed, however many commits lie between and whichever process made them.

import HornbeamPages
import HornbeamTree

/// The difference between two states of a view.
///
/// To apply it to lists, first remove the entities at `deletions` and at the origins of `moves`: these are positions in
/// the earlier state. Then insert, in ascending order of their indexes, the entities at `insertions` and at the
/// destinations of `moves`: these are positions in the later state. Then show the entities at the destinations of
/// `updates` again. Entities that were added and removed between the states are in none of the lists.
public struct ViewChanges<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    public typealias Position = ViewPosition<Group>

    /// An entity that was added or removed.
    public struct Row: Sendable, Hashable {
        public let id: Entity.ID
        public let position: Position
    }

    /// An entity that is in both states.
    public struct Change: Sendable, Hashable {
        public let id: Entity.ID
        /// The position in the earlier state.
        public let from: Position
        /// The position in the later state.
        public let to: Position
    }

    /// Groups that have no entities any more, in order. Their entities are among `deletions` or origins of `moves`.
    public internal(set) var deletedGroups: [Group] = []
    /// Groups that had no entities, in order.
    public internal(set) var insertedGroups: [Group] = []
    /// Removed entities, in the order of their positions in the earlier state.
    public internal(set) var deletions: [Row] = []
    /// Added entities, in the order of their positions in the later state.
    public internal(set) var insertions: [Row] = []
    /// Entities that changed their positions relative to the others, in the order of their destinations. As few as
    /// possible: entities that only make room for others don't move. Entities that weren't saved move past saved ones
    /// if that takes fewer moves.
    public internal(set) var moves: [Change] = []
    /// Entities that were saved, in the order of their destinations, whether they moved or not.
    public internal(set) var updates: [Change] = []

    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }
}

extension View {
    /// Returns the changes of the view between the states of two reads of one database; either may be the earlier one.
    /// The time depends on the number of changes. Throws `.indexNotReady` if the view doesn't exist in both states with
    /// this version: load the list again. Throws `.invalid` for the context of a write.
    public func changes(from old: Context, to new: Context) throws -> ViewChanges<Entity, Group> {
        try new.session.run { try ViewComparison(self, from: old.session, to: $0).changes() }
    }
}

/// One comparison of two states of a view.
struct ViewComparison<Entity: EntityModelProtocol, Group: IndexKey & Hashable> {
    typealias Changes = ViewChanges<Entity, Group>

    /// A state, and cached positions of its groups.
    private struct State {
        let scan: ViewScan<Entity, Group>
        /// The position in the tree at which each group begins.
        var starts: [GroupIdentity: Int] = [:]

        mutating func start(of group: Group) throws -> Int {
            let identity = GroupIdentity(group)
            if let start = starts[identity] { return start }
            let start = try scan.rank(try ViewKey.prefix(of: group))
            starts[identity] = start
            return start
        }

        /// Returns the position of an entity that the state must have.
        mutating func position(_ entry: Entry) throws -> ViewPosition<Group> {
            try scan.checkEntry(entry.key)
            let start = try start(of: entry.group)
            return ViewPosition(group: entry.group, index: try scan.rank(entry.key) - start)
        }
    }

    /// An entity in one state.
    private struct Entry {
        let id: Entity.ID
        let key: [UInt8]
        let group: Group

        init?(_ row: RowID, _ reader: RowReader?, _ view: View<Entity, Group>) throws {
            guard let entity = try reader.map({ try Entity(row: $0) }),
                let place = try view.definition.place(of: entity)
            else { return nil }
            id = entity.id
            key = ViewKey.whole(place.key, row)
            group = place.group
        }
    }

    private let view: View<Entity, Group>
    private let sessions: (old: TypedTransaction, new: TypedTransaction)
    private var old: State
    private var new: State

    init(_ view: View<Entity, Group>, from old: TypedTransaction, to new: TypedTransaction) throws {
        self.view = view
        sessions = (old, new)
        self.old = State(scan: try ViewScan(view, old))
        self.new = State(scan: try ViewScan(view, new))
    }

    consuming func changes() throws -> Changes {
        var entries: [(before: Entry?, after: Entry?)] = []
        try sessions.new.forEachChangedRow(of: Entity.self, since: sessions.old) { row, before, after in
            let entry = (try Entry(row, before, view), try Entry(row, after, view))
            if entry.0 != nil || entry.1 != nil { entries.append(entry) }
        }
        var changes = Changes()
        var reordered: [Changes.Change] = []
        for (before, after) in joined(entries, id: \.id) {
            let from = try before.map { try old.position($0) }
            let to = try after.map { try new.position($0) }
            switch (from, to) {
            case (let from?, let to?):
                guard let before, let after else { continue }
                let change = Changes.Change(id: after.id, from: from, to: to)
                changes.updates.append(change)
                if before.key != after.key { reordered.append(change) }
            case (let from?, nil): if let before { changes.deletions.append(.init(id: before.id, position: from)) }
            case (nil, let to?): if let after { changes.insertions.append(.init(id: after.id, position: to)) }
            case (nil, nil): break
            }
        }
        let scans = (old: old.scan, new: new.scan)
        try changes.finish(
            reordered: reordered, wasEmpty: { try scans.old.places(of: $0).isEmpty },
            isEmpty: { try scans.new.places(of: $0).isEmpty }, id: { try scans.new.id(at: $0) })
        return changes
    }
}

extension LongLivedRead.Step {
    /// Returns the changes of a view in this step. The time depends on the number of changes.
    public func changes<Entity, Group>(of view: View<Entity, Group>) throws -> ViewChanges<Entity, Group> {
        try view.changes(from: before, to: after)
    }
}
