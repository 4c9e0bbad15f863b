// SPDX-License-Identifier: Apache-2.0
// The best documents for any of some words: block-max MAXSCORE as `Retrieval` has it, without what only other forms of
// a query need. Words whose bounds together can't reach the worst of the best so far are asked about documents, not
// gone through. As long as two are gone through, sums of a window's documents are gathered in single precision, and
// those that may be high enough are looked for in them; with one, its postings say which documents to ask about. What
// may be among the best is summed again exactly, in the query's order: the result is to the last bit that of scoring
// everything.

import HornbeamPages

/// One evaluation of a query of words.
final class TermRanking {
    private let view: IndexView
    private let filter: DocumentFilter
    private let sources: [PostingSource]
    private let terms: UnsafeMutablePointer<RankedTerm>
    private let count: Int
    /// What scores, in order: places among `terms`.
    private let order: [Int]
    /// The terms by what they contribute at most, in all documents and in the window.
    private let ranks: TermRanks
    private let windowRanks: TermRanks
    private let averageLength: Double
    private let norm: LengthNorm
    private let scratch = RankingScratch.take()
    /// Whether its sums are zero.
    private var isClean = true

    /// What sums in single precision may be wrong by, as a part of them, and far more than rounding does to others.
    private let slack: Double
    /// What a sum must have so that the document may be among the best, a little less than the worst of these have.
    private var least = -Double.infinity
    /// Whether no document behind those already seen enters with the worst score of the best.
    private var isLater = false
    /// Whether the best are told by documents, whose rows are found at the end.
    private var keepsDocuments = false

    /// Asking a term about a document costs as much as adding up so many postings.
    private static let askingCost = 8
    /// Windows are so large that they have about as many postings.
    private static let postingsOfWindow = 256
    private static let rounding = 1e-12
    /// In windows with fewer postings than one for so many documents the sums are not looked through.
    private static let sparseShare = 16
    /// Fewer postings than these for each window are gone through one by one.
    private static let sparseLimit = 24

    /// Nil if it takes more: contributions that single precision doesn't tell from nothing, beside those of others.
    init?(_ query: TermQuery, _ view: IndexView, filter: TextFilter) throws(StorageError) {
        var sources: [PostingSource] = []
        var weights: [Double] = []
        var places: [Int?] = []
        for term in query.terms {
            let source = try view.postings(of: term.token)
            places.append(source == nil ? nil : sources.count)
            guard let source else { continue }
            sources.append(source)
            let weight = BM25.weight(
                documentCount: view.documentCount, documentFrequency: UInt64(source.documentFrequency))
            weights.append(weight * term.boost)
        }
        let (largest, smallest) = (weights.max() ?? 1, weights.min() ?? 1)
        guard smallest > 1e-12, largest < 1e12, largest < 1e9 * smallest else { return nil }
        // What can fail comes before what has to be given back.
        var cost = 0
        for source in sources { cost += Int(source.documentFrequency) }
        self.filter = try DocumentFilter(filter, view, cost: cost)
        let order = query.order.compactMap { places[$0] }
        let average = Double(view.totalLength) / Double(view.documentCount)
        averageLength = average > 0 ? average : 1
        norm = LengthNorm(averageLength: averageLength)
        self.view = view
        self.sources = sources
        self.order = order
        count = sources.count
        terms = .allocate(capacity: max(count, 1))
        for (place, source) in sources.enumerated() {
            let multiplicity = order.count { $0 == place }
            (terms + place).initialize(
                to: RankedTerm(
                    source, weight: weights[place], multiplicity: multiplicity, averageLength: averageLength))
        }
        ranks = TermRanks(count)
        windowRanks = TermRanks(count)
        slack = 1e-6 * Double(count + 8)
        ranks.sort { terms[$0].bound }
    }

    deinit {
        for place in 0..<count { terms[place].end() }
        terms.deallocate()
        ranks.end()
        windowRanks.end()
        if isClean { scratch.give() }
    }

