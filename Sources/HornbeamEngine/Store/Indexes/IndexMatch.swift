// SPDX-License-Identifier: Apache-2.0
// Ranges of an index's keys that answer conditions.

/// A range of keys from `from` to before `to`, and the number of its entries. An empty bound is an open end.
package struct EntryRange: Hashable {
    var from: [UInt8]
    var to: [UInt8]
    var count: Int
}

/// A key of an index, and a row that has it.
struct IndexPlace {
    let key: [UInt8]
    let rowID: RowID

    /// The row if `key` is this key; otherwise nil.
    func row(of key: [UInt8]) -> RowID? { self.key == key ? rowID : nil }
}

/// Values that one component of an index may have, too many to count the entries of each. Their keys are made only if
/// the plan uses them: making them takes longer than the look-ups.
struct WantedValues: Equatable {
    /// The key of the components before it.
    let prefix: [UInt8]
    let values: [Value]
}

/// The part of an index that a conjunction needs. A class, because candidates and plans are copied, and it has lists.
package final class IndexMatch {
    let index: EntityIndex
    /// The range, if there is one, as nearly always. It needs no list.
    let range: EntryRange?
    /// The ranges, ascending, if there isn't one.
    private let several: [EntryRange]
    /// The values of a long list, instead of ranges.
    let wanted: WantedValues?
    /// Conjuncts that the ranges answer exactly. Conjuncts that only narrow the ranges are tested on the rows.
    let answered: ConjunctSet
    /// Number of leading components that equal one value each.
    let fixed: Int
    /// The number of entries: an estimate for wanted values.
    package let count: Int
    /// The key of the fixed components; empty if that isn't known, as for several ranges.
    let prefix: [UInt8]
    /// The place before which a backward scan begins; nil if it begins at the end.
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

    /// This match with more answered conjuncts.
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
    /// Whether entries come in the order of row ids: all components are fixed, in one range.
    var isInRowOrder: Bool { range != nil && fixed == index.components.count }
}
