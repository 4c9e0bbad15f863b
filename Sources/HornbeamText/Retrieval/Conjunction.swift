// SPDX-License-Identifier: Apache-2.0
// Finds documents that hold each of several terms, if required next to each other. Evaluated document by document; the
// rarest term leads. Blocks are skipped without decoding if a list has no document in common with the others, or if the
// bound of the sum is too low (block-max, as in Ding, Suel, “Faster top-k document retrieval using block-max indexes”,
// 2011). Scores are estimated in single precision, four matches at a time. Only matches that may be among the best are
// scored exactly, and only for these are the positions of phrases read. The estimate is an upper bound: it assumes that
// every occurrence of a phrase's rarest word is in the phrase, and that every occurrence of words near each other has
// some of the others beside it.

import HornbeamPages

/// One evaluation.
final class Conjunction {
    private let view: IndexView
    private let averageLength: Double
    /// Keeps the sources alive.
    private let owner: [PostingSource]
    /// In ascending order of document frequency.
    private let lists: UnsafeMutableBufferPointer<ConjunctionList>
    private let parts: UnsafeMutableBufferPointer<FlatPart>
    /// The parts' terms, as indexes of `lists`.
    private let slots: UnsafeMutablePointer<Int>
    /// Finds the positions of terms. Nil if no part has several terms: then positions don't matter.
    private let termPlaces: TermPlaces?
    /// The documents that may match. Nil means all.
    private let allowed: DocumentSet?
    /// The documents of the current batch that hold all terms: their number, and their data.
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var matches: ConjunctionMatches
    private let norm: LengthNorm
    /// The first document behind all batches so far. Nil at the end.
    @exclusivity(unchecked) private var target: UInt32? = 0
    /// The frequency of each part in the current document.
    private let frequencies: UnsafeMutablePointer<UInt32>

    /// - Parameters:
    ///   - sources: at least one, each of a different term, at their beginnings.
    ///   - parts: their terms are indexes of `sources`.
    ///   - allowed: only these documents match. Nil means all.
    init(
        _ view: IndexView, _ sources: [PostingSource], _ parts: [ConjunctionPart], among allowed: DocumentSet? = nil
    ) {
        (self.view, self.allowed) = (view, allowed)
        averageLength = view.averageLength
        norm = LengthNorm(averageLength: averageLength)
        let order = sources.indices.sorted { sources[$0].documentFrequency < sources[$1].documentFrequency }
        var ranks = [Int](repeating: 0, count: sources.count)
        for (rank, place) in order.enumerated() { ranks[place] = rank }
        let sorted = order.map { sources[$0] }
        let slotCount = parts.reduce(0) { $0 + $1.slots.count }
        let flat = UnsafeMutableBufferPointer<FlatPart>.allocate(capacity: parts.count)
        let slots = UnsafeMutablePointer<Int>.allocate(capacity: slotCount)
        var next = 0
        for (place, part) in parts.enumerated() {
            let ranked = part.slots.map { ranks[$0] }
            flat.initializeElement(
                at: place,
                to: FlatPart(weight: part.weight, order: part.order, start: next, end: next + ranked.count))
            (slots + next).initialize(from: ranked, count: ranked.count)
            next += ranked.count
        }
        let size = sources.count
        (owner, self.parts, self.slots) = (sorted, flat, slots)
        lists = .allocate(capacity: size)
        for place in 0..<size { lists.initializeElement(at: place, to: ConjunctionList(sorted[place])) }
        termPlaces =
            flat.allSatisfy(\.isTerm)
            ? nil : TermPlaces(view, lists, flat, slots: .init(start: slots, count: slotCount))
        matches = ConjunctionMatches(capacity: PostingRun.blockCapacity + 1, lists: size)
        frequencies = .allocate(capacity: parts.count)
        frequencies.initialize(repeating: 0, count: parts.count)
        for place in 0..<size {
            for bound in sorted[place].bounds {
                lists[place].bound = max(lists[place].bound, contributionBound(bound))
            }
        }
    }

