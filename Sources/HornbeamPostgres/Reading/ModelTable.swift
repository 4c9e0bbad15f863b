// SPDX-License-Identifier: Apache-2.0
// The tables of a program's models: the column of the mirror for each property. The models are compared with the
// mirror's layout here, because store and reader may be of different versions of a program.

import Hornbeam
import HornbeamTree

/// The tables of the models that a reader knows.
final class ModelTables {
    private let layout: MirrorLayout
    private let models: ModelSet
    private let descriptions: [String: EntityDescription]
    /// The types of ids by entity names.
    private let ids: [String: ColumnType]
    private let schema: String
    private var made: [String: ModelTable] = [:]

    /// - Parameter schema: the mirror's schema, quoted for statements.
    init(_ layout: MirrorLayout, _ models: ModelSet, in schema: String) {
        self.layout = layout
        self.models = models
        self.schema = schema
        descriptions = Dictionary(models.descriptions.map { ($0.name, $0) }) { first, _ in first }
        ids = descriptions.compactMapValues { $0.columns.first?.type }
    }

    var layoutRead: MirrorLayout { layout }

    /// Returns the table of a type. Throws `.unregisteredEntity` if the reader doesn't know its model, and
    /// `.schemaMismatch` if the model doesn't fit the mirror.
    func table(_ name: String) throws(HornbeamError) -> ModelTable {
        if let table = made[name] { return table }
        guard let description = descriptions[name], let model = models.model(name) else {
            throw HornbeamError(
                .unregisteredEntity, "the reader was made without \(name): name it among its models")
        }
        guard let type = layout.type(name) else {
            throw HornbeamError(
                .schemaMismatch,
                "the mirror has no table of \(name): it has \(layout.types.map(\.name).joined(separator: ", "))")
        }
        let table = try ModelTable(model, description, type, in: schema, ids: ids)
        made[name] = table
        return table
    }
}

/// The table of one type, and those of its to-many relations.
final class ModelTable {
    /// A stored property.
    struct Column {
        let property: String
        /// The type without its optionality.
        let type: ColumnType
        let isNullable: Bool
        let form: ColumnForm
        /// The quoted column in the server. Nil if the mirror lacks it: then its values are nil.
        let name: String?

        init(_ property: String, _ type: ColumnType, isNullable: Bool, _ form: ColumnForm, _ name: String?) {
            (self.property, self.type, self.isNullable, self.form) = (property, type, isNullable, form)
            self.name = name.map(quoted)
        }

        /// Whether values of its type may be exact only in the column of exact values.
        var mayBeInexact: Bool {
            switch type {
            case .bool, .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .uuid, .data: false
            default: true
            }
        }
    }

    let model: any EntityModelProtocol.Type
    let description: EntityDescription
    let type: EntityType
    let layout: TypeLayout
    /// The columns by their numbers in the model.
    let columns: [Column]
    /// The table with its schema.
    let name: SQLText
    private let schema: String

    init(
        _ model: any EntityModelProtocol.Type, _ description: EntityDescription, _ layout: TypeLayout,
        in schema: String, ids: [String: ColumnType]
    ) throws(HornbeamError) {
        self.model = model
        self.description = description
        self.layout = layout
        self.schema = schema
        type = EntityType(named: description)
        name = SQLText.trusted("\(schema).\(quoted(layout.table))")
        var columns: [Column] = []
        for column in description.columns { columns.append(try Self.column(column, layout, description)) }
        self.columns = columns
        for relation in description.relations { try Self.check(relation, layout, description, ids) }
    }

    var id: Column { columns[0] }
    /// The numbers of the declared properties, without the store's own columns.
    private(set) lazy var declared = Set(columns.indices.filter { !description.columns[$0].isHidden })

