// SPDX-License-Identifier: Apache-2.0
// The postings of a term that stands in few documents, in the dictionary's entry itself: half of all terms occur once,
// and finding one of these is one way down one tree.
//
//   for each posting:
//     varint  distance from the document before, less 1 (of the first: its number); if the term stands in any document
//             more than once: that · 2, + 1 if it does in this one
//     varint  frequency − 2, only after such a 1
//     varints its positions: the first one, then the distances to the next, less 1 (absent if the index keeps none)

import HornbeamPages

/// The limits and the coding of postings in the dictionary.
enum InlinePostings {
    /// A term in more documents has a list.
    static let documentLimit = 8
    /// A term that occurs more often has a list.
    static let occurrenceLimit = 32

    /// Whether the postings of such a term stand in the dictionary.
    @inline(__always)
    static func fits(documents: Int, occurrences: Int) -> Bool {
        documents <= documentLimit && occurrences <= occurrenceLimit
    }

    /// Appends all postings of the buffer. `repeats` says whether any frequency is above 1.
    static func encode(
        _ postings: borrowing PostingsBuffer, repeats: Bool, storesPositions: Bool, to target: inout ByteSink
    ) {
        var (next, position): (UInt32, Int) = (0, 0)
        for place in 0..<postings.count {
            let frequency = postings.frequencies[place]
            let distance = UInt64(postings.docnos[place] &- next)
            target.append(varint: repeats ? distance << 1 | (frequency == 1 ? 0 : 1) : distance)
            if frequency != 1 { target.append(varint: UInt64(frequency - 2)) }
            next = postings.docnos[place] &+ 1
            guard storesPositions else { continue }
            var from: UInt32 = 0
            for _ in 0..<frequency {
                target.append(varint: UInt64(postings.positions[position] &- from))
                from = postings.positions[position] &+ 1
                position += 1
            }
        }
    }

    /// Reads `count` postings of so many occurrences, which must be all the bytes, and appends them to `target`; their
    /// documents' lengths are unknown and 1. False, and what was appended of no meaning, if they aren't ones that
    /// `encode` writes.
    static func decode(
        _ bytes: Bytes, count: Int, occurrences expected: UInt64, storesPositions: Bool, to target: inout PostingsBuffer
    ) -> Bool {
        forEach(bytes, count: count, occurrences: expected) { (_, docno, frequency, reader) in
            target.append(docno, frequency: frequency, length: 1)
            guard storesPositions else {
                for position in 0..<frequency { target.append(position: position) }
                return true
            }
            return decodePositions(&reader, frequency) { target.append(position: $0) }
        }
    }

    /// The same without positions; there is room for `count` postings.
    static func decode(
        _ bytes: Bytes, count: Int, occurrences expected: UInt64, storesPositions: Bool,
        docnos: UnsafeMutablePointer<UInt32>, frequencies: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        forEach(bytes, count: count, occurrences: expected) { (place, docno, frequency, reader) in
            docnos[place] = docno
            frequencies[place] = frequency
            return !storesPositions || decodePositions(&reader, frequency) { (_) in }
        }
    }

    /// Calls `body` with each posting, behind which the reader then stands.
    @inline(__always)
    private static func forEach(
        _ bytes: Bytes, count: Int, occurrences expected: UInt64,
        _ body: (_ place: Int, _ docno: UInt32, _ frequency: UInt32, _ reader: inout ByteReader) -> Bool
    ) -> Bool {
        var reader = ByteReader(bytes)
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
            guard docno < UInt64(UInt32.max), occurrences <= UInt64(occurrenceLimit) else { return false }
            guard body(place, UInt32(truncatingIfNeeded: docno), UInt32(frequency), &reader) else { return false }
            next = docno + 1
        }
        return reader.isAtEnd && occurrences == expected
    }

    @inline(__always)
    private static func decodePositions(
        _ reader: inout ByteReader, _ count: UInt32, _ body: (UInt32) -> Void
    ) -> Bool {
        var next: UInt64 = 0
        for _ in 0..<count {
            guard let distance = reader.varint32(), next + UInt64(distance) <= UInt64(UInt32.max) else { return false }
            next += UInt64(distance)
            body(UInt32(truncatingIfNeeded: next))
            next += 1
        }
        return true
    }
}
