// SPDX-License-Identifier: Apache-2.0
// The text of a document that is indexed: the texts of its fields. Its tokens are the tokens of each text in order, so
// scores don't depend on the division into texts; the division is stored separately. Word and Unicode tokens are also
// the tokens of all texts joined by line feeds, since no token crosses a line feed.

import HornbeamPages

/// The texts of a document, by field. A field that is an array has any number of texts.
package struct DocumentText: Equatable, Sendable {
    package var fields: [[String]]

    package init(fields: [[String]]) { self.fields = fields }

    /// A document with one field of one text.
    package init(_ text: String) { fields = [[text]] }

    /// Whether there is a single text.
    package var isPlain: Bool { fields.count == 1 && fields[0].count == 1 }

    /// Size in UTF-8 bytes, plus one for each boundary of texts.
    package var size: Int {
        if isPlain { return fields[0][0].utf8.count }
        return fields.reduce(0) { sum, field in field.reduce(sum + 1) { $0 + $1.utf8.count + 1 } }
    }

    /// Compares byte by byte: canonically equivalent texts have different tokens.
    func isIdentical(to other: DocumentText) -> Bool {
        fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
            }
    }

    /// Calls `body` with each text in order. The document's tokens are the tokens of these texts.
    func forEachText(_ body: (Bytes) -> Void) {
        for var text in fields.joined() { text.withUTF8 { body(Bytes($0)) } }
    }

    /// Calls `body` with each text and the position of its first token. `body` returns the text's number of tokens.
    /// Returns the resulting sections.
    func divide(_ body: (Bytes, UInt32) -> UInt32) -> DocumentSections {
        if isPlain {
            var text = fields[0][0]
            return DocumentSections(length: text.withUTF8 { body(Bytes($0), 0) })
        }
        var length: UInt32 = 0
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

    /// Adds all tokens to `buffer`, for the document at index `place`. Returns the document's sections.
    func add(
        to buffer: inout ChangeBuffer, at place: UInt32, _ tokenizer: inout Tokenizer
    ) -> DocumentSections {
        let made = divide { buffer.add($0, document: place, from: $1, &tokenizer) }
        buffer.setSections(made, at: place)
        buffer.setNewLength(Int64(made.length), at: place)
        buffer.setFingerprint(fingerprint, at: place)
        return made
    }
}
