// SPDX-License-Identifier: Apache-2.0
// Values as cells of a table.

import Foundation
import Hornbeam
import Testing

@testable import HornbeamCommand

@Suite("Values as cells")
struct CellTextTests {
    @Test("each kind of value has its form")
    func kinds() {
        #expect(CellText.show(.null) == "")
        #expect(CellText.show(.bool(true)) == "true")
        #expect(CellText.show(.int(.min)) == "-9223372036854775808")
        #expect(CellText.show(.uint(.max)) == "18446744073709551615")
        #expect(CellText.show(.double(0.1)) == "0.1")
        #expect(CellText.show(.data(Data([0, 0xAB]))) == "0x00ab")
        #expect(
            CellText.show(.data(Data(repeating: 1, count: 2_000))) == "0x01010101010101010101010101010101… (2.00 kB)")
        #expect(CellText.show(.array([.int(1), .null, .string("a")])) == "[1, null, a]")
        #expect(CellText.show(.decimal(Decimal(string: "12.50") ?? 0)) == "12.5")
    }

    @Test(
        "dates are UTC, with milliseconds if there are any",
        arguments: [
            (0.0, "2001-01-01 00:00:00"), (0.25, "2001-01-01 00:00:00.250"), (-0.001, "2000-12-31 23:59:59.999"),
            (-978_307_200, "1970-01-01 00:00:00"), (736_300_800, "2024-05-02 00:00:00"),
            (730_857_599, "2024-02-29 23:59:59"), (-31_622_400, "2000-01-01 00:00:00"), (1e18, "1e+18 s after 2001"),
            (.infinity, "inf s after 2001"),
        ])
    func dates(seconds: Double, text: String) {
        #expect(CellText.show(.date(seconds)) == text)
    }

    @Test("dates since the Gregorian reform agree with Foundation's calendar")
    func calendar() {
        var generator = SeededGenerator()
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt).year().month().day()
            .time(includingFractionalSeconds: false)
        for _ in 0..<500 {
            let seconds = Double(Int64.random(in: -13_000_000_000...60_000_000_000, using: &generator))
            #expect(
                CellText.show(.date(seconds)) == Date(timeIntervalSinceReferenceDate: seconds).formatted(style),
                "seed \(generator.seed)")
        }
    }
}
