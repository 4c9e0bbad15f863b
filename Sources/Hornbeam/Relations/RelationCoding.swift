// SPDX-License-Identifier: Apache-2.0
// Relations as JSON and its like, in the plain form: an id is `{"id": x}`, an entity its object, nothing or null is
// null, to-many an array of these. Whether a relation was a slice or a fragment is not encoded.

/// `{"id": x}`.
private struct CodedID<ID> {
    let id: ID
    enum CodingKeys: CodingKey {
        case id
    }
}

extension CodedID: Encodable where ID: Encodable {}
extension CodedID: Decodable where ID: Decodable {}

extension Relation: Encodable where Entity: Encodable, Entity.ID: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch content {
        case .none, .null: try container.encodeNil()
        case .ids(let ids) where Cardinality.isToMany: try container.encode(ids.map(CodedID.init))
        case .ids(let ids): try ids.first.map { try container.encode(CodedID(id: $0)) } ?? container.encodeNil()
        case .entities(let entities) where Cardinality.isToMany: try container.encode(entities)
        case .entities(let entities): try entities.first.map { try container.encode($0) } ?? container.encodeNil()
        }
    }
}

extension Relation: Decodable where Entity: Decodable, Entity.ID: Decodable {
    /// Null is read as nothing said: what can't be told from a missing property must not remove links.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard !container.decodeNil() else {
            self.init(.none)
            return
        }
        if Cardinality.isToMany {
            if let entities = try? container.decode([Entity].self) {
                self.init(.entities(entities))
            } else {
                self.init(.ids(try container.decode([CodedID<Entity.ID>].self).map(\.id)))
            }
        } else if let entity = try? container.decode(Entity.self) {
            self.init(.entities([entity]))
        } else {
            self.init(.ids([try container.decode(CodedID<Entity.ID>.self).id]))
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
