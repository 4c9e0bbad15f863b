// SPDX-License-Identifier: Apache-2.0
// The rule by which texts are ordered and equal, given for an index, a comparison or a sort. An index serves the
// comparisons and sorts that name the same rule.

package import HornbeamKeys

/// A rule of order and equality for text. The default, `binary`, is that of Swift's `String`.
///
///     @Index<Self>(\.name, collation: .unicode(locale: "sv")) private var byName
///     Person.filter(\.name == "ÅSA".collated(.unicode(caseSensitive: false)))
///     Person.query().sorted(by: .by(\.name, collation: .unicode(locale: "sv")))
public struct TextCollation: Sendable, Hashable {
    package let collation: Collation

    /// The Unicode collation algorithm: letters first, then accents, then case. `a < A < aa`.
    public static let unicode = TextCollation(collation: .unicode(locale: nil))
    /// The Unicode collation algorithm with the rules of a locale, such as `sv` or `de-u-co-phonebk`. Texts that differ
    /// only in case, or only in accents, can be made equal.
    public static func unicode(
        locale: String? = nil, caseSensitive: Bool = true, diacriticSensitive: Bool = true
    ) -> TextCollation {
        var ignored: Collation.Differences = []
        if !caseSensitive { ignored.insert(.letterCase) }
        if !diacriticSensitive { ignored.insert(.accents) }
        return TextCollation(collation: .unicode(locale: locale, ignoring: ignored))
    }
    /// Orders texts by Unicode scalars, which is Swift's order: the fastest.
    public static let binary = TextCollation(collation: .binary)
    /// As `binary`, but the letters A to Z equal a to z. No other letters are equal: “Ä” is not “ä”.
    public static let asciiCaseInsensitive = TextCollation(collation: .asciiCaseInsensitive)
    /// Orders texts by the scalars of their case-folded form: “STRASSE” equals “Straße”.
    public static let caseInsensitive = TextCollation(collation: .caseInsensitive)
    /// As `caseInsensitive`, but without accents: “Émile” equals “emile”.
    public static let caseAndDiacriticInsensitive = TextCollation(collation: .caseAndDiacriticInsensitive)
}

extension TextCollation: CustomStringConvertible {
    /// The collation's name in plans, errors and files.
    public var description: String { collation.name }
}

extension IndexDescription {
    /// Uses a collation.
    package mutating func go(by collation: TextCollation) {
        guard collation != .binary else { return }
        self.collation = collation.collation.name
        // An unavailable collation is refused when the database is opened.
        collationVersion = (try? collation.collator)?.version
    }

    /// The collation of a column of texts. Returns nil for Swift's own order and for columns of other types. Throws
    /// `.schemaMismatch` if this library doesn't know the collation.
    package func collation(of type: ColumnType) throws(HornbeamError) -> TextCollation? {
        guard let collation, type.unwrapped == .string else { return nil }
        guard let known = Collation(name: collation) else {
            throw HornbeamError(
                .schemaMismatch, "index “\(name)” has the collation “\(collation)”, which this library doesn't know")
        }
        return TextCollation(collation: known)
    }

    /// This index with the version that this system's collation has; nil if it has that version already, or if the
    /// system lacks the collation.
    package var renewed: IndexDescription? {
        guard let collation, let known = Collation(name: collation),
            let version = try? TextCollation(collation: known).collator.version, version != collationVersion
        else { return nil }
        var index = self
        index.collationVersion = version
        return index
    }

    /// Whether it differs from another index in the collation's version at most.
    func isSame(butForVersion other: IndexDescription) -> Bool {
        var other = other
        other.collationVersion = collationVersion
        return self == other
    }
}

/// A text that is compared by a collation: see `collated`.
public struct CollatedText: Sendable, Hashable {
    /// The text to compare with.
    public let text: String
    /// The collation of the comparison.
    public let collation: TextCollation
}

extension String {
    /// The text with a collation for its comparison: `\.name == "straße".collated(.caseInsensitive)`.
    public func collated(_ collation: TextCollation) -> CollatedText {
        CollatedText(text: self, collation: collation)
    }
}

extension TextCollation {
    /// The collator. Throws `.invalid` for an unknown locale.
    package var collator: Collator {
        get throws(HornbeamError) {
            do {
                return try Collator.shared(collation)
            } catch {
                throw HornbeamError(.invalid, "the collation \(self) is not available: \(error)")
            }
        }
    }

    /// The collation as statements write it.
    package var words: String {
        switch collation {
        case .binary: return "BINARY"
        case .asciiCaseInsensitive: return "NOCASE"
        case .caseInsensitive: return "FOLDED"
        case .caseAndDiacriticInsensitive: return "(FOLDED NODIAC)"
        case .unicode(nil, []): return "UNICODE"
        case .unicode(let locale, let ignored):
            var words = ["UNICODE"]
            if ignored.contains(.letterCase) { words.append("NOCASE") }
            if ignored.contains(.accents) { words.append("NODIAC") }
            if let locale { words.append(Value.string(locale).text) }
            return "(\(words.joined(separator: " ")))"
        }
    }
}

extension Collator {
    /// The text's sort key. Throws `.invalid` if the text is too long for one.
    package func key(of text: String) throws(HornbeamError) -> [UInt8] {
        do {
            return try sortKey(of: text)
        } catch {
            throw HornbeamError(.invalid, "a text can't be compared by the collation \(collation.name): \(error)")
        }
    }
}
