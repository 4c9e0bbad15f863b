// SPDX-License-Identifier: Apache-2.0
// Searches of a database whose reads are reused: each search sees the texts of its own read, despite commits since
// the previous read or during its own.

import Dispatch
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamText

@EntityModel
private struct Note {
    @FullTextIndex<Self>(\.text) private var search
    @Index<Self>(\.room) private var byRoom

    let id: Int
    var text: String
    var room: Int
}

@Suite("Searchers kept with reads")
struct KeptSearchersTests {
    /// Checks that a read's searches agree with its texts.
    private func expectAgreement(_ context: Context, _ random: inout SeededGenerator) throws {
        let word = "w\(random.below(8))"
        let room = random.below(4)
        let all = try QueryList<Note>().resolve(in: context)
        let wanted = all.filter { $0.text.split(separator: " ").contains(Substring(word)) }
        let found = Note.filter(.string(\.text, matches: word))
        #expect(Set(try found.resolve(in: context).map(\.id)) == Set(wanted.map(\.id)))
        #expect(try found.count(in: context) == wanted.count)
        let some = wanted.filter { $0.room == room }.map(\.id)
        let hits = try found.filter(\.room == room).ranked(in: context)
        #expect(Set(hits.map(\.id)) == Set(some))
        #expect(zip(hits, hits.dropFirst()).allSatisfy { $0.score >= $1.score })
        #expect(try found.filter(\.room == room).limit(3).ranked(in: context).map(\.id) == hits.prefix(3).map(\.id))
    }

    private func change(_ random: inout SeededGenerator, _ context: inout Context) throws {
        for _ in 0..<random.below(4) {
            let id = random.below(120)
            if random.oneIn(4) {
                try Note.delete(id: id, from: &context)
            } else {
                let text = (0..<random.below(5)).map { _ in "w\(random.below(8))" }.joined(separator: " ")
                try Note(id: id, text: text, room: random.below(4)).save(to: &context)
            }
        }
    }

    @Test("One after the other, with commits, refused writes and searches in writes between", .seeded)
    func inTurn() throws {
        struct Refused: Error {}
        var random = SeededGenerator()
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try Database(at: folder.path("store"), models: Note.self)
        for round in 0..<150 {
            if random.oneIn(2) {
                do {
                    try database.write { context in
                        try change(&random, &context)
                        if random.oneIn(3) { try expectAgreement(context, &random) }
                        try change(&random, &context)
                        if random.oneIn(3) { try expectAgreement(context, &random) }
                        if random.oneIn(4) { throw Refused() }
                    }
                } catch is Refused {}
            }
            if round % 40 == 20 { try database.checkpoint() }
            for _ in 0..<random.below(3) { try database.read { try expectAgreement($0, &random) } }
        }
        #expect(try database.check())
        try database.close()
    }

    @Test("Rows of a range for a search are read once as long as the index stays, a few at a time")
    func selections() throws {
        let database = try Database.inMemory(models: Note.self)
        try database.write { context in
            for id in 0..<40 { try Note(id: id, text: "w\(id % 3)", room: id % 4).save(to: &context) }
        }
        func ranges(_ room: Int, _ context: Context) throws -> (match: IndexMatch, entries: TreeIdentity?) {
            let store = try context.session.core.store("Note")
            let key = [UInt8(room)]
            let index = try #require(store.type.indexes.first)
            let range = EntryRange(from: key, to: key + [0xFF], count: 10)
            let match = IndexMatch(index, range, answered: ConjunctSet(), fixed: 1)
            return (match, try store.transaction.identity(of: index.tree))
        }
        func reads(_ room: Int, _ selections: inout RowSelectionCache, isKept: Bool = true) throws -> Int {
            var reads = 0
            try database.read { context in
                let (match, entries) = try ranges(room, context)
                let found = selections.rows(match, of: isKept ? entries : nil) {
                    reads += 1
                    return [UInt64(room)]
                }
                #expect(found.rows == [UInt64(room)])
            }
            return reads
        }
        var selections = RowSelectionCache()
        #expect(try (0..<200).map { try reads($0 % 64, &selections) }.reduce(0, +) == 64)
        // The least recently used one is dropped.
        #expect(try reads(64, &selections) == 1)
        #expect(try reads(8, &selections) == 1)
        #expect(try reads(63, &selections) == 0)
        #expect(try reads(63, &selections, isKept: false) == 1)
        // For the index of rooms, another text makes no difference, but another room does.
        try database.write { try Note(id: 7, text: "w9", room: 3).save(to: &$0) }
        #expect(try reads(63, &selections) == 0)
        try database.write { try Note(id: 7, text: "w9", room: 2).save(to: &$0) }
        #expect(try reads(63, &selections) == 1)
        #expect(try reads(63, &selections) == 0)
        // Ranges whose rows were only tested evict none of the ranges that were read.
        for room in 63..<200 {
            try database.read { context in
                let (match, known) = try ranges(room, context)
                let entries = try #require(known)
                selections.note(tests: room, match, of: entries)
                #expect(selections.tests(match, of: entries) == (room == 63 ? .max : room))
            }
        }
        #expect(try reads(63, &selections) == 0)
        // As many as before are kept.
        #expect(try (0..<200).map { try reads($0 % 64, &selections) }.reduce(0, +) == 63)
        #expect(try (0..<64).map { try reads($0, &selections) }.reduce(0, +) == 0)
    }

