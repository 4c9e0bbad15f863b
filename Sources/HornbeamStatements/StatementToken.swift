// SPDX-License-Identifier: Apache-2.0
// The words of a statement: names, keywords, literals, parameters and signs, each with its place.
//
//     name       = letter or _ { letter, digit, _ } | ` any characters, `` for one ` `
//     string     = ' any characters, '' for one ' ' | " any characters, "" for one " "
//     number     = digits [ . digits ] [ e [+|-] digits ]
//     parameter  = ? | ? digits | $ name | : name
//     comment    = -- to the end of the line | /* to */
//
// Keywords are names that aren't in backquotes, in upper or lower case. Where the grammar expects a name, a keyword is
// a name unless it is reserved. Names are case-sensitive.

/// A word of a statement.
package enum StatementToken: Sendable, Equatable {
    case name(String)
    /// In backquotes: never a keyword.
    case quotedName(String)
    case string(String)
    case number(String)
    /// The name is nil for `?` without a number: such parameters are numbered in their order.
    case parameter(Parameter.Name?)
    case sign(String)
    case end

    fileprivate var isString: Bool { if case .string = self { true } else { false } }
}

/// A failure at a position of a text, with the line and a caret below it.
package struct StatementFailure {
    package static func error(
        _ what: String, _ code: HornbeamError.Code = .invalid, in text: String, at place: TextPlace
    ) -> HornbeamError {
        let scalars = Array(text.unicodeScalars)
        let place = min(max(place, 0), scalars.count)
        // In \r\n only the \n ends the line.
        func endsLine(_ index: Int) -> Bool {
            scalars[index].isNewline
                && !(scalars[index] == "\r" && index + 1 < scalars.count && scalars[index + 1] == "\n")
        }
        var line = 1
        var lineStart = 0
        for index in 0..<place where endsLine(index) {
            line += 1
            lineStart = index + 1
        }
        let lineEnd = scalars[place...].firstIndex(where: \.isNewline) ?? scalars.count
        let before = String(String.UnicodeScalarView(scalars[lineStart..<place]))
        // A window of the line, so that a statement of a megabyte doesn't fill the screen.
        let start = before.suffix(60)
        let rest = String(String.UnicodeScalarView(scalars[place..<lineEnd])).prefix(60)
        let shown = "\(start)\(rest)".replacing("\t", with: " ")
        let caret = String(repeating: " ", count: start.count) + "^"
        return HornbeamError(
            code, "\(what), at line \(line), character \(before.count + 1):\n  \(shown)\n  \(caret)")
    }
}

