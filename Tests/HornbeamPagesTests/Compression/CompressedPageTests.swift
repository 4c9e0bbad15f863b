// SPDX-License-Identifier: Apache-2.0
// Compressed leaves by themselves: they are decompressed to the same bytes, whole and by parts, and impossible ones are
// refused.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A compressed page")
struct CompressedPageTests {
    private static let size = 32_768
    private static let parts = LeafParts(
        headEnd: 200, tailSize: 11, blocks: [2000] + [Int](repeating: 4096, count: 6) + [4000])

    /// A raw leaf whose blocks repeat themselves every `period` bytes.
    private func leaf(period: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let pattern = random.bytes(period)
        var page = (0..<Self.size).map { pattern[$0 % period] }
        page.withUnsafeMutableBytes { buffer in
            if let start = buffer.baseAddress {
                PageHeader.write(to: start, birth: 7, kind: .leaf, level: 0, sectors: 8)
            }
            Self.parts.clearRest(of: buffer)
        }
        return page
    }

    /// The stored form: the page itself if compression isn't worth it.
    private func stored(_ page: [UInt8], parts: LeafParts = parts) -> [UInt8] {
        var page = page
        // The result is in the encoder's memory.
        let encoder = LeafEncoder(reserve: 0)
        return withExtendedLifetime(encoder) {
            page.withUnsafeMutableBytes { Array(encoder.encode(leafInFull: $0, parts)) }
        }
    }

    /// The stored form with blocks of the former one; nil if it can't be made of it.
    private func stored(_ page: [UInt8], _ parts: LeafParts, former: [UInt8]) -> [UInt8]? {
        let encoder = LeafEncoder(reserve: 0)
        return withExtendedLifetime(encoder) {
            former.withBytes { former in
                guard let blocks = BlockPage(former), blocks.rawSize == Self.size,
                    let leaf = encoder.decode(former: former, blocks)
                else { return nil }
                return page.withBytes { encoder.encode($0, parts, former: leaf) }.map { Array($0) }
            }
        }
    }

    /// The page with its blocks in another order: first those in `kept`, whose bytes it doesn't have, then the others.
    private func keeping(_ kept: UInt64, of page: [UInt8]) -> (page: [UInt8], parts: LeafParts) {
        let first = Self.size - 11 - Self.parts.blocks.reduce(0, +)
        var (here, moved) = ([UInt8](), [UInt8]())
        var (front, back) = ([Int](), [Int]())
        var place = first
        for (index, size) in Self.parts.blocks.enumerated() {
            if kept >> UInt64(index) & 1 != 0 {
                here += [UInt8](repeating: 0xDB, count: size)
                front.append(size)
            } else {
                moved += page[place..<place + size]
                back.append(size)
            }
            place += size
        }
        return (
            Array(page[..<first]) + here + moved + page[place...],
            LeafParts(headEnd: 200, tailSize: 11, blocks: front + back, kept: kept)
        )
    }

    private func decoded(_ stored: [UInt8], size: Int = size) -> (page: [UInt8], problem: String?) {
        var page = [UInt8](repeating: 0, count: size)
        let problem = stored.withBytes { stored in
            page.withUnsafeMutableBytes { CompressedPage.decode(stored, into: $0) }
        }
        return (page, problem)
    }

    @Test("gives the raw page back, and takes fewer sectors", .seeded, arguments: [1, 7, 100, 1500])
    func roundTrip(period: Int) throws {
        var random = SeededGenerator()
        let page = leaf(period: period, &random)
        let small = stored(page)
        #expect(small.count % 4096 == 0 && small.count < page.count)
        let result = decoded(small)
        #expect(result.problem == nil)
        #expect(result.page == page)
    }

    @Test("gives the raw page back however it is divided", .seeded)
    func anyParts() throws {
        var random = SeededGenerator()
        for _ in 0..<50 {
            var page = leaf(period: 40 + random.below(1000), &random)
            var parts = LeafParts(headEnd: 24 + random.below(3000), tailSize: random.below(900), blocks: [])
            var room = Self.size - parts.headEnd - parts.tailSize
            for _ in 0...random.below(64) where room > 0 {
                parts.blocks.append(1 + random.below(min(room, 9000)))
                room -= parts.blocks.last ?? 0
            }
            page.withUnsafeMutableBytes { parts.clearRest(of: $0) }
            #expect(decodedIfSmaller(stored(page, parts: parts), page) == page)
        }
    }

