// SPDX-License-Identifier: Apache-2.0
// Writers and readers on threads, on one store. Every snapshot must hold the invariant of every commit (the sum of all
// accounts), a thread's commits must be visible to every later read, and the numbers in its tree must be without a gap.
// Run under the thread sanitizer by `make tsan`, and by the soak in a process that is killed.

import Foundation
package import HornbeamPages
package import HornbeamTestSupport
package import HornbeamTree
package import Synchronization

/// A store shared by threads, and the invariants that they maintain.
package final class ConcurrencyProof: Sendable {
    package static let accounts = 64
    private static let openingBalance: Int64 = 1000

    private let store: TreeStore
    private let writers: Int
    private let seed: UInt64
    /// The durability of all commits. If it is nil, each commit has a random one.
    private let durability: Durability?
    private let stops = Atomic<Bool>(false)
    private let failure = Mutex<ProofFailure?>(nil)
    package let commits = Atomic<Int>(0)
    package let reads = Atomic<Int>(0)
    /// Called after each commit that survives a kill, with the writer and its number.
    private let acknowledged: @Sendable (Int, UInt64) -> Void

    package init(
        _ store: TreeStore, writers: Int, seed: UInt64, durability: Durability? = nil,
        acknowledged: @escaping @Sendable (Int, UInt64) -> Void = { _, _ in }
    ) throws {
        self.store = store
        self.writers = writers
        self.seed = seed
        self.durability = durability
        self.acknowledged = acknowledged
        let write = try store.beginWrite()
        defer { write.abort() }
        guard let tree = try write.tree("accounts", create: true) else { return }
        if try write.count(tree) == 0 {
            for account in 0..<Self.accounts {
                try write.put(tree, Self.key(UInt64(account)), Self.bytes(Self.openingBalance))
            }
        }
        try write.commit()
    }

    /// Works for the given time, or until each writer has made `limit` commits.
    package func run(seconds: Double, readers: Int, limit: Int = .max) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        var bodies: [@Sendable () throws -> Void] = []
        for writer in 0..<writers { bodies.append { [self] in try write(writer, until: deadline, limit) } }
        for reader in 0..<readers { bodies.append { [self] in try read(reader, until: deadline) } }
        bodies.append { [self] in try maintain(until: deadline) }
        run(bodies)
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private func run(_ bodies: [@Sendable () throws -> Void]) {
        let group = DispatchGroup()
        let busyWriters = Mutex(writers)
        for (index, body) in bodies.enumerated() {
            group.enter()
            let thread = Thread { [self] in
                do { try body() } catch {
                    failure.withLock { if $0 == nil { $0 = ProofFailure("seed \(seed): \(error)") } }
                    stops.store(true, ordering: .relaxed)
                }
                // The readers continue as long as any writer does.
                let isLast =
                    index < writers
                    && busyWriters.withLock {
                        $0 -= 1
                        return $0 == 0
                    }
                if isLast { stops.store(true, ordering: .relaxed) }
                group.leave()
            }
            thread.stackSize = 4 << 20
            thread.start()
        }
        group.wait()
    }

    private func isOver(_ deadline: Date) -> Bool { stops.load(ordering: .relaxed) || Date() >= deadline }

    // MARK: Writers

    private func write(_ writer: Int, until deadline: Date, _ limit: Int) throws {
        var random = SeededGenerator(seed: seed &+ UInt64(writer))
        var number = try Self.lastNumber(of: writer, in: store)
        var done = 0
        while !isOver(deadline), done < limit {
            done += 1
            let write = try store.beginWrite()
            defer { write.abort() }
            write.durability = durability ?? [.full, .full, .process, .none][random.below(4)]
            try transfer(write, &random)
            guard let own = try write.tree(Self.tree(of: writer), create: true) else { return }
            for _ in 0...random.below(3) {
                number += 1
                try write.put(own, Self.key(number), Self.value(writer, number))
            }
            if random.oneIn(50) {
                // An aborted transaction's changes must be visible nowhere.
                write.abort()
                number = try Self.lastNumber(of: writer, in: store)
                continue
            }
            let survives = write.durability != .none
            try write.commit()
            commits.add(1, ordering: .relaxed)
            if survives { acknowledged(writer, number) }
            if random.oneIn(20) {
                let seen = try Self.lastNumber(of: writer, in: store)
                try expect(seen == number, "writer \(writer) sees \(seen) after its commit of \(number)")
            }
        }
    }

    private func transfer(_ write: Transaction, _ random: inout SeededGenerator) throws {
        guard let tree = try write.tree("accounts") else { throw ProofFailure("the accounts are gone") }
        let (from, to) = (UInt64(random.below(Self.accounts)), UInt64(random.below(Self.accounts)))
        let amount = Int64(random.below(100))
        for (account, change) in [(from, -amount), (to, amount)] {
            guard let value = try write.get(tree, Self.key(account)) else { throw ProofFailure("account \(account)") }
            try write.put(tree, Self.key(account), Self.bytes(Self.balance(value) + change))
        }
    }

    // MARK: Readers

    private static let leastRounds = 3

    private func read(_ reader: Int, until deadline: Date) throws {
        var random = SeededGenerator(seed: seed &+ 1000 &+ UInt64(reader))
        var seen = [UInt64](repeating: 0, count: writers)
        var rounds = 0
        // At least some reads: writers may have ended before this thread begins.
        while rounds < Self.leastRounds || !isOver(deadline) {
            rounds += 1
            let read = try store.beginRead()
            defer { read.abort() }
            for _ in 0...random.below(3) { try Self.checkSum(read) }
            for writer in 0..<writers {
                let last = try Self.lastNumber(of: writer, in: read)
                try expect(last >= seen[writer], "reader \(reader): commits of writer \(writer) vanished")
                seen[writer] = last
            }
            try Self.checkNumbers(of: random.below(writers), in: read, sample: 20, &random)
            reads.add(1, ordering: .relaxed)
        }
    }

    private func maintain(until deadline: Date) throws {
        while !isOver(deadline) {
            usleep(30_000)
            try store.checkpoint()
        }
    }

    // MARK: Invariants of every state

    package static func checkSum(_ read: Transaction) throws {
        guard let tree = try read.tree("accounts") else { return }
        var sum: Int64 = 0
        var cursor = try read.cursor(tree)
        while try cursor.next() { sum += balance(cursor.value) }
        try expect(sum == Int64(accounts) * openingBalance, "the accounts add up to \(sum)")
    }

    /// The newest number in the writer's tree.
    package static func lastNumber(of writer: Int, in read: Transaction) throws -> UInt64 {
        guard let tree = try read.tree(Self.tree(of: writer)) else { return 0 }
        var cursor = try read.cursor(tree)
        guard try cursor.last() else { return 0 }
        let number = number(cursor.key)
        try expect(try read.count(tree) == number, "writer \(writer)'s tree has a gap before \(number)")
        return number
    }

    static func lastNumber(of writer: Int, in store: TreeStore) throws -> UInt64 {
        let read = try store.beginRead()
        defer { read.abort() }
        return try lastNumber(of: writer, in: read)
    }

    /// Looks up some of the writer's numbers.
    package static func checkNumbers(
        of writer: Int, in read: Transaction, sample: Int, _ random: inout SeededGenerator
    ) throws {
        guard let tree = try read.tree(Self.tree(of: writer)) else { return }
        let last = try lastNumber(of: writer, in: read)
        for _ in 0..<(last > 0 ? sample : 0) {
            let number = 1 + random.next() % last
            let value = try read.get(tree, key(number)).map { Array($0) }
            try expect(value == Self.value(writer, number), "number \(number) of writer \(writer) is wrong")
        }
    }

    private static func tree(of writer: Int) -> String { "writer \(writer)" }

    private static func key(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func number(_ key: Bytes) -> UInt64 {
        UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    }

    private static func bytes(_ balance: Int64) -> [UInt8] { withUnsafeBytes(of: balance.littleEndian) { Array($0) } }

    private static func balance(_ value: Bytes) -> Int64 {
        Int64(littleEndian: value.loadUnaligned(fromByteOffset: 0, as: Int64.self))
    }

    private static func value(_ writer: Int, _ number: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: number &* 31 &+ UInt64(writer))
        return random.bytes(number % 97 == 0 ? 9000 : random.below(120))
    }
}
