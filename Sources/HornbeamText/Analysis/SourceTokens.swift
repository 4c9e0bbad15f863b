// SPDX-License-Identifier: Apache-2.0
// Tokens with their ranges in the text, for highlights and snippets. Separate from the plain form, which writing and
// searching use, so that these don't pay for ranges. Both give the same tokens.

package import HornbeamPages

extension Tokenizer {
    /// Calls `body` with each token of `text`, in order, and with the byte range it was made of. The ranges ascend and
    /// may overlap; they begin and end between scalars. A range is empty if a custom tokenizer gave a token that isn't
    /// in the text. `dynamic` keeps the optimizer from copying all tokenizers for each caller's closure.
    package mutating dynamic func forEachSourceToken(
        in text: Bytes, _ body: (_ token: Bytes, _ place: Range<Int>) -> Void
    ) {
        text.withMemoryRebound(to: UInt8.self) { source in
            switch rules {
            case nil: scanWords(source, body)
            case .unicode(let tokenizer)?:
                tokenizer.forEachToken(in: source) { body($0, tokenizer.place.start..<tokenizer.place.end) }
            case .trigrams(let tokenizer)?: tokenizer.forEachSourceToken(in: source, body)
            case .custom(let tokenizer)?: tokenizer.forEachSourceToken(in: text, body)
            case .none?: return
            }
        }
    }

    private mutating func scanWords(_ source: UnsafeBufferPointer<UInt8>, _ body: (Bytes, Range<Int>) -> Void) {
        reserve(source.count)
        let tables = ScalarTables.shared
        var (index, size) = (0, 0)
        var (start, end) = (0, 0)
        func finish() {
            if size > 0 { body(Bytes(start: token, count: size), start..<end) }
            size = 0
        }
        while index < source.count {
            let (first, before) = (index, size)
            let mapped = ASCIITable.shared[Int(source[index])]
            var ends = false
            if mapped > ASCIITable.beyond {
                token[size] = mapped
                size += 1
                index += 1
            } else if mapped == ASCIITable.beyond {
                ends = Self.appendScalar(source, &index, tables, token, &size)
            } else {
                index += 1
                ends = true
            }
            if size > before {
                if before == 0 { start = first }
                end = index
            }
            if ends { finish() }
        }
        finish()
    }
}

extension CustomTokenizer {
    /// Finds tokens that come without a range by a case-insensitive search behind the token before.
    fileprivate func forEachSourceToken(in text: Bytes, _ body: (Bytes, Range<Int>) -> Void) {
        let text = String(decoding: text, as: UTF8.self)
        var last = text.startIndex
        func emit(_ token: String, _ place: Range<String.Index>?) {
            var token = token
            guard !token.isEmpty else { return }
            let found = place ?? Self.find(token, in: text[last...])
            if let found { last = max(last, found.lowerBound) }
            let range = found ?? last..<last
            let start = text.utf8.distance(from: text.startIndex, to: range.lowerBound)
            let end = start + text.utf8.distance(from: range.lowerBound, to: range.upperBound)
            if place == nil, let found { last = found.upperBound }
            token.withUTF8 { body(Bytes($0), start..<end) }
        }
        if let locate {
            locate(text) { emit($0, $1) }
        } else {
            tokenize(text) { emit($0, nil) }
        }
    }

    /// Maximum number of characters that are searched for a token. Otherwise each token that isn't in the text would
    /// cost a search of all of it.
    private static let searchLimit = 2_000

    private static func find(_ token: String, in rest: Substring) -> Range<String.Index>? {
        var start = rest.startIndex
        let lowered = token.lowercased()
        for _ in 0..<searchLimit where start < rest.endIndex {
            if let end = end(of: lowered, at: start, in: rest) { return start..<end }
            start = rest.index(after: start)
        }
        return nil
    }

    /// Returns the end of the token if it begins at `start`.
    private static func end(of token: String, at start: String.Index, in rest: Substring) -> String.Index? {
        var (place, end) = (token.startIndex, start)
        while place < token.endIndex {
            guard end < rest.endIndex, rest[end].lowercased() == String(token[place]).lowercased() else { return nil }
            token.formIndex(after: &place)
            rest.formIndex(after: &end)
        }
        return end
    }
}
