// SPDX-License-Identifier: Apache-2.0
// The statement that makes a change. Each property has its own line, so that the line of an error gives the property.
//
//     UPDATE City
//     SET name = ?,
//         note = ?
//     WHERE id = ?

package import Hornbeam

package struct ChangeStatement {
    package private(set) var text = ""
    package private(set) var parameters: [Value] = []
    /// Swift code for the change.
    package let swift: String
    private let type: EntityDescription
    /// The property or relation on each line of the text; empty if there is none.
    private var fields: [String] = []

    /// Throws `FieldErrors` if values or relations of the change don't fit the type.
    /// - Parameters:
    ///   - id: the changed entity's id; nil for a new entity.
    ///   - idType: returns the type of an entity type's ids, or nil if there is no such type.
    ///   - remaining: returns the ids that a to-many relation keeps when the link to `target` is removed, if `target`
    ///     isn't stored; otherwise nil. Statements don't read such links, so they can't remove one by itself.
    package init(
        _ change: EntityChange, of type: EntityDescription, id: Value?, idType: (String) -> ColumnType?,
        remaining: (_ relation: String, _ target: Value) throws -> [Value]? = { _, _ in nil }
    ) throws {
        self.type = type
        let given = try ChangedFields(change, of: type, idType)
        swift = ChangeSwift.text(change.kind, given, type, id)
        switch change.kind {
        case .insert: insert(given)
        case .update, .link, .unlink: try update(change.kind, given, remaining)
        case .delete: add("DELETE FROM \(Self.spelling(type.name))")
        }
        guard let id, let name = type.columns.first?.name else { return }
        add("WHERE \(Self.spelling(name)) = ?", id)
    }

    private static func spelling(_ name: String) -> String { StatementCompletion.spelling(name) }

    private mutating func add(_ line: String, _ parameter: Value? = nil, of field: String = "") {
        text += (text.isEmpty ? "" : "\n") + line
        fields.append(field)
        if let parameter { parameters.append(parameter) }
    }

    private mutating func insert(_ given: ChangedFields) {
        add("INSERT INTO \(Self.spelling(type.name)) {")
        let members =
            given.values.map { ($0.column.name, $0.value) }
            + given.links.map { ($0.relation.name, $0.relation.toMany ? .array($0.ids) : $0.ids.last ?? .null) }
        for (number, (name, value)) in members.enumerated() {
            let key = "\"" + name.replacing("\"", with: "\"\"") + "\""
            add("  \(key): ?" + (number < members.count - 1 ? "," : ""), value, of: name)
        }
        add("} RETURNING META().id")
    }

    private mutating func update(
        _ kind: EntityChange.Kind, _ given: ChangedFields, _ remaining: (String, Value) throws -> [Value]?
    ) throws {
        add("UPDATE \(Self.spelling(type.name))")
        var settings = given.values.map { (name: $0.column.name, expression: "?", value: $0.value as Value?) }
        for link in given.links {
            let name = link.relation.name
            guard link.relation.toMany, kind != .update else {
                let ids: Value = link.relation.toMany ? .array(link.ids) : link.ids.last ?? .null
                settings.append((name, kind == .unlink ? "NULL" : "?", kind == .unlink ? nil : ids))
                continue
            }
            if kind == .unlink, let target = link.ids.last, let ids = try remaining(name, target) {
                settings.append((name, "?", Value.array(ids)))
                continue
            }
            let isOne = link.ids.count == 1
            let function = kind == .unlink ? "ARRAY_REMOVE" : isOne ? "ARRAY_APPEND" : "ARRAY_CONCAT"
            let value = isOne ? link.ids[0] : .array(link.ids)
            settings.append((name, "\(function)(\(Self.spelling(name)), ?)", value))
        }
        for (number, setting) in settings.enumerated() {
            let start = number == 0 ? "SET " : "    "
            let end = number < settings.count - 1 ? "," : ""
            add("\(start)\(Self.spelling(setting.name)) = \(setting.expression)\(end)", setting.value, of: setting.name)
        }
    }

    /// Turns an error of the statement into `FieldErrors` if it names an index or a line, and with that a property.
    package func failure(_ error: any Error) -> any Error {
        let typed = HornbeamError.typed(error)
        guard let error = typed as? HornbeamError else { return typed }
        if let violation = error.violation, violation.entityName == type.name,
            let index = type.indexes.first(where: { $0.name == violation.indexName })
        {
            let names = index.components.map { component in
                let column = ColumnDescription(name: component.column, type: .int64)
                return column.linkedRelation ?? column.label
            }
            return FieldErrors(code: error.code, fields: names.map { ($0, error.message) })
        }
        guard let match = error.message.firstMatch(of: /(?s)^(.*), at line (\d+), character \d+:\n/),
            let line = Int(match.2), fields.indices.contains(line - 1)
        else { return error }
        let isID = error.code == .alreadyStored || error.code == .identityChanged
        let field = isID ? type.columns.first?.name ?? "" : fields[line - 1]
        if field.isEmpty { return HornbeamError(error.code, String(match.1)) }
        return FieldErrors(code: error.code, fields: [(field, String(match.1))])
    }
}

/// The properties and relations of a change, with their values.
struct ChangedFields {
    private(set) var values: [(column: ColumnDescription, value: Value)] = []
    private(set) var links: [(relation: RelationDescription, ids: [Value])] = []

    /// Throws `FieldErrors` with every value and relation that doesn't fit the type.
    init(_ change: EntityChange, of type: EntityDescription, _ idType: (String) -> ColumnType?) throws {
        var flaws: [(name: String, message: String)] = []
        for (name, text) in change.values {
            guard let number = type.column(name), !type.columns[number].isHidden else {
                flaws.append((name, "\(type.name) has no such property"))
                continue
            }
            if number == 0, change.kind != .insert { flaws.append((name, "an entity keeps its id")) }
            let (value, flaw) = EntityChange.value(text, as: type.columns[number].type)
            if let flaw { flaws.append((name, flaw)) }
            values.append((type.columns[number], value))
        }
        for (name, texts) in change.relations {
            guard let relation = type.relations.first(where: { $0.name == name }),
                let idType = idType(relation.target)
            else {
                flaws.append((name, "\(type.name) has no such relation"))
                continue
            }
            if texts.count > 1, !relation.toMany || change.kind == .unlink {
                flaws.append((name, relation.toMany ? "links are removed one by one" : "it leads to one entity"))
            }
            let ids = texts.map { EntityChange.value($0, as: idType) }
            if let flaw = ids.lazy.compactMap(\.flaw).first { flaws.append((name, "the id: \(flaw)")) }
            links.append((relation, ids.map(\.value)))
        }
        if !flaws.isEmpty { throw FieldErrors(code: .invalid, fields: flaws) }
    }
}