    /// Offers to `best` every document that may be among them.
    func rank(_ best: inout TopK) throws(StorageError) {
        guard count > 0 else { return }
        isLater = view.rowsAscend
        keepsDocuments = isLater && best.isPlain && filter.isAllOrKnown
        note(best)
        if filter.isFew {
            try rankAllowed(&best)
        } else if count > 1 {
            let cost = terms.sum(count) { $0.documentFrequency }
            if cost < Self.sparseLimit * (Int(view.docnoLimit) / DocumentWindow.size + 1) {
                try rankSparse(&best)
            } else {
                try rankDriven(from: try rankWindows(&best), &best)
            }
        } else {
            try rankDriven(from: 0, &best)
        }
        guard keepsDocuments else { return }
        try best.replaceDocuments { (docno) throws(StorageError) in
            try view.row(of: UInt32(truncatingIfNeeded: docno))
        }
    }

    @inline(__always)
    private func note(_ best: borrowing TopK) {
        let threshold = best.threshold
        least = threshold > 0 ? threshold * (1 - slack) : -.infinity
    }

    // MARK: Documents one by one

    /// Those that the filter lets through, where they are few.
    private func rankAllowed(_ best: inout TopK) throws(StorageError) {
        guard let allowed = filter.allowed else { return }
        for place in 0..<allowed.count {
            let docno = allowed[place]
            if try ask(count, of: ranks, about: docno, 0) { try offer(docno, try length(docno), &best) }
        }
    }

    /// Those that hold a word, where the words are rare.
    private func rankSparse(_ best: inout TopK) throws(StorageError) {
        var target: UInt32 = 0
        while true {
            var docno = UInt32.max
            for place in 0..<count { docno = min(docno, try terms[place].next(from: target)) }
            guard docno < .max else { return }
            target = docno + 1
            guard filter.mayAccept(docno) else { continue }
            for place in 0..<count { terms[place].frequency = try terms[place].frequency(in: docno) }
            try offer(docno, try length(docno), &best)
        }
    }

    /// Asks the first `asking` of the terms about a document, to which the others contribute about `sum`. Whether its
    /// score may be high enough.
    @inline(__always)
    private func ask(
        _ asking: Int, of ranks: TermRanks, about docno: UInt32, _ sum: Double
    ) throws(StorageError) -> Bool {
        var sum = sum
        var rank = asking
        while rank > 0 {
            guard sum + ranks.rests[rank] >= least else { return false }
            rank &-= 1
            let term = terms + ranks.places[rank]
            let bound = try term.pointee.bound(at: docno)
            guard sum + bound + ranks.rests[rank] >= least else { return false }
            let frequency = bound > 0 ? try term.pointee.frequency(in: docno) : 0
            term.pointee.frequency = frequency
            if frequency > 0 {
                let divisor = Double(frequency) + norm.constant + norm.slope * Double(try view.storedLength(docno))
                sum += term.pointee.weight * term.pointee.multiplicity * Double(frequency) / divisor
            }
        }
        return sum >= least && sum > 0
    }

    private func length(_ docno: UInt32) throws(StorageError) -> Double {
        try length(docno, try view.storedLength(docno))
    }

    @inline(__always)
    private func length(_ docno: UInt32, _ stored: UInt16) throws(StorageError) -> Double {
        guard stored == DocumentLengths.escape else { return Double(stored) - 1 }
        return Double(try view.length(of: docno))
    }

    /// Sums the score of a document exactly and offers it.
    @inline(__always)
    private func offer(_ docno: UInt32, _ length: Double, _ best: inout TopK) throws(StorageError) {
        var score = 0.0
        for place in order {
            let frequency = terms[place].frequency
            guard frequency > 0 else { continue }
            score += BM25.score(
                weight: terms[place].weight, frequency: Double(frequency), length: length,
                averageLength: averageLength)
        }
        if best.mayAdmit(score, laterRow: isLater) { try enter(docno, score, &best) }
    }

