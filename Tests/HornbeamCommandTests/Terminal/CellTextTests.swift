// SPDX-License-Identifier: Apache-2.0
// Values as cells of a table.

import Foundation
import Hornbeam
import Testing

@testable import HornbeamCommand
@testable import HornbeamEngine

@Suite("Values as cells")
struct CellTextTests {
    @Test("each kind of value has its form")
    func kinds() {
        #expect(CellText.show(.null) == "")
        #expect(CellText.show(.bool(true)) == "true")
        #expect(CellText.show(.int(.min)) == "-9223372036854775808")
        #expect(CellText.show(.uint(.max)) == "18446744073709551615")
        #expect(CellText.show(.double(0.1)) == "0.1")
        #expect(CellText.show(.date(736_300_800)) == "2024-05-02T00:00:00Z")
        #expect(CellText.show(.data(Data([0, 0xAB]))) == "0x00ab")
        #expect(
            CellText.show(.data(Data(repeating: 1, count: 2_000))) == "0x01010101010101010101010101010101… (2.00 kB)")
        #expect(CellText.show(.array([.int(1), .null, .string("a")])) == "[1, null, a]")
        #expect(CellText.show(.decimal(Decimal(string: "12.50") ?? 0)) == "12.5")
    }
}
