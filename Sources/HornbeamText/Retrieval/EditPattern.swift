// SPDX-License-Identifier: Apache-2.0
// Computes the edit distances of sorted terms from one word, in parallel in the bits of a few numbers: bit i of number
// d says that the word's first i letters are at most d edits from the letters read of a term (Wu, Manber, “Fast text
// searching allowing errors”, 1992). Exchanges of neighbours are included if no other edit touches them. The numbers
// are kept for each letter of the last term, so that the next term is read only from its first different letter on.

import HornbeamPages

/// The pattern of a word. Owns its memory.
struct EditPattern: ~Copyable {
    static let letterLimit = 63
    static let editLimit = 3

    private let size: Int
    private let width: Int
    private let full: UInt64
    /// The positions of each letter in the word, as bits.
    private let ascii: UnsafeMutablePointer<UInt64>
    private var others: [UInt32: UInt64] = [:]
    /// For each number of letters read: `width` numbers; the positions of the last letter; bytes read.
    private let states: UnsafeMutablePointer<UInt64>
    private let places: UnsafeMutablePointer<UInt64>
    private let ends: UnsafeMutablePointer<Int>
    /// The bytes of the last term that were read.
    private let last: UnsafeMutablePointer<UInt8>
    private var depth = 0
    private var isDead = false

    /// - Parameters:
    ///   - word: at most 63 scalars.
    ///   - limit: maximum number of edits, 0 to 3.
    init(_ word: [UInt32], limit: Int) {
        precondition(word.count <= Self.letterLimit && limit >= 0 && limit <= Self.editLimit)
        size = word.count
        width = limit + 1
        full = size == 63 ? .max : 1 << UInt64(size + 1) - 1
        ascii = .allocate(capacity: 128)
        ascii.initialize(repeating: 0, count: 128)
        // A term that exceeds the length limit has failed, but its last letter was read.
        let letters = size + limit + 2
        states = .allocate(capacity: letters * width)
        places = .allocate(capacity: letters)
        ends = .allocate(capacity: letters)
        last = .allocate(capacity: letters * 4)
        for (place, letter) in word.enumerated() {
            if letter < 128 {
                ascii[Int(letter)] |= 1 << UInt64(place)
            } else {
                others[letter, default: 0] |= 1 << UInt64(place)
            }
        }
        (places[0], ends[0]) = (0, 0)
        for edits in 0..<width { states[edits] = (1 << UInt64(edits + 1) - 1) & full }
    }

    deinit {
        ascii.deallocate()
        states.deallocate()
        places.deallocate()
        ends.deallocate()
        last.deallocate()
    }

    /// Returns the distance of a term, if it is within the limit.
    mutating func read(_ term: Bytes) -> EditAutomaton.Result {
        let known = ends[depth]
        let shared = min(term.count, known)
        var common = 0
        while common < shared, term[common] == last[common] { common &+= 1 }
        if isDead, common == known { return .failsAfter(known) }
        isDead = false
        while ends[depth] > common { depth &-= 1 }
        return term.withMemoryRebound(to: UInt8.self) { bytes in
            var size = ends[depth]
            while size < bytes.count {
                let start = size
                var letter = UInt32(bytes[size])
                if letter < 128 { size &+= 1 } else { letter = UTF8Scalars.decode(bytes, at: &size) }
                for place in start..<size { last[place] = bytes[place] }
                append(letter, end: size)
                if states[depth &* width &+ width &- 1] == 0 {
                    isDead = true
                    return .failsAfter(size)
                }
            }
            for edits in 0..<width where states[depth &* width &+ edits] &>> UInt64(self.size) & 1 == 1 {
                return .matches(edits)
            }
            return .fails
        }
    }

    @inline(__always)
    private mutating func append(_ letter: UInt32, end: Int) {
        let mask = letter < 128 ? ascii[Int(letter)] : others[letter] ?? 0
        let old = states + depth &* width
        let new = old + width
        new[0] = (old[0] & mask) &<< 1
        for edits in 1..<max(width, 1) {
            let (less, lessNow) = (old[edits &- 1], new[edits &- 1])
            // A match, an extra letter, a different letter, or a missing letter before it.
            var next = (old[edits] & mask) &<< 1 | less | less &<< 1 | lessNow | lessNow &<< 1
            if depth > 0 {
                let before = (old - width)[edits &- 1]
                next |= (before & mask & places[depth] &>> 1) &<< 2
            }
            new[edits] = next & full
        }
        depth &+= 1
        places[depth] = mask
        ends[depth] = end
    }
}
