// SPDX-License-Identifier: Apache-2.0
// Writes queries in the syntax of `QueryParser`, and finds the trees that can't be written: those that mean nothing, or
// the same as simpler ones.

extension TextQuery {
    /// The largest edit distance of a fuzzy word.
    package static let maximumDistance = 2

    /// The largest boost, also of the product of nested boosts, and the largest weight of a field. It keeps sums of
    /// scores and their bounds finite.
    package static let maximumBoost = 1e9
    /// Default number of letters at the beginning of a fuzzy word that must be equal.
    package static let defaultPrefixLength = 1
    /// Maximum nesting of a query. Processing a query takes stack for each level.
    package static let maximumDepth = 100

    /// Returns a text from which the parser makes this tree, if the tree is in normal form. A field without a name is
    /// written by its number.
    package func text(fields: [String]) -> String { QueryPrinter(fields: fields).top(self) }

    /// Returns a text from which the parser makes the normal form of this tree. Returns nil if that is nested deeper
    /// than the parser reads.
    package func writtenOut(fields: [String]) -> String? {
        guard isWithin(Self.maximumDepth) else { return nil }
        let normal = normalized
        return normal.isWithin(QueryParser.maximumDepth) ? normal.text(fields: fields) : nil
    }

    /// A tree with the same meaning and scores that can be written. A list of one part becomes that part, unless its
    /// meaning depends on being required. Empty lists and texts find nothing, and numbers are within their limits.
    package var normalized: TextQuery {
        switch self {
        case .words, .phrase(_, slop: 0...), .prefix, .everything: return self
        case .phrase(let text, _): return .phrase(text, slop: 0)
        case .wildcard(let pattern): return .wildcard(QueryParser.collapsed(pattern))
        case .fuzzy("", _, _): return .words("")
        case .fuzzy(let text, let distance, let letters):
            return .fuzzy(
                text, distance: distance.map { min(max(0, $0), Self.maximumDistance) }, prefixLength: max(0, letters))
        case .any(let parts): return Self.joined(parts, TextQuery.any)
        case .all(let parts):
            guard parts.count == 1 else { return Self.joined(parts, TextQuery.all) }
            let part = parts[0].normalized
            return part.dependsOnDemand ? .all([part]) : part
        case .near(let parts, let distance): return Self.joined(parts) { .near($0, within: max(0, distance)) }
        case .without(let wanted, let unwanted): return .without(wanted.normalized, unwanted.normalized)
        case .field([], _): return .words("")
        case .field(let fields, let part): return .field(fields, part.normalized)
        case .boost(let factor, let part): return .boost(factor, part.normalized)
        }
    }

    private static func joined(_ parts: [TextQuery], _ join: ([TextQuery]) -> TextQuery) -> TextQuery {
        switch parts.count {
        case 0: .words("")
        case 1: parts[0].normalized
        default: join(parts.map(\.normalized))
        }
    }

    /// Returns the tree with each field's number replaced by the one that `transform` gives.
    package func mapFields<Failure: Error>(
        _ transform: (Int) throws(Failure) -> Int
    ) throws(Failure) -> TextQuery {
        func all(_ parts: [TextQuery]) throws(Failure) -> [TextQuery] {
            var mapped: [TextQuery] = []
            for part in parts { mapped.append(try part.mapFields(transform)) }
            return mapped
        }
        switch self {
        case .words, .phrase, .prefix, .wildcard, .fuzzy, .everything: return self
        case .any(let parts): return .any(try all(parts))
        case .all(let parts): return .all(try all(parts))
        case .near(let parts, let distance): return .near(try all(parts), within: distance)
        case .without(let wanted, let unwanted):
            return .without(try wanted.mapFields(transform), try unwanted.mapFields(transform))
        case .field(let fields, let part):
            var mapped: [Int] = []
            for field in fields { mapped.append(try transform(field)) }
            return .field(mapped, try part.mapFields(transform))
        case .boost(let factor, let part): return .boost(factor, try part.mapFields(transform))
        }
    }

    /// Describes what is wrong with the tree for an index with this many fields, and what to do. Returns nil if nothing
    /// is wrong.
    package func problem(fieldCount: Int) -> String? {
        if let problem = problem(fieldCount, Self.maximumDepth) { return problem }
        if largestBoost <= Self.maximumBoost { return nil }
        return "scores are multiplied by \(largestBoost) in all: give boosts that multiply to at most 1e9"
    }

