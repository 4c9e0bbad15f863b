// SPDX-License-Identifier: Apache-2.0
// The journal's operations: they are read back as written, and never read beyond their bytes.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Redo")
struct RedoTests {
    private func sample() -> [UInt8] {
        let log = RedoLog()
        log.begin(limit: 1 << 20)
        write(log)
        return withExtendedLifetime(log) { log.bytes.map { Array($0) } ?? [] }
    }

    private func write(_ log: RedoLog) {
        let key: [UInt8] = [1, 2, 3]
        let value = [UInt8](repeating: 7, count: 300)
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                log.add(.create, tree: 9, key)
                for _ in 0..<30 { log.add(.put, tree: 9, key, value) }
                log.add(.delete, tree: 9, key)
                log.add(.deleteRange, tree: 9, key, key)
                log.add(.drop, tree: 9)
            }
        }
    }

    @Test("Operations come back in order")
    func roundTrip() throws {
        try sample().withUnsafeBytes { bytes in
            var reader = RedoReader(bytes)
            var kinds: [RedoKind] = []
            while let operation = try reader.next() {
                kinds.append(operation.kind)
                #expect(operation.tree == 9)
                #expect(Array(operation.a) == (operation.kind == .drop ? [] : [1, 2, 3]))
                #expect(operation.b.count == (operation.kind == .put ? 300 : operation.kind == .deleteRange ? 3 : 0))
            }
            #expect(
                kinds == [.create] + [RedoKind](repeating: .put, count: 30) + [
                    .delete, .deleteRange, .drop,
                ])
        }
    }

    @Test(
        "A run of entries comes back as its puts or deletes, and a damaged one is refused"
    )
    func runs() throws {
        let log = RedoLog()
        log.begin(limit: 1 << 10)
        let entries: [UInt8] = [1, 2, 10, 3, 4, 20, 5, 6, 30]
        entries.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            log.add(EntryRun(start, count: 3, keySize: 2, valueSize: 1), tree: 9)
            log.add(EntryRun(start, count: 1, keySize: 9, valueSize: 0), tree: 8)
            log.add(EntryRun(start, count: 3, keySize: 3, valueSize: 0), tree: 7, isDeleting: true)
        }
        log.add(.drop, tree: 9)
        var bytes = log.bytes.map { Array($0) } ?? []
        func read() throws -> [[UInt8]] {
            try bytes.withUnsafeBytes { bytes in
                var reader = RedoReader(bytes)
                var found: [[UInt8]] = []
                while let operation = try reader.next() {
                    found.append(
                        [operation.kind.rawValue, UInt8(operation.tree)] + operation.a + [0xFF] + operation.b)
                }
                return found
            }
        }
        let puts: [[UInt8]] = [
            [3, 9, 1, 2, 0xFF, 10], [3, 9, 3, 4, 0xFF, 20], [3, 9, 5, 6, 0xFF, 30],
        ]
        let deletes: [[UInt8]] = [[4, 7, 1, 2, 10, 0xFF], [4, 7, 3, 4, 20, 0xFF], [4, 7, 5, 6, 30, 0xFF]]
        #expect(try read() == puts + [[3, 8] + entries + [0xFF]] + deletes + [[2, 9, 0xFF]])
        // After the first header: no key, or an entry that extends past the run.
        for sizes: [UInt8] in [[0, 1], [2, 2], [0, 0], [9, 1]] {
            bytes.replaceSubrange(RedoLog.headerSize..<RedoLog.headerSize + 2, with: sizes)
            #expect(throws: StorageError.self) { try read() }
        }
        // Deletes have no values.
        let last = bytes.count - 2 * RedoLog.headerSize - entries.count - 2
        bytes.replaceSubrange(RedoLog.headerSize..<RedoLog.headerSize + 2, with: [2, 1])
        #expect(try read().count == 8)
        bytes.replaceSubrange(last + RedoLog.headerSize..<last + RedoLog.headerSize + 2, with: [2, 1])
        #expect(throws: StorageError.self) { try read() }
    }

    @Test("A log that is too long keeps nothing, until the next transaction")
    func limit() {
        let log = RedoLog()
        log.begin(limit: 500)
        write(log)
        #expect(log.bytes == nil)
        log.begin(limit: 500)
        #expect(log.bytes?.count == 0)
        log.add(.drop, tree: 3)
        #expect(log.bytes?.count == RedoLog.headerSize)
    }

    @Test("Cut anywhere, a log gives its whole operations and then an error")
    func truncated() {
        sample().withUnsafeBytes { bytes in
            for size in 0..<bytes.count {
                var reader = RedoReader(Bytes(rebasing: bytes[..<size]))
                var read = 0
                do throws(StorageError) {
                    while let operation = try reader.next() {
                        read += RedoLog.headerSize + operation.a.count + operation.b.count
                    }
                    #expect(read == size)
                } catch {
                    #expect(error == .corrupt(Corruption(reason: "a journal record ends within an operation")))
                    #expect(read < size)
                }
            }
        }
    }

    @Test("Any bytes replayed give a right store or a typed error, never a trap", .seeded)
    func hostile() throws {
        var random = SeededGenerator()
        let original = sample()
        var applied = 0
        for _ in 0..<300 {
            var bytes = original
            for _ in 0...random.below(3) {
                let place = random.oneIn(2) ? random.below(40) : random.below(bytes.count)
                bytes[place] = UInt8(random.below(random.oneIn(2) ? 8 : 256))
            }
            let store = try PageStore.open(
                file: try MemoryFile(), options: StoreOptions.withLargeRing,
                structure: { NodeValidation.problem($0, kind: $1) }, replay: { (_, _) in })
            let writer = try store.beginWrite()
            defer { writer.abort() }
            let memory = try WriterMemory(pageSize: 8192)
            do {
                try bytes.withBytes { (record) throws(StorageError) in
                    try Transaction.replay(
                        record, with: writer, memory: memory, names: TreeNames(reductions: try Reductions([])))
                }
                applied += 1
            } catch {
                #expect(!"\(error)".isEmpty)
            }
        }
        #expect(applied > 10)
    }

    // A record with a key beyond the limit gave the error for a program's mistake: opening such a file reported an
    // "invalid argument" that nobody had given.
    @Test("Operations impossible for a program are damage of the record")
    func impossible() throws {
        func replay(_ fill: (RedoLog) -> Void) throws {
            let store = try PageStore.open(
                file: try MemoryFile(), options: StoreOptions.withLargeRing,
                structure: { NodeValidation.problem($0, kind: $1) }, replay: { (_, _) in })
            let writer = try store.beginWrite()
            defer { writer.abort() }
            let memory = try WriterMemory(pageSize: 8192)
            let log = RedoLog()
            log.begin(limit: 1 << 20)
            [UInt8(1)].withUnsafeBytes { log.add(.create, tree: 1, $0) }
            fill(log)
            guard let record = log.bytes.map({ Array($0) }) else { return }
            try record.withBytes { (record) throws(StorageError) in
                try Transaction.replay(
                    record, with: writer, memory: memory, names: TreeNames(reductions: try Reductions([])))
            }
        }
        func isDamage(_ error: any Error) -> Bool {
            guard case .corrupt(let what)? = error as? StorageError else { return false }
            return what.reason.hasPrefix("a journal record")
        }
        try replay { _ in }
        let long = [UInt8](repeating: 1, count: 5000)
        #expect(
            performing: { try replay { log in long.withUnsafeBytes { log.add(.put, tree: 1, $0) } } }, throws: isDamage)
        #expect(performing: { try replay { $0.add(.put, tree: 1) } }, throws: isDamage)
    }

    /// - Parameter spread: the number of keys, as a multiple of those that a transaction changes.
    @Test("A redo too long for the journal makes it grow, if the pages are many more", arguments: [1, 10])
    func ringGrows(spread: Int) throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        var model = ModelTree()
        for round in 0..<10 {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            // The first transaction fills the tree in order; the others change entries all over it, or the same ones.
            for number in 0..<(round == 0 ? 800 * spread : 800) {
                let key = withUnsafeBytes(of: UInt32(round == 0 ? number : number * spread).bigEndian) { Array($0) }
                let value = [UInt8](repeating: UInt8(round), count: 1000)
                try write.put(tree, key, value)
                model.put(key, value)
            }
            write.durability = .process
            try write.commit()
        }
        let figures = store.statistics
        // Four times the third transaction's need; the later ones have their records in the journal.
        #expect(spread > 1 ? figures.journalCapacityBytes >= 4 << 20 : figures.journalCapacityBytes == 64 << 10)
        #expect(figures.checkpoint < 9 || spread == 1)
        let reopened = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage() ?? []))
        let read = try reopened.beginRead()
        #expect(try read.contents(try #require(try read.tree("t"))) == model)
    }
}
