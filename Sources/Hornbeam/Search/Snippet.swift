// SPDX-License-Identifier: Apache-2.0
// What is shown of a hit: the passage that says best why it was found, with what was found marked in it.

import HornbeamText

/// A passage of a text, as it stands there, and what the search found in it.
public struct Snippet: Sendable, Hashable {
    public let text: String
    /// Of `text`: whole characters, ascending, apart from each other.
    public let highlights: [Range<String.Index>]
    /// Which of the properties that were asked for it is of, from 0.
    public let property: Int
    /// Whether the property's text begins, and ends, with it.
    public let isStart: Bool
    public let isEnd: Bool

    init(_ passage: Passage, _ sections: [TextSection]) {
        let whole = sections[passage.section].text
        text = String(whole[passage.range])
        let base = whole.utf8.distance(from: whole.startIndex, to: passage.range.lowerBound)
        var found: [Range<String.Index>] = []
        for range in passage.highlights {
            let start = whole.utf8.distance(from: whole.startIndex, to: range.lowerBound) - base
            let end = whole.utf8.distance(from: whole.startIndex, to: range.upperBound) - base
            let lower = text.utf8.index(text.startIndex, offsetBy: start)
            found.append(lower..<text.utf8.index(lower, offsetBy: end - start))
        }
        highlights = found
        property = passage.section
        isStart = passage.range.lowerBound == whole.startIndex
        isEnd = passage.range.upperBound >= whole.endIndex
    }

    /// The text with marks around what was found, and `ellipsis` where something was left out.
    /// - Parameter escape: what becomes of each piece of the text between marks: for HTML, one that writes `&lt;` for
    ///   `<`.
    public func marked(
        _ start: String = "**", _ end: String = "**", ellipsis: String = "…",
        escape: (Substring) -> String = { String($0) }
    ) -> String {
        var marked = isStart ? "" : ellipsis
        var place = text.startIndex
        for range in highlights {
            marked += escape(text[place..<range.lowerBound]) + start + escape(text[range]) + end
            place = range.upperBound
        }
        return marked + escape(text[place...]) + (isEnd ? "" : ellipsis)
    }
}

extension SearchQuery {
    /// Where an entity's text has what the query looks for: whole characters, ascending, apart from each other. Words
    /// are what the first full-text index over the property says. Reads the text once.
    public func highlights<Text: TextValue>(
        _ keyPath: any KeyPath<Entity, Text> & Sendable, of entity: Entity
    ) throws -> [Range<String.Index>] {
        let property = TextProperty(keyPath)
        let matcher = QueryMatcher(try requireSense(), Self.analyzer(of: [property]))
        return matcher.highlights(in: property.section(entity, property.column ?? -1))
    }

    /// The passage of some `words` words that has the most of the query's different words, out of all these properties;
    /// the beginning if none has any. Nil if there is no word. Texts are looked at up to 4 MiB.
    public func snippet<each Text: TextValue>(
        _ keyPaths: repeat any KeyPath<Entity, each Text> & Sendable, of entity: Entity, words: Int = 24
    ) throws -> Snippet? {
        let properties = TextProperty<Entity>.list(repeat each keyPaths)
        let matcher = QueryMatcher(try requireSense(), Self.analyzer(of: properties))
        let sections = properties.map { $0.section(entity, $0.column ?? -1) }
        return matcher.passage(of: sections, size: words, weight: { _ throws(Never) in 1 })
            .map { Snippet($0, sections) }
    }

    /// Fields are columns here.
    private func requireSense() throws(HornbeamError) -> TextQuery {
        let count = Entity.entityShape.description.columns.count
        guard let problem = query.problem(fieldCount: count) else { return query }
        throw HornbeamError(.invalid, "in a search of \(Entity.entityName), \(problem)")
    }

    /// That of the first full-text index over all these properties, or over one of them.
    private static func analyzer(of properties: [TextProperty<Entity>]) -> Analyzer {
        let description = Entity.entityShape.description
        let names = properties.compactMap(\.column).map { description.columns[$0].name }
        let indexes = description.indexes.filter { $0.kind == .text }
        func index(over names: [String]) -> IndexDescription? {
            indexes.first { index in names.allSatisfy { name in index.components.contains { $0.column == name } } }
        }
        guard let found = index(over: names) ?? names.lazy.compactMap({ index(over: [$0]) }).first else {
            return .words
        }
        return found.analyzer.flatMap { Analyzer(specification: $0) } ?? .words
    }
}

extension Ranked {
    /// Where the hit's text has what the search found: whole characters, ascending, apart from each other. Reads the
    /// entity.
    public func highlights<Text: TextValue>(
        _ keyPath: any KeyPath<Entity, Text> & Sendable
    ) throws -> [Range<String.Index>] {
        guard let entity = try entity else { return [] }
        return try context.session.run { session in
            let search = try match.search(session, Entity.self)
            let matcher = QueryMatcher(match.query, search.searcher.index.analyzer)
            return matcher.highlights(in: match.section(TextProperty(keyPath), entity))
        }
    }

    /// The passage of some `words` words of these properties whose different words of the search weigh most, rare ones
    /// more than others; the beginning if there is none. Nil if there is no word. Texts are looked at up to 4 MiB.
    /// Reads the entity, so it works as long as the transaction of the search.
    public func snippet<each Text: TextValue>(
        _ keyPaths: repeat any KeyPath<Entity, each Text> & Sendable, words: Int = 24
    ) throws -> Snippet? {
        try snippet(of: TextProperty<Entity>.list(repeat each keyPaths), words)
    }

    private func snippet(of properties: [TextProperty<Entity>], _ words: Int) throws -> Snippet? {
        guard let entity = try entity else { return nil }
        let sections = properties.map { match.section($0, entity) }
        return try context.session.run { session in
            let searcher = try match.search(session, Entity.self).searcher
            let matcher = QueryMatcher(match.query, searcher.index.analyzer)
            let passage = try matcher.passage(of: sections, size: words) { (term) throws(HornbeamError) in
                try searcher.weight(of: term)
            }
            return passage.map { Snippet($0, sections) }
        }
    }
}

extension TextMatch {
    fileprivate func search<Entity: EntityModelProtocol>(_ session: Session, _: Entity.Type) throws -> IndexSearch {
        let store = try session.store(Entity.self)
        guard let index = store.type.textIndex(over: columns) else {
            throw HornbeamError(
                .invalid, "\(store.type.name) has no full-text index over what was searched: search it again")
        }
        return try IndexSearch(index, self, store)
    }

    /// The text of a property. What isn't searched has no field, and is marked all the same.
    fileprivate func section<Entity>(_ property: TextProperty<Entity>, _ entity: Entity) -> TextSection {
        property.section(entity, property.column.flatMap(columns.firstIndex(of:)) ?? -1)
    }
}

extension TextProperty {
    fileprivate func section(_ entity: Entity, _ field: Int) -> TextSection {
        TextSection(field: field, text: read(entity) ?? "")
    }
}

extension TextSearcher {
    /// What a word of the query counts in the choice of a passage: more, the rarer it is.
    func weight(of term: [UInt8]) throws(HornbeamError) -> Double {
        do {
            return weight(ofFrequency: try documentFrequency(of: String(decoding: term, as: UTF8.self)))
        } catch {
            throw HornbeamError(error)
        }
    }
}
