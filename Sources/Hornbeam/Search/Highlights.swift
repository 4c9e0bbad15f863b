// SPDX-License-Identifier: Apache-2.0
// Passages and highlights in the texts of entities.

import HornbeamText

extension Snippet {
    init(_ passage: Passage, _ texts: ShownTexts) {
        self.init(
            passage, texts.sections, property: texts.places[passage.section].property,
            element: texts.places[passage.section].element)
    }
}

/// A match in a property that is an array of texts.
public struct ElementHighlight: Sendable, Hashable {
    /// The position of the element in the array, from 0.
    public let element: Int
    /// The range in the element's text, in whole characters.
    public let range: Range<String.Index>
}

extension SearchQuery {
    /// Returns the ranges of an entity's text that the query matches: whole characters, ascending, without overlaps.
    /// The analyzer of the full-text index over the property, or of the index with this name, makes the words, as in a
    /// search. O(n) in the length of the text. Throws `.invalid` if no index of that name is over the property, and for
    /// a query that a search would refuse.
    public func highlights<Text: TextValue>(
        _ keyPath: KeyPath<Entity, Text>, of entity: Entity, using index: String? = nil
    ) throws -> [Range<String.Index>] {
        try highlights(SearchedProperty(keyPath), entity, index).map(\.range)
    }

    /// Returns the ranges in the elements of an array that the query matches, in the order of the elements.
    public func highlights(
        _ keyPath: KeyPath<Entity, [String]>, of entity: Entity, using index: String? = nil
    ) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath), entity, index)
    }

    public func highlights(
        _ keyPath: KeyPath<Entity, [String]?>, of entity: Entity, using index: String? = nil
    ) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath), entity, index)
    }

    private func highlights(
        _ property: SearchedProperty<Entity>, _ entity: Entity, _ index: String?
    ) throws -> [ElementHighlight] {
        ShownTexts([property], of: entity) { $0 }.highlights(try matcher(showing: [property], using: index))
    }

    /// Returns the passage of about `words` words with the most different words of the query, from all these
    /// properties. They may be arrays of texts. If no passage has any, it is the beginning of the texts. Returns nil if
    /// the texts have no words. Reads at most 4 MiB of texts.
    public func snippet<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, of entity: Entity, words: Int = 24,
        using index: String? = nil
    ) throws -> Snippet? {
        guard words > 0 else { return nil }
        let properties = SearchedProperty<Entity>.list(repeat each keyPaths)
        let texts = ShownTexts(properties, of: entity) { $0 }
        return try matcher(showing: properties, using: index)
            .passage(of: texts.sections, size: words, weight: { _ throws(Never) in 1 })
            .map { Snippet($0, texts) }
    }

    /// Returns a matcher of the query for some properties. Its fields are columns.
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
        let match = TextMatch(columns: columns, query: query, using: name)
        return match.matcher(by: try shape.wording(of: match))
    }
}

extension Ranked {
    /// Returns the ranges of the hit's text that the search found: whole characters, ascending, without overlaps. Reads
    /// the entity.
    public func highlights<Text: TextValue>(
        _ keyPath: KeyPath<Entity, Text>
    ) throws -> [Range<String.Index>] {
        try highlights(SearchedProperty(keyPath)).map(\.range)
    }

    /// Returns the ranges in the elements of an array that the search found, in the order of the elements.
    public func highlights(_ keyPath: KeyPath<Entity, [String]>) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath))
    }

    public func highlights(_ keyPath: KeyPath<Entity, [String]?>) throws -> [ElementHighlight] {
        try highlights(SearchedProperty(keyPath))
    }

    private func highlights(_ property: SearchedProperty<Entity>) throws -> [ElementHighlight] {
        guard let texts = try texts([property]) else { return [] }
        return try context.session.run { session in
            let search = try match.search(session, Entity.self)
            return texts.highlights(QueryMatcher(match.query, of: search.searcher.index))
        }
    }

    /// Returns the best passage of about `words` words from these properties, which may be arrays of texts. Each
    /// different word of the search counts once, and rare words count more. If no passage has any, it is the beginning
    /// of the texts. Returns nil if the texts have no words. Reads at most 4 MiB of texts. Reads the entity, so the
    /// transaction of the search must still be open.
    public func snippet<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>, words: Int = 24
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

    /// Returns the hit's texts, or nil if the entity is gone. A property that isn't searched has no field, but its
    /// matches are marked too.
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
                .invalid,
                "\(store.type.name) has no full-text index over the searched properties any more: search again")
        }
        return try IndexSearch(index, self, store)
    }
}
