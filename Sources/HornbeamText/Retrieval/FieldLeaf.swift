// SPDX-License-Identifier: Apache-2.0
// One term in some fields only, or with weights of fields, for postings with per-field counts: positions are not read.
// Blocks without a posting in a wanted field are skipped, and so are blocks that contribute too little. The lengths of
// fields are read last, for postings that may contribute enough by their document's whole length.

import HornbeamPages

/// A term with per-field counts.
final class FieldLeaf: Leaf {
    private let source: PostingSource
    private let scoring: FieldScoring
    private let columns = FieldColumns()
    /// For the postings of the current block: the number of occurrences in wanted fields, and their weight.
    @exclusivity(unchecked) private var held: UnsafeMutablePointer<UInt32>
    @exclusivity(unchecked) private var counted: UnsafeMutablePointer<Double>
    @exclusivity(unchecked) private var blockCapacity = PostingRun.blockCapacity
    /// Per-field bounds of the source's block that ends with this document, and the slots in which it has postings.
    /// Also the bound of its contribution, once that was needed.
    @exclusivity(unchecked) private var knownLast: UInt32?
    @exclusivity(unchecked) private var knownFields = FieldBounds()
    @exclusivity(unchecked) private var knownPlaces = FieldPlaces()
    @exclusivity(unchecked) private var knownBound: Double?

    init(
        _ context: ScoreContext, _ source: PostingSource, _ scoring: FieldScoring, _ weight: LeafWeight, title: String
    ) {
        (self.source, self.scoring) = (source, scoring)
        held = .allocate(capacity: blockCapacity)
        counted = .allocate(capacity: blockCapacity)
        let bound = scoring.bound(
            source.fields, source.bounds, weight: weight.value, averageLength: context.averageLength)
        super.init(
            context, weight, cost: Int(source.documentFrequency), bound: bound, mostWeight: 1, title: title)
        // Without postings in a wanted field, even the bounds of blocks need not be read.
        if source.fields.places.isDisjoint(with: scoring.wanted) { source.isAtEnd = true }
    }

    deinit {
        held.deallocate()
        counted.deallocate()
    }

    // MARK: Blocks

    /// Moves to the first block, from the current one on, that reaches `target` and has a posting in a wanted field.
    private func seek(_ target: UInt32) throws(StorageError) {
        try source.seekBlock(target)
        try passOthers()
    }

    private func next() throws(StorageError) {
        try source.nextBlock()
        try passOthers()
    }

    private func passOthers() throws(StorageError) {
        while !source.isAtEnd, try places().isDisjoint(with: scoring.wanted) { try source.nextBlock() }
    }

    /// Returns the field slots in which postings of the source's block occur.
    @inline(__always)
    private func places() throws(StorageError) -> FieldPlaces {
        if knownLast != source.blockLast { try lookAtFields() }
        return knownPlaces
    }

    /// Reads the fields of the current block. A block is identified by its last document, which no two blocks share.
    @inline(never)
    private func lookAtFields() throws(StorageError) {
        knownLast = nil
        knownFields = try source.blockFields()
        (knownPlaces, knownBound, knownLast) = (knownFields.places, nil, source.blockLast)
    }

    private func currentBound() throws(StorageError) -> Double {
        if knownLast != source.blockLast { try lookAtFields() }
        if let knownBound { return knownBound * Double(multiplicity) }
        let (weight, averageLength) = (self.weight, context.averageLength)
        var best = scoring.bound(knownFields, source.blockBound, weight: weight, averageLength: averageLength)
        if source.secondBlockBound != source.blockBound {
            best = max(
                best, scoring.bound(knownFields, source.secondBlockBound, weight: weight, averageLength: averageLength))
        }
        knownBound = best
        return best * Double(multiplicity)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        try seek(target)
        return source.isAtEnd ? .max : max(source.blockFirst, target)
    }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double {
        try seek(base)
        guard !source.isAtEnd, source.blockFirst <= DocumentWindow.last(base) else { return 0 }
        guard source.blockLast >= DocumentWindow.last(base) else { return bound * Double(multiplicity) }
        return try currentBound()
    }

