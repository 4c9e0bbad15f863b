// SPDX-License-Identifier: Apache-2.0
// Parses queries as people write them. `QueryPrinter` writes them back.
//
//     query     = sequence { "OR" sequence }
//     sequence  = clause { clause }                        any of them; see below for + and −
//     clause    = near { "AND" near }
//     near      = [ "+" | "-" | "NOT" ] item { "NEAR" [ "/" number ] item }      with AND, a + requires all its parts
//     item      = primary [ "^" number ]                                              boosted
//     primary   = "(" [ query ] ")" | fields ":" primary | "*"                        * is everything
//               | word | word "*" | word "~" [ distance ] [ "/" letters ]             prefix, fuzzy
//               | word with * and ? in it | "*" quoted                                pattern
//               | quoted [ "~" number | "*" ]                                         phrase, slop, prefix
//     fields    = name { "," name }
//
// Consecutive words are one list of words. In a sequence with a +, clauses without a sign are optional, but count for
// the score. If the syntax requires all, they must match too. Clauses with − or NOT must not match. A backslash makes
// the next character an ordinary one.

/// Parses one text, character by character.
struct QueryParser {
    /// Maximum nesting of parentheses and fields, and maximum depth of the tree.
    static let maximumDepth = 50
    static let maximumRepairs = 16
    static let defaultDistance = 10

    private enum Sign {
        case none, required, excluded
    }

    /// A part of a sequence.
    private struct Clause {
        var query: TextQuery
        var sign = Sign.none
        /// The word, if the clause is just one word, which joins its neighbours.
        var word: String?
    }

    private let text: String
    /// Scalars, not characters: a combining mark at the beginning of a word would be part of the sign before it.
    private let characters: [Unicode.Scalar]
    private let syntax: QuerySyntax
    private let isLenient: Bool
    private var at = 0
    /// Offsets of characters that are treated as ordinary ones.
    private var repaired: Set<Int> = []

    init(_ text: String, _ syntax: QuerySyntax, isLenient: Bool) {
        self.text = text
        self.syntax = syntax
        self.isLenient = isLenient
        characters = Array(text.unicodeScalars)
    }

    mutating func whole() throws(QuerySyntaxError) -> TextQuery {
        at = 0
        let query = try query(depth: 0)
        guard at == characters.count else {
            throw failure("this ) closes nothing", "leave it out, or write ( before, or \\) for the character", at)
        }
        // One level of text may be several levels of the tree, each of which is written with parentheses.
        guard query.isWithin(Self.maximumDepth) else {
            throw failure("more than \(Self.maximumDepth) levels", "leave parentheses out", 0)
        }
        guard query.largestBoost <= TextQuery.maximumBoost else {
            throw failure("boosts multiply to more than 1e9", "write smaller numbers after ^", 0)
        }
        return query
    }

    /// Makes the character that caused an error an ordinary one.
    mutating func repair(_ error: QuerySyntaxError) { repaired.insert(error.culprit) }

    /// Returns everything except white space and special characters, as words.
    func plainWords() -> TextQuery {
        let words = characters.split { Self.special.contains($0) || $0.properties.isWhitespace }
        return .words(words.map { Self.string($0) }.joined(separator: " "))
    }

    // MARK: Grammar

    private mutating func query(depth: Int) throws(QuerySyntaxError) -> TextQuery {
        var alternatives: [TextQuery] = []
        while true {
            let clauses = try clauses(depth)
            let (start, isOr) = (at, takeKeyword("OR"))
            if clauses.isEmpty, isOr || !alternatives.isEmpty {
                throw alone("OR", isOr ? start : lastKeyword)
            }
            if !clauses.isEmpty { alternatives.append(joined(clauses)) }
            guard isOr else { break }
            lastKeyword = start
        }
        switch alternatives.count {
        case 0: return .words("")
        case 1: return alternatives[0]
        default: return .any(alternatives)
        }
    }

    /// The offset of the last keyword that needs something behind it.
    private var lastKeyword = 0

    private mutating func clauses(_ depth: Int) throws(QuerySyntaxError) -> [Clause] {
        var clauses: [Clause] = []
        while let clause = try clause(depth) { clauses.append(clause) }
        return clauses
    }

