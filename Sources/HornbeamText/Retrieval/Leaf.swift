// SPDX-License-Identifier: Apache-2.0
// The parts of a query that score: one term, or several treated as one. A leaf keeps its postings of a window, so that
// a document's score can be summed in the query's order once it is known that the document may be among the best.

import HornbeamPages

/// The data, besides the terms, on which the scores of a search depend.
final class ScoreContext {
    let view: IndexView
    /// The weight of each field. Nil if all tokens have the same weight.
    let fieldWeights: [Double]?
    /// The fields that have tokens, in descending order of weight, with their weights. Empty without weights.
    let fieldsByWeight: [(field: Int, weight: Double)]
    /// The least weight of a token.
    let leastWeight: Double
    /// Average number of tokens of a document, weighted if there are weights.
    let averageLength: Double
    /// Whether leaves keep their postings.
    let scores: Bool
    let occurrences = OccurrenceBudget()
    private let memory: UnsafeMutablePointer<UInt16>
    /// The fields of the last document that was looked up.
    @exclusivity(unchecked) private var starts: [UInt32] = []
    /// The window whose lengths are loaded, and which of its chunks are.
    @exclusivity(unchecked) private var window: UInt32 = 0
    @exclusivity(unchecked) private var chunks: UInt32 = 0

    /// - Parameter weights: one for each field, finite, not negative.
    init(_ view: IndexView, weights: [Double]?, scores: Bool) throws(StorageError) {
        self.view = view
        self.scores = scores
        fieldWeights = weights
        var total = Double(view.totalLength)
        var fields: [(field: Int, weight: Double)] = []
        if let weights {
            total = 0
            for (field, tokens) in try view.fieldTotals().enumerated() {
                let weight = field < weights.count ? weights[field] : 1
                total += weight * Double(tokens)
                fields.append((field, weight))
            }
        }
        fields.sort { $0.weight > $1.weight }
        fieldsByWeight = fields
        leastWeight = fields.last?.weight ?? 1
        let average = total / Double(view.documentCount)
        // Otherwise all tokens have weight 0, and nothing scores.
        averageLength = average > 0 ? average : 1
        memory = .allocate(capacity: DocumentWindow.size)
    }

    deinit { memory.deallocate() }

    /// Returns the length + 1 of each document of a window from one offset through another, 0 if there is no such
    /// document. 65,535 means any length from 65,534 on; its score is at most that of length 65,534.
    @inline(__always)
    func lengths(
        _ base: UInt32, from first: Int = 0, through last: Int = DocumentWindow.size - 1
    ) throws(StorageError) -> UnsafePointer<UInt16> {
        let shift = Int(IndexView.lengthsShift)
        let wanted: UInt32 = (2 &<< UInt32(last &>> shift)) &- (1 &<< UInt32(first &>> shift))
        if window != base || chunks & wanted != wanted { try load(base, wanted) }
        return UnsafePointer(memory)
    }

    @inline(never)
    private func load(_ base: UInt32, _ wanted: UInt32) throws(StorageError) {
        if window != base { (window, chunks) = (base, 0) }
        var missing = wanted & ~chunks
        while missing != 0 {
            let chunk = missing.trailingZeroBitCount
            missing &= missing - 1
            let target = memory + chunk << Int(IndexView.lengthsShift)
            // The last window may reach beyond the last document.
            let number = base >> IndexView.lengthsShift &+ UInt32(chunk)
            if Int(number) < view.lengthTable.chunkCount {
                let lengths = try view.lengths(chunk: number)
                UnsafeMutableRawPointer(target).copyMemory(
                    from: lengths, byteCount: 2 * DocumentLengths.chunkCapacity)
            } else {
                target.update(repeating: 0, count: DocumentLengths.chunkCapacity)
            }
            chunks |= 1 << UInt32(chunk)
        }
    }

