// SPDX-License-Identifier: Apache-2.0
// The postings of a segment: a struct of arrays in one block of memory. Terms have an index; the data of a term is
// found by its end in the arrays. It is written once, in the order of the terms, and then never changed.

import HornbeamPages

/// The terms of a segment, with the new and the former postings of each. Valid as long as the segment, which frees it.
struct PendingLists {
    /// The amount of memory to allocate.
    struct Capacity {
        var terms = 0
        var textSize = 0
        var added = 0
        var positionSize = 0
        var removed = 0

        /// Whether all offsets fit into 32 bits.
        var isPossible: Bool { max(textSize, added, positionSize, removed) <= Int(UInt32.max) }
    }

    fileprivate(set) var termCount = 0
    fileprivate(set) var addedCount = 0
    fileprivate(set) var removedCount = 0
    fileprivate var textSize = 0
    fileprivate var positionSize = 0

    private let memory: UnsafeMutableRawPointer
    fileprivate let heads: UnsafeMutablePointer<UInt64>
    fileprivate let textEnds: UnsafeMutablePointer<UInt32>
    /// For each term, the ends of its new and of its former postings.
    fileprivate let addedEnds: UnsafeMutablePointer<UInt32>
    fileprivate let removedEnds: UnsafeMutablePointer<UInt32>
    /// For each posting: document, frequency, length of the document and end of its positions.
    fileprivate let docnos: UnsafeMutablePointer<UInt32>
    fileprivate let counts: UnsafeMutablePointer<UInt32>
    fileprivate let tokens: UnsafeMutablePointer<UInt32>
    fileprivate let positionEnds: UnsafeMutablePointer<UInt32>
    fileprivate let formerDocnos: UnsafeMutablePointer<UInt32>
    fileprivate let formerCounts: UnsafeMutablePointer<UInt32>
    fileprivate let formerTokens: UnsafeMutablePointer<UInt32>
    fileprivate let texts: UnsafeMutableRawPointer
    /// The positions as varints, as many for each posting as its frequency: position − position before − 1. None in an
    /// index without positions.
    fileprivate let positionBytes: UnsafeMutableRawPointer

    fileprivate init(_ capacity: Capacity) {
        let (terms, added, removed) = (capacity.terms, capacity.added, capacity.removed)
        let size = 8 * terms + 4 * (3 * terms + 4 * added + 3 * removed) + capacity.textSize + capacity.positionSize
        memory = .allocate(byteCount: size + 8, alignment: 8)
        var place = memory
        func take<Value>(_ count: Int, _ type: Value.Type) -> UnsafeMutablePointer<Value> {
            defer { place += count * MemoryLayout<Value>.stride }
            return place.bindMemory(to: type, capacity: count)
        }
        heads = take(terms, UInt64.self)
        textEnds = take(terms, UInt32.self)
        addedEnds = take(terms, UInt32.self)
        removedEnds = take(terms, UInt32.self)
        docnos = take(added, UInt32.self)
        counts = take(added, UInt32.self)
        tokens = take(added, UInt32.self)
        positionEnds = take(added, UInt32.self)
        formerDocnos = take(removed, UInt32.self)
        formerCounts = take(removed, UInt32.self)
        formerTokens = take(removed, UInt32.self)
        texts = place
        positionBytes = place + capacity.textSize
    }

    func deallocate() { memory.deallocate() }

    var terms: PendingTerms { PendingTerms(count: termCount, heads: heads, ends: textEnds, texts: texts) }

    /// The capacity that a copy of the lists needs.
    var capacity: Capacity {
        Capacity(
            terms: termCount, textSize: textSize, added: addedCount, positionSize: positionSize, removed: removedCount)
    }

    /// The new postings of all terms: documents, frequencies and lengths of the documents.
    var addedDocnos: UnsafePointer<UInt32> { UnsafePointer(docnos) }
    var addedFrequencies: UnsafePointer<UInt32> { UnsafePointer(counts) }
    var addedLengths: UnsafePointer<UInt32> { UnsafePointer(tokens) }
    /// The former postings.
    var removedDocnos: UnsafePointer<UInt32> { UnsafePointer(formerDocnos) }
    var removedFrequencies: UnsafePointer<UInt32> { UnsafePointer(formerCounts) }
    var removedLengths: UnsafePointer<UInt32> { UnsafePointer(formerTokens) }

    var postingCount: Int { addedCount + removedCount }

    @inline(__always)
    func added(_ term: Int) -> Range<Int> { Self.range(addedEnds, term) }

    @inline(__always)
    func removed(_ term: Int) -> Range<Int> { Self.range(removedEnds, term) }

