// SPDX-License-Identifier: Apache-2.0
// The format of a node, byte by byte, as Docs/file-format.md draws it. If one of these tests fails, users' files
// can't be read any more.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Node layout")
struct NodeLayoutTests {
    private func bytes(_ node: TestNode, _ range: Range<Int>) -> [UInt8] {
        range.map { node.bytes.load(fromByteOffset: $0, as: UInt8.self) }
    }

    @Test("A leaf has its counts, key heads, slots, cells and prefix in the places given by the format")
    func leafBytes() {
        let node = TestNode()
        #expect(node.build([(Array("user/ann".utf8), [1]), (Array("user/bobby".utf8), [])]))
        // Count 2, prefix of 5 bytes, heap of 5 + (4 + 3 + 1) + (4 + 5), nothing dead, tree 5, no reduction.
        #expect(bytes(node, 24..<40) == [2, 0, 5, 0, 22, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0])
        // Heads, little-endian: "ann\0" and "bobb" as big-endian integers.
        #expect(bytes(node, 40..<48) == [0x00, 0x6E, 0x6E, 0x61, 0x62, 0x62, 0x6F, 0x62])
        // Slots: 4096 − 5 − 8 = 4083 and 4083 − 9 = 4074.
        #expect(bytes(node, 48..<52) == [0xF3, 0x0F, 0xEA, 0x0F])
        #expect(bytes(node, 4083..<4091) == [3, 0, 1, 0] + Array("ann".utf8) + [1])
        #expect(bytes(node, 4074..<4083) == [5, 0, 0, 0] + Array("bobby".utf8))
        #expect(bytes(node, 4091..<4096) == Array("user/".utf8))
    }

    /// A leaf of another size, which a forged parent takes for a node page, is copied before its size is looked at.
    @Test("The free bytes lie within the size, whatever the header says", .seeded)
    func freeBytes() {
        var random = SeededGenerator()
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
        defer { bytes.deallocate() }
        for _ in 0..<10_000 {
            let size = 4096 << random.below(5)
            let (count, heap) = (random.below(1 << random.below(17)), random.below(1 << random.below(17)))
            bytes.write16(count, NodeLayout.count)
            bytes.write16(heap, NodeLayout.heapSize)
            let free = NodeView(bytes, size: size).freeBytes
            let arrays = NodeLayout.heads + 6 * count
            #expect(free.lowerBound >= 0 && free.upperBound == max(0, size - heap))
            #expect(free.lowerBound == min(arrays, free.upperBound))
        }
    }

    @Test("A branch has child records of 24 bytes, and a first entry without a key")
    func branchBytes() {
        let node = TestNode(isBranch: true)
        #expect(
            node.build([
                (Array("zzz".utf8), childRecord(page: 0x11, birth: 0x22, count: 0x33)),
                (Array("b".utf8), childRecord(page: 0x44, birth: 0x55, count: 0x66)),
            ]))
        #expect(bytes(node, 24..<32) == [2, 0, 1, 0, 57, 0, 0, 0])
        // A single separator is its own prefix: both heads are zero.
        #expect(bytes(node, 40..<48) == [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(
            bytes(node, 4067..<4096)
                == [0, 0, 24, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 0, 0, 0, 0, 0x33, 0, 0, 0, 0, 0, 0, 0]
                + Array("b".utf8))
    }

    @Test("A long value's cell holds 0xFFFF for its size and a reference of 24 bytes")
    func longValueBytes() {
        let node = TestNode()
        var reference = [UInt8](repeating: 0, count: 24)
        reference.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            LongReference(page: 0x11, size: 0x10_0000, birth: 0x22).write(to: start)
        }
        reference.withUnsafeBytes { value in
            [UInt8(9)].withUnsafeBytes { key in
                let storage = UnsafeMutablePointer<EntryReference>.allocate(capacity: 2)
                defer { storage.deallocate() }
                let stamp = NodeStamp(tree: 1, reductionSize: 0, reserve: 0)
                var list = EntryList(storage: storage, capacity: 2, isBranch: false, stamp: stamp)
                list.insert(at: 0, key: key, value: CellValue(bytes: value, isLong: true))
                list.write(0..<1, to: node.bytes, size: node.size)
            }
        }
        #expect(
            bytes(node, 4067..<4096)
                == [
                    0, 0, 0xFF, 0xFF, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 0, 0, 0, 0,
                    9,
                ])
        #expect(node.problem == nil)
    }

    @Test(
        "The limits leave room for three entries of the largest kind in every page size",
        arguments: [
            4096, 8192, 16384, 32768, 65536,
        ])
    func limits(pageSize: Int) {
        let largestLong = NodeLayout.cellHeader + NodeLayout.maximumKey(pageSize: pageSize) + NodeLayout.referenceSize
        let largestChild = largestLong - NodeLayout.referenceSize + NodeLayout.childSize + NodeLayout.maximumReduction
        let largest = max(largestChild, NodeLayout.inlineLimit(pageSize: pageSize)) + NodeLayout.entryOverhead
        #expect(3 * largest <= NodeLayout.capacity(pageSize: pageSize))
        // Inline values are never as large as the mark of a long one, and offsets fit 16 bits.
        #expect(NodeLayout.inlineLimit(pageSize: pageSize) < Int(NodeLayout.longMark))
        #expect(pageSize - 1 <= Int(UInt16.max))
    }
}
