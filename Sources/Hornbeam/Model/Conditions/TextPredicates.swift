// SPDX-License-Identifier: Apache-2.0
// Conditions on whole texts: words by the full-text index, regular expressions, custom tests. Several properties mean
// any of them. The negated forms mean none of them.

import FoundationEssentials

/// A type that can be searched for words: `String`, `[String]`, and optionals of both. Each element of an array is a
/// text of its own: no phrase goes from one to the next. Nil has no words.
public protocol SearchableText: Sendable {
    /// The searched texts, each a text of its own.
    var searchedTexts: [String] { get }
}

extension Array: SearchableText where Element == String {
    public var searchedTexts: [String] { self }
}

extension Optional: SearchableText where Wrapped: SearchableText {
    public var searchedTexts: [String] { self?.searchedTexts ?? [] }
}

/// The types that conditions on text accept: `String` and `String?`. Nil has no words, contains nothing and begins with
/// nothing.
public protocol TextValue: SearchableText {
    /// The text, nil if there is none.
    var textValue: String? { get }
}

extension TextValue {
    public var searchedTexts: [String] { textValue.map { [$0] } ?? [] }
}

extension String: TextValue {
    public var textValue: String? { self }
}

extension Optional: TextValue where Wrapped == String {
    public var textValue: String? { self }
}

/// A text property: its column if it is stored as a string, and the function that reads it from an entity.
struct TextProperty<Entity: EntityModelProtocol>: Sendable {
    let column: Int?
    let read: @Sendable (Entity) -> String?
    private let keyPath: any PartialKeyPath<Entity> & Sendable

    init<Text: TextValue>(_ keyPath: KeyPath<Entity, Text>) {
        column = Self.column(keyPath)
        let keyPath = keyPath.shared
        read = { $0[keyPath: keyPath].textValue }
        self.keyPath = keyPath
    }

    /// The property's name, for people. Making it takes longer than a search.
    var label: String { keyPath.label }

    /// A pack of key paths as a list.
    static func list<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>
    ) -> [Self] {
        var properties: [Self] = []
        for keyPath in repeat each keyPaths { properties.append(Self(keyPath)) }
        return properties
    }

    /// Returns the column of a property that can be searched, or nil if it isn't stored as its text.
    static func column<Text: SearchableText>(_ keyPath: KeyPath<Entity, Text>) -> Int? {
        // Another type may have a text that isn't the stored one.
        guard
            Text.self == String.self || Text.self == String?.self || Text.self == [String].self
                || Text.self == [String]?.self
        else { return nil }
        let shape = Entity.entityShape
        guard let place = shape.column(keyPath), shape.description.columns[place.number].type.isText else { return nil }
        return place.number
    }
}

extension Predicate {
    // MARK: - Words

