// SPDX-License-Identifier: Apache-2.0
// Strings of columns, above all short ones, equal the strings that the standard library makes of those bytes.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Strings of columns")
struct ShortStringsTests {
    private func expectSame(_ bytes: [UInt8]) {
        let expected = String(validating: bytes, as: UTF8.self)
        let made = bytes.withUnsafeBytes { ValueBytes.string($0) }
        #expect(made == expected && made.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(bytes)")
        guard var made, var expected else { return }
        #expect(made.hashValue == expected.hashValue && made.count == expected.count, "\(bytes)")
        made += "…and more of it"
        expected += "…and more of it"
        #expect(made == expected, "\(bytes)")
    }

    @Test("of every length, of ASCII, of all scalars, and of bytes that are no UTF-8", .seeded)
    func lengths() {
        var random = SeededGenerator()
        for count in 0...40 {
            for _ in 0..<50 {
                expectSame((0..<count).map { _ in UInt8.random(in: 0..<0x80, using: &random) })
                var bytes = (0..<count).map { _ in UInt8.random(in: 0x20..<0x7F, using: &random) }
                expectSame(bytes)
                if let place = bytes.indices.randomElement(using: &random) {
                    bytes[place] = UInt8.random(in: 0x80...0xFF, using: &random)
                    expectSame(bytes)
                    let scalars = ["é", "€", "😀", "é€😀"][random.below(4)]
                    bytes.replaceSubrange(place...place, with: Array(scalars.utf8))
                    expectSame(bytes)
                }
            }
        }
    }

    @Test("short ones of ASCII are made in registers, under this standard library")
    func registers() {
        for count in 0...16 {
            let bytes = [UInt8](repeating: 0x41, count: count)
            let words = bytes.withUnsafeBytes { ShortString.words(ofASCII: $0) }
            #expect((words != nil) == (count < 16))
            expectSame(bytes)
        }
    }
}
