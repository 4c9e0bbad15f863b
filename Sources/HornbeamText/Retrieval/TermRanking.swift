// SPDX-License-Identifier: Apache-2.0
// Finds the best documents for any of several words: block-max MAXSCORE as in `Retrieval`, without the parts that only
// other forms of a query need. Words whose bounds together can't reach the current threshold don't produce candidates;
// they are only looked up for other candidates. While at least two words produce candidates, the sums of a window's
// documents are added up in single precision, and candidates are picked from them. When only one does, its postings are
// the candidates. Candidates for the result are summed again exactly, in the query's order. So the result is identical,
// to the last bit, to that of scoring everything.

import HornbeamPages

/// One evaluation of a query of words.
final class TermRanking {
    private let view: IndexView
    private let filter: DocumentFilter
    private let sources: [PostingSource]
    private let terms: UnsafeMutablePointer<RankedTerm>
    private let count: Int
    /// The occurrences that score, in order, as indexes of `terms`.
    private let order: [Int]
    /// The terms by the bounds of their contributions, in all documents and in the window.
    private let ranks: TermRanks
    private let windowRanks: TermRanks
    private let averageLength: Double
    private let norm: LengthNorm
    private let scratch: RankingScratch
    /// Whether the sums of `scratch` are zero.
    private var isClean = true
    /// Whether the bits of `scratch` are the documents of the window that pass the filter.
    private var hasAllowedBits = false

    /// The largest relative error of sums in single precision. It is far more than the rounding of other sums.
    private let slack: Double
    /// The least sum with which a document may be among the best: slightly less than the threshold.
    private var least = -Double.infinity
    /// A score that enough documents reach to fill the result. 0 if none is known.
    private var floor = 0.0
    /// Whether a later document that ties with the worst of the best is rejected.
    private var isLater = false
    /// Whether the best are kept by document number. Their rows are found at the end.
    private var keepsDocuments = false

    /// Cost of looking up a term in a document, in postings that are added up.
    private static let askingCost = 8
    /// Approximate number of postings of a window, whose size is chosen accordingly.
    private static let postingsOfWindow = 256
    private static let rounding = 1e-12
    /// Maximum number of documents for each posting of a window whose sums are scanned.
    private static let sparseShare = 16
    /// A term with fewer postings in a window is added up without the filter.
    private static let fewPostings = 64
    /// With fewer postings for each window than this, documents are processed one by one.
    private static let sparseLimit = 24

    /// Returns nil if the weights of terms are too small, too large or too far apart for single precision, in which
    /// their contributions would be lost.
    init?(_ query: TermQuery, _ view: IndexView, filter: TextFilter, limit: Int) throws(StorageError) {
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
        // Throwing code comes before the allocation of memory that must be freed.
        var cost = 0
        for source in sources { cost += Int(source.documentFrequency) }
        self.filter = try DocumentFilter(filter, view, cost: cost, limit: limit)
        scratch = RankingScratch.take()
        let order = query.order.compactMap { places[$0] }
        averageLength = view.averageLength
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

    /// Offers to `best` every document that may be among the best.
    func rank(_ best: inout TopK) throws(StorageError) {
        guard count > 0 else { return }
        isLater = view.rowsAscend
        keepsDocuments = isLater && best.isPlain && filter.isAllOrKnown
        if filter.isAll, best.isOpen { findFloor(best.limit) }
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
        // Documents were skipped because of the leaders, which may be wrong in a damaged file.
        guard floor == 0 || best.threshold >= floor * (1 - slack) else {
            throw view.corrupt("the best postings of a term score more than any that it has")
        }
        guard keepsDocuments else { return }
        try best.replaceDocuments { (docno) throws(StorageError) in
            try view.row(of: UInt32(truncatingIfNeeded: docno))
        }
    }

    /// Sets `floor` to the highest score that the leaders of a single term guarantee.
    private func findFloor(_ limit: Int) {
        for place in 0..<count {
            let weight = terms[place].weight * terms[place].multiplicity
            let score = sources[place].leaders.score(of: limit, weight: weight, averageLength: averageLength)
            floor = max(floor, score ?? 0)
        }
    }

    @inline(__always)
    private func note(_ best: borrowing TopK) {
        let threshold = max(best.threshold, floor)
        least = threshold > 0 ? threshold * (1 - slack) : -.infinity
    }

    // MARK: Documents one by one

    /// Ranks the documents that pass the filter, if they are few.
    private func rankAllowed(_ best: inout TopK) throws(StorageError) {
        guard let allowed = filter.allowed else { return }
        for place in 0..<allowed.count {
            let docno = allowed[place]
            if try ask(count, of: ranks, about: docno, 0) { try offer(docno, try length(docno), &best) }
        }
    }

    /// Ranks the documents that hold a word, if the words are rare.
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

    /// Looks up the first `asking` of the ranked terms in a document, to which the others contribute approximately
    /// `sum`. Returns whether its score may be high enough.
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
        let hit = TextHit(row: keepsDocuments ? UInt64(docno) : try view.row(of: docno), score: score)
        guard try best.admits(hit), try filter.accepts(hit.row) else { return }
        try best.insert(hit)
        note(best)
    }
}

