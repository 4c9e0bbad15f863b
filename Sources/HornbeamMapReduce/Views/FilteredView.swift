// SPDX-License-Identifier: Apache-2.0
// A view over a view: it has the same groups and order, but only entities that pass a filter or that a query finds. The
// filter may change while the view is shown. The view is kept in memory, for one state of the store. For a filter that
// never changes, use a view with `where:`, which is stored in the file.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A part of a view, in the view's groups and order, with positions of its own.
///
///     var found = FilteredView(folders, matching: .filter(.string(\.subject, matches: "report")))
///     let reader = try database.longLivedRead()
///     try reader.read { try found.load(in: $0) }
///     …
///     let changes = try reader.moveForward { try found.move($0) }
///     let narrower = try reader.read { try found.setFilter({ $0.date > today }, in: $0) }
///
/// It is a value: copies are independent. It takes memory for each of its entities, with its key and its id.
public struct FilteredView<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    private typealias Changes = ViewChanges<Entity, Group>

    private enum Filter: Sendable {
        case predicate(@Sendable (Entity) throws -> Bool)
        case query(QueryList<Entity>)
    }

    /// An entity of the filtered view.
    private struct Member: Sendable {
        let id: Entity.ID
        let group: Group
        let ranked: RankedRow
    }

    public let view: View<Entity, Group>
    private var filter: Filter
    private var members: [RowID: Member] = [:]
    private var tree = RankTree()
    /// The number of the state that the members belong to. Nil before the first `load`.
    private var version: UInt64?

    /// Makes a view of the entities that a function accepts. The function must depend on the entity alone: only saved
    /// entities are tested again. The view has no entities before `load`.
    public init(_ view: View<Entity, Group>, where accepts: @escaping @Sendable (Entity) throws -> Bool) {
        self.view = view
        filter = .predicate(accepts)
    }

    /// Makes a view of the entities that a query finds, by words, relations or any other condition. The query's order
    /// has no effect. The query is run again for each state. The view has no entities before `load`.
    public init(_ view: View<Entity, Group>, matching query: QueryList<Entity>) {
        self.view = view
        filter = .query(Self.unbound(query))
    }

    /// Removes the context in which the query was made, because it is run in others.
    private static func unbound(_ query: QueryList<Entity>) -> QueryList<Entity> {
        var query = query
        query.parts.context = nil
        return query
    }

    // MARK: - The state at hand

    /// Describes the view and its filter. The context must see the present state; otherwise it throws `.invalid`.
    public func explain(in context: Context) throws -> String {
        try check(context)
        let name = "\(count) entries in memory of view “\(view.registration.name)” of \(Entity.entityName), those that "
        switch filter {
        case .predicate: return name + "a function accepts"
        case .query(let query): return name + "this finds:\n\(try query.explain(in: context))"
        }
    }

    public var count: Int { tree.count }

    /// The groups that have entities, in order, with their sizes.
    public var sections: [ViewSection<Group>] {
        var sections: [ViewSection<Group>] = []
        var start = 0
        while let row = tree.row(at: start), let member = members[row.row] {
            let end = places(of: member.group).upperBound
            sections.append(ViewSection(group: member.group, count: end - start))
            guard end > start else { break }
            start = end
        }
        return sections
    }

    public func count(of group: Group) -> Int { places(of: group).count }

    /// Returns the id of the entity at a position, or nil if there is none. O(log n).
    public func id(at position: ViewPosition<Group>) -> Entity.ID? {
        let places = places(of: position.group)
        guard position.index >= 0, position.index < places.count else { return nil }
        return tree.row(at: places.lowerBound + position.index).flatMap { members[$0.row]?.id }
    }

    /// Returns the ids of a group's entities, or of those at some indexes.
    public func ids(of group: Group, _ indexes: Range<Int> = 0..<Int.max) -> [Entity.ID] {
        places(of: group).part(indexes).compactMap { tree.row(at: $0).flatMap { members[$0.row]?.id } }
    }

    /// Returns the position of an entity, or nil if the view doesn't have it. The context must see the present state;
    /// otherwise it throws `.invalid`. O(log n).
    public func position(of id: Entity.ID, in context: Context) throws -> ViewPosition<Group>? {
        try check(context)
        return try context.session.run { session in
            guard let row = try session.store(Entity.self).rowID(ofAny: id.columnValue) else { return nil }
            return members[row].map { position(of: $0) }
        }
    }

    /// Returns the entity at a position, or nil if there is none. The context must see the present state; otherwise it
    /// throws `.invalid`.
    public func entity(at position: ViewPosition<Group>, in context: Context) throws -> Entity? {
        try check(context)
        return try id(at: position).flatMap { try context.find($0) }
    }

    /// Returns the entities of a group, or those at some indexes. The context must see the present state; otherwise it
    /// throws `.invalid`.
    public func entities(
        of group: Group, _ indexes: Range<Int> = 0..<Int.max, in context: Context
    ) throws -> [Entity] {
        try check(context)
        return try context.findAllExisting(ids(of: group, indexes))
    }

    private func position(of member: Member) -> ViewPosition<Group> {
        ViewPosition(group: member.group, index: tree.rank(of: member.ranked) - places(of: member.group).lowerBound)
    }

    private func places(of group: Group) -> Range<Int> {
        guard let prefix = try? ViewKey.prefix(of: group) else { return 0..<0 }
        func rank(_ key: [UInt8]) -> Int { tree.rank(of: RankedRow(key: key, row: RowID(rawValue: 0), fingerprint: 0)) }
        let start = rank(prefix)
        return start..<max(start, KeyWriter.successor(ofPrefix: prefix).map(rank) ?? tree.count)
    }

    private func check(_ context: Context) throws {
        guard let version, try version == context.stateNumber() else {
            throw HornbeamError(
                .invalid,
                "the filtered view has \(version.map { "state \($0)" } ?? "no state yet"), the context another one: "
                    + "load it in that, or move it there")
        }
    }

    // MARK: - Other states

    /// Loads the entities of a context's state, whatever state was loaded before. Calls a filter function for all
    /// entities of the view. Throws `.invalid` for the context of a write.
    public mutating func load(in context: Context) throws {
        let version = try context.stateNumber()
        take(try load(filter, context))
        self.version = version
    }

    private mutating func take(_ loaded: [Member]) {
        members = Dictionary(uniqueKeysWithValues: loaded.map { ($0.ranked.row, $0) })
        tree = RankTree(loaded.map(\.ranked))
    }

    /// Returns the entities of a context's state that pass a filter.
    private func load(_ filter: Filter, _ context: Context) throws -> [Member] {
        try context.session.run { session in
            let scan = try ViewScan(view, session)
            var loaded: [Member] = []
            switch filter {
            case .query(let query):
                for row in Set(try query.rows(session)) {
                    if let member = try member(row, try scan.store.row(row)) { loaded.append(member) }
                }
            case .predicate(let accepts):
                let rows = try scan.rows(0..<scan.count())
                guard Set(rows).count == rows.count else { throw scan.corrupt("an entity has two entries") }
                try scan.store.forEach(rows) { place, row in
                    guard let row else { throw scan.corrupt("an entry's entity isn't stored") }
                    guard try accepts(try Entity(row: row)) else { return }
                    if let member = try member(rows[place], row) { loaded.append(member) }
                }
            }
            return loaded
        }
    }

    private func member(_ row: RowID, _ reader: RowReader?) throws -> Member? {
        guard let entity = try reader.map({ try Entity(row: $0) }), let place = try view.definition.place(of: entity)
        else { return nil }
        return Member(id: entity.id, group: place.group, ranked: RankedRow(key: place.key, row: row, fingerprint: 0))
    }

    /// Sets another filter, in the same state, and returns the entities that this removes and adds. If it throws,
    /// nothing has changed.
    public mutating func setFilter(
        _ accepts: @escaping @Sendable (Entity) throws -> Bool, in context: Context
    ) throws -> ViewChanges<Entity, Group> {
        try set(.predicate(accepts), context)
    }

    /// Sets a query as the filter, in the same state, and returns the entities that this removes and adds. If it
    /// throws, nothing has changed.
    public mutating func setQuery(
        _ query: QueryList<Entity>, in context: Context
    ) throws -> ViewChanges<Entity, Group> {
        try set(.query(Self.unbound(query)), context)
    }

    private mutating func set(_ new: Filter, _ context: Context) throws -> Changes {
        try check(context)
        let loaded = try load(new, context)
        filter = new
        let found = Set(loaded.map(\.ranked.row))
        let gone = members.values.filter { !found.contains($0.ranked.row) }
        let came = loaded.filter { members[$0.ranked.row] == nil }
        return change(gone.map { ($0, nil) } + came.map { (nil, $0) }) { $0.take(loaded) }
    }

    /// Moves from the state of one context, which must be the present state, to the state of another. Returns the
    /// changes.
    public mutating func move(from old: Context, to new: Context) throws -> ViewChanges<Entity, Group> {
        try check(old)
        let version = try new.stateNumber()
        let entries = try new.session.run { session in
            // Throws an error if the view isn't ready in one of the two states.
            for session in [old.session, session] { _ = try ViewScan(view, session) }
            return joined(try changed(since: old.session, session), id: \.id)
        }
        let changes = change(entries) { filtered in
            for (before, _) in entries {
                guard let before else { continue }
                filtered.tree.remove(before.ranked)
                filtered.members[before.ranked.row] = nil
            }
            for (_, after) in entries {
                guard let after else { continue }
                filtered.tree.insert(after.ranked)
                filtered.members[after.ranked.row] = after
            }
        }
        self.version = version
        return changes
    }

    /// Moves from the state before a step of a long-lived read to the state after it. Returns the changes.
    public mutating func move(_ step: LongLivedRead.Step) throws -> ViewChanges<Entity, Group> {
        try move(from: step.before, to: step.after)
    }

    private typealias Entry = (before: Member?, after: Member?)

    /// The entities that were saved, or that came or went.
    private func changed(since old: TypedTransaction, _ session: TypedTransaction) throws -> [Entry] {
        var entries: [Entry] = []
        var seen: Set<RowID> = []
        var found: Set<RowID>?
        if case .query(let query) = filter { found = Set(try query.rows(session)) }
        try session.forEachChangedRow(of: Entity.self, since: old) { row, _, reader in
            seen.insert(row)
            var isFound = found?.contains(row) ?? false
            if case .predicate(let accepts) = filter, let reader { isFound = try accepts(try Entity(row: reader)) }
            let entry = (before: members[row], after: isFound ? try member(row, reader) : nil)
            if entry.before != nil || entry.after != nil { entries.append(entry) }
        }
        // The query's results may change without changes of their own rows: by relations, for example.
        guard let found else { return entries }
        for (row, member) in members where !found.contains(row) && !seen.contains(row) { entries.append((member, nil)) }
        let store = try session.store(Entity.self)
        for row in found where members[row] == nil && !seen.contains(row) {
            if let member = try member(row, try store.row(row)) { entries.append((nil, member)) }
        }
        return entries
    }

    /// Applies changes, and returns their effect on the view.
    private mutating func change(_ entries: [Entry], _ apply: (inout Self) -> Void) -> Changes {
        var changes = Changes()
        let origins = entries.map { $0.before.map { position(of: $0) } }
        let wereEmpty = Set(entries.compactMap(\.after?.group).filter { count(of: $0) == 0 }.map { GroupIdentity($0) })
        apply(&self)
        var reordered: [Changes.Change] = []
        for (origin, entry) in zip(origins, entries) {
            let destination = entry.after.map { position(of: $0) }
            switch (origin, destination) {
            case (let from?, let to?):
                guard let old = entry.before, let new = entry.after else { continue }
                let change = Changes.Change(id: new.id, from: from, to: to)
                changes.updates.append(change)
                if old.ranked.order(new.ranked) != 0 { reordered.append(change) }
            case (let from?, nil):
                if let old = entry.before { changes.deletions.append(.init(id: old.id, position: from)) }
            case (nil, let to?): if let new = entry.after { changes.insertions.append(.init(id: new.id, position: to)) }
            case (nil, nil): break
            }
        }
        changes.finish(
            reordered: reordered, wasEmpty: { wereEmpty.contains(GroupIdentity($0)) }, isEmpty: { count(of: $0) == 0 },
            id: { id(at: $0) })
        return changes
    }
}
