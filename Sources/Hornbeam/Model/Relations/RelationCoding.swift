// SPDX-License-Identifier: Apache-2.0
// Relations in JSON and other formats, in one of three forms. Whether a relation was a fragment is never encoded.
//
//                    id           ids              entity           entities            nothing said   null
//     plain          {"id": x}    [{"id": x}, …]   the object       [object, …]         null           null
//     keyed          {"id": x}    {"ids": [x, …]}  {"object": …}    {"objects": […]}    null           {"id": null}
//     explicit       as keyed, and a part of a to-many relation as {"slice_ids": […]} or {"slice": […]}

/// The form in which relations are encoded. Set it on a `JSONEncoder`.
public enum RelationEncodingStrategy: Sendable, Hashable {
    /// Plain objects and arrays, like JSON that is written by hand. An explicit null or slice isn't preserved: saving a
    /// decoded slice unlinks all other entities. An object with only an id is read as an id. So is an object with an id
    /// that isn't a complete entity, because a property is missing or has another type. If a list has such an object,
    /// all of its elements are read as ids.
    case plain
    /// A container whose key distinguishes ids from entities, and null from an absent value.
    case keyedContainer
    /// Like `keyedContainer`, but the key also distinguishes a slice, which is added to the links, from a whole
    /// relation.
    case explicitKeyedContainer
}

/// The forms in which relations are decoded. Set it on a `JSONDecoder`. If JSON fits several forms, the most explicit
/// one is used.
public struct RelationDecodingStrategy: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Decodes plain objects and arrays.
    public static let plain = Self(rawValue: 1)
    /// Decodes containers whose key distinguishes ids from entities.
    public static let keyedContainer = Self(rawValue: 2)
    /// Decodes containers whose key also distinguishes slices.
    public static let explicitKeyedContainer = Self(rawValue: 4)
}

extension RelationEncodingStrategy {
    /// The strategy of encoders that don't set one.
    public static let `default` = plain
    /// The key of the strategy in an encoder's `userInfo`, for encoders of all kinds.
    public static let userInfoKey = CodingUserInfoKey.named("hornbeam.relationEncoding")

    init(_ userInfo: [CodingUserInfoKey: Any]) { self = userInfo[Self.userInfoKey] as? Self ?? .default }
}

extension RelationDecodingStrategy {
    /// The strategy of decoders that don't set one.
    public static let `default` = plain
    /// The key of the strategy in a decoder's `userInfo`, for decoders of all kinds.
    public static let userInfoKey = CodingUserInfoKey.named("hornbeam.relationDecoding")

    init(_ userInfo: [CodingUserInfoKey: Any]) { self = userInfo[Self.userInfoKey] as? Self ?? .default }
}

extension Encoder {
    /// The strategy for encoding relations, for a custom `encode(to:)`.
    public var relationEncodingStrategy: RelationEncodingStrategy { .init(userInfo) }
}

extension Decoder {
    /// The strategy for decoding relations, for a custom `init(from:)`.
    public var relationDecodingStrategy: RelationDecodingStrategy { .init(userInfo) }
}

/// `{"id": x}`.
private struct CodedID<ID> {
    let id: ID
    enum CodingKeys: CodingKey {
        case id
    }
}

extension CodedID: Encodable where ID: Encodable {}
extension CodedID: Decodable where ID: Decodable {}

private enum RelationKey: String, CodingKey {
    case id
    case ids
    case object
    case objects
    case sliceIds = "slice_ids"
    case slice
}

/// Any key, to find keys other than those of a relation.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        return nil
    }
}

/// The id that represents an entity in the plain form, or nil for an entity. An object with only an id is read as the
/// id, even if an entity needs no more: saving it as an entity would replace the stored entity's other properties, or
/// create an entity that the JSON only links to.
private struct PlainID<Entity: EntityModelProtocol>: Decodable where Entity.ID: Decodable {
    let id: Entity.ID?

