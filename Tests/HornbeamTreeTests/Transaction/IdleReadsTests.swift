// SPDX-License-Identifier: Apache-2.0
// Reads that have ended and begin again: they see the newest state and nothing of their former one, and hold no
// snapshot in between.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamTree

@Suite("A read that begins again")
struct IdleReadsTests {
    private let store: TreeStore
    private let idle = IdleReads<Transaction>()

    init() throws { store = try TreeStore.open(file: try SimulatedDisk()) }

    private func beginRead() throws -> Transaction { try Self.begin(store, idle) }

    private func endRead(_ read: Transaction) { Self.end(read, idle) }

    private static func begin(_ store: TreeStore, _ idle: IdleReads<Transaction>) throws -> Transaction {
        guard let read = idle.take() else { return try store.beginRead() }
        try read.resume()
        return read
    }

    private static func end(_ read: Transaction, _ idle: IdleReads<Transaction>) {
        if read.suspend() { idle.give(read) }
    }

    private func write(_ body: (Transaction) throws -> Void) throws {
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        try body(transaction)
        try transaction.commit()
    }

    @Test("has its trees open if the state is unchanged, and sees the newest state after a commit")
    func states() throws {
        var tree = TreeID(rawValue: 0)
        try write { (transaction) in
            tree = try #require(try transaction.tree("t", create: true))
            try transaction.put(tree, [1], [1])
            _ = try transaction.tree("gone", create: true)
        }
        let first = try beginRead()
        let gone = try #require(try first.tree("gone"))
        #expect(try first.value(tree, [1]) == [1])
        #expect(try first.count(gone) == 0)
        endRead(first)
        var again = try beginRead()
        #expect(again === first)
        #expect(try again.value(tree, [1]) == [1] && again.count(gone) == 0)
        endRead(again)
        try write { (transaction) in
            try transaction.put(tree, [1], [2])
            #expect(try transaction.dropTree("gone"))
            _ = try transaction.tree("new", create: true)
        }
        again = try beginRead()
        #expect(again === first)
        #expect(try again.value(tree, [1]) == [2])
        #expect(throws: StorageError.self) { try again.count(gone) }
        #expect(try again.tree("gone") == nil && again.tree("new") != nil)
        endRead(again)
    }

    @Test("holds no snapshot meanwhile, and doesn't keep the store from closing")
    func pins() throws {
        try write { _ = try $0.tree("t", create: true) }
        let reads = try (0..<12).map { _ in try beginRead() }
        #expect(Set(reads.map { ObjectIdentifier($0) }).count == 12)
        for read in reads { endRead(read) }
        for value in UInt8(0)..<4 {
            try write { try $0.put(try #require(try $0.tree("t")), [1], [value]) }
        }
        #expect(store.statistics.olderSnapshots == 0)
        try store.close()
        #expect(throws: StorageError.self) { try beginRead() }
    }

    @Test("that ends twice, or is a write, just ends")
    func refused() throws {
        let read = try beginRead()
        endRead(read)
        endRead(read)
        #expect(throws: StorageError.self) { try read.tree("t") }
        let (first, second) = (try beginRead(), try beginRead())
        #expect(first !== second)
        let write = try store.beginWrite()
        _ = try write.tree("t", create: true)
        endRead(write)
        #expect(try beginRead().tree("t") == nil)
    }

    @Test("belongs to one thread at a time, and never sees an older state than before")
    func threads() throws {
        var tree = TreeID(rawValue: 0)
        try write { (transaction) in
            tree = try #require(try transaction.tree("t", create: true))
            for key in UInt8(0)..<8 { try transaction.put(tree, [key], [0]) }
        }
        let isOver = Atomic<Bool>(false)
        let (store, idle, shared) = (store, idle, tree)
        let readers = (0..<4).map { _ in
            Thread {
                var newest: UInt8 = 0
                while !isOver.load(ordering: .relaxed) {
                    let values = try? Self.values(store, idle, shared)
                    #expect(values.map { Set($0).count == 1 && $0[0] >= newest } == true)
                    newest = values?.first ?? newest
                }
            }
        }
        for reader in readers { reader.start() }
        for value in UInt8(1)...100 {
            try write { (transaction) in
                for key in UInt8(0)..<8 { try transaction.put(tree, [key], [value]) }
            }
        }
        isOver.store(true, ordering: .relaxed)
        while !readers.allSatisfy(\.isFinished) { usleep(1000) }
    }

    private static func values(
        _ store: TreeStore, _ idle: IdleReads<Transaction>, _ tree: TreeID
    ) throws -> [UInt8] {
        let read = try begin(store, idle)
        defer { end(read, idle) }
        return try (0..<8).map { try read.value(tree, [UInt8($0)])?.first ?? 255 }
    }
}
