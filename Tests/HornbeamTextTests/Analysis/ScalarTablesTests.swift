// SPDX-License-Identifier: Apache-2.0
// The frozen Unicode tables and the tokenizer's UTF-8 code, tested on every scalar.

import Testing

@testable import HornbeamText

@Suite("Unicode tables")
struct ScalarTablesTests {
    /// Returns whether the scalar existed in the Unicode version of the frozen tables.
    private func isKnown(_ scalar: Unicode.Scalar) -> Bool {
        guard let age = scalar.properties.age else { return false }
        return (age.major, age.minor) <= (Int(UnicodeTables.version.major), Int(UnicodeTables.version.minor))
    }

    @Test("They agree with the toolchain's properties on every scalar")
    func everyScalar() {
        let tables = ScalarTables.shared
        var wrong: [UInt32] = []
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else {
                if tables.isWord(value) || tables.lower(value) != value { wrong.append(value) }
                if CaseProperties.isCased(value) || CaseProperties.isCaseIgnorable(value) { wrong.append(value) }
                continue
            }
            let isKnown = isKnown(scalar)
            if tables.isWord(value) != (isKnown && NaiveIndex.isWord(scalar)) { wrong.append(value) }
            let properties = scalar.properties
            if CaseProperties.isCased(value) != (isKnown && properties.isCased) { wrong.append(value) }
            if CaseProperties.isCaseIgnorable(value) != (isKnown && properties.isCaseIgnorable) { wrong.append(value) }
            guard value != 0x130, isKnown, value >= 0x80 else { continue }
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            if lower.count != 1 || lower.first?.value != tables.lower(value) { wrong.append(value) }
        }
        #expect(wrong.isEmpty)
    }

    @Test("The tables aren't read beyond the last scalar")
    func beyond() {
        for value in [0x11_0000, UTF8Scalars.malformed, 0x7FFF_FFFF] {
            #expect(!ScalarTables.shared.isWord(value))
            #expect(ScalarTables.shared.lower(value) == value)
            #expect(!CaseProperties.isCased(value) && !CaseProperties.isCaseIgnorable(value))
        }
    }

    @Test("No lower case makes a text longer than the tokenizer's buffer allows")
    func growth() {
        for value in UInt32(0x80)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value), let lower = Unicode.Scalar(ScalarTables.shared.lower(value))
            else {
                continue
            }
            let (size, lowerSize) = (UTF8.width(scalar), UTF8.width(lower))
            if 2 * lowerSize > 3 * size { Issue.record("\(value) grows from \(size) to \(lowerSize) bytes") }
        }
    }

    @Test("Malformed UTF-8 decodes to no scalar, one byte at a time, and never runs out of the text")
    func malformed() {
        let samples: [[UInt8]] = [
            [0x80], [0xC3], [0xC0, 0x80], [0xE4, 0xB8], [0xF0, 0x9F, 0x98], [0xFF], [0xC3, 0x28],
            [0xF8, 0x88, 0x80, 0x80],
        ]
        for bytes in samples {
            bytes.withUnsafeBufferPointer { source in
                var index = 0
                #expect(UTF8Scalars.decode(source, at: &index) == UTF8Scalars.malformed)
                #expect(index == 1)
            }
        }
    }

    @Test("Every scalar survives encoding and decoding")
    func roundTrip() {
        let target = UnsafeMutablePointer<UInt8>.allocate(capacity: 8)
        defer { target.deallocate() }
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var size = 0
            UTF8Scalars.append(value, target, &size)
            var index = 0
            let decoded = UTF8Scalars.decode(UnsafeBufferPointer(start: target, count: size), at: &index)
            if size != UTF8.width(scalar) || index != size || decoded != value { Issue.record("scalar \(value)") }
        }
    }
}
