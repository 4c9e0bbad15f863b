// SPDX-License-Identifier: Apache-2.0
// Live queries as sequences: the changes that wake a consumer and those that don't, slow consumers, the end, and the
// objects left over.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

extension Database {
    /// Returns once observers have processed all earlier commits.
    fileprivate func settle() { live.queue.sync {} }

    /// The blocking form, even where the other could be awaited.
    fileprivate func commit(_ body: (inout Context) throws -> Void) throws { try write(body) }

    fileprivate func save(_ id: Int, rank: Int, name: String? = nil) throws {
        try write { try LiveNote(id: id, rank: rank, name: name, text: "").save(to: &$0) }
    }
}

extension Observation {
    /// Asks for the next element, and returns once the consumer waits for it.
    fileprivate func ask() async -> Task<Element?, any Error> {
        let task = Task { try await self.next() }
        while !isWaiting { await Task.yield() }
        return task
    }
}

@Suite("Live queries as sequences", .timeLimit(.minutes(30)))
struct ObservationTests {
    private struct Refused: Error {}

    private func observe<Result: LiveResult>(_ result: Result, _ database: Database) -> Observation<Result> {
        let observation = Observation(result, of: database)
        observation.start()
        return observation
    }

    @Test("give the result at once, then one element for each commit that changes it")
    func elements() async throws {
        let database = try liveDatabase()
        try database.save(1, rank: 10)
        var iterator = database.observe(LiveNote.filter(\.rank > 5).sorted(by: \.rank)).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.entities.map(\.id) == [1])
        #expect(first.changes == nil)
        try database.save(2, rank: 7)
        let second = try #require(try await iterator.next())
        #expect(second.entities.map(\.id) == [2, 1])
        #expect(second.changes?.insertions == [0])
        try database.save(2, rank: 20)
        let third = try #require(try await iterator.next())
        #expect(third.entities.map(\.id) == [1, 2])
        #expect(third.changes?.moves == [ListChanges.Move(from: 0, to: 1)])
        #expect(third.changes?.updates == [1])
        try database.commit { try LiveNote.delete(id: 1, from: &$0) }
        let fourth = try #require(try await iterator.next())
        #expect(fourth.changes?.deletions == [0])
    }

    @Test("report one entity, its deletion with the last value, and its return")
    func entity() async throws {
        let database = try liveDatabase()
        var iterator = database.observe(LiveTag.query("a")).makeAsyncIterator()
        let missing = try #require(try await iterator.next())
        #expect(missing.entity == nil && !missing.isLive)
        func expect(_ weight: Double, isLive: Bool) async throws {
            let element = try #require(try await iterator.next())
            #expect(element.entity?.weight == weight)
            #expect(element.isLive == isLive)
        }
        try database.commit { try LiveTag(id: "a", weight: 1).save(to: &$0) }
        try await expect(1, isLive: true)
        try database.commit { try LiveTag(id: "a", weight: 2).save(to: &$0) }
        try await expect(2, isLive: true)
        try database.commit { try LiveTag.delete(id: "a", from: &$0) }
        try await expect(2, isLive: false)
        try database.commit { try LiveTag(id: "a", weight: 3).save(to: &$0) }
        try await expect(3, isLive: true)
    }

    @Test("merge the changes that a slow consumer missed into one, without entities that came and went")
    func slow() async throws {
        let database = try liveDatabase()
        for id in 1...3 { try database.save(id, rank: id) }
        var iterator = database.observe(LiveNote.query().sorted(by: \.rank)).makeAsyncIterator()
        _ = try await iterator.next()
        try database.save(9, rank: 9)
        try database.save(1, rank: 8)
        try database.save(2, rank: 20)
        try database.save(2, rank: 2)
        try database.commit { try LiveNote.delete(id: 9, from: &$0) }
        let element = try #require(try await iterator.next())
        #expect(element.entities.map(\.id) == [2, 3, 1])
        #expect(element.changes?.moves == [ListChanges.Move(from: 0, to: 2)])
        #expect(element.changes?.updates == [2])
        #expect(element.changes?.insertions == [])
        #expect(element.changes?.deletions == [])
    }

    @Test("are not woken by commits that can't change them, and not at all by undone changes")
    func noWakes() async throws {
        let database = try liveDatabase()
        for id in 1...9 { try database.save(id, rank: id) }
        let observation = observe(ListResult(LiveNote.filter(\.rank > 5)), database)
        _ = try await observation.next()
        let before = database.live.figures.counts
        let task = await observation.ask()
        database.settle()

        // A change of another type doesn't even lead to a look.
        try database.commit { try LiveFolder(id: 1, title: "a").save(to: &$0) }
        try? database.commit { context in
            try LiveNote(id: 7, rank: 70, text: "").save(to: &context)
            throw Refused()
        }
        database.settle()
        #expect(database.live.figures.counts == before)

        // Links of the type and of entities in the result are in other trees than the rows.
        try database.commit { context in
            guard var note: LiveNote = try context.find(7) else { return }
            note.$folder = .id(1)
            try note.save(to: &context)
        }
        // Rows of the type that are outside the result before and after, an undone change, and a save without a
        // difference.
        try database.save(1, rank: 2)
        try database.commit { context in
            try? context.transaction { context in
                try LiveNote(id: 7, rank: 70, text: "").save(to: &context)
                throw Refused()
            }
        }
        try database.save(8, rank: 8)
        try database.commit { context in
            try LiveNote(id: 8, rank: 80, text: "").save(to: &context)
            try LiveNote(id: 8, rank: 8, text: "").save(to: &context)
        }
        database.settle()
        let after = database.live.figures.counts
        #expect(after.queries == before.queries)
        #expect(after.elements == before.elements)
        #expect(after.rows - before.rows <= 4)
        #expect(observation.isWaiting)

        try database.save(7, rank: 70)
        #expect(try await task.value?.changes?.updates == [1])
        observation.finish()
    }

    @Test("with a limit run again only if a changed row is or was within the limit")
    func windows() async throws {
        let database = try liveDatabase()
        for id in 1...50 { try database.save(id, rank: id) }
        let observation = observe(ListResult(LiveNote.query().sorted(by: \.rank).limit(5, offset: 5)), database)
        #expect(try observation.poll()?.entities.map(\.id) == [6, 7, 8, 9, 10])
        let queries = database.live.figures.counts.queries
        try database.save(30, rank: 40)
        try database.save(60, rank: 11)
        #expect(try observation.poll() == nil)
        #expect(database.live.figures.counts.queries == queries)
        // A note before the window is deleted: the window moves up.
        try database.commit { try LiveNote.delete(id: 2, from: &$0) }
        let element = try #require(try observation.poll())
        #expect(element.entities.map(\.id) == [7, 8, 9, 10, 11])
        #expect(element.changes?.deletions == [0])
        #expect(element.changes?.insertions == [4])
        #expect(database.live.figures.counts.queries == queries + 1)
        observation.finish()
    }

    @Test("for a least value run again only if it is removed and no equal one is added")
    func extremes() async throws {
        let database = try liveDatabase()
        for id in 1...50 { try database.save(id, rank: id) }
        let maker = AggregateMaker<LiveNote, Int?>(.min(\.rank))
        let observation = observe(AggregateResult(LiveNote.query(), maker), database)
        #expect(try observation.poll() == 1)
        let queries = database.live.figures.counts.queries
        // A better note becomes the best; then it is edited and stays as good.
        try database.save(1, rank: -3)
        #expect(try observation.poll() == -3)
        try database.save(1, rank: -3, name: "new")
        #expect(try observation.poll() == nil)
        // The best note is deleted, and another one takes its place in the same commit.
        try database.commit { context in
            try LiveNote.delete(id: 1, from: &context)
            try LiveNote(id: 7, rank: -5, text: "").save(to: &context)
        }
        #expect(try observation.poll() == -5)
        #expect(database.live.figures.counts.queries == queries)
        try database.save(7, rank: 7)
        #expect(try observation.poll() == 2)
        #expect(database.live.figures.counts.queries == queries + 1)
        observation.finish()
    }

    @Test("follow relations: they depend on all the data they read")
    func relations() async throws {
        let database = try liveDatabase()
        try database.commit { context in
            try LiveFolder(id: 1, title: "one", notes: .relation([LiveNote(id: 1, rank: 1, text: "")]))
                .save(to: &context)
            try LiveNote(id: 2, rank: 2, text: "").save(to: &context)
        }
        let observation = observe(ListResult(LiveFolder.query().with(\.$notes)), database)
        _ = try observation.poll()
        let queries = database.live.figures.counts.queries
        // The query doesn't read tags.
        try database.commit { try LiveTag(id: "x", weight: 1).save(to: &$0) }
        #expect(try observation.poll() == nil)
        #expect(database.live.figures.counts.queries == queries)
        try database.save(1, rank: 5)
        #expect(try observation.poll()?.changes?.updates == [0])
        // The query reads notes, but this one is in no folder.
        try database.save(2, rank: 3)
        #expect(try observation.poll() == nil)
        try database.commit { context in
            guard var note: LiveNote = try context.find(2) else { return }
            note.$folder = .id(1)
            try note.save(to: &context)
        }
        #expect(try observation.poll()?.entities.first?.notes?.map(\.id) == [1, 2])
        observation.finish()
    }

    @Test("report an entity that was touched, in each kind of list, in batches and to middleware")
    func touched() throws {
        let database = try liveDatabase()
        try database.write { context in
            try LiveFolder(
                id: 1, title: "one", notes: .relation((1...5).map { LiveNote(id: $0, rank: $0, text: "red") })
            ).save(to: &context)
        }
        let told = Mutex<[Int]>([])
        database.onWillCommit { _, changes in told.withLock { $0 += changes.updated(LiveNote.self) } }
        let lists: [QueryList<LiveNote>] = [
            LiveNote.query(), LiveNote.query().sorted(by: \.rank).limit(3), LiveNote.query().with(\.$tags),
            LiveFolder.query(1).related(\.$notes), LiveNote.query().sorted(by: \.text.count),
            LiveNote.query().with(\.$folder).limit(4),
        ]
        let observations = lists.map { observe(ListResult($0), database) }
        let folders = observe(ListResult(LiveFolder.query().with(\.$notes)), database)
        let one = observe(EntityResult(LiveNote.query(2)), database)
        let groups = observe(GroupResult(LiveFolder.query().related(\.$notes)), database)
        let all = observe(StoreChangesResult(), database)
        let count = observe(CountResult(LiveNote.filter(\.rank > 1)), database)
        for observation in observations { _ = try observation.poll() }
        _ = try (folders.poll(), one.poll(), groups.poll(), all.poll(), count.poll())
        let batch = try database.performBatchUpdates { context in try LiveNote.touch(2, in: &context) }
        #expect(batch.changes.updated(LiveNote.self) == [2])
        #expect(told.withLock { $0 } == [2])
        for (place, observation) in observations.enumerated() {
            let changes = try observation.poll()?.changes
            #expect(changes?.updates == [1], "list \(place)")
            #expect(changes?.moves == [] && changes?.insertions == [] && changes?.deletions == [], "list \(place)")
        }
        #expect(try folders.poll()?.changes?.updates == [0])
        #expect(try one.poll()?.isLive == true)
        #expect(try groups.poll()?.changes?.sections.map(\.changes.updates) == [[1]])
        #expect(try all.poll()?.updated(LiveNote.self) == [2])
        #expect(try count.poll() == nil)

        // Neither an undone touch nor a save without a difference counts.
        try database.write { context in
            try? context.transaction { context in
                _ = try LiveNote.touch(3, in: &context)
                throw Refused()
            }
            // The entity whose touch was undone is touched now.
            for id in [3, 4] {
                let same: LiveNote? = try context.find(id)
                try #require(same).save(to: &context)
            }
        }
        for observation in observations { #expect(try observation.poll().map(\.entities.count) == nil) }
        #expect(try all.poll().map(\.isEmpty) == nil)
        #expect(try groups.poll().map(\.sections.count) == nil)
        for observation in observations { observation.finish() }
    }

    @Test("each get their own changes, however many there are")
    func many() async throws {
        let database = try liveDatabase()
        for id in 0..<300 { try database.save(id, rank: 0) }
        let observations = (0..<300).map { observe(EntityResult(LiveNote.query($0)), database) }
        for observation in observations { _ = try await observation.next() }
        var tasks: [Task<LiveEntity<LiveNote>?, any Error>] = []
        for observation in observations { tasks.append(await observation.ask()) }
        database.settle()
        let before = database.live.figures.counts
        try database.commit { context in
            for id in [7, 70, 250] { try LiveNote(id: id, rank: id, text: "").save(to: &context) }
        }
        for id in [7, 70, 250] { #expect(try await tasks[id].value?.entity?.rank == id) }
        database.settle()
        let after = database.live.figures.counts
        #expect(after.elements - before.elements == 3)
        #expect(after.queries - before.queries == 3)
        #expect(observations.filter(\.isWaiting).count == 297)
        for observation in observations { observation.finish() }
        #expect(database.live.observerCount == 0)
    }

    @Test("end with their task, their iterator or the database, and leave nothing behind")
    func ends() async throws {
        let database = try liveDatabase()
        try database.save(1, rank: 1)
        let live = database.live

        // Ended by the task.
        let observation = observe(CountResult(LiveNote.query()), database)
        #expect(try await observation.next() == 1)
        let task = await observation.ask()
        #expect(live.observerCount == 1)
        task.cancel()
        #expect(try await task.value == nil)
        #expect(live.observerCount == 0)
        #expect(try await observation.next() == nil)

        // Ended by the loop, and its iterator with it.
        for try await count in database.observeCount(LiveNote.query()) where count == 1 {
            #expect(live.observerCount == 1)
            break
        }
        #expect(live.observerCount == 0)
        #expect(live.logCount == 0)

        // Ended by the database.
        let counts = Task { [query = database.observeCount(LiveNote.query())] in
            var all: [Int] = []
            for try await count in query { all.append(count) }
            return all
        }
        while live.figures.counts.elements < 3 { await Task.yield() }
        try database.close()
        #expect(try await counts.value == [1])
        #expect(live.observerCount == 0)
        await #expect(throws: HornbeamError.self) {
            for try await _ in database.observeCount(LiveNote.query()) {}
        }
        #expect(live.observerCount == 0)
    }

    @Test("release database and observation once they are no longer iterated")
    func freed() async throws {
        weak var weakDatabase: Database?
        weak var weakObservation: Observation<ListResult<LiveNote>>?
        do {
            let database = try liveDatabase()
            let observation = observe(ListResult(LiveNote.query()), database)
            _ = try await observation.next()
            let task = await observation.ask()
            task.cancel()
            _ = try await task.value
            database.settle()
            weakDatabase = database
            weakObservation = observation
        }
        #expect(weakObservation == nil)
        #expect(weakDatabase == nil)
    }

    @Test("hold no transaction between elements: an observed database can be closed")
    func noTransactions() async throws {
        let database = try liveDatabase()
        let observations = (0..<10).map { _ in observe(ListResult(LiveNote.query()), database) }
        for observation in observations { _ = try await observation.next() }
        #expect(throws: Never.self) { try database.close() }
        for observation in observations { #expect(try await observation.next() == nil) }
    }

    @Test("throw the errors of a custom filter, and end")
    func errors() async throws {
        let database = try liveDatabase()
        try database.save(1, rank: 1)
        let filter = Filter.opaque(label: "fails") { row in
            if try row.int(1) == 13 { throw HornbeamError(.invalid, "thirteen") }
            return true
        }
        let observation = observe(ListResult(QueryList<LiveNote>().filter(Predicate(filter))), database)
        #expect(try await observation.next()?.entities.count == 1)
        let task = await observation.ask()
        try database.save(2, rank: 13)
        await #expect(throws: HornbeamError.self) { try await task.value }
        #expect(database.live.observerCount == 0)
        #expect(try await observation.next() == nil)
    }
}

@Suite("Changes gathered for live queries", .timeLimit(.minutes(30)))
struct CaptureTests {
    @Test("are empty without observers")
    func nothing() throws {
        let database = try liveDatabase()
        try database.save(1, rank: 1)
        #expect(database.live.logCount == 0)
        try database.write { context in
            let core = try context.session.store(LiveNote.self).core
            #expect(core.capture == nil)
        }
    }

    @Test("are limited in one commit: a larger load makes the query run anew, with the same change-set")
    func large() throws {
        let database = try liveDatabase()
        for id in 0..<10 { try database.save(id * 1_000, rank: id) }
        let observation = Observation(ListResult(LiveNote.query().sorted(by: \.rank)), of: database)
        observation.start()
        defer { observation.finish() }
        let old = try #require(try observation.poll()).entities.map(\.line)
        let queries = database.live.figures.counts.queries
        try database.write { context in
            for id in 1..<10_200 { try LiveNote(id: id, rank: id % 7, text: "x").save(to: &context) }
            try LiveNote.delete(id: 0, from: &context)
        }
        let element = try #require(try observation.poll())
        #expect(database.live.figures.counts.queries == queries + 1)
        let lines = element.entities.map(\.line)
        #expect(element.changes?.applied(to: old) { lines[$0] } == lines)
        #expect(element.changes?.deletions == [0])
        #expect(try database.read { try LiveNote.query().sorted(by: \.rank).resolve(in: $0).map(\.line) } == lines)
    }

    @Test("are limited over all commits: a late observer runs its query anew")
    func late() throws {
        let database = try liveDatabase()
        let observation = Observation(ChangesResult(LiveNote.query()), of: database)
        observation.start()
        defer { observation.finish() }
        #expect(try observation.poll()?.count == 0)
        for round in 0..<12 {
            try database.write { context in
                for id in 0..<1_000 { try LiveNote(id: id, rank: round, text: "").save(to: &context) }
            }
        }
        database.settle()
        #expect(database.live.logCount < 12)
        let element = try #require(try observation.poll())
        #expect(element.count == 1_000)
        #expect(element.inserted.map(\.rank) == Array(repeating: 11, count: 1_000))
        #expect(database.live.figures.counts.queries == 2)
        database.live.noteCommit()
        database.settle()
        #expect(database.live.logCount == 0)
    }

    @Test("include writes that began before the first observer")
    func earlier() async throws {
        let database = try liveDatabase()
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let write = Task.detached {
            try await database.write { context in
                begun.signal()
                goOn.wait()
                try LiveNote(id: 1, rank: 1, text: "").save(to: &context)
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                begun.wait()
                continuation.resume()
            }
        }
        let observation = Observation(ListResult(LiveNote.query()), of: database)
        observation.start()
        #expect(try await observation.next()?.entities.count == 0)
        goOn.signal()
        #expect(try await observation.next()?.changes?.insertions == [0])
        try await write.value
        observation.finish()
    }

    @Test("of a failed commit are forgotten: the next one is compared with the state before")
    func fallen() throws {
        let disk = try SimulatedDisk()
        let database = try Database(
            SchemaOpening(models: try ModelSet([LiveNote.self, LiveFolder.self, LiveTag.self]), migrations: [])
        ) { () throws(StorageError) in try TreeStore.open(file: disk) }
        for id in 0..<4 { try database.save(id, rank: id) }
        let observation = Observation(ListResult(LiveNote.filter(\.rank > 1)), of: database)
        observation.start()
        defer { observation.finish() }
        #expect(try observation.poll()?.entities.map(\.id) == [2, 3])
        disk.plan = SimulatedDisk.Plan(call: 0, fault: .error(EIO), operations: [.writeThrough])
        #expect(throws: HornbeamError.self) { try database.save(2, rank: 0) }
        database.settle()
        #expect(try observation.poll() == nil)
        try database.save(2, rank: 1)
        let element = try #require(try observation.poll())
        #expect(element.changes?.deletions == [0])
        #expect(element.entities.map(\.id) == [3])
    }

    @Test("cost as much as has changed: rows read for 100,000 results")
    func cost() throws {
        let database = try liveDatabase()
        let count = 100_000
        try database.write { context in
            for id in 0..<count { try LiveNote(id: id, rank: id, text: "").save(to: &context) }
        }
        let observation = Observation(ChangesResult(LiveNote.query().sorted(by: \.rank.desc)), of: database)
        observation.start()
        defer { observation.finish() }
        #expect(try observation.poll()?.count == count)
        let before = database.live.figures.counts
        for step in 0..<100 {
            try database.write { context in
                try LiveNote(id: step * 17, rank: count + step, text: "").save(to: &context)
                try LiveNote.delete(id: 50_000 + step, from: &context)
                try LiveNote(id: count + step, rank: step * 900, text: "").save(to: &context)
            }
            let element = try #require(try observation.poll())
            #expect(element.changes?.moves.count == 1)
            #expect(element.changes?.deletions.count == 1)
            #expect(element.changes?.insertions.count == 1)
            #expect(element.inserted.count + element.updated.count == 2)
        }
        let after = database.live.figures.counts
        #expect(after.rows - before.rows == 300)
        #expect(after.queries == before.queries)
    }
}

@Suite("Live queries along relations cost only the changes", .timeLimit(.minutes(30)))
struct LinkedCostTests {
    private static let count = 100_000

    private func database() throws -> Database {
        let database = try liveDatabase()
        try database.write { context in
            for id in 0..<2 { try LiveFolder(id: id, title: "f\(id)").save(to: &context) }
            for id in 0..<Self.count {
                try LiveNote(id: id, rank: id % 1000, text: "", folder: .id(id % 50 == 0 ? 1 : 0)).save(to: &context)
            }
        }
        return database
    }

    @Test("with 100,000 members, each kind reads a few rows and runs no query again")
    func members() throws {
        let database = try database()
        let members = LiveFolder.query(0).related(\.$notes)
        let list = Observation(ChangesResult(members.filter(\.rank < 900)), of: database)
        let nested = Observation(ChangesResult(LiveNote.filter(\.rank < 50).with(\.$tags)), of: database)
        let tested = Observation(CountResult(LiveNote.filter(.any(\.$tags, where: \.weight > 1))), of: database)
        let counted = Observation(CountResult(LiveNote.filter(\.rank < 50 && \.$tags.count > 1)), of: database)
        let ordered = Observation(ChangesResult(LiveNote.query().sorted(by: \.$tags.count.desc, \.rank)), of: database)
        list.start()
        nested.start()
        tested.start()
        counted.start()
        ordered.start()
        defer {
            list.finish()
            nested.finish()
            tested.finish()
            counted.finish()
            ordered.finish()
        }
        let found = try #require(try list.poll())
        #expect(found.count == (0..<Self.count).count { $0 % 50 != 0 && $0 % 1000 < 900 })
        _ = try (nested.poll(), tested.poll(), counted.poll(), ordered.poll())
        let before = database.live.figures.counts
        for step in 0..<20 {
            try database.write { context in
                // A new note in the folder, one from another folder, a deleted note, and a tag with another weight.
                try LiveNote(id: 1001 + step * 2, rank: 2, text: "new").save(to: &context)
                try LiveNote(id: step * 1000, rank: 1, text: "", folder: .id(0)).save(to: &context)
                try LiveNote.delete(id: 50_001 + step * 2, from: &context)
                try LiveTag(id: "t", weight: Double(step)).save(to: &context)
                guard var tagged: LiveNote = try context.find(7 + step) else { return }
                tagged.$tags = .ids(["t", "u"])
                try tagged.save(to: &context)
            }
            let element = try #require(try list.poll())
            #expect(element.changes?.insertions.count == 1)
            #expect(element.changes?.deletions.count == 1)
            #expect(element.changes?.updates.count == 1)
            #expect(try nested.poll()?.changes?.deletions.count == 1)
            // From the third commit on the tag weighs more than 1, which admits the earlier notes.
            #expect(try tested.poll() == (step < 2 ? nil : step + 1))
            // Tag “u” isn't stored, so no note has two.
            #expect(try counted.poll() == nil)
            // The tagged note comes before all without a tag, and after those of a lower rank with one.
            let order = try #require(try ordered.poll())
            #expect(order.changes?.moves.contains { $0.to == step } == true, "\(String(describing: order.changes))")
        }
        let after = database.live.figures.counts
        #expect(after.queries == before.queries)
        #expect(after.rows - before.rows < 20 * 5 * 40)
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("if a change affects many more rows than there are results, the query runs anew instead")
    func hub() throws {
        let database = try database()
        let some = LiveNote.filter(\.rank == 7).filter(.value(\.id, in: Array(0..<20_000)))
        let list = Observation(ChangesResult(some.with(\.$folder)), of: database)
        let part = Observation(ChangesResult(some.with(\.$folder).limit(5)), of: database)
        list.start()
        part.start()
        defer {
            list.finish()
            part.finish()
        }
        #expect(try list.poll()?.count == 20 && part.poll()?.count == 5)
        let before = database.live.figures.counts
        // Folder 0 has 98,000 notes, folder 1 2,000.
        try database.write { try LiveFolder(id: 0, title: "new").save(to: &$0) }
        #expect(try list.poll()?.changes?.updates.count == 20)
        #expect(try part.poll()?.changes?.updates.count == 5)
        let after = database.live.figures.counts
        #expect(after.rows == before.rows)
        #expect(after.queries - before.queries == 2)
    }

    @Test("counts along a relation depend only on the links, not on the order of linking", .seeded)
    func countsInAnyOrder() throws {
        var random = SeededGenerator()
        let database = try liveDatabase()
        let ids = Array(0..<60).shuffled(using: &random)
        try database.write { context in
            let notes = ids.map { LiveNote(id: $0, rank: 1, text: "") }
            try LiveFolder(id: 1, title: "a", notes: .relation(notes)).save(to: &context)
        }
        let members = LiveFolder.query(1).related(\.$notes)
        let along = Observation(CountResult(members.filter(\.rank >= 0)), of: database)
        along.start()
        defer { along.finish() }
        #expect(try along.poll() == 60)
        let before = database.live.figures.counts
        var left = ids.shuffled(using: &random)
        while left.count >= 2 {
            let gone = left.suffix(2)
            left.removeLast(2)
            try database.write { context in for id in gone { try LiveNote.delete(id: id, from: &context) } }
            #expect(try along.poll() == left.count)
        }
        #expect(database.live.figures.counts.queries == before.queries)
    }

    @Test("read only changed sections of groups, and are not woken by other relations")
    func groups() throws {
        let database = try liveDatabase()
        try database.write { context in
            for id in 0..<300 {
                try LiveFolder(
                    id: id, title: "f",
                    notes: .relation((0..<3).map { LiveNote(id: id * 10 + $0, rank: 0, text: "") })
                ).save(to: &context)
            }
        }
        let groups = Observation(GroupResult(LiveFolder.query().related(\.$notes)), of: database)
        let folders = Observation(ListResult(LiveFolder.query().with(\.$notes)), of: database)
        groups.start()
        folders.start()
        defer {
            groups.finish()
            folders.finish()
        }
        _ = try (groups.poll(), folders.poll())
        let before = database.live.figures.counts
        try database.write { try LiveNote(id: 1501, rank: 1, text: "").save(to: &$0) }
        let element = try #require(try groups.poll())
        #expect(element.changes?.sections.map(\.position) == [150])
        #expect(element.changes?.sections.first?.changes.updates == [1])
        #expect(try folders.poll()?.changes?.updates == [150])
        // The queries don't read the tags of notes.
        try database.write { context in
            guard var note: LiveNote = try context.find(1501) else { return }
            note.$tags = .ids(["t"])
            try note.save(to: &context)
        }
        #expect(try groups.poll().map(\.sections.count) == nil)
        #expect(try folders.poll().map(\.entities.count) == nil)
        let after = database.live.figures.counts
        #expect(after.queries == before.queries)
        #expect(after.rows - before.rows < 10)
    }
}

@Suite("Live queries beside several writers", .timeLimit(.minutes(30)))
struct LiveConcurrencyTests {
    /// Reads elements until one equals the query's final result. Each must follow from the one before.
    private func follow(_ query: LiveQuery<LiveList<LiveNote>>, until count: Int) async throws -> [String] {
        var lines: [String] = []
        for try await element in query {
            let new = element.entities.map(\.line)
            if let changes = element.changes { #expect(changes.applied(to: lines) { new[$0] } == new) }
            lines = new
            if lines.count == count { break }
        }
        return lines
    }

    @Test("every observer reaches the last state, through committed states", arguments: [false, true])
    func writers(isDurable: Bool) async throws {
        let folder = try TemporaryFolder()
        let database =
            isDurable
            ? try Database(at: folder.path + "/live", models: LiveNote.self, LiveFolder.self, LiveTag.self)
            : try liveDatabase()
        let writers = 4
        let each = isDurable ? 40 : 150
        try await withThrowingTaskGroup(of: [String]?.self) { group in
            for observer in 0..<8 {
                let query = LiveNote.query().sorted(by: \.rank)
                let nested = LiveNote.query().sorted(by: \.rank).with(\.$folder)
                group.addTask {
                    let live = database.observe(observer % 2 == 0 ? query : nested)
                    return try await follow(live, until: writers * each)
                }
            }
            for writer in 0..<writers {
                group.addTask {
                    for step in 0..<each {
                        let note = LiveNote(id: writer * each + step, rank: step, text: "\(writer)")
                        if step % 3 == 0 {
                            try await database.write { try note.save(to: &$0) }
                        } else {
                            try database.commit { try note.save(to: &$0) }
                        }
                    }
                    return nil
                }
            }
            var results: [[String]] = []
            for try await lines in group { if let lines { results.append(lines) } }
            #expect(results.count == 8)
            let last = try database.lines()
            for lines in results { #expect(lines == last) }
        }
        #expect(database.live.observerCount == 0)
        try database.close()
    }
}

extension Database {
    fileprivate func lines() throws -> [String] {
        try read { try LiveNote.query().sorted(by: \.rank).resolve(in: $0).map(\.line) }
    }
}
