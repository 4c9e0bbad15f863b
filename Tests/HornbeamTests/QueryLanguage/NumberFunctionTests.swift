// SPDX-License-Identifier: Apache-2.0
// Functions of numbers and dates are exact: for decimals, for integers of 64 bits, and for milliseconds.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Reading {
    let id: Int
    var amount: Decimal
    var when: Date
}

private func decimal(_ text: String) -> Decimal { Decimal(string: text) ?? .nan }

@Suite("Numbers and dates in statements")
struct NumberFunctionTests {
    /// Returns the value of an expression.
    private func value(_ expression: String, _ parameters: any ColumnValue...) throws -> Value? {
        var context = Context()
        try Reading(id: 1, amount: 1, when: Date(timeIntervalSinceReferenceDate: 0)).save(to: &context)
        let rows = try Statement("SELECT VALUE \(expression) FROM Reading").resolve(in: context, parameters)
        return rows[0][0]
    }

    // MARK: Decimals

    @Test(
        "decimals are rounded by their digits, halves away from zero",
        arguments: [
            ("ROUND(?, 2)", "1.005", "1.01"), ("ROUND(?, 2)", "-1.005", "-1.01"), ("ROUND(?, 2)", "2.675", "2.68"),
            ("ROUND(?, 2)", "2.6749999999999999999999999", "2.67"), ("ROUND(?)", "0.5", "1"),
            ("ROUND(?)", "-0.5", "-1"),
            ("ROUND(?, 2)", "12345678901234567890.125", "12345678901234567890.13"),
            ("ROUND(?, -2)", "12345678901234567850", "12345678901234567900"), ("ROUND(?, 40)", "1e-100", "0"),
            ("ROUND(?, 100)", "1e-100", "1e-100"), ("ROUND(?, -200)", "9e126", "0"), ("ROUND(?, 500)", "1.5", "1.5"),
            ("ROUND_EVEN(?, 2)", "1.005", "1"), ("ROUND_EVEN(?, 2)", "1.015", "1.02"),
            ("ROUND_EVEN(?, 2)", "-2.0050000000000000000001", "-2.01"), ("TRUNC(?, 2)", "1.15", "1.15"),
            ("TRUNC(?, 2)", "276.96", "276.96"), ("TRUNC(?, 1)", "-1.19", "-1.1"), ("TRUNC(?)", "0.999", "0"),
            ("TRUNC(?, 2)", "12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
            ("CEIL(?)", "12345678901234567890.125", "12345678901234567891"), ("CEIL(?)", "-1.5", "-1"),
            ("CEIL(?)", "1e-100", "1"), ("FLOOR(?)", "-1.15", "-2"), ("FLOOR(?)", "-1e-100", "-1"),
            ("FLOOR(?)", "99999999999999999999.9", "99999999999999999999"), ("ABS(?)", "-1.15", "1.15"),
            ("? % 1", "12345678901234567890.125", "0.125"), ("? % 2", "-7.5", "-1.5"), ("? % 7", "1e100", "4"),
            ("? % 0.3", "1", "0.1"), ("DIV(?, 2)", "10.5", "5.25"), ("IDIV(?, 2)", "-11.5", "-5"),
            ("IDIV(?, 1)", "12345678901234567890.125", "12345678901234567890"), ("POWER(?, 2)", "1.1", "1.21"),
            ("POWER(?, -1)", "2.5", "0.4"), ("POWER(?, 0)", "2.5", "1"), ("? + 0.1", "0.2", "0.3"),
            ("-?", "1.1", "-1.1"),
            ("? * 3", "0.1", "0.3"), ("GREATEST(?, 0.1)", "0.2", "0.2"),
            ("ARRAY_SUM([?, 0.1, 1])", "0.2", "1.3"), ("ARRAY_AVG([?, 0.3])", "0.1", "0.2"),
        ])
    func decimals(expression: String, given: String, expected: String) throws {
        #expect(try value(expression, decimal(given)) == .decimal(decimal(expected)))
    }

    @Test("a decimal cut to any number of digits equals its cut text", arguments: SeededGenerator.seeds(2))
    func cutDecimals(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func digits(_ count: Int) -> String { (0..<count).map { _ in String(generator.below(10)) }.joined() }
        var given: [Decimal] = []
        var expected: [Value] = []
        for _ in 0..<400 {
            let (sign, whole) = (generator.oneIn(2) ? "-" : "", "1" + digits(generator.below(18)))
            let fraction = digits(4 + generator.below(14))
            given.append(decimal("\(sign)\(whole).\(fraction)"))
            expected.append(.decimal(decimal("\(sign)\(whole).\(fraction.prefix(3))")))
        }
        #expect(try value("ARRAY TRUNC(x, 3) FOR x IN ? END", given) == .array(expected))
        #expect(
            try value("ARRAY x FOR x IN ? WHEN ABS(x - ROUND(x, 3)) > 0.0005 END", given) == .array([]))
    }

