// SPDX-License-Identifier: Apache-2.0
// Raw keys as text and back.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("Keys as text")
struct KeyTextTests {
    private func show(_ bytes: [UInt8], hex: Bool = false) -> String {
        bytes.withBytes { KeyText.show($0, hexOnly: hex) }
    }

    @Test("text is quoted, other bytes are hexadecimal")
    func show() {
        #expect(show(Array("größe".utf8)) == "\"größe\"")
        #expect(show(Array("a\"b\\".utf8)) == "\"a\\\"b\\\\\"")
        #expect(show([0, 0, 0, 7]) == "0x00000007")
        #expect(show([0x61, 0xFF]) == "0x61ff")
        #expect(show(Array("a\u{1B}".utf8)) == "0x611b")
        #expect(show([]) == "\"\"")
        #expect(show([0x61], hex: true) == "0x61")
    }

    @Test("printed keys can be typed back", .seeded)
    func roundTrip() {
        var generator = SeededGenerator()
        for _ in 0..<2_000 {
            let bytes: [UInt8] = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                [0x22, 0x5C, 0x61, 0x30, 0x78, 0xC3, 0xA4, 0x00, 0xFF].randomElement(using: &generator) ?? 0
            }
            // With an accent a quote is one character of Swift's, and still a quote.
            let accented = bytes.flatMap { (byte: UInt8) -> [UInt8] in
                Bool.random(using: &generator) ? [byte, 0xCC, 0x81] : [byte]
            }
            #expect(KeyText.parse(show(accented)) == accented)
            #expect(KeyText.parse(show(bytes)) == bytes)
        }
    }

    @Test("arguments may be plain; malformed ones are refused")
    func parse() {
        #expect(KeyText.parse("data") == Array("data".utf8))
        #expect(KeyText.parse("0xFf00") == [0xFF, 0])
        #expect(KeyText.parse("0xf") == nil)
        #expect(KeyText.parse("0xzz") == nil)
        #expect(KeyText.parse("0x") == nil)
        #expect(KeyText.parse("\"a\\\"") == nil)
        #expect(KeyText.parse("\"") == Array("\"".utf8))
    }

    @Test("the range of a prefix ends where its last byte is raised")
    func prefixes() {
        #expect(TreeScanCommand.bounds(ofPrefix: [1, 2]) == .init(from: [1, 2], to: [1, 3]))
        #expect(TreeScanCommand.bounds(ofPrefix: [1, 0xFF, 0xFF]) == .init(from: [1, 0xFF, 0xFF], to: [2]))
        #expect(TreeScanCommand.bounds(ofPrefix: [0xFF]) == .init(from: [0xFF], to: []))
    }
}