    init(from decoder: any Decoder) throws {
        guard let keys = try? decoder.container(keyedBy: AnyKey.self).allKeys, keys.count == 1,
            keys[0].stringValue == RelationKey.id.rawValue
        else {
            id = nil
            return
        }
        id = try decoder.container(keyedBy: RelationKey.self).decode(Entity.ID.self, forKey: .id)
    }
}

/// Reads entities nested in a relation.
private func decodingNested<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
    try CodedNesting.descend(into: "\(name) can't be decoded")
    defer { CodedNesting.ascend() }
    return try body()
}

/// Decodes an entity, or only the id if no entity can be made of the value.
private func entityOrID<Coded: Decodable, ID: Decodable>(
    _ decoder: any Decoder, _ name: String, _: Coded.Type, _: ID.Type
) throws -> (entity: Coded?, id: ID?) {
    do {
        return (try decodingNested(name) { try Coded(from: decoder) }, nil)
    } catch let error as HornbeamError {
        // The error of too deep nesting. Reading an id instead would silently cut the value off.
        throw error
    } catch {
        guard let coded = try? ID(from: decoder) else { throw error }
        return (nil, coded)
    }
}

// MARK: - Encoding

extension Relation: Encodable where Entity: Encodable, Entity.ID: Encodable {
    public func encode(to encoder: any Encoder) throws {
        guard case .entities = content else { return try encodeContent(to: encoder) }
        try CodedNesting.descend(into: "\(Entity.entityName) can't be encoded")
        defer { CodedNesting.ascend() }
        try encodeContent(to: encoder)
    }

    private func encodeContent(to encoder: any Encoder) throws {
        switch encoder.relationEncodingStrategy {
        case .plain: try encodePlain(to: encoder)
        case .keyedContainer: try encodeKeyed(to: encoder, tellsSlices: false)
        case .explicitKeyedContainer: try encodeKeyed(to: encoder, tellsSlices: true)
        }
    }

    private func encodePlain(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch content {
        case .none, .null: try container.encodeNil()
        case .ids(let ids) where Cardinality.isToMany: try container.encode(ids.map(CodedID.init))
        case .ids(let ids): try ids.first.map { try container.encode(CodedID(id: $0)) } ?? container.encodeNil()
        case .entities(let entities) where Cardinality.isToMany: try container.encode(entities)
        case .entities(let entities): try entities.first.map { try container.encode($0) } ?? container.encodeNil()
        }
    }

    private func encodeKeyed(to encoder: any Encoder, tellsSlices: Bool) throws {
        if case .none = content {
            var container = encoder.singleValueContainer()
            return try container.encodeNil()
        }
        var container = encoder.container(keyedBy: RelationKey.self)
        let isSlice = isSlice && tellsSlices
        switch content {
        case .none: break
        case .null: try container.encodeNil(forKey: .id)
        case .ids(let ids) where Cardinality.isToMany: try container.encode(ids, forKey: isSlice ? .sliceIds : .ids)
        case .ids(let ids): try container.encode(ids.first, forKey: .id)
        case .entities(let entities) where Cardinality.isToMany:
            try container.encode(entities, forKey: isSlice ? .slice : .objects)
        case .entities(let entities): try container.encode(entities.first, forKey: .object)
        }
    }
}

// MARK: - Decoding

