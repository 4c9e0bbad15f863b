// SPDX-License-Identifier: Apache-2.0
// Hostile pages: if validation accepts a page, no reader or editor may access memory outside it. Each page is between
// two guard pages, so that one byte too far ends the test.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Node validation")
struct NodeValidationTests {
    /// Does everything with an accepted page that trees do with a node; the editors come last.
    private func exercise(_ page: GuardedPage, isBranch: Bool, _ random: inout SeededGenerator) throws {
        let node = NodeView(UnsafeRawPointer(page.bytes), size: page.size)
        var keys = [random.bytes(4), random.bytes(40)]
        for index in 0..<node.count {
            let key = node.keyBytes(index)
            if index % 7 == 0 { keys.append(key) }
            _ = node.cell(index).valueBytes.reduce(0) { $0 &+ Int($1) }
            if isBranch { _ = node.child(index) }
        }
        for key in keys {
            key.withUnsafeBytes { _ = isBranch ? node.childIndex($0) : node.find($0).index }
        }
        let memory = try WriterMemory(pageSize: page.size)
        var list = EntryList(
            storage: memory.entries, capacity: EntryList.capacity(pageSize: page.size), isBranch: isBranch,
            stamp: node.stamp)
        list.append(node, 0..<node.count)
        #expect(list.nodeSize(0..<list.count) <= NodeLayout.capacity(pageSize: page.size))
        if list.count > 1 { _ = list.splitIndex(capacity: NodeLayout.capacity(pageSize: page.size)) }
        list.write(0..<list.count, to: memory.page, size: page.size)
        let editor = NodeEditor(page.bytes, size: page.size)
        if random.oneIn(2) { editor.compact(scratch: memory.page) }
        let new = node.prefix + random.bytes(random.below(30) + 1)
        new.withUnsafeBytes { key in
            let at = isBranch ? node.childIndex(key) + 1 : node.find(key).index
            let value = [UInt8](repeating: 1, count: 24)
            if editor.sharesPrefix(key), editor.fits(keySize: key.count, valueSize: 24) == .asIs {
                value.withUnsafeBytes { editor.insert(at: at, key: key, value: CellValue(bytes: $0, isLong: false)) }
            }
        }
        // Values may have any content: the sizes of a cell aren't inside another's value.
        for index in 0..<node.count where !isBranch && !node.cell(index).isLong {
            let value = [UInt8](repeating: 255, count: node.cell(index).valueBytes.count)
            value.withUnsafeBytes {
                editor.replace(at: index, value: CellValue(bytes: $0, isLong: false), scratch: memory.page)
            }
        }
        while node.count > 0 {
            editor.remove(at: random.below(node.count))
            if isBranch { editor.emptyFirstKey() }
        }
    }

    private func valid(_ random: inout SeededGenerator, size: Int, isBranch: Bool) -> TestNode {
        let node = TestNode(size: size, isBranch: isBranch)
        let kind = KeyKind.allCases[random.below(KeyKind.allCases.count)]
        var counter: UInt64 = 0
        var model = ModelTree()
        for _ in 0...random.below(60) {
            let key = kind.key(&random, maximum: 200, counter: &counter)
            model.put(key, isBranch ? childRecord(page: 9) : random.bytes(random.below(30)))
        }
        while !node.build(zip(model.keys, model.values).map { ($0, $1) }) { _ = model.delete(model.keys[0]) }
        return node
    }

    @Test("Random bytes are refused or harmless", .seeded, arguments: [4096, 65536])
    func garbage(size: Int) throws {
        var random = SeededGenerator()
        let page = try #require(GuardedPage(size: size))
        for round in 0..<200 {
            let bytes = random.bytes(size)
            bytes.withUnsafeBytes { page.bytes.copy($0) }
            // Small numbers pass the first checks.
            for field in [24, 26, 28, 30] { page.bytes.write16(random.below(round % 2 == 0 ? 64 : size), field) }
            for isBranch in [false, true] {
                let kind: PageKind = isBranch ? .branch : .leaf
                if NodeValidation.problem(Bytes(start: page.bytes, count: size), kind: kind) == nil {
                    try exercise(page, isBranch: isBranch, &random)
                }
            }
        }
    }

    @Test("A valid page with any bytes changed is refused or harmless", .seeded, arguments: [4096, 8192])
    func mutated(size: Int) throws {
        var random = SeededGenerator()
        let page = try #require(GuardedPage(size: size))
        var accepted = 0
        for round in 0..<3000 {
            let isBranch = round % 2 == 0
            let node = valid(&random, size: size, isBranch: isBranch)
            #expect(node.problem == nil, "round \(round)")
            page.bytes.copyMemory(from: node.bytes, byteCount: size)
            let interesting = NodeLayout.heads + 6 * node.view.count
            for _ in 0...random.below(4) {
                let place = random.oneIn(3) ? size - 1 - random.below(400) : 24 + random.below(interesting - 24)
                page.bytes.storeBytes(of: UInt8(random.below(256)), toByteOffset: place, as: UInt8.self)
            }
            let kind: PageKind = isBranch ? .branch : .leaf
            guard NodeValidation.problem(Bytes(start: page.bytes, count: size), kind: kind) == nil else { continue }
            accepted += 1
            try exercise(page, isBranch: isBranch, &random)
        }
        // Changes of values and of free bytes aren't covered by validation.
        #expect(accepted > 100)
    }

