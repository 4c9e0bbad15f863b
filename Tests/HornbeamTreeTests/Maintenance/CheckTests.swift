// SPDX-License-Identifier: Apache-2.0
// Check: each kind of damage, forged under valid checksums if a checksum would reveal it, is found and named with its
// tree, page, keys and reason; a sound store is sound during writes too.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Check")
struct CheckTests {
    /// Returns a closed store with one tree of three levels.
    private func makeImage() throws -> [UInt8] {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in 0..<1500 {
            let long = key % 500 == 0 ? 9000 : 0
            let name = Array("key-\(String(key + 10_000))".utf8)
            try write.put(tree, name, [UInt8](repeating: 1, count: 200 + long))
        }
        try write.commit()
        try store.close()
        return try #require(disk.killedImage())
    }

    /// Returns the positions of the pages of a kind and level that the header's state reaches, in ascending order.
    private func pages(_ image: [UInt8], kind: PageKind, level: UInt8 = 0) throws -> [Int] {
        let file = try DamagedFile(file: try SimulatedDisk(image: image))
        return (4..<image.count / 4096).filter { sector in
            image[sector * 4096 + 16] == kind.code && image[sector * 4096 + 17] == level
                && file.standing(of: UInt64(sector), sectors: 1) == .current
                && file.page(UInt64(sector), kind: kind, sectors: UInt32(image[sector * 4096 + 20])) != nil
        }
    }