extension Relation: Decodable where Entity: Decodable, Entity.ID: Decodable {
    /// A bare null is read as an absent value, because it can't be distinguished from a missing property and must not
    /// remove links.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard !container.decodeNil() else {
            self.init(.none)
            return
        }
        let forms = decoder.relationDecodingStrategy
        if !forms.isDisjoint(with: [.keyedContainer, .explicitKeyedContainer]),
            let relation = try Self.keyed(decoder, readsSlices: forms.contains(.explicitKeyedContainer))
        {
            self = relation
            return
        }
        guard forms.contains(.plain) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "a relation needs an object with one of the keys id, ids, object, objects"
                        + (forms.contains(.explicitKeyedContainer) ? ", slice_ids, slice" : "")
                        + "; or decode the plain form too"))
        }
        try self.init(plain: decoder)
    }

    private init(plain decoder: any Decoder) throws {
        guard Cardinality.isToMany else {
            if let id = try PlainID<Entity>(from: decoder).id {
                self.init(.ids([id]))
                return
            }
            let found = try entityOrID(decoder, Entity.entityName, Entity.self, CodedID<Entity.ID>.self)
            self.init(found.entity.map { .entities([$0]) } ?? .ids(found.id.map { [$0.id] } ?? []))
            return
        }
        var container = try decoder.unkeyedContainer()
        var ids: [Entity.ID] = []
        while !container.isAtEnd {
            // Doesn't decode the entity: decoding it here and again with the list would double the work at each level.
            guard let id = try container.decode(PlainID<Entity>.self).id else {
                // If one element of a list is an entity, all are: an entity whose other properties are nil looks like
                // an id. If they can't all be entities, all are ids.
                let found = try entityOrID(decoder, Entity.entityName, [Entity].self, [CodedID<Entity.ID>].self)
                self.init(found.entity.map { .entities($0) } ?? .ids(found.id.map { $0.map(\.id) } ?? []))
                return
            }
            ids.append(id)
        }
        self.init(ids.isEmpty ? .entities([]) : .ids(ids))
    }

    /// Decodes the keyed form, an object whose only key is one of a relation's. Returns nil for any other form.
    private static func keyed(_ decoder: any Decoder, readsSlices: Bool) throws -> Self? {
        guard let all = try? decoder.container(keyedBy: AnyKey.self), all.allKeys.count == 1,
            let key = all.allKeys.first.flatMap({ RelationKey(rawValue: $0.stringValue) })
        else { return nil }
        let container = try decoder.container(keyedBy: RelationKey.self)
        switch (key, Cardinality.isToMany) {
        case (.id, false):
            guard let id = try container.decodeIfPresent(Entity.ID.self, forKey: .id) else {
                return Self(Constraints.isRequired ? .none : .null)
            }
            return Self(.ids([id]))
        case (.object, false):
            let entity = try decodingNested(Entity.entityName) { try container.decode(Entity.self, forKey: .object) }
            return Self(.entities([entity]))
        case (.ids, true): return Self(.ids(try container.decode([Entity.ID].self, forKey: .ids)))
        case (.objects, true): return Self(.entities(try list(container, .objects)))
        case (.sliceIds, true) where readsSlices:
            return Self(.ids(try container.decode([Entity.ID].self, forKey: .sliceIds)), isSlice: true)
        case (.slice, true) where readsSlices:
            return Self(.entities(try list(container, .slice)), isSlice: true)
        default: return nil
        }
    }

    private static func list(_ container: KeyedDecodingContainer<RelationKey>, _ key: RelationKey) throws -> [Entity] {
        try decodingNested(Entity.entityName) { try container.decode([Entity].self, forKey: key) }
    }
}

extension Relationship: Encodable where Entity: Encodable, Entity.ID: Encodable {
    public func encode(to encoder: any Encoder) throws { try projectedValue.encode(to: encoder) }
}

extension Relationship: Decodable where Entity: Decodable, Entity.ID: Decodable {
    public init(from decoder: any Decoder) throws { self.init(try Relation(from: decoder)) }
}

extension KeyedDecodingContainer {
    /// Decodes a missing key as an unset relation. Synthesised code prefers this to the standard `decode`.
    public func decode<Value, E, D, C, R>(_ type: Relationship<Value, E, D, C, R>.Type, forKey key: Key) throws
        -> Relationship<Value, E, D, C, R> where E: Decodable, E.ID: Decodable
    {
        try decodeIfPresent(type, forKey: key) ?? .none
    }
}

// MARK: - Coders

extension CodingUserInfoKey {
    /// The initialiser is failable only because its protocol's is: every text is a key.
    fileprivate static func named(_ name: String) -> Self {
        guard let key = Self(rawValue: name) else { preconditionFailure("a text is no key of userInfo") }
        return key
    }
}
