// SPDX-License-Identifier: Apache-2.0
// The part of a group that a list shows, and its change when the group changes.

/// A part of a group: a number of entities from one of its ends on, or after an offset. A negative number gives none.
public struct ViewWindow: Sendable, Hashable {
    /// An end of a group.
    public enum Edge: Sendable, Hashable {
        case start
        case end
    }

    let limit: Int
    let offset: Int
    let edge: Edge
    let grows: Bool

    private init(limit: Int, offset: Int, edge: Edge, grows: Bool) {
        self.limit = offset < 0 ? 0 : max(0, limit)
        self.offset = max(0, offset)
        self.edge = edge
        self.grows = grows
    }

    /// Always `limit` entities, at the same distance from that end of the group: entities that are inserted push others
    /// out at the other edge of the window.
    public static func fixed(limit: Int, offset: Int = 0, from edge: Edge = .start) -> Self {
        Self(limit: limit, offset: offset, edge: edge, grows: false)
    }

    /// `limit` entities at first; later the same entities, with those inserted between them, and without deleted ones.
    /// A window that reaches an end of the group continues to reach it.
    public static func growing(limit: Int, offset: Int = 0, from edge: Edge = .start) -> Self {
        Self(limit: limit, offset: offset, edge: edge, grows: true)
    }

    /// The indexes that it shows at first, in a group of `count` entities.
    func range(of count: Int) -> Range<Int> {
        switch edge {
        case .start:
            let start = min(offset, count)
            return start..<start + min(limit, count - start)
        case .end:
            let end = max(0, count - min(offset, count))
            return end - min(limit, end)..<end
        }
    }

    /// The indexes that it shows of a group that has changed.
    func range(after change: GroupChange, from old: Range<Int>) -> Range<Int> {
        guard grows else { return range(of: change.newCount) }
        let first = change.staying(before: old.lowerBound)
        let end = change.staying(before: old.upperBound)
        let lower = old.lowerBound == 0 ? 0 : change.newIndex(of: first)
        if old.upperBound == change.oldCount { return lower..<max(lower, change.newCount) }
        if first < end { return lower..<change.newIndex(of: end - 1) + 1 }
        // None of its entities is left. A window at the beginning continues to show entities inserted there.
        return lower..<max(lower, old.lowerBound == 0 ? change.newIndex(of: end) : lower)
    }
}

/// The changes of one group, by indexes. Entities that stay in it without moving are numbered from 0.
struct GroupChange {
    let oldCount: Int
    let newCount: Int
    /// Former indexes, ascending, of entities that left or moved; and present ones, of entities that were added or
    /// moved.
    let taken: [Int]
    let put: [Int]

    /// How many that stay were before an index.
    func staying(before index: Int) -> Int { index - taken.countBelow(index) }
    /// How many that stay are before an index now.
    func stayingNow(before index: Int) -> Int { index - put.countBelow(index) }

    /// The former index of a staying entity; the former number of entities for the number after the last.
    func oldIndex(of number: Int) -> Int { Self.index(number, taken) }
    /// The present index of a staying entity.
    func newIndex(of number: Int) -> Int { Self.index(number, put) }

    /// The number-th index that isn't one of these: as many more as there are of these before it.
    private static func index(_ number: Int, _ others: [Int]) -> Int {
        // others[place] - place of the indexes that are not among them precede others[place].
        var low = 0
        var high = others.count
        while low < high {
            let middle = (low + high) / 2
            if others[middle] - middle <= number { low = middle + 1 } else { high = middle }
        }
        return number + low
    }
}