    /// Returns the exact length of a document of the window whose lengths are loaded.
    @inline(__always)
    func length(_ offset: Int) throws(StorageError) -> Double {
        let stored = memory[offset]
        guard stored == DocumentLengths.escape else { return Double(stored) - 1 }
        return Double(try view.length(of: window &+ UInt32(offset)))
    }

    /// Returns the length that the score of a document of that window uses.
    func weightedLength(at offset: Int) throws(StorageError) -> Double {
        try weightedLength(window &+ UInt32(offset), memory[offset])
    }

    func weight(documentFrequency: UInt32) -> Double {
        BM25.weight(documentCount: view.documentCount, documentFrequency: UInt64(documentFrequency))
    }

    /// Returns the length that the score of a document uses.
    /// - Parameter starts: where its fields begin, and their end.
    func weightedLength(_ starts: [UInt32]) -> Double {
        var length = 0.0
        guard let fieldWeights else { return 0 }
        for field in 0..<max(starts.count - 1, 0) {
            let tokens = starts[field + 1] &- starts[field]
            length += (field < fieldWeights.count ? fieldWeights[field] : 1) * Double(tokens)
        }
        return length
    }

    /// Returns the length that the score of a document uses.
    /// - Parameter stored: the document's length + 1, or 65,535 if the length is at least 65,534.
    func weightedLength(_ docno: UInt32, _ stored: UInt16) throws(StorageError) -> Double {
        guard let fieldWeights else { return Double(stored) - 1 }
        guard stored < DocumentLengths.escape, let found = try view.fieldLengths(of: docno, stored &- 1) else {
            try view.fieldStarts(docno, &starts)
            return weightedLength(starts)
        }
        var length = 0.0
        for place in 0..<FieldPlace.count {
            length += (place < fieldWeights.count ? fieldWeights[place] : 1) * Double(found[place])
        }
        return length
    }

    /// Returns the largest weight of an occurrence in these fields; nil means all fields.
    func mostWeight(in fields: [Int]?) -> Double {
        guard fieldWeights != nil else { return 1 }
        return fieldsByWeight.first { fields?.contains($0.field) ?? true }?.weight ?? 0
    }

    /// Returns an upper bound, except for rounding, of the contribution of postings within the bound. `most` is the
    /// largest weight of an occurrence.
    ///
    /// The length includes the occurrences with their weights, and all other tokens with the least weight. Fewer or
    /// lighter occurrences give a lower score: the length decreases by no more than the frequency.
    func contributionBound(_ bound: Bound, weight: Double, most: Double) -> Double {
        var (frequency, length) = (Double(bound.frequency), Double(bound.length))
        if fieldWeights != nil {
            let others = max(length - frequency, 0)
            frequency *= most
            length = frequency + leastWeight * others
        }
        guard frequency > 0 else { return 0 }
        return BM25.score(weight: weight, frequency: frequency, length: length, averageLength: averageLength)
    }
}

/// A part of the query that scores. Abstract.
class Leaf: QueryNode {
    final let context: ScoreContext
    /// The inverse document frequency, times boosts, and the numbers that it was made of.
    final let weight: Double
    final let weightOrigin: LeafWeight
    /// How often it occurs in the query. Words may be repeated.
    @exclusivity(unchecked) final var multiplicity = 1
    /// The largest weight of an occurrence.
    private final let mostWeight: Double
    /// A bound of the contribution of this leaf alone to any document's score.
    final let bound: Double
    private final let title: String

    /// The window's postings, ascending: their number, their documents less the base, their frequencies.
    @exclusivity(unchecked) final var count = 0
    final let capacity: Int
    final let offsets: UnsafeMutablePointer<UInt16>
    final let frequencies: UnsafeMutablePointer<Double>
    /// With weights of fields: the length that each posting's score uses. A negative number is a lower bound of it.
    final let lengths: UnsafeMutablePointer<Double>?
    /// The active documents. All are active if `isRestricted` is false.
    private final let active = WindowSet()
    @exclusivity(unchecked) private final var isRestricted = false
    /// The index at which the last document was found.
    @exclusivity(unchecked) private final var place = 0