    // MARK: Postings

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        try match(base, within, minimum, nil)
    }

    override func takeBest(
        _ base: UInt32, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>
    ) throws(StorageError) -> Bool {
        try match(base, nil, minimum, sums)
        return true
    }

    private func match(
        _ base: UInt32, _ within: WindowBits?, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>?
    ) throws(StorageError) {
        bits.clear()
        count = 0
        let last = DocumentWindow.last(base)
        try seek(base)
        while !source.isAtEnd, source.blockFirst <= last {
            if let within {
                let next = within.next(from: Int(max(source.blockFirst, base) &- base))
                guard next < DocumentWindow.size else { return }
                let target = base &+ UInt32(next)
                if target > source.blockLast {
                    try seek(target)
                    continue
                }
            }
            let isEnough = minimum == -.infinity ? true : try currentBound() >= minimum
            if isEnough { try take(base, within, minimum, sums) }
            guard source.blockLast < last else { return }
            try next()
        }
    }

    /// Takes the current block's postings in the window that count. If `minimum` is positive, they must contribute at
    /// least that much.
    private func take(
        _ base: UInt32, _ within: WindowBits?, _ minimum: Double, _ sums: UnsafeMutablePointer<Double>?
    ) throws(StorageError) {
        let first = try source.decode(from: base)
        try countFields()
        let docnos = source.docnos
        let end = source.end(from: first, through: DocumentWindow.last(base))
        guard first < end else { return }
        let lengths = try context.lengths(
            base, from: Int(docnos[first] &- base), through: Int(docnos[end &- 1] &- base))
        let (weight, needed) = (self.weight * Double(multiplicity), max(minimum, 0))
        let norm = LengthNorm(averageLength: context.averageLength)
        let (held, counted, bits, isWeighted) = (self.held, self.counted, self.bits, scoring.leastWeight != nil)
        let least = Self.leastFrequency(needed, weight, norm)
        for place in first..<end where held[place] > 0 && counted[place] >= least {
            let offset = Int(docnos[place] &- base)
            if let within, !within.contains(offset) { continue }
            guard context.scores else {
                bits.insert(offset)
                continue
            }
            let frequency = counted[place]
            let stored = lengths[offset]
            guard stored > 0 else { throw missing() }
            var length = scoring.leastLength(
                Double(stored) - 1, held: Double(held[place]), frequency: frequency)
            // Both are positive, so the comparison needs no division.
            guard weight * frequency >= needed * (frequency + norm.added(length)) else { continue }
            if let sums {
                // No later step checks the candidates, so the exact length is read here.
                if isWeighted {
                    length = try context.weightedLength(base &+ UInt32(offset), stored)
                    guard weight * frequency >= needed * (frequency + norm.added(length)) else { continue }
                }
                sums[offset] = weight * frequency / (frequency + norm.added(length))
            }
            guard count < capacity else { throw missing() }
            offsets[count] = UInt16(truncatingIfNeeded: offset)
            frequencies[count] = frequency
            // A negative length is a lower bound.
            self.lengths?[count] = sums == nil ? -length : length
            bits.insert(offset)
            count &+= 1
        }
    }

    /// Returns a lower bound of the frequencies with which a document contributes `needed`, however short it is.
    private static func leastFrequency(_ needed: Double, _ weight: Double, _ norm: LengthNorm) -> Double {
        guard needed > 0 else { return 0 }
        let rest = weight - needed * (1 + norm.slope)
        // Allows for rounding. Postings that pass are checked again.
        return rest > 0 ? needed * norm.added(0) / rest * (1 - 1e-9) : .infinity
    }

    private func missing() -> StorageError {
        context.view.corrupt("\(name) has postings of documents that are not in the index, or more than documents")
    }

    /// Sets `held` and `counted` for the decoded block.
    private func countFields() throws(StorageError) {
        let size = source.count
        if size > blockCapacity { grow(size) }
        let places = try places()
        try source.readFields(scoring.wanted, into: columns)
        let (held, counted, wanted) = (self.held, self.counted, scoring.wanted)
        if places.isSubset(of: wanted) {
            held.update(from: source.frequencies, count: size)
        } else {
            held.update(repeating: 0, count: size)
            for place in 0..<FieldPlace.count where places.contains(place) && wanted.contains(place) {
                let column = columns[place]
                for posting in 0..<size { held[posting] &+= column[posting] }
            }
        }
        guard scoring.leastWeight != nil else {
            for posting in 0..<size { counted[posting] = Self.double(held[posting]) }
            return
        }
        counted.update(repeating: 0, count: size)
        // In the order of the fields, as scores are defined.
        for place in 0..<FieldPlace.count where places.contains(place) && wanted.contains(place) {
            let (column, weight) = (columns[place], scoring.weights[place])
            for posting in 0..<size { counted[posting] += weight * Self.double(column[posting]) }
        }
    }

    /// Converts an integer to a double, exactly. It puts the integer into the low bits of a double between 2⁵² and 2⁵³.
    /// This way the loop converts two integers at a time; the processor's instruction converts one.
    @inline(__always)
    private static func double(_ value: UInt32) -> Double {
        Double(bitPattern: UInt64(value) | (0x1p52).bitPattern) - 0x1p52
    }

    private func grow(_ size: Int) {
        held.deallocate()
        counted.deallocate()
        blockCapacity = 2 * size
        held = .allocate(capacity: blockCapacity)
        counted = .allocate(capacity: blockCapacity)
    }
}