    /// Returns the column of a property. A column that holds the ids of a to-one relation's targets, for indexes, is
    /// the relation's column in the mirror.
    private static func column(
        _ column: ColumnDescription, _ layout: TypeLayout, _ model: EntityDescription
    ) throws(HornbeamError) -> Column {
        func mismatch(_ what: String) -> HornbeamError {
            HornbeamError(
                .schemaMismatch,
                "\(model.name).\(column.label) \(what): bring the store and its mirror to this version of the "
                    + "models, or the program to theirs")
        }
        let type = column.type.unwrapped
        if let linked = column.linkedRelation {
            let place = layout.toOne.first { $0.relation == linked }?.place
            return Column(column.name, type, isNullable: true, ColumnForm(type, isID: true), place)
        }
        let isID = column.name == model.columns[0].name
        guard let there = layout.columns.first(where: { $0.property == column.name }) else {
            guard column.type.isOptional else { throw mismatch("is missing in the mirror") }
            return Column(column.name, type, isNullable: true, ColumnForm(type), nil)
        }
        guard there.type.unwrapped == type, column.type.isOptional || !there.type.isOptional else {
            throw mismatch("is \(column.type.withArticle) here, and \(there.type.withArticle) in the mirror")
        }
        guard isID == (there == layout.columns.first) else {
            throw mismatch(isID ? "is the id here, and not in the mirror" : "is the id in the mirror, and not here")
        }
        return Column(column.name, type, isNullable: there.type.isOptional, layout.form(there), there.column)
    }

    private static func check(
        _ relation: RelationDescription, _ layout: TypeLayout, _ model: EntityDescription, _ ids: [String: ColumnType]
    ) throws(HornbeamError) {
        func mismatch(_ what: String) -> HornbeamError {
            HornbeamError(
                .schemaMismatch,
                "the relation \(model.name).\(relation.name) \(what): bring the store and its mirror to this version "
                    + "of the models, or the program to theirs")
        }
        guard let there = layout.relations.first(where: { $0.relation == relation.name }) else {
            throw mismatch("is missing in the mirror")
        }
        guard there.target == relation.target else {
            throw mismatch("leads to \(relation.target) here, and to \(there.target) in the mirror")
        }
        guard there.isToMany == relation.toMany else {
            throw mismatch("leads to \(relation.toMany ? "many" : "one") here, and not in the mirror")
        }
        if let id = ids[relation.target], id != there.idType {
            throw mismatch("leads to ids of type \(id) here, and of type \(there.idType) in the mirror")
        }
    }

    func relation(_ name: String) throws(HornbeamError) -> TypeLayout.Relation {
        guard let relation = layout.relations.first(where: { $0.relation == name }) else {
            throw HornbeamError(.schemaMismatch, "the relation \(description.name).\(name) is missing in the mirror")
        }
        return relation
    }

    /// The table of a to-many relation's links, with its schema.
    func links(_ relation: TypeLayout.Relation) -> SQLText { SQLText.trusted("\(schema).\(quoted(relation.place))") }
}

/// A table with its name in one statement.
struct NamedTable {
    let table: ModelTable
    let alias: String

    /// The table in a FROM clause.
    var source: SQLText { "\(table.name) AS \(SQLText.trusted(alias))" }

    func place(_ name: String) -> SQLText { SQLText.trusted("\(alias).\(quoted(name))") }

    /// Returns the column of a property. Throws `.invalid` if there is none of this number.
    func column(_ number: Int) throws(HornbeamError) -> (column: ModelTable.Column, sql: SQLText) {
        guard table.columns.indices.contains(number) else {
            throw HornbeamError(
                .invalid,
                "\(table.description.name) has no column \(number): its columns are 0 to \(table.columns.count - 1)")
        }
        let column = table.columns[number]
        guard let name = column.name else { return (column, "NULL::\(SQLText.trusted(column.form.sql))") }
        return (column, SQLText.trusted("\(alias).\(name)"))
    }

    var id: SQLText { place(table.layout.columns.first?.column ?? "") }
    /// Whether the row's columns hold all its values exactly.
    var isExact: SQLText { "\(place(table.layout.exact)) IS NULL" }
}

extension ColumnForm {
    /// Returns a value as a parameter.
    func parameter(_ value: Value) -> SQLText {
        guard let text = text(value) else { return "NULL::\(SQLText.trusted(plainSQL))" }
        return "\(text, as: plainSQL)"
    }

    /// Returns several values as a parameter that is an array.
    func parameter(_ values: [Value]) -> SQLText {
        var text: [UInt8] = []
        _ = appendList(values, to: &text)
        return "\(String(decoding: text, as: UTF8.self), as: plainSQL + "[]")"
    }
}
