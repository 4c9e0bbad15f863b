// SPDX-License-Identifier: Apache-2.0
// The state that the log keeps for a consumer besides its changes: a note, and the types with changes in a gap. Also
// the changes that a consumer gets in a given state.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models: [any EntityModelProtocol.Type] = [Logged.self, LoggedTag.self]

extension Database {
    fileprivate func put(_ ids: Int...) throws {
        try write { context in for id in ids { try Logged(id: id, code: "c\(id)").save(to: &context) } }
    }

    fileprivate func tag(_ ids: String...) throws {
        try write { context in for id in ids { try LoggedTag(id: id, text: "").save(to: &context) } }
    }
}

extension ChangeConsumer {
    fileprivate func missed(_ database: Database) throws -> [String] { try database.read { try missedTypes(in: $0) } }

    fileprivate func note(_ database: Database) throws -> [UInt8] { try database.read { try note(in: $0) } }
}

@Suite("The state of a consumer")
struct ConsumerStateTests {
    private func gap(_ pending: PendingChanges) -> ClosedRange<UInt64>? {
        if case .gap(let from, let to) = pending { from...to } else { nil }
    }

    private func ids(_ pending: PendingChanges) -> [Int] {
        guard case .batch(let batch) = pending else { return [] }
        return batch.changes.compactMap { $0.id(of: Logged.self) }
    }

    @Test("A read gets the changes up to its state, and its entities include them")
    func inState() throws {
        let database = try Database.inMemory(models: Logged.self, LoggedTag.self)
        let upload = try database.consumer(named: "upload", of: Logged.self)
        try database.put(1, 2)
        try database.read { before in
            try database.put(3)
            #expect(ids(try upload.next(in: before)) == [1, 2])
            #expect(ids(try upload.next()) == [1, 2, 3])
            #expect(try Logged.query().count(in: before) == 2)
            try upload.acknowledge(through: 2)
            #expect(ids(try upload.next(limit: 1, in: before)) == [1])
            #expect(ids(try upload.next()) == [3])
        }
        try database.write { context in
            try Logged(id: 4, code: "c4").save(to: &context)
            #expect(ids(try upload.next(in: context)) == [3])
        }
        try database.read { (context) throws in
            #expect(ids(try upload.next(in: context)) == [3, 4])
            #expect(throws: HornbeamError.self) { try upload.next(limit: 0, in: context) }
        }
    }

    @Test("Types known by their names are reported like those of models")
    func byName() throws {
        let database = try Database.inMemory(models: Logged.self, LoggedTag.self)
        let named = try database.consumer(named: "named", ofTypes: ["LoggedTag", "Logged"])
        try database.write { context in
            try Logged(id: 7, code: "a").save(to: &context)
            try LoggedTag(id: "t", text: "").save(to: &context)
        }
        guard case .batch(let batch) = try named.next() else { throw Missing() }
        #expect(batch.changes.map(\.type) == ["LoggedTag", "Logged"])
        #expect(batch.changes[0].id(as: String.self) == "t" && batch.changes[1].id(as: Int.self) == 7)
        #expect(batch.changes[0].id(as: Int.self) == nil && batch.changes[0].id(of: Logged.self) == nil)
        #expect(throws: HornbeamError.self) { try database.consumer(named: "x", ofTypes: ["Nobody"]) }
        #expect(throws: HornbeamError.self) { try database.consumer(named: "x", ofTypes: []) }
        #expect(try database.changeConsumers().map(\.name) == ["named"])
    }