    /// Parses parts joined by AND. Returns nil at the end of a sequence.
    private mutating func clause(_ depth: Int) throws(QuerySyntaxError) -> Clause? {
        guard let first = try near(depth) else {
            let start = at
            if takeKeyword("AND") { throw alone("AND", start) }
            return nil
        }
        var parts = [first]
        while true {
            skipSpace()
            let start = at
            guard takeKeyword("AND") else { break }
            guard let next = try near(depth) else { throw alone("AND", start) }
            parts.append(next)
        }
        if parts.count == 1 { return first }
        let wanted = parts.filter { $0.sign != .excluded }.map(\.query)
        let unwanted = parts.filter { $0.sign == .excluded }.map(\.query)
        return Clause(
            query: Self.without(wanted.isEmpty ? .everything : Self.all(wanted), unwanted),
            sign: parts.contains { $0.sign == .required } ? .required : .none)
    }

    private mutating func near(_ depth: Int) throws(QuerySyntaxError) -> Clause? {
        skipSpace()
        let start = at
        var sign = Sign.none
        if takeKeyword("NOT") {
            sign = .excluded
        } else if let demand {
            sign = demand
            at += 1
        }
        let signed = at
        guard var clause = try item(depth) else {
            guard sign == .none else {
                throw failure(
                    "nothing follows \(signed - start > 1 ? "NOT" : String(Character(characters[start])))",
                    "write a word, a phrase or parentheses there", start)
            }
            return nil
        }
        // A sign behind the name of a field counts like one before it. Exclusion takes precedence.
        if sign != .none, clause.sign != .excluded { clause.sign = sign }
        sign = clause.sign
        var parts: [TextQuery] = []
        var distance: Int?
        while case let keyword = nextKeywordStart, let number = try takeNear() {
            if parts.isEmpty { parts = [try neighbour(clause.query, signed)] }
            guard distance == nil || distance == number else {
                throw failure("the distances of NEAR differ", "write the same number, or parentheses", keyword)
            }
            distance = number
            skipSpace()
            let second = at
            guard let next = try item(depth) else { throw alone("NEAR", keyword) }
            parts.append(try neighbour(next.query, second))
        }
        if let distance { clause = Clause(query: .near(parts, within: distance), sign: sign) }
        return clause
    }

    /// Checks that NEAR can have this query beside it.
    private func neighbour(_ query: TextQuery, _ start: Int) throws(QuerySyntaxError) -> TextQuery {
        if query.hasPlaces { return query }
        throw failure("NEAR can't be combined with this", "write a word, a phrase, a prefix or a pattern", start)
    }

    /// Parses a primary and its boost. Returns nil if there is none.
    private mutating func item(_ depth: Int) throws(QuerySyntaxError) -> Clause? {
        guard var clause = try primary(depth) else { return nil }
        if let start = take("^") {
            guard let factor = takeNumber() else {
                throw failure("^ needs a number", "write ^2 or ^0.5, or \\^ for the character", start)
            }
            guard factor <= TextQuery.maximumBoost else {
                throw failure("more than 1e9 after ^", "write a smaller number", start)
            }
            clause = Clause(query: .boost(factor, clause.query), sign: clause.sign)
        }
        return clause
    }

    private mutating func primary(_ depth: Int) throws(QuerySyntaxError) -> Clause? {
        skipSpace()
        guard let character = peek, character != ")" else { return nil }
        let start = at
        switch character {
        case "(":
            try requireDepth(depth, start)
            at += 1
            let inner = try query(depth: depth + 1)
            guard take(")") != nil else {
                throw failure("this ( has no end", "write ) after it, or \\( for the character", start)
            }
            return Clause(query: inner)
        case "\"": return try quoted()
        case "*" where sign(at + 1) == "\"":
            at += 1
            return Clause(query: .wildcard(Self.collapsed(try quotedText())))
        case ":", "^", "~":
            let owner = character == ":" ? "the name of a field" : "a word or a phrase"
            throw failure(
                "\(character) needs \(owner) right before it", "write it, or \\\(character) for the character", start)
        default:
            if isKeyword { return nil }
            return try word(depth)
        }
    }

    private func requireDepth(_ depth: Int, _ start: Int) throws(QuerySyntaxError) {
        guard depth < Self.maximumDepth else {
            throw failure("more than \(Self.maximumDepth) levels", "leave parentheses out", start)
        }
    }

