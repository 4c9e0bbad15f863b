// SPDX-License-Identifier: Apache-2.0
// The costs of safety: the figures of Docs/reliability.md.
//
//     hornbeam-bench reliability commits [--n NUMBER]     bytes and time of a durable commit of one key
//     hornbeam-bench reliability updates [--n NUMBER]     bytes written for random updates
//     hornbeam-bench reliability recovery                  opening after the death of a process with a full journal
//     hornbeam-bench reliability open [--load MEBIBYTES]   opening a large file
//     hornbeam-bench reliability pause                       see Pause.swift
//     hornbeam-bench reliability growth                      see Growth.swift

import BenchHarness
import CHornbeam
import Foundation

struct Reliability {
    /// A folder that is removed afterwards.
    private let folder: String
    private let arguments: Arguments
    private let count: Int

    private var path: String { folder + "/measured.hornbeam" }

    init(folder: String, _ arguments: [String]) throws {
        self.folder = folder
        self.arguments = try Arguments(arguments, options: ["n", "load", "runs", "dirty", "batch"])
        count = try self.arguments.number("n", 1_000_000, least: 1)
    }

    func run() throws {
        switch arguments.words.first {
        case "commits": try commits()
        case "updates": try updates()
        case "recovery": try recovery()
        case "open": try open(mebibytes: arguments.number("load", 10_240, least: 1))
        case "pause":
            try Pause(
                rounds: arguments.number("runs", 8, least: 1), count: count,
                dirtyBytes: UInt64(arguments.number("dirty", 112, least: 1)) << 20
            ).run(at: path)
        case "growth": try Growth(count: count, batch: arguments.number("batch", 1_000, least: 1)).run(at: path)
        default: throw BenchError("reliability measures commits, updates, recovery, open, pause or growth")
        }
    }

    // MARK: Commits

    /// One-key commits among `count` entries, beside a bare write-through of 4 KiB in place.
    private func commits() throws {
        let rounds = 2_000
        let store = try BenchStore(path: path)
        try store.put(0..<count)
        let bare = try BareFile(path: folder + "/bare")
        var ours = Latencies()
        var disk = Latencies()
        var written = (bytes: 0, calls: 0)
        for round in 0..<rounds {
            let before = Machine.written
            try ours.time {
                try store.put(CollectionOfOne(round &* 7_919 % count))
            }
            let after = Machine.written
            written.bytes += after.bytes - before.bytes
            written.calls += after.calls - before.calls
            try disk.time { try bare.writeThrough() }
        }
        try store.close()
        print("durable commits of one key among \(count) entries: \(ours.words)")
        print("bare write-through of 4 KiB beside them:           \(disk.words)")
        print("per commit: \(written.bytes / rounds) bytes written in \(ratio(written.calls, rounds)) calls")
    }

    // MARK: Updates

    private func updates() throws {
        let batch = 1_000
        let store = try BenchStore(path: path)
        try store.put(0..<count)
        try HornbeamEngine.check(hb_checkpoint(store.store))
        let changes = min(count, 200_000)
        let before = Machine.written
        for start in stride(from: 0, to: changes, by: batch) {
            try store.put((start..<min(start + batch, changes)).lazy.map { $0 &* 7_919 % count })
        }
        try HornbeamEngine.check(hb_checkpoint(store.store))
        let written = Machine.written.bytes - before.bytes
        try store.close()
        print(
            "\(changes) random updates of \(count) entries, durable, \(batch) a batch, with the checkpoints: "
                + "\(written >> 20) MiB written for \((changes * BenchStore.entryBytes) >> 20) MiB of entries "
                + "(\(ratio(written, changes * BenchStore.entryBytes)) times)")
    }

    // MARK: Recovery

    /// A child fills the journal and dies; the opening that follows is timed.
    private func recovery() throws {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: Child.program)
        child.arguments = ["fill-journal", path]
        let pipe = Pipe()
        child.standardOutput = pipe
        try child.run()
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        child.waitUntilExit()
        guard child.terminationReason == .uncaughtSignal else { throw BenchError("the child did not die") }
        let duration = try ContinuousClock().measure {
            let store = try BenchStore(path: path)
            try store.close()
        }
        print("the process died with " + String(decoding: said, as: UTF8.self), terminator: "")
        print("opening, with recovery, and closing again: \(duration)")
    }

    /// Commits batches in random order until a journal is nearly as full as it gets before a checkpoint begins. Then
    /// reports its content, and dies. (In a store of more than 256 MiB dirty pages make a checkpoint due sooner.)
    static func fillJournal(path: String) throws {
        let store = try BenchStore(path: path)
        for batch in 0..<4_000 {
            try store.put(batch * 1_000..<(batch + 1) * 1_000, durability: HB_DURABLE_PROCESS)
            let figures = try store.figures
            let isLarge = figures.journal_capacity_bytes >= 32 << 20
            guard isLarge, figures.journal_bytes > figures.journal_capacity_bytes / 10 * 7 else { continue }
            print(
                "\(figures.journal_bytes >> 20) of \(figures.journal_capacity_bytes >> 20) MiB in the journal, "
                    + "\(batch + 1) thousand entries in the store: ", terminator: "")
            fflush(nil)
            kill(getpid(), SIGKILL)
        }
    }

    // MARK: Opening

    private func open(mebibytes: Int) throws {
        try LargeLoad(bytes: mebibytes << 20, cacheBytes: 64 << 20, isSorted: true, seed: 1).run(at: path)
        for round in 0..<3 {
            let isCold = Machine.dropCaches()
            let first = try openAndRead()
            let second = try openAndRead()
            print("opening and a first get, round \(round): \(first)\(isCold ? " cold" : ""), \(second) warm")
        }
    }

    private func openAndRead() throws -> Duration {
        var store: OpaquePointer?
        var transaction: OpaquePointer?
        let duration = try ContinuousClock().measure {
            try HornbeamEngine.check(hb_open(path, nil, &store))
            try HornbeamEngine.check(hb_begin(store, UInt32(HB_READ), &transaction))
            var tree: hb_tree = 0
            try HornbeamEngine.check(hb_tree_open(transaction, BenchStore.treeName, 0, &tree))
            var cursor: OpaquePointer?
            try HornbeamEngine.check(hb_cursor_open(transaction, tree, &cursor))
            try HornbeamEngine.check(hb_cursor_at(cursor, 123))
            hb_cursor_close(cursor)
        }
        hb_abort(transaction)
        try HornbeamEngine.check(hb_close(store))
        return duration
    }

    private func ratio(_ part: Int, _ whole: Int) -> String { String(format: "%.2f", Double(part) / Double(whole)) }
}
