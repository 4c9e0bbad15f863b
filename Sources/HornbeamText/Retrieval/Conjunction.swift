// SPDX-License-Identifier: Apache-2.0
// Documents that hold each of several terms, and where they do next to each other: evaluated a document at a time, the
// rarest term leading. Blocks are passed by undecoded where a list has no document in common with the others, or where
// what all of them contribute at most is too little (block-max, as in Ding, Suel, “Faster top-k document retrieval
// using block-max indexes”, 2011). Positions are read only of documents whose score could suffice if the rarest word of
// the phrase always stood in it.

import HornbeamPages

/// What scores in a conjunction, in the order of the query: a term, or several next to each other.
struct ConjunctionPart {
    /// The logarithm of how rare it is.
    var weight: Double
    /// The terms by their places among the sources; more than one is a phrase.
    var slots: [Int]
    /// How many positions may be between the words of a phrase in all.
    var slop = 0
}

/// The same without references. `start..<end` are places among all slots.
private struct FlatPart {
    var weight: Double
    var slop: Int
    var start: Int
    var end: Int

    var isPhrase: Bool { end &- start > 1 }
}

/// One evaluation.
final class Conjunction {
    private let view: IndexView
    private let averageLength: Double
    /// The rarest first.
    private let sources: [PostingSource]
    private let parts: UnsafeMutableBufferPointer<FlatPart>
    /// The terms of the parts by their places among the sources, and the places of each part's slots, the rarest first.
    private let slots: UnsafeMutablePointer<Int>
    private let readingOrder: UnsafeMutablePointer<Int>
    private let hasPhrases: Bool
    /// The documents of the batch at hand that hold all terms: how many, and of each source the postings' places.
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var docnos: UnsafeMutablePointer<UInt32>
    @exclusivity(unchecked) private var places: UnsafeMutablePointer<Int32>
    @exclusivity(unchecked) private var capacity = 0
    /// The frequencies of each source's current block.
    private let blockFrequencies: UnsafeMutablePointer<UnsafePointer<UInt32>>
    /// The first document that no batch had yet; nil at the end.
    @exclusivity(unchecked) private var target: UInt32? = 0
    /// What a term of weight 1 contributes at most: in all documents, and in the block that ends with a document.
    private let listBounds: UnsafeMutablePointer<Double>
    private let blockBounds: UnsafeMutablePointer<Double>
    private let boundedLasts: UnsafeMutablePointer<UInt64>
    /// How often each part stands in the document at hand.
    private let frequencies: UnsafeMutablePointer<UInt32>
    /// Positions of each source, and the document that they were read of.
    private let lists: [PositionList]
    private let listDocuments: UnsafeMutablePointer<UInt64>
    private let starts = PositionList()

    /// What rounding can do to a sum is far less than this part of it.
    private static let slack = 1e-9

    /// - Parameters:
    ///   - sources: one or more, each of another term, at their beginnings.
    ///   - parts: of those.
    init(_ view: IndexView, _ sources: [PostingSource], _ parts: [ConjunctionPart]) {
        self.view = view
        let average = Double(view.totalLength) / Double(view.documentCount)
        averageLength = average > 0 ? average : 1
        let order = sources.indices.sorted { sources[$0].documentFrequency < sources[$1].documentFrequency }
        var ranks = [Int](repeating: 0, count: sources.count)
        for (rank, place) in order.enumerated() { ranks[place] = rank }
        let sorted = order.map { sources[$0] }
        let slotCount = parts.reduce(0) { $0 + $1.slots.count }
        let flat = UnsafeMutableBufferPointer<FlatPart>.allocate(capacity: parts.count)
        let slots = UnsafeMutablePointer<Int>.allocate(capacity: slotCount)
        let readingOrder = UnsafeMutablePointer<Int>.allocate(capacity: slotCount)
        var (next, hasPhrases) = (0, false)
        for (place, part) in parts.enumerated() {
            let ranked = part.slots.map { ranks[$0] }
            let rarestFirst = ranked.indices.sorted { (ranked[$0], $0) < (ranked[$1], $1) }
            flat.initializeElement(
                at: place,
                to: FlatPart(weight: part.weight, slop: part.slop, start: next, end: next + ranked.count))
            (slots + next).initialize(from: ranked, count: ranked.count)
            (readingOrder + next).initialize(from: rarestFirst, count: ranked.count)
            next += ranked.count
            if ranked.count > 1 { hasPhrases = true }
        }
        let size = sources.count
        (self.sources, self.parts, self.slots, self.readingOrder) = (sorted, flat, slots, readingOrder)
        self.hasPhrases = hasPhrases
        lists = hasPhrases ? sorted.map { _ in PositionList() } : []
        blockFrequencies = .allocate(capacity: size)
        for place in 0..<size { (blockFrequencies + place).initialize(to: sorted[place].frequencies) }
        docnos = .allocate(capacity: 1)
        places = .allocate(capacity: 1)
        listBounds = .allocate(capacity: size)
        blockBounds = .allocate(capacity: size)
        boundedLasts = .allocate(capacity: size)
        listDocuments = .allocate(capacity: size)
        frequencies = .allocate(capacity: parts.count)
        frequencies.initialize(repeating: 0, count: parts.count)
        boundedLasts.initialize(repeating: .max, count: size)
        listDocuments.initialize(repeating: .max, count: size)
        blockBounds.initialize(repeating: 0, count: size)
        for place in 0..<size {
            var best = 0.0
            for bound in sorted[place].bounds { best = max(best, contributionBound(bound)) }
            listBounds[place] = best
        }
    }