    /// - Parameters:
    ///   - bound: upper bound of its contribution to a document's score, for one occurrence in the query.
    ///   - mostWeight: the largest weight of an occurrence.
    init(
        _ context: ScoreContext, _ weight: LeafWeight, cost: Int, bound: Double, mostWeight: Double = 1, title: String
    ) {
        self.context = context
        (self.weight, weightOrigin) = (weight.value, weight)
        self.title = title
        // No extra room for damaged lists: each writer checks the capacity.
        capacity = context.scores ? min(cost, DocumentWindow.size) : 0
        offsets = .allocate(capacity: capacity + 1)
        frequencies = .allocate(capacity: capacity + 1)
        lengths = context.fieldWeights == nil ? nil : .allocate(capacity: capacity + 1)
        (self.mostWeight, self.bound) = (mostWeight, bound)
        super.init(cost: cost)
    }

    /// Returns a bound of postings within these bounds. `most` is the largest weight of an occurrence.
    static func bound(_ bounds: [Bound], _ context: ScoreContext, weight: Double, most: Double) -> Double {
        bounds.reduce(0) { max($0, context.contributionBound($1, weight: weight, most: most)) }
    }

    deinit {
        offsets.deallocate()
        frequencies.deallocate()
        lengths?.deallocate()
    }

    override var name: String { title }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double { bound * Double(multiplicity) }

    /// Returns a bound of the leaf's contribution to any document of the window from `base` on. All its documents must
    /// be among those of `blocks`.
    final func windowBound(_ base: UInt32, _ blocks: PostingSource) throws(StorageError) -> Double {
        try blocks.seekBlock(base)
        guard !blocks.isAtEnd, blocks.blockFirst <= DocumentWindow.last(base) else { return 0 }
        guard blocks.blockLast >= DocumentWindow.last(base) else { return bound * Double(multiplicity) }
        return blockBound(blocks)
    }

    /// Returns a bound of the leaf's contribution to documents under the bound.
    @inline(__always)
    final func contributionBound(_ bound: Bound) -> Double {
        context.contributionBound(bound, weight: weight, most: mostWeight) * Double(multiplicity)
    }

    /// Returns a bound of the leaf's contribution to documents of the current block.
    final func blockBound(_ blocks: PostingSource) -> Double {
        // Before the block is decoded, only these bounds are known.
        let first = contributionBound(blocks.blockBound)
        guard blocks.secondBlockBound != blocks.blockBound else { return first }
        return max(first, contributionBound(blocks.secondBlockBound))
    }

    /// Takes the window's postings that contribute at least `minimum`, and sets their sums. Used in searches in which
    /// no document without this leaf can be among the best. Returns false if the leaf doesn't support this.
    func takeBest(
        _ base: UInt32, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>
    ) throws(StorageError) -> Bool { false }

    final override func activate(_ active: WindowBits) {
        self.active.words.assign(active)
        isRestricted = true
    }

    /// Removes the window's postings.
    final func reset() { (count, place, isRestricted) = (0, 0, false) }

    /// Adds the approximate contribution of each posting to `sums`.
    final func addContributions(_ base: UInt32, to sums: UnsafeMutablePointer<Double>) throws(StorageError) {
        guard count > 0 else { return }
        let documentLengths = try context.lengths(base, from: Int(offsets[0]), through: Int(offsets[count - 1]))
        let weight = self.weight * Double(multiplicity)
        let (constant, slope) = (BM25.k1 * (1 - BM25.b), BM25.k1 * BM25.b / context.averageLength)
        let (offsets, frequencies, count, active) = (self.offsets, self.frequencies, self.count, self.active.words)
        var shortest = UInt16.max
        if let lengths {
            for place in 0..<count where !isRestricted || active.bits.contains(Int(offsets[place])) {
                let frequency = frequencies[place]
                guard frequency > 0 else { continue }
                let length = lengths[place].magnitude
                sums[Int(offsets[place])] += weight * frequency / (frequency + (constant + slope * length))
            }
        } else if isRestricted {
            for place in 0..<count {
                let offset = Int(offsets[place])
                guard active.bits.contains(offset) else { continue }
                let frequency = frequencies[place]
                shortest = min(shortest, documentLengths[offset])
                let length = Double(documentLengths[offset]) - 1
                sums[offset] += weight * frequency / (frequency + (constant + slope * length))
            }
        } else {
            for place in 0..<count {
                let offset = Int(offsets[place])
                let frequency = frequencies[place]
                shortest = min(shortest, documentLengths[offset])
                let length = Double(documentLengths[offset]) - 1
                sums[offset] += weight * frequency / (frequency + (constant + slope * length))
            }
        }
        if shortest == 0 { throw context.view.unknownDocument() }
    }