    @Test("a condition on a cut number finds numbers without further digits")
    func conditions() throws {
        let amounts = ["1.15", "1.005", "276.96", "2.675", "-1.15", "12345678901234567890.12", "0.1"]
        let database = try Database.inMemory(models: Reading.self)
        try database.write { (context) throws in
            for (id, amount) in amounts.enumerated() {
                try Reading(id: id, amount: decimal(amount), when: Date()).save(to: &context)
            }
        }
        func ids(_ condition: String) throws -> [Int] {
            try database.query("SELECT id FROM Reading WHERE \(condition)").map { try $0.value("id", as: Int.self) }
        }
        #expect(try ids("TRUNC(amount, 2) = amount") == [0, 2, 4, 5, 6])
        // A number with more digits than a double has is a decimal.
        #expect(try ids("amount = 12345678901234567890.12") == [5])
        #expect(try ids("amount + 0 = 12345678901234567890.12") == [5])
        #expect(try ids("amount = 12345678901234567890.13").isEmpty)
    }

    @Test("a result beyond the decimals is an error, not another number")
    func beyondDecimals() throws {
        for expression in ["? * ?1", "? * 1e60", "POWER(?, 1) * ?1"] {
            let error = #expect(throws: HornbeamError.self) { try value(expression, decimal("9e126")) }
            #expect(error?.code == .invalid && error?.message.contains("beyond the decimals") == true)
            // A factor of 1e0 leaves a decimal as it is, so the error must not advise it.
            #expect(error?.message.contains("1e0 *") == false)
        }
        #expect(try value("? * 1e200", decimal("2")) == .double(2e200))
        #expect(try value("ARRAY_SUM([?, 1e200])", decimal("2")) == .double(1e200))
        #expect(try value("? / 0", decimal("2")) == .null)
        #expect(try value("? % 0", decimal("2")) == .null)
        #expect(try value("IDIV(?, 0)", decimal("2")) == .null)
        #expect(try value("POWER(?, -1)", decimal("0")) == .null)
    }

    // MARK: Doubles and integers

    @Test(
        "a double is rounded by its shortest text",
        arguments: [
            ("ROUND(1.005, 2)", .double(1.01)), ("TRUNC(1.15, 2)", .double(1.15)), ("ROUND(-1.005, 2)", .double(-1.01)),
            ("ROUND_EVEN(1.005, 2)", .double(1)), ("ROUND(1e300, 5)", .double(1e300)), ("ROUND(1.5, -400)", .int(0)),
            ("ROUND(15.0, -1)", .int(20)), ("ROUND(2.5, 0)", .int(3)), ("ROUND(2.5)", .int(3)),
            ("ROUND(1e-320, 319)", .double(0)), ("TRUNC(-1.9)", .int(-1)), ("CEIL(1e300)", .double(1e300)),
            ("FLOOR(-0.1)", .int(-1)), ("ROUND(0.1, 'a')", .null), ("ROUND(0.1, 1.5)", .null),
        ] as [(String, Value)])
    func doubles(expression: String, expected: Value) throws {
        #expect(try value(expression) == expected)
    }

    @Test(
        "integers stay exact",
        arguments: [
            ("ROUND(9007199254740993, -1)", .int(9_007_199_254_740_990)),
            ("ROUND(9007199254740995, -1)", .int(9_007_199_254_741_000)), ("ROUND(-15, -1)", .int(-20)),
            ("ROUND_EVEN(25, -1)", .int(20)), ("TRUNC(9223372036854775807, -1)", .int(9_223_372_036_854_775_800)),
            ("TRUNC(-19, -1)", .int(-10)), ("ROUND(18446744073709551615, -30)", .int(0)),
            ("ROUND(9223372036854775807, 3)", .int(.max)), ("CEIL(9223372036854775807)", .int(.max)),
            ("ABS(-9223372036854775808)", .uint(1 << 63)), ("TONUMBER('18446744073709551615')", .uint(.max)),
            ("TONUMBER('12345678901234567890.125')", .decimal(decimal("12345678901234567890.125"))),
            ("TONUMBER('1.15')", .double(1.15)), ("TONUMBER('x')", .null), ("1.15", .double(1.15)),
            ("100000000000000000000", .double(1e20)), ("0.10000000000000001", .double(0.1)),
            ("-.1234567890123456789", .decimal(decimal("-0.1234567890123456789"))),
            ("99999999999999999999", .decimal(decimal("99999999999999999999"))),
        ] as [(String, Value)])
    func integers(expression: String, expected: Value) throws {
        #expect(try value(expression) == expected)
    }

