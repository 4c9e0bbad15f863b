// SPDX-License-Identifier: Apache-2.0
// A term of a sort as a value, for sorts that key paths can't express.

/// A term of a sort: `sorted(by: .score, .by(\.title))`.
public struct Sorting<Entity: EntityModelProtocol>: Sendable {
    let term: SortTerm

    /// Sorts by a property, or by `\.$relation.count`. `.desc` reverses the order.
    public static func by<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property>) -> Self {
        Self(term: SortKey<Entity>(keyPath).term)
    }

    /// Sorts by an optional property, nil first.
    public static func by<Property: Comparable & Sendable>(_ keyPath: KeyPath<Entity, Property?>)
        -> Self
    {
        Self(term: SortKey<Entity>(optional: keyPath).term)
    }

    /// Sorts by metadata that the store keeps of each entity: `.by(.updatedAt.desc)`.
    public static func by(_ metadata: Metadata) -> Self {
        Self(term: SortTerm(metadata, of: Entity.self))
    }

    /// Sorts by the score of the query's full-text match, best first. An index must answer the match.
    public static var score: Self { Self(term: .bestScore) }
}

extension QueryList {
    /// Sorts by these terms. Entities that are equal in the order come in the order of their row ids.
    public consuming func sorted(by terms: Sorting<Entity>...) -> Self {
        sorted(terms.map(\.term))
    }

    public consuming func sorted(by terms: [Sorting<Entity>]) -> Self { sorted(terms.map(\.term)) }
}