    deinit {
        parts.deallocate()
        slots.deallocate()
        readingOrder.deallocate()
        blockFrequencies.deallocate()
        docnos.deallocate()
        places.deallocate()
        listBounds.deallocate()
        blockBounds.deallocate()
        boundedLasts.deallocate()
        listDocuments.deallocate()
        frequencies.deallocate()
    }

    // MARK: Documents

    /// Calls `body` with each document that matches, ascending.
    func forEach(_ body: (UInt32) throws(StorageError) -> Void) throws(StorageError) {
        while try nextBatch(-.infinity) {
            for match in 0..<count {
                if hasPhrases, try !standTogether(match) { continue }
                try body(docnos[match])
            }
        }
    }

    /// Offers to `best` every document that may be among them, as far as `accepts` lets its row through.
    func rank(_ best: inout TopK, accepts: (UInt64) throws(StorageError) -> Bool) throws(StorageError) {
        let rowsAscend = view.rowsAscend
        var need = Self.need(best)
        while try nextBatch(need) {
            for match in 0..<count {
                let docno = docnos[match]
                // What BM25 adds to a frequency.
                let added = BM25.k1 * (1 - BM25.b + BM25.b * (try view.tokens(of: docno)) / averageLength)
                if hasPhrases {
                    guard bound(match, added) >= need, try standTogether(match) else { continue }
                }
                var score = 0.0
                for place in 0..<parts.count {
                    let part = parts[place]
                    let frequency = Double(part.isPhrase ? frequencies[place] : held(slots[part.start], match))
                    score += part.weight * frequency / (frequency + added)
                }
                guard score >= need, best.mayAdmit(score, laterRow: rowsAscend) else { continue }
                let hit = TextHit(docno: try view.row(of: docno), score: score)
                guard try best.admits(hit), try accepts(hit.docno) else { continue }
                try best.insert(hit)
                need = Self.need(best)
            }
        }
    }

    /// What a score must have so that the document may be among the best.
    @inline(__always)
    private static func need(_ best: borrowing TopK) -> Double {
        let threshold = best.threshold
        return threshold > 0 ? threshold * (1 - slack) : threshold
    }

    /// How often a source's term stands in the document of a match.
    @inline(__always)
    private func held(_ source: Int, _ match: Int) -> UInt32 {
        blockFrequencies[source][Int(places[source &* capacity &+ match])]
    }

    /// What the parts of a match add up to at most.
    private func bound(_ match: Int, _ added: Double) -> Double {
        var sum = 0.0
        for part in parts {
            var frequency = held(slots[part.start], match)
            // With others between them, one place of a word may serve several of the first.
            if part.slop == 0 {
                for place in part.start &+ 1..<part.end { frequency = min(frequency, held(slots[place], match)) }
            }
            sum += part.weight * Double(frequency) / (Double(frequency) + added)
        }
        return sum * (1 + Self.slack)
    }
}

// Batches: what all lists have in common, block by block.
extension Conjunction {
    private func contributionBound(_ bound: Bound) -> Double {
        guard bound.frequency > 0 else { return 0 }
        return BM25.score(
            weight: 1, frequency: Double(bound.frequency), length: Double(bound.length), averageLength: averageLength)
    }

