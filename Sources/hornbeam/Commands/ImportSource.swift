// SPDX-License-Identifier: Apache-2.0
// The sources of `hornbeam import`: JSON lines, or records of CSV, which become such lines.

import Hornbeam

/// Entities as lines of JSON.
protocol ImportSource: AnyObject {
    var path: String { get }
    var lineNumber: UInt64 { get }
    var bytesRead: UInt64 { get }
    var fileSize: UInt64? { get }
    /// Whether a position in an entity's JSON is a position in the source's line.
    var isJSON: Bool { get }
    /// The next entity, or nil after the last one.
    func next() throws -> ArraySlice<UInt8>?
}

final class JSONSource: ImportSource {
    private var lines: LineReader

    let isJSON = true

    init(_ path: String) throws { lines = try LineReader.open(path) }

    var path: String { lines.path }
    var lineNumber: UInt64 { lines.lineNumber }
    var bytesRead: UInt64 { lines.bytesRead }
    var fileSize: UInt64? { lines.fileSize }

    /// The next line that isn't blank.
    func next() throws -> ArraySlice<UInt8>? {
        while let line = try lines.next() {
            if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return line }
        }
        return nil
    }
}

/// CSV whose first record has the names of columns and relations.
final class CSVSource: ImportSource {
    let isJSON = false
    private let reader: CSVReader
    /// The name and the type of each field, nil for the type of a to-many relation.
    private let fields: [(name: String, type: ColumnType?)]

    init(_ path: String, _ type: EntityDescription, in schema: [EntityDescription]) throws {
        let reader = try CSVReader(try LineReader.open(path, keepsEnds: true))
        self.reader = reader
        guard let header = try reader.next() else {
            if Interruption.isRequested {
                fields = []
                return
            }
            throw CommandError("\(reader.path) is empty: CSV begins with the names of columns")
        }
        let names = type.columns.map(\.name) + type.relations.map(\.name)
        fields = try header.map { name in
            let name = name ?? ""
            if let column = type.columns.first(where: { $0.name == name }) { return (name, column.type) }
            guard let relation = type.relations.first(where: { $0.name == name }) else {
                let hint = NearestName.hint(name, among: names) ?? "there are \(names.joined(separator: ", "))"
                throw CommandError("\(reader.path), line 1: \(type.name) has no “\(name)”; \(hint)")
            }
            let target = try Selection.type(relation.target, in: schema)
            return (name, relation.toMany ? nil : target.columns.first.map { .optional($0.type) })
        }
    }

    var path: String { reader.path }
    var lineNumber: UInt64 { reader.lineNumber }
    var bytesRead: UInt64 { reader.bytesRead }
    var fileSize: UInt64? { reader.fileSize }

    func next() throws -> ArraySlice<UInt8>? {
        guard let record = try reader.next() else { return nil }
        guard record.count == fields.count else {
            throw CommandError(
                "\(path), line \(lineNumber): \(Spelling.counted(record.count, "field")), and the header has "
                    + "\(fields.count)")
        }
        var line = "{"
        for (field, text) in zip(fields, record) {
            // An empty field is left out, or is an empty text if the column needs a text.
            guard let text = text ?? (field.type == .string ? "" : nil) else { continue }
            if line.utf8.count > 1 { line += "," }
            line += "\(Value.string(field.name).json):\(Self.json(text, field.type))"
        }
        return Array((line + "}").utf8)[...]
    }

    /// Returns a field as JSON of the type. A field that doesn't fit becomes a text, which the import refuses with the
    /// name of the column.
    private static func json(_ text: String, _ type: ColumnType?) -> String {
        switch type?.unwrapped {
        case .string, .url, .uuid, .data: return Value.string(text).json
        case .bool:
            switch text.lowercased() {
            case "true", "t", "yes", "1": return "true"
            case "false", "f", "no", "0": return "false"
            default: return Value.string(text).json
            }
        case .json, .array, nil:
            // Parsed and written again, so that a field can't add members to the object.
            return (try? JSONParser.parse(text))?.text ?? Value.string(text).json
        default:
            guard case .number(let digits)? = try? JSONParser.parse(String(text.trimmed)) else {
                return Value.string(text).json
            }
            return digits
        }
    }
}
