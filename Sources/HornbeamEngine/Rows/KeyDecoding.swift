// SPDX-License-Identifier: Apache-2.0
// Reads components of keys back as values: the inverse of `KeyCoding`. Keys may come from a damaged file, so bytes that
// aren't a component of the type throw an error.

import FoundationEssentials
package import HornbeamKeys

extension KeyCoding {
    /// Reads a whole component, with its marker, that was written in ascending order.
    package static func readComponent(_ type: ColumnType, from reader: inout KeyReader) throws(KeyError) -> Value {
        guard try reader.readPresence() else { return .null }
        let start = reader.offset
        switch type.unwrapped {
        case .bool: return .bool(try reader.readBool())
        case .int8: return .int(Int64(try reader.read(Int8.self)))
        case .int16: return .int(Int64(try reader.read(Int16.self)))
        case .int32: return .int(Int64(try reader.read(Int32.self)))
        case .int64: return .int(try reader.read(Int64.self))
        case .uint8: return .uint(UInt64(try reader.read(UInt8.self)))
        case .uint16: return .uint(UInt64(try reader.read(UInt16.self)))
        case .uint32: return .uint(UInt64(try reader.read(UInt32.self)))
        case .uint64: return .uint(try reader.read(UInt64.self))
        case .float: return .double(Double(try reader.readFloat()))
        case .double: return .double(try reader.readDouble())
        case .date: return .date(try reader.readDouble())
        case .uuid: return .uuid(UUID(uuid: try reader.readUUID()))
        case .string, .url: return .string(try reader.readString())
        case .data: return .data(Data(try reader.readBytes()))
        case .decimal:
            let number = try reader.readDecimal()
            guard let value = decimal(number) else {
                throw .malformed(offset: start, reason: "a decimal beyond what a column holds")
            }
            return .decimal(value)
        case .json, .array, .optional: throw .malformed(offset: start, reason: "\(type) is no type of a key")
        }
    }

    private static func decimal(_ number: KeyDecimal) -> Decimal? {
        if number == .nan { return .nan }
        guard let digits = Decimal(string: number.mantissa.description), (-128...127).contains(number.exponent) else {
            return nil
        }
        let magnitude = Decimal(sign: .plus, exponent: number.exponent, significand: digits)
        return number.isNegative ? -magnitude : magnitude
    }
}