    /// Parses a phrase, or a prefix of several words.
    private mutating func quoted() throws(QuerySyntaxError) -> Clause {
        let text = try quotedText()
        if syntax.isTyping, isUnclosed { return Clause(query: .prefix(text)) }
        if take("*") != nil { return Clause(query: .prefix(text)) }
        if let start = take("~") {
            guard let slop = takeInteger() else {
                throw failure(
                    "~ after a phrase needs a number", "write ~2 for two other words between, at most", start)
            }
            return Clause(query: .phrase(text, slop: slop))
        }
        return Clause(query: .phrase(text, slop: 0))
    }

    // MARK: Sequences

    private func joined(_ clauses: [Clause]) -> TextQuery {
        // If all clauses must match, a + changes nothing: it makes no other clause optional.
        let required = clauses.filter { $0.sign == .required || syntax.matchesAll && $0.sign == .none }
        let optional = syntax.matchesAll ? [] : Self.alternatives(Self.signed(clauses, .none))
        let excluded = Self.alternatives(Self.signed(clauses, .excluded))
        var wanted = required.map(\.query)
        if wanted.isEmpty {
            let base = optional.isEmpty ? .everything : Self.any(optional)
            return Self.without(base, excluded)
        }
        // `everything` has no score, so this makes the other clauses optional.
        if !optional.isEmpty { wanted.append(.any([.everything] + optional)) }
        return Self.without(Self.all(wanted), excluded)
    }

    private static func signed(_ clauses: [Clause], _ sign: Sign) -> [Clause] { clauses.filter { $0.sign == sign } }

    /// Joins consecutive words to one list.
    private static func alternatives(_ clauses: [Clause]) -> [TextQuery] {
        var parts: [TextQuery] = []
        var words: [String] = []
        for clause in clauses {
            if let word = clause.word {
                words.append(word)
                continue
            }
            if !words.isEmpty { parts.append(.words(words.joined(separator: " "))) }
            words = []
            parts.append(clause.query)
        }
        if !words.isEmpty { parts.append(.words(words.joined(separator: " "))) }
        return parts
    }

    private static func any(_ parts: [TextQuery]) -> TextQuery { parts.count == 1 ? parts[0] : .any(parts) }

    /// A single part stays in a list if it would mean something else outside of it, where it isn't required.
    private static func all(_ parts: [TextQuery]) -> TextQuery {
        parts.count == 1 && !parts[0].dependsOnDemand ? parts[0] : .all(parts)
    }

    private static func without(_ query: TextQuery, _ unwanted: [TextQuery]) -> TextQuery {
        unwanted.isEmpty ? query : .without(query, any(unwanted))
    }

    // MARK: Words

    /// The characters with a special meaning anywhere.
    static let special: Set<Unicode.Scalar> = ["(", ")", "\"", "\\", ":", "^", "~", "*", "?"]
    static let keywords: Set<String> = ["AND", "OR", "NOT", "NEAR"]

    private mutating func word(_ depth: Int) throws(QuerySyntaxError) -> Clause {
        let start = at
        var text = ""
        // The positions of the pattern's signs.
        var stars: [Int] = []
        var marks = 0
        var escapedSign: Int?
        var count = 0
        while let character = peek, !isSpace(at), !["(", ")", "\"", ":", "^", "~"].contains(sign(at)) {
            if sign(at) == "\\" {
                guard at + 1 < characters.count else {
                    throw failure("nothing follows the backslash", "write \\\\ for the character", at)
                }
                at += 1
                if ["*", "?"].contains(characters[at]) { escapedSign = at }
                text.unicodeScalars.append(characters[at])
            } else {
                if sign(at) == "*" { stars.append(count) }
                if sign(at) == "?" { marks += 1 }
                text.unicodeScalars.append(character)
            }
            at += 1
            count += 1
        }
        if let colon = take(":") { return try field(characters[start..<colon], start, colon, depth) }
        if isLenient, marks == 1, stars.isEmpty, text.unicodeScalars.last == "?" {
            text.unicodeScalars.removeLast()
            return Clause(query: .words(text), word: text)
        }
        if text == "*", stars.count == 1 { return Clause(query: .everything) }
        let isPattern = !stars.isEmpty || marks > 0
        if let tilde = take("~") { return Clause(query: try fuzzy(text, tilde, isPattern: isPattern)) }
        if stars == [count - 1], marks == 0 {
            text.unicodeScalars.removeLast()
            return Clause(query: .prefix(text))
        }
        if isPattern {
            guard let escapedSign else { return Clause(query: .wildcard(Self.collapsed(text))) }
            guard isLenient else {
                throw failure(
                    "a pattern can't search for the characters * and ?",
                    "write ? instead, which matches any character", escapedSign)
            }
            return Clause(query: .words(text), word: text)
        }
        if syntax.isTyping, at == characters.count { return Clause(query: .prefix(text)) }
        return Clause(query: .words(text), word: text)
    }

