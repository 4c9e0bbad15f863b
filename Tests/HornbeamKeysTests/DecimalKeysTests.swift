// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as keys, with Foundation's as the model.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

@Suite("Decimal keys")
struct DecimalKeysTests {
    private struct Sample {
        let key: KeyDecimal
        let model: Decimal
    }

    private func sample(_ isNegative: Bool, _ mantissa: UInt64, _ exponent: Int) throws -> Sample {
        let key = try #require(KeyDecimal(isNegative: isNegative, mantissa: UInt128(mantissa), exponent: exponent))
        let model = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: Decimal(mantissa))
        return Sample(key: key, model: model)
    }

    @Test("Decimals sort by value, however their mantissa and exponent are chosen", .seeded)
    func order() throws {
        var generator = SeededGenerator()
        var samples: [Sample] = []
        for mantissa in [0, 1, 2, 9, 10, 11, 12, 99, 100, 101, 120, 123, 1000, UInt64.max] {
            for exponent in [-20, -2, -1, 0, 1, 2, 20] {
                samples.append(try sample(false, mantissa, exponent))
                samples.append(try sample(true, mantissa, exponent))
            }
        }
        for _ in 0..<60 {
            let mantissa = generator.next() >> UInt64(generator.below(64))
            samples.append(try sample(generator.oneIn(2), mantissa, generator.below(30) - 15))
        }
        expectSameOrder(of: samples, model: { HornbeamKeysTests.order($0.model, $1.model) }) { $0.append($1.key) }
        for sample in samples {
            #expect(try roundTrip(sample.key, write: { $0.append($1) }, read: { try $0.readDecimal() }) == sample.key)
        }
    }

    @Test("1.0 and 1.00 are one key, zero has no sign, NaN comes last")
    func equality() throws {
        let one = KeyDecimal(isNegative: false, mantissa: 10, exponent: -1)
        #expect(one == KeyDecimal(isNegative: false, mantissa: 100, exponent: -2))
        #expect(KeyDecimal(isNegative: true, mantissa: 0, exponent: 7) == .zero)
        #expect(try roundTrip(.nan, write: { $0.append($1) }, read: { try $0.readDecimal() }) == .nan)
        let greatest = try #require(KeyDecimal(isNegative: false, mantissa: .max, exponent: KeyDecimal.exponentLimit))
        #expect(key { $0.append(greatest) }.lexicographicallyPrecedes(key { $0.append(KeyDecimal.nan) }))
    }

    @Test("The largest mantissas and exponents come back, one beyond the limit is no decimal")
    func limits() throws {
        for exponent in [KeyDecimal.exponentLimit, -KeyDecimal.exponentLimit] {
            for mantissa in [UInt128.max, 1, 7] {
                let value = try #require(KeyDecimal(isNegative: true, mantissa: mantissa, exponent: exponent))
                #expect(try roundTrip(value, write: { $0.append($1) }, read: { try $0.readDecimal() }) == value)
            }
            #expect(KeyDecimal(isNegative: false, mantissa: 1, exponent: exponent + exponent.signum()) == nil)
        }
        #expect(KeyDecimal(isNegative: false, mantissa: 10, exponent: .max) == nil)
        #expect(KeyDecimal(isNegative: false, mantissa: 1, exponent: .min) == nil)
    }

    @Test("The bytes are those of the specification")
    func specifiedBytes() throws {
        let value = try #require(KeyDecimal(isNegative: false, mantissa: 12_345, exponent: -2))
        #expect(key { $0.append(value) } == [3, 0x80, 3, 13, 35, 51, 0])
        let negative = try #require(KeyDecimal(isNegative: true, mantissa: 12_345, exponent: -2))
        #expect(key { $0.append(negative) } == [1, 0x7F, 0xFC, 0xF2, 0xDC, 0xCC, 0xFF])
    }

    @Test(
        "Digits that no writer makes are refused",
        arguments: [
            [0], [5], [3, 0x80, 1, 0], [3, 0x80, 1, 5, 0], [3, 0x80, 1, 102, 0], [3, 0x80, 1, 20, 1, 0],
            [3, 0xFF, 0xFF, 20, 0], [3, 0x80, 1] + [UInt8](repeating: 100, count: 21) + [0], [3, 0x80, 1, 20],
        ] as [[UInt8]])
    func otherDigits(bytes: [UInt8]) {
        #expect(throws: KeyError.self) { try reading(bytes) { try $0.readDecimal() } }
    }
}