    private func decodedIfSmaller(_ stored: [UInt8], _ page: [UInt8]) -> [UInt8] {
        stored.count < page.count ? decoded(stored).page : stored
    }

    @Test("is not made if it saves no sector", .seeded)
    func incompressible() {
        var random = SeededGenerator()
        let page = leaf(period: Self.size, &random)
        #expect(stored(page) == page)
    }

    @Test("is the same whether or not blocks of the former one are kept", .seeded)
    func keptBlocks() throws {
        var random = SeededGenerator()
        let page = leaf(period: 300, &random)
        for _ in 0..<40 {
            // The first block, on which the others depend, and any others.
            let kept = UInt64(random.below(256)) | 1
            let (short, parts) = keeping(kept, of: page)
            let result = try #require(stored(short, parts, former: stored(page)))
            // This page has the bytes of the kept blocks too.
            var whole = short
            let raw = decoded(result).page
            whole.replaceSubrange(200..., with: raw[200...])
            #expect(result == stored(whole, parts: LeafParts(headEnd: 200, tailSize: 11, blocks: parts.blocks)))
            #expect(decoded(result).problem == nil)
            var place = Self.size - 11 - Self.parts.blocks.reduce(0, +)
            var target = place
            for (index, size) in Self.parts.blocks.enumerated() {
                if kept >> UInt64(index) & 1 != 0 {
                    #expect(raw[target..<target + size].elementsEqual(page[place..<place + size]))
                    target += size
                }
                place += size
            }
            #expect(raw[target...].elementsEqual(short[target...]))
        }
    }

    @Test("has a kept block as it was, even if compressing again would give another one", .seeded)
    func keptAsItIs() throws {
        var random = SeededGenerator()
        let page = leaf(period: 300, &random)
        // This leaf with its third block stored raw, like from an encoder that compresses less.
        let small = stored(page)
        let (head, table) = (200 - 24, BlockPage.table)
        let entry = table + 4 * 2
        var sizes: [Int] = []
        for block in 0..<8 { sizes.append(Int(small[table + 4 * block + 2]) | Int(small[table + 4 * block + 3]) << 8) }
        let start = table + 4 * 8 + head + 11 + sizes[0] + sizes[1]
        let raw = Self.size - 11 - Self.parts.blocks.reduce(0, +) + 2000 + 4096
        var former = Array(small[..<start]) + page[raw..<raw + 4096] + small[(start + sizes[2])...]
        former[entry + 2] = UInt8(4096 & 0xFF)
        former[entry + 3] = UInt8(4096 >> 8)
        former += [UInt8](repeating: 0, count: (4096 - former.count % 4096) % 4096)
        #expect(decoded(former).page == page)
        let (short, parts) = keeping(0b0111_1111, of: page)
        let result = try #require(stored(short, parts, former: former))
        #expect(result[entry + 2...entry + 3].elementsEqual([0, 16]), "the raw block was not kept")
        #expect(decoded(result).page == page)
    }

    @Test("is not made of blocks without the dictionary they need, or that the former one doesn't have", .seeded)
    func impossibleKept() {
        var random = SeededGenerator()
        let page = leaf(period: 300, &random)
        let former = stored(page)
        for kept: UInt64 in [0b10, 0b1000_0000, 1 << 63, 1 | 1 << 8, 1 | 1 << 63, .max] {
            let parts = LeafParts(headEnd: 200, tailSize: 11, blocks: Self.parts.blocks, kept: kept)
            #expect(stored(page, parts, former: former) == nil)
            #expect(page.withBytes { LeafEncoder(reserve: 0).encode($0, parts) == nil })
        }
    }

    @Test("is made of any former bytes without reading or writing outside of them", .seeded)
    func hostileFormer() {
        var random = SeededGenerator()
        let page = leaf(period: 700, &random)
        let whole = stored(page)
        for _ in 0..<500 {
            var former = whole
            for _ in 0...random.below(5) { former[24 + random.below(2000)] = UInt8(random.below(256)) }
            let (short, parts) = keeping(UInt64(random.below(256)) | 1, of: page)
            guard let result = stored(short, parts, former: former) else { continue }
            #expect(decoded(result).problem == nil)
        }
    }