    private mutating func fuzzy(
        _ text: String, _ tilde: Int, isPattern: Bool
    ) throws(QuerySyntaxError) -> TextQuery {
        guard !isPattern else {
            throw failure("~ can't follow a pattern", "leave out ~, or * and ?", tilde)
        }
        let distance = takeInteger()
        guard distance ?? 0 <= TextQuery.maximumDistance else {
            throw failure(
                "more than \(TextQuery.maximumDistance) edits", "write at most ~\(TextQuery.maximumDistance)", tilde)
        }
        var letters = TextQuery.defaultPrefixLength
        if let slash = take("/") {
            guard let number = takeInteger() else {
                throw failure("/ needs a number", "write how many first letters must be the same: ~1/2", slash)
            }
            letters = number
        }
        return .fuzzy(text, distance: distance, prefixLength: letters)
    }

    private mutating func field(
        _ names: ArraySlice<Unicode.Scalar>, _ start: Int, _ colon: Int, _ depth: Int
    ) throws(QuerySyntaxError) -> Clause {
        try requireDepth(depth, start)
        var fields: [Int] = []
        for name in Self.list(names) {
            guard let field = syntax.fields.firstIndex(of: name) else {
                let known = syntax.fields.joined(separator: ", ")
                throw failure(
                    "there is no field “\(name)”",
                    (known.isEmpty ? "there are none" : "write \(known)") + ", or \\: for the character", start, colon)
            }
            fields.append(field)
        }
        let sign = try signBehindField(names)
        guard let inner = try primary(depth + 1) else {
            throw failure("nothing follows the field", "write a word, a phrase or parentheses there", start, colon)
        }
        return Clause(query: .field(fields, inner.query), sign: sign == .none ? inner.sign : sign)
    }

    /// Takes a + or − behind the colon of a field. It belongs before the name, but isn't meant as the first character
    /// of a word. Throws an error if the parse isn't lenient.
    private mutating func signBehindField(_ names: ArraySlice<Unicode.Scalar>) throws(QuerySyntaxError) -> Sign {
        skipSpace()
        guard let demand else { return .none }
        guard isLenient else {
            let character = characters[at]
            throw failure(
                "\(character) is after the name of a field",
                "write it before the name, \(character)\(Self.string(names)):, or \\\(character) for the character", at)
        }
        at += 1
        return demand
    }

    /// The meaning of a + or − at the current position.
    private var demand: Sign? {
        guard ["+", "-"].contains(sign(at)), !isSpace(at + 1), !isAtEnd(at + 1) else { return nil }
        return sign(at) == "+" ? .required : .excluded
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }

    /// Returns the names between commas.
    private static func list(_ characters: ArraySlice<Unicode.Scalar>) -> [String] {
        var names = [String.UnicodeScalarView()]
        var isEscaped = false
        for character in characters {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else if character == ",", !isEscaped {
                names.append(String.UnicodeScalarView())
            } else {
                names[names.count - 1].append(character)
                isEscaped = false
            }
        }
        return names.map { String($0) }
    }

    /// Replaces consecutive stars by one, which means the same.
    static func collapsed(_ pattern: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in pattern.unicodeScalars where !(scalar == "*" && text.last == "*") { text.append(scalar) }
        return String(text)
    }

    // MARK: Characters

    /// The current character. Nil at the end.
    private var peek: Unicode.Scalar? { at < characters.count ? characters[at] : nil }

    private func isAtEnd(_ place: Int) -> Bool { place >= characters.count }

    /// Returns the character at an offset if it can have a special meaning, else a space.
    private func sign(_ place: Int) -> Unicode.Scalar {
        guard place < characters.count, !repaired.contains(place) else { return " " }
        return characters[place]
    }

