// SPDX-License-Identifier: Apache-2.0
// Lists of lists: the targets of a to-many relation for each entity of a list. If the owners can be followed row by
// row, only sections with a changed entity or link are read.

import HornbeamPages
import HornbeamTree

struct GroupResult<Entity: EntityModelProtocol>: LiveResult {
    private struct Section: Sendable {
        /// The row of the section's owner, or the section's position if the owners aren't known.
        let owner: UInt64
        var items: [ListItem<Entity.ID>]
        /// Set only if the owners are followed. A changed section is read again as a whole.
        var entities: [Entity] = []
    }

    private let query: QueryGroup<Entity>
    /// The entities whose sections these are, or nil if they can't be followed.
    private var owners: FollowedRows?
    private(set) var trees: Set<TreeID> = []
    private var sections: [Section] = []

    init(_ query: QueryGroup<Entity>) {
        self.query = query
        owners = query.path.flatMap { path in
            guard let members = query.members.parts.dependencyOfLinked else { return nil }
            return FollowedRows(path.owners, reading: .along(relation: path.relation, members))
        }
    }

    mutating func begin(_ view: LiveView) throws -> LiveGroup<Entity> {
        guard let path = query.path, owners != nil else { return LiveGroup(sections: try load(view), changes: nil) }
        _ = try view.session.store(path.model)
        try owners?.begin(view, try view.core.store(path.type), prints: Self.noPrints)
        trees = owners?.trees ?? []
        sections = try load((owners?.rows ?? []).map(\.row), path, view)
        return LiveGroup(sections: sections.map(\.entities), changes: nil)
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> LiveGroup<Entity>? {
        let old = sections
        let found: [[Entity]]
        if let path = query.path, owners != nil {
            let store = try view.core.store(path.type)
            guard
                let delta = try owners?.advance(view, store, commits, prints: Self.noPrints)
                    ?? owners?.askAnew(view, store, prints: Self.noPrints)
            else { return nil }
            return try follow(delta, try touched(view, commits), path, view)
        }
        found = try load(view)
        let changes = difference(from: old, try touched(view, commits))
        return changes.isEmpty ? nil : LiveGroup(sections: found, changes: changes)
    }

    // MARK: Followed

    /// Fingerprints that are all equal, because the owners' content isn't part of the result.
    private static var noPrints: FollowedRows.Prints { { [Int](repeating: 0, count: $0.count) } }

    /// Returns entities that count as changed although their values are equal.
    private func touched(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Set<Entity.ID> {
        let rows = try view.touched(commits, try view.session.store(Entity.self))
        return Set(try rows.compactMap { try view.session.id(of: $0, Entity.self) })
    }

    private mutating func follow(
        _ delta: RowDelta, _ touched: Set<Entity.ID>, _ path: GroupPath, _ view: LiveView
    ) throws -> LiveGroup<Entity>? {
        let loaded = try load(delta.looked, path, view)
        let byOwner = Dictionary(loaded.map { ($0.owner, $0) }) { first, _ in first }
        var inserted = delta.inserted.makeIterator()
        // Touched entities of a section count as changes of the owner too, but are reported as changes of the section.
        var places = delta.changes
        places.updates = []
        var new = places.applied(to: sections) { _ in
            inserted.next().flatMap { byOwner[$0.rawValue] } ?? Section(owner: 0, items: [])
        }
        let fresh = Set(delta.inserted)
        var changed: [GroupChanges.Section] = []
        for (row, section) in zip(delta.looked, loaded) where !fresh.contains(row) {
            guard let position = owners?.position(of: row) else { continue }
            let changes = ListDifference.changes(from: new[position].items.asChanged(touched), to: section.items)
            if changes.isEmpty { continue }
            new[position] = section
            changed.append(GroupChanges.Section(position: position, changes: changes))
        }
        sections = new
        let changes = GroupChanges(
            deletions: delta.changes.deletions, insertions: delta.changes.insertions, moves: delta.changes.moves,
            sections: changed.sorted { $0.position < $1.position })
        return changes.isEmpty ? nil : LiveGroup(sections: new.map(\.entities), changes: changes)
    }

    private func load(_ owners: [RowID], _ path: GroupPath, _ view: LiveView) throws -> [Section] {
        let side = try view.core.store(path.type).type.relation(path.relation)
        let links = try view.core.edges.links(side, ofEach: owners)
        let found = try query.members.load(eachOf: links.lists, view.session)
        return try zip(owners, found).map { owner, entities in
            Section(owner: owner.rawValue, items: try items(entities, view), entities: entities)
        }
    }

    private func items(_ entities: [Entity], _ view: LiveView) throws -> [ListItem<Entity.ID>] {
        try entities.map { ListItem(id: $0.id, fingerprint: try Fingerprint.of($0, view.session)) }
    }

    // MARK: Asked anew

    private mutating func load(_ view: LiveView) throws -> [[Entity]] {
        view.figures.noteQuery()
        let found = try query.members.load(eachOf: try query.groups(view.session, nil), view.session)
        let owners = try query.owners?(view.session) ?? []
        sections = try found.enumerated().map { place, entities in
            let isOwned = owners.count == found.count
            return Section(
                owner: isOwned ? owners[place].rawValue : UInt64(place), items: try items(entities, view))
        }
        trees = view.trees
        return found
    }

    private func difference(from old: [Section], _ touched: Set<Entity.ID>) -> GroupChanges {
        let places = ListDifference.changes(
            from: old.map { ListItem(id: $0.owner, fingerprint: 0) },
            to: sections.map { ListItem(id: $0.owner, fingerprint: 0) })
        // The former position of each section.
        let origins = places.applied(to: old.indices.map { $0 as Int? }) { _ in nil }
        var changed: [GroupChanges.Section] = []
        for (position, origin) in origins.enumerated() {
            guard let origin else { continue }
            let changes = ListDifference.changes(
                from: old[origin].items.asChanged(touched), to: sections[position].items)
            if !changes.isEmpty { changed.append(GroupChanges.Section(position: position, changes: changes)) }
        }
        return GroupChanges(
            deletions: places.deletions, insertions: places.insertions, moves: places.moves, sections: changed)
    }
}
