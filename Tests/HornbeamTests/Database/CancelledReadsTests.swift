// SPDX-License-Identifier: Apache-2.0
// Reads whose task is cancelled while they run.

import Dispatch
import Hornbeam
import Synchronization
import Testing

@EntityModel
private struct Article {
    @FullTextIndex<Self>(\.text) private var search
    @Index<Self>(\.length) private var byLength

    let id: Int
    var text: String
    var length: Int

    /// True once the first row was read, so that a test can stop there.
    var seen: Bool {
        Gate.passed.add(1, ordering: .relaxed)
        if Gate.isWatched.exchange(false, ordering: .relaxed) {
            Gate.reached.signal()
            Gate.open.wait()
        }
        return true
    }
}

private enum Gate {
    static let isWatched = Atomic(false)
    static let passed = Atomic(0)
    static let reached = DispatchSemaphore(value: 0)
    static let open = DispatchSemaphore(value: 0)
}

@Suite("Cancelled reads", .serialized)
struct CancelledReadsTests {
    private let database: Database
    private let count = 20_000

    init() throws {
        database = try Database.inMemory(models: Article.self)
        let count = count
        try database.write { context in
            for id in 0..<count { try Article(id: id, text: "a text of words \(id)", length: id).save(to: &context) }
        }
    }

    /// Runs a read until it reads its first row, cancels its task, and lets it continue.
    /// - Returns: the number of rows it read.
    private func rowsUntilCancelled(_ body: @escaping @Sendable (Context) throws -> Int) async throws -> Int {
        Gate.passed.store(0, ordering: .relaxed)
        Gate.isWatched.store(true, ordering: .relaxed)
        let database = database
        let task = Task { try await database.read(body) }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                Gate.reached.wait()
                continuation.resume()
            }
        }
        task.cancel()
        Gate.open.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        return Gate.passed.load(ordering: .relaxed)
    }

    @Test("a running query ends soon, without reading the rest")
    func query() async throws {
        let scanned = try await rowsUntilCancelled { try Article.filter(\.seen == true).resolve(in: $0).count }
        #expect(scanned < count / 2, "\(scanned)")
        let walked = try await rowsUntilCancelled { context in
            try Article.filter(\.seen == true).sorted(by: \.length).resolve(in: context).count
        }
        #expect(walked < count / 2, "\(walked)")
    }

    @Test("a running ranked search ends soon, with a limit and without")
    func search() async throws {
        for limit in [10, Int.max] {
            let tested = try await rowsUntilCancelled { context in
                try Article.filter(.string(\.text, matches: "words text")).filter(\.seen == true).limit(limit)
                    .resolve(in: context).count
            }
            #expect(tested < count / 10, "\(tested)")
        }
    }

    @Test(
        "endless sequences of statements and searches end when their task is cancelled",
        .timeLimit(.minutes(1)))
    func endless() async throws {
        for isSearch in [false, true] {
            let (database, rounds) = (database, Counter())
            let task = Task {
                try await database.read { context in
                    while true {
                        if isSearch {
                            _ = try Article.filter(.string(\.text, matches: "words text")).limit(5).ranked(in: context)
                        } else {
                            _ = try Statement("SELECT COUNT(*) FROM Article WHERE length % 7 = 3").resolve(in: context)
                        }
                        rounds.count.add(1, ordering: .relaxed)
                    }
                }
            }
            while rounds.count.load(ordering: .relaxed) == 0 { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    /// Each of these would take hours.
    @Test(
        "a statement that computes without reading ends soon",
        .timeLimit(.minutes(1)),
        arguments: [
            "SELECT x.id FROM a AS x JOIN a AS y ON x.id + y.id < 0 JOIN a AS z ON TRUE JOIN a AS v ON TRUE",
            "SELECT x.id FROM a AS x JOIN a AS y ON TRUE JOIN a AS z ON TRUE ORDER BY x.id * y.id + z.id LIMIT 3",
            "SELECT COUNT(*) AS n FROM a AS x JOIN a AS y ON TRUE JOIN a AS z ON TRUE GROUP BY x.id % 7",
            "SELECT COUNT(*) AS n FROM a AS x UNNEST SPLIT('a b', ' ') AS u JOIN a AS y ON TRUE JOIN a AS z ON TRUE",
            "SELECT DISTINCT x.id FROM a AS x JOIN a AS y ON TRUE JOIN a AS z ON TRUE",
        ])
    func computing(text: String) async throws {
        let statement = try Statement("WITH a AS (SELECT id FROM Article) " + text)
        let (database, begun) = (database, DispatchSemaphore(value: 0))
        let task = Task {
            try await database.read { context in
                begun.signal()
                return try statement.resolve(in: context).count
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                begun.wait()
                continuation.resume()
            }
        }
        try await Task.sleep(for: .milliseconds(300))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("a closure that catches the error may return, and the next read is not cancelled")
    func caught() async throws {
        let (database, begun, go) = (database, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let task = Task {
            try await database.read { context -> HornbeamError.Code? in
                begun.signal()
                go.wait()
                do {
                    _ = try Article.query().resolve(in: context)
                    return nil
                } catch let error as HornbeamError {
                    return error.code
                }
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                begun.wait()
                continuation.resume()
            }
        }
        task.cancel()
        go.signal()
        #expect(try await task.value == .cancelled)
        for _ in 0..<8 { #expect(try await database.read { try Article.query().count(in: $0) } == count) }
    }

    private final class Counter: Sendable { let count = Atomic(0) }
}