    /// Brings the bound of a source's current block up to date.
    @inline(__always)
    private func boundBlock(_ place: Int) {
        let source = sources[place]
        guard boundedLasts[place] != UInt64(source.blockLast) else { return }
        boundedLasts[place] = UInt64(source.blockLast)
        let first = contributionBound(source.blockBound)
        let isOne = source.secondBlockBound == source.blockBound
        blockBounds[place] = isOne ? first : max(first, contributionBound(source.secondBlockBound))
    }

    /// What the parts add up to at most; the leading source by its block, the others by theirs or by their lists.
    @inline(__always)
    private func bound(byBlocks: Bool) -> Double {
        var sum = 0.0
        for part in parts {
            var least = Double.infinity
            // Of a phrase each word is a bound; with others between, only the first.
            for place in part.start..<(part.slop > 0 ? part.start &+ 1 : part.end) {
                let source = slots[place]
                least = min(least, byBlocks || source == 0 ? blockBounds[source] : listBounds[source])
            }
            sum += part.weight * least
        }
        return sum * (1 + Self.slack)
    }

    /// Moves on to documents that hold all terms: some of those where all lists stay within a block. False at the end.
    /// - Parameter least: documents that can't reach it may be left out.
    private func nextBatch(_ least: Double) throws(StorageError) -> Bool {
        let lead = sources[0]
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
            for source in sources.dropFirst() {
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
                for place in sources.indices { boundBlock(place) }
                if bound(byBlocks: true) < least { continue }
            }
            try intersect(from: place, through: last)
            if count > 0 { return true }
        }
        return false
    }

    @inline(__always)
    private static func after(_ last: UInt32) -> UInt32? { last < .max ? last + 1 : nil }

    /// What all current blocks have in common up to a document, from a place of the leading one on.
    private func intersect(from first: Int, through last: UInt32) throws(StorageError) {
        let lead = sources[0]
        reserve(lead.count)
        let end = Self.end(lead, from: first, last)
        let (docnos, places) = (self.docnos, self.places)
        blockFrequencies[0] = lead.frequencies
        guard sources.count > 1 else {
            for place in first..<end {
                docnos[place &- first] = lead.docnos[place]
                places[place &- first] = Int32(truncatingIfNeeded: place)
            }
            count = end - first
            return
        }
        let second = sources[1]
        let start = try second.decode(from: lead.docnos[first])
        blockFrequencies[1] = second.frequencies
        count = Self.intersect(
            (lead.docnos, first, end), (second.docnos, start, Self.end(second, from: start, last)), docnos, places,
            places + capacity)
        for place in sources.indices.dropFirst(2) where count > 0 { try keepHeld(by: place) }
    }

    /// Behind the last place of a decoded block whose document is not behind `last`.
    @inline(__always)
    private static func end(_ source: PostingSource, from place: Int, _ last: UInt32) -> Int {
        guard source.blockLast > last else { return source.count }
        guard place < source.count, source.docnos[place] <= last else { return place }
        return PostingSource.gallop(source.docnos, from: place, count: source.count, to: last &+ 1)
    }

    private func reserve(_ size: Int) {
        // One more: it is written before it is known whether it counts.
        guard size + 1 > capacity else { return }
        docnos.deallocate()
        places.deallocate()
        capacity = size + 1
        docnos = .allocate(capacity: capacity)
        places = .allocate(capacity: capacity * sources.count)
    }

    private typealias Run = (docnos: UnsafePointer<UInt32>, start: Int, end: Int)
    /// Where a list is that many times as dense as another it is searched for each document of that.
    private static let gallopRatio = 16

    /// The documents that are in both, with their places; how many.
    @inline(__always)
    private static func intersect(
        _ rare: Run, _ dense: Run, _ docnos: UnsafeMutablePointer<UInt32>, _ rarePlaces: UnsafeMutablePointer<Int32>,
        _ densePlaces: UnsafeMutablePointer<Int32>
    ) -> Int {
        var (left, right, count) = (rare.start, dense.start, 0)
        if dense.end - right > gallopRatio * (rare.end - left) {
            while left < rare.end {
                let docno = rare.docnos[left]
                right = PostingSource.gallop(dense.docnos, from: right, count: dense.end, to: docno)
                guard right < dense.end else { break }
                docnos[count] = docno
                rarePlaces[count] = Int32(truncatingIfNeeded: left)
                densePlaces[count] = Int32(truncatingIfNeeded: right)
                count &+= dense.docnos[right] == docno ? 1 : 0
                left &+= 1
            }
            return count
        }
        while left < rare.end, right < dense.end {
            let (one, other) = (rare.docnos[left], dense.docnos[right])
            docnos[count] = one
            rarePlaces[count] = Int32(truncatingIfNeeded: left)
            densePlaces[count] = Int32(truncatingIfNeeded: right)
            count &+= one == other ? 1 : 0
            left &+= one <= other ? 1 : 0
            right &+= other <= one ? 1 : 0
        }
        return count
    }

    /// Leaves the matches that another source has, too.
    private func keepHeld(by source: Int) throws(StorageError) {
        let postings = sources[source]
        var place = try postings.decode(from: docnos[0])
        let (docnos, places, size) = (postings.docnos, self.places, postings.count)
        blockFrequencies[source] = postings.frequencies
        var kept = 0
        for match in 0..<count {
            let docno = self.docnos[match]
            if place < size { place = PostingSource.gallop(docnos, from: place, count: size, to: docno) }
            guard place < size else { break }
            guard docnos[place] == docno else { continue }
            self.docnos[kept] = docno
            for before in 0..<source { places[before &* capacity &+ kept] = places[before &* capacity &+ match] }
            places[source &* capacity &+ kept] = Int32(truncatingIfNeeded: place)
            kept += 1
        }
        count = kept
    }
}

