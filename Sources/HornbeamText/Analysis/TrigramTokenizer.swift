// SPDX-License-Identifier: Apache-2.0
// Every three scalars that follow each other, spaces and punctuation too: an index of these finds parts of words. What
// is shorter than three scalars has none.

import HornbeamPages

/// Cuts texts as `trigrams` says. Owns its buffer; one thread at a time.
final class TrigramTokenizer {
    private let keepsAccents: Bool
    private let rules = FoldingRules.shared
    private var text = ByteBuffer()
    /// The scalar at the end of `text`, and where it begins there.
    private var last: (scalar: UInt32, start: Int) = (0, 0)
    /// Where each scalar of `text` stands in the source, if that is asked for.
    private var places: [(start: Int, end: Int)] = []
    private var keepsPlaces = false
    /// What is being folded.
    private var place = (start: 0, end: 0)

    init(keepsAccents: Bool) {
        self.keepsAccents = keepsAccents
    }

    /// Calls `body` with each token, in order. The bytes live until `body` returns.
    func forEachToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes) -> Void) {
        fold(source)
        let bytes = text.bytes
        // Where the last three scalars begin.
        var starts = (0, 0, 0)
        var count = 0
        for place in bytes.indices where bytes[place] & 0xC0 != 0x80 {
            if count >= 3 { body(Bytes(rebasing: bytes[starts.0..<place])) }
            starts = (starts.1, starts.2, place)
            count += 1
        }
        if count >= 3 { body(Bytes(rebasing: bytes[starts.0...])) }
    }

    /// The same with the places of the tokens in the source.
    func forEachSourceToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes, Range<Int>) -> Void) {
        keepsPlaces = true
        places.removeAll(keepingCapacity: true)
        defer { keepsPlaces = false }
        fold(source)
        let bytes = text.bytes
        var starts: [Int] = []
        for place in bytes.indices where bytes[place] & 0xC0 != 0x80 { starts.append(place) }
        starts.append(bytes.count)
        for first in 0..<max(0, places.count - 2) {
            let token = Bytes(rebasing: bytes[starts[first]..<starts[first + 3]])
            body(token, places[first].start..<places[first + 2].end)
        }
    }

    /// The whole text folded, and composed or without accents.
    private func fold(_ source: UnsafeBufferPointer<UInt8>) {
        text.removeAll()
        last = (0, 0)
        var index = 0
        while index < source.count {
            let start = index
            let scalar = UTF8Scalars.decode(source, at: &index)
            if keepsPlaces { place = (start, index) }
            guard scalar != UTF8Scalars.malformed else { continue }
            rules.forEachFolded(scalar) { folded in
                if keepsAccents { append(folded) } else { rules.forEachBase(folded) { append($0) } }
            }
        }
    }

    private func append(_ scalar: UInt32) {
        if !text.isEmpty, scalar >= 0x300, let whole = rules.composed(last.scalar, scalar) {
            text.shorten(to: last.start)
            last.scalar = whole
            text.append(whole)
            if keepsPlaces, !places.isEmpty { places[places.count - 1].end = place.end }
        } else {
            last = (scalar, text.count)
            text.append(scalar)
            if keepsPlaces { places.append(place) }
        }
    }
}
