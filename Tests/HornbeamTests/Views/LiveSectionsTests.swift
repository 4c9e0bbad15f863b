// SPDX-License-Identifier: Apache-2.0
// Observed views: element after element, compared with the view itself.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("Live views", .timeLimit(.minutes(10)))
struct LiveSectionsTests {
    private func rows(_ mappings: ViewMappings<Mail, String>, _ database: Database) throws -> [[Mail]] {
        var mappings = mappings
        return try database.read { (context) throws in
            try mappings.load(in: context)
            return try (0..<mappings.sectionCount).map { try mappings.entities(ofSection: $0, in: context) }
        }
    }

    @Test(
        "each element leads from the previous rows to the present ones", arguments: SeededGenerator.seeds(3))
    func model(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        var mappings = ViewMappings(view, groups: ["b", "a", "c"])
        mappings.setWindow(.fixed(limit: 4), of: "a")
        let observation = Observation(SectionsResult(mappings, database), of: database)
        observation.start()
        let first = try #require(try observation.poll())
        #expect(first.changes == nil)
        var shown = first.applied(to: [])
        for round in 0..<40 {
            try writes.write(database, changes: writes.random.below(4))
            if round % 8 == 7 {
                // As if the state had been kept for too long.
                for read in database.longReads.all { read.expire() }
            }
            if let element = try observation.poll() { shown = element.applied(to: shown) }
            try #require(try shown == rows(mappings, database))
        }
        // Changes outside the view are not reported.
        try database.write { context in try Mail(id: 500, folder: nil, rank: 1).save(to: &context) }
        _ = try observation.poll()
        try database.write { context in try Mail(id: 500, folder: nil, rank: 2).save(to: &context) }
        let none = try observation.poll()
        #expect(none.map(\.mappings.rowCount) == nil)
        observation.finish()
    }

    @Test("a consumer gets elements, and the database can close meanwhile")
    func consumer() async throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        var iterator = database.observe(ViewMappings(view)).makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first?.mappings.groups == [])
        try await database.write { context in try Mail(id: 1, folder: "a", rank: 1).save(to: &context) }
        let second = try await iterator.next()
        #expect(second?.changes?.insertedSections == [0])
        #expect(second?.entities[ListPath(0, 0)]?.id == 1)
        try database.close()
        let last = try await iterator.next()
        #expect(last.map(\.mappings.rowCount) == nil)
    }

    /// Waits for the effect of a timer.
    private func wait(until condition: () -> Bool) async throws {
        for _ in 0..<2000 where !condition() { try await Task.sleep(for: .milliseconds(5)) }
        try #require(condition())
    }

    @Test("a waiting consumer gets changes, even after a long time without any", .timeLimit(.minutes(2)))
    func quiet() async throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, LiveFolder.self, indexes: [view])
        try await database.write { context in try Mail(id: 1, folder: "a", rank: 1).save(to: &context) }
        let observation = Observation(
            SectionsResult(ViewMappings(view), database, maximumAge: .milliseconds(40)), of: database)
        observation.start()
        _ = try await observation.next()
        for round in 2..<6 {
            let task = Task { try await observation.next() }
            // Commits of other types, and no commits at all.
            if round.isMultiple(of: 2) {
                try await database.write { try LiveFolder(id: round, title: "").save(to: &$0) }
            }
            try await Task.sleep(for: .milliseconds(120))
            try await database.write { context in try Mail(id: round, folder: "a", rank: round).save(to: &context) }
            let element = try #require(try await task.value)
            #expect(element.changes?.insertions == [ListPath(0, 0)])
        }
        // While the consumer is busy, its state is kept until the maximum age.
        try await database.write { context in try Mail(id: 9, folder: "a", rank: 9).save(to: &context) }
        try await wait { database.longLivedReads.isEmpty }
        let late = try #require(try await observation.next())
        #expect(late.changes == nil)
        #expect(late.mappings.rowCount == 6)
        observation.finish()
    }
}
