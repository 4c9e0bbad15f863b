// SPDX-License-Identifier: Apache-2.0
// From values and raw columns to the components of keys. Every component of an index begins with a presence marker,
// also where the column isn't optional: rows that are older than a property hold null in it. Keys of JSON and of arrays
// serve equality alone; their order means nothing.

import FoundationEssentials
package import HornbeamKeys
import HornbeamPages

package enum KeyCoding {
    /// Appends a value that is not null and was converted to `type`, without a marker.
    static func append(_ value: Value, as type: ColumnType, to key: inout KeyWriter) throws(HornbeamError) {
        switch (type.unwrapped, value) {
        case (.bool, .bool(let flag)): key.append(flag)
        case (.int8, .int(let number)): key.append(Int8(truncatingIfNeeded: number))
        case (.int16, .int(let number)): key.append(Int16(truncatingIfNeeded: number))
        case (.int32, .int(let number)): key.append(Int32(truncatingIfNeeded: number))
        case (.int64, .int(let number)): key.append(number)
        case (.uint8, .uint(let number)): key.append(UInt8(truncatingIfNeeded: number))
        case (.uint16, .uint(let number)): key.append(UInt16(truncatingIfNeeded: number))
        case (.uint32, .uint(let number)): key.append(UInt32(truncatingIfNeeded: number))
        case (.uint64, .uint(let number)): key.append(number)
        case (.float, .double(let number)): key.append(Float(number))
        case (.double, .double(let number)), (.date, .date(let number)): key.append(number)
        case (.uuid, .uuid(let id)): key.append(uuid: id.uuid)
        case (.string, .string(let text)), (.url, .string(let text)): key.append(text)
        case (.data, .data(let data)): key.append(bytes: Array(data))
        case (.decimal, .decimal(let number)): key.append(try decimal(number))
        case (.json, .json(let text)): key.append(text)
        case (.array(let element), .array(let values)):
            try key.append(array: values) { (key, value) throws(HornbeamError) in
                try appendComponent(value, as: element, descending: false, to: &key)
            }
        default:
            throw HornbeamError(
                .invalid, "\(value.text.shown()), \(type.withArticle), has no order: index or compare another property")
        }
    }

    private static func decimal(_ number: Decimal) throws(HornbeamError) -> KeyDecimal {
        if number.isNaN { return .nan }
        guard let (mantissa, exponent) = number.magnitude.parts,
            let decimal = KeyDecimal(isNegative: number.sign == .minus, mantissa: mantissa, exponent: exponent)
        else {
            throw HornbeamError(
                .invalid, "the decimal \(number) has more digits than a key can hold: round it, or don't index it")
        }
        return decimal
    }

    /// Appends a whole component, with its marker.
    package static func appendComponent(
        _ value: Value, as type: ColumnType, descending: Bool, to key: inout KeyWriter
    ) throws(HornbeamError) {
        let start = key.bytes.count
        if value == .null {
            key.appendNil()
        } else {
            key.appendPresent()
            try append(value, as: type, to: &key)
        }
        if descending { key.invert(from: start) }
    }

    /// Appends a whole component straight from a row. Returns whether the column has a value.
    @discardableResult
    package static func appendComponent(
        of row: RowReader, column: Int, descending: Bool, to key: inout KeyWriter
    ) throws(HornbeamError) -> Bool {
        let start = key.bytes.count
        let isNull = try row.isNull(column: column)
        if isNull {
            key.appendNil()
        } else {
            key.appendPresent()
            try appendPresent(row, column, to: &key)
        }
        if descending { key.invert(from: start) }
        return !isNull
    }

    private static func appendPresent(
        _ row: RowReader, _ column: Int, to key: inout KeyWriter
    ) throws(HornbeamError) {
        switch row.kind(column) {
        case .int64:
            if let number = try row.int(column) { key.append(number) }
        case .double, .date:
            if let number = try row.double(column) { key.append(number) }
        case .text where row.layout.fields[column].type != .json:
            guard let utf8 = try row.stringBytes(column), !key.append(plain: utf8) else { return }
            if let text = try row.string(column) { key.append(text) }
        default:
            try append(try row.value(column), as: row.layout.fields[column].type, to: &key)
        }
    }

    /// The shape of a component, for skipping it.
    static func shape(of type: ColumnType, descending: Bool) -> KeyShape? {
        let shape: KeyShape
        switch type.unwrapped {
        case .string, .url, .data, .json: shape = .terminated
        case .decimal: shape = .decimal
        case .array(let element):
            guard let element = Self.shape(of: element, descending: false) else { return nil }
            shape = .array(element)
        case let fixed:
            guard let width = fixed.fixedWidth else { return nil }
            shape = .fixed(width)
        }
        return descending ? .descending(.optional(shape)) : .optional(shape)
    }
}
