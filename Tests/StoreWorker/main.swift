// SPDX-License-Identifier: Apache-2.0
// A process that uses a store by the commands on its standard input, one a line, and answers each with a line: "ok …"
// or "error …". Tests start it, send it commands, and kill it. A tree "accounts" holds numbered accounts whose sum
// never changes.

import Foundation
import Glibc
import HornbeamPages
import HornbeamTree

/// The store and the snapshots that are open.
struct Worker {
    static let accounts = 64
    static let each: Int64 = 1000

    private var store: TreeStore?
    private var snapshots: [Transaction] = []
    private var building: IndexBuilding?
    private var generator = SystemRandomNumberGenerator()

    enum Problem: Error { case said(String) }

    /// Carries a command out; returns the rest of the answer.
    mutating func run(_ words: [String]) throws -> String {
        switch words.first {
        case "write": try open(words[1], readOnly: false)
        case "read": try open(words[1], readOnly: true)
        case "begin": return try begin()
        case "sum": return try String(sum(last()))
        case "version": return try String(last().version)
        case "end": snapshots.removeLast().abort()
        case "fill": try fill()
        case "transfer": try transfer(count: Int(words[1]) ?? 0, durability: words[2])
        case "hammer": try hammer(seconds: Double(words[1]) ?? 1)
        case "grow": try grow(Int(words[1]) ?? 0)
        case "index":
            let building = try IndexBuilding(path: words[1])
            self.building = building
            return try building.state()
        case "build": return try indexed().build(until: words[1], Int(words[2]) ?? 0)
        case "built": try indexed().finish()
        case "verify": return try indexed().problem()
        case "load": return try load(words)
        case "exhaust": exhaust(leaving: words.count > 1 ? Int(words[1]) ?? 0 : 0)
        case "signal": return String(try endBySignal())
        case "defaultHandler": setDefaultHandler()
        case "fork": try forkAndUse()
        case "leave": return String(try fork { sleep(60) })
        case "check": return try check()
        case "close": try close()
        default: throw Problem.said("unknown command")
        }
        return ""
    }

    private mutating func open(_ path: String, readOnly: Bool) throws {
        var options = StoreOptions()
        options.readOnly = readOnly
        options.createIfMissing = !readOnly
        options.lockWaitMilliseconds = 5000
        store = try TreeStore.open(at: path, options: options)
    }

    private mutating func close() throws {
        snapshots.removeAll()
        try opened().close()
        store = nil
    }

    private func opened() throws -> TreeStore {
        guard let store else { throw Problem.said("no store is open") }
        return store
    }

    private func indexed() throws -> IndexBuilding {
        guard let building else { throw Problem.said("no database is open") }
        return building
    }

    private func last() throws -> Transaction {
        guard let snapshot = snapshots.last else { throw Problem.said("no snapshot is open") }
        return snapshot
    }

    private mutating func begin() throws -> String {
        let snapshot = try opened().beginRead()
        snapshots.append(snapshot)
        return String(snapshot.version)
    }

    private func check() throws -> String {
        var problems: [String] = []
        _ = try opened().check { problems.append($0) }
        guard problems.isEmpty else { throw Problem.said(problems[0]) }
        return ""
    }

    // MARK: Accounts

    private static func key(_ account: Int) -> [UInt8] { Array(String(account + 1000).utf8) }

    /// A value large enough that the tree has many pages, and each transfer frees and takes some.
    private static func value(_ amount: Int64) -> [UInt8] {
        withUnsafeBytes(of: amount.littleEndian) { Array($0) } + [UInt8](repeating: UInt8(amount & 0x7F), count: 900)
    }

    private static func amount(_ value: Bytes) throws -> Int64 {
        let amount = Int64(littleEndian: value.loadUnaligned(as: Int64.self))
        guard value.count == 908, value.dropFirst(8).allSatisfy({ $0 == UInt8(amount & 0x7F) }) else {
            throw Problem.said("a torn value")
        }
        return amount
    }

    private func fill() throws {
        let transaction = try opened().beginWrite()
        guard let tree = try transaction.tree("accounts", create: true) else { throw Problem.said("no tree") }
        for account in 0..<Self.accounts { try transaction.put(tree, Self.key(account), Self.value(Self.each)) }
        try transaction.commit()
    }

    private func sum(_ snapshot: Transaction) throws -> Int64 {
        guard let tree = try snapshot.tree("accounts") else { throw Problem.said("no accounts") }
        var sum: Int64 = 0
        for account in 0..<Self.accounts {
            guard let value = try snapshot.get(tree, Self.key(account)) else { throw Problem.said("a lost account") }
            sum += try Self.amount(value)
        }
        return sum
    }