    @inline(__always)
    private static func range(_ ends: UnsafeMutablePointer<UInt32>, _ term: Int) -> Range<Int> {
        (term == 0 ? 0 : Int(ends[term &- 1]))..<Int(ends[term])
    }

    /// Returns the positions of consecutive postings, as varints.
    @inline(__always)
    func positions(_ postings: Range<Int>) -> Bytes {
        let start = postings.lowerBound == 0 ? 0 : Int(positionEnds[postings.lowerBound &- 1])
        let end = postings.upperBound == 0 ? 0 : Int(positionEnds[postings.upperBound &- 1])
        return Bytes(start: positionBytes + start, count: end &- start)
    }
}

/// Writes lists, term by term in ascending order: first a term's postings, then the term. The capacity isn't checked:
/// don't write more than was announced.
struct PendingListsWriter: ~Copyable {
    private var lists: PendingLists

    init(_ capacity: PendingLists.Capacity) { lists = PendingLists(capacity) }

    deinit { lists.deallocate() }

    /// Whether the term that is being written has no posting yet.
    var isEmpty: Bool {
        lists.termCount == 0
            ? lists.postingCount == 0
            : lists.addedCount == Int(lists.addedEnds[lists.termCount &- 1])
                && lists.removedCount == Int(lists.removedEnds[lists.termCount &- 1])
    }

    @inline(__always)
    mutating func add(_ docno: UInt32, frequency: UInt32, length: UInt32, positions: Bytes) {
        let place = lists.addedCount
        lists.docnos[place] = docno
        lists.counts[place] = frequency
        lists.tokens[place] = length
        addPositions(positions)
        lists.positionEnds[place] = UInt32(truncatingIfNeeded: lists.positionSize)
        lists.addedCount = place &+ 1
    }

    @inline(__always)
    mutating func addRemoved(_ docno: UInt32, frequency: UInt32, length: UInt32) {
        let place = lists.removedCount
        lists.formerDocnos[place] = docno
        lists.formerCounts[place] = frequency
        lists.formerTokens[place] = length
        lists.removedCount = place &+ 1
    }

    /// Copies new and former postings of other lists.
    mutating func add(_ added: Range<Int>, removed: Range<Int>, of other: PendingLists) {
        var (place, count) = (lists.addedCount, added.count)
        (lists.docnos + place).update(from: other.docnos + added.lowerBound, count: count)
        (lists.counts + place).update(from: other.counts + added.lowerBound, count: count)
        (lists.tokens + place).update(from: other.tokens + added.lowerBound, count: count)
        let positions = other.positions(added)
        let start = added.lowerBound == 0 ? 0 : other.positionEnds[added.lowerBound &- 1]
        let shift = UInt32(truncatingIfNeeded: lists.positionSize) &- start
        for posting in 0..<count {
            lists.positionEnds[place &+ posting] = other.positionEnds[added.lowerBound &+ posting] &+ shift
        }
        addPositions(positions)
        lists.addedCount += count
        (place, count) = (lists.removedCount, removed.count)
        (lists.formerDocnos + place).update(from: other.formerDocnos + removed.lowerBound, count: count)
        (lists.formerCounts + place).update(from: other.formerCounts + removed.lowerBound, count: count)
        (lists.formerTokens + place).update(from: other.formerTokens + removed.lowerBound, count: count)
        lists.removedCount += count
    }

    @inline(__always)
    private mutating func addPositions(_ positions: Bytes) {
        guard let source = positions.baseAddress else { return }
        let target = lists.positionBytes + lists.positionSize
        if positions.count == 1 {
            target.storeBytes(of: positions[0], as: UInt8.self)
        } else {
            target.copyMemory(from: source, byteCount: positions.count)
        }
        lists.positionSize &+= positions.count
    }

    /// Ends the postings of a term, which must be greater than the terms before.
    @inline(__always)
    mutating func close(_ term: Bytes, head: UInt64) {
        let place = lists.termCount
        lists.heads[place] = head
        if let source = term.baseAddress {
            (lists.texts + lists.textSize).copyMemory(from: source, byteCount: term.count)
        }
        lists.textSize &+= term.count
        lists.textEnds[place] = UInt32(truncatingIfNeeded: lists.textSize)
        lists.addedEnds[place] = UInt32(truncatingIfNeeded: lists.addedCount)
        lists.removedEnds[place] = UInt32(truncatingIfNeeded: lists.removedCount)
        lists.termCount = place &+ 1
    }

    consuming func finish() -> PendingLists {
        let finished = lists
        discard self
        return finished
    }
}
