// SPDX-License-Identifier: Apache-2.0
// The log of a database: its entries, and that its handler may use the database in any way.

import Dispatch
import Foundation
import HornbeamMapReduce
import HornbeamTestSupport
import Synchronization
import Testing

@testable import Hornbeam

@EntityModel
private struct LoggedParcel {
    @Index<Self>(\.state) private var byState

    let id: Int
    var state: String
    var weight = 1
}

/// Collects the entries of a log.
private final class Entries: Sendable {
    private let entries = Mutex<[Database.LogEntry]>([])

    func add(_ entry: Database.LogEntry) { entries.withLock { $0.append(entry) } }
    var all: [Database.LogEntry] { entries.withLock { $0 } }
    func of(_ event: Database.LogEntry.Event) -> [Database.LogEntry] { all.filter { $0.event == event } }
}

@Suite("The log of a database")
struct OperationLogTests {
    private let folder: TemporaryFolder
    private let path: String
    private let entries = Entries()

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("parcels.hornbeam")
    }

    private func log(slowQuery: Duration? = nil, slowTransaction: Duration? = nil, longRead: Duration? = nil)
        -> Database.Options
    {
        var options = Database.Options()
        options.log = Database.Log(
            slowQuery: slowQuery, slowTransaction: slowTransaction, longRead: longRead
        ) { [entries] in entries.add($0) }
        return options
    }

    private func open(_ options: Database.Options, _ path: String? = nil) throws -> Database {
        try Database(at: path ?? self.path, models: LoggedParcel.self, options: options)
    }

    private func save(_ ids: ClosedRange<Int>, in database: Database, weight: Int = 1) throws {
        try database.write { context in
            for id in ids { try LoggedParcel(id: id, state: "waiting", weight: weight).save(to: &context) }
        }
    }

    @Test("A life of a database: its schema, a checkpoint, its end")
    func life() throws {
        let database = try open(log())
        try save(1...10, in: database)
        try database.checkpoint()
        try database.close()
        let events = entries.all.map(\.event)
        let first = try #require(events.firstIndex(of: .migrationBegan))
        let migrated = try #require(events.firstIndex(of: .migrated))
        let opened = try #require(events.firstIndex(of: .opened))
        let checkpoint = try #require(events.lastIndex(of: .checkpoint))
        #expect(first < migrated && migrated < opened && opened < checkpoint)
        #expect(events.last == .closed)
        #expect(entries.of(.opened).first?.values["path"] == .string(path))
        #expect(entries.of(.checkpoint).allSatisfy { $0.level == .debug && $0.values["seconds"] != nil })
        #expect(entries.all.allSatisfy { $0.level < .warning })
    }

    @Test("A database without a log and without spans has no watch")
    func unwatched() throws {
        let database = try open(Database.Options())
        #expect(database.watch == nil)
        try database.close()
    }

    @Test("A file that was not closed is recovered, and the log says how much")
    func recovery() throws {
        let database = try open(Database.Options())
        try save(1...10, in: database)
        // A copy made while nothing is being written is what a kill would leave.
        let copy = folder.path("killed.hornbeam")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try database.close()
        try open(log(), copy).close()
        let recovered = try #require(entries.of(.recovered).first)
        #expect(recovered.level == .info)
        guard case .int(let commits) = recovered.values["commits"] else {
            Issue.record("it has no number of commits")
            return
        }
        #expect(commits >= 1)
    }

    @Test("A query over the bound is logged with its plan and its rows")
    func slowQueries() throws {
        let database = try open(log(slowQuery: .zero))
        try save(1...100, in: database, weight: 3)
        let found = try database.read { try LoggedParcel.filter(\.weight == 3).resolve(in: $0).count }
        _ = try database.query("SELECT COUNT(*) FROM LoggedParcel WHERE weight > 1")
        try database.close()
        let slow = entries.of(.slowQuery)
        let query = try #require(slow.first { $0.values["name"] == .string("LoggedParcel") })
        #expect(found == 100)
        #expect(query.level == .warning)
        #expect(query.values["rowsRead"] == .int(100) && query.values["rowsPassed"] == .int(100))
        #expect(query.values["plan"]?.text.contains("scan of 100 rows") == true)
        let statement = try #require(slow.first { $0.metadata["name"]?.hasPrefix("SELECT") == true })
        #expect(statement.values["plan"]?.text.contains("LoggedParcel") == true)
    }

    @Test("Queries and transactions below the bound are not logged")
    func fastQueries() throws {
        let database = try open(log(slowQuery: .seconds(600), slowTransaction: .seconds(600)))
        try save(1...10, in: database)
        _ = try database.read { try LoggedParcel.query().count(in: $0) }
        try database.close()
        #expect(entries.of(.slowQuery).isEmpty && entries.of(.slowTransaction).isEmpty)
    }

    @Test("A write over the bound is logged with the time that it waited and that its commit took")
    func slowTransactions() async throws {
        let database = try open(log(slowTransaction: .zero))
        try save(1...10, in: database)
        _ = try await database.read { try LoggedParcel.query().count(in: $0) }
        try database.close()
        let slow = entries.of(.slowTransaction)
        let write = try #require(slow.first { $0.values["kind"] == .string("write") })
        for part in ["seconds", "secondsWaited", "secondsCommitted"] {
            guard case .double(let seconds) = write.values[part], seconds >= 0 else {
                Issue.record("\(part) is missing")
                continue
            }
        }
        #expect(slow.contains { $0.values["kind"] == .string("read") })
    }

    @Test("A read that holds old pages is logged once, with their size")
    func longReads() throws {
        let database = try open(log(longRead: .zero))
        try save(1...2_000, in: database)
        let read = try database.longLivedRead()
        for weight in 2...4 {
            try save(1...2_000, in: database, weight: weight)
            try database.checkpoint()
        }
        try read.close()
        try database.close()
        let long = entries.of(.longRead)
        #expect(long.map { $0.values["kind"] } == [.string("longLivedRead")])
        guard case .uint(let held)? = long.first?.values["snapshotBytes"] else {
            Issue.record("it has no size")
            return
        }
        #expect(held > 0)
    }

    @Test("Builds of an index are logged from beginning to end")
    func builds() throws {
        let database = try open(log())
        try save(1...100, in: database)
        func index(_ name: String) -> some RegisteredIndex {
            MapIndex(name, version: "1") { (parcel: LoggedParcel, emit: inout MapEmitter<Int>) in
                emit(key: .string(parcel.state), value: parcel.weight)
            }
        }
        try database.register(index("at once"))
        try database.register(inBackground: index("beside")).wait()
        try database.close()
        for name in ["at once", "beside"] {
            let events = entries.all.filter { $0.values["index"] == .string(name) }.map(\.event)
            #expect(events == [.indexBuildBegan, .indexBuilt])
        }
    }

    @Test("A damaged file is logged as an error")
    func damage() throws {
        let database = try open(Database.Options())
        try save(1...1_000, in: database)
        try database.close()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 16_384)
        try file.write(contentsOf: Data(repeating: 0x5A, count: Int(size) - 16_384))
        try file.close()
        let damaged = log()
        #expect(throws: HornbeamError.self) {
            let database = try open(damaged)
            defer { try? database.close() }
            _ = try database.read { try LoggedParcel.query().resolve(in: $0) }
        }
        // An opening that fails doesn't wait for its entries.
        for _ in 0..<500 where entries.of(.operationFailed).isEmpty { Thread.sleep(forTimeInterval: 0.01) }
        let failed = try #require(entries.of(.operationFailed).first)
        #expect(failed.level == .error && failed.values["code"] == .string("corrupt"))
    }

    // MARK: The handler

    @Test("A handler may read, write and close the database whose log it receives", .timeLimit(.minutes(1)))
    func usingHandler() throws {
        let opened = Mutex<Database?>(nil)
        let calls = Mutex((reads: 0, writes: 0))
        var options = Database.Options()
        options.log = Database.Log(slowQuery: .zero, slowTransaction: .zero, longRead: .zero) { entry in
            guard let database = opened.withLock({ $0 }), entry.level > .debug else { return }
            do {
                _ = try database.read { try LoggedParcel.query().count(in: $0) }
                calls.withLock { $0.reads += 1 }
                try database.write { try LoggedParcel(id: 0, state: entry.event.description).save(to: &$0) }
                calls.withLock { $0.writes += 1 }
                if entry.values["kind"] == .string("write") { try database.checkpoint() }
            } catch {
                // The last entries come after the database is closed.
            }
        }
        let database = try open(options)
        opened.withLock { $0 = database }
        for weight in 1...20 {
            try save(1...100, in: database, weight: weight)
            _ = try database.read { try LoggedParcel.filter(\.weight == weight).resolve(in: $0) }
        }
        try database.close()
        opened.withLock { $0 = nil }
        let (reads, writes) = calls.withLock { $0 }
        #expect(reads > 0 && writes > 0)
    }

    @Test("A handler may close the database and end", .timeLimit(.minutes(1)))
    func closingHandler() throws {
        let opened = Mutex<Database?>(nil)
        let hasClosed = DispatchSemaphore(value: 0)
        var options = Database.Options()
        options.log = Database.Log(slowTransaction: .zero) { entry in
            guard entry.event == .slowTransaction, let database = opened.withLock({ $0.take() }) else { return }
            try? database.close()
            hasClosed.signal()
        }
        let database = try open(options)
        opened.withLock { $0 = database }
        try save(1...10, in: database)
        hasClosed.wait()
        let error = #expect(throws: HornbeamError.self) { try save(1...10, in: database) }
        #expect(error?.code == .invalid)
    }

    @Test("A close inside a write does not wait for a handler that waits for the write", .timeLimit(.minutes(1)))
    func closeInWrite() throws {
        let opened = Mutex<Database?>(nil)
        var options = Database.Options()
        options.log = Database.Log(slowQuery: .zero) { entry in
            guard entry.event == .slowQuery, let database = opened.withLock({ $0 }) else { return }
            try? database.write { try LoggedParcel(id: 0, state: "logged").save(to: &$0) }
        }
        let database = try open(options)
        opened.withLock { $0 = database }
        let error = #expect(throws: HornbeamError.self) {
            try database.write { context in
                _ = try LoggedParcel.query().count(in: context)
                try database.close()
            }
        }
        #expect(error?.code == .busy)
        opened.withLock { $0 = nil }
        try database.close()
    }

    @Test("A handler that is too slow loses entries, and gets their number")
    func slowHandler() {
        let mayGoOn = DispatchSemaphore(value: 0)
        let entries = Entries()
        let queue = LogQueue { entry in
            if entries.all.isEmpty { mayGoOn.wait() }
            entries.add(entry)
        }
        for _ in 0..<5_000 { queue.add(Database.LogEntry(.info, .opened, "opened")) }
        mayGoOn.signal()
        queue.drain()
        let dropped = entries.of(.dropped).compactMap { entry -> Int64? in
            guard case .int(let count)? = entry.values["entries"] else { return nil }
            return count
        }
        #expect(Int(dropped.reduce(0, +)) + entries.of(.opened).count == 5_000)
        #expect(!dropped.isEmpty)
    }

    @Test("An entry's text is one line with its level, message and values")
    func text() {
        let entry = Database.LogEntry(.info, .shrunk, "shortened", ["bytesBefore": .uint(2), "bytesAfter": .uint(1)])
        #expect(entry.description == "info: shortened bytesAfter=1 bytesBefore=2")
    }
}
