// SPDX-License-Identifier: Apache-2.0
// Makes the row of a deleted entity from the stored row and its links, without reading the entity. Reading the entity
// with its relations, and making dynamic values and a JSON tree of it, took ten times as many instructions. `Deleted`
// reads the format that is written here.

import HornbeamPages
import HornbeamTree

extension EntityStore {
    /// Makes the row of a stored entity for `deleted`, the store of this type's deleted entities: its properties by
    /// name, without null ones, and the ids of its links by relation, without empty relations. Columns and relations
    /// that only the store still has are included. Returns nil if the entity isn't stored.
    package func tombstone(of rowID: RowID, in deleted: EntityStore) throws -> [UInt8]? {
        var writer = deleted.makeRow()
        // Links come first, because reading them may change the trees that the row is in.
        var links = JSONBytes()
        try appendLinks(of: rowID, to: &links)
        guard let row = try row(rowID) else { return nil }
        if type.idType == deleted.type.idType {
            writer.setRaw(try row.rawBytes(0), 0)
        } else {
            writer.set(try row.value(0), 0)
        }
        var json = JSONBytes()
        try appendProperties(of: row, to: &json)
        json.bytes.withUnsafeBytes { writer.setRaw($0, 1) }
        links.bytes.withUnsafeBytes { writer.setRaw($0, 2) }
        deleted.stamp(&writer)
        return try writer.finish()
    }

    private func appendProperties(of row: RowReader, to json: inout JSONBytes) throws {
        json.open("{")
        for (column, field) in type.layout.fields.enumerated() where !type.description.columns[column].isHidden {
            if try row.isNull(column: column) { continue }
            json.member(type.memberNames[column])
            switch field.type {
            case .string, .url:
                if let text = try row.stringBytes(column) { json.string(text) }
            default: json.value(try row.value(column))
            }
        }
        json.close("}")
    }

    private func appendLinks(of rowID: RowID, to json: inout JSONBytes) throws {
        json.open("{")
        let links = try core.edges.targets(ofAll: type, of: rowID)
        for (side, rows) in zip(type.relations, links) where !rows.isEmpty {
            let targets = try core.store(side.target)
            json.member(side.memberName)
            json.open("[")
            for row in rows {
                guard let id = try targets.id(of: row) else { continue }
                json.element()
                json.value(id)
            }
            json.close("]")
        }
        json.close("}")
    }

    /// Stores a row that `tombstone` has made. The entity must no longer be stored.
    package func saveTombstone(_ row: [UInt8]) throws {
        let id = try row.withUnsafeBytes { try RowReader($0, of: type).value(0) }
        try save(row, try ensureRowID(of: id, saving: true), time: .given, hasNoCounterpart: true)
    }
}

extension JSONBytes {
    /// Writes a value in the form of `JSONRows`.
    mutating func value(_ value: Value) {
        switch value {
        case .int(let number):
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            digits(number.magnitude)
        case .uint(let number): digits(number)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .string(var text): text.withUTF8 { string(Bytes($0)) }
        case .date(let seconds):
            if !ISODate.append(seconds, to: &bytes) { bytes.append(contentsOf: JSONRows.node(value).text.utf8) }
        default: bytes.append(contentsOf: JSONRows.node(value).text.utf8)
        }
    }

    private mutating func digits(_ number: UInt64) {
        var count = 1
        var rest = number
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        var place = bytes.count + count
        for _ in 0..<count { bytes.append(0) }
        rest = number
        repeat {
            place -= 1
            bytes[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
    }
}
