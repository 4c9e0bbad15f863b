// SPDX-License-Identifier: Apache-2.0
// The data that a reader of rows needs. If an index holds them, the rows aren't looked up.

/// The data that a reader of rows needs.
package struct RowNeeds: Sendable {
    package var columns: Set<Int> = []
    /// Whether its result is the same for any order of the rows.
    package var isOrderFree = true
    /// Whether texts must come as they were written.
    package var wantsExactText = false
    /// Whether texts must come as one of several rows wrote them: the reader combines rows with equal texts into one.
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
