// SPDX-License-Identifier: Apache-2.0
// The property wrappers that declare indexes. They are for the macro to read: they hold nothing, take no space in the
// entity, and stay out of its coding.

/// An ordered index over one or more properties, each ascending or `.desc`:
/// `@Index<Self>(\.room, \.sentAt.desc) private var byRoom`.
@propertyWrapper
public struct Index<Entity>: Hashable, Codable, Sendable {
    public init<each Property>(_ keyPaths: repeat KeyPath<Entity, each Property>) {}
    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

/// An index that admits each key once. Entities in which one of its properties is nil are exempt.
@propertyWrapper
public struct Unique<Entity: EntityModelProtocol>: Hashable, Codable, Sendable {
    public init<each Property>(
        _ keyPaths: repeat KeyPath<Entity, each Property>, collisions: CollisionResolver<Entity> = .upsert
    ) {}
    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

/// A ranked full-text index over one or more string properties.
@propertyWrapper
public struct FullTextIndex<Entity>: Hashable, Codable, Sendable {
    public init<each Property>(_ keyPaths: repeat KeyPath<Entity, each Property>) {}
    private init(empty: Void) {}
    public var wrappedValue: Never.Type? { nil }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    static var empty: Self { Self(empty: ()) }
}

// Chosen by synthesised coding over the standard functions, so that declarations of indexes leave no trace.

extension KeyedDecodingContainer {
    public func decode<E>(_ type: Index<E>.Type, forKey key: Key) throws -> Index<E> { .empty }
    public func decode<E>(_ type: Unique<E>.Type, forKey key: Key) throws -> Unique<E> { .empty }
    public func decode<E>(_ type: FullTextIndex<E>.Type, forKey key: Key) throws -> FullTextIndex<E> { .empty }
}

extension KeyedEncodingContainer {
    public mutating func encode<E>(_ value: Index<E>, forKey key: Key) throws {}
    public mutating func encode<E>(_ value: Unique<E>, forKey key: Key) throws {}
    public mutating func encode<E>(_ value: FullTextIndex<E>, forKey key: Key) throws {}
}
