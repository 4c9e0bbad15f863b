// SPDX-License-Identifier: Apache-2.0
// The changes of a list with sections, in the form that lists on screens take.

/// A position in a list with sections.
public struct ListPath: Hashable, Comparable, Sendable {
    public let section: Int
    public let row: Int

    public init(_ section: Int, _ row: Int) {
        self.section = section
        self.row = row
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }
}

/// The difference between two states of a list with sections.
///
/// To apply it, first remove `deletedSections` and the rows at `deletions` and at the origins of `moves`: these are
/// positions in the earlier list. Then insert `insertedSections` with all their rows and, in ascending order, the rows
/// at `insertions` and at the destinations of `moves`: these are positions in the later list. Then show the rows at
/// `updates` again. Rows of deleted and inserted sections are not listed one by one. A row that moves between such a
/// section and one that stays is only inserted into, or deleted from, the one that stays. `applied(to:row:)` does this
/// to arrays.
public struct SectionChanges: Sendable, Equatable {
    /// A row that changed its position relative to the others.
    public struct Move: Sendable, Hashable {
        /// The position in the earlier list.
        public let from: ListPath
        /// The position in the later list.
        public let to: ListPath
    }

    /// Sections of the earlier list, ascending.
    public internal(set) var deletedSections: [Int] = []
    /// Sections of the later list, ascending.
    public internal(set) var insertedSections: [Int] = []
    /// Positions in the earlier list, ascending.
    public internal(set) var deletions: [ListPath] = []
    /// Positions in the later list, ascending.
    public internal(set) var insertions: [ListPath] = []
    /// Rows that moved, in the order of their destinations.
    public internal(set) var moves: [Move] = []
    /// Positions in the later list, ascending, of rows that were also in the earlier list and were saved since.
    public internal(set) var updates: [ListPath] = []
    /// Number of rows of each section in the later list.
    public internal(set) var counts: [Int] = []

    public var isEmpty: Bool {
        deletedSections.isEmpty && insertedSections.isEmpty && deletions.isEmpty && insertions.isEmpty
            && moves.isEmpty && updates.isEmpty
    }

    /// Makes the later list from the earlier one, which must be the list that these changes belong to, and the new
    /// rows. O(n).
    /// - Parameters:
    ///   - old: the earlier list, an array of rows for each section.
    ///   - row: returns the row at a position of the later list. Called only for `insertions`, `updates` and the rows
    ///     of `insertedSections`.
    public func applied<Row>(
        to old: [[Row]], row: (_ place: ListPath) throws -> Row
    ) rethrows -> [[Row]] {
        // A damaged file's counts may give two moves the same position.
        let origins = Dictionary(moves.map { ($0.to, $0.from) }, uniquingKeysWith: { first, _ in first })
        let taken = Set(deletions + moves.map(\.from))
        let put = Set(insertions)
        let updated = Set(updates)
        let isNew = Set(insertedSections)
        let isGone = Set(deletedSections)
        var remaining = old.indices.filter { !isGone.contains($0) }[...]
        return try counts.indices.map { section in
            if isNew.contains(section) { return try (0..<counts[section]).map { try row(ListPath(section, $0)) } }
            let former = remaining.popFirst() ?? 0
            var next = 0
            return try (0..<counts[section]).map { index in
                let place = ListPath(section, index)
                if put.contains(place) { return try row(place) }
                var origin = origins[place]
                if origin == nil {
                    while taken.contains(ListPath(former, next)) { next += 1 }
                    origin = ListPath(former, next)
                    next += 1
                }
                // A list that the changes don't belong to may lack unchanged rows: they are requested like new ones.
                guard let origin, !updated.contains(place), old.indices.contains(origin.section),
                    old[origin.section].indices.contains(origin.row)
                else { return try row(place) }
                return old[origin.section][origin.row]
            }
        }
    }
}
