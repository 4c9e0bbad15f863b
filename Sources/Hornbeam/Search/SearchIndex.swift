// SPDX-License-Identifier: Apache-2.0
// What a full-text index knows beside its hits: how words go on, how they are spelled, what is like something else, and
// which words there are.

import HornbeamPages
import HornbeamText

/// The full-text index over some properties (`String`, `[String]` and optionals of these), for suggestions:
///
///     let index = SearchIndex<Page>(\.title, \.text)
///     try index.completions(of: "full te", in: context).map(\.word)
///     try index.corrected("databsae", in: context)
///     Page.filter(.string(\.title, \.text, matches: try index.query(like: page, in: context)))
///
/// It needs the index: over exactly these properties, in this order; `.invalid` otherwise. Of an index of some entities
/// (`where:`) it knows these alone. Answers are those of the
/// context's state. With an analyzer that stems, words are stems (`happi` for *happy*, *happiness*), and what is typed
/// is compared with these: for suggestions declare an index that doesn't stem. Words of `.trigrams` are runs of three
/// letters, which suggest nothing to a person.
public struct SearchIndex<Entity: EntityModelProtocol>: Sendable {
    private let properties: [SearchedProperty<Entity>]
    private let name: String?

    /// - Parameter index: its name, that of the property that declares it, where several are over these properties;
    ///   the first one if nil, of those that have all entities if there are any.
    public init<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, using index: String? = nil
    ) {
        properties = SearchedProperty.list(repeat each keyPaths)
        name = index
    }

    /// A word of the index, and how many entities have it.
    public struct Suggestion: Sendable, Hashable {
        /// As the index has it: folded, and a stem if it stems.
        public let word: String
        public let count: Int
    }

    /// Words that the last word of a text may be the beginning of, those that most entities have first. Goes through
    /// all words that begin so.
    public func completions(of text: String, limit: Int = 10, in context: Context) throws -> [Suggestion] {
        try run(context) { try $0.completions(of: text, limit: limit).map(Suggestion.init) }
    }

    /// Words that are spelled most nearly like one, the nearest first, then those that most entities have: one edit
    /// away from words of up to five letters, two from longer ones; none from a single letter. Of several words the
    /// first is looked at. Goes through all words with the same first letter, through all there are if none of them is
    /// near.
    public func corrections(of word: String, limit: Int = 5, in context: Context) throws -> [Suggestion] {
        try run(context) { searcher in
            guard let token = searcher.index.analyzer.tokens(of: word).first else { return [] }
            return try searcher.corrections(of: token, limit: limit).map(Suggestion.init)
        }
    }

    /// “Did you mean”: the query with each word that no entity has replaced by the nearest that some have, and the
    /// beginning of a word, as the last one that somebody is typing is, if no word begins so. Nil if every word is
    /// there, or nothing is near. Patterns and fuzzy words stay as they are.
    public func corrected(_ query: SearchQuery<Entity>, in context: Context) throws -> SearchQuery<Entity>? {
        let asked = try query.query(amongst: try columns())
        return try run(context) { try $0.corrected(asked).map { SearchQuery($0) } }
    }

    /// A query for entities like one: the words of its text that say most about it, those that it has often and few
    /// others have. It finds the entity itself too, if that is stored.
    public func query(like entity: Entity, words: Int = 25, in context: Context) throws -> SearchQuery<Entity> {
        let texts = properties.flatMap { $0.texts(entity) }
        return try run(context) { searcher in
            SearchQuery(try searcher.query(like: texts, limit: words))
        }
    }

    // MARK: Statistics

    /// What scores are made of, of the whole index.
    public struct Statistics: Sendable, Hashable {
        /// All entities of the index, those without a word included.
        public let entities: Int
        /// Words in all of them, repeated ones too.
        public let occurrences: Int
        /// Different words.
        public let words: Int

        /// Words of an entity on average; 0 without any.
        public var averageLength: Double { entities > 0 ? Double(occurrences) / Double(entities) : 0 }
    }

    /// A word of the index.
    public struct Word: Sendable, Hashable {
        /// As the index has it: folded, and a stem if it stems.
        public let text: String
        /// How many entities have it.
        public let entities: Int
        /// How often it stands in all of them.
        public let occurrences: Int
    }

    /// Counts the different words if any are pending; else looks at three numbers.
    public func statistics(in context: Context) throws -> Statistics {
        try run(context) { searcher in
            Statistics(
                entities: Int(clamping: searcher.statistics.documentCount),
                occurrences: Int(clamping: searcher.statistics.totalLength),
                words: Int(clamping: try searcher.termCount()))
        }
    }

    /// Calls `body` with the words of the index, in the order of their UTF-8 bytes, until it returns false. Words of
    /// more than 200 bytes that begin alike come in any order. The body must not use the context.
    /// - Parameter first: only words from this one on; it need not be one.
    public func forEachWord(
        from first: String = "", in context: Context, _ body: (Word) throws -> Bool
    ) throws {
        var failure: (any Error)?
        try run(context) { searcher in
            try searcher.forEachTerm(from: Array(first.utf8)) { (term, documents, occurrences) throws(StorageError) in
                do {
                    return try body(
                        Word(
                            text: term, entities: Int(clamping: documents), occurrences: Int(clamping: occurrences)))
                } catch {
                    failure = error
                    return false
                }
            }
        }
        if let failure { throw failure }
    }

    private func columns() throws(HornbeamError) -> [Int] {
        let columns = properties.map(\.column)
        if Entity.entityShape.isSearched(columns, using: name) { return columns }
        throw HornbeamError(
            .invalid,
            "\(Entity.entityName) has no full-text index \(name.map { "“\($0)” " } ?? "")over "
                + "\(properties.map(\.label).joined(separator: ", ")): "
                + "declare one over exactly these, in this order")
    }

    private func run<Result>(_ context: Context, _ body: (TextSearcher) throws -> Result) throws -> Result {
        let columns = try columns()
        return try context.session.run { session in
            let store = try session.store(Entity.self)
            guard let index = store.type.textIndex(over: columns, named: name) else {
                throw HornbeamError(
                    .invalid, "the database has no such index of \(Entity.entityName) yet: open it with the model")
            }
            return try body(try IndexSearch(index, TextMatch(columns: columns, query: .everything), store).searcher)
        }
    }
}

extension SearchIndex.Suggestion {
    fileprivate init(_ term: SuggestedTerm) {
        self.init(word: term.term, count: Int(clamping: term.documentFrequency))
    }
}