    deinit {
        parts.deallocate()
        slots.deallocate()
        for list in lists { list.table?.end() }
        lists.deallocate()
        matches.end()
        frequencies.deallocate()
    }

    // MARK: Documents

    /// Calls `body` with each matching document, ascending.
    func forEach(_ body: (UInt32) throws(StorageError) -> Void) throws(StorageError) {
        while try nextBatch(-.infinity) {
            for match in 0..<count {
                if let termPlaces, try !standTogether(match, termPlaces) { continue }
                try body(docnos[match])
            }
        }
    }

    /// Offers to `best` every document that may be among the best, if `accepts` takes its row.
    func rank(_ best: inout TopK, accepts: (UInt64) throws(StorageError) -> Bool) throws(StorageError) {
        let rowsAscend = view.rowsAscend
        var need = best.need
        while try nextBatch(need) {
            try estimate()
            var least = Self.least(need)
            for match in 0..<count where estimates[match] >= least {
                if let termPlaces, try !standTogether(match, termPlaces) { continue }
                let score = try score(match)
                guard score >= need, best.mayAdmit(score, laterRow: rowsAscend) else { continue }
                let hit = TextHit(row: try view.row(of: docnos[match]), score: score)
                guard try best.admits(hit), try accepts(hit.row) else { continue }
                try best.insert(hit)
                need = best.need
                least = Self.least(need)
            }
        }
    }

    /// Returns the exact score of a match. The frequencies of its parts must be known.
    private func score(_ match: Int) throws(StorageError) -> Double {
        // The term that BM25 adds to a frequency.
        let added = BM25.k1 * (1 - BM25.b + BM25.b * (try view.tokens(of: docnos[match])) / averageLength)
        var score = 0.0
        for place in 0..<parts.count {
            let part = parts[place]
            let frequency = Double(part.isTerm ? held(slots[part.start], match) : frequencies[place])
            score += part.weight * frequency / (frequency + added)
        }
        return score
    }

    /// Returns the frequency of a source's term in the document of a match.
    @inline(__always)
    private func held(_ source: Int, _ match: Int) -> UInt32 {
        lists[source].frequencies[Int(places[source &* matches.capacity &+ match])]
    }

    /// Returns a lower bound of the estimates of all documents whose scores are at least `need`.
    @inline(__always)
    private static func least(_ need: Double) -> Float { Float(need) * (need > 0 ? 1 - estimateSlack : 1) }
}

// Estimates.
extension Conjunction {
    /// Upper bound of the relative rounding error of an estimate.
    private static let estimateSlack: Float = 1e-4
    /// Maximum number of parts. Sums of more parts would have a larger error.
    static let partLimit = 1_000
    /// Maximum number of terms, each of which can have a table of its own.
    static let sourceLimit = 256

