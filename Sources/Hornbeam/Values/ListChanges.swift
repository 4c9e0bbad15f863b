// SPDX-License-Identifier: Apache-2.0
// The changes between two results of a query, in positions: enough to bring a list on a screen from one to the other.

/// The difference between two lists.
///
/// To apply it, first remove the elements at `deletions` and at the origins of `moves`, all positions of the old list.
/// Then insert those at `insertions` and at the destinations of `moves`, in ascending order, all positions of the new
/// list. Then show those at `updates` anew. `applied(to:element:)` does this to an array.
public struct ListChanges: Sendable, Equatable {
    /// An element that changed its position relative to the others.
    public struct Move: Sendable, Hashable {
        /// The position in the old list.
        public let from: Int
        /// The position in the new list.
        public let to: Int

        package init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// Positions in the old list, ascending.
    public package(set) var deletions: [Int] = []
    /// Positions in the new list, ascending.
    public package(set) var insertions: [Int] = []

    /// Moves in the order of their destinations. There are as few as possible: elements that only make room for others
    /// don't move.
    public package(set) var moves: [Move] = []
    /// Positions in the new list, ascending, of elements that were in the old one too and have changed content, moved
    /// or not.
    public package(set) var updates: [Int] = []

    package init(deletions: [Int] = [], insertions: [Int] = [], moves: [Move] = [], updates: [Int] = []) {
        (self.deletions, self.insertions) = (deletions, insertions)
        (self.moves, self.updates) = (moves, updates)
    }

    /// Whether both lists are equal.
    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

    /// Makes the new list from the old one, to which the changes must belong, and the new elements. O(n).
    /// - Parameters:
    ///   - old: the old list.
    ///   - element: the element at a position of the new list, asked for `insertions` and `updates` alone.
    public func applied<Element>(
        to old: [Element], element: (_ position: Int) throws -> Element
    ) rethrows -> [Element] {
        if deletions.isEmpty, insertions.isEmpty, moves.isEmpty {
            var new = old
            for position in updates { new[position] = try element(position) }
            return new
        }
        let count = old.count - deletions.count + insertions.count
        var new: [Element] = []
        new.reserveCapacity(count)
        var (taken, inserted, moved, updated) = (Walk(leaving), Walk(insertions), Walk(moves.map(\.to)), Walk(updates))
        var next = 0
        for position in 0..<count {
            if inserted.meets(position) {
                new.append(try element(position))
                continue
            }
            var origin = next
            if moved.meets(position) {
                origin = moves[moved.passed - 1].from
            } else {
                while taken.meets(next) { next += 1 }
                origin = next
                next += 1
            }
            new.append(updated.meets(position) ? try element(position) : old[origin])
        }
        return new
    }

    /// Positions of the old list that are taken out first.
    private var leaving: [Int] {
        moves.isEmpty ? deletions : (deletions + moves.map(\.from)).sorted()
    }

    /// Goes along ascending positions.
    private struct Walk {
        let positions: [Int]
        private(set) var passed = 0

        init(_ positions: [Int]) { self.positions = positions }

        mutating func meets(_ position: Int) -> Bool {
            guard passed < positions.count, positions[passed] == position else { return false }
            passed += 1
            return true
        }
    }
}

/// The difference between two lists of lists, in the form of `ListChanges`. Sections are identified by the entities
/// that own them.
public struct GroupChanges: Sendable, Equatable {
    /// The changes within a section.
    public struct Section: Sendable, Equatable {
        /// The position in the new list.
        public let position: Int
        /// The changes between the section's old and new lists.
        public let changes: ListChanges

        package init(position: Int, changes: ListChanges) {
            self.position = position
            self.changes = changes
        }
    }

    /// Positions in the old list, ascending.
    public let deletions: [Int]
    /// Positions in the new list, ascending.
    public let insertions: [Int]
    /// Moves in the order of their destinations.
    public let moves: [ListChanges.Move]
    /// Sections that are in both lists and have another content, in the order of their positions.
    public let sections: [Section]

    package init(deletions: [Int], insertions: [Int], moves: [ListChanges.Move], sections: [Section]) {
        self.deletions = deletions
        self.insertions = insertions
        self.moves = moves
        self.sections = sections
    }

    /// Whether both lists are equal.
    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && sections.isEmpty }
}
