// SPDX-License-Identifier: Apache-2.0
// COLLATE: the rule by which texts compare. Texts become their sort keys under the collation, bytes that sort as the
// texts do, so all comparisons, lists and orders work unchanged. Values other than texts stay as they are.

import FoundationEssentials

extension ScalarFunction {
    /// A function that gives a text's sort key under the collation. Throws `.invalid` if the collation isn't available.
    static func collating(by collation: TextCollation) throws(HornbeamError) -> ScalarFunction {
        let collator = try collation.collator
        return ScalarFunction("collate \(collation)", 1...1, collation: collation) { arguments, _ in
            guard let text = arguments[0].text else { return arguments[0] }
            return .value(.data(Data(try collator.key(of: text))))
        }
    }
}

extension TextCollation {
    /// Makes a collation from its words. Returns nil if these words can't be combined.
    fileprivate init?(_ words: Set<String>, locale: String?) {
        let (isNoCase, isNoAccent) = (words.contains("NOCASE"), words.contains("NODIAC"))
        if words.contains("UNICODE") {
            guard words.isDisjoint(with: ["BINARY", "FOLDED"]) else { return nil }
            self = .unicode(locale: locale, caseSensitive: !isNoCase, diacriticSensitive: !isNoAccent)
            return
        }
        guard locale == nil else { return nil }
        switch words {
        case ["BINARY"]: self = .binary
        case ["NOCASE"]: self = .asciiCaseInsensitive
        case ["FOLDED"], ["FOLDED", "NOCASE"]: self = .caseInsensitive
        case ["FOLDED", "NODIAC"], ["FOLDED", "NOCASE", "NODIAC"]: self = .caseAndDiacriticInsensitive
        default: return nil
        }
    }
}

extension StatementParser {
    private static let collationWords: Set<String> = ["BINARY", "NOCASE", "NODIAC", "FOLDED", "UNICODE"]

    /// Reads the collation that follows the operand, if there is one. `COLLATE` without a collation behind it may be a
    /// name.
    mutating func collated(_ operand: Expression) throws(HornbeamError) -> Expression {
        guard isAt("COLLATE") else { return operand }
        let isNamed =
            if case .name(let word) = token(after: 1) { Self.collationWords.contains(word.uppercased()) } else { false }
        guard isNamed || token(after: 1) == .sign("(") else { return operand }
        let start = place
        next()
        var words: Set<String> = []
        var locale: String?
        if take(sign: "(") {
            while !isAt(sign: ")") { try addCollation(to: &words, &locale) }
            next()
        } else {
            try addCollation(to: &words, &locale)
        }
        guard let collation = TextCollation(words, locale: locale) else {
            throw failure(
                "no collation is called so: there are BINARY, NOCASE, FOLDED, (FOLDED NODIAC), UNICODE, and "
                    + "(UNICODE NOCASE NODIAC 'locale') with any of its parts", at: start)
        }
        try grow(to: height + 1)
        return .collate(operand, collation, start)
    }

    private mutating func addCollation(to words: inout Set<String>, _ locale: inout String?) throws(HornbeamError) {
        switch peek {
        case .name(let word) where Self.collationWords.contains(word.uppercased()): words.insert(word.uppercased())
        case .string(let text) where locale == nil: locale = text
        default: throw failure("expected UNICODE, NOCASE, NODIAC, FOLDED, BINARY, or a locale in quotes")
        }
        next()
    }
}

extension Expression {
    var withoutCollation: Expression {
        if case .collate(let inner, _, _) = self { inner } else { self }
    }
}
