// SPDX-License-Identifier: Apache-2.0
// A single integer read from a packed group equals the one that unpacking the group gives; positions of postings in
// any order.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Positions of single postings")
struct PositionBlockTests {
    @Test("An integer read alone is the one of the unpacked group", .seeded)
    func integers() {
        var random = SeededGenerator()
        for bits in 0...32 {
            for count in [1, 2, 31, 127, 128] {
                let limit = bits == 32 ? UInt32.max : (1 << UInt32(bits)) - 1
                let values = (0..<count).map { _ in UInt32.random(in: 0...limit, using: &random) }
                let size = PackedIntegers.payloadSize(count: count, bits: bits)
                // One byte more than the group has, so that reading too far gives another result.
                let memory = UnsafeMutableRawPointer.allocate(byteCount: size + 1, alignment: 16)
                defer { memory.deallocate() }
                PackedIntegers.pack(values, count: count, bits: bits, to: memory)
                memory.storeBytes(of: 0xFF, toByteOffset: size, as: UInt8.self)
                let payload = Bytes(start: memory, count: size)
                for place in 0..<count {
                    let found = PackedIntegers.value(place, of: payload, count: count, bits: bits)
                    #expect(found == values[place], "\(count) of \(bits) bits")
                }
            }
        }
    }

    @Test("A document takes the bits that its own positions need, a long one those of its group")
    func apart() {
        var postings = PostingsBuffer()
        for docno in 0..<UInt32(128) {
            // 10 bits, then 3; one document needs 17.
            let first = docno == 40 ? 100_000 : 512 + docno
            postings.append(docno, frequency: 3, length: 1000)
            for position in [first, first + 5, first + 13] { postings.append(position: position) }
        }
        var encoder = PositionRunEncoder()
        var sink = ByteSink()
        _ = encoder.encode(postings, 0..<128, positionsFrom: 0, to: &sink)
        #expect(sink.count == 2 + (4 + 8) + 32 * (3 * 10 + 17) / 8 + 256 * 3 / 8)
        #expect(encoder.sizes[0] == sink.count)
    }

    @Test("Postings may be read in any order", .seeded)
    func order() {
        var random = SeededGenerator()
        var postings = PostingsBuffer()
        var expected: [[UInt32]] = []
        for docno in 0..<UInt32(128) {
            let frequency = random.oneIn(5) ? random.below(300) + 1 : random.below(3) + 1
            postings.append(docno, frequency: UInt32(frequency), length: 1000)
            var next: UInt32 = 0
            var positions: [UInt32] = []
            for _ in 0..<frequency {
                next += UInt32(random.below(9))
                positions.append(next)
                postings.append(position: next)
                next += 1
            }
            expected.append(positions)
        }
        var encoder = PositionRunEncoder()
        var sink = ByteSink()
        _ = encoder.encode(postings, 0..<128, positionsFrom: 0, to: &sink)
        var block = PositionBlock()
        guard let bytes = PositionBlock.find(0, of: 1, in: sink.bytes),
            block.open(bytes, frequencies: postings.frequencies, count: 128)
        else {
            Issue.record("the block isn't readable")
            return
        }
        for place in Array(0..<128) + Array(0..<128).shuffled(using: &random) {
            var found: [UInt32] = []
            #expect(block.append(place, to: &found))
            #expect(found == expected[place])
        }
    }
}
