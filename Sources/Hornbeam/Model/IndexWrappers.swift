// SPDX-License-Identifier: Apache-2.0
// The property wrappers that declare indexes. Only the macro reads them: they hold nothing, take no space in the
// entity, and stay out of its coding.
//
// Reading an entity makes them anew, with key paths that nothing uses. The compiler omits these only if it sees that
// the initialiser does nothing and the key paths are no parameter pack: hence the inlinable initialisers for up to
// three properties. Without them an entity with two indexes took 300 instructions more.

/// An ordered index over one or more properties, each ascending or `.desc`:
/// `@Index<Self>(\.room, \.sentAt.desc) private var byRoom`.
@propertyWrapper
public struct Index<Entity>: Hashable, Codable, Sendable {
    public init<each Property>(_ keyPaths: repeat KeyPath<Entity, each Property>) {}

    @inlinable @inline(__always)
    public init<A>(_ first: KeyPath<Entity, A>) {}

    @inlinable @inline(__always)
    public init<A, B>(_ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>
    ) {}

    /// An index with a rule for its texts:
    /// `@Index<Self>(\.name, collation: .unicode(locale: "sv")) private var byName`.
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>, collation: @autoclosure () -> TextCollation
    ) {}

    @inlinable @inline(__always)
    public init<A>(_ first: KeyPath<Entity, A>, collation: @autoclosure () -> TextCollation) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, collation: @autoclosure () -> TextCollation
    ) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>,
        collation: @autoclosure () -> TextCollation
    ) {}

    /// An index over metadata that the store keeps of each entity: `@Index<Self>(.updatedAt) private var byUpdate`. It
    /// serves `.updated(within:)` and `sorted(by: .updatedAt)`.
    @inlinable @inline(__always)
    public init(_ metadata: Metadata) {}

    /// An index over one or two properties, then over metadata, to find recent updates among equal values.
    @inlinable @inline(__always)
    public init<A>(_ first: KeyPath<Entity, A>, _ metadata: Metadata) {}

    @inlinable @inline(__always)
    public init<A, B>(_ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ metadata: Metadata) {}

    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

/// An index that answers only equality, over one or more properties. All its entries have one size, however long the
/// values are. Use it for long texts that are looked up but never sorted by, such as URLs.
@propertyWrapper
public struct HashIndex<Entity>: Hashable, Codable, Sendable {
    public init<each Property>(_ keyPaths: repeat KeyPath<Entity, each Property>) {}

    @inlinable @inline(__always)
    public init<A>(_ first: KeyPath<Entity, A>) {}

    @inlinable @inline(__always)
    public init<A, B>(_ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>
    ) {}

    /// An index with a rule for its texts. It finds texts that are equal under the rule, in comparisons by the same
    /// rule. `@HashIndex<Self>(\.url, collation: .asciiCaseInsensitive) private var byURL`.
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>, collation: @autoclosure () -> TextCollation
    ) {}

    @inlinable @inline(__always)
    public init<A>(_ first: KeyPath<Entity, A>, collation: @autoclosure () -> TextCollation) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, collation: @autoclosure () -> TextCollation
    ) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>,
        collation: @autoclosure () -> TextCollation
    ) {}

    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

/// An index that admits each key once. Entities in which one of its properties is nil are exempt. With
/// `nilsDistinct: false` nil is a value like any other, which only one entity may have. With a collation, two keys are
/// one if they are equal under it: `@Unique<Self>(\.email, collation: .caseInsensitive)`. `collisions` determines what
/// a save does when another entity has the key. By default it fails with `.uniqueViolation`.
@propertyWrapper
public struct Unique<Entity: EntityModelProtocol>: Hashable, Codable, Sendable {
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>, nilsDistinct: Bool = true,
        collation: @autoclosure () -> TextCollation = .binary,
        collisions: CollisionResolver<Entity> = .throw
    ) {}

    @inlinable @inline(__always)
    public init<A>(
        _ first: KeyPath<Entity, A>, nilsDistinct: Bool = true,
        collation: @autoclosure () -> TextCollation = .binary, collisions: CollisionResolver<Entity> = .throw
    ) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, nilsDistinct: Bool = true,
        collation: @autoclosure () -> TextCollation = .binary,
        collisions: CollisionResolver<Entity> = .throw
    ) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>,
        nilsDistinct: Bool = true,
        collation: @autoclosure () -> TextCollation = .binary, collisions: CollisionResolver<Entity> = .throw
    ) {}

    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

