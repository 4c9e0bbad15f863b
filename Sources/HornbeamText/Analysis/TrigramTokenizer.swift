// SPDX-License-Identifier: Apache-2.0
// Every three consecutive scalars are a token, including spaces and punctuation. Such an index finds parts of words. A
// text of fewer than three scalars has no tokens.

import HornbeamPages

/// Cuts texts by the rules of `trigrams`. Owns its buffer; used by one thread at a time.
final class TrigramTokenizer {
    private let keepsAccents: Bool
    private let rules = FoldingRules.shared
    private var text = ComposedText()
    /// The source range of each scalar of `text`: the range of its whole letter with the marks. Filled only if ranges
    /// are needed.
    private var places: [(start: Int, end: Int)] = []

    init(keepsAccents: Bool) {
        self.keepsAccents = keepsAccents
    }

    /// Calls `body` with each token, in order. The bytes are valid during the call.
    func forEachToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes) -> Void) {
        fold(source)
        let bytes = text.finish()
        // The starts of the last three scalars.
        var starts = (0, 0, 0)
        var count = 0
        for place in bytes.indices where bytes[place] & 0xC0 != 0x80 {
            if count >= 3 { body(Bytes(rebasing: bytes[starts.0..<place])) }
            starts = (starts.1, starts.2, place)
            count += 1
        }
        if count >= 3 { body(Bytes(rebasing: bytes[starts.0...])) }
    }

    /// Calls `body` with each token and its range in the source, in order. The bytes are valid during the call.
    func forEachSourceToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes, Range<Int>) -> Void) {
        places.removeAll(keepingCapacity: true)
        fold(source, keepsPlaces: true)
        let bytes = text.finish()
        var starts: [Int] = []
        for place in bytes.indices where bytes[place] & 0xC0 != 0x80 { starts.append(place) }
        starts.append(bytes.count)
        for first in 0..<max(0, places.count - 2) {
            let token = Bytes(rebasing: bytes[starts[first]..<starts[first + 3]])
            body(token, places[first].start..<places[first + 2].end)
        }
    }

    /// Folds the whole text, with or without accents.
    private func fold(_ source: UnsafeBufferPointer<UInt8>, keepsPlaces: Bool = false) {
        text.removeAll()
        var index = 0
        var letter = (start: 0, end: 0)
        var placed = 0
        while index < source.count {
            let start = index
            let scalar = UTF8Scalars.decode(source, at: &index)
            guard scalar != UTF8Scalars.malformed else { continue }
            if keepsPlaces {
                if !mayJoin(scalar) {
                    place(letter, from: &placed)
                    letter.start = start
                }
                letter.end = index
            }
            rules.forEachFolded(scalar, keepsAccents: keepsAccents) { folded in
                if keepsAccents { text.append(folded) } else { rules.forEachBase(folded) { text.append($0) } }
            }
        }
        if keepsPlaces { place(letter, from: &placed) }
    }

    /// Whether the folded form of a scalar may change the letter before it.
    private func mayJoin(_ scalar: UInt32) -> Bool {
        let facts = rules.facts(scalar)
        return facts.isOrdered || facts.part == .mark || (0x1161..<0x11C3).contains(scalar)
    }

    /// Records the range of a letter for the scalars of `text` from `start` on, which must be final.
    private func place(_ letter: (start: Int, end: Int), from start: inout Int) {
        let bytes = text.finish()
        for place in start..<bytes.count where bytes[place] & 0xC0 != 0x80 { places.append(letter) }
        start = bytes.count
    }
}
