// SPDX-License-Identifier: Apache-2.0
// The spelling of column types: written types are read back, and no text from a file can exhaust the stack.

import Foundation
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Column types")
struct ColumnTypeTests {
    private func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + "int8" + String(repeating: "]", count: depth)
    }

    @Test("are read back from their spelling")
    func spelling() {
        for type: ColumnType in [.int64, .optional(.string), .array(.uuid), .optional(.array(.optional(.date)))] {
            #expect(ColumnType(type.description) == type)
        }
        for text in ["", "?", "[", "[]", "[int8", "int8]", "int9"] { #expect(ColumnType(text) == nil) }
    }

    @Test("nest up to 16 deep; a deeper spelling is refused, however deep")
    func depth() throws {
        #expect(ColumnType(nested(16))?.description == nested(16))
        #expect(ColumnType(nested(17)) == nil)
        #expect(ColumnType("int8" + String(repeating: "?", count: 17)) == nil)
        #expect(ColumnType(nested(300_000)) == nil)
        let stored = try JSONEncoder().encode([nested(300_000)])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([ColumnType].self, from: stored) }
    }
}
