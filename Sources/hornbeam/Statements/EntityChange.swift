// SPDX-License-Identifier: Apache-2.0
// A change of one entity, as the studio's page sends it. Values and ids are the texts of their fields; null stands for
// null.
//
//     {"change": "insert", "type": "City", "values": {"id": "7", "name": "Oslo"}, "relations": {"country": ["no"]}}
//     {"change": "update", "type": "City", "row": "7", "values": {"name": "Lund", "note": null}}
//     {"change": "link", "type": "Country", "row": "1", "relations": {"cities": ["7", "8"]}}    or "unlink"
//     {"change": "delete", "type": "City", "row": "7"}

package import Hornbeam

package struct EntityChange {
    package enum Kind: String {
        case insert, update, delete
        /// Adds links to a to-many relation, or sets the link of a to-one relation.
        case link
        case unlink
    }

    package let kind: Kind
    package let type: String
    /// The changed entity's row; nil for a new entity.
    package let row: UInt64?
    package let values: [(name: String, text: String?)]
    package let relations: [(name: String, ids: [String])]

    /// Reads a change from JSON. Throws `.invalid` if it isn't one.
    package init(json: UnsafeRawBufferPointer) throws {
        var body = try RequestBody(json, "a change")
        let word = try body.required("change")
        guard let kind = Kind(rawValue: word) else {
            throw HornbeamError(.invalid, "a change is “insert”, “update”, “link”, “unlink” or “delete”")
        }
        self.kind = kind
        type = try body.required("type")
        row = try kind == .insert ? nil : Self.row(body.required("row"))
        values = try [.insert, .update].contains(kind) ? body.object("values").map(Self.value) : []
        relations = try kind == .delete ? [] : body.object("relations").map(Self.relation)
        try body.requireEmpty()
        let isEmpty = values.isEmpty && relations.isEmpty
        if isEmpty, ![.insert, .delete].contains(kind) { throw HornbeamError(.invalid, "there is nothing to change") }
    }

    private static func row(_ text: String) throws -> UInt64 {
        guard let number = UInt64(text) else { throw HornbeamError(.invalid, "“row” must be a whole number") }
        return number
    }

    private static func value(_ member: (name: String, value: JSONNode)) throws -> (name: String, text: String?) {
        switch member.value {
        case .null: return (member.name, nil)
        case .string(let text): return (member.name, text)
        default: throw HornbeamError(.invalid, "the value of “\(member.name.shown())” must be a text or null")
        }
    }

    private static func relation(_ member: (name: String, value: JSONNode)) throws -> (name: String, ids: [String]) {
        guard case .array(let nodes) = member.value else {
            throw HornbeamError(.invalid, "“\(member.name.shown())” must be an array of ids")
        }
        let ids = nodes.compactMap { if case .string(let text) = $0 { text } else { nil } }
        guard ids.count == nodes.count else {
            throw HornbeamError(.invalid, "the ids of “\(member.name.shown())” must be texts")
        }
        return (member.name, ids)
    }
}

/// The reasons why a change is refused, each with its property or relation.
package struct FieldErrors: Error, CustomStringConvertible {
    package let code: HornbeamError.Code
    package let fields: [(name: String, message: String)]

    package var description: String { fields.map { "\($0.name): \($0.message)" }.joined(separator: "\n") }
}

extension EntityChange {
    /// Reads a field's text as a value of this type; nil is null. If that fails, `flaw` is the reason.
    static func value(_ text: String?, as type: ColumnType) -> (value: Value, flaw: String?) {
        guard let text else { return (.null, type.isOptional ? nil : "it can't be null") }
        let node: JSONNode
        switch type.unwrapped {
        case .string, .url, .uuid, .data: node = .string(text)
        case .json, .array:
            do throws(HornbeamError) {
                node = try JSONParser.parse(text)
            } catch {
                return (.null, error.message)
            }
        default:
            let parsed = try? JSONParser.parse(text)
            switch parsed {
            case .number?, .bool?: node = parsed ?? .null
            default: node = .string(text)
            }
        }
        if let value = JSONRows.value(node, as: type) { return (value, nil) }
        return (.null, JSONRows.reason(node, as: type))
    }
}
