// SPDX-License-Identifier: Apache-2.0
// A run of up to 128 postings of one term, documents ascending. The number of the first document is not in the block:
// it stands in the key (or, for a list kept in the term dictionary, before the block).
//
//   size  content
//      1  postings − 1 in the low seven bits; the high bit is 0 and kept for another coding
//    1-…  varints: last document − first · largest term frequency · smallest field length
//    1-…  varints, one for each posting but the first: its document − the one before − 1
//    1-…  varints, one for each posting: its term frequency − 1; absent if the largest is 1
//
// The largest frequency is exact. The smallest length is a lower bound of the lengths of the block's documents; it may
// be lower than it has to be after documents left. Both serve to skip blocks that can't reach a score.

import HornbeamPages

/// A posting in memory.
struct Posting {
    let docno: UInt64
    let frequency: UInt32
    /// A lower bound of the document's field length.
    let length: UInt32
}

/// Postings in memory, documents ascending: what a block is encoded from.
struct Postings {
    private(set) var postings: [Posting] = []

    var count: Int { postings.count }
    var isEmpty: Bool { postings.isEmpty }

    subscript(place: Int) -> Posting { postings[place] }

    @inline(__always)
    mutating func append(_ docno: UInt64, _ frequency: UInt32, _ length: UInt32) {
        postings.append(Posting(docno: docno, frequency: frequency, length: length))
    }

    mutating func append(_ others: Postings) { postings.append(contentsOf: others.postings) }

    /// Appends new documents' postings. Their differences are their frequencies.
    mutating func append(_ changes: ArraySlice<PostingChange>) {
        postings.append(
            contentsOf: changes.lazy.map {
                Posting(
                    docno: $0.docno, frequency: UInt32(clamping: $0.difference), length: UInt32(clamping: $0.length))
            })
    }

    mutating func removeAll() { postings.removeAll(keepingCapacity: true) }

    /// Whether the documents ascend strictly, as they must.
    var ascends: Bool { zip(postings, postings.dropFirst()).allSatisfy { $0.docno < $1.docno } }

    /// Appends the block of the postings in `range`, 1 to 128 of them.
    func encode(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(!range.isEmpty && range.count <= PostingBlock.capacity)
        withUnsafeTemporaryAllocation(byteCount: PostingBlock.sizeLimit, alignment: 8) { target in
            // Never nil: it isn't empty.
            guard let start = target.baseAddress else { return }
            let end = postings.withUnsafeBufferPointer { Self.encode($0[range], to: start) }
            bytes.append(contentsOf: Bytes(start: start, count: end - start))
        }
    }

    /// The end of the block's bytes.
    private static func encode(
        _ postings: Slice<UnsafeBufferPointer<Posting>>, to start: UnsafeMutableRawPointer
    ) -> UnsafeMutableRawPointer {
        let postings = UnsafeBufferPointer(rebasing: postings)
        var largest: UInt32 = 1
        var shortest = UInt32.max
        for posting in postings {
            largest = max(largest, posting.frequency)
            shortest = min(shortest, posting.length)
        }
        start.storeBytes(of: UInt8(truncatingIfNeeded: postings.count - 1), as: UInt8.self)
        let last = postings[postings.count - 1].docno
        var target = (start + 1).storeVarint(last - postings[0].docno)
        target = target.storeVarint(UInt64(largest)).storeVarint(UInt64(shortest))
        var before = postings[0].docno
        for posting in postings.dropFirst() {
            target = target.storeVarint(posting.docno - before - 1)
            before = posting.docno
        }
        guard largest > 1 else { return target }
        for posting in postings { target = target.storeVarint(UInt64(posting.frequency - 1)) }
        return target
    }
}

/// The head of a block: enough to decide whether to decode the rest.
struct PostingBlock {
    /// The most postings in a block.
    static let capacity = 128
    /// No block has more bytes: varints have up to ten for a document, five for all else.
    static let sizeLimit = 1 + 10 + 5 + 5 + capacity * (10 + 5)

    let count: Int
    let last: UInt64
    let largestFrequency: UInt32
    let shortestLength: UInt32

    /// Reads the head, nil if it can't be one. `first` is the block's first document.
    init?(_ reader: inout ByteReader, first: UInt64) {
        guard let head = reader.byte(), head < Self.capacity, let span = reader.varint(),
            let largest = reader.varint32(), largest > 0, let shortest = reader.varint32()
        else { return nil }
        let (last, overflows) = first.addingReportingOverflow(span)
        guard !overflows, span >= UInt64(head) else { return nil }
        count = Int(head) + 1
        self.last = last
        largestFrequency = largest
        shortestLength = shortest
    }
}

/// One block, decoded. Owns room for a full one and is used again for the next.
struct DecodedBlock: ~Copyable {
    let docnos: UnsafeMutablePointer<UInt64>
    let frequencies: UnsafeMutablePointer<UInt32>
    private(set) var count = 0
    private(set) var shortestLength: UInt32 = 0

    init() {
        docnos = .allocate(capacity: PostingBlock.capacity)
        frequencies = .allocate(capacity: PostingBlock.capacity)
    }

    deinit {
        docnos.deallocate()
        frequencies.deallocate()
    }

    mutating func removeAll() { count = 0 }

    /// Decodes a whole block. False, and no postings, if the bytes are not exactly one. When true, the documents ascend
    /// strictly from `first` and every frequency is at least 1.
    mutating func decode(_ bytes: Bytes, first: UInt64) -> Bool {
        count = 0
        var reader = ByteReader(bytes)
        guard let head = PostingBlock(&reader, first: first) else { return false }
        var docno = first
        docnos[0] = docno
        for index in 1..<head.count {
            // The head's `last` is no overflow of `first`, so nothing up to it is.
            guard let gap = reader.varint(), gap < head.last &- docno else { return false }
            docno &+= gap &+ 1
            docnos[index] = docno
        }
        guard docno == head.last, decodeFrequencies(&reader, head) else { return false }
        guard reader.isAtEnd else { return false }
        count = head.count
        shortestLength = head.shortestLength
        return true
    }

    private func decodeFrequencies(_ reader: inout ByteReader, _ head: PostingBlock) -> Bool {
        guard head.largestFrequency > 1 else {
            frequencies.update(repeating: 1, count: head.count)
            return true
        }
        var largest: UInt32 = 0
        for index in 0..<head.count {
            guard let less = reader.varint(), less < UInt64(head.largestFrequency) else { return false }
            frequencies[index] = UInt32(truncatingIfNeeded: less) + 1
            largest = max(largest, frequencies[index])
        }
        return largest == head.largestFrequency
    }
}
