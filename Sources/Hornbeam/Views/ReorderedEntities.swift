// SPDX-License-Identifier: Apache-2.0
// From where each changed entity was and is to a change-set: which of those with other keys have moved, which groups
// came and went, all in order.

extension ViewChanges {
    /// Fills in moves and groups, and puts all lists in order.
    /// - Parameter reordered: those of the updates whose keys are others.
    mutating func finish(
        reordered: [Change], wasEmpty: (Group) throws -> Bool, isEmpty: (Group) throws -> Bool
    ) rethrows {
        addMoves(reordered)
        deletedGroups = try Set(deletions.map(\.position.group) + moves.map(\.from.group)).filter(isEmpty)
        insertedGroups = try Set(insertions.map(\.position.group) + moves.map(\.to.group)).filter(wasEmpty)
        sort()
    }

    /// Those that went to another group, or are elsewhere among the others.
    private mutating func addMoves(_ reordered: [Change]) {
        moves = reordered.filter { $0.from.group != $0.to.group }
        let taken = Self.indexes(deletions.map(\.position) + moves.map(\.from))
        let put = Self.indexes(insertions.map(\.position) + moves.map(\.to))
        let within = reordered.filter { $0.from.group == $0.to.group }
        for (group, candidates) in Dictionary(grouping: within, by: \.from.group) {
            let pairs = candidates.map { ListChanges.Move(from: $0.from.index, to: $0.to.index) }
            let moved = Set(ListDifference.moves(pairs, taken[group] ?? [], put[group] ?? []))
            for (candidate, pair) in zip(candidates, pairs) where moved.contains(pair) { moves.append(candidate) }
        }
    }

    /// The indexes of positions by their groups.
    private static func indexes(_ positions: [Position]) -> [Group: [Int]] {
        Dictionary(grouping: positions, by: \.group).mapValues { $0.map(\.index) }
    }

    /// The indexes, ascending, of the entities that went from a group or moved in it, and of those that came or moved.
    func indexes() -> (taken: [Group: [Int]], put: [Group: [Int]]) {
        let taken = Self.indexes(deletions.map(\.position) + moves.map(\.from))
        let put = Self.indexes(insertions.map(\.position) + moves.map(\.to))
        return (taken.mapValues { $0.sorted() }, put.mapValues { $0.sorted() })
    }

    private mutating func sort() {
        var places: [Group: [UInt8]] = [:]
        func place(_ group: Group) -> [UInt8] {
            if let place = places[group] { return place }
            // It was one of an entity, so it has bytes.
            let place = (try? ViewKey.prefix(of: group)) ?? []
            places[group] = place
            return place
        }
        func isBefore(_ left: Position, _ right: Position) -> Bool {
            if left.group == right.group { return left.index < right.index }
            return place(left.group).lexicographicallyPrecedes(place(right.group))
        }
        deletedGroups.sort { place($0).lexicographicallyPrecedes(place($1)) }
        insertedGroups.sort { place($0).lexicographicallyPrecedes(place($1)) }
        deletions.sort { isBefore($0.position, $1.position) }
        insertions.sort { isBefore($0.position, $1.position) }
        moves.sort { isBefore($0.to, $1.to) }
        updates.sort { isBefore($0.to, $1.to) }
    }
}
