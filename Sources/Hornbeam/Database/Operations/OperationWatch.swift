// SPDX-License-Identifier: Apache-2.0
// Watches a database's transactions and queries for its log and its spans. Without these in the options a database has
// no watch, and its transactions only test that.

import HornbeamPages
import HornbeamTree
import Synchronization

/// Watches one database. Any thread.
final class OperationWatch: Sendable {
    /// The parts of the database that know the open reads. Weak, because the store has the watch's event handler.
    private struct Watched {
        weak var store: TreeStore?
        weak var longReads: LongLivedReads?
    }

    private struct OpenRead {
        let began: ContinuousClock.Instant
        var isLogged = false
    }

    let path: String
    private let log: (bounds: Database.Log, queue: LogQueue)?
    private let spans: Database.SpanHandler?
    private let numbers = Atomic<UInt64>(0)
    private let watched = Mutex(Watched())
    /// The reads that are open, by the numbers of their spans.
    private let reads = Mutex<[UInt64: OpenRead]>([:])
    /// Threads that are in the span handler, whose own use of the database makes no spans.
    private let handling = Mutex<Set<UInt>>([])

    /// Returns nil if the options have neither a log nor spans.
    init?(_ options: Database.Options, _ path: String) {
        self.path = path
        guard options.log != nil || options.spans != nil else { return nil }
        log = options.log.map { ($0, LogQueue($0.handler)) }
        spans = options.spans
    }

    /// Tells the watch that the store is open.
    func attach(_ store: TreeStore, _ longReads: LongLivedReads) {
        watched.withLock { $0 = Watched(store: store, longReads: longReads) }
    }

    /// Waits until the log's handler has got all entries.
    func drain() { log?.queue.drain() }

    // MARK: Log

    func note(
        _ level: Database.LogEntry.Level, _ event: Database.LogEntry.Event, _ message: @autoclosure () -> String,
        _ values: @autoclosure () -> [String: Value] = [:]
    ) {
        // A write of the handler may be the one that fails the file, which happens once. Other entries of its own
        // operations would follow one another for ever.
        guard let log, event == .failed || !log.queue.isHandling else { return }
        log.queue.add(Database.LogEntry(level, event, message(), values()))
    }

    /// Logs an error that ends an operation, if the file or the disk is its cause.
    func note(_ error: any Error, during operation: String) {
        guard let error = HornbeamError.typed(error) as? HornbeamError,
            [.corrupt, .io, .full, .failed].contains(error.code)
        else { return }
        note(
            .error, .operationFailed, "\(operation) failed: \(error.message)",
            [
                "operation": .string(operation), "code": .string(error.code.description),
                "error": .string(error.message),
            ])
    }

    /// The handler of the store's events, or nil if there is no log.
    var events: StoreEvent.Handler? {
        guard log != nil else { return nil }
        return { (event: StoreEvent) in self.note(event) }
    }

    // MARK: Reads that stay open

    /// Checks for reads that are open for long, after a checkpoint. The log's thread does it, because it holds no lock
    /// of the store.
    func noteCheckpoint() { log?.queue.run { self.lookAtReads() } }

    /// Logs the reads that are open for long, if the file keeps pages for reads.
    private func lookAtReads() {
        guard let bound = log?.bounds.longRead else { return }
        let (store, longReads) = watched.withLock { ($0.store, $0.longReads) }
        guard let held = store?.statistics.snapshotBytes, held > 0 else { return }
        let now = ContinuousClock.now
        var found: [(kind: String, age: Duration)] = reads.withLock { reads in
            var found: [(kind: String, age: Duration)] = []
            for (number, read) in reads where !read.isLogged && read.began.duration(to: now) >= bound {
                reads[number]?.isLogged = true
                found.append(("read", read.began.duration(to: now)))
            }
            return found
        }
        found += (longReads?.all ?? []).compactMap { read in
            read.ageToLog(from: bound).map { ("longLivedRead", $0) }
        }
        for (kind, age) in found {
            log?.queue.add(
                Database.LogEntry(
                    .warning, .longRead,
                    "a read is open for \(Spelling.time(age)), and the file keeps \(Spelling.bytes(held)) of old pages "
                        + "for open reads: end it, or move it forward",
                    [
                        "kind": .string(kind), "seconds": .double(age.inSeconds), "snapshotBytes": .uint(held),
                    ]))
        }
    }

    // MARK: Transactions

    /// Runs a read or a write, and watches it.
    @inline(never)
    func transaction<Result>(
        _ kind: Database.Span.Kind, _ body: (WatchedTransaction) throws -> Result
    ) throws -> Result {
        let transaction = begin(kind)
        do {
            let result = try body(transaction)
            transaction.end(nil)
            return result
        } catch {
            transaction.end(error)
            throw error
        }
    }

    func begin(_ kind: Database.Span.Kind) -> WatchedTransaction {
        let number = nextNumber()
        let ended = beginSpan(Database.Span(id: number, parent: nil, kind: kind, name: ""))
        return WatchedTransaction(self, number, kind, ended)
    }