    @inline(never)
    private func enter(_ docno: UInt32, _ score: Double, _ best: inout TopK) throws(StorageError) {
        let hit = TextHit(docno: keepsDocuments ? UInt64(docno) : try view.row(of: docno), score: score)
        guard try best.admits(hit), try filter.accepts(hit.docno) else { return }
        try best.insert(hit)
        note(best)
    }
}

// One term that brings up documents.
extension TermRanking {
    /// The others together can't reach what is needed: the last term of `ranks` is gone through from `target` on.
    private func rankDriven(from target: UInt32?, _ best: inout TopK) throws(StorageError) {
        guard let target else { return }
        let rest = ranks.rests[count - 1]
        // Alone it needs no room for the rounding of sums, and what only equals the worst doesn't enter.
        let isAlone = order.count == 1
        let driver = terms + ranks.places[count - 1]
        // Above that, rounding may make a bound less than what it bounds.
        let isExact = sources[ranks.places[count - 1]].bounds.allSatisfy { $0.frequency < 1 << 20 }
        let isStrict = isAlone && isLater && best.isPlain && isExact
        while ranks.rests[count] >= least {
            let threshold = best.threshold
            let least = self.least
            let isThere = try driver.pointee.takeNext(from: target) { (bound) in
                isStrict ? bound > threshold : bound + rest >= least
            }
            guard isThere else { return }
            try drive(driver, through: driver.pointee.tail, asking: count - 1, ranks, &best)
        }
    }

    /// Offers the documents of the queue's postings up to place `end` that may be high enough, and passes them.
    private func drive(
        _ driver: UnsafeMutablePointer<RankedTerm>, through end: Int, asking: Int, _ ranks: TermRanks,
        _ best: inout TopK
    ) throws(StorageError) {
        let (docnos, frequencies) = (driver.pointee.docnos, driver.pointee.frequencies)
        let weight = driver.pointee.weight * driver.pointee.multiplicity
        let rest = ranks.rests[asking]
        let limits = scratch.limits
        limits.set(weight, norm, needed: least - rest)
        var place = driver.pointee.head
        while place < end {
            let chunk = docnos[place] &>> IndexView.lengthsShift
            let lengths = try view.lengths(chunk: chunk)
            let last = chunk &<< IndexView.lengthsShift | UInt32(DocumentLengths.chunkCapacity - 1)
            while place < end, docnos[place] <= last {
                let docno = docnos[place]
                let frequency = frequencies[place]
                place &+= 1
                let offset = 2 &* Int(docno & UInt32(DocumentLengths.chunkCapacity - 1))
                let stored = lengths.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                guard Int32(stored) <= limits[frequency] else { continue }
                guard stored > 0 else { throw view.unknownDocument() }
                let tf = Double(frequency)
                let sum = weight * tf / (tf + norm.constant + norm.slope * Double(stored))
                guard filter.mayAccept(docno) else { continue }
                guard try ask(asking, of: ranks, about: docno, sum) else { continue }
                driver.pointee.frequency = frequency
                try offer(docno, try length(docno, stored), &best)
                limits.set(weight, norm, needed: least - rest)
            }
        }
        driver.pointee.pass(to: end)
    }
}

// Several terms that bring up documents.
extension TermRanking {
    /// Goes through windows until few documents are left to ask about. Where the rest begins, nil if there is none.
    private func rankWindows(_ best: inout TopK) throws(StorageError) -> UInt32? {
        var target: UInt32 = 0
        var optional = 0
        while true {
            while optional < count, ranks.rests[optional + 1] < least { optional += 1 }
            guard optional < count else { return nil }
            if optional == count - 1, isRare(ranks.places[optional], beside: ranks.places[optional - 1]) {
                return target
            }
            var next = UInt32.max
            var postings = 1
            for rank in optional..<count {
                let term = terms + ranks.places[rank]
                next = min(next, try term.pointee.lowerBound(from: target))
                postings += term.pointee.documentFrequency
            }
            guard next < view.docnoLimit else { return nil }
            let size = min(max(Self.postingsOfWindow * Int(view.docnoLimit) / postings, 512), DocumentWindow.size)
            var last = UInt32(clamping: UInt64(next) + UInt64(size - 1))
            try rankWindow(next, &last, optional, &best)
            guard last < .max else { return nil }
            target = last + 1
        }
    }