    private func problems(_ image: [UInt8]) throws -> [String] {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: SparseStore.options)
        var problems: [String] = []
        #expect(try !store.check { problems.append($0) })
        return problems
    }

    /// Returns the image with one page changed and its checksum corrected.
    private func forged(
        _ image: [UInt8], _ page: Int, sectors: Int = 1, _ change: (UnsafeMutableRawPointer) -> Void
    ) -> [UInt8] {
        var image = image
        image[page * 4096..<(page + sectors) * 4096].withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { change(base) }
            PageHeader.seal(bytes, number: UInt64(page))
        }
        return image
    }

    @Test("tells how far it is, and ends when it is told to")
    func progress() throws {
        let store = try TreeStore.open(file: try SimulatedDisk(), options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in 0..<20_000 { try write.put(tree, Array("key-\(key)".utf8), [UInt8](repeating: 1, count: 200)) }
        try write.commit()
        var told: [CheckProgress] = []
        let isSound = try store.check(report: { Issue.record("\($0)") }) { figures in
            told.append(figures)
            return true
        }
        #expect(isSound && told.count >= 3 && told.allSatisfy { $0.checkedBytes <= $0.totalBytes }, "\(told)")
        var calls = 0
        #expect(throws: StorageError.cancelled) {
            try store.check(report: { Issue.record("\($0)") }) { _ in
                calls += 1
                return false
            }
        }
        #expect(calls == 1)
        try store.close()
    }

    @Test("of a sound store finds nothing")
    func sound() throws {
        let store = try TreeStore.open(file: try SimulatedDisk(image: makeImage()), options: SparseStore.options)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("names a page whose bytes were altered, with its tree and its keys")
    func checksum() throws {
        let image = try makeImage()
        for kind in [PageKind.leaf, .longValue] {
            let page = try #require(try pages(image, kind: kind).last)
            var damaged = image
            damaged[page * 4096 + 300] ^= 1
            let found = try problems(damaged)
            #expect(found.count == 1)
            #expect(found.first?.contains("page \(page) of tree “t” (keys from “key-1") == true, "\(found)")
        }
    }

    @Test("names a leaf with a wrong number of entries")
    func count() throws {
        let image = try makeImage()
        let branch = try #require(try pages(image, kind: .branch, level: 1).first)
        let found = try problems(
            forged(image, branch) { base in
                let cell = NodeView(UnsafeRawPointer(base), size: 4096).slot(1)
                let count = base + (cell + NodeLayout.cellHeader + UnsafeRawPointer(base).read16(cell) + 16)
                count.write64(UnsafeRawPointer(count).read64(0) + 1, 0)
            })
        let words = "entries below it, its parent says"
        #expect(found.contains { $0.contains(words) && $0.contains("tree “t”") }, "\(found)")
    }

    @Test("names a leaf of another tree, and one whose keys are beyond its separators")
    func leaf() throws {
        let image = try makeImage()
        let leaves = try pages(image, kind: .leaf)
        let leaf = try #require(leaves.dropFirst(5).first)
        let stamped = try problems(forged(image, leaf) { $0.write32(77, NodeLayout.stamp) })
        #expect(stamped.contains { $0.contains("page \(leaf) ") && $0.contains("tree number 77") }, "\(stamped)")
        let moved = try problems(
            forged(image, leaf) { base in
                // The common prefix of all its keys.
                let prefix = NodeView(UnsafeRawPointer(base), size: 4096).prefixSize
                base.storeBytes(of: UInt8(ascii: "z"), toByteOffset: 4096 - prefix, as: UInt8.self)
            })
        #expect(moved.contains { $0.contains("page \(leaf) ") && $0.contains("separator after it") }, "\(moved)")
    }

    @Test("names a page with two references, and the page left without one")
    func twice() throws {
        let image = try makeImage()
        let branch = try #require(try pages(image, kind: .branch, level: 1).first)
        let found = try problems(
            forged(image, branch) { base in
                let node = NodeView(UnsafeRawPointer(base), size: 4096)
                let other = node.child(2)
                NodeEditor(base, size: 4096).moveChild(1, to: other.page, birth: other.birth)
            })
        #expect(found.contains { $0.contains("two places refer to it") && $0.contains("tree “t”") }, "\(found)")
    }

    @Test("names used sectors that belong to nothing, and pages whose sectors are free")
    func space() throws {
        let image = try makeImage()
        let map = try #require(try pages(image, kind: .spaceMap).first)
        let leaf = try #require(try pages(image, kind: .leaf).dropFirst(3).first)
        func flip(_ sector: Int, _ base: UnsafeMutableRawPointer) {
            let place = SpaceMapPage.contentOffset + sector / 8
            let byte = base.load(fromByteOffset: place, as: UInt8.self)
            base.storeBytes(of: byte ^ UInt8(1 << (sector % 8)), toByteOffset: place, as: UInt8.self)
        }
        let freed = try problems(forged(image, map) { flip(leaf, $0) })
        #expect(freed.contains { $0.contains("page \(leaf) of tree “t”") && $0.contains("free") }, "\(freed)")
        let file = try DamagedFile(file: try SimulatedDisk(image: image))
        let last = try #require(
            (4..<image.count / 4096).last { file.standing(of: UInt64($0), sectors: 1) == .free })
        let leaked = try problems(forged(image, map) { flip(last, $0) })
        #expect(leaked == ["1 sectors from \(last) on are marked as in use, but belong to nothing"])
    }

    @Test("names a damaged header slot", arguments: [0, 1])
    func header(slot: Int) throws {
        var image = try makeImage()
        image[slot * 4096 + 200] ^= 1
        var options = SparseStore.options
        options.readOnly = true
        let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: options)
        var problems: [String] = []
        #expect(try !store.check { problems.append($0) })
        #expect(problems == ["header slot \(slot) is damaged: the store depends on the other one"])
    }

    @Test("distinguishes an unreadable header slot from a damaged one", arguments: [0, 1])
    func unreadableHeader(slot: UInt64) throws {
        let disk = try SimulatedDisk(image: try makeImage())
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        disk.unreadable = slot..<slot + 1
        var problems: [String] = []
        #expect(try !store.check { problems.append($0) })
        #expect(
            problems == [
                "header slot \(slot) can't be read: read failed on simulated disk: Input/output error (errno 5)"
            ])
    }

    @Test("sees one state during commits", .seeded)
    func besideWriter() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = SparseStore.options
        options.durability = .none
        let store = try TreeStore.open(at: folder.path("store"), options: options)
        var model = SparseStore()
        try model.fill(store, count: 600)
        let (view, account, problems) = try store.pages.beginCheck()
        #expect(problems.isEmpty)
        for _ in 0..<20 { try model.change(store) }
        try model.thin(store, kept: 2)
        try store.checkpoint()
        var check = TreeCheck(pages: store.pages, view: view, account: account, reductions: store.names.reductions)
        check.run()
        #expect(check.problems.isEmpty)
        store.pages.endRead(view)
        try model.expect(store)
        try store.close()
    }
}
