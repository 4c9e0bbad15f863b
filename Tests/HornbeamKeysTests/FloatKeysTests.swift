// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as keys.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

@Suite("Floating-point keys")
struct FloatKeysTests {
    @Test("Doubles sort by value, with NaN after infinity, equal to every NaN, and −0.0 equal to 0.0", .seeded)
    func doubles() throws {
        var generator = SeededGenerator()
        let values = Samples.doubles + (0..<200).map { _ in Samples.double(&generator) }
        expectSameOrder(of: values, model: Samples.order) { key, value in key.append(value) }
        for value in values {
            let back = try roundTrip(value, write: { $0.append($1) }, read: { try $0.readDouble() })
            #expect(Samples.order(back, value) == 0)
            #expect(back != 0 || back.sign == .plus)
        }
    }

    @Test("Floats sort by the same rules", .seeded)
    func floats() throws {
        var generator = SeededGenerator()
        var values: [Float] = [
            0, -0.0, 1, -1, .infinity, -.infinity, .nan, -.nan, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
            .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        ]
        values += (0..<200).map { _ in Float(bitPattern: UInt32(truncatingIfNeeded: generator.next())) }
        expectSameOrder(of: values, model: Samples.order) { key, value in key.append(value) }
        for value in values {
            let back = try roundTrip(value, write: { $0.append($1) }, read: { try $0.readFloat() })
            #expect(Samples.order(back, value) == 0)
        }
    }

    @Test("The bytes are those of the specification")
    func specifiedBytes() {
        #expect(key { $0.append(1.0) } == [0xBF, 0xF0, 0, 0, 0, 0, 0, 0])
        #expect(key { $0.append(-1.0) } == [0x40, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(key { $0.append(-0.0) } == [0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(key { $0.append(Double.nan) } == [0xFF, 0xF8, 0, 0, 0, 0, 0, 0])
        #expect(key { $0.append(Float(1)) } == [0xBF, 0x80, 0, 0])
    }

    @Test(
        "Bits that no writer makes are refused",
        arguments: [
            [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],  // −0.0
            [0xFF, 0xF8, 0, 0, 0, 0, 0, 1],  // another NaN
            [0, 0, 0, 0, 0, 0, 0, 0],  // a negative NaN
        ] as [[UInt8]])
    func otherBits(bytes: [UInt8]) {
        #expect(throws: KeyError.self) { try reading(bytes) { try $0.readDouble() } }
    }
}
