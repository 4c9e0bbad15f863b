// SPDX-License-Identifier: Apache-2.0
// Every three scalars that follow each other, spaces and punctuation too: an index of these finds parts of words. What
// is shorter than three scalars has none.

import HornbeamPages

/// Cuts texts as `trigrams` says. Owns its buffer; one thread at a time.
final class TrigramTokenizer {
    private let keepsAccents: Bool
    private let rules = FoldingRules.shared
    private var text = ComposedText()

    init(keepsAccents: Bool) {
        self.keepsAccents = keepsAccents
    }

    /// Calls `body` with each token, in order. The bytes live until `body` returns.
    func forEachToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes) -> Void) {
        fold(source)
        let bytes = text.finish()
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

    /// The whole text folded, with or without accents.
    private func fold(_ source: UnsafeBufferPointer<UInt8>) {
        text.removeAll()
        var index = 0
        while index < source.count {
            let scalar = UTF8Scalars.decode(source, at: &index)
            guard scalar != UTF8Scalars.malformed else { continue }
            rules.forEachFolded(scalar) { folded in
                if keepsAccents { text.append(folded) } else { rules.forEachBase(folded) { text.append($0) } }
            }
        }
    }
}
