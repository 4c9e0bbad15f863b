// SPDX-License-Identifier: Apache-2.0
// What is indexed of a document: the texts of its fields. Its tokens are those of each, one text behind the other, so
// scores don't depend on how words are divided; where the pieces begin is kept beside them. Words and Unicode's are
// those of all texts joined by line feeds, too: no token reaches over one.

import HornbeamPages

/// The texts of a document, by field; a field that is an array of texts has any number.
package struct DocumentText: Equatable, Sendable {
    package var fields: [[String]]

    package init(fields: [[String]]) { self.fields = fields }

    /// One field of one text.
    package init(_ text: String) { fields = [[text]] }

    /// Whether it is one text.
    package var isPlain: Bool { fields.count == 1 && fields[0].count == 1 }

    /// Its bytes in UTF-8, and one for each boundary of texts.
    package var size: Int {
        if isPlain { return fields[0][0].utf8.count }
        return fields.reduce(0) { sum, field in field.reduce(sum + 1) { $0 + $1.utf8.count + 1 } }
    }

    /// Byte by byte: texts that are canonically equivalent have different tokens.
    func isIdentical(to other: DocumentText) -> Bool {
        fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
            }
    }

    /// Calls `body` with each text: one behind the other they have the tokens of the document.
    func forEachText(_ body: (Bytes) -> Void) {
        for var text in fields.joined() { text.withUTF8 { body(Bytes($0)) } }
    }

    /// Calls `body` with each text and the position of its first token; it gives how many tokens the text has. How they
    /// are divided.
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

    /// Puts all tokens into `buffer` as those of the document at `place`; how they are divided.
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
