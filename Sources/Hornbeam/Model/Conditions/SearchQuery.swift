// SPDX-License-Identifier: Apache-2.0
// A full-text query as a value: built of parts, or read from a text.

public import FoundationEssentials
import HornbeamText

/// A search in the texts of entities:
///
///     Page.filter(.string(\.title, \.text, matches: .phrase("copy on write").boosted(2) || "snapshots"))
///     Page.filter(.string(\.title, \.text, matches: try SearchQuery(parsing: "title:swift +database -sql")))
///
/// A string literal stands for any of its words. The analyzer of the searched index determines what a word is. Values
/// can be built without a database. A query that makes no sense (a negative boost, a property that isn't searched)
/// throws `.invalid` when it runs.
public struct SearchQuery<Entity: EntityModelProtocol>: Sendable, Hashable {
    let reading: SearchReading

    /// - Parameter query: its fields are columns.
    init(_ query: TextQuery) {
        reading = .query(query)
    }

    private init(_ how: SearchComposition, _ parts: [SearchReading]) {
        reading = .composed(how, of: parts)
    }

    /// Combines both, in one list with the parts that are already combined in the same way.
    private init(_ how: SearchComposition, _ left: Self, _ right: Self) {
        self.init(how, (left.reading.parts(how) ?? [left.reading.asPart]) + [right.reading.asPart])
    }
}

// MARK: - Building

extension SearchQuery {
    /// Finds any of the words. The score is the sum over the found words, so that texts with more of them, and with
    /// rarer ones, come first.
    public static func words(_ text: String) -> Self { Self(.words(text)) }

    /// Finds texts that match any of these queries. Without a query it finds nothing.
    public static func any(_ queries: Self...) -> Self { any(queries) }

    /// Finds texts that match any of these queries. Without a query it finds nothing.
    public static func any(_ queries: [Self]) -> Self { Self(.any, queries.map(\.reading.asPart)) }

    /// Finds texts that match all of these queries. Parts in which the index's analyzer finds no word don't count
    /// (`"rock & roll"` has two words). Without a query it finds nothing. If the analyzer makes several words of one
    /// (`"wi-fi"`), all of them must be there, next to each other.
    public static func all(_ queries: Self...) -> Self { all(queries) }

    /// Finds texts that match all of these queries. Without a query it finds nothing.
    public static func all(_ queries: [Self]) -> Self { Self(.all, queries.map(\.reading.asPart)) }

    /// Finds the words in their order, next to each other, within one property.
    /// - Parameters:
    ///   - text: the words of the phrase.
    ///   - slop: maximum number of other words between them, in all.
    public static func phrase(_ text: String, slop: Int = 0) -> Self { Self(.phrase(text, slop: slop)) }

    /// Finds words, phrases, prefixes, patterns and fuzzy words near each other within one property, in any order. The
    /// last one begins at most `within` words after the end of the first, so that 1 means adjacent. A part that is
    /// given twice must be there twice.
    public static func near(_ queries: Self..., within distance: Int) -> Self {
        Self(.near(within: distance), queries.map(\.reading.asPart))
    }

    /// Finds words that begin with a text. If the text has several words, only the last one is a beginning, and the
    /// others precede it as in a phrase.
    public static func prefix(_ text: String) -> Self { Self(.prefix(text)) }

    /// Finds words that match a pattern: `*` stands for any letters, `?` for one. A pattern that begins with `*` or `?`
    /// reads all words of the index.
    public static func wildcard(_ pattern: String) -> Self { Self(.wildcard(pattern)) }

    /// Finds words with a similar spelling. One edit adds, removes or replaces a letter, or exchanges two neighbours.
    /// - Parameters:
    ///   - word: the word to find.
    ///   - distance: maximum number of edits, up to 2. Nil allows none for words of up to 2 letters, 1 for up to 5, and
    ///     2 for longer ones.
    ///   - prefixLength: number of letters at the beginning that must be equal.
    public static func fuzzy(_ word: String, distance: Int? = nil, prefixLength: Int = 1) -> Self {
        Self(.fuzzy(word, distance: distance, prefixLength: prefixLength))
    }