    @Test("A note is kept with the place in the log, and comes and goes with the write that sets it")
    func notes() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            let upload = try database.consumer(named: "upload", of: Logged.self)
            #expect(try upload.note(database) == [])
            try database.put(1)
            try database.write { context in
                try upload.acknowledge(through: 1, in: &context)
                try upload.setNote([1, 2, 3], in: &context)
                #expect(try upload.note(in: context) == [1, 2, 3])
            }
            #expect(throws: Missing.self) {
                try database.write { context in
                    try upload.setNote([9], in: &context)
                    throw Missing()
                }
            }
            let long = [UInt8](repeating: 7, count: 501)
            #expect(throws: HornbeamError.self) { try database.write { try upload.setNote(long, in: &$0) } }
            try database.read { context in
                var context = context
                #expect(throws: HornbeamError.self) { try upload.setNote([1], in: &context) }
            }
        }
        try file.open(models) { database in
            let upload = try database.consumer(named: "upload", of: Logged.self, LoggedTag.self, retention: 5)
            #expect(try upload.note(database) == [1, 2, 3])
            try database.write { try upload.setNote([UInt8](repeating: 7, count: 500), in: &$0) }
            for id in 2...9 { try database.put(id) }
            #expect(try upload.note(database).count == 500)
            #expect(try database.check { Issue.record("\($0)") })
            try database.write { try upload.setNote([], in: &$0) }
            #expect(try upload.note(database) == [])
        }
    }

    @Test("A gap by a bound names the types of the removed changes")
    func missedByBound() throws {
        let database = try Database.inMemory(models: Logged.self, LoggedTag.self, SeenChange.self)
        let both = try database.consumer(named: "both", of: Logged.self, LoggedTag.self, retention: 3)
        try database.put(1)
        try database.put(2)
        try database.tag("a", "b")
        #expect(gap(try both.next()) == 1...1)
        #expect(try both.missed(database) == ["Logged"])
        // The gap has grown since then: missed changes stay missed.
        try database.tag("c", "d")
        #expect(gap(try both.next()) == 1...3)
        try both.acknowledge(through: 1)
        #expect(gap(try both.next()) == 2...3)
        #expect(try both.missed(database) == ["Logged", "LoggedTag"])
        try both.acknowledge(through: 3)
        #expect(try both.missed(database) == [])
        #expect(gap(try both.next()) == nil)
        // A write with more changes than the log keeps: some of them aren't stored.
        try database.write { context in
            for id in 10..<13 { try Logged(id: id, code: "c\(id)").save(to: &context) }
            for id in ["x", "y", "z"] { try LoggedTag(id: id, text: "").save(to: &context) }
        }
        #expect(try both.missed(database) == ["Logged", "LoggedTag"])
        let told = gap(try both.next())
        try both.acknowledge(through: try #require(told).upperBound)
        try database.write { context in
            for id in 20..<22 { try Logged(id: id, code: "c\(id)").save(to: &context) }
        }
        #expect(try both.missed(database) == ["LoggedTag"])
        #expect(try database.check { Issue.record("\($0)") })
        // A smaller bound removes more changes at once; changes of a type that isn't wanted any more aren't
        // delivered, unless it is wanted again.
        try both.acknowledge(through: try #require(gap(try both.next())).upperBound)
        _ = try database.consumer(named: "both", of: Logged.self, SeenChange.self, retention: 1)
        #expect(try both.missed(database) == ["Logged"])
        _ = try database.consumer(named: "both", of: SeenChange.self, retention: 1)
        #expect(try both.missed(database) == [])
        _ = try database.consumer(named: "both", of: Logged.self, LoggedTag.self, SeenChange.self, retention: 1)
        #expect(try both.missed(database) == ["Logged", "LoggedTag"])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("Changes beyond the limit of inspection may be of any type")
    func missedByFar() throws {
        let database = try Database.inMemory(models: Logged.self, LoggedTag.self)
        let both = try database.consumer(named: "both", of: Logged.self, LoggedTag.self)
        try database.write { context in
            for id in 0..<6000 { try Logged(id: id, code: "c\(id)").save(to: &context) }
        }
        _ = try database.consumer(named: "both", of: Logged.self, LoggedTag.self, retention: 5900)
        #expect(try both.missed(database) == ["Logged"])
        _ = try database.consumer(named: "both", of: Logged.self, LoggedTag.self, retention: 10)
        #expect(try both.missed(database) == ["Logged", "LoggedTag"])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("Missed changes of a type are reported under the name that another type takes")
    func missedUnderTakenName() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open([Logged.self, Relogged.self, LoggedTag.self]) { database in
            _ = try database.consumer(
                named: "all", of: Relogged.self, Logged.self, LoggedTag.self, retention: 2)
            try database.put(1)
            try database.tag("a")
        }
        try file.open([Relogged.self, LoggedTag.self], [.rename("Logged", to: Relogged.self)]) { database in
            let all = try database.consumer(named: "all", of: Relogged.self, LoggedTag.self, retention: 2)
            try database.tag("b")
            #expect(gap(try all.next()) == 1...1)
            #expect(try all.missed(database) == ["Relogged"])
            try database.tag("c")
            #expect(try all.missed(database) == ["Relogged", "LoggedTag"])
        }
    }

    @Test("A gap by changed relations names the types that have them")
    func missedByRelations() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            _ = try database.consumer(named: "linked", of: Logged.self, LoggedTag.self, links: true)
            try database.put(1)
            try database.read { _ in }
        }
        let steps: [Migration] = [.rename("Logged", to: Unlabelled.self), .forget(Unlabelled.self, "labels")]
        try file.open([Unlabelled.self, LoggedTag.self], steps) { database in
            let linked = try database.consumer(named: "linked", of: Unlabelled.self, LoggedTag.self, links: true)
            #expect(try linked.missed(database) == ["Unlabelled"])
        }
    }

    @Test("A gap by a migration names the remade types, under their new names")
    func missedByMigration() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            let both = try database.consumer(named: "both", of: Logged.self, LoggedTag.self)
            try database.put(1)
            try both.acknowledge(through: 1)
            try database.tag("a")
            #expect(try both.missed(database) == [])
        }
        try file.open([Weighed.self, LoggedTag.self], [.rename("Logged", to: Weighed.self)]) { database in
            let both = try database.consumer(named: "both", of: Weighed.self, LoggedTag.self)
            // The gap also takes the kept changes of the other type.
            #expect(try both.missed(database) == ["Weighed", "LoggedTag"])
            #expect(gap(try both.next()) == 2...3)
            try both.acknowledge(through: 3)
            #expect(try both.missed(database) == [])
        }
    }

    @Test("A consumer of an older file has no note, and with a gap it may have missed changes of all its types")
    func formerFormat() throws {
        for gap in [true, false] {
            var consumer = StoredConsumer(number: 3)
                .wanting(ChangeWish(types: ["Logged", "LoggedTag"], links: true, limit: 4))
            (consumer.acknowledged, consumer.first, consumer.next) = (2, gap ? 7 : 3, 9)
            // As in format 2, which has another first byte and lacks the note's two bytes.
            var bytes = consumer.bytes
            bytes[0] = 1
            bytes.removeSubrange(37..<39)
            let read = try #require(bytes.withUnsafeBytes { StoredConsumer($0) })
            #expect(read.types.map(\.isMissed) == [gap, gap] && read.note == [])
            #expect(read.missed == (gap ? ["Logged", "LoggedTag"] : []))
            #expect(read.bytes.withUnsafeBytes { StoredConsumer($0) } == read)
        }
    }

    @Test("Unreadable changes that a bound removes may be of any type; the write continues")
    func unreadable() throws {
        let database = try Database.inMemory(models: Logged.self, LoggedTag.self)
        let both = try database.consumer(named: "both", of: Logged.self, LoggedTag.self, retention: 3)
        #expect(try both.missed(database) == [])
        try database.put(1)
        let damaged = try database.store.beginWrite()
        let tree = try #require(try damaged.tree(ChangeLog.treeName))
        var cursor = try damaged.cursor(tree)
        #expect(try cursor.last())
        let key = Array(cursor.key)
        try damaged.put(tree, key, [0xFF])
        try damaged.commit()
        for id in 2...4 { try database.put(id) }
        // The unreadable change may be of the other type, although that type had no changes.
        #expect(try both.missed(database) == ["Logged", "LoggedTag"])
        try both.acknowledge(through: 1)
        #expect(ids(try both.next()) == [2, 3, 4])
        #expect(try database.check { Issue.record("\($0)") })
    }
}