    /// Whether asking the other about all documents of the one costs less than adding up both.
    private func isRare(_ term: Int, beside other: Int) -> Bool {
        terms[term].documentFrequency < terms[other].documentFrequency / Self.askingCost
    }

    /// - Parameter last: the window's last document; less afterwards if a part was ranked only.
    private func rankWindow(
        _ base: UInt32, _ last: inout UInt32, _ never: Int, _ best: inout TopK
    ) throws(StorageError) {
        // First those alone that bring up documents: the others need not be looked at where these contribute little.
        for rank in never..<count { try terms[ranks.places[rank]].enter(base, &last) }
        var sum = ranks.rests[never]
        for rank in never..<count {
            terms[ranks.places[rank]].boundWindow(last)
            sum += terms[ranks.places[rank]].windowBound
        }
        guard sum * (1 + Self.rounding) >= least else { return }
        for rank in 0..<never { try terms[ranks.places[rank]].enter(base, &last) }
        for rank in 0..<never { terms[ranks.places[rank]].boundWindow(last) }
        windowRanks.sort { terms[$0].windowBound }
        var optional = 0
        while optional < count, windowRanks.rests[optional + 1] < least { optional += 1 }
        guard optional < count else { return }
        if optional == count - 1,
            isRare(windowRanks.places[optional], beside: windowRanks.places[max(optional - 1, 0)])
        {
            let driver = terms + windowRanks.places[optional]
            try fill(driver, base, last)
            let end = driver.pointee.end(of: last)
            return try drive(driver, through: end, asking: optional, windowRanks, &best)
        }
        let size = Int(last - base + 1)
        var gathered = 0
        for rank in optional..<count {
            gathered += try gather(terms + windowRanks.places[rank], base, last)
        }
        // Those that must be asked about many documents are added up as well.
        while optional > 0 {
            let needed = Self.least(least - windowRanks.rests[optional])
            let candidates = scratch.count(rows: RankingScratch.rows(size), atLeast: needed)
            let term = windowRanks.places[optional - 1]
            guard candidates > expected(term, size) / Self.askingCost else { break }
            gathered += try gather(terms + term, base, last)
            optional -= 1
        }
        if gathered < size / Self.sparseShare {
            try pickSparsely(base, optional, &best)
        } else if let allowed = filter.allowed {
            try pick(allowed, base, size, optional, &best)
        } else {
            try pick(base, size, optional, &best)
        }
    }

    /// About how many postings a term has among so many documents.
    private func expected(_ term: Int, _ documents: Int) -> Int {
        terms[term].documentFrequency * documents / max(Int(view.docnoLimit), 1)
    }

    /// Puts the term's postings of the window into its queue, but for blocks that can't matter.
    private func fill(
        _ term: UnsafeMutablePointer<RankedTerm>, _ base: UInt32, _ last: UInt32
    ) throws(StorageError) {
        let others = windowRanks.rests[count] - term.pointee.windowBound
        try term.pointee.fill(base, last, minimum: least - others * (1 + slack))
    }

