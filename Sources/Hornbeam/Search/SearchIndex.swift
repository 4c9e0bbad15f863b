// SPDX-License-Identifier: Apache-2.0
// What a full-text index knows beside its hits: how words go on, how they are spelled, what is like something else.

import HornbeamText

/// The full-text index over some properties (`String`, `[String]` and optionals of these), for suggestions:
///
///     let index = SearchIndex<Page>(\.title, \.text)
///     try index.completions(of: "full te", in: context).map(\.word)
///     try index.corrected("databsae", in: context)
///     Page.filter(.string(\.title, \.text, matches: try index.query(like: page, in: context)))
///
/// It needs the index: over exactly these properties, in this order; `.invalid` otherwise. Answers are those of the
/// context's state. With an analyzer that stems, words are stems (`happi` for *happy*, *happiness*), and what is typed
/// is compared with these: for suggestions declare an index that doesn't stem. Words of `.trigrams` are runs of three
/// letters, which suggest nothing to a person.
public struct SearchIndex<Entity: EntityModelProtocol>: Sendable {
    private let properties: [SearchedProperty<Entity>]

    public init<each Text: SearchableText>(_ keyPaths: repeat any KeyPath<Entity, each Text> & Sendable) {
        properties = SearchedProperty.list(repeat each keyPaths)
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

    /// Words that are spelled most nearly like one, the nearest first, then those that most entities have. Goes through
    /// all words with the same first letter, through all there are if none of them is near.
    public func corrections(of word: String, limit: Int = 5, in context: Context) throws -> [Suggestion] {
        try run(context) { searcher in
            guard let token = searcher.index.analyzer.tokens(of: word).first else { return [] }
            return try searcher.corrections(of: token, limit: limit).map(Suggestion.init)
        }
    }

    /// “Did you mean”: the query with each word that no entity has replaced by the nearest that some have. Nil if every
    /// word is there, or nothing is near. Prefixes, patterns and fuzzy words stay as they are.
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

    private func columns() throws(HornbeamError) -> [Int] {
        let columns = properties.map(\.column)
        if Entity.entityShape.isSearched(columns) { return columns }
        throw HornbeamError(
            .invalid,
            "\(Entity.entityName) has no full-text index over \(properties.map(\.label).joined(separator: ", ")): "
                + "declare one over exactly these, in this order")
    }

    private func run<Result>(_ context: Context, _ body: (TextSearcher) throws -> Result) throws -> Result {
        let columns = try columns()
        return try context.session.run { session in
            let store = try session.store(Entity.self)
            guard let index = store.type.textIndex(over: columns) else {
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
