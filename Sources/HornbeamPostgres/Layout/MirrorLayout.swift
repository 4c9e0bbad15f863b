// SPDX-License-Identifier: Apache-2.0
// The tables of a mirror: one for each type, with a column for each property and each to-one relation, and one for each
// to-many relation. The layout is stored in the mirror itself. Readers see in it which table belongs to which type, and
// the writer sees what a migration of the store has changed.

import FoundationEssentials
import Hornbeam
import HornbeamTree

/// All tables of a mirror.
struct MirrorLayout: Codable, Equatable {
    var types: [TypeLayout]

    func type(_ name: String) -> TypeLayout? { types.first { $0.name == name } }
}

/// The tables of one type.
struct TypeLayout: Codable, Equatable {
    struct Column: Codable, Equatable {
        /// The property, by its name and its number in the store's rows.
        var property: String
        var number: Int
        var type: ColumnType
        var column: String
    }

    struct Relation: Codable, Equatable {
        /// The relation, by its name and by the number of its links in the store.
        var relation: String
        var number: Int
        var target: String
        var idType: ColumnType
        var isToMany: Bool
        /// The column of a to-one relation, the table of a to-many one.
        var place: String

        var form: ColumnForm { ColumnForm(idType, isID: true) }
    }

    var name: String
    /// The type's number among the types of the mirror's consumer. A renamed type keeps it.
    var number: Int
    /// The tree of the type's rows in the store. Another tree means that the rows were rebuilt.
    var tree: UInt64
    var table: String
    /// Column 0 is the id.
    var columns: [Column]
    var relations: [Relation]
    /// The column of values that their own columns don't hold exactly.
    var exact: String

    func form(_ column: Column) -> ColumnForm { ColumnForm(column.type, isID: column == columns.first) }

    var toOne: [Relation] { relations.filter { !$0.isToMany } }
    var toMany: [Relation] { relations.filter(\.isToMany) }

    /// All columns of the type's table in their order: of properties, of to-one relations, and of exact values.
    var columnNames: [String] { columns.map(\.column) + toOne.map(\.place) + [exact] }

    /// The columns with their types, for CREATE TABLE.
    var columnDeclarations: [String] {
        columns.map { "\(quoted($0.column)) \(form($0).sql)" }
            + toOne.map { "\(quoted($0.place)) \($0.form.sql)" } + ["\(quoted(exact)) json"]
    }
}

extension TypeLayout.Relation {
    // The columns of the relation's table. None of them has a name that the program gives.
    static let source = "source"
    static let position = "position"
    static let target = "target"

    func columnDeclarations(source: ColumnForm) -> [String] {
        [
            "\(quoted(Self.source)) \(source.sql)", "\(quoted(Self.position)) integer",
            "\(quoted(Self.target)) \(form.sql)",
        ]
    }
}

/// Returns a name in quotes, for a statement.
func quoted(_ name: String) -> String { "\"" + name.escaping("\"", with: UInt8(ascii: "\"")) + "\"" }

/// Returns a mirror's schema in quotes, for a statement. Throws `.invalid` for a name that PostgreSQL would shorten.
func mirrorSchema(_ name: String) throws(HornbeamError) -> String {
    guard !name.isEmpty, name.utf8.count <= 63, !name.utf8.contains(0) else {
        throw HornbeamError(.invalid, "a schema's name has 1 to 63 bytes: “\(name.shown())” can't be one")
    }
    return quoted(name)
}

/// Returns a text as a literal, for a statement.
func literal(_ text: String) -> String { "'" + text.escaping("'", with: UInt8(ascii: "'")) + "'" }

// MARK: - Of a store

extension MirrorLayout {
    /// The layout for the types of a store that a consumer wants.
    init(_ schema: Schema, _ consumer: StoredConsumer) throws(HornbeamError) {
        var tables = NameGiver(taken: ["_mirror", "_staging"])
        types = []
        for (number, wanted) in consumer.types.enumerated() where wanted.isWanted {
            // A type that the store no longer has gets no table.
            guard let type = schema.types[wanted.name] else { continue }
            let name = wanted.name
            var columns = NameGiver(taken: NameGiver.systemColumns)
            var layout = TypeLayout(
                name: name, number: number, tree: UInt64(type.rows.rawValue), table: tables.give(name), columns: [],
                relations: [], exact: "")
            for (number, column) in type.description.columns.enumerated() where column.linkedRelation == nil {
                layout.columns.append(
                    .init(property: column.name, number: number, type: column.type, column: columns.give(column.name)))
            }
            for side in type.relations {
                // No links lead to a type that the store doesn't know.
                guard let target = schema.types[side.target] else { continue }
                layout.relations.append(
                    .init(
                        relation: side.name, number: Int(side.list.number), target: side.target,
                        idType: target.idType, isToMany: side.isToMany,
                        place: side.isToMany ? "" : columns.give(side.name)))
            }
            layout.exact = columns.give("_exact")
            types.append(layout)
        }
        // The types' own tables were named first, so they have their plain names.
        for place in types.indices {
            for number in types[place].relations.indices where types[place].relations[number].isToMany {
                let name = "\(types[place].name)_\(types[place].relations[number].relation)"
                types[place].relations[number].place = tables.give(name)
            }
        }
    }
}

/// Gives each thing a name of its own that PostgreSQL doesn't shorten.
private struct NameGiver {
    private var taken: Set<String>

    init(taken: Set<String>) { self.taken = taken }

    /// Maximum size of a name in bytes.
    private static let limit = 63
    static let systemColumns: Set<String> = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    mutating func give(_ wanted: String) -> String {
        var name = wanted.replacing("\0", with: "_")
        var count = 1
        while name.utf8.count > Self.limit || name.isEmpty || taken.contains(name) {
            let end = "_\(count)"
            var head = wanted.replacing("\0", with: "_")
            while head.utf8.count + end.utf8.count > Self.limit { head.removeLast() }
            name = head + end
            count += 1
        }
        // A table's primary key has a name among those of tables.
        taken.formUnion([name, "\(name)_pkey"])
        return name
    }
}
