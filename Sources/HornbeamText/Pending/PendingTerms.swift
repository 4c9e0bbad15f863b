// SPDX-License-Identifier: Apache-2.0
// The terms of a segment in byte order, found by binary search. Most comparisons end within the first eight bytes,
// which are stored side by side.

import HornbeamPages

/// Terms by index, in byte order. Valid as long as the segment whose memory it reads.
struct PendingTerms {
    let count: Int
    /// The first eight bytes of each term, big-endian, padded with zeros.
    let heads: UnsafePointer<UInt64>
    /// The end of each term in `texts`.
    private let ends: UnsafePointer<UInt32>
    private let texts: UnsafeRawPointer

    init(count: Int, heads: UnsafePointer<UInt64>, ends: UnsafePointer<UInt32>, texts: UnsafeRawPointer) {
        (self.count, self.heads, self.ends, self.texts) = (count, heads, ends, texts)
    }

    /// Returns the bytes of a term.
    @inline(__always)
    func text(_ place: Int) -> Bytes {
        let start = place == 0 ? 0 : Int(ends[place &- 1])
        return Bytes(start: texts + start, count: Int(ends[place]) &- start)
    }

    /// Returns the index of the first term that isn't below `term`, and whether it equals `term`.
    func find(_ term: Bytes) -> (place: Int, isThere: Bool) {
        let head = Self.head(term)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = heads[middle] == head ? text(middle).order(term) : heads[middle] < head ? -1 : 1
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// Compares a term with a term of `other`.
    @inline(__always)
    func order(_ place: Int, _ other: PendingTerms, _ otherPlace: Int) -> Int {
        if heads[place] != other.heads[otherPlace] { return heads[place] < other.heads[otherPlace] ? -1 : 1 }
        return text(place).order(other.text(otherPlace))
    }

    @inline(__always)
    static func head(_ term: Bytes) -> UInt64 {
        guard let start = term.baseAddress, term.count > 0 else { return 0 }
        let count = term.count
        if count >= 8 { return start.loadUnaligned(as: UInt64.self).bigEndian }
        // The loads may overlap. Bytes that are loaded twice are the same in both.
        let end = UInt64(64 &- 8 &* count)
        if count >= 4 {
            let first = start.loadUnaligned(as: UInt32.self).bigEndian
            let last = start.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self).bigEndian
            return UInt64(first) &<< 32 | UInt64(last) &<< end
        }
        let middle = count &>> 1
        return UInt64(start.load(as: UInt8.self)) &<< 56
            | UInt64(start.load(fromByteOffset: middle, as: UInt8.self)) &<< UInt64(56 &- 8 &* middle)
            | UInt64(start.load(fromByteOffset: count &- 1, as: UInt8.self)) &<< end
    }
}
