// SPDX-License-Identifier: Apache-2.0
// Any of several terms. Works in windows of 4,096 document numbers: the postings of each token are added, token by
// token in the query's order, to an array of scores, then the window's documents are offered. So each score is summed
// in exactly the order that defines it, and the inner loops run over plain arrays.

import HornbeamPages

/// A union of posting lists, walked window by window.
struct Disjunction: ~Copyable {
    static let windowSize: UInt32 = 4096
    private static let words = Int(windowSize) / 64

    /// The distinct terms.
    private let lists: [PostingIterator]
    /// For each token of the query, in order, the index of its list.
    private let tokens: [Int]
    private let lengthsReader: DocumentLengths
    private let map: DocumentMap
    private let weights: [Double]
    private let averageLength: Double
    private let filter: TextFilter
    /// The documents that a filter by rows lets through, ascending.
    private let allowed: [UInt32]?

    private let scores: UnsafeMutablePointer<Double>
    private let lengths: UnsafeMutablePointer<UInt32>
    /// One bit for each document of the window that holds a term.
    private let matched: UnsafeMutablePointer<UInt64>
    /// The postings of each list in the window: `windowSize` places a list.
    private let offsets: UnsafeMutablePointer<UInt16>
    private let frequencies: UnsafeMutablePointer<UInt32>
    private var counts: [Int]
    /// How much of a filter's documents lies behind.
    private var filtered = 0

    init(
        _ lists: [PostingIterator], tokens: [Int], map: DocumentMap, lengths lengthsReader: DocumentLengths,
        filter: TextFilter
    ) throws(StorageError) {
        let statistics = map.statistics
        let index = lengthsReader.index
        guard lists.allSatisfy({ $0.documentFrequency <= statistics.documentCount }) else {
            throw index.corrupt(index.statisticsName, "a term is in more documents than the index has")
        }
        guard statistics.totalLength > 0 else {
            throw index.corrupt(index.statisticsName, "the index has terms but no tokens")
        }
        let allowed = try Self.documents(of: filter, map)
        self.allowed = allowed
        self.map = map
        self.lists = lists
        self.tokens = tokens
        self.lengthsReader = lengthsReader
        self.filter = filter
        averageLength = Double(statistics.totalLength) / Double(statistics.documentCount)
        weights = lists.map {
            BM25.weight(documentCount: statistics.documentCount, documentFrequency: $0.documentFrequency)
        }
        let size = Int(Self.windowSize)
        scores = .allocate(capacity: size)
        scores.initialize(repeating: 0, count: size)
        lengths = .allocate(capacity: size)
        matched = .allocate(capacity: Self.words)
        matched.initialize(repeating: 0, count: Self.words)
        offsets = .allocate(capacity: size * lists.count)
        frequencies = .allocate(capacity: size * lists.count)
        counts = [Int](repeating: 0, count: lists.count)
    }

    private static func documents(of filter: TextFilter, _ map: DocumentMap) throws(StorageError) -> [UInt32]? {
        guard case .documents(let rows) = filter else { return nil }
        var docnos: [UInt32] = []
        for row in rows { if let docno = try map.docno(of: row) { docnos.append(docno) } }
        return docnos.sorted()
    }

    deinit {
        scores.deallocate()
        lengths.deallocate()
        matched.deallocate()
        offsets.deallocate()
        frequencies.deallocate()
    }

    /// Offers every document, with its score, to `best`.
    mutating func rank(_ best: inout TopK) throws(StorageError) {
        while let base = try takeWindow() {
            let missing = try loadLengths(base)
            for token in tokens { addScores(of: token) }
            if let missing { try requireLengths(base, missing) }
            try offerWindow(base, &best)
        }
    }

    /// Calls `body` with the row of every document; no scores.
    mutating func forEach(_ body: (UInt64) throws(StorageError) -> Void) throws(StorageError) {
        while let base = try takeWindow() {
            for word in 0..<Self.words where matched[word] != 0 {
                var bits = matched[word]
                matched[word] = 0
                while bits != 0 {
                    let row = try map.row(of: base + UInt32(word << 6 + bits.trailingZeroBitCount))
                    bits &= bits - 1
                    if case .matching(let allows) = filter, try !allows(row) { continue }
                    try body(row)
                }
            }
        }
    }
}

// One window.
extension Disjunction {
    /// Takes the next window's postings from the lists and marks their documents. Its first document number, nil at
    /// the end.
    private mutating func takeWindow() throws(StorageError) -> UInt32? {
        guard let base = try findWindow() else { return nil }
        let last = base | (Self.windowSize - 1)
        for list in lists.indices {
            let start = list * Int(Self.windowSize)
            let taken = try lists[list].take(
                through: last, base: base, offsets: offsets + start, frequencies: frequencies + start)
            counts[list] = taken
            let offsets = self.offsets + start
            for place in 0..<taken {
                matched[Int(offsets[place]) >> 6] |= 1 &<< UInt64(offsets[place] & 63)
            }
        }
        maskByFilter(base)
        return base
    }