// Phrases.
extension Conjunction {
    /// Whether all phrases stand in the document of a match; sets how often.
    private func standTogether(_ match: Int) throws(StorageError) -> Bool {
        for place in 0..<parts.count where parts[place].isPhrase {
            let part = parts[place]
            let found = part.slop == 0 ? try adjacent(part, match) : try near(part, match)
            if found == 0 { return false }
            frequencies[place] = found
        }
        return true
    }

    /// The positions of a source's term in the document of a match.
    @inline(__always)
    private func positions(_ source: Int, _ match: Int) throws(StorageError) -> PositionList {
        let list = lists[source]
        let docno = UInt64(docnos[match])
        if listDocuments[source] != docno {
            listDocuments[source] = .max
            try sources[source].readPositions(Int(places[source &* capacity &+ match]), into: list)
            listDocuments[source] = docno
        }
        return list
    }

    /// How often the words stand next to each other: beginnings by the rarest word are kept as far as the others agree.
    private func adjacent(_ part: FlatPart, _ match: Int) throws(StorageError) -> UInt32 {
        let starts = self.starts
        for step in part.start..<part.end {
            let slot = readingOrder[step]
            let list = try positions(slots[part.start &+ slot], match)
            let (values, size) = (list.values, list.count)
            let shift = UInt32(truncatingIfNeeded: slot)
            guard step > part.start else {
                starts.removeAll(reserving: size)
                for place in 0..<size where values[place] >= shift {
                    starts.values[starts.count] = values[place] &- shift
                    starts.count &+= 1
                }
                continue
            }
            let (begun, count) = (starts.values, starts.count)
            var (place, other, kept) = (0, 0, 0)
            while place < count, other < size {
                let (wanted, found) = (UInt64(begun[place]) &+ UInt64(shift), UInt64(values[other]))
                begun[kept] = begun[place]
                kept &+= wanted == found ? 1 : 0
                place &+= wanted <= found ? 1 : 0
                other &+= found <= wanted ? 1 : 0
            }
            starts.count = kept
            if kept == 0 { return 0 }
        }
        let span = UInt32(truncatingIfNeeded: part.end &- part.start &- 1)
        var found: UInt32 = 0
        for place in 0..<starts.count {
            let start = starts.values[place]
            if try view.isOneSection(docnos[match], start, start &+ span) { found &+= 1 }
        }
        return found
    }

    /// How often the words stand in their order with few others between: from each place of the first the next one of
    /// the second, and so on.
    private func near(_ part: FlatPart, _ match: Int) throws(StorageError) -> UInt32 {
        var followers: [(list: PositionList, place: Int)] = []
        for place in part.start..<part.end { followers.append((try positions(slots[place], match), 0)) }
        let first = followers[0].list
        var found: UInt32 = 0
        for place in 0..<first.count {
            let start = first.values[place]
            var position = start
            for slot in 1..<followers.count {
                let list = followers[slot].list
                var next = followers[slot].place
                while next < list.count, list.values[next] <= position { next &+= 1 }
                followers[slot].place = next
                guard next < list.count else { return found }
                position = list.values[next]
            }
            let between = Int(position - start) - (followers.count - 1)
            if between <= part.slop, try view.isOneSection(docnos[match], start, position) { found &+= 1 }
        }
        return found
    }
}
