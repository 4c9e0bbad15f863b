// SPDX-License-Identifier: Apache-2.0
// Indexes built in the background, beside writers that change rows already read, rows not yet read, and rows that the
// build is catching up with: complete and right when they appear, and never visible before.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

extension BackgroundBuilder.Limits {
    /// Limits so small that some hundred rows take many steps of each kind.
    static func small(
        threads: Int = 1, whenFree: (@Sendable (IndexBuild.Progress.Phase) throws -> Void)? = nil
    ) -> Self {
        Self(
            threads: threads, runSize: 4_000, sliceSize: 1_000, rowsAtOnce: 16, catchUpRows: 8, whenFree: whenFree)
    }
}

extension Database {
    /// Builds an index in the caller's thread.
    func build(_ index: some RegisteredIndex, _ limits: BackgroundBuilder.Limits = .small()) -> IndexBuild.State {
        run(IndexBuild(index.registration), index.registration, limits)
    }
}

extension IndexBuild.State {
    var isFinished: Bool { if case .finished = self { true } else { false } }
    var isCancelled: Bool { if case .cancelled = self { true } else { false } }
    var isStopped: Bool { if case .stopped = self { true } else { false } }
    var failure: (any Error)? { if case .failed(let error) = self { error } else { nil } }
}

@Suite("Indexes built in the background")
struct IndexBuildTests {
    private func filled(_ count: Int, _ disk: SimulatedDisk? = nil) throws -> Database {
        let database = try disk.map { try open($0) } ?? .inMemory(models: TaggedPost.self)
        try database.write { (context) throws in
            for id in 0..<count { try post(id).save(to: &context) }
        }
        return database
    }

    private func open(_ disk: SimulatedDisk) throws -> Database {
        try MigratedFile.open(disk, [TaggedPost.self], [])
    }

    private func post(_ id: Int, _ tags: [String]? = nil) -> TaggedPost {
        TaggedPost(id: id, title: "t\(id)", tags: tags ?? ["a\(id % 7)", "b\(id % 3)"], size: id)
    }

    private func sum(_ database: Database, _ index: TagIndex = postsByTag()) throws -> Int {
        try database.read { context in try index.query().reduced().resolve(in: context) }
    }

    /// Saves and deletes at random.
    private func disturb(_ database: Database, _ random: inout SeededGenerator, upTo size: Int) throws {
        let writes = (0..<random.below(size + 1)).map { _ in (random.below(3), random.below(500), random.below(9)) }
        try database.write { (context) throws in
            for (kind, id, tag) in writes {
                switch kind {
                case 0: _ = try TaggedPost.query(id).delete(from: &context)
                case 1: try post(id, ["new\(tag)", "a\(tag)"]).save(to: &context)
                default: try post(id, tag == 0 ? [] : nil).save(to: &context)
                }
            }
        }
    }

    @Test("the index is right when it appears, after any writes between the steps", .seeded, arguments: 0..<6)
    func model(round: Int) throws {
        let random = Mutex(SeededGenerator(seed: SeededGenerator.seed &+ UInt64(round)))
        let database = try filled(300)
        let phases = Mutex<Set<IndexBuild.Progress.Phase>>([])
        let limits = BackgroundBuilder.Limits.small { phase in
            _ = phases.withLock { $0.insert(phase) }
            #expect(throws: HornbeamError.self) { try sum(database) }
            // Sometimes more than one round catches up with.
            try random.withLock { random in
                try disturb(database, &random, upTo: random.below(10) == 0 ? 60 : 5)
            }
            if random.withLock({ $0.below(8) }) == 0 { #expect(try database.isWhole()) }
        }
        #expect(database.build(postsByTag(), limits).isFinished)
        #expect(phases.withLock { $0 } == [.reading, .loading, .catchingUp])
        let reference = MapIndex("reference", version: "1", reducer: .sum()) {
            (post: TaggedPost, emit: inout MapEmitter<Int>) in
            for tag in post.tags { emit(key: .string(tag), value: post.size) }
        }
        try database.register(reference)
        try database.read { (context) throws in
            let built = try postsByTag().query().resolve(in: context).map { [$0.key, .int($0.value ?? -1)] }
            let expected = try reference.query().resolve(in: context).map { [$0.key, .int($0.value ?? -1)] }
            #expect(built == expected)
            #expect(
                try postsByTag().query().grouped().resolve(in: context)
                    == reference.query().grouped().resolve(in: context))
        }
        // From now on the index is kept up to date.
        try random.withLock { try disturb(database, &$0, upTo: 50) }
        #expect(try database.isWhole())
        #expect(try database.registeredIndexes().map(\.state) == [.current, .current])
        let read = try database.store.beginRead()
        defer { read.abort() }
        let names = try read.treeNames().filter { $0.hasPrefix("m:") || $0.hasPrefix("c:") || $0.hasPrefix("r:") }
        #expect(names.sorted() == ["m:TaggedPost:byTag", "m:TaggedPost:reference"], "nothing is left behind")
    }

