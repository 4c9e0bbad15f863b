// SPDX-License-Identifier: Apache-2.0
// Entities as lines of JSON, without their Swift types: `{"id":1,"name":"x","author":5,"tags":[1,2]}`. Relations are
// ids. Writing and reading are exact: integers and decimals are written in full, doubles in the shortest form that is
// read back as the same double (NaN and infinities as strings), data in base64, dates in ISO 8601 (UTC) or, if no such
// text is exact, as seconds since 2001-01-01. A number is read as a date in such seconds. A number that the property
// can't hold is refused.

import FoundationEssentials
package import HornbeamPages

/// Reads and writes the entities of one type. It must be used only while the transaction is open.
package struct JSONRows {
    private let store: EntityStore
    private let core: StoreTransaction
    private let type: EntityType
    private let columns: [String: Int]

    package init(_ type: String, core: StoreTransaction) throws {
        store = try core.store(type)
        self.core = core
        self.type = store.type
        columns = Dictionary(self.type.description.columns.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    private func invalid(_ what: String) -> HornbeamError {
        HornbeamError(.invalid, what)
    }

    // MARK: Writing

    /// Writes one entity as a line, without the line feed. Null columns and empty relations are left out.
    package func line(_ rowID: RowID, _ row: RowReader) throws -> String {
        var members: [(name: String, value: JSONNode)] = []
        for (number, column) in type.description.columns.enumerated() where column.linkedRelation == nil {
            let value = try row.value(number)
            if value != .null { members.append((column.name, Self.node(value))) }
        }
        for side in type.relations {
            let target = try core.store(side.target)
            let ids = try core.edges.targets(side, of: rowID).map { Self.node(try target.id(of: $0) ?? .null) }
            if side.isToMany {
                if !ids.isEmpty { members.append((side.name, .array(ids))) }
            } else if let id = ids.first {
                members.append((side.name, id))
            }
        }
        return JSONNode.object(members).text
    }

    package static func node(_ value: Value) -> JSONNode {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .number(String(number))
        case .uint(let number): .number(String(number))
        case .double(let number):
            number.isNaN
                ? .string("NaN")
                : number.isInfinite ? .string(number < 0 ? "-Infinity" : "Infinity") : .number(number.description)
        case .date(let seconds): ISODate.text(seconds).map { .string($0) } ?? node(.double(seconds))
        case .uuid(let id): .string(id.uuidString)
        case .string(let text): .string(text)
        case .data(let data): .string(data.base64EncodedString())
        case .decimal(let number): number.isNaN ? .string("NaN") : .number(number.description)
        case .json(let text): (try? JSONParser.parse(text)) ?? .string(text)
        case .array(let values): .array(values.map(node))
        }
    }

    // MARK: Reading

    /// Saves the entity of one line, and replaces an entity with the same id. Relations that the line names are set;
    /// others are left as they are. Throws `.invalid` and changes nothing if the line isn't an entity of the type.
    @discardableResult
    package func save(line: Bytes) throws -> RowID {
        guard let members = try JSONParser.members(line) else {
            throw invalid("the line is no JSON object: each line holds one, without brackets or commas around it")
        }
        var values = [Value](repeating: .null, count: type.description.columns.count)
        var links: [(side: EdgeSide, ids: [Value])] = []
        var names: Set<String> = []
        for (name, node, at) in members {
            guard names.insert(name).inserted else {
                throw invalid("“\(name)” is there twice, \(JSONParser.place(at, in: line))")
            }
            if let column = columns[name] {
                values[column] = try value(node, type.description.columns[column], at, line)
            } else if let side = type.relations.first(where: { $0.name == name }) {
                links.append((side, try ids(node, side, at, line)))
            } else {
                throw unknown(name)
            }
        }
        for (number, column) in type.description.columns.enumerated()
        where values[number] == .null && !column.type.isOptional {
            throw invalid("\(type.name).\(column.name) is missing, and can't be nil")
        }
        return try save(values, links)
    }

    /// Saves the entity with these values, one for each column of the type, and sets the relations that are given. A
    /// null in a column that can't be null isn't written, as in a row that is older than its property.
    @discardableResult
    package func save(_ values: [Value], _ links: [(side: EdgeSide, ids: [Value])]) throws -> RowID {
        var row = store.makeRow()
        // A time of the last save in `values` replaces this one.
        store.stamp(&row)
        for (number, column) in type.description.columns.enumerated() {
            let isUnwritten = values[number] == .null && (column.isHidden || !column.type.isOptional)
            if !isUnwritten { row.set(values[number], number) }
        }
        if !type.linkedIDs.isEmpty {
            try store.setLinkedIDs(&row, try store.rowID(ofAny: values[0])) { side in
                links.first { $0.side === side }.map { $0.ids.first ?? .null }
            }
        }
        let isTimeGiven = type.updatedAt.map { values[$0] != .null } ?? false
        return try save(try row.finish(), id: values[0], isTimeGiven ? .given : .stamped, links)
    }

    /// Sets a to-many relation of a stored entity.
    package func link(_ side: EdgeSide, of id: Value, to ids: [Value]) throws {
        let target = try core.store(side.target)
        let source = try store.ensureRowID(of: id)
        let rows = try ids.map { try target.ensureRowID(of: $0) }
        try core.changeLinks(of: side) { try core.edges.set(side, source, rows) }
    }

    private func save(
        _ row: [UInt8], id: Value, _ time: SavedTime, _ links: [(side: EdgeSide, ids: [Value])]
    ) throws -> RowID {
        var targets: [(store: EntityStore, rows: [RowID])] = []
        do {
            // Targets come before the row, because one of them may be refused.
            for (side, ids) in links {
                let target = try core.store(side.target)
                targets.append((target, []))
                for id in ids { targets[targets.count - 1].rows.append(try target.ensureRowID(of: id)) }
            }
            let rowID = try store.ensureRowID(of: id, saving: true)
            try store.save(row, rowID, time: time, hasLinkedIDs: true)
            for (link, target) in zip(links, targets) {
                try core.changeLinks(of: link.side) { try core.edges.set(link.side, rowID, target.rows) }
            }
            return rowID
        } catch {
            for (target, rows) in targets { for row in rows { try target.noteUnlinked(row) } }
            throw error
        }
    }

    private func unknown(_ name: String) -> HornbeamError {
        let known = type.description.columns.map(\.name) + type.relations.map(\.name)
        let hint = NearestName.hint(name, among: known) ?? "it has \(known.joined(separator: ", "))"
        return invalid("\(type.name) has neither a property nor a relation “\(name)”; \(hint)")
    }

    private func ids(_ node: JSONNode, _ side: EdgeSide, _ at: Int, _ line: Bytes) throws -> [Value] {
        let target = try core.store(side.target).type
        let id = ColumnDescription(name: "\(side.name)", type: target.idType)
        switch node {
        case .null: return []
        case .array(let nodes) where side.isToMany: return try nodes.map { try value($0, id, at, line) }
        case .array: throw invalid("\(type.name).\(side.name) leads to one \(side.target): give one id")
        default: return [try value(node, id, at, line)]
        }
    }

    /// - Parameter at: the byte of the line at which the node begins, for errors.
    private func value(
        _ node: JSONNode, _ column: ColumnDescription, _ at: Int, _ line: Bytes
    ) throws(HornbeamError) -> Value {
        if let value = Self.value(node, as: column.type) { return value }
        throw invalid(
            "\(type.name).\(column.name), \(column.type.withArticle), can't be \(node.text.shown(60)): "
                + "\(Self.reason(node, as: column.type)), \(JSONParser.place(at, in: line))")
    }

    /// Says why a node can't be a value of the type.
    package static func reason(_ node: JSONNode, as type: ColumnType) -> String {
        switch (type.unwrapped, node) {
        case (.array(let element), .array(let nodes)):
            guard let wrong = nodes.first(where: { value($0, as: element) == nil }) else { return "it doesn't fit" }
            return "\(wrong.text.shown(60)) is not \(element.withArticle): \(reason(wrong, as: element))"
        case (_, .null): return "it can't be null"
        case (.bool, _): return "it must be true or false"
        case (.double, .number(let text)): return reason(text, Double.self)
        case (.float, .number(let text)): return reason(text, Float.self)
        case (.double, _), (.float, _): return #"it must be a number, "NaN", "Infinity" or "-Infinity""#
        case (.date, _): return #"it must be a text such as "2024-05-02T17:30:00Z", or seconds since 2001-01-01"#
        case (.uuid, _): return "it must be a text of 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12"
        case (.string, _): return "it must be a text in quotes"
        case (.url, _): return "it must be a URL in quotes"
        case (.data, _): return "it must be a text in base64"
        case (.decimal, .number(let text)), (.decimal, .string(let text)):
            return WrittenNumber(text) == nil ? "it must be a number" : "a decimal holds 38 digits"
        case (.decimal, _): return "it must be a number"
        case (.array, _): return "it must be an array"
        case (let integer, .number(let text)):
            return WrittenNumber(text)?.isWhole == true ? "it must be \(integer.bounds)" : "it must be a whole number"
        default: return "it must be a whole number"
        }
    }

    private static func reason<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: String, _: Number.Type
    ) -> String {
        guard let nearest = Number(text) else { return "it must be a number" }
        if nearest.isInfinite { return "the greatest number it holds is \(Number.greatestFiniteMagnitude)" }
        return "the nearest number it holds is \(nearest)"
    }

    /// Reads a node as a value of a column of `type`. Returns nil if it is none.
    package static func value(_ node: JSONNode, as type: ColumnType) -> Value? {
        switch (type, node) {
        case (.optional(let wrapped), _): return node == .null ? .null : value(node, as: wrapped)
        case (.bool, .bool(let flag)): return .bool(flag)
        case (.int8, .number(let text)), (.int16, .number(let text)), (.int32, .number(let text)),
            (.int64, .number(let text)):
            return WrittenNumber.int64(text).flatMap { Value.int($0).converted(to: type) }
        case (.uint8, .number(let text)), (.uint16, .number(let text)), (.uint32, .number(let text)),
            (.uint64, .number(let text)):
            return WrittenNumber.uint64(text).flatMap { Value.uint($0).converted(to: type) }
        case (.float, .number(let text)): return WrittenNumber.float(text).map { .double(Double($0)) }
        case (.float, _), (.double, _): return double(node).map { .double($0) }
        case (.date, .string(let text)): return (ISODate.seconds(text) ?? double(node)).map { .date($0) }
        case (.date, _): return double(node).map { .date($0) }
        case (.uuid, .string(let text)): return UUID(uuidString: text).map { .uuid($0) }
        case (.string, .string(let text)): return .string(text)
        case (.url, .string(let text)): return Value.string(text).converted(to: .url)
        case (.data, .string(let text)): return Data(base64Encoded: text).map { .data($0) }
        case (.decimal, .number(let text)), (.decimal, .string(let text)):
            return WrittenNumber.decimal(text).map { .decimal($0) }
        case (.json, _): return .json(node.text)
        case (.array(let element), .array(let nodes)):
            var values: [Value] = []
            for node in nodes {
                guard let value = value(node, as: element) else { return nil }
                values.append(value)
            }
            return .array(values)
        default: return nil
        }
    }

    private static func double(_ node: JSONNode) -> Double? {
        switch node {
        case .number(let text): WrittenNumber.double(text)
        case .string(JSONSpecial.nan): .nan
        case .string(JSONSpecial.infinity): .infinity
        case .string(JSONSpecial.negativeInfinity): -.infinity
        default: nil
        }
    }
}

extension Value {
    /// The JSON text that is read back as this value.
    package var json: String { JSONRows.node(self).text }

    /// The reason why the bytes are no JSON value, with the place; nil if they are one.
    package static func flaw(inJSON bytes: Bytes) -> String? {
        do throws(HornbeamError) {
            _ = try JSONParser.parse(bytes)
            return nil
        } catch {
            return error.message
        }
    }
}