    /// Adds what a term contributes to the sums of the window's documents; to how many.
    private func gather(
        _ term: UnsafeMutablePointer<RankedTerm>, _ base: UInt32, _ last: UInt32
    ) throws(StorageError) -> Int {
        guard term.pointee.windowBound > 0 else { return 0 }
        try fill(term, base, last)
        let (docnos, frequencies, end) = (term.pointee.docnos, term.pointee.frequencies, term.pointee.end(of: last))
        let sums = scratch.sums
        let weight = Float(term.pointee.weight * term.pointee.multiplicity)
        let (constant, slope) = (Float(norm.constant), Float(norm.slope))
        var place = term.pointee.head
        isClean = false
        while place < end {
            let chunk = docnos[place] &>> IndexView.lengthsShift
            let lengths = try view.lengths(chunk: chunk)
            let last = chunk &<< IndexView.lengthsShift | UInt32(DocumentLengths.chunkCapacity - 1)
            var shortest = UInt16.max
            while place < end, docnos[place] <= last {
                let docno = docnos[place]
                let frequency = Float(Int32(truncatingIfNeeded: frequencies[place]))
                let offset = 2 &* Int(docno & UInt32(DocumentLengths.chunkCapacity - 1))
                let stored = lengths.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                shortest = min(shortest, stored)
                sums[Int(docno &- base)] += weight * frequency / (frequency + (constant + slope * Float(stored)))
                place &+= 1
            }
            guard shortest > 0 else { throw view.unknownDocument() }
        }
        let taken = end - term.pointee.head
        term.pointee.pass(to: end)
        return taken
    }

    /// Offers the window's documents whose sums may be high enough, and clears the sums.
    private func pick(_ base: UInt32, _ size: Int, _ optional: Int, _ best: inout TopK) throws(StorageError) {
        let sums = scratch.sums
        let rest = windowRanks.rests[optional]
        let rows = RankingScratch.rows(size)
        var needed = Self.least(least - rest)
        for row in 0..<rows where scratch.has(row, atLeast: needed) {
            for offset in 16 &* row..<16 &* row &+ 16 where sums[offset] >= needed {
                try consider(base, offset, optional, &best)
                needed = Self.least(least - rest)
            }
        }
        scratch.clear(rows: rows)
        isClean = true
    }

    /// The same where the filter says where to look.
    private func pick(
        _ allowed: DocumentList, _ base: UInt32, _ size: Int, _ optional: Int, _ best: inout TopK
    ) throws(StorageError) {
        let sums = scratch.sums
        let rest = windowRanks.rests[optional]
        var needed = Self.least(least - rest)
        var place = allowed.seek(base)
        while place < allowed.count, Int(allowed[place] &- base) < size {
            let offset = Int(allowed[place] &- base)
            place &+= 1
            guard sums[offset] >= needed else { continue }
            try consider(base, offset, optional, &best)
            needed = Self.least(least - rest)
        }
        scratch.clear(rows: RankingScratch.rows(size))
        isClean = true
    }

    /// The same where there are few postings: they say where to look.
    private func pickSparsely(_ base: UInt32, _ optional: Int, _ best: inout TopK) throws(StorageError) {
        let (sums, bits) = (scratch.sums, scratch.bits)
        let rest = windowRanks.rests[optional]
        let needed = Self.least(least - rest)
        bits.clear()
        for rank in optional..<count {
            let term = terms + windowRanks.places[rank]
            guard term.pointee.windowBound > 0 else { continue }
            let docnos = term.pointee.docnos
            for place in term.pointee.start..<term.pointee.head {
                let offset = Int(docnos[place] &- base)
                if sums[offset] >= needed { bits.insert(offset) }
            }
        }
        try bits.bits.forEach { (offset) throws(StorageError) in
            guard filter.mayAccept(base &+ UInt32(truncatingIfNeeded: offset)) else { return }
            if sums[offset] >= Self.least(least - rest) { try consider(base, offset, optional, &best) }
        }
        for rank in optional..<count {
            let term = terms + windowRanks.places[rank]
            guard term.pointee.windowBound > 0 else { continue }
            let docnos = term.pointee.docnos
            for place in term.pointee.start..<term.pointee.head { sums[Int(docnos[place] &- base)] = 0 }
        }
        isClean = true
    }

