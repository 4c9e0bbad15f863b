// SPDX-License-Identifier: Apache-2.0
// A change of one entity as Swift code, for a program that declares the type as `hornbeam schema --swift` prints it.

import Foundation
import Hornbeam

enum ChangeSwift {
    /// Maximum size of a value that is written as a literal, in bytes. The code reads a longer value from a file.
    private static let limit = 1_000

    static func text(_ kind: EntityChange.Kind, _ given: ChangedFields, _ type: EntityDescription, _ id: Value?)
        -> String
    {
        let name = SchemaSwift.identifier(type.name)
        let key = id.map { literal($0, type.columns.first ?? ColumnDescription(name: "id", type: .string)) } ?? ""
        let body: [String]
        switch kind {
        case .delete: body = ["try \(name).delete(id: \(key), from: &context)"]
        case .insert: body = insertion(given, type, name)
        case .update, .link, .unlink:
            let isVaried = given.links.allSatisfy { kind != .unlink || !$0.relation.toMany }
            let found = "entity = try context.find(\(name).self, id: \(key))"
            body =
                ["guard \(isVaried ? "var" : "let") \(found) else { return }"]
                + given.values.map {
                    "entity.\(SchemaSwift.identifier($0.column.name)) = \(literal($0.value, $0.column))"
                }
                + given.links.map { link(kind, $0.relation, $0.ids) }
                + (isVaried ? ["try entity.save(to: &context)"] : [])
        }
        return (["try database.write { context in"] + body.map { "    " + $0 } + ["}"]).joined(separator: "\n")
    }

    /// Returns a call of the memberwise initialiser, with its arguments in the order of the declaration.
    private static func insertion(_ given: ChangedFields, _ type: EntityDescription, _ name: String) -> [String] {
        var arguments: [String] = []
        for (number, column) in type.columns.enumerated() where !column.isHidden {
            let value = given.values.first { $0.column.name == column.name }?.value ?? .null
            // For a statement without an id the store makes one; the code must do that itself.
            let isMade = number == 0 && value == .null
            let made = column.type.unwrapped == .uuid ? "UUID()" : "try \(name).nextID(in: &context)"
            let text = isMade ? made : literal(value, column)
            arguments.append("\(SchemaSwift.identifier(column.name)): \(text)")
        }
        for relation in type.relations {
            guard let ids = given.links.first(where: { $0.relation.name == relation.name })?.ids, !ids.isEmpty else {
                continue
            }
            arguments.append("\(SchemaSwift.identifier(relation.name)): \(linked(relation, ids, isAdded: false))")
        }
        return ["try \(name)("]
            + arguments.enumerated().map { number, argument in
                "    " + argument + (number < arguments.count - 1 ? "," : "")
            } + [").save(to: &context)"]
    }

    private static func link(_ kind: EntityChange.Kind, _ relation: RelationDescription, _ ids: [Value]) -> String {
        let name = SchemaSwift.projection(relation.name)
        guard kind == .unlink else {
            return "entity.\(name) = \(linked(relation, ids, isAdded: kind == .link))"
        }
        guard relation.toMany else { return "entity.\(name) = .null" }
        let inverse = relation.inverse.map { ", inverse: \\.\(SchemaSwift.projection($0))" } ?? ""
        let id = ids.last.map { literal($0, ColumnDescription(name: "id", type: .string)) } ?? ""
        return "try entity.detach(\(id), relation: \\.\(name)\(inverse), in: &context)"
    }

    private static func linked(_ relation: RelationDescription, _ ids: [Value], isAdded: Bool) -> String {
        let texts = ids.map { literal($0, ColumnDescription(name: "id", type: .string)) }
        if relation.toMany { return ".\(isAdded ? "appending(ids: " : "ids(")[\(texts.joined(separator: ", "))])" }
        return texts.last.map { ".id(\($0))" } ?? ".null"
    }

    // MARK: Values

    private static func literal(_ value: Value, _ column: ColumnDescription) -> String {
        let file = column.name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        switch value {
        case .data(let data) where data.count > limit:
            return "try Data(contentsOf: URL(fileURLWithPath: \"\(file).bin\"))"
        case .string(let text) where text.utf8.count > limit:
            return "try String(contentsOfFile: \"\(file).txt\", encoding: .utf8)"
        case .json(let text):
            let name = column.name.prefix(1).uppercased() + column.name.dropFirst()
            let source =
                text.utf8.count > limit
                ? "try Data(contentsOf: URL(fileURLWithPath: \"\(file).json\"))" : "Data(\(string(text)).utf8)"
            return "try JSONDecoder().decode(\(SchemaSwift.identifier(name)).self, from: \(source))"
        case .string(let text) where column.type.unwrapped == .url: return "URL(string: \(string(text)))!"
        case .array(let values):
            var element = column
            if case .array(let type) = column.type.unwrapped { element.type = type }
            return "[" + values.map { literal($0, element) }.joined(separator: ", ") + "]"
        default: return scalar(value)
        }
    }

    private static func scalar(_ value: Value) -> String {
        switch value {
        case .null: "nil"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): "\(number)"
        case .uint(let number): "\(number)"
        case .double(let number):
            number.isNaN ? ".nan" : number.isInfinite ? (number < 0 ? "-.infinity" : ".infinity") : "\(number)"
        case .date(let seconds): "Date(timeIntervalSinceReferenceDate: \(seconds))"
        case .uuid(let uuid): "UUID(uuidString: \"\(uuid.uuidString)\")!"
        case .decimal(let number): number.isNaN ? "Decimal.nan" : "Decimal(string: \"\(number)\")!"
        case .data(let data): "Data([" + data.map { "\($0)" }.joined(separator: ", ") + "])"
        case .string(let text), .json(let text): string(text)
        case .array: "[]"
        }
    }

    /// Returns a string literal, with invisible characters escaped.
    private static func string(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case _ where isHidden(scalar): literal += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        // Joiners belong to words and to emoji.
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        default: false
        }
    }
}