// A single term that produces candidates.
extension TermRanking {
    /// Ranks the postings of the last term of `ranks` from `target` on. The others can't reach the threshold together.
    private func rankDriven(from target: UInt32?, _ best: inout TopK) throws(StorageError) {
        guard let target else { return }
        let rest = ranks.rests[count - 1]
        // A single term needs no margin for the rounding of sums. A score that ties with the threshold isn't admitted.
        let isAlone = order.count == 1
        let driver = terms + ranks.places[count - 1]
        // With higher frequencies, rounding may make a bound less than a score it bounds.
        let isExact = sources[ranks.places[count - 1]].bounds.allSatisfy { $0.frequency < 1 << 20 }
        let isStrict = isAlone && isLater && best.isPlain && isExact
        while ranks.rests[count] >= least {
            let threshold = best.threshold
            let least = self.least
            let isThere = try driver.pointee.takeNext(from: target) { (bound) in
                bound + rest >= least && (!isStrict || bound > threshold)
            }
            guard isThere else { return }
            try drive(driver, through: driver.pointee.tail, asking: count - 1, ranks, &best)
        }
    }

    /// Offers the documents of the queue's postings up to index `end` that may be high enough, and passes them.
    private func drive(
        _ driver: UnsafeMutablePointer<RankedTerm>, through end: Int, asking: Int, _ ranks: TermRanks,
        _ best: inout TopK
    ) throws(StorageError) {
        let (docnos, frequencies) = (driver.pointee.docnos, driver.pointee.frequencies)
        let weight = driver.pointee.weight * driver.pointee.multiplicity
        let rest = ranks.rests[asking]
        let limits = scratch.limits
        limits.set(weight, norm, needed: least - rest)
        var known = least
        var place = driver.pointee.head
        while place < end {
            // If no length is short enough, none is read.
            guard limits[frequencies[place]] > 0 else {
                place &+= 1
                continue
            }
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
                // For lengths from 65,534 on this is an upper bound.
                let sum = weight * tf / (tf + norm.constant + norm.slope * Double(stored))
                guard filter.mayAccept(docno) else { continue }
                guard try ask(asking, of: ranks, about: docno, sum) else { continue }
                driver.pointee.frequency = frequency
                try offer(docno, try length(docno, stored), &best)
                // Few offered documents change it.
                guard least != known else { continue }
                limits.set(weight, norm, needed: least - rest)
                known = least
            }
        }
        driver.pointee.pass(to: end)
    }
}

