// SPDX-License-Identifier: Apache-2.0
// Entity types for a person to read.

import Hornbeam

enum SchemaText {
    /// The type's name and, indented, its columns, indexes and relations.
    static func lines(_ entity: EntityDescription) -> [String] {
        var lines = [entity.name]
        lines += section("columns", entity.columns.map { [$0.name, $0.type.description] })
        lines += section(
            "indexes",
            entity.indexes.map { index in
                [index.name, index.kind.rawValue, components(index), options(index, entity)]
            })
        lines += section("relations", entity.relations.map { [$0.name, target($0), rules($0)] })
        return lines
    }

    private static func options(_ index: IndexDescription, _ type: EntityDescription) -> String {
        let analyzer = index.kind == .text ? ["analyzer \(index.analyzer ?? "words")"] : []
        let rules = (index.collation.map { ["collation \($0)"] } ?? []) + (index.nilsDistinct ? [] : ["one nil"])
        let condition = index.condition.map { $0.statement(type) ?? ((try? $0.text(type)) ?? "?") }
        return
            (analyzer + (index.positions ? [] : ["without positions"]) + rules
            + (condition.map { ["where \($0)"] } ?? []))
            .joined(separator: ", ")
    }

    /// `section, -size`
    static func components(_ index: IndexDescription) -> String {
        index.components.map { ($0.descending ? "-" : "") + $0.column }.joined(separator: ", ")
    }

    private static func target(_ relation: RelationDescription) -> String {
        relation.toMany ? "[\(relation.target)]" : relation.target + (relation.required ? "" : "?")
    }

    private static func rules(_ relation: RelationDescription) -> String {
        var rules: [String] = []
        if let inverse = relation.inverse { rules.append("inverse \(inverse)") }
        switch relation.deleteRule {
        case .nullify: break
        case .cascade: rules.append("deletes cascade")
        case .deny: rules.append("denies deletion")
        case .whenOrphaned: rules.append("deletes orphans")
        case .notify: rules.append("notifies")
        }
        return rules.joined(separator: ", ")
    }

    /// Rows after a heading, with their parts aligned in columns.
    private static func section(_ title: String, _ rows: [[String]]) -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (index, part) in row.enumerated() {
                if index == widths.count { widths.append(0) }
                widths[index] = max(widths[index], DisplayWidth.of(part))
            }
        }
        return rows.enumerated().map { number, row in
            var line = "  " + (number == 0 ? title : "")
            line += String(repeating: " ", count: 13 - line.count)
            for (index, part) in row.enumerated() {
                line += part + String(repeating: " ", count: widths[index] - DisplayWidth.of(part) + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
