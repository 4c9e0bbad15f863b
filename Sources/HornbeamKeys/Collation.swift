// SPDX-License-Identifier: Apache-2.0
// Rules of order and equality for text. A collation is a name to store; a collator applies it. Bytes made with one
// version of a collator must never be compared with those of another: code that stores them must store
// `Collator.version` too, and rebuild them when it differs.

private import CICU
private import Synchronization

/// A rule of order and equality for text.
package enum Collation: Hashable, Sendable {
    /// Compares the Unicode scalars of the composed form: the order and equality of Swift's `String`.
    case binary
    /// Like `binary`, but the letters A to Z count as a to z. All other letters count as they are.
    case asciiCaseInsensitive
    /// Like `binary`, but on case-folded text: "STRASSE" equals "Straße".
    case caseInsensitive
    /// Like `binary`, but on case-folded text without accents: "Émile" equals "emile". Letters that merely look
    /// accented and have no decomposition ("ø", "ł") stay as they are.
    case caseAndDiacriticInsensitive
    /// The Unicode collation algorithm with the rules of a locale ("de", "sv", "de-u-co-phonebk"); nil is the root
    /// locale. Case and accents break ties unless they are ignored; punctuation and symbols count and sort before
    /// digits.
    case unicode(locale: String?, ignoring: Differences = [])

    /// The differences to ignore: texts that differ only in these are equal.
    package struct Differences: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let letterCase = Differences(rawValue: 1)
        package static let accents = Differences(rawValue: 2)

        /// The part of a collation's name that states these differences.
        fileprivate var suffix: String {
            (contains(.letterCase) ? "-case" : "") + (contains(.accents) ? "-accents" : "")
        }
    }

    private static let schemes: [Differences] = [[], .letterCase, .accents, [.letterCase, .accents]]

    /// The name under which the collation is stored.
    package var name: String {
        switch self {
        case .binary: "binary"
        case .asciiCaseInsensitive: "asciiCaseInsensitive"
        case .caseInsensitive: "caseInsensitive"
        case .caseAndDiacriticInsensitive: "caseAndDiacriticInsensitive"
        case .unicode(let locale, let ignored):
            "unicode" + ignored.suffix + (locale.map { ":" + $0 } ?? "")
        }
    }

    /// The collation with a stored name. Nil if there is none with that name.
    package init?(name: String) {
        switch name {
        case "binary": self = .binary
        case "asciiCaseInsensitive": self = .asciiCaseInsensitive
        case "caseInsensitive": self = .caseInsensitive
        case "caseAndDiacriticInsensitive": self = .caseAndDiacriticInsensitive
        default:
            let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let ignored = Self.schemes.first(where: { "unicode" + $0.suffix == parts[0] }) else { return nil }
            if parts.count == 2, parts[1].isEmpty { return nil }
            self = .unicode(locale: parts.count == 2 ? String(parts[1]) : nil, ignoring: ignored)
        }
    }
}

/// Applies a collation. A value that threads may share. Make one for an index, not for each key.
package struct Collator: Sendable {
    package let collation: Collation
    /// Changes whenever the bytes of any text may change.
    package let version: String
    private let unicode: UnicodeCollator?

    package static let binary = Collator(collation: .binary, version: "nfc-1", unicode: nil)

    /// Throws `.unknownLocale` if ICU knows no language of the locale, `.collationFailed` if its data can't be loaded.
    package init(_ collation: Collation) throws(KeyError) {
        switch collation {
        case .binary:
            self = .binary
        case .asciiCaseInsensitive:
            self.init(collation: collation, version: "ascii-1", unicode: nil)
        case .caseInsensitive, .caseAndDiacriticInsensitive:
            self.init(collation: collation, version: "fold-1 unicode-\(CaseFolding.unicodeVersion)", unicode: nil)
        case .unicode(let locale, let ignored):
            let unicode = try UnicodeCollator(locale: locale, ignoring: ignored)
            self.init(collation: collation, version: unicode.version, unicode: unicode)
        }
    }

    /// The collators made last, so that comparisons don't have to open new ones.
    private static let made = Mutex<[Collation: Collator]>([:])
    private static let mostMade = 64

    /// Returns a collator of this collation. It is made only once, as long as there are few collations (up to 64).
    /// Throws as `init`.
    package static func shared(_ collation: Collation) throws(KeyError) -> Collator {
        if case .binary = collation { return binary }
        if let known = made.withLock({ $0[collation] }) { return known }
        let collator = try Collator(collation)
        made.withLock { made in
            if made.count >= mostMade { made.removeAll() }
            made[collation] = collator
        }
        return collator
    }

    private init(collation: Collation, version: String, unicode: UnicodeCollator?) {
        self.collation = collation
        self.version = version
        self.unicode = unicode
    }
}

extension KeyWriter {
    /// Appends the text's sort key as a component. Texts that are equal under the collation have equal bytes, so the
    /// text can't be read back from them. A reader skips it as a terminated component.
    package mutating func append(_ text: String, collator: Collator) throws(KeyError) {
        try collator.append(text, to: &self)
    }

    /// Appends the prefix of the sort keys of all texts that begin with `prefix`, where the collation compares
    /// characters. Other texts may have this prefix too, so each has to be checked again.
    package mutating func append(prefix: String, collator: Collator) throws(KeyError) {
        try collator.append(prefix: prefix, to: &self)
    }
}

extension Collator {
    /// Returns the text's sort key alone, without the zero that ends a component. These bytes have the order and
    /// equality of the texts.
    package func sortKey(of text: String) throws(KeyError) -> [UInt8] {
        var key = KeyWriter(capacity: 2 * text.utf8.count + 8)
        try append(text, to: &key)
        key.bytes.removeLast()
        return key.bytes
    }

    fileprivate func append(_ text: String, to key: inout KeyWriter) throws(KeyError) {
        if let unicode {
            try unicode.appendSortKey(of: text, to: &key)
        } else {
            key.append(folded(text))
        }
    }

    fileprivate func append(prefix: String, to key: inout KeyWriter) throws(KeyError) {
        if let unicode {
            try unicode.appendSortKey(ofPrefix: prefix, to: &key)
        } else {
            key.append(prefix: folded(prefix))
        }
    }

    private func folded(_ text: String) -> String {
        switch collation {
        case .binary, .unicode: text
        case .asciiCaseInsensitive: CaseFolding.foldedASCII(Normalisation.composedString(text))
        case .caseInsensitive: CaseFolding.folded(text)
        case .caseAndDiacriticInsensitive: CaseFolding.folded(text, removingAccents: true)
        }
    }
}

extension KeyError {
    static func collationFailed(_ status: Int32, in operation: String) -> KeyError {
        .collationFailed(operation: operation, reason: String(cString: hb_icu_error_name(status)))
    }
}
