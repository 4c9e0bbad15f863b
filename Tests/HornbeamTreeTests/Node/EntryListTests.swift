// SPDX-License-Identifier: Apache-2.0
// Rebuilding and splitting: both halves fit, nothing is lost, and the separator is as short as possible.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Entry list")
struct EntryListTests {
    @Test(
        "A split leaves two nodes that fit and hold all entries, with any keys", .seeded,
        arguments: KeyKind.allCases)
    func splits(kind: KeyKind) throws {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        let pageSize = 4096
        let capacity = NodeLayout.capacity(pageSize: pageSize)
        for isBranch in [false, true] {
            for _ in 0..<20 {
                var model = ModelTree()
                while true {
                    let key = kind.key(&random, maximum: NodeLayout.maximumKey(pageSize: pageSize), counter: &counter)
                    let room = max(0, NodeLayout.inlineLimit(pageSize: pageSize) - 4 - key.count)
                    let value = isBranch ? childRecord(page: 5) : random.bytes(random.below(min(room, 300) + 1))
                    model.put(key, value)
                    let entries = zip(model.keys, model.values).map { ($0, $1) }
                    let isFull = withEntryList(entries, isBranch: isBranch) { $0.nodeSize(0..<$0.count) > capacity }
                    if isFull { break }
                }
                try checkSplit(zip(model.keys, model.values).map { ($0, $1) }, isBranch: isBranch, capacity: capacity)
            }
        }
    }

    private func checkSplit(
        _ entries: [(key: [UInt8], value: [UInt8])], isBranch: Bool, capacity: Int
    ) throws {
        try withEntryList(entries, isBranch: isBranch) { list in
            let cut = try #require(list.splitIndex(capacity: capacity))
            let left = TestNode(isBranch: isBranch)
            let right = TestNode(isBranch: isBranch)
            list.write(0..<cut, to: left.bytes, size: 4096)
            list.write(cut..<list.count, to: right.bytes, size: 4096)
            #expect(left.problem == nil)
            #expect(right.problem == nil)
            #expect(left.values + right.values == entries.map(\.value))
            let separator = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                count = buffer.baseAddress.map { list.separator(at: cut, to: UnsafeMutableRawPointer($0)) } ?? 0
            }
            #expect(entries[cut - 1].key.lexicographicallyPrecedes(separator))
            #expect(!entries[cut].key.lexicographicallyPrecedes(separator))
            let shorter = Array(separator.dropLast())
            #expect(isBranch || !entries[cut - 1].key.lexicographicallyPrecedes(shorter))
        }
    }

    @Test("Keys in two parts compare byte by byte")
    func commonPrefix() {
        let bytes: [UInt8] = [1, 2, 3, 4, 1, 2, 3, 4, 5]
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            let none = CellValue(bytes: .init(start: nil, count: 0), isLong: false)
            for cut in 0...4 {
                var split = EntryReference(key: start, size: 4, value: none)
                split.prefixSize = cut
                split.suffix = start + cut
                split.suffixSize = 4 - cut
                let whole = EntryReference(key: start + 4, size: 5, value: none)
                #expect(split.commonPrefix(whole) == 4)
                #expect(whole.commonPrefix(split) == 4)
                #expect(split.commonPrefix(split) == 4)
            }
        }
    }
}