    @Test("Each kind of damage is named")
    func reasons() {
        func problem(isBranch: Bool = false, _ damage: (TestNode) -> Void) -> String {
            let node = TestNode(isBranch: isBranch)
            let keys: [[UInt8]] = [[5, 1, 1, 1, 1, 1], [5, 2, 2, 2, 2, 2], [5, 3, 3, 3, 3, 3]]
            _ = node.build(keys.enumerated().map { ($1, isBranch ? childRecord(page: UInt64($0 + 4)) : [UInt8($0)]) })
            damage(node)
            return node.problem ?? "none"
        }
        #expect(problem { _ in } == "none")
        #expect(problem { $0.bytes.write16(0, 24) } == "a node without entries")
        #expect(problem { $0.bytes.write16(700, 24) } == "arrays and heap overlap")
        #expect(problem { $0.bytes.write16(4000, 26) } == "a prefix of 4000 bytes")
        #expect(problem { $0.bytes.write16(8, 36) } == "an impossible size of reduced values")
        #expect(problem(isBranch: true) { $0.bytes.write16(8, 36) } == "entry 0 is no child record")
        #expect(problem(isBranch: true) { $0.bytes.write16(257, 36) } == "an impossible size of reduced values")
        #expect(problem(isBranch: true) { $0.bytes.write16(1, 38) } == "an impossible size of reduced values")
        #expect(problem { $0.bytes.write16(1, 30) } == "the heap's parts do not add up to its size")
        #expect(problem { $0.bytes.write16(100, 52) } == "entry 0 lies outside the heap")
        #expect(problem { $0.bytes.write16($0.view.slot(0), 54) } == "two entries share bytes of the heap")
        #expect(problem { $0.bytes.write16(2000, $0.view.slot(1)) } == "entry 1 reaches beyond the heap")
        #expect(problem { $0.bytes.write32(1, 44) } == "entry 1 has the wrong key head")
        #expect(
            problem {
                let first = $0.view.slot(0)
                $0.bytes.write16($0.view.slot(1), 52)
                $0.bytes.write16(first, 54)
                let head = $0.view.head(0)
                $0.bytes.write32($0.view.head(1), 40)
                $0.bytes.write32(head, 44)
            } == "entry 1 is out of order")
        #expect(
            problem(isBranch: true) { $0.bytes.write64(0, $0.view.slot(1) + 4 + $0.view.cell(1).suffixSize) }
                == "entry 1 has an impossible child record")
        #expect(
            problem(isBranch: true) { $0.bytes.write64(1 << 63 | 1, $0.view.slot(1) + 20 + $0.view.cell(1).suffixSize) }
                == "entry 1 has an impossible child record")
        #expect(
            problem(isBranch: true) { $0.bytes.write64(6, PageLayout.birth) }
                == "entry 0 has an impossible child record")
        #expect(problem { $0.bytes.write16(0xFFFF, $0.view.slot(2) + 2) } == "entry 2 reaches beyond the heap")
    }

    // The top bits of a page number give the number of sectors in which a compressed leaf is stored; all ones mean
    // that it is only in memory. Any value was accepted, so that a file could name leaves of the open transaction,
    // which freed them.
    @Test("A page number names a node page or, above a leaf, at most as many sectors as a node can have")
    func pagePointers() {
        func problem(_ page: UInt64, level: UInt8) -> String {
            let node = TestNode(isBranch: true)
            _ = node.build([([1], childRecord(page: 4)), ([2], childRecord(page: page))])
            node.bytes.storeBytes(of: level, toByteOffset: PageLayout.level, as: UInt8.self)
            return node.problem ?? "none"
        }
        let refusal = "entry 1 has an impossible child record"
        #expect(problem(9, level: 1) == "none")
        #expect(problem(16 << 48 | 9, level: 1) == "none")
        #expect(problem(17 << 48 | 9, level: 1) == refusal)
        #expect(problem(0xFFFF << 48 | 9, level: 1) == refusal)
        #expect(problem(1 << 48, level: 1) == refusal)
        #expect(problem(9, level: 2) == "none")
        #expect(problem(1 << 48 | 9, level: 2) == refusal)
        #expect(problem(0xFFFF << 48 | 9, level: 2) == refusal)

        func root(_ page: UInt64, level: Int = 0) -> Bool {
            TreeRoot(page: page, birth: 3, count: 1, level: level).isPlausible(transaction: 3)
        }
        #expect(root(9) && root(16 << 48 | 9) && root(9, level: 2))
        #expect(!root(17 << 48 | 9) && !root(0xFFFF << 48) && !root(1 << 48 | 9, level: 1) && !root(1 << 48))

        let leaf = TestNode()
        var reference = [UInt8](repeating: 0, count: NodeLayout.referenceSize)
        for (page, isRight) in [(UInt64(9), true), (1 << 48 | 9, false), (0xFFFF << 48 | 9, false)] {
            reference.withUnsafeMutableBytes {
                guard let start = $0.baseAddress else { return }
                LongReference(page: page, size: 5000, birth: 7).write(to: start)
            }
            _ = leaf.build([([1], reference)])
            leaf.bytes.write16(Int(NodeLayout.longMark), leaf.view.slot(0) + NodeLayout.cellValueSize)
            #expect((leaf.problem == nil) == isRight, "page \(page)")
        }
    }
}
