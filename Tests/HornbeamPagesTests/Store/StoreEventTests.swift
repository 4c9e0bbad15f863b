// SPDX-License-Identifier: Apache-2.0
// The events of a store: the work it does by itself, and the failures in that work.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Synchronization
import Testing

@Suite("Events of a store")
struct StoreEventTests {
    private final class Events: Sendable {
        private let events = Mutex<[StoreEvent]>([])
        var all: [StoreEvent] { events.withLock { $0 } }
        func add(_ event: StoreEvent) { events.withLock { $0.append(event) } }
    }

    private let events = Events()

    private func open(_ disk: SimulatedDisk) throws -> PageStore {
        var options = StoreOptions.withLargeRing
        options.events = { [events] in events.add($0) }
        return try Toy.open(disk, options)
    }

    @Test("Recovery reports the commits that it found in the journal, a checkpoint its transaction")
    func recovery() throws {
        let disk = try SimulatedDisk()
        let former = try Toy.open(disk)
        for value: UInt64 in 1...3 { try Toy.commit(ToyChange(cell: 1, value: value), to: former) }
        let store = try open(SimulatedDisk(image: disk.killedImage()))
        let recovered = events.all.compactMap { event -> Int? in
            if case .recovered(let commits, _) = event { commits } else { nil }
        }
        #expect(recovered == [3])
        try Toy.commit(ToyChange(cell: 2, value: 4), to: store)
        try store.checkpoint()
        guard case .checkpointed(let transaction, let pageBytes, let journalBytes, _)? = events.all.last else {
            Issue.record("the last event is \(String(describing: events.all.last))")
            return
        }
        #expect(transaction == store.statistics.transaction)
        #expect(pageBytes > 0 && journalBytes > 0)
    }

    @Test("A checkpoint that is undone is reported, and the next one that succeeds")
    func failedCheckpoint() throws {
        let disk = try SimulatedDisk()
        let store = try open(disk)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.write])
        #expect(throws: StorageError.self) { try store.checkpoint() }
        guard case .checkpointFailed(.io)? = events.all.last else {
            Issue.record("the last event is \(String(describing: events.all.last))")
            return
        }
        disk.plan = nil
        try store.checkpoint()
        guard case .checkpointed? = events.all.last else {
            Issue.record("the last event is \(String(describing: events.all.last))")
            return
        }
    }

    @Test("A failure with an unknown outcome is reported once, the end of a store not at all")
    func failure() throws {
        let disk = try SimulatedDisk()
        let store = try open(disk)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), isLasting: true, operations: [.sync])
        #expect(throws: StorageError.self) { try store.checkpoint() }
        #expect(throws: StorageError.self) { try store.checkpoint() }
        #expect(throws: StorageError.self) { try store.close() }
        let failures = events.all.filter { if case .failed = $0 { true } else { false } }
        #expect(failures.count == 1)
        let sound = Events()
        var options = StoreOptions.withLargeRing
        options.events = { sound.add($0) }
        try Toy.open(SimulatedDisk(), options).close()
        #expect(!sound.all.contains { if case .failed = $0 { true } else { false } })
    }

    @Test("Cutting a file off reports its sizes")
    func shrinking() throws {
        let disk = try SimulatedDisk()
        let store = try open(disk)
        for value: UInt64 in 1...12 {
            try Toy.commit(ToyChange(cell: Int(value) % Toy.cells, value: value, longSectors: 400), to: store)
        }
        for value: UInt64 in 1...12 {
            try Toy.commit(ToyChange(cell: Int(value) % Toy.cells, value: value), to: store)
        }
        try store.checkpoint()
        let size = store.statistics.fileBytes
        try store.checkpoint()
        let sectors = try store.cutTail()
        guard case .shrunk(let before, let after)? = events.all.last else {
            Issue.record("the last event is \(String(describing: events.all.last))")
            return
        }
        #expect(before == size && after == sectors << 12 && after < before)
    }
}
