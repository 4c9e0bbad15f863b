// SPDX-License-Identifier: Apache-2.0
// By which rule texts are ordered and equal: said of an index, of a comparison and of a sort. An index serves those
// that say the same as it.

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
    /// A declared index with its columns resolved.
    convenience init(
        _ index: IndexDescription, _ columns: [Int], of type: EntityDescription, tree: TreeID
    ) throws(HornbeamError) {
        var components: [Component] = []
        var computed: [ComputedComponent] = []
        for (column, component) in zip(columns, index.components) {
            let columnType = type.columns[column].type.unwrapped
            guard let collation = try index.collation(of: columnType) else {
                components.append(Component(column: column, type: columnType, descending: component.descending))
                continue
            }
            let version = try collation.collator.version
            guard version == index.collationVersion else {
                throw HornbeamError(
                    .unsupported,
                    "index “\(index.name)” of \(type.name) is in the order of \(collation) as of "
                        + "\(index.collationVersion ?? "an unknown version"), and this system has \(version): open the "
                        + "file once with the models that declare the index, which builds it anew")
            }
            computed.append(try ComputedComponent(column: column, of: type, by: collation))
            components.append(Component(column: -computed.count, type: .data, descending: component.descending))
        }
        self.init(description: index, tree: tree, components: components, computed: computed)
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
