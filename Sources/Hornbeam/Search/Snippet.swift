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
    /// Of a property that is an array which of its elements, from 0; 0 of any other.
    public let element: Int
    /// Whether the text of the property, or of the element, begins, and ends, with it.
    public let isStart: Bool
    public let isEnd: Bool

    init(_ passage: Passage, _ texts: ShownTexts) {
        self.init(
            passage, texts.sections, property: texts.places[passage.section].property,
            element: texts.places[passage.section].element)
    }

    init(_ passage: Passage, _ sections: [TextSection], property: Int, element: Int) {
        self.property = property
        self.element = element
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

/// Something that a search found in a property that is an array of texts.
public struct ElementHighlight: Sendable, Hashable {
    /// Which of the elements it is in, from 0.
    public let element: Int
    /// Of that element's text: whole characters.
    public let range: Range<String.Index>
}

extension SearchQuery {
    /// Where an entity's text has what the query looks for: whole characters, ascending, apart from each other. Words
    /// are what the full-text index over the property says, or the one that is named, as in a search over it. Reads the
    /// text once. `.invalid` if there is no index of that name over it, and for a query that can't be asked.
    public func highlights<Text: TextValue>(
        _ keyPath: any KeyPath<Entity, Text> & Sendable, of entity: Entity, using index: String? = nil
    ) throws -> [Range<String.Index>] {
        try highlights(SearchedProperty(keyPath), entity, index).map(\.range)
    }

    /// The same in the elements of an array, one after the other.
    public func highlights(
        _ keyPath: any KeyPath<Entity, [String]> & Sendable, of entity: Entity, using index: String? = nil
    ) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath), entity, index)
    }

    public func highlights(
        _ keyPath: any KeyPath<Entity, [String]?> & Sendable, of entity: Entity, using index: String? = nil
    ) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath), entity, index)
    }

    private func highlights(
        _ property: SearchedProperty<Entity>, _ entity: Entity, _ index: String?
    ) throws -> [ElementHighlight] {
        ShownTexts([property], of: entity) { $0 }.highlights(try matcher(showing: [property], using: index))
    }

    /// The passage of some `words` words that has the most of the query's different words, out of all these properties,
    /// arrays of texts among them; the beginning if none has any. Nil if there is no word. Texts are looked at up to
    /// 4 MiB.
    public func snippet<each Text: SearchableText>(
        _ keyPaths: repeat any KeyPath<Entity, each Text> & Sendable, of entity: Entity, words: Int = 24,
        using index: String? = nil
    ) throws -> Snippet? {
        guard words > 0 else { return nil }
        let properties = SearchedProperty<Entity>.list(repeat each keyPaths)
        let texts = ShownTexts(properties, of: entity) { $0 }
        return try matcher(showing: properties, using: index)
            .passage(of: texts.sections, size: words, weight: { _ throws(Never) in 1 })
            .map { Snippet($0, texts) }
    }

    /// What looks for the query in some properties. Fields are columns here.
    private func matcher(
        showing properties: [SearchedProperty<Entity>], using name: String?
    ) throws(HornbeamError) -> QueryMatcher {
        try requireDepth()
        let shape = Entity.entityShape
        let columns = properties.map(\.column).filter { $0 >= 0 }
        let query = query(showing: columns)
        if let problem = query.problem(fieldCount: shape.description.columns.count) {
            throw HornbeamError(.invalid, "in a search of \(Entity.entityName), \(problem)")
        }
        let index = try shape.wording(of: TextMatch(columns: columns, query: query, using: name))
        let analyzer = index.map { $0.knownAnalyzer ?? .words } ?? .standard
        return QueryMatcher(query, analyzer, hasPositions: index?.positions ?? true)
    }
}

extension Ranked {
    /// Where the hit's text has what the search found: whole characters, ascending, apart from each other. Reads the
    /// entity.
    public func highlights<Text: TextValue>(
        _ keyPath: any KeyPath<Entity, Text> & Sendable
    ) throws -> [Range<String.Index>] {
        try highlights(SearchedProperty(keyPath)).map(\.range)
    }

    /// The same in the elements of an array, one after the other.
    public func highlights(_ keyPath: any KeyPath<Entity, [String]> & Sendable) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath))
    }

    public func highlights(_ keyPath: any KeyPath<Entity, [String]?> & Sendable) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath))
    }

    private func highlights(_ property: SearchedProperty<Entity>) throws -> [ElementHighlight] {
        guard let texts = try texts([property]) else { return [] }
        return try context.session.run { session in
            let search = try match.search(session, Entity.self)
            return texts.highlights(QueryMatcher(match.query, of: search.searcher.index))
        }
    }

    /// The passage of some `words` words of these properties, arrays of texts among them, whose different words of the
    /// search weigh most, rare ones more than others; the beginning if there is none. Nil if there is no word. Texts
    /// are looked at up to 4 MiB. Reads the entity, so it works as long as the transaction of the search.
    public func snippet<each Text: SearchableText>(
        _ keyPaths: repeat any KeyPath<Entity, each Text> & Sendable, words: Int = 24
    ) throws -> Snippet? {
        try snippet(of: SearchedProperty<Entity>.list(repeat each keyPaths), words)
    }

    private func snippet(of properties: [SearchedProperty<Entity>], _ words: Int) throws -> Snippet? {
        guard words > 0, let texts = try texts(properties) else { return nil }
        return try context.session.run { session in
            let searcher = try match.search(session, Entity.self).searcher
            let matcher = QueryMatcher(match.query, of: searcher.index)
            let passage = try matcher.passage(of: texts.sections, size: words) { (term) throws(HornbeamError) in
                try searcher.weight(of: term)
            }
            return passage.map { Snippet($0, texts) }
        }
    }

    /// The hit's texts; nil if it is gone. What isn't searched has no field, and is marked all the same.
    private func texts(_ properties: [SearchedProperty<Entity>]) throws -> ShownTexts? {
        try entity.map { entity in
            ShownTexts(properties, of: entity) { match.columns.firstIndex(of: $0) ?? -1 }
        }
    }
}

extension TextMatch {
    fileprivate func search<Entity: EntityModelProtocol>(_ session: TypedTransaction, _: Entity.Type) throws
        -> IndexSearch
    {
        let store = try session.store(Entity.self)
        guard let index = store.type.textIndex(for: self) else {
            throw HornbeamError(
                .invalid, "\(store.type.name) has no full-text index over what was searched: search it again")
        }
        return try IndexSearch(index, self, store)
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