    /// Estimates an upper bound of the score of each match of the batch.
    private func estimate() throws(StorageError) {
        try loadLengths()
        let rows = (count + 3) / 4
        let estimates = UnsafeMutableRawPointer(self.estimates)
        let (lengths, counts) = (UnsafeRawPointer(self.lengths), UnsafeRawPointer(self.counts))
        estimates.initializeMemory(as: Float.self, repeating: 0, count: 4 * rows)
        for part in parts {
            loadCounts(part)
            let weight = SIMD4<Float>(repeating: Float(part.weight))
            for row in 0..<rows {
                let count = counts.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<Float>.self)
                let length = lengths.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<Float>.self)
                let sum = estimates.loadUnaligned(fromByteOffset: 16 &* row, as: SIMD4<Float>.self)
                let share = weight * count / (count + length)
                estimates.storeBytes(of: sum + share, toByteOffset: 16 &* row, as: SIMD4<Float>.self)
            }
        }
    }

    /// Sets `lengths` to the term that BM25 adds to a frequency in each match.
    private func loadLengths() throws(StorageError) {
        let (constant, slope) = (Float(norm.constant), Float(norm.slope))
        let (docnos, lengths, count) = (self.docnos, self.lengths, self.count)
        var match = 0
        var shortest = UInt16.max
        while match < count {
            let chunk = docnos[match] &>> IndexView.lengthsShift
            let stored = try view.lengths(chunk: chunk)
            let last = chunk &<< IndexView.lengthsShift | UInt32(DocumentLengths.chunkCapacity - 1)
            while match < count, docnos[match] <= last {
                let offset = 2 &* Int(docnos[match] & UInt32(DocumentLengths.chunkCapacity - 1))
                let length = stored.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                shortest = min(shortest, length)
                lengths[match] = constant + slope * Float(Int32(length))
                match &+= 1
            }
        }
        guard shortest > 0 else { throw view.unknownDocument() }
    }

    /// Sets `counts` to an upper bound of a part's frequency in each match.
    private func loadCounts(_ part: FlatPart) {
        let (counts, count) = (self.counts, self.count)
        var (held, places) = held(by: slots[part.start])
        for match in 0..<count { counts[match] = Float(Int32(truncatingIfNeeded: held[Int(places[match])])) }
        switch part.order {
        case .phrase(slop: 0):
            for place in part.start &+ 1..<part.end {
                (held, places) = self.held(by: slots[place])
                for match in 0..<count {
                    counts[match] = min(counts[match], Float(Int32(truncatingIfNeeded: held[Int(places[match])])))
                }
            }
        // With slop, one occurrence of a word may serve several occurrences of the first.
        case .phrase: return
        case .near:
            // Each match of the part uses up at least one occurrence, and at least one occurrence of each other word
            // remains.
            for place in part.start &+ 1..<part.end {
                (held, places) = self.held(by: slots[place])
                for match in 0..<count {
                    counts[match] += Float(Int32(truncatingIfNeeded: held[Int(places[match])])) - 1
                }
            }
        }
    }

    /// Returns the frequencies of a source's block, and the indexes of the matches in it.
    @inline(__always)
    private func held(by source: Int) -> (UnsafePointer<UInt32>, UnsafeMutablePointer<Int32>) {
        (lists[source].frequencies, places + source &* matches.capacity)
    }
}

// Batches: the intersection of all lists, block by block.
extension Conjunction {
    private func contributionBound(_ bound: Bound) -> Double {
        guard bound.frequency > 0 else { return 0 }
        return BM25.score(
            weight: 1, frequency: Double(bound.frequency), length: Double(bound.length), averageLength: averageLength)
    }

    /// Updates the bound of a source's current block.
    @inline(__always)
    private func boundBlock(_ place: Int) {
        let source = lists[place].source
        guard lists[place].boundedLast != UInt64(source.blockLast) else { return }
        lists[place].boundedLast = UInt64(source.blockLast)
        let first = contributionBound(source.blockBound)
        let isOne = source.secondBlockBound == source.blockBound
        lists[place].blockBound = isOne ? first : max(first, contributionBound(source.secondBlockBound))
    }

    /// Returns an upper bound of the sum of all parts, by the bounds of current blocks or of whole lists. The first
    /// source's current block always counts.
    @inline(__always)
    private func bound(byBlocks: Bool) -> Double {
        var sum = 0.0
        for part in parts {
            let first = slots[part.start]
            var most = bound(of: first, byBlocks)
            switch part.order {
            // Each word of a phrase is a bound.
            case .phrase(slop: 0):
                for place in part.start &+ 1..<part.end { most = min(most, bound(of: slots[place], byBlocks)) }
            // With slop, only the first word is a bound.
            case .phrase: break
            case .near:
                // A contribution is f / (f + k), where k depends on the document. The ratios f / k add up.
                var ratio = 0.0
                for place in part.start..<part.end {
                    let bound = bound(of: slots[place], byBlocks)
                    ratio += bound / (1 - bound)
                }
                most = ratio < .infinity ? ratio / (1 + ratio) : 1
            }
            sum += part.weight * most
        }
        return sum * (1 + TopK.slack)
    }