    @Test("Rows of a range are read once searches among them have tested as many rows as that takes, and only then")
    func testedRows() throws {
        let database = try Database.inMemory(models: Note.self)
        try database.write { context in
            for id in 0..<2_000 { try Note(id: id, text: "r\(id % 400)", room: id % 4).save(to: &context) }
        }
        /// Returns the plan of a search for one of five notes, among 500.
        func plan(_ room: Int) throws -> String {
            try database.read { context in
                let list = Note.filter(.string(\.text, matches: "r\(room)")).filter(\.room == room).limit(10)
                #expect(try list.resolve(in: context).map(\.id) == (0..<5).map { room + 400 * $0 })
                return "\(try list.explain(in: context))"
            }
        }
        var searches = 0
        while try !plan(1).contains("intersection of (ranked search"), searches < 50 { searches += 1 }
        #expect((2...4).contains(searches), "75 is what to gather costs, 22.5 what to test five rows does")
        #expect(try !plan(2).contains("intersection"), "another room")
        // Showing a plan tests no rows.
        let list = Note.filter(.string(\.text, matches: "r3")).filter(\.room == 3).limit(10)
        try database.read { context in
            for _ in 0..<50 {
                let plan = try list.explain(in: context)
                #expect(!"\(plan)".contains("intersection"))
            }
        }
        try database.write { try Note(id: 3, text: "r3", room: 0).save(to: &$0) }
        #expect(try !plan(1).contains("intersection"), "another state of the index")
    }

    @Test("Are released by a read that is resumed in another state, even if it searches nothing")
    func letGo() throws {
        let database = try Database.inMemory(models: Note.self)
        func write(_ id: Int) throws {
            try database.write { try Note(id: id, text: "w1", room: 1).save(to: &$0) }
        }
        try write(1)
        weak var kept: TextSearcher?
        let search = Note.filter(.string(\.text, matches: "w1"))
        let first = try database.read { context in
            let store = try context.session.core.store("Note")
            kept = try store.searcher(store.type.textIndexes[0])
            return try search.count(in: context)
        }
        #expect(first == 1)
        let again = try database.read { try search.count(in: $0) }
        #expect(again == 1)
        #expect(kept != nil)
        try write(2)
        #expect(try database.read { try QueryList<Note>().count(in: $0) } == 2)
        #expect(kept == nil)
    }

    @Test("Beside a writer", .seeded)
    func beside() throws {
        let database = try Database.inMemory(models: Note.self)
        let isDone = Atomic(false)
        DispatchQueue.concurrentPerform(iterations: 3) { place in
            var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(place))
            do {
                if place == 0 {
                    defer { isDone.store(true, ordering: .relaxed) }
                    for _ in 0..<400 { try database.write { try change(&random, &$0) } }
                } else {
                    while !isDone.load(ordering: .relaxed) { try database.read { try expectAgreement($0, &random) } }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(try database.check())
    }
}