    /// Returns the index of a document's posting in the window, or nil if there is none or it isn't active. Documents
    /// ascend.
    final func find(_ offset: Int) -> Int? {
        if place < count, Int(offsets[place]) < offset {
            // Exponential search.
            var step = 1
            while place + step < count, Int(offsets[place + step]) < offset {
                place += step
                step *= 2
            }
            var high = min(place + step, count)
            while place < high {
                let middle = (place + high) / 2
                if Int(offsets[middle]) < offset { place = middle + 1 } else { high = middle }
            }
        }
        guard place < count, Int(offsets[place]) == offset else { return nil }
        return isRestricted && !active.words.bits.contains(offset) ? nil : place
    }

    /// Returns the exact contribution of the posting at index `place` to its document's score.
    final func contribution(_ place: Int) throws(StorageError) -> Double {
        guard frequencies[place] > 0 else { return 0 }
        return BM25.score(
            weight: weight, frequency: frequencies[place], length: try length(place),
            averageLength: context.averageLength)
    }

    /// Returns the length that the posting's score uses.
    final func length(_ place: Int) throws(StorageError) -> Double {
        let offset = Int(offsets[place])
        guard let lengths else { return try context.length(offset) }
        if lengths[place].sign == .minus { lengths[place] = try context.weightedLength(at: offset) }
        return lengths[place]
    }
}

/// One term, or several terms whose postings were added up.
final class TermLeaf: Leaf {
    private let source: PostingSource
    /// Maximum number of documents that are looked up one by one.
    private static let lookupLimit = 16

