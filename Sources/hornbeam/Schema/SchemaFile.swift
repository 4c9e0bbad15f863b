// SPDX-License-Identifier: Apache-2.0
// Entity types as a JSON file for people: `{"entities": [{"name": …, "columns": […], …}]}`. Optional keys have
// defaults; an unknown key is an error, so that a misspelt key never loses an index.

import Foundation
import Hornbeam

enum SchemaFile {
    /// Reads the entity types of a file; `-` is standard input.
    static func read(_ path: String) throws -> [EntityDescription] {
        var reader = try LineReader.open(path)
        var data = Data()
        while let line = try reader.next() {
            data.append(contentsOf: line)
            data.append(UInt8(ascii: "\n"))
        }
        return try parse(data, path: reader.path)
    }

    /// `path` is for messages.
    static func parse(_ data: Data, path: String) throws -> [EntityDescription] {
        do {
            return try JSONDecoder().decode(File.self, from: data).entities.map(\.description)
        } catch let error as DecodingError {
            // Foundation's error doesn't give the position.
            let flaw = data.withUnsafeBytes { Value.flaw(inJSON: $0) }
            throw CommandError("\(path): \(flaw ?? message(error))")
        }
    }

    /// Writes entities in the form that `parse` reads, complete and with sorted keys.
    static func text(_ entities: [EntityDescription]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Left out: the system that makes an index sets the version of its collation.
        let unversioned = entities.map { entity in
            var entity = entity
            for place in entity.indexes.indices {
                entity.indexes[place].collationVersion = nil
                // A file that names no analyzer asks for the default one.
                if entity.indexes[place].kind == .text, entity.indexes[place].analyzer == nil {
                    entity.indexes[place].analyzer = "words"
                }
            }
            return entity
        }
        return String(
            decoding: try encoder.encode(["entities": unversioned.map(WrittenEntity.init)]), as: UTF8.self)
    }

    /// The message of a decoding error, with the path to its position: `entities[0].columns[2].type`.
    private static func message(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context): "\(place(context.codingPath)): “\(key.stringValue)” is missing"
        case .valueNotFound(_, let context), .typeMismatch(_, let context):
            "\(place(context.codingPath)): a value of another kind is expected here"
        case .dataCorrupted(let context):
            "\(place(context.codingPath)): \(context.debugDescription)"
        @unknown default: "\(error)"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        if path.isEmpty { return "at the top" }
        return path.reduce("") { text, key in
            key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
        }
    }
}

/// A key of any name, to find unknown keys.
private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Returns the container. Throws if it has a key that `Key` doesn't declare.
    fileprivate func fields<Key: CodingKey & CaseIterable>(_: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let known = Key.allCases.map(\.stringValue)
        for key in try container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            let hint = NearestName.hint(key.stringValue, among: known) ?? "known are \(known.joined(separator: ", "))"
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath + [key], debugDescription: "unknown key; \(hint)"))
        }
        return try container(keyedBy: Key.self)
    }
}

private struct File: Decodable {
    enum Key: String, CodingKey, CaseIterable { case entities }

    var entities: [Entity]

    init(from decoder: any Decoder) throws {
        entities = try decoder.fields(Key.self).decode([Entity].self, forKey: .entities)
    }
}

private struct Entity: Decodable {
    enum Key: String, CodingKey, CaseIterable { case name, columns, indexes, relations }

    var description: EntityDescription

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(Key.self)
        let indexes = try fields.decodeIfPresent([Index].self, forKey: .indexes) ?? []
        description = EntityDescription(
            name: try fields.decode(String.self, forKey: .name),
            columns: try fields.decode([Column].self, forKey: .columns).map(\.description),
            indexes: indexes.map(\.description),
            relations: try (fields.decodeIfPresent([Relation].self, forKey: .relations) ?? []).map(\.description))
        for (place, index) in indexes.enumerated() {
            guard case .text(let text) = index.condition else { continue }
            do throws(HornbeamError) {
                description.indexes[place].condition = try StoredCondition(statement: text, description)
            } catch {
                let flaw = "index “\(index.description.name)”: \(error.message)"
                throw DecodingError.dataCorruptedError(forKey: .indexes, in: fields, debugDescription: flaw)
            }
        }
    }
}

/// An index's condition: as the text of a WHERE if a statement can express it, otherwise in its stored form.
private enum WrittenCondition: Codable {
    case text(String)
    case stored(StoredCondition)

    init(_ condition: StoredCondition, _ type: EntityDescription) {
        self = condition.statement(type).map { .text($0) } ?? .stored(condition)
    }

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .text(text)
        } else {
            self = .stored(try StoredCondition(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text): try text.encode(to: encoder)
        case .stored(let condition): try condition.encode(to: encoder)
        }
    }
}

