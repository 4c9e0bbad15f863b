// SPDX-License-Identifier: Apache-2.0
// Ranges of an index's keys that answer conditions.

/// A range of keys, `from` included, `to` excluded; an empty bound is an open end.
package struct EntryRange: Hashable {
    var from: [UInt8]
    var to: [UInt8]
    var count: Int
}

/// A key of an index, and a row that has it.
struct IndexPlace {
    let key: [UInt8]
    let rowID: RowID

    /// The row, if the key is this one.
    func row(of key: [UInt8]) -> RowID? { self.key == key ? rowID : nil }
}

/// Values that are wanted of one component of an index, too many to count the entries of each. Their keys are made only
/// if the path is taken: making them takes longer than the look-ups.
struct WantedValues: Equatable {
    /// The key that the components before make.
    let prefix: [UInt8]
    let values: [Value]
}

/// The use that a conjunction can make of an index. A class, because candidates and plans are copied, and it has lists.
package final class IndexMatch {
    let index: EntityIndex
    /// The range, if it is one, as nearly always: it takes no list.
    let range: EntryRange?
    /// Otherwise all of them, ascending.
    private let several: [EntryRange]
    /// Instead of ranges, for a long list.
    let wanted: WantedValues?
    /// Conjuncts that the ranges answer exactly; others that only narrowed them stay to be tested.
    let answered: ConjunctSet
    /// Leading components that equal one value each.
    let fixed: Int
    /// The number of entries: an estimate for wanted values.
    package let count: Int
    /// The key that the fixed components make; empty if that isn't known, as of several ranges.
    let prefix: [UInt8]
    /// The place before which a backward scan begins, if not at its end.
    let last: IndexPlace?

    init(
        _ index: EntityIndex, _ range: EntryRange, answered: ConjunctSet, fixed: Int, prefix: [UInt8] = [],
        last: IndexPlace? = nil
    ) {
        self.index = index
        self.last = last
        self.range = range
        self.prefix = prefix
        several = []
        wanted = nil
        self.answered = answered
        self.fixed = fixed
        count = range.count
    }

    init(_ index: EntityIndex, _ ranges: [EntryRange], answered: ConjunctSet, fixed: Int) {
        self.index = index
        range = ranges.count == 1 ? ranges[0] : nil
        several = ranges.count == 1 ? [] : ranges
        wanted = nil
        prefix = []
        last = nil
        self.answered = answered
        self.fixed = fixed
        // Saturating: counts may be damaged.
        count = ranges.reduce(0) { $0 > .max - $1.count ? .max : $0 + $1.count }
    }

    init(_ index: EntityIndex, wanted: WantedValues, count: Int, answered: ConjunctSet, fixed: Int) {
        self.index = index
        self.wanted = wanted
        self.count = count
        self.answered = answered
        self.fixed = fixed
        range = nil
        several = []
        prefix = []
        last = nil
    }

    /// This match, known to answer these conjuncts too.
    func answering(_ more: ConjunctSet) -> IndexMatch {
        let answered = answered.union(more)
        if let wanted { return IndexMatch(index, wanted: wanted, count: count, answered: answered, fixed: fixed) }
        guard let range else { return IndexMatch(index, several, answered: answered, fixed: fixed) }
        return IndexMatch(index, range, answered: answered, fixed: fixed, prefix: prefix, last: last)
    }

    var ranges: [EntryRange] { range.map { [$0] } ?? several }
    var rangeCount: Int { wanted?.values.count ?? (range == nil ? several.count : 1) }
    /// Whether `count` is exact.
    package var isCounted: Bool { wanted == nil }
    /// Entries of one range come in the order of the row ids: all components are fixed.
    var isInRowOrder: Bool { range != nil && fixed == index.components.count }
}