    @inline(__always)
    private func bound(of source: Int, _ byBlocks: Bool) -> Double {
        byBlocks || source == 0 ? lists[source].blockBound : lists[source].bound
    }

    /// Moves to the next documents that hold all terms, within one block of every list. Returns false at the end.
    /// - Parameter least: documents whose scores can't reach it may be left out.
    private func nextBatch(_ least: Double) throws(StorageError) -> Bool {
        let lead = lists[0].source
        while var from = target {
            try lead.seekBlock(from)
            guard !lead.isAtEnd else { return false }
            if least > 0, !lead.isDecoded {
                boundBlock(0)
                if bound(byBlocks: false) < least {
                    target = Self.after(lead.blockLast)
                    continue
                }
            }
            let place = try lead.decode(from: from)
            from = lead.docnos[place]
            target = from
            var last = lead.blockLast
            var isAhead = false
            for list in lists.dropFirst() {
                let source = list.source
                try source.seekBlock(from)
                guard !source.isAtEnd else { return false }
                if source.blockFirst > from {
                    target = source.blockFirst
                    isAhead = true
                    break
                }
                last = min(last, source.blockLast)
            }
            if isAhead { continue }
            target = Self.after(last)
            if least > 0 {
                for place in lists.indices { boundBlock(place) }
                if bound(byBlocks: true) < least { continue }
            }
            try intersect(lead, from: place, through: last)
            if count > 0 { return true }
        }
        return false
    }

    @inline(__always)
    private static func after(_ last: UInt32) -> UInt32? { last < .max ? last + 1 : nil }

    /// Intersects all current blocks up to `last`, beginning with the leading block's posting at index `first`.
    private func intersect(_ lead: UnownedPostings, from first: Int, through last: UInt32) throws(StorageError) {
        reserve(lead.count)
        // The next batch begins there.
        let end = lead.blockLast > last ? try lead.decode(from: last &+ 1) : lead.count
        lists[0].frequencies = lead.frequencies
        guard lists.count > 1 else {
            if let allowed {
                count = allowed.keep(lead.docnos, first, end, to: docnos, places)
                return
            }
            for place in first..<end {
                docnos[place &- first] = lead.docnos[place]
                places[place &- first] = Int32(truncatingIfNeeded: place)
            }
            count = end - first
            return
        }
        if let allowed {
            let kept = allowed.keep(lead.docnos, first, end, to: leading, leadingPlaces)
            count = kept > 0 ? try intersect((UnsafePointer(leading), 0, kept), lists[1].source) : 0
            for match in 0..<count { places[match] = leadingPlaces[Int(places[match])] }
        } else {
            count = try intersect((lead.docnos, first, end), lists[1].source)
        }
        for place in lists.indices.dropFirst(2) where count > 0 { try keepHeld(by: place) }
    }

    private func reserve(_ size: Int) {
        // Room for one more: a document is written before it is known whether it counts.
        guard size + 1 > matches.capacity else { return }
        matches.end()
        matches = ConjunctionMatches(capacity: size + 1, lists: lists.count)
    }

    private var docnos: UnsafeMutablePointer<UInt32> { matches.docnos }
    private var places: UnsafeMutablePointer<Int32> { matches.places }
    private var leading: UnsafeMutablePointer<UInt32> { matches.leading }
    private var leadingPlaces: UnsafeMutablePointer<Int32> { matches.leadingPlaces }
    private var estimates: UnsafeMutablePointer<Float> { matches.estimates }
    private var lengths: UnsafeMutablePointer<Float> { matches.lengths }
    private var counts: UnsafeMutablePointer<Float> { matches.counts }

