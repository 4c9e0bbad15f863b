// SPDX-License-Identifier: Apache-2.0
// Makes the entries of many rows on several threads. One thread reads the rows in its transaction and copies them in
// batches. It gets the entries in the order of the rows, as if it had made them itself.

import Dispatch
import Foundation
import HornbeamPages
import HornbeamTree
import Synchronization

/// Rows of an entity type from which an index is built.
package struct RowBatch: Sendable {
    /// Number of threads that call an index's function at the same time.
    package static let standardThreads = min(8, ProcessInfo.processInfo.activeProcessorCount)
    /// A batch is full at this number of bytes or of rows.
    private static let sizeBound = 1 << 18
    private static let countBound = 4096
    /// Minimum number of rows for which another thread is worthwhile.
    private static let leastRows = 32

    private struct Place: Sendable {
        let row: RowID
        let bytes: Range<Int>
    }

    private let type: EntityType
    private let registration: IndexRegistration
    private let follower: any IndexFollower
    private let threads: Int
    /// The store whose write transaction waits for the threads.
    private let pages: PageStore?
    private var bytes: [UInt8] = []
    private var places: [Place] = []

    init(_ index: MaintainedIndex, _ type: EntityType, _ transaction: Transaction, threads: Int) {
        self.type = type
        registration = index.registration
        follower = index.registration.emitter.follower(of: [index])
        self.threads = threads
        pages = transaction.helped
    }

    var isFull: Bool { bytes.count >= Self.sizeBound || places.count >= Self.countBound }

    mutating func add(_ row: RowID, _ bytes: Bytes) {
        places.append(Place(row: row, bytes: self.bytes.count..<self.bytes.count + bytes.count))
        self.bytes.append(contentsOf: bytes)
    }

    /// Adds the entries of the rows to a sorter and removes the rows. If rows can't be indexed, throws the error of the
    /// first such row, with any number of threads.
    mutating func finish(into sorter: inout EntrySorter) throws {
        // Each thread gets several parts, because one row may take as long as a hundred others.
        let count = min(threads == 1 ? 1 : threads * 4, (places.count + Self.leastRows - 1) / Self.leastRows)
        let parts = Mutex([Result<EntryBuffer, any Error>?](repeating: nil, count: count))
        let batch = self
        DispatchQueue.concurrentPerform(iterations: count) { part in
            let size = batch.places.count
            let rows = size * part / count..<size * (part + 1) / count
            // In `helping` a function that tries to write throws an error. Otherwise it would wait for the transaction,
            // which waits for it.
            let result = Result { try batch.pages?.helping { try batch.entries(rows) } ?? batch.entries(rows) }
            parts.withLock { $0[part] = result }
        }
        for part in parts.withLock({ $0 }) {
            if let entries = try part?.get() { try sorter.add(entries) }
        }
        bytes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }

    private func entries(_ range: Range<Int>) throws -> EntryBuffer {
        var buffer = EntryBuffer()
        try bytes.withUnsafeBytes { bytes in
            for place in places[range] {
                let row = try RowReader(Bytes(rebasing: bytes[place.bytes]), of: type)
                for entry in try follower.entriesToBuild(place.row, row, registration) {
                    buffer.add(entry.key, value: entry.value)
                }
            }
        }
        return buffer
    }
}