    @Test("several threads read, while writers and readers work in others")
    func threads() async throws {
        let database = try filled(3_000)
        let build = try database.register(
            inBackground: postsByTag().registration,
            BackgroundBuilder.Limits(threads: 4, runSize: 30_000, sliceSize: 4_000, rowsAtOnce: 64, catchUpRows: 50))
        let writes = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 2) { writer in
            var random = SeededGenerator(seed: UInt64(writer))
            while case .building = build.state {
                try? disturb(database, &random, upTo: 20)
                _ = try? database.read { context in try postsByTag().query().count(in: context) }
                writes.withLock { $0 += 1 }
            }
        }
        try await build.value
        #expect(writes.withLock { $0 } > 0)
        #expect(try database.isWhole())
    }

    @Test("the map function is called once for each row, and twice for each that was changed meanwhile")
    func calls() throws {
        let database = try filled(400)
        let counter = CallCounter()
        let isFirst = Mutex(true)
        let limits = BackgroundBuilder.Limits.small { phase in
            guard phase == .catchingUp || phase == .loading, isFirst.withLock({ exchange(&$0, false) }) else { return }
            try database.write { (context) throws in
                for id in 0..<10 { try post(id, ["x"]).save(to: &context) }
                for id in 0..<10 { try post(id, ["y"]).save(to: &context) }
            }
        }
        #expect(database.build(postsByTag(counter: counter), limits).isFinished)
        // Debug builds of the library call it twice.
        #expect([420, 840].contains(counter.count))
        #expect(try database.isWhole())
    }

    private func exchange(_ value: inout Bool, _ new: Bool) -> Bool {
        defer { value = new }
        return value
    }

    @Test("a former version answers its own code until the new one is complete")
    func versions() throws {
        let database = try filled(200)
        try database.register(postsByTag("1"))
        let before = try sum(database, postsByTag("1"))
        let limits = BackgroundBuilder.Limits.small { _ in
            let sum = try sum(database, postsByTag("1"))
            #expect(sum >= before)
            #expect(throws: HornbeamError.self) { try self.sum(database, postsByTag("2")) }
            let states = try database.registeredIndexes()
            #expect(states.map(\.name) == ["byTag", "byTag"] && states.map(\.version) == ["1", "2"])
            #expect(states.first?.state == .current)
            if case .building = states[1].state {} else { Issue.record("\(states[1].state)") }
            try database.write { context in try post(sum % 700, ["w"]).save(to: &context) }
        }
        #expect(database.build(postsByTag("2"), limits).isFinished)
        #expect(throws: HornbeamError.self) { try sum(database, postsByTag("1")) }
        #expect(try sum(database, postsByTag("2")) > 0)
        #expect(try database.registeredIndexes().map(\.version) == ["2"])
        #expect(try database.isWhole())
    }

    @Test("an existing index is not built again, and one that has missed rows gets these, round by round")
    func present() throws {
        let disk = try SimulatedDisk()
        let first = try filled(500, disk)
        try first.register(postsByTag())
        let none = CallCounter()
        #expect(first.build(postsByTag(counter: none)).isFinished)
        #expect(none.count == 0)
        try first.close()
        let database = try open(disk)
        try database.write { (context) throws in
            for id in 0..<50 { try post(id, ["missed"]).save(to: &context) }
        }
        let counter = CallCounter()
        let rounds = Mutex(0)
        let limits = BackgroundBuilder.Limits.small { phase in
            #expect(phase == .catchingUp)
            rounds.withLock { $0 += 1 }
            #expect(throws: HornbeamError.self) { try sum(database) }
        }
        #expect(database.build(postsByTag(counter: counter), limits).isFinished)
        #expect(counter.count <= 200 && rounds.withLock { $0 } >= 5)
        #expect(try database.isWhole())
        #expect(try database.registeredIndexes().map(\.state) == [.current])
    }

    @Test("closing the database stops a build, which continues later")
    func resuming() throws {
        let disk = try SimulatedDisk()
        let counter = CallCounter()
        var steps = 0
        var openings = 0
        _ = try filled(400, disk).close()
        while true {
            let database = try open(disk)
            openings += 1
            let build = IndexBuild(postsByTag().registration)
            let left = Mutex(9)
            let limits = BackgroundBuilder.Limits.small { _ in
                left.withLock { $0 -= 1 }
                if left.withLock({ $0 }) == 0 { build.stop() }
            }
            let state = database.run(build, postsByTag(counter: counter).registration, limits)
            steps += 9
            if state.isFinished {
                #expect(try database.isWhole())
                #expect(try sum(database) > 0)
                break
            }
            #expect(state.isStopped)
            guard case .building(let done, let total) = try database.registeredIndexes().first?.state else {
                Issue.record("\(try database.registeredIndexes())")
                break
            }
            #expect(done <= total && total >= 400)
            // A program without this index changes rows.
            try database.write { (context) throws in
                try post(openings * 37 % 400, ["between"]).save(to: &context)
                _ = try TaggedPost.query(openings * 11).delete(from: &context)
                try post(1_000 + openings).save(to: &context)
            }
            #expect(try database.isWhole())
            try database.close()
        }
        #expect(openings > 3)
        // Each row is computed at most twice; each opening repeats the rows of the last run, which was only in
        // memory.
        #expect(counter.count < 2 * (400 + 300) + openings * 2 * 200)
    }

    @Test("close() waits for a build's end")
    func closing() async throws {
        let database = try filled(2_000)
        let build = try database.register(
            inBackground: postsByTag().registration, .small { _ in Thread.sleep(forTimeInterval: 0.001) })
        // Inside a write, closing is refused at once.
        try await database.write { _ in
            let error = #expect(throws: HornbeamError.self) { try database.close() }
            #expect(error?.code == .busy)
        }
        try database.close()
        #expect(build.state.isStopped)
        let error = await #expect(throws: HornbeamError.self) { try await build.value }
        #expect(error?.code == .indexNotReady)
    }

    @Test("a build that is cancelled leaves nothing behind", arguments: [1, 5, 20, 45])
    func cancelling(step: Int) throws {
        let database = try filled(400)
        let build = IndexBuild(postsByTag().registration)
        let steps = Mutex(0)
        let limits = BackgroundBuilder.Limits.small { _ in
            let step = steps.withLock { steps in
                steps += 1
                return steps
            }
            try database.write { context in try post(step, ["during"]).save(to: &context) }
        }
        let cancelling = BackgroundBuilder.Limits.small { phase in
            try limits.whenFree?(phase)
            if steps.withLock({ $0 }) == step { build.cancel() }
        }
        #expect(database.run(build, postsByTag().registration, cancelling).isCancelled)
        #expect(try database.registeredIndexes() == [])
        #expect(try database.isWhole())
        try database.write { context in try post(3, ["later"]).save(to: &context) }
        let read = try database.store.beginRead()
        defer { read.abort() }
        #expect(try read.treeNames().allSatisfy { !["m:", "c:", "r:"].contains($0.prefix(2)) })
    }

    @Test("a task that is cancelled cancels its build, and so does a progress handler that throws")
    func tasks() async throws {
        let database = try filled(5_000)
        struct Enough: Error {}
        await #expect(throws: Enough.self) {
            try await database.buildIndex(postsByTag()) { _ in throw Enough() }
        }
        let slow = MapIndex("slow", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
            Thread.sleep(forTimeInterval: 0.0005)
            emit(key: .int(post.id))
        }
        let task = Task { try await database.buildIndex(slow) }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try database.registeredIndexes() == [])
        let last = Mutex<IndexBuild.Progress?>(nil)
        try await database.buildIndex(postsByTag()) { progress in last.withLock { $0 = progress } }
        #expect(try database.registeredIndexes().map(\.state) == [.current])
        let progress = try #require(last.withLock { $0 })
        #expect(progress.done <= progress.total)
        #expect(try database.isWhole())
    }

    @Test("two requests for one index are one build; another version meanwhile is refused")
    func joining() async throws {
        let database = try filled(500)
        let gate = DispatchSemaphore(value: 0)
        let isHeld = Mutex(true)
        let build = try database.register(
            inBackground: postsByTag().registration,
            .small { _ in if isHeld.withLock({ exchange(&$0, false) }) { gate.wait() } })
        #expect(try database.register(inBackground: postsByTag()) === build)
        let error = #expect(throws: HornbeamError.self) { try database.register(inBackground: postsByTag("2")) }
        #expect(error?.code == .busy)
        gate.signal()
        try await build.value
        #expect(build.state.isFinished)
        for await _ in build.progress { Issue.record("a build that has ended has no progress") }
        #expect(try sum(database) > 0)
    }

    @Test("a build ends without damage if its index is registered or dropped otherwise meanwhile")
    func superseded() throws {
        for kind in 0..<3 {
            let database = try filled(300)
            let steps = Mutex(0)
            let limits = BackgroundBuilder.Limits.small { _ in
                let step = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                guard step == 8 else { return }
                switch kind {
                case 0: try database.register(postsByTag())
                case 1: try database.register(postsByTag("other"))
                default: #expect(try database.unregister("byTag"))
                }
            }
            let state = database.build(postsByTag(), limits)
            if kind == 0 {
                #expect(state.isFinished)
            } else {
                #expect((state.failure as? HornbeamError)?.code == .indexNotReady, "\(state)")
            }
            #expect(try database.registeredIndexes().map(\.version) == [["1"], ["other"], []][kind])
            try database.write { context in try post(3, ["later"]).save(to: &context) }
            #expect(try database.isWhole())
        }
    }

    @Test("an error of the map function fails the build; nothing is left, and entities can be changed")
    func failing() throws {
        struct Refused: Error {}
        let database = try filled(300)
        let refusing = MapIndex("refusing", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            if post.title == "refused" { throw Refused() }
            emit(key: .string(post.title), value: post.size)
        }
        // Refused while the build catches up.
        let late = BackgroundBuilder.Limits.small { phase in
            guard phase == .loading else { return }
            try database.write { context in
                try TaggedPost(id: 900, title: "refused").save(to: &context)
            }
        }
        #expect(database.build(refusing, late).failure is Refused)
        #expect(try database.registeredIndexes() == [])
        // Refused while the rows are read.
        #expect(database.build(refusing, .small(threads: 3)).failure is Refused)
        #expect(try database.registeredIndexes() == [])
        try database.write { context in try TaggedPost(id: 901, title: "refused").save(to: &context) }
        #expect(try database.isWhole())
    }

    @Test("a name of another index is refused, and so is a file opened read-only")
    func refusals() throws {
        let database = try filled(10)
        try database.register(postsByTag())
        let other = MapIndex("byTag", version: "1") { (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
            emit(key: .string(note.id))
        }
        let unknown = #expect(throws: HornbeamError.self) { try database.register(inBackground: other) }
        #expect(unknown?.code == .unregisteredEntity)
        let both = try Database.inMemory(models: TaggedPost.self, TaggedNote.self, indexes: [postsByTag()])
        #expect((both.build(other).failure as? HornbeamError)?.code == .indexMismatch)
        #expect(try both.registeredIndexes().map(\.entity) == ["TaggedPost"])
        // A name that ends like a build's name.
        let hidden = MapIndex("byTag\u{1}", version: "1") { (_: TaggedPost, _: inout MapEmitter<NoValue>) in }
        let invalid = #expect(throws: HornbeamError.self) { try database.register(hidden) }
        #expect(invalid?.code == .invalid)
    }

    @Test("a write that waits beside a build precedes the build's next transaction")
    func latency() throws {
        let database = try filled(3_000)
        let slices = Atomic(0)
        let isDone = Atomic(false)
        let limits = BackgroundBuilder.Limits.small { _ in slices.add(1, ordering: .sequentiallyConsistent) }
        let group = DispatchGroup()
        let build = IndexBuild(postsByTag().registration)
        // In a separate thread: other tests may hold the shared threads until this one ends.
        DispatchQueue(label: "build").async(group: group) {
            _ = database.run(build, postsByTag().registration, limits)
            isDone.store(true, ordering: .sequentiallyConsistent)
        }
        // The number of writes, and of transactions that passed while one waited for its turn.
        var (writes, passed) = (0, 0)
        while !isDone.load(ordering: .sequentiallyConsistent) {
            let before = slices.load(ordering: .sequentiallyConsistent)
            try database.write { (context) throws in
                passed += slices.load(ordering: .sequentiallyConsistent) - before
                try post(writes % 3_000, ["during"]).save(to: &context)
            }
            writes += 1
        }
        group.wait()
        #expect(slices.load(ordering: .sequentiallyConsistent) > 100)
        // At most one, apart from the time that a thread sleeps before it asks.
        #expect(writes > 50 && passed <= 3 * writes, "\(writes) writes, \(passed) passed")
        #expect(try database.isWhole())
    }

    @Test("the first row id and the last one are read", .seeded)
    func bounds() throws {
        let notes = try Database.inMemory(models: TaggedNote.self)
        let index = MapIndex("byText", version: "1") { (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
            emit(key: .string(note.text))
        }
        // First no rows, then row ids beyond those of integer ids.
        #expect(notes.build(index).isFinished)
        #expect(try notes.registeredIndexes().map(\.entries) == [0])
        try notes.unregister("byText")
        try notes.write { (context) throws in
            for id in 0..<100 { try TaggedNote(id: "n\(id)", text: "\(id)").save(to: &context) }
        }
        #expect(notes.build(index, .small(threads: 3)).isFinished)
        #expect(try notes.isWhole())
        let posts = try filled(0)
        try posts.write { (context) throws in
            for id in [0, 1, (1 << 40) - 1] { try post(id).save(to: &context) }
        }
        #expect(posts.build(postsByTag()).isFinished)
        #expect(try sum(posts) == 2 * ((1 << 40)))
        #expect(try posts.isWhole())
    }
}