    @Test("an integer that is rounded beyond 64 bits is an error")
    func roundedBeyond() {
        let error = #expect(throws: HornbeamError.self) { try value("ROUND(18446744073709551615, -1)") }
        #expect(error?.message.contains("beyond the integers of 64 bits") == true)
    }

    @Test(
        "NULLIF compares, and unknown values equal nothing",
        arguments: [
            ("NULLIF(1, NULL)", .int(1)), ("NULLIF(NULL, 1)", .null), ("NULLIF(1, 1.0)", .null),
            ("NULLIF(1, 2)", .int(1)),
            ("NULLIF(1, MISSING)", .int(1)), ("MISSINGIF(1, NULL)", .int(1)), ("MISSINGIF(1, 1)", nil),
            ("NULLIF(MISSING, 1)", nil),
        ] as [(String, Value?)])
    func nullIf(expression: String, expected: Value?) throws {
        #expect(try value(expression) == expected)
    }

    // MARK: Milliseconds

    @Test("a millisecond that becomes a text and is parsed is unchanged", arguments: SeededGenerator.seeds(2))
    func milliseconds(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        // From the year 1 to the end of 9999.
        let (first, last) = (-62_135_596_800_000, 253_402_300_799_999)
        var millis = [first, last, 0, -1, 1, -999, -1000, -1001, 978_307_200_001, 1_620_139_342_331]
        for _ in 0..<3_000 { millis.append(first + generator.below(last - first + 1)) }
        for place in 0..<2_000 { millis.append(978_307_200_000 + place * 1_234_567 + place % 1000) }
        let expected = Value.array(millis.map { .int(Int64($0)) })
        #expect(try value("ARRAY STR_TO_MILLIS(MILLIS_TO_STR(x)) FOR x IN ? END", millis) == expected)
        // Dates are doubles, which hold such milliseconds only approximately.
        #expect(try value("ARRAY STR_TO_MILLIS(DATE(MILLIS_TO_STR(x))) FOR x IN ? END", millis) == expected)
        #expect(try value("ARRAY x FOR x IN ? WHEN LENGTH(MILLIS_TO_STR(x)) > 24 END", millis) == .array([]))
    }

    @Test(
        "texts of milliseconds, and milliseconds of texts",
        arguments: [
            ("MILLIS_TO_STR(1620139342331)", .string("2021-05-04T14:42:22.331Z")),
            ("MILLIS_TO_STR(-62135596800000)", .string("0001-01-01T00:00:00Z")),
            ("MILLIS_TO_STR(253402300799999)", .string("9999-12-31T23:59:59.999Z")),
            ("MILLIS_TO_STR(-1)", .string("1969-12-31T23:59:59.999Z")),
            ("MILLIS_TO_STR(500)", .string("1970-01-01T00:00:00.5Z")),
            ("MILLIS_TO_STR(1620139342331.9)", .string("2021-05-04T14:42:22.331Z")), ("MILLIS_TO_STR(1e300)", .null),
            ("MILLIS_TO_STR(253402300800000)", .null), ("MILLIS_TO_STR(9223372036854775807)", .null),
            ("MILLIS_TO_STR(-9223372036854775808)", .null), ("MILLIS_TO_STR('1')", .null),
            ("STR_TO_MILLIS('2021-05-04T14:42:22.331Z')", .int(1_620_139_342_331)),
            ("STR_TO_MILLIS('1943-07-10T23:27:33.225Z')", .int(-835_576_346_775)),
            ("STR_TO_MILLIS('1969-12-31T23:59:59.9999Z')", .int(-1)),
            ("STR_TO_MILLIS('2021-05-04T14:42:22.3Z')", .int(1_620_139_342_300)),
            ("STR_TO_MILLIS('2021-05-04T16:42:22.331999999999999999+02:00')", .int(1_620_139_342_331)),
            ("STR_TO_MILLIS('x')", .null), ("STR_TO_MILLIS(1)", .null),
            ("STR_TO_MILLIS(`when`)", .int(978_307_200_000)),
            ("DATE_PART('2001-01-01T23:59:59.999999999999999999Z', 'second')", .int(59)),
            ("DATE_PART('9999-12-31T23:59:59.9999999Z', 'year')", .int(9999)),
            ("DATE_PART('1969-12-31', 'day_of_week')", .int(3)), ("DATE_PART(`when`, 'day_of_week')", .int(1)),
        ] as [(String, Value)])
    func texts(expression: String, expected: Value) throws {
        #expect(try value(expression) == expected)
    }
}