    /// Finds every entity, with the score 0: `.everything.without("draft")`.
    public static var everything: Self { Self(.everything) }

    /// Finds the texts that this query finds and the other doesn't. The score is that of this query.
    public func without(_ other: Self) -> Self { Self(.without, [reading.asPart, other.reading.asPart]) }

    /// Searches only in these properties, which must be among the searched ones.
    public func `in`<each Text: SearchableText>(_ keyPaths: repeat KeyPath<Entity, each Text>) -> Self {
        var columns: [Int] = []
        // -1, which is no column, stands for a property that can't be searched.
        for path in repeat each keyPaths { columns.append(TextProperty<Entity>.column(path) ?? -1) }
        return Self(.field(columns), [reading.asPart])
    }

    /// Multiplies the score by `factor`, from 0 to 1e9. The product of nested factors must be in this range too.
    public func boosted(_ factor: Double) -> Self { Self(.boost(factor), [reading.asPart]) }

    func leavingOut(_ words: StopWordList) -> Self { Self(.leavingOut(words), [reading.asPart]) }

    /// Finds texts that match either query, or both.
    public static func || (left: Self, right: Self) -> Self { Self(.any, left, right) }

    /// Finds texts that match both queries.
    public static func && (left: Self, right: Self) -> Self { Self(.all, left, right) }
}

extension SearchQuery: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self = .words(text) }
}

// MARK: - Text

extension SearchQuery {
    /// The meaning of several words without operators.
    public enum Matching: Sendable {
        /// One of the words is enough.
        case any
        /// Each word must be there.
        case all
    }

    /// Reads a query: words, `"a phrase"`, `"a phrase"~2` (slop), `"a phr"*`, `a NEAR/5 b` (`NEAR` alone means 10),
    /// `pre*`, `w?ld*`, `*"pat?ern with spaces"`, `word~`, `word~1` and `word~1/2` (fuzzy), a lone `*` for everything,
    /// `title:word`, `title,text:(two words)`, `word^2.5` (boost), AND, OR and NOT in capitals, `+word`, `-word`,
    /// parentheses. A backslash makes the next character an ordinary one. `description` writes a query in this
    /// language. Throws `SearchSyntaxError` for other texts.
    ///
    /// A name before a colon must be a property in a full-text index, or any text property if there is no such index.
    /// Another name throws a `SearchSyntaxError` that lists them. If a query names properties that its search isn't
    /// over, the search throws `.invalid` when it runs.
    public init(parsing text: String, matching: Matching = .any) throws(SearchSyntaxError) {
        try self.init(text, matching, over: Self.searched)
    }

    /// Reads a query for a search over these properties: only their names may precede a colon.
    @_disfavoredOverload
    public init<each Text: SearchableText>(
        parsing text: String, matching: Matching = .any, over keyPaths: repeat KeyPath<Entity, each Text>
    ) throws(SearchSyntaxError) {
        var columns: [Int] = []
        for path in repeat each keyPaths {
            if let column = TextProperty<Entity>.column(path) { columns.append(column) }
        }
        try self.init(text, matching, over: columns)
    }

    private init(_ text: String, _ matching: Matching, over columns: [Int]) throws(SearchSyntaxError) {
        let names = Self.columnNames
        let syntax = QuerySyntax(fields: columns.map { names[$0] }, matchesAll: matching == .all)
        let query: TextQuery
        do {
            query = try syntax.parse(text)
        } catch {
            throw SearchSyntaxError(error)
        }
        self.init(query.mapFields { (place) throws(Never) in columns[place] })
    }

    /// Reads the text of a search field and never fails. Incorrect parts are read as words, and so is the name of a
    /// property that the search isn't over (`language:en` then is two words).
    /// - Parameters:
    ///   - text: the text of the search field.
    ///   - matching: whether one of several words without operators is enough, or each must be there.
    ///   - isTyping: whether the text is still being written. Then the last word is the beginning of a word.
    public init(lenient text: String, matching: Matching = .any, isTyping: Bool = false) {
        let written = WrittenSearch(text: text, matchesAll: matching == .all, isTyping: isTyping)
        let query = written.query(over: Self.texts, names: Self.columnNames)
        reading = query.namesFields ? .text(written) : .query(query)
    }

