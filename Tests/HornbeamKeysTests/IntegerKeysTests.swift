// SPDX-License-Identifier: Apache-2.0
// Booleans, integers and UUIDs as keys.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

@Suite("Integer keys")
struct IntegerKeysTests {
    private func check<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) throws {
        var generator = SeededGenerator()
        var values: [Integer] = [.min, .min + 1, .max, .max - 1, 0, 1, 0 &- 1, .max / 2, .max / 2 + 1, 127, 100]
        values += (0..<100).map { _ in Integer.random(in: .min ... .max, using: &generator) }
        values += (0..<50).map { _ in Integer.random(in: .min ... .max, using: &generator) >> (Integer.bitWidth / 2) }
        expectSameOrder(of: values, model: order) { key, value in key.append(value) }
        for value in values {
            #expect(key { $0.append(value) }.count == MemoryLayout<Integer>.size)
            #expect(try roundTrip(value, write: { $0.append($1) }, read: { try $0.read(type) }) == value)
            #expect(
                try roundTrip(
                    value, write: { key, value in key.descending { $0.append(value) } },
                    read: { try $0.descending { (reader) throws(KeyError) in try reader.read(type) } }) == value)
        }
    }

    @Test("Signed integers of every width sort by value and come back", .seeded)
    func signed() throws {
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int.self)
        try check(Int128.self)
    }

    @Test("Unsigned integers of every width sort by value and come back", .seeded)
    func unsigned() throws {
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt.self)
        try check(UInt128.self)
    }

    @Test("The bytes are those of the specification")
    func specifiedBytes() {
        #expect(key { $0.append(Int32(1)) } == [0x80, 0, 0, 1])
        #expect(key { $0.append(Int32(-2)) } == [0x7F, 0xFF, 0xFF, 0xFE])
        #expect(key { $0.append(UInt16(0x1234)) } == [0x12, 0x34])
        #expect(key { $0.append(true) } == [1])
        #expect(key { $0.append(false) } == [0])
    }

    @Test("A Boolean is one byte, false first, and nothing else is one")
    func booleans() throws {
        for value in [false, true] {
            #expect(try roundTrip(value, write: { $0.append($1) }, read: { try $0.readBool() }) == value)
        }
        #expect(throws: KeyError.malformed(offset: 0, reason: "2 is no Boolean")) {
            try reading([2]) { try $0.readBool() }
        }
    }

    @Test("A UUID keeps its sixteen bytes in their order, ascending and descending")
    func uuids() throws {
        let uuid: UUIDBytes = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255)
        let expected: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255]
        #expect(key { $0.append(uuid: uuid) } == expected)
        let inverted = key { key in key.descending { $0.append(uuid: uuid) } }
        #expect(inverted == expected.map { ~$0 })
        let back = try reading(inverted) {
            try $0.descending { (reader) throws(KeyError) in try reader.readUUID() }
        }
        #expect(withUnsafeBytes(of: back) { Array($0) } == expected)
    }
}