    /// The largest product of nested boosts. The tree must not exceed the maximum depth.
    var largestBoost: Double {
        switch self {
        case .words, .phrase, .prefix, .wildcard, .fuzzy, .everything: 1
        case .any(let parts), .all(let parts), .near(let parts, _): parts.reduce(1) { max($0, $1.largestBoost) }
        case .without(let wanted, let unwanted): max(wanted.largestBoost, unwanted.largestBoost)
        case .field(_, let part): part.largestBoost
        case .boost(let factor, let part): factor * max(1, part.largestBoost)
        }
    }

    private func problem(_ fieldCount: Int, _ levels: Int) -> String? {
        guard levels > 0 else {
            return "a search is nested more than \(Self.maximumDepth) deep: put long lists into one “any” or “all”"
        }
        switch self {
        case .words, .prefix, .wildcard, .everything: return nil
        case .phrase(_, let slop):
            return slop >= 0 ? nil : "a phrase has the slop \(slop): give 0 or more"
        case .fuzzy(_, let distance, let letters):
            guard distance.map({ (0...Self.maximumDistance).contains($0) }) ?? true else {
                return "a word is searched for with \(distance ?? 0) edits: give 0 to \(Self.maximumDistance)"
            }
            return letters >= 0 ? nil : "the length \(letters) of a prefix is negative: give 0 or more"
        case .any(let parts), .all(let parts): return Self.problem(parts, fieldCount, levels)
        case .near(let parts, let distance):
            guard distance >= 0 else {
                return "words are searched for within \(distance) of each other: give 0 or more"
            }
            guard parts.allSatisfy(\.hasPlaces) else {
                return "only words, phrases, prefixes, patterns and fuzzy words can be near each other"
            }
            return nil
        case .without(let wanted, let unwanted): return Self.problem([wanted, unwanted], fieldCount, levels)
        case .field(let fields, let part):
            guard !fields.isEmpty, fields.allSatisfy({ (0..<fieldCount).contains($0) }) else {
                return "a search names a field that isn't among those searched: search all that it names"
            }
            return part.problem(fieldCount, levels - 1)
        case .boost(let factor, let part):
            guard factor >= 0, factor <= Self.maximumBoost else {
                return "a score is multiplied by \(factor): give 0 to 1e9"
            }
            return part.problem(fieldCount, levels - 1)
        }
    }

    private static func problem(_ parts: [TextQuery], _ fieldCount: Int, _ levels: Int) -> String? {
        for part in parts {
            if let problem = part.problem(fieldCount, levels - 1) { return problem }
        }
        return nil
    }

    /// Whether the tree is nested at most `levels` deep.
    package func isWithin(_ levels: Int) -> Bool {
        guard levels > 0 else { return false }
        switch self {
        case .words, .phrase, .prefix, .wildcard, .fuzzy, .everything: return true
        case .any(let parts), .all(let parts), .near(let parts, _): return parts.allSatisfy { $0.isWithin(levels - 1) }
        case .without(let wanted, let unwanted): return wanted.isWithin(levels - 1) && unwanted.isWithin(levels - 1)
        case .field(_, let part), .boost(_, let part): return part.isWithin(levels - 1)
        }
    }

    /// Whether it may find more as an optional part than as a required one.
    var dependsOnDemand: Bool {
        switch self {
        case .words, .fuzzy: true
        case .any(let parts): parts.contains(where: \.dependsOnDemand)
        case .without(let part, _), .field(_, let part), .boost(_, let part): part.dependsOnDemand
        case .all, .phrase, .near, .prefix, .wildcard, .everything: false
        }
    }

    /// Whether its matches have positions, so that it can be used with `near`.
    var hasPlaces: Bool {
        switch self {
        case .words, .phrase, .prefix, .wildcard, .fuzzy: true
        case .any(let parts): parts.allSatisfy(\.hasPlaces)
        default: false
        }
    }
}

/// Writes trees. Everything with parts of its own is in parentheses, except at the top.
private struct QueryPrinter {
    let fields: [String]

