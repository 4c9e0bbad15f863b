// SPDX-License-Identifier: Apache-2.0
// Spans of transactions and queries: their order, parents and ends.

import HornbeamTestSupport
import Synchronization
import Testing

@testable import Hornbeam

@EntityModel
private struct Traced {
    let id: Int
    var size: Int
}

private struct Stop: Error {}

/// Collects the spans of a handler, with their ends.
private final class Spans: Sendable {
    struct Entry {
        let span: Database.Span
        var end: Database.SpanEnd?
    }

    private let entries = Mutex<[Entry]>([])

    func begin(_ span: Database.Span) -> @Sendable (Database.SpanEnd) -> Void {
        entries.withLock { $0.append(Entry(span: span)) }
        return { end in
            self.entries.withLock { entries in
                if let place = entries.firstIndex(where: { $0.span.id == span.id }) { entries[place].end = end }
            }
        }
    }

    var all: [Entry] { entries.withLock { $0 } }
    func of(_ kind: Database.Span.Kind) -> [Entry] { all.filter { $0.span.kind == kind } }
}

@Suite("Spans")
struct SpanTests {
    private let folder: TemporaryFolder
    private let spans = Spans()

    init() throws { folder = try TemporaryFolder() }

    private func open(_ handler: Database.SpanHandler? = nil) throws -> Database {
        var options = Database.Options()
        options.spans = handler ?? { [spans] in spans.begin($0) }
        let database = try Database(at: folder.path("traced.hornbeam"), models: Traced.self, options: options)
        try database.write { context in
            for id in 1...50 { try Traced(id: id, size: id % 5).save(to: &context) }
        }
        return database
    }

    @Test("A query is within its transaction, and ends before it")
    func nesting() throws {
        let database = try open()
        let found = try database.read { try Traced.filter(\.size == 2).resolve(in: $0) }
        let read = try #require(spans.of(.read).last)
        let query = try #require(spans.of(.query).last)
        #expect(query.span.parent == read.span.id && read.span.parent == nil)
        #expect(query.span.name == "Traced")
        #expect(query.end?.rows == found.count)
        let (inner, outer) = (try #require(query.end?.duration), try #require(read.end?.duration))
        #expect(inner <= outer)
        try database.close()
        #expect(spans.all.allSatisfy { $0.end != nil })
        #expect(Set(spans.all.map(\.span.id)).count == spans.all.count)
    }

    @Test("Counts, groups and statements have one span each; a lookup by id has none")
    func kinds() throws {
        let database = try open()
        let before = spans.of(.query).count
        _ = try database.read { try Traced.query(7).resolve(in: $0) }
        #expect(spans.of(.query).count == before)
        _ = try database.read { try Traced.filter(\.size > 1).count(in: $0) }
        #expect(spans.of(.query).count == before + 1)
        let text = "SELECT size, COUNT(*) FROM Traced GROUP BY size"
        _ = try database.query(text)
        #expect(spans.of(.statement).map(\.span.name) == [text])
        let change = "UPDATE Traced SET size = size + 1 WHERE size > 1"
        try database.execute(change)
        #expect(spans.of(.statement).map(\.span.name) == [text, change])
        #expect(spans.of(.query).count == before + 1)
        try database.close()
    }

    @Test("An error ends the transaction's span")
    func errors() async throws {
        let database = try open()
        #expect(throws: Stop.self) { try database.write { _ in throw Stop() } }
        #expect(spans.of(.write).last?.end?.error is Stop)
        await #expect(throws: Stop.self) { try await database.read { _ in throw Stop() } }
        #expect(spans.of(.read).last?.end?.error is Stop)
        try database.close()
    }

    @Test("An asynchronous transaction begins in the caller's task")
    func asynchronous() async throws {
        enum Trace { @TaskLocal static var name = "" }
        let names = Mutex<[String]>([])
        let database = try open { span in
            if span.kind == .write { names.withLock { $0.append(Trace.name) } }
            return nil
        }
        try await Trace.$name.withValue("request 7") {
            try await database.write { try Traced(id: 1, size: 9).save(to: &$0) }
        }
        #expect(names.withLock { $0 }.last == "request 7")
        try database.close()
    }

    @Test("Reads of a handler give no spans", .timeLimit(.minutes(1)))
    func readingHandler() throws {
        let opened = Mutex<Database?>(nil)
        let count = Mutex(0)
        let database = try open { _ in
            count.withLock { $0 += 1 }
            guard let database = opened.withLock({ $0 }) else { return nil }
            _ = try? database.read { try Traced.query().resolve(in: $0) }
            return { _ in _ = try? database.read { try Traced.query().count(in: $0) } }
        }
        opened.withLock { $0 = database }
        let before = count.withLock { $0 }
        _ = try database.read { try Traced.filter(\.size == 2).resolve(in: $0) }
        #expect(count.withLock { $0 } == before + 2)
        opened.withLock { $0 = nil }
        try database.close()
    }
}
