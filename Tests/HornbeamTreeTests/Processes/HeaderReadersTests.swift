// SPDX-License-Identifier: Apache-2.0
// Readers in other processes that find the newest state in the header, because no writer has announced one or the
// last writer has died. They see a state that no power failure undoes, and no older one than was durable.

import HornbeamPages
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamTree

@Suite("Readers of the header")
struct HeaderReadersTests {
    private let disk: SimulatedDisk
    private let shared = SimulatedProcess.Shared()
    private let options: StoreOptions
    private let reading: StoreOptions

    init() throws {
        disk = try SimulatedDisk()
        var options = StoreOptions.withLargeRing
        options.durability = .none
        self.options = options
        options.readOnly = true
        reading = options
    }

    private func writer() throws -> (process: SimulatedProcess, store: TreeStore) {
        let process = try SimulatedProcess(on: disk, shared, options: options)
        return (process, try TreeStore.open(file: process, options: options))
    }

    private func reader() throws -> TreeStore {
        try TreeStore.follow(try SimulatedProcess(on: disk, shared, options: reading), options: reading)
    }

    private func put(_ number: UInt8, _ store: TreeStore, _ durability: Durability = .none) throws {
        let write = try store.beginWrite()
        write.durability = durability
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [number], [number])
        try write.commit()
    }

    private func seen(_ reader: TreeStore) throws -> UInt64 {
        let read = try reader.beginRead()
        defer { read.abort() }
        return read.version
    }

    private func expectDurable(_ version: UInt64) throws {
        for seed in UInt64(0)..<8 {
            let image = disk.image(after: PowerLoss(seed: seed))
            let left = try TreeStore.open(file: try SimulatedDisk(image), options: options)
            #expect(left.statistics.transaction >= version, "call \(disk.calls), seed \(seed)")
            try left.close()
        }
    }

    /// Makes a checkpoint, and kills the writer in the call that writes the second slot.
    private func killWriter(_ process: SimulatedProcess, _ store: TreeStore) {
        let left = Atomic(1)
        disk.whenCalled = { disk in
            guard disk.operations.last == .writeThrough else { return }
            if left.subtract(1, ordering: .relaxed).oldValue == 0 { process.kill() }
        }
        _ = try? store.checkpoint()
        disk.whenCalled = nil
        #expect(left.load(ordering: .relaxed) < 0, "no such slot was written")
    }

    @Test("see no checkpoint while its header is written")
    func headerUnderWay() throws {
        for number: UInt8 in 1...3 {
            let (_, store) = try writer()
            try put(number, store)
            let looks = Atomic(0)
            disk.whenCalled = { _ in
                #expect(throws: Never.self) {
                    let reader = try reader()
                    try expectDurable(try seen(reader))
                    try reader.close()
                }
                looks.add(1, ordering: .relaxed)
            }
            try store.checkpoint()
            disk.whenCalled = nil
            #expect(looks.load(ordering: .relaxed) > 3)
            try store.close()
        }
    }

    @Test("see the state that a writer's life began with, even if they missed all of that life")
    func missedLife() throws {
        let (first, store) = try writer()
        try put(1, store, .full)
        let reader = try reader()
        let told = try seen(reader)
        try put(2, store)
        killWriter(first, store)
        let (second, next) = try writer()
        #expect(next.statistics.transaction == told + 1)
        second.kill()
        #expect(try seen(reader) == told + 1)
        try reader.close()
    }

    @Test("see the newest state, even if a writer announces its first one while they choose")
    func commitMeanwhile() throws {
        let (_, first) = try writer()
        try put(0, first, .full)
        try first.close()
        for call in 0..<8 {
            let (_, store) = try writer()
            let left = Atomic(call)
            shared.duringChoice = {
                guard left.subtract(1, ordering: .relaxed).oldValue == 0 else { return }
                #expect(throws: Never.self) { try put(UInt8(call + 1), store, .full) }
            }
            let reader = try reader()
            _ = try seen(reader)
            shared.duringChoice = nil
            #expect(try seen(reader) == store.statistics.transaction, "call \(call)")
            try reader.close()
            try store.close()
        }
    }
}
