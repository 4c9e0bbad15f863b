// SPDX-License-Identifier: Apache-2.0
// A context is valid only in its closure and in the closure's thread. Waiting for a database without blocking holds
// up nothing else.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Synchronization
import Testing

@EntityModel
private struct Tick {
    let id: Int
    var note = ""

    /// A strategy may be a static constant, because it is Sendable.
    static let ifEmpty = MergeStrategy<Self> { old, new in
        Tick(id: old.id, note: old.note.isEmpty ? new.note : old.note)
    }
}

/// Runs `body` in another thread, and waits for it.
private func elsewhere(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
        body()
        done.signal()
    }.start()
    done.wait()
}

@Suite("The use of contexts")
struct ContextUseTests {
    private func refusal(_ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        let error = #expect(throws: HornbeamError.self, sourceLocation: location) { try body() }
        #expect(error?.code == .invalid, sourceLocation: location)
        #expect(error?.message.contains("context") == true, sourceLocation: location)
    }

    @Test("in another thread is an error, in a read, in a write and in a long-lived read")
    func threads() throws {
        let database = try Database.inMemory(models: Tick.self)
        try database.write { context in
            try Tick(id: 1).save(to: &context)
            let held = context
            elsewhere {
                refusal { _ = try Tick.query().resolve(in: held) }
                refusal { _ = try held.find(1) as Tick? }
                refusal {
                    var held = held
                    try Tick(id: 2).save(to: &held)
                }
            }
            #expect(try context.ids(Tick.self) == [1])
        }
        try database.read { (context) throws in
            elsewhere {
                refusal { _ = try Tick.query().count(in: context) }
                refusal { _ = try Tick.query(in: context).first().resolve() }
            }
            #expect(try context.ids(Tick.self) == [1])
        }
        let read = try database.longLivedRead()
        try read.read { (context) throws in
            elsewhere { refusal { _ = try context.ids(Tick.self) } }
            #expect(try context.ids(Tick.self) == [1])
        }
        // Any thread may take its turn.
        elsewhere {
            #expect(throws: Never.self) {
                try read.read { (context) throws in #expect(try context.ids(Tick.self) == [1]) }
            }
        }
        try read.moveForward { (step) throws in
            let after = step.after
            elsewhere { refusal { _ = try after.ids(Tick.self) } }
            #expect(try step.before.ids(Tick.self) == step.after.ids(Tick.self))
        }
    }

    @Test("after the end of their closure is an error, in a task too")
    func late() async throws {
        let database = try Database.inMemory(models: Tick.self)
        try await database.write { try Tick(id: 1).save(to: &$0) }
        for _ in 0..<20 {
            let task = try await database.read { context in Task { try Tick.query().resolve(in: context) } }
            let error = await #expect(throws: HornbeamError.self) { try await task.value }
            #expect(error?.code == .invalid)
        }
        let kept = try await database.read { $0 }
        refusal { _ = try kept.ids(Tick.self) }
        let read = try database.longLivedRead()
        let held = try read.read { $0 }
        refusal { _ = try held.ids(Tick.self) }
        // A context with a store of its own may be used by one thread after the other.
        var context = Context()
        try Tick(id: 1, note: "a").save(to: &context)
        try Tick(id: 1, note: "b").save(to: &context, options: Tick.ifEmpty)
        let own = context
        elsewhere {
            #expect(throws: Never.self) {
                let notes = try own.all().map { (tick: Tick) in tick.note }
                #expect(notes == ["a"])
            }
        }
    }
}

@Suite("A `Context()`")
struct OwnContextTests {
    @Test("refuses a second thread only while a first one uses it, and is whole afterwards")
    func twoThreads() throws {
        var context = Context()
        try Tick(id: 1, note: "a").save(to: &context)
        let own = context
        try context.transaction { (context) throws in
            elsewhere {
                let error = #expect(throws: HornbeamError.self) { try own.all() as [Tick] }
                #expect(error?.code == .invalid && error?.message.contains("two threads at once") == true)
                var copy = own
                #expect(throws: HornbeamError.self) { try Tick(id: 2).save(to: &copy) }
                #expect(throws: HornbeamError.self) { try copy.transaction { _ in } }
            }
            // The first thread continues, also with its earlier work.
            try Tick(id: 3, note: "b").save(to: &context)
            #expect(try own.ids(Tick.self) == [1, 3])
        }
        elsewhere {
            #expect(throws: Never.self) {
                var copy = own
                try Tick(id: 4).save(to: &copy)
                let ids = try own.ids(Tick.self)
                #expect(ids == [1, 3, 4])
            }
        }
        // A closure that throws releases the context, too.
        struct Refused: Error {}
        #expect(throws: Refused.self) { try context.transaction { _ in throw Refused() } }
        elsewhere {
            #expect(throws: Never.self) {
                let ids = try own.ids(Tick.self)
                #expect(ids == [1, 3, 4])
            }
        }
    }
}

@Suite("Threads of tasks")
struct CooperativeThreadTests {
    private final class Counts: Sendable {
        let begun = Atomic(0)
        let reads = Atomic(0)
        let seen = Atomic(0)
    }

    @Test("stay free while a thread holds the write, however many tasks wait for it", .timeLimit(.minutes(10)))
    func free() async throws {
        let folder = try TemporaryFolder()
        let database = try Database(at: folder.path("busy"), models: Tick.self)
        try await database.write { try Tick(id: 0).save(to: &$0) }
        let (held, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = Thread {
            _ = try? database.write { context in
                try Tick(id: 1).save(to: &context)
                held.signal()
                isOver.wait()
            }
        }
        holder.start()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                held.wait()
                continuation.resume()
            }
        }
        // Many times the number of task threads.
        let count = 8 * ProcessInfo.processInfo.activeProcessorCount
        let counts = Counts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    counts.begun.add(1, ordering: .relaxed)
                    try await database.write { try Tick(id: 100 + number).save(to: &$0) }
                }
                group.addTask {
                    counts.begun.add(1, ordering: .relaxed)
                    _ = try await database.read { try $0.ids(Tick.self) }
                    counts.reads.add(1, ordering: .relaxed)
                }
                group.addTask {
                    var lists = database.observe(Tick.query()).makeAsyncIterator()
                    _ = try await lists.next()
                    counts.seen.add(1, ordering: .relaxed)
                    counts.begun.add(1, ordering: .relaxed)
                    // Resumes only once a write has ended.
                    _ = try await lists.next()
                }
            }
            // All of them wait for the write or for its end, except the reads; nevertheless, others get their turn.
            while counts.begun.load(ordering: .relaxed) < 3 * count || counts.reads.load(ordering: .relaxed) < count {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(counts.seen.load(ordering: .relaxed) == count)
            let unrelated = await Task.detached { (0..<1_000).reduce(0, +) }.value
            #expect(unrelated == 499_500)
            isOver.signal()
            try await group.waitForAll()
        }
        #expect(try await database.read { try $0.ids(Tick.self).count } == count + 2)
        try database.close()
    }
}
