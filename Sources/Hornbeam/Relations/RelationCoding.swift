// SPDX-License-Identifier: Apache-2.0
// Relations as JSON and its like, in one of three forms. Whether a relation was a fragment is never encoded.
//
//                    id           ids              entity           entities            nothing said   null
//     plain          {"id": x}    [{"id": x}, …]   the object       [object, …]         null           null
//     keyed          {"id": x}    {"ids": [x, …]}  {"object": …}    {"objects": […]}    null           {"id": null}
//     explicit       as keyed, and a part of a to-many relation as {"slice_ids": […]} or {"slice": […]}

/// How relations are encoded; set it on a `JSONEncoder`.
public enum RelationEncodingStrategy: Sendable, Hashable {
    /// As people write JSON by hand. What was said explicitly, null or a slice, can't be told afterwards: saving a
    /// decoded slice unlinks all that isn't in it. An object with nothing but an id is read as an id, and so is one
    /// with an id that no entity can be made of, because a property is missing or of another type; of a list with one
    /// of these all are read as ids.
    case plain
    /// A container whose key tells ids from entities, and null from nothing said.
    case keyedContainer
    /// The same, and the key tells a slice, which is added to the links, from a whole relation.
    case explicitKeyedContainer

    /// Another name for `keyedContainer`.
    public static var exact: Self { .keyedContainer }
}

/// Which forms of relations are decoded; set it on a `JSONDecoder`. What is written in several of them is read by the
/// most explicit one.
public struct RelationDecodingStrategy: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    public static let plain = Self(rawValue: 1)
    public static let keyedContainer = Self(rawValue: 2)
    public static let explicitKeyedContainer = Self(rawValue: 4)
    /// Another name for `keyedContainer`.
    public static let exact = keyedContainer
}

extension RelationEncodingStrategy {
    fileprivate init(of encoder: any Encoder) {
        self = CodingUserInfoKey.relationEncoding.flatMap { encoder.userInfo[$0] as? Self } ?? .plain
    }
}

extension RelationDecodingStrategy {
    fileprivate init(of decoder: any Decoder) {
        self = CodingUserInfoKey.relationDecoding.flatMap { decoder.userInfo[$0] as? Self } ?? .plain
    }
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

/// Any key, to see whether there are others than those of a relation.
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

/// What stands for an entity in the plain form: an object that has an id and nothing else is the id, even if an entity
/// could do with that: saved as an entity it would take the other properties from the one that is stored. Only where
/// there are no others it is an entity. One that no entity can be made of is the id in it.
private enum PlainElement<Entity: EntityModelProtocol & Decodable>: Decodable where Entity.ID: Decodable {
    case id(Entity.ID)
    case entity(Entity)

    init(from decoder: any Decoder) throws {
        if let keys = try? decoder.container(keyedBy: AnyKey.self).allKeys, keys.count == 1,
            keys[0].stringValue == RelationKey.id.rawValue, Entity.entityShape.description.columns.count > 2
        {
            self = .id(try decoder.container(keyedBy: RelationKey.self).decode(Entity.ID.self, forKey: .id))
        } else {
            do {
                self = .entity(try Entity(from: decoder))
            } catch {
                guard let coded = try? CodedID<Entity.ID>(from: decoder) else { throw error }
                self = .id(coded.id)
            }
        }
    }
}

// MARK: - Encoding

extension Relation: Encodable where Entity: Encodable, Entity.ID: Encodable {
    public func encode(to encoder: any Encoder) throws {
        switch RelationEncodingStrategy(of: encoder) {
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
    /// A bare null is read as nothing said: what can't be told from a missing property must not remove links.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard !container.decodeNil() else {
            self.init(.none)
            return
        }
        let forms = RelationDecodingStrategy(of: decoder)
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
            switch try PlainElement<Entity>(from: decoder) {
            case .id(let id): self.init(.ids([id]))
            case .entity(let entity): self.init(.entities([entity]))
            }
            return
        }
        var container = try decoder.unkeyedContainer()
        var ids: [Entity.ID] = []
        while !container.isAtEnd {
            guard case .id(let id) = try container.decode(PlainElement<Entity>.self) else {
                self = try Self.entitiesOrIDs(decoder)
                return
            }
            ids.append(id)
        }
        self.init(ids.isEmpty ? .entities([]) : .ids(ids))
    }

    /// Of a list in which one is an entity all are: one whose other properties are nil looks like an id. If they can't
    /// be, all are ids.
    private static func entitiesOrIDs(_ decoder: any Decoder) throws -> Self {
        do {
            return Self(.entities(try [Entity](from: decoder)))
        } catch {
            guard let coded = try? [CodedID<Entity.ID>](from: decoder) else { throw error }
            return Self(.ids(coded.map(\.id)))
        }
    }

    /// Nil if it is no keyed form: an object whose only key is one of a relation's.
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
        case (.object, false): return Self(.entities([try container.decode(Entity.self, forKey: .object)]))
        case (.ids, true): return Self(.ids(try container.decode([Entity.ID].self, forKey: .ids)))
        case (.objects, true): return Self(.entities(try container.decode([Entity].self, forKey: .objects)))
        case (.sliceIds, true) where readsSlices:
            return Self(.ids(try container.decode([Entity.ID].self, forKey: .sliceIds)), isSlice: true)
        case (.slice, true) where readsSlices:
            return Self(.entities(try container.decode([Entity].self, forKey: .slice)), isSlice: true)
        default: return nil
        }
    }
}

extension Relationship: Encodable where Entity: Encodable, Entity.ID: Encodable {
    public func encode(to encoder: any Encoder) throws { try projectedValue.encode(to: encoder) }
}

extension Relationship: Decodable where Entity: Decodable, Entity.ID: Decodable {
    public init(from decoder: any Decoder) throws { self.init(try Relation(from: decoder)) }
}

extension KeyedDecodingContainer {
    /// A missing key says nothing about the relation. Chosen by synthesised code over the standard `decode`.
    public func decode<Value, E, D, C, R>(_ type: Relationship<Value, E, D, C, R>.Type, forKey key: Key) throws
        -> Relationship<Value, E, D, C, R> where E: Decodable, E.ID: Decodable
    {
        try decodeIfPresent(type, forKey: key) ?? .none
    }
}

// MARK: - Coders

extension CodingUserInfoKey {
    // Every text is a key: the initialiser gives nil for none of them.
    static let relationEncoding = CodingUserInfoKey(rawValue: "hornbeam.relationEncoding")
    static let relationDecoding = CodingUserInfoKey(rawValue: "hornbeam.relationDecoding")
}