    private mutating func transfer(count: Int, durability: String) throws {
        for _ in 0..<count {
            let transaction = try opened().beginWrite()
            guard let tree = try transaction.tree("accounts") else { throw Problem.said("no accounts") }
            transaction.durability = durability == "full" ? .full : durability == "process" ? .process : .none
            let from = Int.random(in: 0..<Self.accounts, using: &generator)
            let to = (from + Int.random(in: 1..<Self.accounts, using: &generator)) % Self.accounts
            for (account, change) in [(from, Int64(-1)), (to, 1)] {
                guard let old = try transaction.get(tree, Self.key(account)) else { throw Problem.said("lost") }
                try transaction.put(tree, Self.key(account), Self.value(try Self.amount(old) + change))
            }
            try transaction.commit()
        }
    }

    /// Runs a writer that transfers and a reader that looks at the newest and at a held state, until the time is up.
    private mutating func hammer(seconds: Double) throws {
        let end = Date().addingTimeInterval(seconds)
        var newest: UInt64 = 0
        while Date() < end {
            guard !snapshots.isEmpty else {
                let durability = ["full", "full", "process", "none"].randomElement(using: &generator) ?? "full"
                try transfer(count: 1, durability: durability)
                continue
            }
            let snapshot = try opened().beginRead()
            guard snapshot.version >= newest else { throw Problem.said("from \(newest) back to \(snapshot.version)") }
            newest = snapshot.version
            for seen in [snapshot, snapshots[0]] {
                let sum = try sum(seen)
                guard sum == Int64(Self.accounts) * Self.each else { throw Problem.said("the sum is \(sum)") }
            }
            if Int.random(in: 0..<8, using: &generator) == 0 { snapshots[0] = snapshot }
        }
    }
}

// MARK: Limits and forks

extension Worker {
    /// Adds `count` values of 1 MiB, in one transaction.
    private func grow(_ count: Int) throws {
        let transaction = try opened().beginWrite()
        defer { transaction.abort() }
        guard let tree = try transaction.tree("large", create: true) else { throw Problem.said("no tree") }
        for number in 0..<count { try transaction.put(tree, Self.key(number), [UInt8](repeating: 1, count: 1 << 20)) }
        try transaction.commit()
    }

    /// A child process that runs `body` and ends. (Swift hides `fork`.)
    private func fork(_ body: () -> Void) throws -> pid_t {
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = dlsym(nil, "fork") else { throw Problem.said("no fork") }
        let child = unsafeBitCast(symbol, to: Fork.self)()
        if child == 0 {
            body()
            _exit(0)
        }
        return child
    }

    /// In a child: every call on the store must be refused as invalid, also on a transaction that was open before.
    private func forkAndUse() throws {
        let store = try opened()
        let reading = try store.beginRead()
        let writing = try store.beginWrite()
        guard let tree = try writing.tree("accounts") else { throw Problem.said("no accounts") }
        try writing.put(tree, Self.key(0), Self.value(1))
        // The runtime makes types under locks. A lock that another thread holds at the fork stays locked in the child,
        // so the types needed there are made before.
        _ = Self.firstAccepted([Self.isRefused { throw StorageError.invalid("") }, false])
        let child = try fork {
            let isRefused = [
                Self.isRefused { try store.beginRead() }, Self.isRefused { try store.beginWrite() },
                Self.isRefused { try store.checkpoint() }, Self.isRefused { try writing.commit() },
                Self.isRefused { try store.close() }, Self.isRefused { try store.check { _ in } },
                Self.isRefused { try store.compact() },
            ]
            reading.abort()
            _exit(Self.firstAccepted(isRefused))
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        writing.abort()
        reading.abort()
        guard status == 0 else { throw Problem.said("the child ended with \(status)") }
    }

    /// The number of the first call that wasn't refused, counted from 1; 0 if all were refused.
    private static func firstAccepted(_ isRefused: [Bool]) -> Int32 {
        isRefused.firstIndex(of: false).map { Int32($0) + 1 } ?? 0
    }

    /// Takes all file descriptors except `count`.
    private func exhaust(leaving count: Int) {
        var taken: [Int32] = []
        while case let number = dup(0), number >= 0 { taken.append(number) }
        for number in taken.suffix(count) { Glibc.close(number) }
    }

    /// Sets no handler, but the flag for a handler with three arguments, as a faulty program might.
    private func setDefaultHandler() {
        var action = sigaction()
        action.sa_flags = Int32(SA_SIGINFO)
        sigaction(SIGBUS, &action, nil)
    }

    /// Raises SIGBUS in a child. Returns the signal that ended it.
    private func endBySignal() throws -> Int32 {
        let child = try fork {
            raise(SIGBUS)
            _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        return status & 0x7F
    }

    private static func isRefused<Result>(_ body: () throws -> Result) -> Bool {
        do {
            _ = try body()
            return false
        } catch StorageError.invalid(let words) {
            return words.contains("forked")
        } catch {
            return false
        }
    }
}

/// Writes at once, because another process waits for it.
func answer(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

var worker = Worker()
while let line = readLine() {
    do {
        answer("ok " + (try worker.run(line.split(separator: " ").map(String.init))))
    } catch Worker.Problem.said(let what) {
        answer("error \(what)")
    } catch {
        answer("error \(error)")
    }
}