    /// Minimum ratio of two lists' densities at which the denser list is searched for each document of the other.
    private static let gallopRatio = 16
    /// Minimum number of postings for which a table is made.
    private static let fewPostings = 32

    /// Intersects the leading block with the second source's block and stores the matches. Returns their number.
    private func intersect(
        _ lead: Intersection.Run, _ second: UnownedPostings
    ) throws(StorageError) -> Int {
        // With a table, the range of the block doesn't matter.
        _ = try second.decode(from: 0)
        lists[1].frequencies = second.frequencies
        // Before decoding, `blockFirst` may have been below the first document. The table begins with the first
        // document.
        var lead = lead
        lead.start = PostingSource.gallop(lead.docnos, from: lead.start, count: lead.end, to: second.docnos[0])
        guard lead.start < lead.end else { return 0 }
        let (docnos, places) = (self.docnos, self.places)
        let isTabled = second.count >= Self.fewPostings && second.count <= Self.gallopRatio * (lead.end - lead.start)
        if isTabled, let table = table(of: 1) {
            return Intersection.look(lead, in: table, second.count, docnos, places, places + matches.capacity)
        }
        let start = try second.decode(from: lead.docnos[lead.start])
        let dense = (docnos: second.docnos, start: start, end: second.count)
        guard dense.end - start <= Self.gallopRatio * (lead.end - lead.start) else {
            return Intersection.gallop(lead, dense, docnos, places, places + matches.capacity)
        }
        return Intersection.merge(lead, dense, docnos, places, places + matches.capacity)
    }

    /// Returns the table of a source's decoded block, or nil if its documents are too far apart.
    @inline(__always)
    private func table(of place: Int) -> PlaceTable? {
        let source = lists[place].source
        if let table = lists[place].table, table.last == source.blockLast { return table }
        guard PlaceTable.canHold(source.docnos[0], source.blockLast) else { return nil }
        var table = lists[place].table ?? PlaceTable()
        table.fill(source.docnos, count: source.count)
        lists[place].table = table
        return table
    }

    /// Keeps the matches that another source has, too.
    private func keepHeld(by source: Int) throws(StorageError) {
        let postings = lists[source].source
        var place = try postings.decode(from: docnos[0])
        let (docnos, size, capacity) = (postings.docnos, postings.count, matches.capacity)
        lists[source].frequencies = postings.frequencies
        let isFewer = size < Self.fewPostings || size - place > Self.gallopRatio * count
        let table = isFewer ? nil : table(of: source)
        var kept = 0
        for match in 0..<count {
            let docno = self.docnos[match]
            if let table {
                // The document may be before the block's first one, which the table doesn't cover.
                place = Int(table.place(of: docno))
                guard place < size, docnos[place] == docno else { continue }
            } else {
                if place < size { place = PostingSource.gallop(docnos, from: place, count: size, to: docno) }
                guard place < size else { break }
                guard docnos[place] == docno else { continue }
            }
            self.docnos[kept] = docno
            for before in 0..<source {
                places[before &* capacity &+ kept] = places[before &* capacity &+ match]
            }
            places[source &* capacity &+ kept] = Int32(truncatingIfNeeded: place)
            kept += 1
        }
        count = kept
    }
}

// Parts of several terms.
extension Conjunction {
    /// Whether the terms of all parts are in the required positions in the document of a match. Sets the parts'
    /// frequencies.
    private func standTogether(_ match: Int, _ termPlaces: TermPlaces) throws(StorageError) -> Bool {
        let document = TermPlaces.Document(docno: docnos[match], places: places + match, stride: matches.capacity)
        for place in 0..<parts.count where !parts[place].isTerm {
            let found = try termPlaces.frequency(of: parts[place], in: document)
            if found == 0 { return false }
            frequencies[place] = found
        }
        return true
    }
}
