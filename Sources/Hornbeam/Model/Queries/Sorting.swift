// SPDX-License-Identifier: Apache-2.0
// One term of a sort as a value, for sorts that key paths alone can't say.

/// A term of a sort: `sorted(by: .score, .by(\.title))`.
public struct Sorting<Entity: EntityModelProtocol>: Sendable {
    let term: SortTerm

    /// By a property, or by `\.$relation.count`; with `.desc` the other way round.
    public static func by<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property>) -> Self {
        Self(term: SortKey<Entity>(keyPath).term)
    }

    /// By an optional property, nil first.
    public static func by<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property?>)
        -> Self
    {
        Self(term: SortKey<Entity>(optional: keyPath).term)
    }

    /// By what the store keeps of each entity: `.by(.updatedAt.desc)`.
    public static func by(_ metadata: Metadata) -> Self {
        Self(term: SortTerm(metadata, of: Entity.self))
    }

    /// By the score of the query's full-text match, best first. The match must be by an index.
    public static var score: Self { Self(term: .bestScore) }
}

extension QueryList {
    /// In the order of these terms; equal ones come in the order of their row ids.
    public consuming func sorted(by terms: Sorting<Entity>...) -> Self {
        sorted(terms.map(\.term))
    }

    public consuming func sorted(by terms: [Sorting<Entity>]) -> Self { sorted(terms.map(\.term)) }
}
