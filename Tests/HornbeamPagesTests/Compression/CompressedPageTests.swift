// SPDX-License-Identifier: Apache-2.0
// Compressed leaves by themselves: what goes in comes out, what can't be right is refused.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A compressed page")
struct CompressedPageTests {
    private static let size = 32_768

    /// A raw leaf whose content repeats itself every `period` bytes.
    private func leaf(period: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let pattern = random.bytes(period)
        var page = (0..<Self.size).map { pattern[$0 % period] }
        page.withUnsafeMutableBytes { buffer in
            if let start = buffer.baseAddress {
                PageHeader.write(to: start, birth: 7, kind: .leaf, level: 0, sectors: 8)
            }
        }
        return page
    }

    /// The stored form, or nil if none is worth it.
    private func stored(_ page: [UInt8]) -> [UInt8]? {
        var target = [UInt8](repeating: 0xEE, count: page.count)
        let sectors = page.withBytes { page in
            target.withUnsafeMutableBytes { CompressedPage.make(page, into: $0) }
        }
        return sectors.map { Array(target[..<(Int($0) * 4096)]) }
    }

    private func decoded(_ stored: [UInt8], size: Int = size) -> (page: [UInt8], problem: String?) {
        var page = [UInt8](repeating: 0, count: size)
        let problem = stored.withBytes { stored in
            page.withUnsafeMutableBytes { CompressedPage.decode(stored, into: $0) }
        }
        return (page, problem)
    }

    @Test("gives the raw page back, and takes fewer sectors", .seeded, arguments: [1, 7, 100, 3000, 16_000, 27_000])
    func roundTrip(period: Int) throws {
        var random = SeededGenerator()
        let page = leaf(period: period, &random)
        let small = try #require(stored(page))
        #expect(small.count % 4096 == 0 && small.count < page.count)
        let result = decoded(small)
        #expect(result.problem == nil)
        #expect(result.page == page)
    }

    @Test("is not made where it saves no sector", .seeded)
    func incompressible() {
        var random = SeededGenerator()
        #expect(stored(leaf(period: Self.size, &random)) == nil)
    }

    @Test("is refused whatever its bytes are, and nothing is read or written outside of it", .seeded)
    func hostile() throws {
        var random = SeededGenerator()
        let page = leaf(period: 900, &random)
        let whole = try #require(stored(page))
        for _ in 0..<2000 {
            var copy = whole
            for _ in 0...random.below(3) {
                copy[24 + random.below(random.oneIn(2) ? 40 : 900)] = UInt8(random.below(256))
            }
            let result = decoded(copy)
            // What is not refused has the right size; a checksum tells it from what was written.
            #expect(result.page.count == Self.size)
        }
        for size in [UInt32(0), 4095, 4096, 8192, 65_536, .max] {
            var copy = whole
            copy.withUnsafeMutableBytes { $0.storeBytes(of: size.littleEndian, toByteOffset: 24, as: UInt32.self) }
            #expect(decoded(copy).problem != nil)
        }
        var copy = whole
        copy.withUnsafeMutableBytes { $0.storeBytes(of: UInt32.max, toByteOffset: 28, as: UInt32.self) }
        #expect(decoded(copy).problem != nil)
        #expect(decoded(whole, size: 65_536).problem != nil)
    }
}
