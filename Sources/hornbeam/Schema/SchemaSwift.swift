// SPDX-License-Identifier: Apache-2.0
// Entity types as the Swift that declares them. Comments mark the parts that a store doesn't know and a person must
// complete, such as the Codable type of a JSON column.

import Hornbeam
import HornbeamKeys
import HornbeamText

enum SchemaSwift {
    /// A file of Swift with these types. The program adds the types of deleted entities by itself.
    static func text(_ entities: [EntityDescription]) -> String {
        let declared = entities.filter { !EntityDescription.isTombstone($0.name) }
        let needsFoundation = declared.contains { $0.columns.contains { self.needsFoundation($0.type) } }
        let imports = needsFoundation ? ["import Foundation", "import Hornbeam"] : ["import Hornbeam"]
        return ([imports] + declared.map(lines)).map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    private static func lines(_ entity: EntityDescription) -> [String] {
        var parts = [entity.indexes.flatMap { index($0, entity) }]
        parts.append(
            entity.columns.enumerated().filter { !$0.element.isHidden }.flatMap { place, column in
                property(column, isID: place == 0)
            })
        parts.append(entity.relations.map(relation))
        let body = parts.filter { !$0.isEmpty }.map { $0.map { "    " + $0 }.joined(separator: "\n") }
        return ["@EntityModel", "struct \(identifier(entity.name)) {", body.joined(separator: "\n\n"), "}"]
    }

    // MARK: Properties

    private static func property(_ column: ColumnDescription, isID: Bool) -> [String] {
        let name = identifier(column.name)
        let isJSON = column.type.element == .json
        let type = spelling(column.type, json: column.name.prefix(1).uppercased() + column.name.dropFirst())
        return (isJSON ? ["// JSON: a Codable type of the program's."] : []) + [
            "\(isID ? "let" : "var") \(name): \(type)"
        ]
    }

    private static func spelling(_ type: ColumnType, json: String) -> String {
        switch type {
        case .bool: "Bool"
        case .int8: "Int8"
        case .int16: "Int16"
        case .int32: "Int32"
        case .int64: "Int"
        case .uint8: "UInt8"
        case .uint16: "UInt16"
        case .uint32: "UInt32"
        case .uint64: "UInt"
        case .float: "Float"
        case .double: "Double"
        case .date: "Date"
        case .uuid: "UUID"
        case .string: "String"
        case .url: "URL"
        case .data: "Data"
        case .decimal: "Decimal"
        case .json: identifier(json)
        case .array(let element): "[\(spelling(element, json: json))]"
        case .optional(let wrapped): spelling(wrapped, json: json) + "?"
        }
    }

    private static func needsFoundation(_ type: ColumnType) -> Bool {
        switch type.element {
        case .date, .uuid, .url, .data, .decimal: true
        default: false
        }
    }

    // MARK: Indexes

    private static func index(_ index: IndexDescription, _ entity: EntityDescription) -> [String] {
        var arguments = index.components.map { component in
            self.component(component) + (component.descending ? ".desc" : "")
        }
        let wrapper: String
        switch index.kind {
        case .value: wrapper = "Index"
        case .hash: wrapper = "HashIndex"
        case .unique:
            wrapper = "Unique"
            if !index.nilsDistinct { arguments.append("nilsDistinct: false") }
        case .text:
            wrapper = "FullTextIndex"
            arguments += analyzer(index)
            if !index.positions { arguments.append("positions: false") }
        }
        if let name = index.collation {
            arguments.append("collation: \(Collation(name: name).map(collation) ?? "/* \(comment(name)) */ .binary")")
        }
        let declaration =
            "@\(wrapper)<Self>(\(arguments.joined(separator: ", "))) private var \(identifier(index.name))"
        let condition = index.condition.map { $0.statement(entity) ?? "a condition that only Swift can say" }
        return (condition.map { ["// where: " + comment($0)] } ?? []) + [declaration]
    }

    /// Returns a text from the store for use in a comment: on one line, and unable to end the comment.
    private static func comment(_ text: String) -> String {
        DisplayWidth.printable(text.replacing("*/", with: "* /"))
    }

    private static func component(_ component: IndexDescription.Component) -> String {
        let column = ColumnDescription(name: component.column, type: .int64)
        if let relation = column.linkedRelation { return "\\.\(projection(relation)).id" }
        return (column.isHidden ? "." : "\\.") + identifier(column.label)
    }

    /// Returns the argument for an index's analyzer; empty for the default analyzer.
    private static func analyzer(_ index: IndexDescription) -> [String] {
        switch index.knownAnalyzer?.rules {
        case .words: return ["analyzer: .words"]
        case .unicode(true, nil): return []
        case .unicode(let keepsAccents, let language):
            let stemming = language.map { ["stemming: .\($0.rawValue)"] } ?? []
            let settings = stemming + (keepsAccents ? ["keepsAccents: true"] : [])
            return ["analyzer: .unicode" + (settings.isEmpty ? "" : "(\(settings.joined(separator: ", ")))")]
        case .trigrams(let keepsAccents): return ["analyzer: .trigrams" + (keepsAccents ? "(keepsAccents: true)" : "")]
        default: return ["analyzer: /* the program's own: \(comment(index.analyzer ?? "")) */ .unicode"]
        }
    }

    private static func collation(_ collation: Collation) -> String {
        guard case .unicode(let locale, let ignored) = collation else { return "." + collation.name }
        let settings =
            (locale.map { ["locale: \"\($0)\""] } ?? [])
            + (ignored.contains(.letterCase) ? ["caseSensitive: false"] : [])
            + (ignored.contains(.accents) ? ["diacriticSensitive: false"] : [])
        return ".unicode" + (settings.isEmpty ? "" : "(\(settings.joined(separator: ", ")))")
    }

    // MARK: Relations

    private static func relation(_ relation: RelationDescription) -> String {
        var arguments = relation.required ? [".required"] : []
        if relation.deleteRule != .nullify { arguments.append("deleteRule: .\(relation.deleteRule.rawValue)") }
        if let inverse = relation.inverse { arguments.append("inverse: \\.\(identifier(inverse))") }
        let target = identifier(relation.target)
        return "@Relationship(\(arguments.joined(separator: ", ")))"
            + " var \(identifier(relation.name)): \(relation.toMany ? "[\(target)]" : target)?"
    }

    // MARK: Names

    /// Keywords of Swift that need backquotes as names of properties or types.
    private static let keywords: Set<String> = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in",
        "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat", "rethrows", "return", "self", "Self", "static", "struct", "subscript", "super", "switch", "throw",
        "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// Returns the name as an identifier of Swift, in backquotes if it needs them.
    static func identifier(_ name: String) -> String {
        isWord(name) && !keywords.contains(name) ? name : quoted(name)
    }

    /// The name of the property that sets the links of a relation by ids.
    static func projection(_ name: String) -> String { isWord(name) ? "$" + name : quoted("$" + name) }

    private static func isWord(_ name: String) -> Bool {
        (name.first.map { $0.isLetter || $0 == "_" } ?? false)
            && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    private static func quoted(_ name: String) -> String { "`\(name.filter { $0 != "`" && !$0.isNewline })`" }
}

extension ColumnType {
    /// The type of the values in arrays and optionals, at any depth.
    fileprivate var element: ColumnType {
        switch self {
        case .array(let element): element.element
        case .optional(let wrapped): wrapped.element
        default: self
        }
    }
}