    /// Notes that a read keeps pages from now on, if the log asks for reads that are open for long.
    fileprivate func open(_ read: WatchedTransaction) {
        if looksAtReads { reads.withLock { $0[read.number] = OpenRead(began: .now) } }
    }

    private var looksAtReads: Bool { log?.bounds.longRead != nil }

    fileprivate func end(_ transaction: WatchedTransaction, _ times: WatchedTransaction.Times, _ error: (any Error)?) {
        let duration = transaction.began.duration(to: .now)
        if transaction.kind == .read, looksAtReads { reads.withLock { $0[transaction.number] = nil } }
        endSpan(transaction.ended, Database.SpanEnd(duration: duration, error: error, rows: nil))
        if let error { note(error, during: "a \(transaction.kind.rawValue)") }
        guard let bound = log?.bounds.slowTransaction, duration >= bound else { return }
        var values: [String: Value] = [
            "kind": .string(transaction.kind.rawValue), "seconds": .double(duration.inSeconds),
        ]
        if let began = times.began {
            values["secondsWaited"] = .double(transaction.began.duration(to: began).inSeconds)
        }
        if let committed = times.committed {
            values["secondsCommitted"] = .double(committed.duration(to: .now).inSeconds)
        }
        note(.warning, .slowTransaction, "a \(transaction.kind.rawValue) took \(Spelling.time(duration))", values)
    }

    // MARK: Queries

    /// Begins the span of a query in a long-lived read or of an observer.
    func beginQuery(_ kind: QueryWatch.Kind, _ name: String) -> QueryWatch.End { beginQuery(kind, name, in: nil) }

    /// - Parameter parent: the number of the transaction's span.
    fileprivate func beginQuery(_ kind: QueryWatch.Kind, _ name: String, in parent: UInt64?) -> QueryWatch.End {
        let began = ContinuousClock.now
        let span = Database.Span(
            id: nextNumber(), parent: parent, kind: kind == .query ? .query : .statement, name: name)
        let ended = beginSpan(span)
        return { report in
            let duration = began.duration(to: .now)
            self.endSpan(ended, Database.SpanEnd(duration: duration, error: nil, rows: report.rows()?.passed))
            self.note(report, of: span, duration)
        }
    }

    private func note(_ report: QueryWatch.Report, of span: Database.Span, _ duration: Duration) {
        guard let bound = log?.bounds.slowQuery, duration >= bound else { return }
        var values: [String: Value] = ["name": .string(span.name), "seconds": .double(duration.inSeconds)]
        if let rows = report.rows() {
            values["rowsRead"] = .int(Int64(rows.read))
            values["rowsPassed"] = .int(Int64(rows.passed))
        }
        let plan = report.plan()
        if let plan { values["plan"] = .string(plan) }
        let subject = span.kind == .query ? "a query of \(span.name)" : "the statement \(span.name)"
        note(
            .warning, .slowQuery,
            "\(subject) took \(Spelling.time(duration))" + (plan.map { ": \($0)" } ?? ""), values)
    }

    // MARK: Spans

    private func nextNumber() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    private func beginSpan(_ span: Database.Span) -> (@Sendable (Database.SpanEnd) -> Void)? {
        guard let spans else { return nil }
        return calling { spans(span) } ?? nil
    }

    private func endSpan(_ ended: (@Sendable (Database.SpanEnd) -> Void)?, _ end: Database.SpanEnd) {
        guard let ended else { return }
        _ = calling { ended(end) }
    }

    /// Runs code of the handler. Returns nil if this thread is in such code already.
    private func calling<Result>(_ body: () -> Result) -> Result? {
        let thread = ThreadNumber.current
        guard handling.withLock({ $0.insert(thread).inserted }) else { return nil }
        defer { _ = handling.withLock { $0.remove(thread) } }
        return body()
    }
}

/// A read or a write that is watched. Any thread.
final class WatchedTransaction: Sendable {
    /// The moments between the beginning and the end of a write.
    struct Times {
        /// Its turn came.
        var began: ContinuousClock.Instant?
        /// Its closure has returned.
        var committed: ContinuousClock.Instant?
    }

    private let watch: OperationWatch
    let number: UInt64
    let kind: Database.Span.Kind
    let began = ContinuousClock.now
    fileprivate let ended: (@Sendable (Database.SpanEnd) -> Void)?
    private let times = Mutex(Times())

    fileprivate init(
        _ watch: OperationWatch, _ number: UInt64, _ kind: Database.Span.Kind,
        _ ended: (@Sendable (Database.SpanEnd) -> Void)?
    ) {
        self.watch = watch
        self.number = number
        self.kind = kind
        self.ended = ended
    }

    /// The read has a snapshot now. It may have waited for its thread before.
    func noteOpening() { watch.open(self) }
    func noteTurn() { times.withLock { $0.began = .now } }
    func noteCommit() { times.withLock { $0.committed = .now } }

    /// Begins the span of one of its queries.
    func beginQuery(_ kind: QueryWatch.Kind, _ name: String) -> QueryWatch.End {
        watch.beginQuery(kind, name, in: number)
    }

    func end(_ error: (any Error)?) { watch.end(self, times.withLock { $0 }, error) }
}

extension Duration {
    var inSeconds: Double { self / .seconds(1) }
}