    /// Offers a document of the window if its score may be high enough.
    @inline(__always)
    private func consider(
        _ base: UInt32, _ offset: Int, _ optional: Int, _ best: inout TopK
    ) throws(StorageError) {
        let docno = base &+ UInt32(truncatingIfNeeded: offset)
        guard try ask(optional, of: windowRanks, about: docno, Double(scratch.sums[offset])) else { return }
        for rank in optional..<count {
            let term = terms + windowRanks.places[rank]
            term.pointee.frequency = term.pointee.windowBound > 0 ? term.pointee.frequencyInWindow(docno) : 0
        }
        try offer(docno, try length(docno), &best)
    }

    /// What is not less is found; documents without a posting have 0.
    @inline(__always)
    private static func least(_ sum: Double) -> Float { max(Float(sum) * (1 - 1e-6), .leastNormalMagnitude) }
}

/// Terms by what they contribute at most, ascending. Memory of its own, until `end`.
struct TermRanks {
    let places: UnsafeMutablePointer<Int>
    /// What those before each contribute at most together; one more, for all.
    let rests: UnsafeMutablePointer<Double>
    private let count: Int

    init(_ count: Int) {
        self.count = count
        places = .allocate(capacity: count + 1)
        rests = .allocate(capacity: count + 1)
        for place in 0...count { places[place] = place }
        rests.initialize(repeating: 0, count: count + 1)
    }

    func end() {
        places.deallocate()
        rests.deallocate()
    }

    @inline(__always)
    func sort(_ bound: (Int) -> Double) {
        for start in 1..<max(count, 1) {
            let moved = places[start]
            let key = bound(moved)
            var place = start
            while place > 0, bound(places[place &- 1]) > key {
                places[place] = places[place &- 1]
                place &-= 1
            }
            places[place] = moved
        }
        // Room for the rounding of the sums.
        for rank in 0..<count { rests[rank &+ 1] = (rests[rank] + bound(places[rank])) * (1 + 1e-12) }
    }
}

/// What a document's length adds to the divisor of its scores: `constant + slope · (length + 1)`.
struct LengthNorm {
    let constant: Double
    let slope: Double

    init(averageLength: Double) {
        slope = BM25.k1 * BM25.b / averageLength
        constant = BM25.k1 * (1 - BM25.b) - slope
    }
}

/// How long a document may be that holds a term so often and scores enough by that.
struct LengthLimits {
    /// By frequency, as far as they are told one by one.
    private let limits: UnsafeMutablePointer<Int32>
    private static let count = 16

    init() {
        limits = .allocate(capacity: Self.count)
        limits.initialize(repeating: .max, count: Self.count)
    }

    func end() { limits.deallocate() }

    /// No document with a length + 1 above it contributes what is needed.
    @inline(__always)
    subscript(frequency: UInt32) -> Int32 { limits[Int(min(frequency, UInt32(Self.count - 1)))] }

    @inline(__always)
    func set(_ weight: Double, _ norm: LengthNorm, needed: Double) {
        guard needed > 0 else { return limits.update(repeating: .max, count: Self.count) }
        // weight · tf / (tf + constant + slope · stored) ≥ needed
        let (factor, offset, slope) = (weight / needed - 1, norm.constant, 1 / norm.slope)
        for frequency in 0..<Self.count - 1 {
            let limit = (Double(frequency) * factor - offset) * slope
            // Room for rounding; what is let through is looked at again.
            limits[frequency] = Int32(max(min(limit + 1 + limit.magnitude * 1e-9, 1e9), -1))
        }
    }
}

extension UnsafeMutablePointer<RankedTerm> {
    fileprivate func sum(_ count: Int, _ value: (RankedTerm) -> Int) -> Int {
        var sum = 0
        for place in 0..<count { sum += value(self[place]) }
        return sum
    }
}
