// SPDX-License-Identifier: Apache-2.0
// Renamed trees: content and number stay, older states keep the old name, and an abort undoes it.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Renaming trees")
struct RenameTests {
    private func filled(_ store: TreeStore) throws -> TreeID {
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("old", create: true))
        for number in 0..<500 { try write.put(tree, [UInt8(number / 256), UInt8(number % 256)], [1, 2, 3]) }
        try write.commit()
        return tree
    }

    @Test("the tree is found only by its new name, whole, and after opening the file again")
    func renamed() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        let tree = try filled(store)
        let before = try store.beginRead()
        let write = try store.beginWrite()
        try write.put(tree, [9], [9])
        #expect(try write.renameTree("old", to: "new"))
        #expect(try write.tree("old") == nil)
        #expect(try write.tree("new") == tree)
        try write.put(tree, [10], [10])
        try write.commit()
        // An earlier read has the old name, and the number leads there too.
        #expect(try before.tree("old") == tree)
        #expect(try before.count(tree) == 500)
        before.abort()
        let read = try store.beginRead()
        #expect(try read.count(tree) == 502)
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
        try store.close()
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        let last = try again.beginRead()
        #expect(try last.treeNames() == ["new"])
        #expect(try last.tree("new").map { try last.count($0) } == 502)
        last.abort()
        try again.close()
    }

    @Test("an aborted rename leaves the old name, and the number leads there")
    func aborted() throws {
        let store = try TreeStore.inMemory()
        let tree = try filled(store)
        let write = try store.beginWrite()
        #expect(try write.renameTree("old", to: "new"))
        write.abort()
        let read = try store.beginRead()
        defer { read.abort() }
        #expect(try read.count(tree) == 500)
        #expect(try read.treeNames() == ["old"])
    }

    @Test("a taken or impossible name is refused, and so is a rename after a savepoint")
    func refused() throws {
        let store = try TreeStore.inMemory()
        _ = try filled(store)
        let write = try store.beginWrite()
        defer { write.abort() }
        _ = try write.tree("other", create: true)
        #expect(throws: StorageError.self) { try write.renameTree("old", to: "other") }
        #expect(throws: StorageError.self) { try write.renameTree("old", to: "") }
        #expect(throws: StorageError.self) { try write.renameTree("old", to: "a\0b") }
        #expect(try !write.renameTree("nothing", to: "new"))
        let savepoint = try write.savepoint()
        #expect(throws: StorageError.self) { try write.renameTree("old", to: "new") }
        try write.release(savepoint)
        #expect(try write.renameTree("old", to: "new"))
    }
}
