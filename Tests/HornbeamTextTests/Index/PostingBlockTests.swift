// SPDX-License-Identifier: Apache-2.0
// The coding of postings: round trips, bounds, damage, garbage.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

extension Postings {
    fileprivate var docnos: [UInt64] { postings.map(\.docno) }
    fileprivate var frequencies: [UInt32] { postings.map(\.frequency) }
    fileprivate var lengths: [UInt32] { postings.map(\.length) }
}

@Suite("Posting blocks")
struct PostingBlockTests {
    private func random(_ random: inout SeededGenerator) -> Postings {
        var postings = Postings()
        let widest = [1, 3, 300, 1 << 40][Int.random(in: 0..<4, using: &random)]
        let largest = UInt32([1, 2, 200, 1 << 29][Int.random(in: 0..<4, using: &random)])
        var docno = UInt64.random(in: 0...1 << 50, using: &random)
        for _ in 0..<Int.random(in: 1...PostingBlock.capacity, using: &random) {
            postings.append(docno, .random(in: 1...largest, using: &random), .random(in: 0...10_000, using: &random))
            docno += UInt64(Int.random(in: 1...widest, using: &random))
        }
        return postings
    }

    private func encoded(_ postings: Postings) -> [UInt8] {
        var bytes: [UInt8] = []
        postings.encode(0..<postings.count, to: &bytes)
        return bytes
    }

    @Test("A block gives back its postings and exact bounds", arguments: SeededGenerator.seeds(3))
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var block = DecodedBlock()
        for _ in 0..<300 {
            let postings = self.random(&random)
            let bytes = encoded(postings)
            #expect(bytes.withUnsafeBytes { block.decode($0, first: postings.docnos[0]) }, "HORNBEAM_SEED=\(seed)")
            #expect((0..<block.count).map { block.docnos[$0] } == postings.docnos)
            #expect((0..<block.count).map { block.frequencies[$0] } == postings.frequencies)
            try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                let head = try #require(PostingBlock(&reader, first: postings.docnos[0]))
                #expect(head.last == postings.docnos.last)
                #expect(head.largestFrequency == postings.frequencies.max())
                #expect(head.shortestLength == postings.lengths.min())
            }
        }
    }

    @Test("The ends of the number range fit")
    func extremes() {
        var postings = Postings()
        postings.append(0, 1, 0)
        postings.append(.max, .max, .max)
        var block = DecodedBlock()
        #expect(encoded(postings).withUnsafeBytes { block.decode($0, first: 0) })
        #expect(block.docnos[1] == .max)
        #expect(block.frequencies[1] == .max)
        #expect(block.shortestLength == 0)
    }

    @Test("A cut, lengthened or misplaced block is refused")
    func damaged() {
        var postings = Postings()
        for docno in UInt64(5)..<60 { postings.append(docno * docno, UInt32(docno), 100) }
        let bytes = encoded(postings)
        var block = DecodedBlock()
        for size in bytes.indices {
            #expect(!Array(bytes[..<size]).withUnsafeBytes { block.decode($0, first: 25) })
            #expect(block.count == 0)
        }
        #expect(!(bytes + [0]).withUnsafeBytes { block.decode($0, first: 25) })
        #expect(!bytes.withUnsafeBytes { block.decode($0, first: .max - 10) })
        #expect(bytes.withUnsafeBytes { block.decode($0, first: 25) })
    }

    @Test("Whatever decodes ascends and has no frequency of zero", arguments: SeededGenerator.seeds(3))
    func garbage(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var block = DecodedBlock()
        var decoded = 0
        for _ in 0..<4000 {
            var bytes: [UInt8]
            if Bool.random(using: &random) {
                bytes = encoded(self.random(&random))
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
            } else {
                bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in .random(in: 0...255, using: &random) }
            }
            let first = UInt64.random(in: 0...UInt64.max, using: &random)
            guard bytes.withUnsafeBytes({ block.decode($0, first: first) }) else { continue }
            decoded += 1
            let docnos = (0..<block.count).map { block.docnos[$0] }
            #expect(zip(docnos, docnos.dropFirst()).allSatisfy(<), "HORNBEAM_SEED=\(seed)")
            #expect((0..<block.count).allSatisfy { block.frequencies[$0] > 0 }, "HORNBEAM_SEED=\(seed)")
        }
        #expect(decoded > 20)
    }
}

@Suite("Varints")
struct VarintTests {
    @Test("Every width round-trips")
    func roundTrip() {
        for shift in 0..<64 {
            for value in [UInt64(1) << UInt64(shift), (UInt64(1) << UInt64(shift)) - 1, ~(UInt64.max << UInt64(shift))]
            {
                var bytes: [UInt8] = []
                bytes.appendVarint(value)
                bytes.withUnsafeBytes { bytes in
                    var reader = ByteReader(bytes)
                    #expect(reader.varint() == value)
                    #expect(reader.isAtEnd)
                }
            }
        }
    }

    @Test("Numbers that are cut off or too large are refused")
    func refused() {
        let samples: [[UInt8]] = [
            [], [0x80], [0xFF, 0xFF], Array(repeating: 0xFF, count: 9) + [0x02], Array(repeating: 0x80, count: 11),
        ]
        for bytes in samples {
            bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                #expect(reader.varint() == nil)
            }
        }
        withBytes(Array(repeating: 0xFF, count: 9) + [0x01]) { bytes in
            var reader = ByteReader(bytes)
            #expect(reader.varint() == .max)
        }
    }
}
