// SPDX-License-Identifier: Apache-2.0
// By which rule texts are ordered and equal: said of an index, of a comparison and of a sort. An index serves those
// that say the same as it.

import FoundationEssentials
import HornbeamKeys
import HornbeamTree

/// A rule of order and equality for text. `binary` is that of Swift's `String`, and what is meant where none is said.
///
///     @Index<Self>(\.name, collation: .unicode(locale: "sv")) private var byName
///     Person.filter(\.name == "ÅSA".collated(.unicode(caseSensitive: false)))
///     Person.query().sorted(by: .by(\.name, collation: .unicode(locale: "sv")))
public struct TextCollation: Sendable, Hashable {
    let collation: Collation

    /// The Unicode collation algorithm: letters first, then accents, then case. `a < A < aa`.
    public static let unicode = TextCollation(collation: .unicode(locale: nil))
    /// The same with the rules of a locale, such as `sv` or `de-u-co-phonebk`, and for texts that are equal but for
    /// case, or accents, as one.
    public static func unicode(
        locale: String? = nil, caseSensitive: Bool = true, diacriticSensitive: Bool = true
    ) -> TextCollation {
        var ignored: Collation.Differences = []
        if !caseSensitive { ignored.insert(.letterCase) }
        if !diacriticSensitive { ignored.insert(.accents) }
        return TextCollation(collation: .unicode(locale: locale, ignoring: ignored))
    }
    /// By Unicode scalars, which is Swift's order: the fastest.
    public static let binary = TextCollation(collation: .binary)
    /// The same, but that the letters A to Z equal a to z. All others are what they are: “Ä” is not “ä”.
    public static let asciiCaseInsensitive = TextCollation(collation: .asciiCaseInsensitive)
    /// By scalars, of case-folded text: “STRASSE” equals “Straße”.
    public static let caseInsensitive = TextCollation(collation: .caseInsensitive)
    /// The same without accents: “Émile” equals “emile”.
    public static let caseAndDiacriticInsensitive = TextCollation(collation: .caseAndDiacriticInsensitive)
}

extension TextCollation: CustomStringConvertible {
    /// The name that plans and errors call it by, and files know it by.
    public var description: String { collation.name }
}

extension IndexDescription {
    /// Goes by a collation.
    mutating func go(by collation: TextCollation) {
        guard collation != .binary else { return }
        self.collation = collation.collation.name
        // One that can't be had is refused when the database is opened.
        collationVersion = (try? collation.collator)?.version
    }

    /// The rule of a column of texts; nil for Swift's own, and for columns of others.
    func collation(of type: ColumnType) throws(HornbeamError) -> TextCollation? {
        guard let collation, type.unwrapped == .string else { return nil }
        guard let known = Collation(name: collation) else {
            throw HornbeamError(
                .schemaMismatch, "index “\(name)” has the collation “\(collation)”, which this library doesn't know")
        }
        return TextCollation(collation: known)
    }
}

extension EntityIndex {
    /// A declared index with its columns resolved. One that goes by a collation of another version, or by one that this
    /// system hasn't got, is there too: no query uses it, and what would change its entries throws.
    convenience init(
        _ index: IndexDescription, _ columns: [Int], of type: EntityDescription, tree: TreeID
    ) {
        var components: [Component] = []
        var computed: [ComputedComponent] = []
        let flaw = index.collationFlaw(type)
        for (column, component) in zip(columns, index.components) {
            let columnType = type.columns[column].type.unwrapped
            guard index.collation != nil, columnType == .string else {
                components.append(Component(column: column, type: columnType, descending: component.descending))
                continue
            }
            let collation = (try? index.collation(of: columnType)) ?? nil
            let collated = collation.flatMap { try? ComputedComponent(column: column, of: type, by: $0) }
            if flaw == nil, let collated {
                computed.append(collated)
            } else {
                computed.append(
                    .unknown(column, as: collated, "index “\(index.name)” of \(type.name) \(flaw ?? "")"))
            }
            components.append(Component(column: -computed.count, type: .data, descending: component.descending))
        }
        self.init(description: index, tree: tree, components: components, computed: computed, flaw: flaw)
    }
}

extension IndexDescription {
    /// What is in the way of its keys, if it goes by a collation that is another one here.
    fileprivate func collationFlaw(_ type: EntityDescription) -> String? {
        guard collation != nil else { return nil }
        let stored = collationVersion ?? "an unknown version"
        do throws(HornbeamError) {
            guard let rule = try collation(of: .string) else { return nil }
            let version = try rule.collator.version
            if version == collationVersion { return nil }
            return "is in the order of \(rule) as of \(stored), and this system has \(version)"
        } catch {
            return "is in an order as of \(stored) that can't be had here: \(error.message)"
        }
    }

    /// The same over what this system's collation makes of texts; nil if it is so, or if this system hasn't got it.
    package var renewed: IndexDescription? {
        guard let collation, let known = Collation(name: collation),
            let version = try? TextCollation(collation: known).collator.version, version != collationVersion
        else { return nil }
        var index = self
        index.collationVersion = version
        return index
    }

    /// Whether it is the same but for the version of its collation.
    func isSame(butForVersion other: IndexDescription) -> Bool {
        var other = other
        other.collationVersion = collationVersion
        return self == other
    }
}

extension ComputedComponent {
    /// A column of texts by a collation.
    init(column: Int, of type: EntityDescription, by collation: TextCollation) throws(HornbeamError) {
        let collator = try collation.collator
        self.init(
            ComputedSubject(CollatedColumn(entity: type.name, column: column, collation: collation)),
            label: "\(type.columns[column].name) COLLATE \(collation.words)", type: .data, sources: [column]
        ) { (row) throws(HornbeamError) in
            guard let text = try row.string(column) else { return .null }
            return .data(Data(try collator.key(of: text)))
        }
    }

    /// A text by a collation that isn't what the index has it by.
    /// - Parameter component: by this system's collation, if there is one.
    fileprivate static func unknown(_ column: Int, as component: ComputedComponent?, _ flaw: String) -> Self {
        ComputedComponent(
            component?.subject ?? ComputedSubject("", of: Never.self), label: component?.label ?? "",
            type: .data, sources: [column]
        ) { (_) throws(HornbeamError) in
            throw HornbeamError(
                .unsupported, "\(flaw): open the file with the models that declare the index, on a system that has it")
        }
    }
}

/// A text that is compared by a collation: see `collated`.
public struct CollatedText: Sendable, Hashable {
    public let text: String
    public let collation: TextCollation
}

extension String {
    /// The text, to be compared by a rule of its own: `\.name == "straße".collated(.caseInsensitive)`.
    public func collated(_ collation: TextCollation) -> CollatedText {
        CollatedText(text: self, collation: collation)
    }
}

extension TextCollation {
    /// `.invalid` for a locale that nobody knows.
    var collator: Collator {
        get throws(HornbeamError) {
            do {
                return try Collator.shared(collation)
            } catch {
                throw HornbeamError(.invalid, "the collation \(self) can't be had: \(error)")
            }
        }
    }

    /// As statements write it.
    var words: String {
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
    /// The text's place; `.invalid` if it is too long for that.
    func key(of text: String) throws(HornbeamError) -> [UInt8] {
        do {
            return try sortKey(of: text)
        } catch {
            throw HornbeamError(.invalid, "a text can't be compared by the collation \(collation.name): \(error)")
        }
    }
}
