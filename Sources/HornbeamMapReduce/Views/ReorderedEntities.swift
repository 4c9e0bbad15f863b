// SPDX-License-Identifier: Apache-2.0
// Completes a change-set from the old and new positions of changed entities: which entities with changed keys have
// moved, and which groups were added and removed, all in order.

extension ViewChanges {
    /// Fills in moves and groups, and puts all lists in order.
    /// - Parameters:
    ///   - reordered: the updates of entities whose keys changed.
    ///   - id: gives the id of the entity at a position of the later state.
    mutating func finish(
        reordered: [Change], wasEmpty: (Group) throws -> Bool, isEmpty: (Group) throws -> Bool,
        id: (Position) throws -> Entity.ID?
    ) rethrows {
        try addMoves(reordered, id)
        deletedGroups = try Self.distinct(deletions.map(\.position.group) + moves.map(\.from.group)).filter(isEmpty)
        insertedGroups = try Self.distinct(insertions.map(\.position.group) + moves.map(\.to.group)).filter(wasEmpty)
        sort()
    }

    private static func distinct(_ groups: [Group]) -> [Group] {
        var seen: Set<GroupIdentity> = []
        return groups.filter { seen.insert(GroupIdentity($0)).inserted }
    }

    /// Adds the entities that moved to another group, or to another position relative to the others.
    private mutating func addMoves(_ reordered: [Change], _ id: (Position) throws -> Entity.ID?) rethrows {
        // By the group's identity, because a group need not be equal to itself.
        var within: [GroupIdentity: [Change]] = [:]
        moves = []
        for change in reordered {
            let group = GroupIdentity(change.from.group)
            if group == GroupIdentity(change.to.group) {
                within[group, default: []].append(change)
            } else {
                moves.append(change)
            }
        }
        let taken = Self.indexes(deletions.map(\.position) + moves.map(\.from))
        let put = Self.indexes(insertions.map(\.position) + moves.map(\.to))
        for (group, candidates) in within {
            let pairs = candidates.map { ListChanges.Move(from: $0.from.index, to: $0.to.index) }
            let known = Dictionary(zip(pairs, candidates), uniquingKeysWith: { first, _ in first })
            for move in ListDifference.moves(pairs, taken[group] ?? [], put[group] ?? []) {
                if let candidate = known[move] {
                    moves.append(candidate)
                    continue
                }
                // An entity that wasn't saved: fewer moves are needed if it moves.
                let from = Position(group: candidates[0].from.group, index: move.from)
                let to = Position(group: candidates[0].to.group, index: move.to)
                if let id = try id(to) { moves.append(Change(id: id, from: from, to: to)) }
            }
        }
    }

    /// Returns the indexes of positions by their groups.
    private static func indexes(_ positions: [Position]) -> [GroupIdentity: [Int]] {
        Dictionary(grouping: positions) { GroupIdentity($0.group) }.mapValues { $0.map(\.index) }
    }

    /// Returns the ascending indexes of entities that left a group or moved in it, and of entities that were added or
    /// moved.
    func indexes() -> (taken: [GroupIdentity: [Int]], put: [GroupIdentity: [Int]]) {
        let taken = Self.indexes(deletions.map(\.position) + moves.map(\.from))
        let put = Self.indexes(insertions.map(\.position) + moves.map(\.to))
        return (taken.mapValues { $0.sorted() }, put.mapValues { $0.sorted() })
    }

    private mutating func sort() {
        deletedGroups = Self.sorted(deletedGroups) { ($0, 0) }
        insertedGroups = Self.sorted(insertedGroups) { ($0, 0) }
        deletions = Self.sorted(deletions) { ($0.position.group, $0.position.index) }
        insertions = Self.sorted(insertions) { ($0.position.group, $0.position.index) }
        moves = Self.sorted(moves) { ($0.to.group, $0.to.index) }
        updates = Self.sorted(updates) { ($0.to.group, $0.to.index) }
    }

    private static func sorted<Item>(_ items: [Item], by place: (Item) -> (Group, Int)) -> [Item] {
        if items.count < 2 { return items }
        let places = items.map { item in
            let (group, index) = place(item)
            return (group: GroupIdentity(group), index: index)
        }
        return items.indices.sorted { left, right in
            let (left, right) = (places[left], places[right])
            return left.group == right.group ? left.index < right.index : left.group < right.group
        }.map { items[$0] }
    }
}
