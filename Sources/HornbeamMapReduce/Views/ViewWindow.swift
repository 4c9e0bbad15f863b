// SPDX-License-Identifier: Apache-2.0
// The part of a group that a list shows, and its change when the group changes.

/// A part of a group: a number of entities from one of its ends, after an offset. A negative limit or offset gives
/// none.
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

    /// A window of always `limit` entities at the same distance from an end of the group. Inserted entities push others
    /// out at the other edge of the window.
    public static func fixed(limit: Int, offset: Int = 0, from edge: Edge = .start) -> Self {
        Self(limit: limit, offset: offset, edge: edge, grows: false)
    }

    /// A window of `limit` entities at first; later of the same entities, with those inserted between them, and without
    /// deleted ones. A window that reaches an end of the group continues to reach it.
    public static func growing(limit: Int, offset: Int = 0, from edge: Edge = .start) -> Self {
        Self(limit: limit, offset: offset, edge: edge, grows: true)
    }

    /// Returns the indexes that it shows at first, in a group of `count` entities.
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

    /// Returns the indexes that it shows of a group that has changed.
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
    /// Both ascending: the former indexes of entities that left or moved, and the present indexes of entities that were
    /// added or moved.
    let taken: [Int]
    let put: [Int]

    /// Returns the number of staying entities that were before an index.
    func staying(before index: Int) -> Int { index - taken.countBelow(index) }
    /// Returns the number of staying entities that are before an index now.
    func stayingNow(before index: Int) -> Int { index - put.countBelow(index) }

    /// Returns the former index of a staying entity, or the former number of entities for the number after the last.
    func oldIndex(of number: Int) -> Int { Self.index(number, taken) }
    /// Returns the present index of a staying entity, or the present number of entities for the number after the last.
    func newIndex(of number: Int) -> Int { Self.index(number, put) }

    /// Returns the `number`-th index, counted from 0, of those that aren't among `others`.
    private static func index(_ number: Int, _ others: [Int]) -> Int {
        // `others[place] - place` of the indexes that aren't among the others precede `others[place]`.
        var low = 0
        var high = others.count
        while low < high {
            let middle = (low + high) / 2
            if others[middle] - middle <= number { low = middle + 1 } else { high = middle }
        }
        return number + low
    }
}
