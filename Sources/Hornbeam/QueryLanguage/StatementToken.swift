// SPDX-License-Identifier: Apache-2.0
// The words of a statement: names, keywords, literals, parameters and signs, each with its place.
//
//     name       = letter or _ { letter, digit, _ } | ` any characters, `` for one ` `
//     string     = ' any characters, '' for one ' ' | " any characters, "" for one " "
//     number     = digits [ . digits ] [ e [+|-] digits ]
//     parameter  = ? | ? digits | $ name | : name
//     comment    = -- to the end of the line | /* to */
//
// Keywords are names that aren't in backquotes, in any case of letters; where the grammar expects a name a keyword is
// one only if it isn't reserved. Names tell upper from lower case.

/// A word of a statement.
enum StatementToken: Sendable, Equatable {
    case name(String)
    /// In backquotes: never a keyword.
    case quotedName(String)
    case string(String)
    case number(String)
    /// `?` without a number: by order.
    case parameter(Parameter.Name?)
    case sign(String)
    case end

    fileprivate var isString: Bool { if case .string = self { true } else { false } }
}

/// A failure at a place of a text, with the line and a caret below it.
struct StatementFailure {
    static func error(
        _ what: String, _ code: HornbeamError.Code = .invalid, in text: String, at place: TextPlace
    ) -> HornbeamError {
        var line = 1
        var lineStart = 0
        let characters = Array(text)
        let place = min(max(place, 0), characters.count)
        for index in 0..<place where characters[index].isNewline {
            line += 1
            lineStart = index + 1
        }
        let lineEnd = characters[lineStart...].firstIndex { $0.isNewline } ?? characters.count
        let column = place - lineStart
        // A window of the line, so that a statement of a megabyte doesn't fill the screen.
        let from = max(lineStart, place - 60)
        let to = min(lineEnd, place + 60)
        let shown = characters[from..<to].map { $0 == "\t" ? " " : String($0) }.joined()
        let caret = String(repeating: " ", count: place - from) + "^"
        return HornbeamError(
            code, "\(what), at line \(line), character \(column + 1):\n  \(shown)\n  \(caret)")
    }
}

/// Cuts a text into its words.
struct StatementLexer {
    private let text: String
    let characters: [Character]
    private var at = 0

    init(_ text: String) {
        self.text = text
        characters = Array(text)
    }

    /// All words, an `.end` last.
    mutating func tokens() throws(HornbeamError) -> [(token: StatementToken, place: TextPlace, end: TextPlace)] {
        var tokens: [(token: StatementToken, place: TextPlace, end: TextPlace)] = []
        while true {
            try skipSpace()
            guard at < characters.count else { break }
            let place = at
            // `{"a":b}` and not a parameter: a string is never followed by one.
            let isColon = characters[at] == ":" && tokens.last.map { $0.token.isString } == true
            if isColon { at += 1 }
            let token = isColon ? .sign(":") : try next()
            tokens.append((token, place, at))
        }
        tokens.append((.end, characters.count, characters.count))
        return tokens
    }

    private func failure(_ what: String, _ place: TextPlace) -> HornbeamError {
        StatementFailure.error(what, in: text, at: place)
    }

    private func character(_ offset: Int) -> Character? {
        at + offset < characters.count ? characters[at + offset] : nil
    }

    private mutating func skipSpace() throws(HornbeamError) {
        while let first = character(0) {
            if first.isWhitespace {
                at += 1
            } else if first == "-", character(1) == "-" {
                while let next = character(0), !next.isNewline { at += 1 }
            } else if first == "/", character(1) == "*" {
                let place = at
                at += 2
                while !(character(0) == "*" && character(1) == "/") {
                    guard character(0) != nil else { throw failure("the comment has no end", place) }
                    at += 1
                }
                at += 2
            } else {
                return
            }
        }
    }

    private static func beginsName(_ character: Character) -> Bool { character.isLetter || character == "_" }
    private static func continuesName(_ character: Character) -> Bool {
        character.isLetter || character == "_" || isDigit(character) || character.isNumber
    }
    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    private mutating func next() throws(HornbeamError) -> StatementToken {
        let place = at
        let first = characters[at]
        switch first {
        case "'", "\"": return .string(try quoted("string"))
        case "`":
            let name = try quoted("name in backquotes")
            guard !name.isEmpty else { throw failure("a name has no characters", place) }
            return .quotedName(name)
        case "?":
            at += 1
            let digits = takeWhile(Self.isDigit)
            guard !digits.isEmpty else { return .parameter(nil) }
            guard let position = Int(digits), (1...1_000).contains(position) else {
                throw failure("a parameter's number is 1 to 1000", place)
            }
            return .parameter(.position(position))
        case "$", ":":
            at += 1
            let name = takeWhile(Self.continuesName)
            guard !name.isEmpty else { throw failure("a parameter needs a name behind “\(first)”", place) }
            if first == "$", let position = Int(name) {
                guard (1...1_000).contains(position) else { throw failure("a parameter's number is 1 to 1000", place) }
                return .parameter(.position(position))
            }
            return .parameter(.name(name))
        case _ where Self.isDigit(first) || first == "." && character(1).map(Self.isDigit) == true:
            return .number(try number())
        case _ where Self.beginsName(first): return .name(takeWhile(Self.continuesName))
        default: return .sign(try sign())
        }
    }

    private mutating func takeWhile(_ isTaken: (Character) -> Bool) -> String {
        let start = at
        while let next = character(0), isTaken(next) { at += 1 }
        return String(characters[start..<at])
    }

    private mutating func number() throws(HornbeamError) -> String {
        let start = at
        _ = takeWhile(Self.isDigit)
        if character(0) == ".", character(1).map(Self.isDigit) == true {
            at += 1
            _ = takeWhile(Self.isDigit)
        }
        if character(0) == "e" || character(0) == "E" {
            let isSigned = character(1) == "+" || character(1) == "-"
            if character(isSigned ? 2 : 1).map(Self.isDigit) == true {
                at += isSigned ? 2 : 1
                _ = takeWhile(Self.isDigit)
            }
        }
        if let next = character(0), Self.continuesName(next) {
            throw failure("a number is followed by “\(next)”", start)
        }
        return String(characters[start..<at])
    }

    /// What is in quotes, two of which stand for one.
    private mutating func quoted(_ what: String) throws(HornbeamError) -> String {
        let place = at
        let quote = characters[at]
        var content = ""
        at += 1
        while let next = character(0) {
            at += 1
            if next != quote {
                content.append(next)
            } else if character(0) == quote {
                content.append(next)
                at += 1
            } else {
                return content
            }
        }
        throw failure("the \(what) has no end", place)
    }

    private mutating func sign() throws(HornbeamError) -> String {
        if let second = character(1) {
            let pair = String([characters[at], second])
            if ["==", "!=", "<>", "<=", ">=", "||"].contains(pair) {
                at += 2
                return pair
            }
        }
        let sign = characters[at]
        guard "()[]{},.;=<>+-*/%:".contains(sign) else { throw failure("unexpected “\(sign)”", at) }
        at += 1
        return String(sign)
    }
}
