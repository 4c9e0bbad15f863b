// SPDX-License-Identifier: Apache-2.0
// Numbers as text in columns of every type: a column holds exactly the written number, or refuses it.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("A number as text")
struct WrittenNumberTests {
    /// Returns the column's value as an export writes it, or nil if the column refuses the number.
    private func held(_ text: String, _ type: ColumnType) throws -> String? {
        let node = try JSONParser.parse(text)
        return JSONRows.value(node, as: type).map(\.json)
    }

    /// Numbers as text and the exported value of each, or nil if it is refused.
    private static let table: [(type: ColumnType, text: String, held: String?)] = [
        (.int8, "127", "127"), (.int8, "128", nil), (.int8, "-128", "-128"), (.int8, "-129", nil),
        (.int8, "1.0", "1"), (.int8, "1e2", "100"), (.int8, "1e3", nil), (.int8, "12.5e1", "125"),
        (.int8, "1.5", nil), (.int8, "-0", "0"), (.int8, "0e999999999999999999999", "0"), (.int8, "\"1\"", nil),
        (.int8, "true", nil), (.int8, "null", nil), (.int8, "[1]", nil),
        (.int16, "32767.000", "32767"), (.int16, "32768", nil), (.int16, "-3.2768E4", "-32768"),
        (.int32, "2147483647", "2147483647"), (.int32, "2147483648", nil), (.int32, "2.147483648e9", nil),
        (.int64, "9223372036854775807", "9223372036854775807"), (.int64, "9223372036854775808", nil),
        (.int64, "-9223372036854775808", "-9223372036854775808"), (.int64, "-9223372036854775809", nil),
        (.int64, "9223372036854775807.0", "9223372036854775807"),
        (.int64, "-9.223372036854775808e18", "-9223372036854775808"), (.int64, "1e19", nil), (.int64, "1e400", nil),
        (.int64, "9007199254740993e0", "9007199254740993"), (.int64, "10e-1", "1"), (.int64, "1e-1", nil),
        (.uint8, "255", "255"), (.uint8, "256", nil), (.uint8, "-1", nil), (.uint8, "-0", "0"),
        (.uint8, "2.55e2", "255"),
        (.uint16, "65535", "65535"), (.uint16, "65536", nil), (.uint32, "4294967295", "4294967295"),
        (.uint32, "4294967296", nil), (.uint64, "18446744073709551615", "18446744073709551615"),
        (.uint64, "18446744073709551616", nil), (.uint64, "1.8446744073709551615e19", "18446744073709551615"),
        (.uint64, "-1e0", nil),
        (.double, "0.1", "0.1"), (.double, "1e400", nil), (.double, "-1e400", nil), (.double, "1e-400", nil),
        (.double, "0e-400", "0.0"), (.double, "-0.0", "-0.0"), (.double, "5e-324", "5e-324"),
        (.double, "1.7976931348623157e308", "1.7976931348623157e+308"), (.double, "1.8e308", nil),
        (.double, "0.10000000000000001", "0.1"), (.double, "9007199254740992", "9007199254740992.0"),
        (.double, "9007199254740993", nil), (.double, "-9007199254740993", nil),
        (.double, "12345678901234567000", "1.2345678901234567e+19"), (.double, "1e22", "1e+22"),
        (.double, "1180591620717411303424", "1.1805916207174113e+21"), (.double, "\"NaN\"", "\"NaN\""),
        (.double, "\"-Infinity\"", "\"-Infinity\""), (.double, "\"1\"", nil), (.double, "true", nil),
        (.float, "0.1", "0.10000000149011612"), (.float, "1e39", nil), (.float, "-3.5e38", nil), (.float, "1e-50", nil),
        (.float, "16777216", "16777216.0"), (.float, "16777217", nil), (.float, "\"Infinity\"", "\"Infinity\""),
        (.date, "1e400", nil), (.date, "0", "\"2001-01-01T00:00:00Z\""), (.date, "\"2001-02-29\"", nil),
        (.date, "\"2001-01-01T24:00:00Z\"", nil), (.date, "\"5\"", nil),
        (.decimal, "0.1", "0.1"), (.decimal, "\"9.99\"", "9.99"), (.decimal, "1e3", "1000"), (.decimal, "1E3", "1000"),
        (.decimal, "12345678901234567890.123456789", "12345678901234567890.123456789"),
        (.decimal, "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        (.decimal, "123456789012345678901234567890123456789012345", nil),
        (.decimal, "1234567890123456789012345678901234567890.5", nil), (.decimal, "1e400", nil),
        (.decimal, "1e-400", nil), (.decimal, "\"1.5x\"", nil), (.decimal, "\"\"", nil),
        (.decimal, "\"NaN\"", "\"NaN\""), (.decimal, "true", nil),
        (.bool, "1", nil), (.bool, "0", nil), (.bool, "\"true\"", nil), (.string, "1", nil), (.uuid, "1", nil),
        (.url, "1", nil), (.data, "1", nil),
        // JSON keeps the written form.
        (.json, "1e400", "1e400"), (.json, "1.50", "1.50"),
    ]

    @Test("is held exactly, or refused, by every type", arguments: table.indices)
    func types(_ row: Int) throws {
        let (type, text, held) = Self.table[row]
        #expect(try self.held(text, type) == held, "\(text) as \(type)")
        #expect(try self.held(text, .optional(type)) == (text == "null" ? "null" : held), "\(text) as \(type)?")
        #expect(try self.held("[\(text)]", .array(type)) == held.map { "[\($0)]" }, "[\(text)] as [\(type)]")
        guard held == nil, text != "null" else { return }
        let node = try JSONParser.parse(text)
        #expect(!JSONRows.reason(node, as: type).isEmpty)
        let list = JSONRows.reason(.array([node]), as: .array(type))
        #expect(list.hasPrefix("\(text)") && list.contains(" is not \(type.withArticle): "), "\(list)")
    }

    @Test("is refused with the reason")
    func reasons() throws {
        for (text, type, reason) in [
            ("1e400", ColumnType.double, "the greatest number it holds is 1.7976931348623157e+308"),
            ("1e39", .float, "the greatest number it holds is 3.4028235e+38"),
            ("9007199254740993", .double, "the nearest number it holds is 9007199254740992.0"),
            ("1e-400", .double, "the nearest number it holds is 0.0"), ("1.5", .int8, "it must be a whole number"),
            ("128", .int8, "it must be -128 to 127"),
            ("1234567890123456789012345678901234567890.5", .decimal, "a decimal holds 38 digits"),
            ("\"x\"", .decimal, "it must be a number"), ("null", .int8, "it can't be null"),
        ] {
            let node = try JSONParser.parse(text)
            #expect(JSONRows.value(node, as: type) == nil)
            #expect(JSONRows.reason(node, as: type) == reason)
        }
    }

    @Test("of any integer comes back, in every notation", .seeded)
    func integers() {
        var random = SeededGenerator()
        for _ in 0..<5_000 {
            let number = Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...63, using: &random)
            let digits = String(number.magnitude)
            let sign = number < 0 ? "-" : ""
            let cut = Int.random(in: 1...digits.count, using: &random)
            let whole = digits.prefix(cut)
            let rest = digits.dropFirst(cut)
            let texts = [
                "\(number)", "\(number).0", "\(number)e0", "\(number)00e-2", "\(sign)\(whole).\(rest)0e\(rest.count)",
                "\(sign)0.0\(digits)E+\(digits.count + 1)",
            ]
            for text in texts { #expect(WrittenNumber.int64(text) == number, "\(text)") }
            if number >= 0 { for text in texts { #expect(WrittenNumber.uint64(text) == UInt64(number), "\(text)") } }
        }
    }

    @Test("of any double, float or decimal comes back", .seeded)
    func fractions() {
        var random = SeededGenerator()
        for _ in 0..<5_000 {
            let double = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
            if double.isFinite { #expect(WrittenNumber.double(double.description) == double) }
            let float = Float(bitPattern: UInt32.random(in: 0...UInt32.max, using: &random))
            if float.isFinite {
                #expect(WrittenNumber.float(float.description) == float)
                #expect(WrittenNumber.float(Double(float).description) == float)
            }
            let decimal = Decimal(Int.random(in: .min ... .max, using: &random)) / 1_000_000
            #expect(WrittenNumber.decimal(decimal.description) == decimal)
        }
    }

    @Test("is nothing but digits, a point, a sign and an exponent")
    func grammar() {
        let none = [
            "", "-", ".", "1.2.3", "1e", "1e+", "e5", "0x10", "1 ", " 1", "1_0", "1,5", "NaN", "inf", "--1", "٣",
        ]
        for text in none {
            #expect(WrittenNumber(text) == nil, "\(text)")
        }
        for text in ["1", "-1", "+1", ".5", "5.", "1.50e+07", "1E-2"] { #expect(WrittenNumber(text) != nil, "\(text)") }
    }
}
