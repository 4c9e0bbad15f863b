// SPDX-License-Identifier: Apache-2.0
// Changing one node: every position of small nodes, then long random scripts up to the last free byte.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Node editor")
struct NodeEditorTests {
    /// Returns keys that sort like their numbers, with different lengths.
    private func key(_ number: Int) -> [UInt8] {
        [7, 7, UInt8(number)] + [UInt8](repeating: UInt8(number), count: number % 7)
    }

    @Test("An entry can be inserted at every position of nodes of every small size")
    func insertEverywhere() {
        for count in 1...24 {
            for position in 0...count {
                let node = TestNode()
                let others = (0...count).filter { $0 != position }
                #expect(node.build(others.map { (key($0), [UInt8($0)]) }))
                // With one entry the prefix is its whole key, and the node must be rebuilt for another entry.
                guard node.insert(at: position, key(position), [UInt8(position)]) != .no else {
                    #expect(count == 1)
                    continue
                }
                #expect(node.problem == nil, "\(count) entries, position \(position)")
                #expect(node.keys == (0...count).map { key($0) })
                #expect(node.values == (0...count).map { [UInt8($0)] })
            }
        }
    }

    @Test("An entry can be removed from every position, and the node is right after each further removal")
    func removeEverywhere() {
        for count in 2...16 {
            for position in 0..<count {
                let node = TestNode()
                #expect(node.build((0..<count).map { (key($0), [UInt8($0), 1]) }))
                var left = Array(0..<count)
                var place = position
                while left.count > 1 {
                    node.editor.remove(at: place)
                    left.remove(at: place)
                    #expect(node.problem == nil)
                    #expect(node.keys == left.map { key($0) })
                    place = place % left.count
                }
            }
        }
    }

    @Test("A value is replaced by one of any other size")
    func replaceSizes() {
        for old in [0, 1, 30, 700] {
            for new in [0, 1, 29, 31, 699, 701, 1000] {
                let node = TestNode()
                let filler = [UInt8](repeating: 3, count: 900)
                #expect(
                    node.build([
                        (key(1), filler), (key(2), [UInt8](repeating: 5, count: old)), (key(3), filler), (key(4), [9]),
                    ]))
                let value = [UInt8](repeating: 6, count: new)
                #expect(node.replace(at: 1, value))
                #expect(node.problem == nil, "\(old) → \(new)")
                #expect(node.values == [filler, value, filler, [9]])
            }
        }
    }

    @Test("A value read from the node itself can be put back into it, even if that moves everything")
    func replaceByOwnBytes() {
        let node = TestNode()
        let sizes = [1000, 1000, 800, 1, 900]
        #expect(
            node.build(
                sizes.enumerated().map { (key($0.offset), [UInt8](repeating: UInt8($0.offset), count: $0.element)) }))
        node.editor.remove(at: 1)
        let scratch = UnsafeMutableRawPointer.allocate(byteCount: node.size, alignment: 16)
        defer { scratch.deallocate() }
        let own = node.view.cell(0).valueBytes
        #expect(
            node.editor.fits(keySize: key(3).count, valueSize: own.count, freed: node.view.cell(2).size) == .compacted)
        node.editor.replace(at: 2, value: CellValue(bytes: own, isLong: false), scratch: scratch)
        #expect(node.problem == nil)
        #expect(node.values[2] == [UInt8](repeating: 0, count: 1000))
    }

    @Test("A branch's first entry loses its key when the one before it is removed")
    func emptyFirstKey() {
        let node = TestNode(isBranch: true)
        #expect(node.build((0..<5).map { (key($0 + 1), childRecord(page: UInt64($0 + 10))) }))
        for first in 11...14 {
            node.editor.remove(at: 0)
            node.editor.emptyFirstKey()
            #expect(node.problem == nil)
            #expect(node.view.child(0).page == UInt64(first))
        }
    }

    @Test(
        "Random inserts, replacements and removals keep the node right until it is full", .seeded,
        arguments: [4096, 65536])
    func randomScript(pageSize: Int) {
        var random = SeededGenerator()
        for round in 0..<(pageSize == 4096 ? 40 : 4) {
            let node = TestNode(size: pageSize)
            var model = ModelTree()
            for (key, value) in [([7, 7, 0] as [UInt8], [] as [UInt8]), ([7, 7, 255], [1])] { model.put(key, value) }
            #expect(node.build(zip(model.keys, model.values).map { ($0, $1) }))
            for step in 0..<300 {
                let key: [UInt8] = [7, 7] + random.bytes(1 + random.below(20))
                let value = random.bytes(random.below(random.oneIn(8) ? 900 : 40))
                if let index = model.index(of: key) ?? (random.oneIn(3) ? random.below(model.count) : nil) {
                    if random.oneIn(2), model.count > 2 {
                        node.editor.remove(at: index)
                        _ = model.delete(model.keys[index])
                    } else if node.replace(at: index, value) {
                        model.put(model.keys[index], value)
                    }
                } else if node.insert(at: model.rank(key), key, value) != .no {
                    model.put(key, value)
                }
                if step % 10 == 0 || pageSize == 4096 {
                    #expect(node.problem == nil, "round \(round), step \(step)")
                }
            }
            #expect(node.keys == model.keys, "round \(round)")
            #expect(node.values == model.values, "round \(round)")
        }
    }
}
