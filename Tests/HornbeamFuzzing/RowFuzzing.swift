// SPDX-License-Identifier: Apache-2.0
// Fuzz target: rows. Any bytes read as a row of many types of columns give values or typed errors; a row written from
// these values gives the values again.

import Hornbeam
import HornbeamPages

private let columns: [ColumnDescription] = [
    "int64", "int8?", "uint16", "uint64?", "double", "float?", "bool", "string", "date", "data?", "uuid", "url?",
    "decimal", "[int64?]", "[string]?", "[[uint8]]", "json?", "[double]", "string?",
].enumerated().map { ColumnDescription(name: "c\($0.offset)", type: ColumnType($0.element) ?? .data) }

/// The first byte chooses the number of columns that the reader knows, the rest is the row.
public func fuzzRows(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let known = Array(columns.prefix(1 + Int(choice) % columns.count))
    let layout = RowLayout(columns: known)
    defer { withExtendedLifetime(layout) {} }
    guard let row = try? RowReader(UnsafeRawBufferPointer(rebasing: input[1...]), layout: layout) else { return }
    for column in known.indices {
        _ = try? row.rawBytes(column)
        _ = try? row.bool(column)
        _ = try? row.int(column)
        _ = try? row.uint(column)
        _ = try? row.double(column)
        _ = try? row.string(column)
        _ = try? row.isNull(column: column)
    }
    guard let values = try? row.values() else { return }
    var writer = RowWriter(layout: layout)
    for (column, value) in values.enumerated() { writer.set(value, column) }
    guard let bytes = try? writer.finish() else { return }
    bytes.withUnsafeBytes { again in
        let copy = try? RowReader(again, layout: layout).values()
        // Compared as text, because NaN isn't equal to itself.
        precondition(copy.map { "\($0)" } == "\(values)", "a row that was read and written reads differently")
    }
}
