// SPDX-License-Identifier: Apache-2.0
// What is indexed of a document: the texts of its fields. Its tokens are those of all of them joined by line feeds, so
// scores don't depend on how a text is divided; where the pieces begin is kept beside them.

import HornbeamPages

/// The texts of a document, by field; a field that is an array of texts has any number.
package struct DocumentText: Equatable, Sendable {
    package var fields: [[String]]

    package init(fields: [[String]]) { self.fields = fields }

    /// One field of one text.
    package init(_ text: String) { fields = [[text]] }

    /// Whether it is one text.
    package var isPlain: Bool { fields.count == 1 && fields[0].count == 1 }

    /// Its bytes in UTF-8, joined.
    package var size: Int {
        if isPlain { return fields[0][0].utf8.count }
        return fields.reduce(0) { sum, field in field.reduce(sum + 1) { $0 + $1.utf8.count + 1 } }
    }

    /// All texts in order, joined by line feeds: also those of a field without any, as an empty one.
    package var joined: String {
        if isPlain { return fields[0][0] }
        return fields.map { $0.joined(separator: "\n") }.joined(separator: "\n")
    }

    /// Byte by byte: texts that are canonically equivalent have different tokens.
    func isIdentical(to other: DocumentText) -> Bool {
        fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
            }
    }

    /// Calls `body` with texts that have, one behind the other, the tokens of the document.
    func forEachPiece(of analyzer: Analyzer, _ body: (Bytes) -> Void) {
        if !isPlain, !analyzer.separatesAtLineFeeds {
            var text = joined
            return text.withUTF8 { body(Bytes($0)) }
        }
        for var text in fields.joined() { text.withUTF8 { body(Bytes($0)) } }
    }

    /// Calls `body` with texts that have, one behind the other, the tokens of the document, and with the position of
    /// each one's first token; it gives how many tokens the text has. How they are divided.
    func divide(of analyzer: Analyzer, _ body: (Bytes, UInt32) -> UInt32) -> DocumentSections {
        var length: UInt32 = 0
        if isPlain || !analyzer.separatesAtLineFeeds {
            forEachPiece(of: analyzer) { length += body($0, length) }
            return isPlain ? DocumentSections(length: length) : sections(of: analyzer, length: length)
        }
        var fields: [[UInt32]] = []
        for field in self.fields {
            var sections: [UInt32] = []
            for var text in field {
                let count = text.withUTF8 { body(Bytes($0), length) }
                sections.append(count)
                length += count
            }
            fields.append(sections)
        }
        return DocumentSections(fields: fields)
    }

    /// Puts all tokens into `buffer` as those of the document at `place`; how they are divided.
    func add(
        to buffer: inout ChangeBuffer, at place: UInt32, _ analyzer: Analyzer, _ tokenizer: inout Tokenizer
    ) -> DocumentSections {
        let made = divide(of: analyzer) { buffer.add($0, document: place, from: $1, &tokenizer) }
        buffer.setSections(made, at: place)
        buffer.setNewLength(Int64(made.length), at: place)
        buffer.setFingerprint(fingerprint, at: place)
        return made
    }

    /// How the `length` tokens of the joined texts are divided, for an analyzer that may take tokens from across a line
    /// feed: a token is in the section up to whose end the texts before and in it have that many.
    func sections(of analyzer: Analyzer, length: UInt32) -> DocumentSections {
        var tokenizer = Tokenizer(analyzer)
        var (text, before): (String, UInt32) = ("", 0)
        var result: [[UInt32]] = []
        let last = fields.lastIndex { !$0.isEmpty }
        for (place, field) in fields.enumerated() {
            if place > 0 { text += "\n" }
            var sections: [UInt32] = []
            for (number, piece) in field.enumerated() {
                if number > 0 { text += "\n" }
                text += piece
                let isLast = place == last && number == field.count - 1
                let tokens =
                    isLast ? length : UInt32(truncatingIfNeeded: text.withUTF8 { tokenizer.tokenCount(of: Bytes($0)) })
                let end = min(max(tokens, before), length)
                sections.append(end - before)
                before = end
            }
            result.append(sections)
        }
        // Tokens of the line feeds alone belong to no text: the first field has them.
        if before < length, !result.isEmpty { result[0] = (result[0].isEmpty ? [0] : result[0]) }
        if before < length, !result.isEmpty { result[0][0] += length - before }
        return DocumentSections(fields: result)
    }
}

extension Analyzer {
    /// Whether texts joined by line feeds have the tokens of each of them and no others.
    var separatesAtLineFeeds: Bool {
        switch rules {
        case .words, .unicode: true
        case .trigrams, .custom, .unknown: false
        }
    }
}
