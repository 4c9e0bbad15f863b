// SPDX-License-Identifier: Apache-2.0
// A load much larger than its memory limit, and the anonymous memory of the process meanwhile. It runs in a process
// of its own, where nothing else takes memory.

import Foundation
import HornbeamPages
import HornbeamTree

/// Puts, scans and gets, and measures the process's memory at intervals.
final class MemoryLoad {
    private let store: TreeStore
    private let isCompressed: Bool
    private let count: Int
    private let before = MemoryLoad.anonymousKiB()
    private var most = 0

    init(path: String, access: PageAccess, cacheBytes: Int, isCompressed: Bool, count: Int) throws {
        var options = StoreOptions()
        options.access = access
        options.cacheBytes = cacheBytes
        store = try TreeStore.open(at: path, options: options)
        self.isCompressed = isCompressed
        self.count = count
    }

    /// Returns the peak of anonymous memory in each phase, in KiB above that before the store was opened.
    func run() throws -> [Int] {
        let phases = [try most(of: put), try most(of: scan), try most(of: get)]
        try store.close()
        return phases
    }

    private func most(of phase: () throws -> Void) throws -> Int {
        most = 0
        try phase()
        look()
        return most - before
    }

    /// Puts all entries in one transaction: in ascending order, but in a plain tree every other key is far away.
    private func put() throws {
        let transaction = try store.beginWrite()
        let options = TreeOptions(isCompressed: isCompressed)
        guard let tree = try transaction.tree("load", create: true, options: options) else { return }
        for number in 0..<count {
            try transaction.put(tree, key(number), value(number))
            if number % 256 == 0 { look() }
        }
        try transaction.commit()
    }

    private func scan() throws {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        guard let tree = try transaction.tree("load") else { return }
        var cursor = try transaction.cursor(tree)
        var seen = 0
        var isThere = try cursor.first()
        while isThere, let entry = try cursor.entry() {
            guard entry.value.count == 1000 else { throw Worker.Problem.said("a wrong value") }
            seen += 1
            if seen % 256 == 0 { look() }
            isThere = try cursor.next()
        }
        guard seen == count else { throw Worker.Problem.said("\(seen) of \(count)") }
    }

    private func get() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<count / 64 {
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            guard let tree = try transaction.tree("load") else { return }
            for _ in 0..<16 {
                let number = Int.random(in: 0..<count, using: &random)
                let found = try transaction.get(tree, key(number))
                guard found?.elementsEqual(value(number)) ?? false else { throw Worker.Problem.said("a wrong value") }
            }
            look()
        }
    }

    private func key(_ number: Int) -> [UInt8] {
        let place = isCompressed || number % 2 == 0 ? UInt64(number) : UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return withUnsafeBytes(of: place.bigEndian) { Array($0) } + [UInt8(number & 1)]
    }

    /// Returns 1,000 bytes that LZ4 can compress.
    private func value(_ number: Int) -> [UInt8] {
        let word = withUnsafeBytes(of: UInt64(number) &* 0x2545_F491_4F6C_DD1D) { Array($0) }
        var value: [UInt8] = []
        value.reserveCapacity(1000)
        for index in 0..<125 { value += index % 4 == 0 ? word : [UInt8](repeating: UInt8(index), count: 8) }
        return value
    }

    private func look() { most = max(most, Self.anonymousKiB()) }

    /// Memory of the process that isn't backed by a file.
    private static func anonymousKiB() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon") })
        else { return 0 }
        return line.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) } ?? 0
    }
}

extension Worker {
    /// `load PATH mapped|read CACHE-BYTES plain|compressed COUNT`
    func load(_ words: [String]) throws -> String {
        guard words.count == 6, let cacheBytes = Int(words[3]), let count = Int(words[5]) else {
            throw Problem.said("load PATH mapped|read CACHE-BYTES plain|compressed COUNT")
        }
        let load = try MemoryLoad(
            path: words[1], access: words[2] == "read" ? .read : .mapped, cacheBytes: cacheBytes,
            isCompressed: words[4] == "compressed", count: count)
        return try load.run().map(String.init).joined(separator: " ")
    }
}