    @Test("gives any bytes of its blocks by themselves, decoding only the blocks with these bytes", .seeded)
    func byParts() throws {
        var random = SeededGenerator()
        let page = leaf(period: 500, &random)
        let small = stored(page)
        let leaf = PartialLeaf()
        let first = Self.size - 11 - Self.parts.blocks.reduce(0, +)
        for round in 0..<100 {
            try small.withBytes { small in
                try #require(leaf.open(small, pointer: UInt64(round / 10), birth: 7))
                #expect(Array(leaf.bytes[24..<first]) == Array(page[24..<first]))
                #expect(Array(leaf.bytes[(Self.size - 11)...]) == Array(page[(Self.size - 11)...]))
                let start = first + random.below(Self.size - 11 - first)
                let end = min(Self.size - 11, start + 1 + random.below(6000))
                let before = leaf.decoded
                try #require(leaf.load(start..<end))
                // The dictionary, and the blocks of the bytes: two or three.
                #expect((leaf.decoded & ~before).nonzeroBitCount <= 4)
                #expect(Array(leaf.bytes[start..<end]) == Array(page[start..<end]))
            }
        }
        #expect(!leaf.load(24..<28), "the head is in no block")
        #expect(!leaf.load(Self.size - 12..<Self.size), "nor is the tail")
    }

    @Test("is read in the older layout, too: in one piece", .seeded)
    func onePiece() throws {
        var random = SeededGenerator()
        let page = leaf(period: 900, &random)
        var old = [UInt8](repeating: 0, count: Self.size)
        let size = try #require(
            page.withBytes { page in
                old.withUnsafeMutableBytes {
                    LZ4Encoder(capacity: FileFormat.maximumPageSize).compress(
                        Bytes(rebasing: page[24...]), into: UnsafeMutableRawBufferPointer(rebasing: $0[32...]))
                }
            })
        old.removeLast(old.count - (32 + size + 4095) / 4096 * 4096)
        old.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            PageHeader.write(to: start, birth: 7, kind: .leaf, level: 0, sectors: UInt32(buffer.count / 4096))
            start.set(PageLayout.compressed, at: PageLayout.flags)
            start.set(UInt32(Self.size), at: 24)
            start.set(UInt32(size), at: 28)
        }
        #expect(decoded(old).problem == nil)
        #expect(decoded(old).page == page)
        #expect(old.withBytes { !PartialLeaf().open($0, pointer: 1, birth: 7) })
    }

    // Only the sizes distinguished a leaf in blocks from one in a single piece, whose first bytes may look like such
    // sizes.
    @Test("marked as one piece is not mistaken for one in blocks, with any bytes", .seeded)
    func marked() {
        var random = SeededGenerator()
        var other = stored(leaf(period: 300, &random))
        #expect(other.withBytes { PartialLeaf().open($0, pointer: 1, birth: 7) })
        other.withUnsafeMutableBytes { $0.baseAddress?.set(PageLayout.compressed, at: PageLayout.flags) }
        #expect(other.withBytes { !PartialLeaf().open($0, pointer: 1, birth: 7) })
    }

    @Test("is refused with any bytes, and nothing is read or written outside of it", .seeded)
    func hostile() throws {
        var random = SeededGenerator()
        let page = leaf(period: 900, &random)
        let whole = stored(page)
        let leaf = PartialLeaf()
        for round in 0..<2000 {
            var copy = whole
            for _ in 0...random.below(3) {
                copy[18 + random.below(random.oneIn(2) ? 60 : 900)] = UInt8(random.below(256))
            }
            let result = decoded(copy)
            // An accepted page has the right size; whether its content is right is up to the checksum.
            #expect(result.page.count == Self.size)
            copy.withBytes { copy in
                guard leaf.open(copy, pointer: UInt64(round), birth: 1) else { return }
                let start = random.below(leaf.bytes.count)
                _ = leaf.load(start..<start + 1 + random.below(leaf.bytes.count - start))
            }
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