    /// Whether the character at an offset separates words.
    private func isSpace(_ place: Int) -> Bool {
        guard place < characters.count else { return false }
        return characters[place].properties.isWhitespace
            || repaired.contains(place) && Self.special.contains(characters[place])
    }

    private mutating func skipSpace() {
        while isSpace(at) { at += 1 }
    }

    /// Takes a character if it is the current one. Returns its offset.
    private mutating func take(_ character: Unicode.Scalar) -> Int? {
        guard sign(at) == character else { return nil }
        at += 1
        return at - 1
    }

    private mutating func takeDigits() -> String {
        var digits = ""
        while let character = peek, ("0"..."9").contains(character) {
            digits.unicodeScalars.append(character)
            at += 1
        }
        return digits
    }

    /// Numbers that are too large become the largest integer.
    private mutating func takeInteger() -> Int? {
        let digits = takeDigits()
        return digits.isEmpty ? nil : Int(digits) ?? .max
    }

    private mutating func takeNumber() -> Double? {
        var number = takeDigits()
        if peek == "." {
            at += 1
            number += "." + takeDigits()
        }
        if let exponent = peek, exponent == "e" || exponent == "E" {
            let start = at
            at += 1
            var power = "e"
            if let sign = peek, sign == "+" || sign == "-" {
                power.unicodeScalars.append(sign)
                at += 1
            }
            let digits = takeDigits()
            if digits.isEmpty { at = start } else { number += power + digits }
        }
        guard let value = Double(number), value.isFinite else { return nil }
        return value
    }

    /// Takes a quoted text that begins at the current position.
    private mutating func quotedText() throws(QuerySyntaxError) -> String {
        let start = at
        var content = ""
        at += 1
        isUnclosed = false
        while at < characters.count {
            let character = sign(at)
            at += 1
            if character == "\"" { return content }
            if character == "\\", at < characters.count {
                content.unicodeScalars.append(characters[at])
                at += 1
            } else {
                content.unicodeScalars.append(repaired.contains(at - 1) ? " " : characters[at - 1])
            }
        }
        isUnclosed = true
        if isLenient { return content }
        throw failure("this quotation has no end", "write \" after it, or \\\" for the character", start)
    }

    /// Whether the last quoted text had no closing quote.
    private var isUnclosed = false

    // MARK: Keywords

    /// The capital letters at the current position, if they are a whole word.
    private var capitals: String? {
        var end = at
        while end < characters.count, ("A"..."Z").contains(characters[end]) { end += 1 }
        guard end > at, !repaired.contains(at),
            end == characters.count || isSpace(end) || "()\"/".unicodeScalars.contains(sign(end))
        else { return nil }
        return Self.string(characters[at..<end])
    }

    private var isKeyword: Bool {
        guard let word = capitals, Self.keywords.contains(word) else { return false }
        return sign(at + word.count) != "/" || word == "NEAR"
    }

    private mutating func takeKeyword(_ keyword: String) -> Bool {
        skipSpace()
        guard isKeyword, capitals == keyword else { return false }
        at += keyword.count
        return true
    }

    private var nextKeywordStart: Int {
        var place = at
        while isSpace(place) { place += 1 }
        return place
    }

    /// Takes NEAR. Returns its distance, or nil if it isn't there.
    private mutating func takeNear() throws(QuerySyntaxError) -> Int? {
        let before = at
        skipSpace()
        let start = at
        guard takeKeyword("NEAR") else {
            at = before
            return nil
        }
        guard take("/") != nil else { return Self.defaultDistance }
        guard let distance = takeInteger() else {
            throw failure("NEAR/ needs a number", "write NEAR/5 for at most five words from one to the other", start)
        }
        return distance
    }

    // MARK: Errors

    private func alone(_ keyword: String, _ start: Int) -> QuerySyntaxError {
        failure(
            "\(keyword) needs something on both sides", "write it, or \\\(keyword) for the word", start)
    }

    private func failure(_ problem: String, _ advice: String, _ offset: Int, _ culprit: Int? = nil) -> QuerySyntaxError
    {
        QuerySyntaxError(
            text: text, offset: Self.string(characters[..<min(offset, characters.count)]).count, problem: problem,
            advice: advice,
            culprit: culprit ?? offset)
    }
}
