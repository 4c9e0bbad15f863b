// SPDX-License-Identifier: Apache-2.0
// A file that is cut short while a store has it mapped: reading beyond its end must be an error. It must neither end
// the process nor give zeros as data.

import Foundation
import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("A file cut short while it is open")
struct FaultTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store.hornbeam") }

    init() throws { folder = try TemporaryFolder() }

    /// Returns a mapped store with several MiB of entries, none of which was read yet.
    private func store() throws -> TreeStore {
        var options = StoreOptions.withLargeRing
        options.access = .mapped
        do {
            let store = try TreeStore.open(at: path, options: options)
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree("t", create: true))
            for key in 0..<1_500 { try transaction.put(tree, Self.key(key), Self.value(key)) }
            try transaction.commit()
            try store.close()
        }
        return try TreeStore.open(at: path, options: options)
    }

    private static func key(_ number: Int) -> [UInt8] { Array("\(10_000 + number)".utf8) }
    private static func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251) + 1, count: 2_500) }

    /// The answer for each key in one transaction.
    private enum Answer: Equatable { case right, wrong, unreadable }

    private func answers(_ transaction: Transaction, _ tree: TreeID) throws -> [Answer] {
        try (0..<1_500).map { number in
            do throws(StorageError) {
                guard let value = try transaction.get(tree, Self.key(number)) else { return .wrong }
                let isRight = Array(value) == Self.value(number)
                // The answer counts only if the next call confirms it.
                try transaction.view.checkIsWhole()
                return isRight ? .right : .wrong
            } catch .io(_, _, EIO) {
                return .unreadable
            }
        }
    }

    @Test("refuses the pages that it never saw, and continues with the others")
    func untouched() throws {
        let store = try store()
        let transaction = try store.beginRead()
        let tree = try #require(try transaction.tree("t"))
        truncate(path, 3 << 20)
        let answers = try answers(transaction, tree)
        #expect(answers.contains(.right) && answers.contains(.unreadable) && !answers.contains(.wrong))
        transaction.abort()
    }

    /// Returns false for the one expected error.
    private func isReadable(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as StorageError {
            guard case .io(_, _, EIO) = error else { throw error }
            return false
        }
    }

    private static func parts(of reader: ValueReader?, _ count: Int) throws(StorageError) -> [UInt8]? {
        guard let reader else { return nil }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { bytes.deallocate() }
        for start in stride(from: 0, to: count, by: 4_000) {
            let part = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(start + 4_000, count)])
            guard try reader.read(at: UInt64(start), into: part) > 0 else { return nil }
        }
        return Array(bytes)
    }

    // A leaf was checked in its stored form, and a value read in parts block by block, without marking that it wasn't
    // trusted yet: one unreadable sector made the whole store fail until it was opened again.
    @Test("refuses compressed leaves and parts of values that it never saw, and continues with the others")
    func untouchedParts() throws {
        let options = StoreOptions.withLargeRing
        let count = 300
        func long(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251) + 1, count: 20_000) }
        func text(_ number: Int) -> [UInt8] {
            var random = SeededGenerator(seed: UInt64(number))
            return random.bytes(1_000) + [UInt8](repeating: 7, count: 1_000)
        }
        do {
            let store = try TreeStore.open(at: path, options: options)
            let write = try store.beginWrite()
            let lz4 = TreeOptions(isCompressed: true)
            let leaves = try #require(try write.tree("leaves", create: true, options: lz4))
            for number in 0..<count { try write.put(leaves, Self.key(number), text(number)) }
            let values = try #require(try write.tree("values", create: true))
            for number in 0..<count { try write.put(values, Self.key(number), long(number)) }
            for number in count..<2 * count { try write.put(leaves, Self.key(number), text(number)) }
            try write.commit()
            try store.close()
        }
        // The positions of the pages above don't matter here: some cuts leave these pages, and not all the others.
        let whole = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        var isHalf = [false, false]
        for cut in stride(from: whole - 1 << 18, to: 1 << 20, by: -(1 << 18)) {
            let copy = folder.path("copy-\(cut)")
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            let store = try TreeStore.open(at: copy, options: options)
            let read = try store.beginRead()
            let leaves = try #require(try read.tree("leaves"))
            let values = try #require(try read.tree("values"))
            truncate(copy, cut)
            var unreadable = [0, 0]
            for number in 0..<count {
                if try !isReadable({
                    let found = try read.value(leaves, Self.key(2 * number))
                    try #require(found == text(2 * number))
                }) {
                    unreadable[0] += 1
                }
                if try !isReadable({
                    let found = try Self.parts(of: read.valueReader(values, Self.key(number)), 20_000)
                    try #require(found == long(number))
                }) {
                    unreadable[1] += 1
                }
            }
            for kind in 0..<2 where unreadable[kind] > 0 && unreadable[kind] < count { isHalf[kind] = true }
            read.abort()
            // A later cut leaves fewer pages.
            if isHalf == [true, true] || unreadable == [count, count] { break }
        }
        #expect(isHalf == [true, true], "\(isHalf)")
    }

    @Test("gives no wrong answer from pages that it had verified, and refuses everything from then on")
    func verified() throws {
        let store = try store()
        let transaction = try store.beginRead()
        let tree = try #require(try transaction.tree("t"))
        #expect(try answers(transaction, tree).allSatisfy { $0 == .right })
        // In the middle of a page of two sectors.
        truncate(path, 3 << 20 + 4096)
        let answers = try answers(transaction, tree)
        #expect(!answers.contains(.wrong))
        let first = try #require(answers.firstIndex(of: .unreadable))
        #expect(answers[first...].allSatisfy { $0 == .unreadable })
        transaction.abort()
        let again = try store.beginRead()
        #expect(throws: StorageError.self) { try again.tree("t") }
        again.abort()
        // A write that could copy zeros is refused.
        #expect(throws: StorageError.self) {
            let writing = try store.beginWrite()
            defer { writing.abort() }
            let tree = try #require(try writing.tree("u", create: true))
            try writing.put(tree, [1], [1])
            try writing.commit()
        }
    }

    // The calls that read many entries didn't check whether the file had failed: zeros in place of a trusted page
    // gave missing keys, wrong counts and sums, or wrong bytes of a value.
    @Test("gives no wrong answer from the calls that read many entries", arguments: 0..<4)
    func manyEntries(call: Int) throws {
        let store = try store()
        let transaction = try store.beginRead()
        let tree = try #require(try transaction.tree("t"))
        let numbers = Array(0..<1_500)
        func answer(_ number: Int) throws -> Answer {
            do throws(StorageError) {
                let isRight = try isRight(call, number, transaction, tree)
                return isRight ? .right : .wrong
            } catch .io(_, _, EIO) {
                return .unreadable
            }
        }
        #expect(try numbers.allSatisfy { try answer($0) == .right })
        truncate(path, 3 << 20 + 4096)
        let answers = try numbers.map { try answer($0) }
        #expect(answers.contains(.unreadable) && !answers.contains(.wrong))
        transaction.abort()
    }

    // A cursor's moves don't check: the entries they gave were zeros, and a read that had ended within that leaf was
    // reported as whole.
    @Test("gives no entry of zeros to a cursor, and a read at its end throws")
    func scans() throws {
        let store = try TreeStore.open(at: path)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in 0..<2_000 { try write.put(tree, Self.key(key), [UInt8](repeating: 1, count: 100)) }
        try write.commit()
        try store.checkpoint()
        let read = try store.beginRead()
        let root = try read.opened(tree).pointee.root
        #expect(root.level == 1)
        var cursor = try read.cursor(tree)
        try scan(&cursor)
        #expect(try cursor.first())
        // In the middle of the last leaf in the file.
        let node = try read.view.node(root.page, birth: root.birth, level: 1)
        let leaf = try #require((0..<node.count).map { node.child($0).page }.max())
        truncate(path, Int(leaf) * 4096 + 4096)
        #expect(throws: StorageError.self) { try scan(&cursor) }
        #expect(throws: StorageError.self) { try read.commit() }
    }

    /// Reads from the first entry on; each entry must have the expected key.
    private func scan(_ cursor: inout Cursor) throws {
        var number = 0
        repeat {
            guard let entry = try cursor.entry() else { return }
            try #require(Array(entry.key) == Self.key(number))
            number += 1
        } while try cursor.next()
    }

    @Test("doesn't make an existing tree seem absent")
    func catalogue() throws {
        let store = try store()
        let write = try store.beginWrite()
        // The catalogue's leaf, with enough names to fill it.
        for number in 0..<60 { _ = try write.tree("tree \(number)", create: true) }
        try write.commit()
        try store.checkpoint()
        let read = try store.beginRead()
        for number in 0..<60 { #expect(try read.tree("tree \(number)") != nil) }
        let root = Int(read.view.root.page)
        read.abort()
        truncate(path, root * 4096 + 4096)
        let again = try store.beginRead()
        for number in 0..<60 {
            _ = try isReadable { try #require(try again.tree("tree \(number)") != nil) }
        }
        #expect(throws: StorageError.self) { try again.commit() }
    }

    /// Returns whether a key gives the expected result, by the call with number `call` of four.
    private func isRight(
        _ call: Int, _ number: Int, _ transaction: Transaction, _ tree: TreeID
    ) throws(StorageError) -> Bool {
        if call == 0 {
            let found = try Self.key(number).withBytes { (key) throws(StorageError) in
                try transaction.getMany(tree, [key])[0]
            }
            guard let found else { return false }
            let isRight = Array(found) == Self.value(number)
            // A reader of a value's bytes has to check by itself.
            try transaction.checkIsWhole()
            return isRight
        }
        if call == 3 {
            var cursor = try transaction.cursor(tree)
            guard try cursor.seek(Self.key(number)), let entry = try cursor.entry() else { return false }
            let isRight = Array(entry.key) == Self.key(number) && Array(entry.value) == Self.value(number)
            try transaction.checkIsWhole()
            return isRight
        }
        if call == 1 { return try transaction.count(tree, from: [], to: Self.key(number)) == UInt64(number) }
        guard let reader = try transaction.valueReader(tree, Self.key(number)) else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_500, alignment: 1)
        defer { buffer.deallocate() }
        let size = try reader.read(at: 0, into: buffer)
        return Array(buffer[..<size]) == Self.value(number)
    }
}
