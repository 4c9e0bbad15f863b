// SPDX-License-Identifier: Apache-2.0
// Postings of a term that occurs in few documents, stored in the dictionary's entry itself. Half of all terms occur
// once; finding one of these takes one descent of one tree. A separate list would take three entries, and pages with
// more content that isn't asked for.
//
//   for each posting:
//     varint  distance from the document before, less 1 (first posting: the document's number). If any posting of the
//             term has a frequency above 1: distance · 2, + 1 if this posting has
//     varint  frequency − 2, only if the frequency is above 1
//   then for each posting, if the index keeps positions:
//     varints the first position, then the distances to the next ones, less 1

import HornbeamPages

/// The limits and the coding of postings in the dictionary.
enum InlinePostings {
    /// Maximum number of documents of a term that never has a list.
    static let documentLimit = 8
    /// Maximum number of occurrences of a term that never has a list.
    static let occurrenceLimit = 32
    /// A term that never had a list keeps its postings in the dictionary as long as they take at most this many bytes
    /// and stay within the two limits below.
    static let sizeLimit = 128
    static let mostDocuments = 128
    static let mostOccurrences = 256

    /// Whether the postings of such a term stay in the dictionary whatever their size in bytes.
    @inline(__always)
    static func fits(documents: UInt64, occurrences: UInt64) -> Bool {
        documents <= UInt64(documentLimit) && occurrences <= UInt64(occurrenceLimit)
    }

    /// Whether the postings of such a term can be short enough for the dictionary.
    static func mayFit(documents: UInt64, occurrences: UInt64, storesPositions: Bool) -> Bool {
        documents <= UInt64(mostDocuments) && occurrences <= UInt64(mostOccurrences)
            && documents + (storesPositions ? occurrences : 0) <= UInt64(sizeLimit)
    }

    /// Appends all postings of the buffer. `repeats` says whether any frequency is above 1.
    static func encode(
        _ postings: borrowing PostingsBuffer, repeats: Bool, storesPositions: Bool, to target: inout ByteSink
    ) {
        var next: UInt32 = 0
        for place in 0..<postings.count {
            let frequency = postings.frequencies[place]
            let distance = UInt64(postings.docnos[place] &- next)
            target.append(varint: repeats ? distance << 1 | (frequency == 1 ? 0 : 1) : distance)
            if frequency != 1 { target.append(varint: UInt64(frequency - 2)) }
            next = postings.docnos[place] &+ 1
        }
        guard storesPositions else { return }
        var position = 0
        for place in 0..<postings.count {
            var from: UInt32 = 0
            for _ in 0..<postings.frequencies[place] {
                target.append(varint: UInt64(postings.positions[position] &- from))
                from = postings.positions[position] &+ 1
                position += 1
            }
        }
    }

    /// Reads `count` postings with `expected` occurrences and appends them to `target`. They must take all the bytes.
    /// The lengths of their documents are unknown and set to 1. Returns false if the bytes aren't postings that
    /// `encode` writes; then the appended postings have no meaning.
    static func decode(
        _ bytes: Bytes, count: Int, occurrences expected: UInt64, storesPositions: Bool, to target: inout PostingsBuffer
    ) -> Bool {
        var reader = ByteReader(bytes)
        let start = target.count
        let isRead = forEach(&reader, count: count, occurrences: expected) { (_, docno, frequency) in
            target.append(docno, frequency: frequency, length: 1)
        }
        guard isRead else { return false }
        if storesPositions {
            for place in start..<start + count {
                var next: UInt64 = 0
                for _ in 0..<target.frequencies[place] {
                    guard let distance = reader.varint32(), next + UInt64(distance) <= UInt64(UInt32.max) else {
                        return false
                    }
                    next += UInt64(distance)
                    target.append(position: UInt32(truncatingIfNeeded: next))
                    next += 1
                }
            }
        }
        return reader.isAtEnd
    }

    /// Reads `count` postings with `expected` occurrences into `docnos` and `frequencies`, which have room for them.
    /// Doesn't check positions. Returns false if the bytes aren't postings that `encode` writes; then the contents of
    /// both arrays have no meaning.
    static func decode(
        _ bytes: Bytes, count: Int, occurrences expected: UInt64, storesPositions: Bool,
        docnos: UnsafeMutablePointer<UInt32>, frequencies: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        var reader = ByteReader(bytes)
        let isRead = forEach(&reader, count: count, occurrences: expected) { (place, docno, frequency) in
            docnos[place] = docno
            frequencies[place] = frequency
        }
        return isRead && reader.isAtEnd != storesPositions
    }

    /// Calls `body` with each posting. The reader is behind the last one afterwards. Returns false if the bytes aren't
    /// postings with `expected` occurrences.
    @inline(__always)
    private static func forEach(
        _ reader: inout ByteReader, count: Int, occurrences expected: UInt64,
        _ body: (_ place: Int, _ docno: UInt32, _ frequency: UInt32) -> Void
    ) -> Bool {
        let repeats = expected != UInt64(count)
        var next: UInt64 = 0
        var occurrences: UInt64 = 0
        for place in 0..<count {
            guard var distance = reader.varint() else { return false }
            var frequency: UInt64 = 1
            let isMore = repeats && distance & 1 == 1
            if repeats { distance >>= 1 }
            if isMore {
                guard let more = reader.varint32() else { return false }
                frequency = UInt64(more) + 2
            }
            occurrences += frequency
            guard distance < UInt64(UInt32.max) else { return false }
            let docno = next + distance
            guard docno < UInt64(UInt32.max), occurrences <= UInt64(mostOccurrences) else { return false }
            body(place, UInt32(truncatingIfNeeded: docno), UInt32(frequency))
            next = docno + 1
        }
        return occurrences == expected
    }
}
