// SPDX-License-Identifier: Apache-2.0
// The tokens of filters and sorts as text. Errors show the place.

/// Text in tokens, and where its reader stands.
struct TextTokens {
    enum Token: Equatable {
        case name(String)
        case string(String)
        case number(String)
        case sign(String)
        case end
    }

    let text: String
    private var tokens: [(token: Token, at: Int)] = []
    var position = 0

    init(_ text: String) throws(HornbeamError) {
        self.text = text
        try tokenize()
    }

    private mutating func tokenize() throws(HornbeamError) {
        let characters = Array(text)
        var at = 0
        while at < characters.count {
            let character = characters[at]
            let start = at
            if character.isWhitespace {
                at += 1
            } else if character == "\"" || character == "'" {
                tokens.append((.string(try quoted(characters, &at)), start))
            } else if character.isNumber || character == "-" {
                at += 1
                while at < characters.count, Self.isInNumber(characters, at) { at += 1 }
                tokens.append((.number(String(characters[start..<at])), start))
            } else if character.isLetter || character == "_" || character == "$" {
                at += 1
                while at < characters.count, characters[at].isLetter || characters[at].isNumber || characters[at] == "_"
                {
                    at += 1
                }
                tokens.append((.name(String(characters[start..<at])), start))
            } else {
                let pair = String(characters[at..<min(at + 2, characters.count)])
                let sign = ["==", "!=", "<=", ">=", "&&", "||"].contains(pair) ? pair : String(character)
                guard pair == sign || "<>!(),[]".contains(character) else {
                    let meant = ["=": "==", "&": "&&", "|": "||"][character].map { ": write \($0)" } ?? ""
                    throw Self.failure("unexpected “\(character)”\(meant)", text, at)
                }
                at += sign.count
                tokens.append((.sign(sign), start))
            }
        }
        tokens.append((.end, characters.count))
    }

    private static func isInNumber(_ characters: [Character], _ at: Int) -> Bool {
        let character = characters[at]
        if character.isNumber || character == "." || character == "e" || character == "E" { return true }
        return (character == "+" || character == "-") && "eE".contains(characters[at - 1])
    }

    private func quoted(_ characters: [Character], _ at: inout Int) throws(HornbeamError) -> String {
        let start = at
        let quote = characters[at]
        var content = ""
        at += 1
        while at < characters.count {
            let character = characters[at]
            at += 1
            if character == quote { return content }
            if character == "\\", at < characters.count {
                let escaped = characters[at]
                at += 1
                content.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
            } else {
                content.append(character)
            }
        }
        throw Self.failure("the string has no end", text, start)
    }

    private static func failure(_ what: String, _ text: String, _ at: Int) -> HornbeamError {
        let shown = text.map { $0.isNewline ? " " : String($0) }.joined()
        return HornbeamError(
            .invalid, "\(what), at character \(at + 1):\n  \(shown)\n  \(String(repeating: " ", count: at))^")
    }

    /// What is wrong, at a token or where the reader stands.
    func failure(_ what: String, _ token: Int? = nil) -> HornbeamError {
        Self.failure(what, text, tokens[min(token ?? position, tokens.count - 1)].at)
    }

    var peek: Token { tokens[min(position, tokens.count - 1)].token }

    mutating func next() -> Token {
        defer { position += 1 }
        return peek
    }

    mutating func take(_ token: Token) -> Bool {
        guard peek == token else { return false }
        position += 1
        return true
    }
}