/// A ranked full-text index over one or more properties of type `String` or `[String]` (each element is a text of its
/// own): `@FullTextIndex<Self>(\.title, \.body) private var search`, or with rules for words,
/// `@FullTextIndex<Self>(\.title, \.body, analyzer: .unicode(stemming: .english)) private var search`.
///
/// With `positions: false` it doesn't store the positions of words in a text, and is about half as large. Searches for
/// words, prefixes, patterns and similar words don't change. Searches for phrases, words near each other and fields,
/// and weights of fields, then have no scores. As conditions they work, but read the texts of all entities that have
/// the words.
///
/// With `where: \.isPublished`, or `where: \.state == .published && \.year > 2000`, it has only the entities that meet
/// the condition; others take no space in it and don't influence scores. A search uses it if its filter has the same
/// condition beside the match, or one that clearly implies it. A search by score whose filter doesn't throws
/// `.invalid`. The condition must be on stored properties, as in `ValueIndex`, and must not change from one run of the
/// program to the next.
@propertyWrapper
public struct FullTextIndex<Entity>: Hashable, Codable, Sendable {
    // The analyzer is an autoclosure that is never called: only the macro reads it, and making it for each entity would
    // cost more than the entity.
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true),
        positions: Bool = true
    ) {}

    @inlinable @inline(__always)
    public init<A>(
        _ first: KeyPath<Entity, A>, analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true),
        positions: Bool = true
    ) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true
    ) {}

    @inlinable @inline(__always)
    public init<A, B, C>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>, _ third: KeyPath<Entity, C>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true
    ) {}

    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

extension FullTextIndex where Entity: EntityModelProtocol {
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true,
        where condition: @autoclosure () -> Predicate<Entity>
    ) {}

    @inlinable @inline(__always)
    public init<A>(
        _ first: KeyPath<Entity, A>, analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true),
        positions: Bool = true, where condition: @autoclosure () -> Predicate<Entity>
    ) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true,
        where condition: @autoclosure () -> Predicate<Entity>
    ) {}

    /// An index of the entities whose property is true: `where: \.isPublished`.
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true,
        where property: KeyPath<Entity, Bool>
    ) {}

    @inlinable @inline(__always)
    public init<A>(
        _ first: KeyPath<Entity, A>, analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true),
        positions: Bool = true, where property: KeyPath<Entity, Bool>
    ) {}

    @inlinable @inline(__always)
    public init<A, B>(
        _ first: KeyPath<Entity, A>, _ second: KeyPath<Entity, B>,
        analyzer: @autoclosure () -> TextAnalyzer = .unicode(keepsAccents: true), positions: Bool = true,
        where property: KeyPath<Entity, Bool>
    ) {}
}

// Synthesised coding prefers these to the standard functions, so that declarations of indexes leave no trace in it.

extension KeyedDecodingContainer {
    public func decode<E>(_ type: Index<E>.Type, forKey key: Key) throws -> Index<E> { .empty }
    public func decode<E>(_ type: HashIndex<E>.Type, forKey key: Key) throws -> HashIndex<E> { .empty }
    public func decode<E>(_ type: Unique<E>.Type, forKey key: Key) throws -> Unique<E> { .empty }
    public func decode<E>(_ type: FullTextIndex<E>.Type, forKey key: Key) throws -> FullTextIndex<E> { .empty }
}

extension KeyedEncodingContainer {
    public mutating func encode<E>(_ value: Index<E>, forKey key: Key) throws {}
    public mutating func encode<E>(_ value: HashIndex<E>, forKey key: Key) throws {}
    public mutating func encode<E>(_ value: Unique<E>, forKey key: Key) throws {}
    public mutating func encode<E>(_ value: FullTextIndex<E>, forKey key: Key) throws {}
}
