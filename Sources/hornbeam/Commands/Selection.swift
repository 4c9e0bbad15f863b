// SPDX-License-Identifier: Apache-2.0
// The columns and the order of a query's output. Reads the options --columns, --with and --sort by the names of an
// entity type.

import Hornbeam

/// The relations whose entities are printed too, to any depth.
struct RelationTree: Equatable {
    struct Branch: Equatable {
        var relation: RelationDescription
        var below: RelationTree
    }

    var branches: [Branch] = []

    var isEmpty: Bool { branches.isEmpty }

    /// Reads paths such as `dependencies.maintainer`.
    init(_ paths: [String] = [], of type: EntityDescription, in schema: [EntityDescription]) throws {
        for path in paths {
            try add(path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...], type, schema)
        }
    }

    private mutating func add(
        _ path: ArraySlice<String>, _ type: EntityDescription, _ schema: [EntityDescription]
    ) throws {
        guard let name = path.first else { return }
        let relation = try Selection.relation(name, of: type)
        let target = try Selection.type(relation.target, in: schema)
        if let known = branches.firstIndex(where: { $0.relation.name == name }) {
            try branches[known].below.add(path.dropFirst(), target, schema)
        } else {
            var below = try RelationTree(of: target, in: schema)
            try below.add(path.dropFirst(), target, schema)
            branches.append(Branch(relation: relation, below: below))
        }
    }
}

enum Selection {
    /// The entity type called `name`.
    static func type(_ name: String, in schema: [EntityDescription]) throws -> EntityDescription {
        if let type = schema.first(where: { $0.name == name }) { return type }
        throw unknownType(name, among: schema.map(\.name))
    }

    static func unknownType(_ name: String, among names: [String]) -> CommandError {
        if names.isEmpty { return CommandError("the store has no entity types; 'hornbeam schema apply' makes some") }
        return CommandError(unknown("entity type", name, names))
    }

    /// The numbers of the columns to print: those named by --columns, or all.
    static func columns(_ names: [String], of type: EntityDescription) throws -> [Int] {
        if names.isEmpty { return Array(type.columns.indices) }
        return try names.map { try column($0, of: type) }
    }

    /// The columns of --sort; a dash before the name means descending.
    static func sort(_ names: [String], of type: EntityDescription) throws -> [(column: Int, descending: Bool)] {
        try names.map { name in
            let descending = name.hasPrefix("-")
            let column = try column(descending ? String(name.dropFirst()) : name, of: type)
            guard type.columns[column].type.isOrdered else {
                let description = type.columns[column]
                throw CommandError(
                    "\(type.name).\(description.name) is \(description.type.withArticle), which has no order")
            }
            return (column, descending)
        }
    }

    static func relation(_ name: String, of type: EntityDescription) throws -> RelationDescription {
        if let relation = type.relations.first(where: { $0.name == name }) { return relation }
        if type.column(name) != nil {
            throw CommandError("\(type.name).\(name) is a column, no relation: --columns prints it")
        }
        throw CommandError(unknown("relation", name, type.relations.map(\.name), of: type.name))
    }

    private static func column(_ name: String, of type: EntityDescription) throws -> Int {
        if let column = type.column(name) { return column }
        if type.relations.contains(where: { $0.name == name }) {
            throw CommandError("\(type.name).\(name) is a relation, no column: --with prints what it leads to")
        }
        throw CommandError(unknown("column", name, type.columns.map(\.name), of: type.name))
    }

    private static func unknown(_ kind: String, _ name: String, _ names: [String], of owner: String? = nil) -> String {
        let place = owner.map { "\($0) has no \(kind) “\(name)”" } ?? "there is no \(kind) “\(name)”"
        let known = names.isEmpty ? "there are none" : "known are \(names.joined(separator: ", "))"
        return "\(place); \(NearestName.hint(name, among: names) ?? known)"
    }
}