    init(_ context: ScoreContext, _ source: PostingSource, _ weight: LeafWeight, title: String) {
        self.source = source
        super.init(
            context, weight, cost: Int(source.documentFrequency),
            bound: Leaf.bound(source.bounds, context, weight: weight.value, most: 1), title: title)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        try source.lowerBound(from: target)
    }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double { try windowBound(base, source) }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        bits.clear()
        count = 0
        if let within, within.population <= Self.lookupLimit { return try lookUp(base, within) }
        let last = DocumentWindow.last(base)
        try source.seekBlock(base)
        while !source.isAtEnd, source.blockFirst <= last {
            if let within {
                let next = within.next(from: Int(max(source.blockFirst, base) &- base))
                guard next < DocumentWindow.size else { return }
                let target = base &+ UInt32(next)
                if target > source.blockLast {
                    try source.seekBlock(target)
                    continue
                }
            }
            if minimum == -.infinity || blockBound(source) >= minimum { try take(base, within) }
            guard source.blockLast < last else { return }
            try source.nextBlock()
        }
    }

    /// Takes the current block's postings in the window.
    private func take(_ base: UInt32, _ within: WindowBits?) throws(StorageError) {
        var place = try source.decode(from: base)
        let (docnos, sourceFrequencies, end) = (source.docnos, source.frequencies, source.count)
        let (bits, offsets, frequencies) = (self.bits, self.offsets, self.frequencies)
        let last = DocumentWindow.last(base)
        guard context.scores else {
            while place < end, docnos[place] <= last {
                let offset = Int(docnos[place] &- base)
                if within?.contains(offset) ?? true { bits.insert(offset) }
                place &+= 1
            }
            return
        }
        var taken = count
        let limit = min(end, place + capacity - taken)
        if let within {
            while place < limit, docnos[place] <= last {
                let offset = Int(docnos[place] &- base)
                offsets[taken] = UInt16(truncatingIfNeeded: offset)
                frequencies[taken] = Double(sourceFrequencies[place])
                let isWanted: UInt64 = within[offset &>> 6] &>> UInt64(truncatingIfNeeded: offset & 63) & 1
                bits[offset &>> 6] |= isWanted &<< UInt64(truncatingIfNeeded: offset & 63)
                taken &+= Int(truncatingIfNeeded: isWanted)
                place &+= 1
            }
        } else {
            while place < limit, docnos[place] <= last {
                let offset = Int(docnos[place] &- base)
                offsets[taken] = UInt16(truncatingIfNeeded: offset)
                frequencies[taken] = Double(sourceFrequencies[place])
                bits.insert(offset)
                taken &+= 1
                place &+= 1
            }
        }
        count = taken
        if place == limit, place < end, docnos[place] <= last {
            throw context.view.corrupt("\(name) has more postings than documents")
        }
    }

    /// Takes the window's postings of the documents in `within`, which are few, by looking up each of them.
    private func lookUp(_ base: UInt32, _ within: WindowBits) throws(StorageError) {
        var offset = within.next(from: 0)
        while offset < DocumentWindow.size {
            let target = base &+ UInt32(offset)
            let found = try source.advance(to: target)
            if found == target {
                if context.scores {
                    guard count < capacity else {
                        throw context.view.corrupt("\(name) has more postings than documents")
                    }
                    offsets[count] = UInt16(truncatingIfNeeded: offset)
                    frequencies[count] = Double(source.frequencies[source.current])
                    count += 1
                }
                bits.insert(offset)
            }
            guard found <= DocumentWindow.last(base) else { return }
            offset = within.next(from: max(offset + 1, Int(found &- base)))
        }
    }

    override func takeBest(
        _ base: UInt32, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>
    ) throws(StorageError) -> Bool {
        bits.clear()
        count = 0
        let last = DocumentWindow.last(base)
        try source.seekBlock(base)
        while !source.isAtEnd, source.blockFirst <= last {
            if blockBound(source) >= minimum { try takeBlock(base, minimum, sums) }
            guard source.blockLast < last else { return true }
            try source.nextBlock()
        }
        return true
    }

    private func takeBlock(
        _ base: UInt32, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>
    ) throws(StorageError) {
        var place = try source.decode(from: base)
        let (docnos, sourceFrequencies) = (source.docnos, source.frequencies)
        let last = DocumentWindow.last(base)
        let end = source.end(from: place, through: last)
        guard place < end else { return }
        let lengths = try context.lengths(
            base, from: Int(docnos[place] &- base), through: Int(docnos[end &- 1] &- base))
        let (bits, offsets, frequencies) = (self.bits, self.offsets, self.frequencies)
        let weight = self.weight * Double(multiplicity)
        let (constant, slope) = (BM25.k1 * (1 - BM25.b), BM25.k1 * BM25.b / context.averageLength)
        var shortest = UInt16.max
        var taken = count
        let limit = capacity
        while place < end {
            let offset = Int(docnos[place] &- base)
            let frequency = Double(sourceFrequencies[place])
            let length = lengths[offset]
            shortest = min(shortest, length)
            let share = weight * frequency
            let divisor = frequency + (constant + slope * (Double(length) - 1))
            // Both are positive, so the comparison needs no division.
            if share >= minimum * divisor {
                guard taken < limit else {
                    shortest = 0
                    break
                }
                offsets[taken] = UInt16(truncatingIfNeeded: offset)
                frequencies[taken] = frequency
                sums[offset] = share / divisor
                bits.insert(offset)
                taken &+= 1
            }
            place &+= 1
        }
        count = taken
        if shortest == 0 {
            throw context.view.corrupt("\(name) has postings of documents that are not in the index")
        }
    }
}
