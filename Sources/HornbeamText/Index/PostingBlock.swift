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

/// Postings in memory, documents ascending: what a block is encoded from.
struct Postings {
    var docnos: [UInt64] = []
    var frequencies: [UInt32] = []
    /// A lower bound of each document's field length.
    var lengths: [UInt32] = []

    var count: Int { docnos.count }

    mutating func append(_ docno: UInt64, _ frequency: UInt32, _ length: UInt32) {
        docnos.append(docno)
        frequencies.append(frequency)
        lengths.append(length)
    }

    mutating func removeAll() {
        docnos.removeAll(keepingCapacity: true)
        frequencies.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }

    /// Appends the block of the postings in `range`, 1 to 128 of them.
    func encode(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(!range.isEmpty && range.count <= PostingBlock.capacity)
        var largest: UInt32 = 1
        var shortest = UInt32.max
        for index in range {
            largest = max(largest, frequencies[index])
            shortest = min(shortest, lengths[index])
        }
        bytes.append(UInt8(range.count - 1))
        bytes.appendVarint(docnos[range.upperBound - 1] - docnos[range.lowerBound])
        bytes.appendVarint(UInt64(largest))
        bytes.appendVarint(UInt64(shortest))
        for index in range.dropFirst() { bytes.appendVarint(docnos[index] - docnos[index - 1] - 1) }
        guard largest > 1 else { return }
        for index in range { bytes.appendVarint(UInt64(frequencies[index] - 1)) }
    }
}

/// The head of a block: enough to decide whether to decode the rest.
struct PostingBlock {
    /// The most postings in a block.
    static let capacity = 128

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
