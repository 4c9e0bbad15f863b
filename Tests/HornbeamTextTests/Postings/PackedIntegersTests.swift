// SPDX-License-Identifier: Apache-2.0
// Groups of integers of every size and width: packed integers come back, in as few bytes as planned; arbitrary bytes
// are refused or decoded as a group.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Packed integers")
struct PackedIntegersTests {
    private func encoded(_ values: [UInt32]) -> (bytes: [UInt8], plan: PackedIntegers.Plan) {
        var sink = ByteSink()
        return values.withUnsafeBufferPointer { values in
            guard let start = values.baseAddress else {
                return ([], PackedIntegers.Plan(bits: 0, exceptions: 0, size: 0))
            }
            let plan = PackedIntegers.plan(start, count: values.count)
            let end = sink.end(reserving: PackedIntegers.sizeLimit)
            sink.finish(at: PackedIntegers.encode(start, count: values.count, plan, to: end))
            return ([UInt8](sink.bytes), plan)
        }
    }

    /// Returns the values, and whether all bytes were read.
    private func decoded(_ bytes: [UInt8], count: Int) -> (values: [UInt32], isAll: Bool, largest: UInt32)? {
        let target = UnsafeMutablePointer<UInt32>.allocate(capacity: 128)
        defer { target.deallocate() }
        return withBytes(bytes) { bytes in
            var reader = ByteReader(bytes)
            guard let largest = PackedIntegers.decode(&reader, count: count, to: target) else { return nil }
            return (Array(UnsafeBufferPointer(start: target, count: count)), reader.isAtEnd, largest)
        }
    }

    /// Returns the size in the format for integers of `bits` bits.
    private static func size(_ values: [UInt32], bits: Int) -> Int {
        let widths = values.map { 32 - $0.leadingZeroBitCount }.filter { $0 > bits }
        let exceptions = widths.reduce(widths.isEmpty ? 0 : 1) { $0 + 1 + ($1 - bits + 6) / 7 }
        return 1 + (values.count == 128 ? 16 * bits : (values.count * bits + 7) / 8) + exceptions
    }

    @Test("Any integers come back, in as few bytes as they can have", .seeded)
    func roundTrips() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for round in 0..<1500 {
            let count = round % 3 == 0 ? 128 : Int.random(in: 1...128, using: &random)
            let (common, rare) = (UInt32.random(in: 0...32, using: &random), Int.random(in: 1...60, using: &random))
            let values = (0..<count).map { _ in
                let width = Int.random(in: 0..<rare, using: &random) == 0 ? 32 : common
                return width == 0 ? 0 : UInt32.random(in: 0...(.max >> (32 - width)), using: &random)
            }
            let (bytes, plan) = encoded(values)
            let result = decoded(bytes, count: count)
            #expect(bytes.count == plan.size && bytes.count <= PackedIntegers.sizeLimit)
            #expect(plan.size == (0...32).map { Self.size(values, bits: $0) }.min())
            #expect(result?.values == values && result?.isAll == true)
            #expect((result?.largest ?? 0) >= (values.max() ?? 0))
            for cut in [0, bytes.count / 2, bytes.count - 1] {
                #expect(decoded(Array(bytes[..<cut]), count: count) == nil)
            }
        }
    }

    @Test("Equal integers take one width, and a few larger ones a few bytes more")
    func sizes() {
        #expect(encoded(Array(repeating: 0, count: 128)).bytes.count == 1)
        #expect(encoded(Array(repeating: 5, count: 128)).bytes.count == 1 + 16 * 3)
        #expect(encoded(Array(repeating: 5, count: 10)).bytes.count == 1 + 4)
        var values = [UInt32](repeating: 5, count: 128)
        values[17] = 5_000_000
        #expect(encoded(values).bytes.count <= 1 + 16 * 3 + 1 + 4)
        #expect(encoded(Array(repeating: .max, count: 128)).bytes.count == 1 + 16 * 32)
    }

    @Test("Arbitrary bytes are refused, or are integers", .seeded)
    func hostile() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var refused = 0
        for _ in 0..<4000 {
            let count = [1, 5, 127, 128].randomElement(using: &random) ?? 1
            var bytes = (0..<Int.random(in: 0..<600, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if let first = bytes.first { bytes[0] = first & 0x67 }
            if decoded(bytes, count: count) == nil { refused += 1 }
        }
        #expect(refused > 500)
        // The higher bits must be present and fit, and positions must ascend.
        for tail: [UInt8] in [
            [0], [1, 5, 0], [1, 10, 1], [2, 5, 1, 5, 1], [1, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], [1, 5],
        ] {
            #expect(decoded([0x43, 0, 0, 0, 0] + tail, count: 10) == nil)
        }
        #expect(decoded([0x43, 0, 0, 0, 0, 1, 5, 1], count: 10)?.values[5] == 8)
        #expect(decoded([0x03, 0, 0, 0, 0x40], count: 10) == nil, "a bit behind the last integer")
    }
}
