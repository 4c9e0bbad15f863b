// SPDX-License-Identifier: Apache-2.0
// Check of a store that was opened for reading: it accounts for space only if the header of its opening is still the
// file's.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Check of a store opened for reading")
struct ReaderCheckTests {
    private let disk: SimulatedDisk
    private let shared = SimulatedProcess.Shared()

    init() throws {
        disk = try SimulatedDisk()
        let store = try writer()
        try Self.put(store, 0..<400)
        try store.close()
    }

    private func writer() throws -> TreeStore {
        try TreeStore.open(file: try SimulatedProcess(on: disk, shared, options: SparseStore.options))
    }

    private func reader() throws -> TreeStore {
        var options = SparseStore.options
        options.readOnly = true
        return try TreeStore.follow(try SimulatedProcess(on: disk, shared, options: options), options: options)
    }

    private static func put(_ store: TreeStore, _ keys: Range<Int>) throws {
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in keys { try write.put(tree, [UInt8(key >> 8), UInt8(key & 255)], [UInt8](repeating: 1, count: 700)) }
        try write.commit()
    }

    private func expectSound(_ store: TreeStore, _ place: SourceLocation = #_sourceLocation) throws {
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        #expect(isSound && problems.isEmpty, "\(problems.prefix(3))", sourceLocation: place)
    }

    // The check compared transaction numbers before it looked for the newest state, and then reported pages of that
    // state that the former map has as free.
    @Test("finds nothing wrong after another process has written, whether it closed or not")
    func afterWriter() throws {
        let reader = try reader()
        try expectSound(reader)
        let writer = try writer()
        try Self.put(writer, 400..<900)
        try expectSound(reader)
        try writer.close()
        try expectSound(reader)
        try expectSound(try self.reader())
    }

    // A transaction's number doesn't identify the map: a compaction ends with checkpoints of the same transaction.
    @Test("finds nothing wrong after another process has made another checkpoint of the same transaction")
    func sameTransaction() throws {
        let reader = try reader()
        let writer = try writer()
        let transaction = writer.statistics.transaction
        try writer.pages.checkpoint(writer.pages.side.tip, journal: .new(512))
        #expect(writer.statistics.transaction == transaction)
        try writer.close()
        try expectSound(reader)
    }

    // The map of a store that was opened beside a writer was never read, but was trusted after the writer had ended.
    @Test("finds nothing wrong after it was opened during another process's write without changes")
    func besideIdleWriter() throws {
        let first = try writer()
        let reader = try reader()
        try first.close()
        try self.writer().close()
        try expectSound(reader)
    }

    @Test("finds nothing wrong if a writer begins just when it takes its snapshot")
    func meanwhile() throws {
        let reader = try reader()
        let isDone = Once()
        shared.duringChoice = { [self] in
            guard isDone.isFirst() else { return }
            do {
                let writer = try writer()
                try Self.put(writer, 400..<900)
                try writer.close()
            } catch {
                Issue.record("\(error)")
            }
        }
        defer { shared.duringChoice = nil }
        try expectSound(reader)
    }

    private final class Once: @unchecked Sendable {
        // Sendable: used in one thread.
        private var isOver = false
        func isFirst() -> Bool {
            defer { isOver = true }
            return !isOver
        }
    }

    // The store can't determine the file's length while another process is growing it: a length that isn't a multiple
    // of 64 sectors led to an index out of range.
    @Test("accounts for files of any length")
    func length() {
        for sectors: UInt64 in [64, 100, 127, 129] {
            var account = SpaceAccount(sectors: sectors, live: nil, own: [])
            #expect(account.add(sectors - 1, sectors: 1) == nil)
            #expect(account.add(sectors - 1, sectors: 1) != nil)
            #expect(account.add(sectors, sectors: 1) != nil)
        }
    }
}