// Several terms that produce candidates.
extension TermRanking {
    /// Ranks windows until only one term, a rare one, still produces candidates. Returns where the rest begins, or nil
    /// if there is no rest.
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
            // If the filter knows its documents, windows before the next one are skipped.
            if let allowed = filter.allowed { next = allowed.advance(to: next) }
            guard next < view.docnoLimit else { return nil }
            let size = min(max(Self.postingsOfWindow * Int(view.docnoLimit) / postings, 512), DocumentWindow.size)
            var last = UInt32(clamping: UInt64(next) + UInt64(size - 1))
            try rankWindow(next, &last, optional, &best)
            guard last < .max else { return nil }
            target = last + 1
        }
    }

    /// Whether looking up `other` in all documents of `term` costs less than adding up both.
    private func isRare(_ term: Int, beside other: Int) -> Bool {
        terms[term].documentFrequency < terms[other].documentFrequency / Self.askingCost
    }

    /// - Parameter last: the window's last document; reduced on return if only a part was ranked.
    private func rankWindow(
        _ base: UInt32, _ last: inout UInt32, _ never: Int, _ best: inout TopK
    ) throws(StorageError) {
        // The terms that produce candidates come first. If they contribute little, the others need not be read.
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
        hasAllowedBits = false
        var gathered = 0
        for rank in optional..<count {
            gathered += try gather(terms + windowRanks.places[rank], base, last)
        }
        var candidates = 0
        while true {
            let isSparse = gathered < size / Self.sparseShare
            let needed = Self.least(least - windowRanks.rests[optional])
            let term = optional > 0 ? windowRanks.places[optional - 1] : nil
            let few = term.map { expected($0, size) / Self.askingCost } ?? .max
            if isSparse {
                candidates = findSparsely(base, optional, needed)
                hasAllowedBits = false
            } else if let allowed = filter.allowed {
                candidates = find(allowed, base, size, needed)
            } else {
                candidates = scratch.find(rows: RankingScratch.rows(size), atLeast: needed, limit: few)
            }
            // A term that would have to be looked up in many documents is added up as well.
            guard let term, candidates > few else { break }
            gathered += try gather(terms + term, base, last)
            optional -= 1
        }
        try pick(base, candidates, optional, &best)
        if gathered < size / Self.sparseShare {
            clearSparsely(base, optional)
        } else {
            scratch.clear(rows: RankingScratch.rows(size))
        }
        isClean = true
    }

    /// Returns the expected number of a term's postings among this many documents.
    private func expected(_ term: Int, _ documents: Int) -> Int {
        terms[term].documentFrequency * documents / max(Int(view.docnoLimit), 1)
    }

    /// Puts the term's postings of the window into its queue. Leaves out blocks that can't matter.
    private func fill(
        _ term: UnsafeMutablePointer<RankedTerm>, _ base: UInt32, _ last: UInt32
    ) throws(StorageError) {
        let others = windowRanks.rests[count] - term.pointee.windowBound
        try term.pointee.fill(base, last, minimum: least - others * (1 + slack))
    }

    /// Adds a term's contributions to the sums of the window's documents. Returns the number of its postings there.
    private func gather(
        _ term: UnsafeMutablePointer<RankedTerm>, _ base: UInt32, _ last: UInt32
    ) throws(StorageError) -> Int {
        guard term.pointee.windowBound > 0 else { return 0 }
        try fill(term, base, last)
        let end = term.pointee.end(of: last)
        let count = end - term.pointee.head
        guard count > 0 else { return 0 }
        let (docnos, frequencies) = (
            term.pointee.docnos + term.pointee.head, term.pointee.frequencies + term.pointee.head
        )
        let weight = term.pointee.weight * term.pointee.multiplicity
        if count < Self.fewPostings || filter.allowed == nil {
            try add(docnos, frequencies, count, weight, base)
        } else {
            let kept = keepAllowed(docnos, frequencies, count, base, last)
            try add(scratch.docnos, scratch.frequencies, kept, weight, base)
        }
        term.pointee.pass(to: end)
        return count
    }

    /// Copies the postings that pass the filter to the scratch. Returns their number.
    @inline(__always)
    private func keepAllowed(
        _ docnos: UnsafePointer<UInt32>, _ frequencies: UnsafePointer<UInt32>, _ count: Int, _ base: UInt32,
        _ last: UInt32
    ) -> Int {
        if let set = filter.set {
            return set.keep(docnos, frequencies, count: count, to: scratch.docnos, scratch.frequencies)
        }
        if !hasAllowedBits { filter.allowed?.match(base, through: last, scratch.bits) }
        hasAllowedBits = true
        return scratch.keep(docnos, frequencies, count: count, base: base)
    }

    /// Adds the contributions of postings to the sums of their documents.
    @inline(__always)
    private func add(
        _ docnos: UnsafePointer<UInt32>, _ frequencies: UnsafePointer<UInt32>, _ count: Int, _ weight: Double,
        _ base: UInt32
    ) throws(StorageError) {
        try loadLengths(docnos, count)
        guard share(frequencies, count, weight) else { throw view.unknownDocument() }
        isClean = false
        let (sums, shares) = (scratch.sums, UnsafeRawPointer(scratch.lengths))
        for place in 0..<count {
            sums[Int(docnos[place] &- base)] += shares.load(fromByteOffset: 4 &* place, as: Float.self)
        }
    }

    /// Loads the stored lengths of documents.
    @inline(__always)
    private func loadLengths(_ docnos: UnsafePointer<UInt32>, _ count: Int) throws(StorageError) {
        let loaded = scratch.lengths
        let mask = UInt32(DocumentLengths.chunkCapacity - 1)
        var place = 0
        while place < count {
            let chunk = docnos[place] &>> IndexView.lengthsShift
            let lengths = try view.lengths(chunk: chunk)
            let last = chunk &<< IndexView.lengthsShift | mask
            while place < count, docnos[place] <= last {
                let offset = 2 &* Int(docnos[place] & mask)
                loaded[place] = UInt32(lengths.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
                place &+= 1
            }
        }
        // Up to three more lengths are read.
        for more in count..<count &+ 3 { loaded[more] = 1 }
    }

    /// Replaces the loaded lengths by the contributions of postings with these frequencies, four at a time, because
    /// divisions are slow. Up to three elements behind the last one have no meaning. Returns false if a document
    /// doesn't exist.
    @inline(__always)
    private func share(_ frequencies: UnsafePointer<UInt32>, _ count: Int, _ weight: Double) -> Bool {
        var absent = SIMDMask<SIMD4<Int32>>(repeating: false)
        let (frequencies, shares) = (UnsafeRawPointer(frequencies), UnsafeMutableRawPointer(scratch.lengths))
        let (weight, constant, slope) = (Float(weight), Float(norm.constant), Float(norm.slope))
        for offset in stride(from: 0, to: 4 &* count, by: 16) {
            let frequency = Self.float(frequencies.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt32>.self))
            let stored = shares.load(fromByteOffset: offset, as: SIMD4<UInt32>.self)
            absent .|= stored .== 0
            let share = weight * frequency / (frequency + (constant + slope * Self.float(below16: stored)))
            shares.storeBytes(of: share, toByteOffset: offset, as: SIMD4<Float>.self)
        }
        return !any(absent)
    }

    /// Converts integers to floats, rounded. (The standard library converts one number at a time.)
    @inline(__always)
    private static func float(_ values: SIMD4<UInt32>) -> SIMD4<Float> {
        float(below16: values &>> 16) * 65_536 + float(below16: values & 0xFFFF)
    }

    /// Converts integers of 16 bits to floats, exactly: they become the low bits of a float between 2²³ and 2²⁴.
    @inline(__always)
    private static func float(below16 values: SIMD4<UInt32>) -> SIMD4<Float> {
        unsafeBitCast(values | (0x1p23 as Float).bitPattern, to: SIMD4<Float>.self) - 0x1p23
    }

    /// Offers the window's candidates whose sums are still high enough.
    private func pick(
        _ base: UInt32, _ count: Int, _ optional: Int, _ best: inout TopK
    ) throws(StorageError) {
        let (sums, candidates) = (scratch.sums, scratch.candidates)
        let rest = windowRanks.rests[optional]
        var needed = Self.least(least - rest)
        for place in 0..<count {
            let offset = Int(candidates[place])
            guard sums[offset] >= needed else { continue }
            try consider(base, offset, optional, &best)
            needed = Self.least(least - rest)
        }
    }

    /// Finds candidates among the documents that the filter allows.
    private func find(_ allowed: DocumentList, _ base: UInt32, _ size: Int, _ needed: Float) -> Int {
        let (sums, candidates) = (scratch.sums, scratch.candidates)
        var place = allowed.seek(base)
        var count = 0
        while place < allowed.count, Int(allowed[place] &- base) < size {
            let offset = Int(allowed[place] &- base)
            if sums[offset] >= needed {
                candidates[count] = UInt16(truncatingIfNeeded: offset)
                count &+= 1
            }
            place &+= 1
        }
        return count
    }

    /// Calls `body` with the offset of each posting of the window that was added up.
    @inline(__always)
    private func forEachGathered(_ base: UInt32, _ optional: Int, _ body: (_ offset: Int) -> Void) {
        for rank in optional..<count {
            let term = terms + windowRanks.places[rank]
            guard term.pointee.windowBound > 0 else { continue }
            let docnos = term.pointee.docnos
            for place in term.pointee.start..<term.pointee.head { body(Int(docnos[place] &- base)) }
        }
    }

    /// Finds candidates like `RankingScratch.find`, but from the window's postings, which are few.
    private func findSparsely(_ base: UInt32, _ optional: Int, _ needed: Float) -> Int {
        let (sums, bits, candidates) = (scratch.sums, scratch.bits, scratch.candidates)
        bits.clear()
        forEachGathered(base, optional) { if sums[$0] >= needed { bits.insert($0) } }
        var count = 0
        // `mayAccept` only moves forward, and a window may be scanned again.
        var place = filter.allowed?.seek(base) ?? 0
        bits.bits.forEach {
            if let allowed = filter.allowed, !allowed.has(base &+ UInt32($0), from: &place) { return }
            candidates[count] = UInt16(truncatingIfNeeded: $0)
            count &+= 1
        }
        return count
    }

    private func clearSparsely(_ base: UInt32, _ optional: Int) {
        let sums = scratch.sums
        forEachGathered(base, optional) { (sums + $0).initialize(to: 0) }
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

    /// Sums that are not less are candidates. The result is positive because documents without a posting have sum 0.
    @inline(__always)
    private static func least(_ sum: Double) -> Float { max(Float(sum) * (1 - 1e-6), .leastNormalMagnitude) }
}

extension UnsafeMutablePointer<RankedTerm> {
    fileprivate func sum(_ count: Int, _ value: (RankedTerm) -> Int) -> Int {
        var sum = 0
        for place in 0..<count { sum += value(self[place]) }
        return sum
    }
}
