// SPDX-License-Identifier: Apache-2.0
// The best k of a stream of scored documents, in a heap whose root is the worst of them. Equal scores are decided by
// the caller's order, so the result doesn't depend on the order in which documents arrive.

import HornbeamPages

/// A document found by a ranked search.
package struct TextHit: Equatable, Sendable {
    package let row: UInt64
    package let score: Double

    package init(row: UInt64, score: Double) {
        self.row = row
        self.score = score
    }
}

/// A bounded heap.
struct TopK {
    private var heap: [TextHit] = []
    let limit: Int
    private let tieBreak: TextTieBreak?
    /// Neither this hit nor any hit before it is admitted.
    private let after: TextHit?

    /// `limit` must be positive. Without `tieBreak` the smaller row comes first.
    init(limit: Int, tieBreak: TextTieBreak?, after: TextHit? = nil) {
        self.limit = limit
        self.tieBreak = tieBreak
        self.after = after
        heap.reserveCapacity(min(limit, 64))
    }

    /// The score below which no document can enter any more.
    var threshold: Double { heap.count < limit ? -.infinity : heap[0].score }

    /// The relative rounding error of a score, or of a bound of it, is far less than this.
    static let slack = 1e-9

    /// The least approximate score with which a document may be among the best.
    @inline(__always)
    var need: Double { threshold > 0 ? threshold * (1 - Self.slack) : threshold }

    /// Whether equal scores are decided by rows, and nothing else excludes documents.
    var isPlain: Bool { tieBreak == nil && after == nil }

    /// Whether it takes any document as long as it isn't full.
    var isOpen: Bool { after == nil }

    /// Replaces document numbers in the hits by rows, which must be in the same order.
    mutating func replaceDocuments(
        byRows row: (_ docno: UInt64) throws(StorageError) -> UInt64
    ) throws(StorageError) {
        for place in heap.indices {
            heap[place] = TextHit(row: try row(heap[place].row), score: heap[place].score)
        }
    }

    /// Returns false if no document of this score would enter, whatever its row. `laterRow` tells that its row is above
    /// those of all documents before.
    func mayAdmit(_ score: Double, laterRow: Bool) -> Bool {
        if let after, score > after.score { return false }
        guard heap.count == limit else { return true }
        return laterRow && tieBreak == nil ? score > heap[0].score : score >= heap[0].score
    }

    /// Whether a document would enter now.
    func admits(_ hit: TextHit) throws(StorageError) -> Bool {
        if let after {
            if hit.row == after.row { return false }
            guard try isBetter(after, hit) else { return false }
        }
        if heap.count < limit { return true }
        return try isBetter(hit, heap[0])
    }

    mutating func insert(_ hit: TextHit) throws(StorageError) {
        if heap.count < limit {
            heap.append(hit)
            try siftUp(heap.count - 1)
        } else {
            heap[0] = hit
            try siftDown(0, in: heap.count)
        }
    }

    /// Returns the documents, best first.
    consuming func sorted() throws(StorageError) -> [TextHit] {
        var end = heap.count
        while end > 1 {
            end -= 1
            heap.swapAt(0, end)
            try siftDown(0, in: end)
        }
        return heap
    }

    private func isBetter(_ left: TextHit, _ right: TextHit) throws(StorageError) -> Bool {
        if left.score != right.score { return left.score > right.score }
        guard let tieBreak else { return left.row < right.row }
        return try tieBreak(left.row, right.row)
    }

    private mutating func siftUp(_ start: Int) throws(StorageError) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard try isBetter(heap[parent], heap[place]) else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func siftDown(_ start: Int, in count: Int) throws(StorageError) {
        var place = start
        while true {
            var worst = place
            for child in [2 * place + 1, 2 * place + 2] where child < count {
                if try isBetter(heap[worst], heap[child]) { worst = child }
            }
            guard worst != place else { return }
            heap.swapAt(place, worst)
            place = worst
        }
    }
}