extension Unicode.Scalar {
    fileprivate var isNewline: Bool {
        switch value {
        case 0xA...0xD, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
    fileprivate var beginsName: Bool { properties.isAlphabetic || self == "_" }

    /// Letters, digits, marks that combine with them, and the two joiners (U+200C, U+200D) that some scripts need.
    fileprivate var continuesName: Bool {
        if beginsName || properties.numericType != nil || (0x200C...0x200D).contains(value) { return true }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}

/// Cuts a text into its words. It works on Unicode scalars, so that a string may begin with any scalar: a combining
/// mark after a quote would form one character with it.
package struct StatementLexer {
    private let text: String
    let scalars: [Unicode.Scalar]
    private var at = 0

    package init(_ text: String) {
        self.text = text
        scalars = Array(text.unicodeScalars)
    }

    /// Returns all words, then `.end`. Throws `.invalid` if a word can't be read.
    package mutating func tokens() throws(HornbeamError) -> [(token: StatementToken, place: TextPlace, end: TextPlace)]
    {
        var tokens: [(token: StatementToken, place: TextPlace, end: TextPlace)] = []
        while true {
            try skipSpace()
            guard at < scalars.count else { break }
            let place = at
            // `{"a":b}` has no parameter `:b`, because no parameter follows a string.
            let isColon = scalars[at] == ":" && tokens.last.map { $0.token.isString } == true
            if isColon { at += 1 }
            let token = isColon ? .sign(":") : try next()
            tokens.append((token, place, at))
        }
        tokens.append((.end, scalars.count, scalars.count))
        return tokens
    }

    private func failure(_ what: String, _ place: TextPlace) -> HornbeamError {
        StatementFailure.error(what, in: text, at: place)
    }

    private func scalar(_ offset: Int) -> Unicode.Scalar? {
        at + offset < scalars.count ? scalars[at + offset] : nil
    }

    private mutating func skipSpace() throws(HornbeamError) {
        while let first = scalar(0) {
            if first.properties.isWhitespace {
                at += 1
            } else if first == "-", scalar(1) == "-" {
                while let next = scalar(0), !next.isNewline { at += 1 }
            } else if first == "/", scalar(1) == "*" {
                let place = at
                at += 2
                while !(scalar(0) == "*" && scalar(1) == "/") {
                    guard scalar(0) != nil else { throw failure("the comment has no end", place) }
                    at += 1
                }
                at += 2
            } else {
                return
            }
        }
    }

    private mutating func next() throws(HornbeamError) -> StatementToken {
        let place = at
        let first = scalars[at]
        switch first {
        case "'", "\"": return .string(try quoted("string"))
        case "`":
            let name = try quoted("name in backquotes")
            guard !name.isEmpty else { throw failure("a name has no characters", place) }
            return .quotedName(name)
        case "?":
            at += 1
            let digits = takeWhile(\.isDigit)
            guard !digits.isEmpty else { return .parameter(nil) }
            guard let position = Int(digits), (1...1_000).contains(position) else {
                throw failure("a parameter's number is 1 to 1000", place)
            }
            return .parameter(.position(position))
        case "$", ":":
            at += 1
            let name = takeWhile(\.continuesName)
            guard !name.isEmpty else { throw failure("a parameter needs a name behind “\(first)”", place) }
            if first == "$", let position = Int(name) {
                guard (1...1_000).contains(position) else { throw failure("a parameter's number is 1 to 1000", place) }
                return .parameter(.position(position))
            }
            return .parameter(.name(name))
        case _ where first.isDigit || first == "." && scalar(1)?.isDigit == true:
            return .number(try number())
        case _ where first.beginsName: return .name(takeWhile(\.continuesName))
        default: return .sign(try sign())
        }
    }

    private func slice(_ range: Range<Int>) -> String { String(String.UnicodeScalarView(scalars[range])) }

    private mutating func takeWhile(_ isTaken: (Unicode.Scalar) -> Bool) -> String {
        let start = at
        while let next = scalar(0), isTaken(next) { at += 1 }
        return slice(start..<at)
    }

    private mutating func number() throws(HornbeamError) -> String {
        let start = at
        _ = takeWhile(\.isDigit)
        if scalar(0) == ".", scalar(1)?.isDigit == true {
            at += 1
            _ = takeWhile(\.isDigit)
        }
        if scalar(0) == "e" || scalar(0) == "E" {
            let isSigned = scalar(1) == "+" || scalar(1) == "-"
            if scalar(isSigned ? 2 : 1)?.isDigit == true {
                at += isSigned ? 2 : 1
                _ = takeWhile(\.isDigit)
            }
        }
        if let next = scalar(0), next.continuesName {
            throw failure("a number is followed by “\(next)”", start)
        }
        return slice(start..<at)
    }

    /// Reads the text in quotes. Two quotes in it stand for one.
    private mutating func quoted(_ what: String) throws(HornbeamError) -> String {
        let place = at
        let quote = scalars[at]
        var content = String.UnicodeScalarView()
        at += 1
        while let next = scalar(0) {
            at += 1
            if next != quote {
                content.append(next)
            } else if scalar(0) == quote {
                content.append(next)
                at += 1
            } else {
                return String(content)
            }
        }
        throw failure("the \(what) has no end", place)
    }

    private mutating func sign() throws(HornbeamError) -> String {
        if scalar(1) != nil {
            let pair = slice(at..<at + 2)
            if ["==", "!=", "<>", "<=", ">=", "||"].contains(pair) {
                at += 2
                return pair
            }
        }
        let sign = scalars[at]
        guard "()[]{},.;=<>+-*/%:".unicodeScalars.contains(sign) else {
            throw failure("unexpected “\(sign)”" + SwiftSpelling.hint(sign: sign), at)
        }
        at += 1
        return String(sign)
    }
}