    func top(_ query: TextQuery) -> String {
        switch query {
        case .words: return bare(query)
        case .any(let parts) where parts.count > 1: return parts.map(bare).joined(separator: " OR ")
        case .all(let parts) where parts.count > 1: return parts.map(primary).joined(separator: " AND ")
        case .near(let parts, let distance) where parts.count > 1:
            return parts.map(primary).joined(separator: " NEAR/\(distance) ")
        case .without(let wanted, let unwanted): return "\(bare(wanted)) NOT \(primary(unwanted))"
        case .boost(let factor, let part): return "\(primary(part))^\(Self.number(factor))"
        case .all(let parts) where parts.first?.dependsOnDemand == true: return parts.map { "+" + primary($0) }.joined()
        case .any(let parts), .all(let parts), .near(let parts, _): return parts.first.map(top) ?? "()"
        default: return primary(query)
        }
    }

    /// Several words need no parentheses where they are a sequence.
    private func bare(_ query: TextQuery) -> String {
        guard case .words(let text) = query, !text.isEmpty else { return primary(query) }
        return Self.pieces(text).map { Self.escaped($0) }.joined(separator: " ")
    }

    private func primary(_ query: TextQuery) -> String {
        switch query {
        case .words(let text):
            return text.isEmpty ? "()" : Self.pieces(text).count > 1 ? "(\(bare(query)))" : bare(query)
        case .phrase(let text, let slop): return Self.quoted(text) + (slop > 0 ? "~\(slop)" : "")
        case .prefix(let text):
            return text.isEmpty || text.unicodeScalars.contains(where: \.properties.isWhitespace)
                ? Self.quoted(text) + "*" : Self.escaped(text) + "*"
        case .wildcard(let pattern): return Self.pattern(pattern)
        case .fuzzy(let text, let distance, let letters):
            let ending = letters == TextQuery.defaultPrefixLength ? "" : "/\(letters)"
            return Self.escaped(text) + "~" + (distance.map(String.init) ?? "") + ending
        case .field(let numbers, let part):
            let names = numbers.map { fields.indices.contains($0) ? Self.name(fields[$0]) : "#\($0)" }
            return names.joined(separator: ",") + ":" + primary(part)
        case .everything: return "*"
        case .any, .all, .near, .without, .boost: return "(\(top(query)))"
        }
    }

    /// Returns the words of a list, or the list itself if they aren't separated by single spaces.
    private static func pieces(_ text: String) -> [String] {
        let pieces = text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false)
        let isPlain = pieces.allSatisfy { !$0.isEmpty && !$0.contains(where: \.properties.isWhitespace) }
        return isPlain ? pieces.map { String($0) } : [text]
    }

    // By scalars, like the parser: a word may begin with a combining mark.

    private static func escaped(_ word: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in word.unicodeScalars {
            let isSign = text.isEmpty && (scalar == "+" || scalar == "-")
            if isSign || scalar.properties.isWhitespace || QueryParser.special.contains(scalar) { text.append("\\") }
            text.append(scalar)
        }
        return beginsLikeKeyword(text) ? "\\" + String(text) : String(text)
    }

    /// Escapes commas, which would end the name.
    private static func name(_ field: String) -> String {
        let parts = escaped(field).unicodeScalars.split(separator: ",", omittingEmptySubsequences: false)
        return parts.map { String($0) }.joined(separator: "\\,")
    }

    /// Whether it would be read as AND or NEAR/3.
    private static func beginsLikeKeyword(_ word: String.UnicodeScalarView) -> Bool {
        QueryParser.keywords.contains(String(String.UnicodeScalarView(word.prefix { $0 != "/" })))
    }

    private static func quoted(_ text: String) -> String {
        var quoted = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\\" || scalar == "\"" { quoted.append("\\") }
            quoted.append(scalar)
        }
        return "\"" + String(quoted) + "\""
    }

    private static func pattern(_ pattern: String) -> String {
        let scalars = pattern.unicodeScalars
        let stars = scalars.count { $0 == "*" }
        let marks = scalars.count { $0 == "?" }
        let isPlain = scalars.allSatisfy {
            $0 == "*" || $0 == "?" || !QueryParser.special.contains($0) && !$0.properties.isWhitespace
        }
        guard isPlain, stars + marks > 0, let first = scalars.first, first != "+", first != "-",
            !beginsLikeKeyword(scalars)
        else {
            return "*" + quoted(pattern)
        }
        // One star at the end makes a prefix, two make a pattern.
        return marks == 0 && stars == 1 && scalars.last == "*" ? pattern + "*" : pattern
    }

    private static func number(_ factor: Double) -> String {
        let text = "\(factor)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