    private static var columnNames: [String] { Entity.entityShape.description.columns.map(\.name) }

    /// The columns that can be searched.
    private static var texts: [Int] {
        let columns = Entity.entityShape.description.columns
        return columns.indices.filter { columns[$0].type.isText && !columns[$0].isHidden }
    }

    /// The columns that full-text indexes are over, or all text columns if there is no such index.
    private static var searched: [Int] {
        var columns: [Int] = []
        for index in Entity.entityShape.searched {
            for column in index.columns where !columns.contains(column) { columns.append(column) }
        }
        return columns.isEmpty ? texts : columns
    }

    /// Returns the query for uses without a search, which would give the columns. They are those that full-text indexes
    /// are over, and `columns`.
    func query(showing columns: [Int] = []) -> TextQuery {
        switch reading {
        case .query(let query): query
        case .text, .composed, .tooDeep:
            reading.query(
                over: Self.searched + columns.filter { $0 >= 0 && !Self.searched.contains($0) },
                names: Self.columnNames)
        }
    }

    /// Returns the query over some columns. Its fields are indices of the list.
    func query(over columns: [Int]) throws(HornbeamError) -> TextQuery {
        try query(amongst: columns).mapFields { (column) throws(Never) in columns.firstIndex(of: column) ?? -1 }
    }

    /// Returns the query over some columns, with columns as fields.
    func query(amongst columns: [Int]) throws(HornbeamError) -> TextQuery {
        try requireDepth()
        let query: TextQuery
        switch reading {
        case .query(let known): query = known
        case .text, .composed, .tooDeep: query = reading.query(over: columns, names: Self.columnNames)
        }
        guard query.isWithin(TextQuery.maximumDepth) else { throw tooDeep() }
        return try query.mapFields { (column) throws(HornbeamError) in
            if columns.contains(column) { return column }
            let names = Self.columnNames
            func name(_ column: Int) -> String {
                names.indices.contains(column) ? names[column] : "a property that isn't a stored String"
            }
            throw HornbeamError(
                .invalid,
                "a search of \(Entity.entityName) asks for words in \(name(column)), but searches "
                    + "\(columns.map(name).joined(separator: ", ")): search all of them, or leave that out")
        }
    }

    func requireDepth() throws(HornbeamError) {
        guard reading.isWithin(TextQuery.maximumDepth) else { throw tooDeep() }
    }

    private func tooDeep() -> HornbeamError {
        HornbeamError(
            .invalid,
            "a search of \(Entity.entityName) is nested more than \(TextQuery.maximumDepth) deep: give long lists "
                + "to one “any” or “all”")
    }
}

extension SearchQuery: CustomStringConvertible {
    /// The query in the language that `init(parsing:)` reads. A query that is nested too deep for it becomes `(…)`.
    public var description: String {
        guard reading.isWithin(TextQuery.maximumDepth) else { return "(…)" }
        return query().writtenOut(fields: Self.columnNames) ?? "(…)"
    }
}

/// The error for a text that can't be read as a query, with its position.
public struct SearchSyntaxError: Error, Hashable, CustomStringConvertible {
    /// The whole text.
    public let text: String
    /// The position of the error in characters, from 0.
    public let offset: Int
    /// The problem at this position.
    public let problem: String
    /// The text to write instead.
    public let advice: String
    /// The whole message on three lines, with a caret under the position.
    public let description: String

    init(_ error: QuerySyntaxError) {
        text = error.text
        offset = error.offset
        problem = error.problem
        advice = error.advice
        description = error.description
    }
}

extension SearchQuery {
    /// Returns this search without these words, unless no other word would remain: *the who* by itself keeps both.
    /// Phrases, words near each other, prefixes, patterns, fuzzy words and excluded queries keep all of theirs.
    /// Highlights and snippets of the query leave the words out too. O(n · d) for a query of length n and depth d.
    public func leavingOut(_ words: StopWords) -> Self {
        leavingOut(words.list)
    }
}

extension SearchSyntaxError: LocalizedError {
    public var errorDescription: String? { description }
}