    /// Selects entities with any word of `text` in one of these properties. A full-text index over these properties, or
    /// over these and others, answers it. Without an index the query reads all texts, with the same result. If the
    /// condition comes first in a query, and an index is over exactly these properties in this order, the best hits
    /// come first. After another condition, or joined to one by `&&`, a search only filters. Throws `.invalid` when it
    /// runs if a property isn't stored.
    ///
    /// The analyzer of an index makes the words: of the index over exactly these properties, in any order; else of the
    /// first declared index over all of these and others; else of the first over one of these. Without any index the
    /// analyzer is `.unicode(keepsAccents: true)`.
    ///
    /// - Parameters:
    ///   - keyPaths: the stored properties to search.
    ///   - text: the words to find; one of them is enough.
    ///   - index: the full-text index to use, if several are over these properties, such as one with stems and one with
    ///     whole words. It is the name of the property that declares it. The search then has the words and scores of
    ///     this index. Throws `.invalid` when it runs if no index of this name is over all these properties.
    public static func string<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, matches text: String, using index: String? = nil
    ) -> Self {
        searching(repeat each keyPaths) {
            guard index != nil else { return Self(.matches(columns: $0, text: text)) }
            return search($0, SearchQuery.words(text), [], index)
        }
    }

    /// Selects entities that match `query` in these properties. Index, analyzer and order are those of a search for
    /// words. Throws `.invalid` when it runs if the query names other properties.
    /// - Parameters:
    ///   - keyPaths: the stored properties to search.
    ///   - query: the search, which may name only these properties.
    ///   - weights: a factor for the score of words in each property, in their order: from 0 to 1e9, and not all 0.
    ///     Empty means 1 for all.
    ///   - index: the full-text index to use, by the name of the property that declares it. If nil, the properties
    ///     determine the index.
    @_disfavoredOverload
    public static func string<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, matches query: SearchQuery<Entity>,
        weights: [Double] = [], using index: String? = nil
    ) -> Self {
        searching(repeat each keyPaths) { search($0, query, weights, index) }
    }

    private static func searching<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, by search: ([Int]) -> Self
    ) -> Self {
        var columns: [Int] = []
        var others: [String] = []
        for path in repeat each keyPaths {
            if let column = TextProperty<Entity>.column(path) {
                columns.append(column)
            } else {
                others.append(path.label)
            }
        }
        return others.isEmpty ? search(columns) : unsearchable(others)
    }

    private static func search(
        _ columns: [Int], _ query: SearchQuery<Entity>, _ weights: [Double], _ index: String?
    ) -> Self {
        do {
            let found = try query.query(over: columns)
            let match = TextMatch(columns: columns, query: found, weights: weights, using: index)
            _ = try Entity.entityShape.wording(of: match)
            return Self(.matches(match))
        } catch {
            return Self(.matches(TextMatch(columns: columns, problem: error)))
        }
    }

    private static func unsearchable(_ labels: [String]) -> Self {
        let wrong = labels.joined(separator: ", ")
        let stored = Entity.entityShape.description.columns.filter { $0.type.isText }.map(\.name)
        let error = HornbeamError(
            .invalid,
            "matches needs stored String properties of \(Entity.entityName), which "
                + (stored.isEmpty ? "has none" : "are \(stored.joined(separator: ", "))")
                + ", but got \(wrong): store its text, or use contains")
        return Self(.matches(TextMatch(columns: [], problem: error)))
    }

    // MARK: - Regular expressions

    /// Selects entities with a match of the expression somewhere in one of the properties:
    /// `.string(\.title, matches: /v[0-9]+/)`. No index answers it.
    ///
    /// Don't make an expression of untrusted text: `Regex` parses nested classes recursively, and some expressions,
    /// such as `/(a+)+b/`, take time exponential in the length of the text. Limit its length, or search for words
    /// instead.
    @_disfavoredOverload
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, matches expression: some RegexComponent
    ) -> Self {
        matching(TextProperty.list(repeat each keyPaths), expression, isNegated: false)
    }

    /// Selects entities without a match of the expression in any of the properties.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, notMatching expression: some RegexComponent
    ) -> Self {
        matching(TextProperty.list(repeat each keyPaths), expression, isNegated: true)
    }

    private static func matching(
        _ properties: [TextProperty<Entity>], _ expression: some RegexComponent, isNegated: Bool
    ) -> Self {
        let shared = SharedRegex(expression.regex)
        return passing(properties, label: "matches a regular expression", isNegated: isNegated) {
            try shared.occurs(in: $0)
        }
    }

    // MARK: - Tests of one's own

    /// Selects entities with a property whose text passes a closure. `label` names the test in `explain`. The test must
    /// not use a context: while a query runs, its rows lie in pages that a write may move.
    public static func string<each Text: TextValue>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, passes label: String,
        _ test: @escaping @Sendable (String) throws -> Bool
    ) -> Self {
        passing(TextProperty.list(repeat each keyPaths), label: label, isNegated: false, test)
    }

    /// A test of columns, or of decoded entities if a property isn't stored as a string.
    static func passing(
        _ properties: [TextProperty<Entity>], label: String, isNegated: Bool,
        _ test: @escaping @Sendable (String) throws -> Bool
    ) -> Self {
        let columns = properties.compactMap { $0.column }
        if columns.count == properties.count {
            return Self(.text(TextTest(columns: columns, label: label, isNegated: isNegated, accepts: test)))
        }
        return Self(
            .opaque(label: "\(isNegated ? "not " : "")\(label)") { row in
                let entity = try Entity(row: row)
                let texts = try RelationReads.refusing(label, Entity.self) { properties.map { $0.read(entity) } }
                return try texts.contains { try $0.map(test) ?? false } != isNegated
            })
    }
}

/// A regular expression that a query holds.
///
/// `@unchecked Sendable`: a `Regex` is a value that nothing changes once it is made, and its compiled program is set
/// once, atomically. Custom parsers inside it must not share state, as its documentation requires.
private struct SharedRegex<Output>: @unchecked Sendable {
    let regex: Regex<Output>

    init(_ regex: Regex<Output>) {
        self.regex = regex
    }

    func occurs(in text: String) throws -> Bool {
        do {
            return try regex.firstMatch(in: text) != nil
        } catch {
            throw HornbeamError(
                .invalid,
                "the regular expression of a filter failed on “\(text.shown(60))”: \(error); try it on that text "
                    + "alone")
        }
    }
}
