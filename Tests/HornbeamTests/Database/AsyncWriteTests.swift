// SPDX-License-Identifier: Apache-2.0
// Concurrent asynchronous writes share write-throughs, are acknowledged only when they are durable, and each gets its
// own outcome. The medium is held up until a known number of closures has run, so that the order is known.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam

@EntityModel
struct AsyncNote {
    let id: Int
    var text: String
}

@Suite("Asynchronous writes")
struct AsyncWriteTests {
    private struct Refused: Error {}

    /// A file whose first write-through, once the file is held, returns only when the test releases it.
    private final class HeldFile: StoreFile {
        let disk: SimulatedDisk
        let gate = DispatchSemaphore(value: 0)
        let isHeld = Atomic<Bool>(false)

        init() throws { disk = try SimulatedDisk() }

        func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
            try disk.writeThrough(bytes, at: offset)
            if isHeld.exchange(false, ordering: .relaxed) { gate.wait() }
        }

        var path: String { disk.path }
        var isDurable: Bool { disk.isDurable }
        var mapping: Mapping? { disk.mapping }
        var maximumBytes: Int { disk.maximumBytes }
        func size() throws(StorageError) -> UInt64 { disk.size() }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
            try disk.read(into: buffer, at: offset)
        }
        func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) { try disk.write(bytes, at: offset) }
        func startWriteBack(at offset: UInt64, count: UInt64) {}
        func sync() throws(StorageError) { try disk.sync() }
        func grow(to size: UInt64) throws(StorageError) { try disk.grow(to: size) }
        func shrink(to size: UInt64) throws(StorageError) { try disk.shrink(to: size) }
        func giveName() throws(StorageError) { try disk.giveName() }
        func close() {}
    }

    /// A database on a disk whose next write-through waits.
    private final class HeldDisk: Sendable {
        private let file: HeldFile
        let database: Database
        /// Number of closures that have run.
        let ran = Atomic<Int>(0)
        /// Numbers of the writes that have returned, and of those that failed because of the disk.
        let returned = Atomic<Int>(0)
        let failed = Atomic<Int>(0)

        init() throws {
            let file = try HeldFile()
            self.file = file
            database = try Database(SchemaOpening(models: try ModelSet([AsyncNote.self]))) { () throws(StorageError) in
                try TreeStore.open(file: file)
            }
            file.isHeld.store(true, ordering: .relaxed)
        }

        var disk: SimulatedDisk { file.disk }

        var writeThroughs: Int { disk.operations.count { $0 == .writeThrough } }

        func save(_ number: Int) async throws {
            try await database.write { [self] context in
                ran.add(1, ordering: .relaxed)
                if number == 13 { throw Refused() }
                try AsyncNote(id: number, text: "note \(number)").save(to: &context)
            }
        }

        /// Releases the medium once `count` closures have run, none of which is durable.
        func release(after count: Int, _ look: () -> Void = {}) async throws {
            for _ in 0..<10_000 where ran.load(ordering: .relaxed) < count {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(ran.load(ordering: .relaxed) == count)
            // The last commit enters after its closure has run.
            try await Task.sleep(for: .milliseconds(20))
            look()
            file.gate.signal()
        }

        /// Returns the entities that a power failure now would leave.
        func survivors(seed: UInt64) throws -> [Int] {
            let disk = try SimulatedDisk(image: disk.powerLossImage(seed: seed))
            let database = try Database(SchemaOpening(models: try ModelSet([AsyncNote.self]))) {
                () throws(StorageError) in
                try TreeStore.open(file: disk)
            }
            return try database.read { context in try context.ids(AsyncNote.self) }
        }
    }

    @Test("share write-throughs, continue while the medium is busy, and return only when they are durable")
    func together() async throws {
        let held = try HeldDisk()
        let before = held.writeThroughs
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 100..<164 {
                group.addTask {
                    try await held.save(number)
                    held.returned.add(1, ordering: .relaxed)
                    if number % 8 == 0 { #expect(try held.survivors(seed: 1).contains(number)) }
                }
            }
            group.addTask {
                try await held.release(after: 64) { #expect(held.returned.load(ordering: .relaxed) == 0) }
            }
            try await group.waitForAll()
        }
        #expect(held.returned.load(ordering: .relaxed) == 64)
        #expect(held.writeThroughs - before <= 3)
        #expect(try held.survivors(seed: 2).count == 64)
        #expect(try held.database.check { Issue.record("\($0)") })
    }

    @Test("report an error of a closure only to its caller")
    func refused() async throws {
        let held = try HeldDisk()
        let outcomes = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for number in 10..<20 {
                group.addTask {
                    do {
                        try await held.save(number)
                        return (number, true)
                    } catch is Refused {
                        return (number, false)
                    }
                }
            }
            group.addTask {
                try await held.release(after: 10)
                return (0, true)
            }
            return try await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
        }
        #expect(outcomes.filter { !$0.value }.keys.sorted() == [13])
        #expect(try held.survivors(seed: 1) == (10..<20).filter { $0 != 13 })
    }

    @Test("that wait for a failing write-through all fail with its error; later ones work")
    func failure() async throws {
        let held = try HeldDisk()
        // The first write-through is held up, so that the other writes wait for the second.
        let first = Task { try await held.save(100) }
        for _ in 0..<10_000 where held.ran.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        try await Task.sleep(for: .milliseconds(20))
        held.disk.plan = SimulatedDisk.Plan(call: 0, fault: .error(EIO), operations: [.writeThrough])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 101..<120 {
                group.addTask {
                    let error = await #expect(throws: HornbeamError.self) { try await held.save(number) }
                    if error?.code == .io { held.failed.add(1, ordering: .relaxed) }
                }
            }
            group.addTask { try await held.release(after: 20) }
            try await group.waitForAll()
        }
        try await first.value
        #expect(held.failed.load(ordering: .relaxed) == 19)
        #expect(try held.survivors(seed: 1) == [100])
        try await held.save(200)
        #expect(try held.survivors(seed: 2) == [100, 200])
        #expect(try held.database.check { Issue.record("\($0)") })
    }

    @Test("do nothing if their task is cancelled before their turn; a write that has begun is committed")
    func cancelled() async throws {
        let database = try Database.inMemory(models: AsyncNote.self)
        let (begun, signal) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let first = Task {
            // Also if the write fails before it begins its closure.
            defer { signal.finish() }
            try await database.write { context in
                signal.yield()
                gate.wait()
                try AsyncNote(id: 1, text: "begun").save(to: &context)
            }
        }
        for await _ in begun { break }
        let second = Task {
            try await database.write { context in try AsyncNote(id: 2, text: "waiting").save(to: &context) }
        }
        first.cancel()
        second.cancel()
        gate.signal()
        try await first.value
        await #expect(throws: CancellationError.self) { try await second.value }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await database.read { try $0.ids(AsyncNote.self) }
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(try await database.read { try $0.ids(AsyncNote.self) } == [1])
    }
}