    /// The window of the next document that a list has, and that the filter may let through.
    private mutating func findWindow() throws(StorageError) -> UInt32? {
        while true {
            var next: UInt32?
            for list in lists {
                if let current = list.current { next = min(next ?? current, current) }
            }
            guard let next else { return nil }
            guard let allowed else { return next & ~(Self.windowSize - 1) }
            filtered = Self.firstIndex(in: allowed, from: filtered, notBelow: next)
            guard filtered < allowed.count else { return nil }
            let base = allowed[filtered] & ~(Self.windowSize - 1)
            if base <= next { return base }
            for list in lists { try list.advance(to: base) }
        }
    }

    /// Galloping search: the first index from `start` on whose value is not below `bound`.
    private static func firstIndex(in values: [UInt32], from start: Int, notBelow bound: UInt32) -> Int {
        var low = start
        var step = 1
        while low + step < values.count, values[low + step] < bound {
            low += step
            step *= 2
        }
        var high = min(low + step, values.count)
        while low < high {
            let middle = (low + high) / 2
            if values[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func maskByFilter(_ base: UInt32) {
        guard let allowed else { return }
        let last = base | (Self.windowSize - 1)
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.words) { mask in
            mask.initialize(repeating: 0)
            var place = filtered
            while place < allowed.count, allowed[place] <= last {
                if allowed[place] >= base {
                    let offset = Int(allowed[place] - base)
                    mask[offset >> 6] |= 1 &<< UInt64(offset & 63)
                }
                place += 1
            }
            for word in 0..<Self.words { matched[word] &= mask[word] }
        }
    }

    /// Loads the lengths of the window's chunks that have postings. The offset of a posting without a document, if any.
    private func loadLengths(_ base: UInt32) throws(StorageError) -> Int? {
        var chunks: UInt64 = 0
        for list in lists.indices {
            let offsets = self.offsets + list * Int(Self.windowSize)
            for place in 0..<counts[list] { chunks |= 1 &<< UInt64(offsets[place] >> 10) }
        }
        let capacity = DocumentLengths.chunkCapacity
        while chunks != 0 {
            let chunk = chunks.trailingZeroBitCount
            chunks &= chunks - 1
            try lengthsReader.load(
                chunk: base >> DocumentLengths.chunkShift + UInt32(chunk), to: lengths + chunk * capacity)
        }
        var shortest = UInt32.max
        var missing = 0
        for list in lists.indices {
            let offsets = self.offsets + list * Int(Self.windowSize)
            for place in 0..<counts[list] where lengths[Int(offsets[place])] < shortest {
                shortest = lengths[Int(offsets[place])]
                missing = Int(offsets[place])
            }
        }
        return shortest == 0 ? missing : nil
    }

    private func requireLengths(_ base: UInt32, _ missing: Int) throws(StorageError) {
        let index = lengthsReader.index
        throw index.corrupt(
            index.postingsName, "document \(base + UInt32(missing)) has postings but is not in the index")
    }

    private func addScores(of list: Int) {
        let start = list * Int(Self.windowSize)
        let (offsets, frequencies) = (self.offsets + start, self.frequencies + start)
        let (scores, lengths, weight, averageLength) = (self.scores, self.lengths, weights[list], self.averageLength)
        for place in 0..<counts[list] {
            let offset = Int(offsets[place])
            scores[offset] += BM25.score(
                weight: weight, frequency: Double(frequencies[place]), length: Double(lengths[offset] &- 1),
                averageLength: averageLength)
        }
    }

    /// Offers the window's documents and clears it for the next.
    private mutating func offerWindow(_ base: UInt32, _ best: inout TopK) throws(StorageError) {
        for word in 0..<Self.words where matched[word] != 0 {
            var bits = matched[word]
            while bits != 0 {
                let offset = word << 6 + bits.trailingZeroBitCount
                bits &= bits - 1
                guard scores[offset] >= best.threshold else { continue }
                let hit = TextHit(docno: try map.row(of: base + UInt32(offset)), score: scores[offset])
                guard try best.admits(hit) else { continue }
                if case .matching(let allows) = filter, try !allows(hit.docno) { continue }
                try best.insert(hit)
            }
            matched[word] = 0
        }
        for list in lists.indices {
            let offsets = self.offsets + list * Int(Self.windowSize)
            for place in 0..<counts[list] { scores[Int(offsets[place])] = 0 }
        }
    }
}
