// SPDX-License-Identifier: Apache-2.0
// The needs that a reader has of rows. An index that holds them spares the look-up of the rows.

/// Everything that a reader of rows asks of them.
package struct RowNeeds: Sendable {
    package var columns: Set<Int> = []
    /// Whether its result is the same for any order of the rows.
    package var isOrderFree = true
    /// Whether texts must come as they were written.
    package var wantsExactText = false
    /// Whether texts must come as they were written, where rows that are equal come as one: as one of them has it.
    package var wantsTextOfOne = false

    package init(
        columns: Set<Int> = [], isOrderFree: Bool = true, wantsExactText: Bool = false, wantsTextOfOne: Bool = false
    ) {
        self.columns = columns
        self.isOrderFree = isOrderFree
        self.wantsExactText = wantsExactText
        self.wantsTextOfOne = wantsTextOfOne
    }

    package func union(_ other: RowNeeds) -> RowNeeds {
        RowNeeds(
            columns: columns.union(other.columns), isOrderFree: isOrderFree && other.isOrderFree,
            wantsExactText: wantsExactText || other.wantsExactText,
            wantsTextOfOne: wantsTextOfOne || other.wantsTextOfOne)
    }
}
