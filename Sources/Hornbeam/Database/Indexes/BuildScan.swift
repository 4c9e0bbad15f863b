// SPDX-License-Identifier: Apache-2.0
// Makes the entries of all rows in their state at the beginning of a background build, on several threads with reads of
// their own. The former state of rows that have changed since is noted in a tree, so the file need not keep an old
// state for the build, and an interrupted build continues at its last position.

import Dispatch
import HornbeamPages
import HornbeamTree
import Synchronization

/// Reads rows after a position, until the entries fill a run.
struct BuildScan {
    let store: TreeStore
    let type: EntityType
    let registration: IndexRegistration
    let follower: any IndexFollower
    let missedName: String
    let limits: BackgroundBuilder.Limits
    /// Called with the number of rows read. It may throw to end the scan.
    let report: @Sendable (_ rows: Int) throws -> Void

    struct Result: Sendable {
        /// The entries of each thread, sorted.
        var buffers: [EntryBuffer] = []
        /// The last row that was read, or nil if there was none.
        var position: UInt64?
        /// Whether there are no more rows.
        var isAtEnd = false
    }

    /// State that the threads share.
    private struct Shared: Sendable {
        var result: Result
        /// Size of the entries of all threads, in bytes.
        var size = 0
        var failure: (any Error)?
    }

    func run(after position: UInt64?) throws -> Result {
        let shared = Mutex(Shared(result: Result(position: position)))
        DispatchQueue.concurrentPerform(iterations: limits.threads) { _ in
            var buffer = EntryBuffer()
            do {
                while let rows = try next(shared) {
                    let former = buffer.size
                    let count = try read(rows, into: &buffer)
                    let added = buffer.size - former
                    shared.withLock { $0.size += added }
                    try report(count)
                }
                buffer.sort()
                if !buffer.isEmpty { shared.withLock { $0.result.buffers.append(buffer) } }
            } catch {
                shared.withLock { if $0.failure == nil { $0.failure = error } }
            }
        }
        return try shared.withLock { shared in
            if let failure = shared.failure { throw failure }
            return shared.result
        }
    }

    /// Returns the next range of row ids to read, or nil if nothing is left or the run is full. Every range that is
    /// returned is read, so in the end all rows up to `position` are complete.
    private func next(_ shared: borrowing Mutex<Shared>) throws -> ClosedRange<UInt64>? {
        try shared.withLock { shared in
            guard shared.failure == nil, !shared.result.isAtEnd, shared.size < limits.runSize else { return nil }
            guard let first = shared.result.position.map({ RowID(rawValue: $0).next }) ?? RowID(rawValue: 0) else {
                shared.result.isAtEnd = true
                return nil
            }
            let read = try store.beginRead()
            defer { read.abort() }
            // The range has at most `rowsAtOnce` rows of each of the two trees.
            var last: UInt64?
            for tree in [type.rows, try missed(read)] {
                let start = try read.count(tree, from: [], to: first.key)
                var cursor = try read.cursor(tree)
                let (end, overflow) = start.addingReportingOverflow(UInt64(limits.rowsAtOnce - 1))
                guard !overflow, try cursor.seek(index: end) else { continue }
                let row = try rowID(cursor.key)
                last = min(last ?? .max, row)
            }
            guard let last, last >= first.rawValue else {
                shared.result.isAtEnd = true
                return first.rawValue...UInt64.max
            }
            shared.result.position = last
            return first.rawValue...last
        }
    }

    private func missed(_ read: Transaction) throws -> TreeID {
        guard let missed = try read.tree(missedName) else { throw BackgroundBuilder.Superseded() }
        return missed
    }

    private func rowID(_ key: Bytes) throws(StorageError) -> UInt64 {
        guard key.count == 8, let rowID = RowID(key: key) else {
            throw .corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
        }
        return rowID.rawValue
    }

    /// Adds the entries of some rows in their state at the beginning of the build. Returns the number of present rows
    /// among them.
    private func read(_ rows: ClosedRange<UInt64>, into buffer: inout EntryBuffer) throws -> Int {
        let read = try store.beginRead()
        defer { read.abort() }
        var now = try read.cursor(type.rows)
        var noted = try read.cursor(try missed(read))
        let first = RowID(rawValue: rows.lowerBound).key
        var (nowID, notedID): (UInt64?, UInt64?)
        nowID = try now.seek(first) ? try rowID(now.key) : nil
        notedID = try noted.seek(first) ? try rowID(noted.key) : nil
        var count = 0
        while let next = [nowID, notedID].compactMap({ $0 }).min(), rows.contains(next) {
            if notedID == next {
                if let former = try MissedRow.row(Array(noted.value)) {
                    try former.withUnsafeBytes { try add(next, $0, to: &buffer) }
                }
                notedID = try noted.next() ? try rowID(noted.key) : nil
            } else {
                try add(next, now.value, to: &buffer)
            }
            if nowID == next {
                count += 1
                nowID = try now.next() ? try rowID(now.key) : nil
            }
        }
        return count
    }

    private func add(_ row: UInt64, _ bytes: Bytes, to buffer: inout EntryBuffer) throws {
        let reader = try RowReader(bytes, of: type)
        for entry in try follower.entriesToBuild(RowID(rawValue: row), reader, registration) {
            buffer.add(entry.key, value: entry.value)
        }
    }
}