/// An entity type with the conditions of its indexes as a person writes them.
private struct WrittenEntity: Encodable {
    let entity: EntityDescription

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Entity.Key.self)
        try fields.encode(entity.name, forKey: .name)
        try fields.encode(entity.columns, forKey: .columns)
        try fields.encode(entity.indexes.map { WrittenIndex(index: $0, entity: entity) }, forKey: .indexes)
        try fields.encode(entity.relations, forKey: .relations)
    }
}

private struct WrittenIndex: Encodable {
    let index: IndexDescription
    let entity: EntityDescription

    func encode(to encoder: any Encoder) throws {
        try index.encode(to: encoder)
        guard let condition = index.condition else { return }
        var fields = encoder.container(keyedBy: Index.Key.self)
        try fields.encode(WrittenCondition(condition, entity), forKey: .where)
    }
}

private struct Column: Decodable {
    enum Key: String, CodingKey, CaseIterable { case name, type }

    var description: ColumnDescription

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(Key.self)
        description = ColumnDescription(
            name: try fields.decode(String.self, forKey: .name),
            type: try fields.decode(ColumnType.self, forKey: .type))
    }
}

private struct Index: Decodable {
    enum Key: String, CodingKey, CaseIterable {
        case name, kind, components, analyzer, positions, nilsDistinct, collation, `where`
    }

    var description: IndexDescription
    /// The condition in the form of the file. `Entity` binds it, because that needs the whole type.
    let condition: WrittenCondition?

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(Key.self)
        let kindName = try fields.decodeIfPresent(String.self, forKey: .kind) ?? "value"
        guard let kind = IndexDescription.Kind(rawValue: kindName) else {
            throw DecodingError.dataCorruptedError(
                forKey: .kind, in: fields, debugDescription: "“\(kindName)” is none of value, unique, hash, text")
        }
        let analyzer = try fields.decodeIfPresent(String.self, forKey: .analyzer)
        var index = IndexDescription(
            name: try fields.decode(String.self, forKey: .name), kind: kind,
            components: try fields.decode([Component].self, forKey: .components).map(\.description),
            analyzer: analyzer == "words" ? nil : analyzer,
            positions: try fields.decodeIfPresent(Bool.self, forKey: .positions) ?? true,
            nilsDistinct: try fields.decodeIfPresent(Bool.self, forKey: .nilsDistinct) ?? true,
            collation: try fields.decodeIfPresent(String.self, forKey: .collation))
        if kind == .text, analyzer == nil { index.nameNoAnalyzer() }
        condition = try fields.decodeIfPresent(WrittenCondition.self, forKey: .where)
        if case .stored(let condition) = condition { index.condition = condition }
        // A collation that this system lacks is refused later, when the schema is applied.
        description = index.renewed ?? index
    }
}

/// `"size"`, `"-size"` for descending, or the long form.
private struct Component: Decodable {
    enum Key: String, CodingKey, CaseIterable { case column, descending }

    var description: IndexDescription.Component

    init(from decoder: any Decoder) throws {
        if let name = try? decoder.singleValueContainer().decode(String.self) {
            let descending = name.hasPrefix("-")
            description = .init(column: descending ? String(name.dropFirst()) : name, descending: descending)
            return
        }
        let fields = try decoder.fields(Key.self)
        description = .init(
            column: try fields.decode(String.self, forKey: .column),
            descending: try fields.decodeIfPresent(Bool.self, forKey: .descending) ?? false)
    }
}

private struct Relation: Decodable {
    enum Key: String, CodingKey, CaseIterable { case name, target, toMany, required, inverse, deleteRule }

    var description: RelationDescription

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(Key.self)
        let ruleName = try fields.decodeIfPresent(String.self, forKey: .deleteRule) ?? "nullify"
        guard let rule = RelationDescription.DeleteRule(rawValue: ruleName) else {
            let rules = RelationDescription.DeleteRule.allCases.map(\.rawValue).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: .deleteRule, in: fields, debugDescription: "“\(ruleName)” is none of \(rules)")
        }
        description = RelationDescription(
            name: try fields.decode(String.self, forKey: .name),
            target: try fields.decode(String.self, forKey: .target),
            toMany: try fields.decode(Bool.self, forKey: .toMany),
            required: try fields.decodeIfPresent(Bool.self, forKey: .required) ?? false,
            inverse: try fields.decodeIfPresent(String.self, forKey: .inverse), deleteRule: rule)
    }
}
