// SPDX-License-Identifier: Apache-2.0
// The feed of all commits: entities that were added, changed and deleted, by type.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@Suite("Changes of the whole store")
struct StoreChangesTests {
    private func follow(_ database: Database) throws -> Observation<StoreChangesResult> {
        let observation = Observation(StoreChangesResult(), of: database)
        observation.start()
        let first = try #require(try observation.poll())
        #expect(first.inserted(LiveNote.self).isEmpty)
        return observation
    }

    @Test("name each entity once, by its kind of change")
    func kinds() throws {
        let database = try liveDatabase()
        try database.write { context in
            for id in 0..<4 { try LiveNote(id: id, rank: 0, text: "").save(to: &context) }
            try LiveTag(id: "a", weight: 1).save(to: &context)
        }
        let observation = try follow(database)
        defer { observation.finish() }
        try database.write { context in
            try LiveNote(id: 9, rank: 0, text: "").save(to: &context)
            try LiveNote(id: 8, rank: 0, text: "").save(to: &context)
            try LiveNote(id: 1, rank: 1, text: "").save(to: &context)
            // A row saved unchanged, and one saved and deleted again.
            try LiveNote(id: 2, rank: 0, text: "").save(to: &context)
            try LiveNote(id: 7, rank: 0, text: "").save(to: &context)
        }
        try database.write { context in
            try LiveNote.delete(id: 7, from: &context)
            try LiveNote.delete(id: 3, from: &context)
            try LiveTag.delete(id: "a", from: &context)
        }
        let changes = try #require(try observation.poll())
        #expect(changes.inserted(LiveNote.self) == [8, 9])
        #expect(changes.updated(LiveNote.self) == [1])
        #expect(changes.deleted(LiveNote.self) == [3])
        #expect(changes.deleted(LiveTag.self) == ["a"])
        #expect(changes.inserted(LiveFolder.self).isEmpty)
        #expect(changes.isComplete(for: LiveNote.self))
        #expect(try observation.poll() == nil)
    }

    @Test("report that they are unknown if a commit has too many")
    func unknown() throws {
        let database = try liveDatabase()
        let observation = try follow(database)
        defer { observation.finish() }
        try database.write { context in
            for id in 0..<10_001 { try LiveNote(id: id, rank: 0, text: "").save(to: &context) }
        }
        let changes = try #require(try observation.poll())
        #expect(!changes.isComplete(for: LiveNote.self))
        #expect(changes.isComplete(for: LiveTag.self))
    }

    @Test("keep a copy of the store up to date", .seeded)
    func copy() throws {
        let database = try liveDatabase()
        var writes = LiveWrites(random: SeededGenerator())
        let observation = try follow(database)
        defer { observation.finish() }
        var copy: [Int: String] = [:]
        for round in 0..<300 {
            try writes.write(to: database)
            guard round.isMultiple(of: 3), let changes = try observation.poll() else { continue }
            try database.read { context in
                for id in changes.deleted(LiveNote.self) { #expect(copy.removeValue(forKey: id) != nil) }
                for id in changes.inserted(LiveNote.self) {
                    #expect(
                        copy.updateValue(try LiveNote.query(id).resolve(in: context)?.line ?? "", forKey: id) == nil)
                }
                for id in changes.updated(LiveNote.self) {
                    let line = try LiveNote.query(id).resolve(in: context)?.line ?? ""
                    #expect(copy.updateValue(line, forKey: id) != line)
                }
                let all = try LiveNote.query().resolve(in: context)
                #expect(copy == Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.line) }))
            }
        }
    }
}
