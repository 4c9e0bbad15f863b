// SPDX-License-Identifier: Apache-2.0
// Readers that open a file while a writer recovers it after the former writer's death.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamTree

@Suite("A reader beside a writer that recovers")
struct RecoveringWriterTests {
    private static func put(_ number: UInt8, _ store: TreeStore) throws {
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [number], [number])
        try write.commit()
    }

    @Test("waits for the recovered state, and is never shown the older checkpoint")
    func waits() throws {
        let disk = try SimulatedDisk()
        let shared = SimulatedProcess.Shared()
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let first = try SimulatedProcess(on: disk, shared, options: options)
        var store: TreeStore? = try TreeStore.open(file: first, options: options)
        for number: UInt8 in 1...9 {
            try Self.put(number, try #require(store))
            if number == 5 { try store?.checkpoint() }
        }
        let durable = try #require(store).statistics.transaction
        var reading = options
        reading.readOnly = true
        let readers = try (0..<2).map { _ in
            try TreeStore.follow(try SimulatedProcess(on: disk, shared, options: reading), options: reading)
        }
        first.kill()
        store = nil

        // At each call of the recovery another reader looks, in a thread of its own: it has to wait.
        let seen = Mutex<[UInt64]>([])
        let group = DispatchGroup()
        disk.whenCalled = { _ in
            for reader in readers {
                DispatchQueue.global().async(group: group) {
                    #expect(throws: Never.self) {
                        let read = try reader.beginRead()
                        defer { read.abort() }
                        seen.withLock { $0.append(read.version) }
                    }
                }
            }
            usleep(5000)
        }
        let second = try SimulatedProcess(on: disk, shared, options: options)
        let again = try TreeStore.open(file: second, options: options)
        disk.whenCalled = nil
        group.wait()
        #expect(seen.withLock { $0 }.count > 4)
        #expect(seen.withLock { $0 }.allSatisfy { $0 == durable })
        #expect(again.statistics.transaction == durable)
        try again.close()
    }
}
