// SPDX-License-Identifier: Apache-2.0
// Functions on the words of a full-text index: completions, corrections, similar entities, statistics and the list of
// words.

import HornbeamPages
import HornbeamText

/// The full-text index over some properties (`String`, `[String]` and optionals of these), for suggestions:
///
///     let index = SearchIndex<Page>(\.title, \.text)
///     try index.completions(of: "full te", in: context).map(\.word)
///     try index.corrected("databsae", in: context)
///     Page.filter(.string(\.title, \.text, matches: try index.query(like: page, in: context)))
///
/// The index must be over exactly these properties, in this order. Otherwise calls throw `.invalid`. In an index of
/// some entities (`where:`) only these count. Results are for the context's state. If the analyzer stems, words are
/// stems (`happi` for *happy*, *happiness*), and typed text is compared with these: declare an index that doesn't stem
/// for suggestions. Words of `.trigrams` are runs of three letters and no useful suggestions.
public struct SearchIndex<Entity: EntityModelProtocol>: Sendable {
    private let properties: [SearchedProperty<Entity>]
    private let name: String?

    /// - Parameters:
    ///   - keyPaths: the properties of the index, in the order of its declaration.
    ///   - index: the index to use, if several are over these properties, by the name of the property that declares it.
    ///     If nil, it is the first index that has all entities, or else the first one.
    public init<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, using index: String? = nil
    ) {
        properties = SearchedProperty.list(repeat each keyPaths)
        name = index
    }

    /// A word of the index, and the number of entities that have it.
    public struct Suggestion: Sendable, Hashable {
        /// The word as the index has it: folded, and a stem if the index stems.
        public let word: String
        /// Number of entities that have the word.
        public let count: Int
    }

    /// Returns words that begin with the last word of a text. Words that most entities have come first. Reads all words
    /// with this beginning.
    public func completions(of text: String, limit: Int = 10, in context: Context) throws -> [Suggestion] {
        try run(context) { try $0.completions(of: text, limit: limit).map(Suggestion.init) }
    }

    /// Returns the words with the most similar spelling, the nearest first, then the most frequent. They differ by one
    /// edit from words of up to five letters, and by up to two from longer ones. A single letter has no corrections. If
    /// there are several words, only the first is corrected. Reads all words with the same first letter, and all words
    /// of the index if none of these is near.
    public func corrections(of word: String, limit: Int = 5, in context: Context) throws -> [Suggestion] {
        try run(context) { searcher in
            guard let token = searcher.index.analyzer.tokens(of: word).first else { return [] }
            return try searcher.corrections(of: token, limit: limit).map(Suggestion.init)
        }
    }

    /// Returns the corrected query (“Did you mean”). Each word that no entity has is replaced by the nearest word that
    /// some have. A prefix, such as the last word during typing, is replaced if no word begins with it. Returns nil if
    /// nothing is replaced. Patterns and fuzzy words don't change.
    public func corrected(_ query: SearchQuery<Entity>, in context: Context) throws -> SearchQuery<Entity>? {
        let asked = try query.query(amongst: try columns())
        return try run(context) { try $0.corrected(asked).map { SearchQuery($0) } }
    }

    /// Returns a query for entities like one, made of the most significant words of its text: words that are frequent
    /// in it, and that few other entities have. The query also finds the entity itself, if it is stored.
    public func query(like entity: Entity, words: Int = 25, in context: Context) throws -> SearchQuery<Entity> {
        let texts = properties.flatMap { $0.texts(entity) }
        return try run(context) { searcher in
            SearchQuery(try searcher.query(like: texts, limit: words))
        }
    }

    // MARK: Statistics

    /// The numbers of the whole index from which scores are computed.
    public struct Statistics: Sendable, Hashable {
        /// Number of entities in the index, including those without a word.
        public let entities: Int
        /// Number of words in all of them, including repeated ones.
        public let occurrences: Int
        /// Number of different words.
        public let words: Int

        /// Average number of words of an entity, 0 if there are no entities.
        public var averageLength: Double { entities > 0 ? Double(occurrences) / Double(entities) : 0 }
    }

    /// A word of the index.
    public struct Word: Sendable, Hashable {
        /// The word as the index has it: folded, and a stem if the index stems.
        public let text: String
        /// Number of entities that have it.
        public let entities: Int
        /// Number of its occurrences in all of them.
        public let occurrences: Int
    }

    /// Returns the statistics of the index. If words are pending, it counts the different words, O(n). Otherwise it
    /// reads three numbers.
    public func statistics(in context: Context) throws -> Statistics {
        try run(context) { searcher in
            Statistics(
                entities: Int(clamping: searcher.statistics.documentCount),
                occurrences: Int(clamping: searcher.statistics.totalLength),
                words: Int(clamping: try searcher.termCount()))
        }
    }

    /// Calls `body` with the words of the index, in the order of their UTF-8 bytes, until it returns false. Words of
    /// more than 200 bytes with equal beginnings come in any order. `body` must not use the context.
    /// - Parameters:
    ///   - first: the word to begin at, which need not be in the index.
    ///   - context: the transaction to read in.
    ///   - body: returns false to stop.
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
