// SPDX-License-Identifier: Apache-2.0
// Consumers of the change log: the changes and their order, acknowledgements; no change is lost or delivered twice,
// wherever a process ends.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct Logged {
    @Unique<Self>(\.code, collisions: .replace) private var byCode

    let id: Int
    var code: String

    @Relationship(deleteRule: .cascade) var labels: [LoggedTag]?
}

@EntityModel
struct LoggedTag {
    let id: String
    var text: String
}

/// A consumer's record of a change: the number of times it has seen the change.
@EntityModel
struct SeenChange {
    let id: Int
    var times: Int
}

/// `Logged` under another name.
@EntityModel
struct Relogged {
    @Unique<Self>(\.code, collisions: .replace) private var byCode

    let id: Int
    var code: String

    @Relationship(deleteRule: .cascade) var labels: [LoggedTag]?
}

/// `Logged` under a third name.
@EntityModel
struct LoggedThrice {
    @Unique<Self>(\.code, collisions: .replace) private var byCode

    let id: Int
    var code: String

    @Relationship(deleteRule: .cascade) var labels: [LoggedTag]?
}

/// `Logged` with one more property.
@EntityModel
struct Weighed {
    @Unique<Self>(\.code, collisions: .replace) private var byCode

    let id: Int
    var code: String
    var weight = 5

    @Relationship(deleteRule: .cascade) var labels: [LoggedTag]?
}

/// `Logged` under another name, without its relation.
@EntityModel
struct Unlabelled {
    @Unique<Self>(\.code, collisions: .replace) private var byCode

    let id: Int
    var code: String
}

/// A type without a consumer, with a relation.
@EntityModel
struct LoggedShelf {
    let id: Int

    @Relationship() var tags: [LoggedTag]?
}

private let models: [any EntityModelProtocol.Type] = [Logged.self, LoggedTag.self, SeenChange.self]

extension Database {
    fileprivate func put(_ ids: Int...) throws {
        try write { context in for id in ids { try Logged(id: id, code: "c\(id)").save(to: &context) } }
    }

    /// Returns whether a write records its changes.
    fileprivate func isGathering() throws -> Bool {
        try write { try $0.session.core.capture != nil }
    }

    fileprivate func treeNames() throws -> [String] {
        try read { try $0.session.core.transaction.treeNames() }
    }
}

extension ChangeConsumer {
    /// Returns the next changes as text.
    fileprivate func lines(limit: Int = 100) throws -> [String] {
        switch try next(limit: limit) {
        case .none: []
        case .gap(let from, let to): ["gap \(from)-\(to)"]
        case .batch(let batch):
            batch.changes.map { change in
                let id = change.id(of: Logged.self).map { "\($0)" } ?? change.id(of: LoggedTag.self) ?? "?"
                return "\(change.sequence) \(change.kind) \(change.type) \(id)"
            }
        }
    }

    fileprivate func acknowledgeNext(limit: Int = 100) throws {
        if let batch = try next(limit: limit).batch { try acknowledge(batch) }
    }
}

extension PendingChanges {
    fileprivate var batch: ChangeBatch? {
        if case .batch(let batch) = self { batch } else { nil }
    }
}

@Suite("Consumers of changes", .timeLimit(.minutes(10)))
struct ChangeConsumerTests {
    private func database() throws -> Database {
        try Database.inMemory(models: Logged.self, LoggedTag.self, SeenChange.self)
    }

    @Test("get each change of their types once they are registered, in order, until they acknowledge it")
    func order() throws {
        let database = try database()
        try database.put(1)
        let upload = try database.consumer(named: "upload", of: Logged.self, LoggedTag.self)
        #expect(try upload.lines() == [])
        try database.put(2, 3)
        let state = try database.read { try $0.version }
        try database.write { context in
            try Logged(id: 3, code: "x", labels: .relation([LoggedTag(id: "a", text: "")])).save(to: &context)
            try SeenChange(id: 1, times: 0).save(to: &context)
            // None of these is a change: a save without a difference, an addition and deletion, an undone change.
            try Logged(id: 2, code: "c2").save(to: &context)
            try Logged(id: 9, code: "c9").save(to: &context)
            try Logged.delete(id: 9, from: &context)
            try? context.transaction { context in
                try Logged(id: 7, code: "c7").save(to: &context)
                throw HornbeamError(.invalid, "undone")
            }
        }
        try? database.write { context in
            try Logged(id: 8, code: "c8").save(to: &context)
            throw HornbeamError(.invalid, "undone")
        }
        try database.write { context in
            try Logged.delete(id: 3, from: &context)
            _ = try Logged.touch(1, in: &context)
        }
        let lines = [
            "1 inserted Logged 2", "2 inserted Logged 3", "3 updated Logged 3", "4 inserted LoggedTag a",
            "5 updated Logged 1", "6 deleted Logged 3", "7 deleted LoggedTag a",
        ]
        #expect(try upload.lines() == lines)
        #expect(try upload.lines(limit: 2) == Array(lines[..<2]))
        let batch = try #require(try upload.next(limit: 3).batch)
        #expect(batch.changes.prefix(2).map(\.version) == [state, state])
        try upload.acknowledge(batch)
        try upload.acknowledge(batch)
        #expect(try upload.lines() == Array(lines[3...]))
        try upload.acknowledge(through: 1)
        #expect(try upload.lines(limit: 1) == [lines[3]])
        #expect(throws: HornbeamError.self) { try upload.acknowledge(through: 8) }
        #expect(throws: HornbeamError.self) { try upload.next(limit: 0) }
        #expect(throws: HornbeamError.self) { try upload.next(limit: -1) }
        try upload.acknowledge(through: 7)
        #expect(try upload.lines() == [])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("each have their own changes, by name; changed types apply from then on; an ended one leaves nothing")
    func several() throws {
        let database = try database()
        let first = try database.consumer(named: "first", of: Logged.self)
        let second = try database.consumer(named: "second", of: LoggedTag.self)
        try database.write { context in
            try Logged(id: 1, code: "a", labels: .relation([LoggedTag(id: "a", text: "")])).save(to: &context)
        }
        #expect(try first.lines() == ["1 inserted Logged 1"])
        #expect(try second.lines() == ["1 inserted LoggedTag a"])
        let more = try database.consumer(named: "first", of: LoggedTag.self)
        try database.write { context in try Logged.delete(id: 1, from: &context) }
        #expect(try more.lines() == ["1 inserted Logged 1", "2 deleted LoggedTag a"])
        #expect(
            try database.changeConsumers() == [
                ChangeConsumerDescription(
                    name: "first", types: ["LoggedTag"], links: false, pending: 2, acknowledged: 0, retention: nil),
                ChangeConsumerDescription(
                    name: "second", types: ["LoggedTag"], links: false, pending: 2, acknowledged: 0, retention: nil),
            ])
        #expect(try database.unregisterConsumer(named: "first"))
        #expect(throws: HornbeamError.self) { try first.next() }
        let left = try database.read { context in
            let transaction = try context.session.core.transaction
            return try ChangeLog(in: transaction).map { try transaction.count($0.tree) }
        }
        // Only the other consumer's two changes are left.
        #expect(left == 3)
        #expect(try second.lines().count == 2)
        #expect(try database.unregisterConsumer(named: "second"))
        #expect(try !database.unregisterConsumer(named: "second"))
        #expect(try !database.treeNames().contains(ChangeLog.treeName))
        // A new consumer of that name doesn't continue the former one.
        let again = try database.consumer(named: "first", of: Logged.self)
        try database.put(5)
        #expect(try again.lines() == ["1 inserted Logged 5"])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("with a bound learn which changes they missed, and continue after them")
    func gaps() throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: Logged.self, retention: 3)
        for id in 1...2 { try database.put(id) }
        try upload.acknowledge(through: 1)
        for id in 3...4 { try database.put(id) }
        #expect(try upload.lines().count == 3)
        for id in 5...8 { try database.put(id) }
        #expect(try upload.lines() == ["gap 2-5"])
        try upload.acknowledge(through: 5)
        #expect(try upload.lines() == ["6 inserted Logged 6", "7 inserted Logged 7", "8 inserted Logged 8"])
        // A changed bound applies at once.
        _ = try database.consumer(named: "upload", of: Logged.self, retention: 2)
        #expect(try upload.lines() == ["gap 6-6"])
        _ = try database.consumer(named: "upload", of: Logged.self, retention: 3)
        // One commit with more changes than the log keeps.
        try database.put(10, 11, 12, 13, 14)
        #expect(try upload.lines() == ["gap 6-10"])
        try upload.acknowledge(through: 10)
        #expect(try upload.lines(limit: 1) == ["11 inserted Logged 12"])
        #expect(try database.check { Issue.record("\($0)") })
        for bad in [0, -1] {
            #expect(throws: HornbeamError.self) { try database.consumer(named: "x", of: Logged.self, retention: bad) }
        }
        #expect(throws: HornbeamError.self) { try database.consumer(named: "", of: Logged.self) }
        #expect(throws: HornbeamError.self) {
            try database.consumer(named: "x", of: [] as [any EntityModelProtocol.Type])
        }
        #expect(throws: HornbeamError.self) { try database.consumer(named: "x", of: Relogged.self) }
    }

    @Test("cost nothing while there are none: no tree is made, and no row is kept")
    func unused() throws {
        let database = try database()
        try database.put(1)
        #expect(try !database.treeNames().contains(ChangeLog.treeName))
        let mayLog = database.mayLog.load(ordering: .relaxed)
        #expect(!mayLog)
        #expect(try !database.isGathering())
        // Even a load that is too large for observers is logged as a whole.
        let upload = try database.consumer(named: "upload", of: Logged.self)
        try database.write { context in
            for id in 0..<11_000 { try Logged(id: 100 + id, code: "n\(id)").save(to: &context) }
        }
        #expect(try database.changeConsumers().map(\.pending) == [11_000])
        let batch = try #require(try upload.next(limit: 20_000).batch)
        #expect(batch.changes.count == 11_000 && batch.last == 11_000)
        // Nor after consumers are removed.
        try database.unregisterConsumer(named: "upload")
        #expect(try !database.isGathering())
    }

    @Test("get changes that are written without a database, as by `hornbeam import`")
    func imported() throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: Logged.self)
        let core = try StoreTransaction(writing: try database.store.beginWrite(), schema: database.schema)
        try Array(#"{"id": 6, "code": "c6"}"#.utf8).withUnsafeBytes { bytes in
            _ = try JSONRows("Logged", core: core).save(line: bytes)
        }
        try core.commit()
        #expect(try upload.lines() == ["1 inserted Logged 6"])
    }

    @Test("are stored in the file: across openings, in the check, and under a type's new name")
    func durable() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            _ = try database.consumer(named: "upload", of: Logged.self)
            try database.put(1, 2)
        }
        try file.open(models) { database in
            try database.put(3)
            #expect(try database.changeConsumers().map(\.pending) == [3])
            try database.consumer(named: "upload", of: Logged.self).acknowledgeNext(limit: 1)
        }
        let moved: [any EntityModelProtocol.Type] = [Relogged.self, LoggedTag.self, SeenChange.self]
        try file.open(moved, [.rename("Logged", to: Relogged.self)]) { database in
            let upload = try database.consumer(named: "upload", of: Relogged.self)
            try database.write { try Relogged(id: 4, code: "c4").save(to: &$0) }
            let batch = try #require(try upload.next().batch)
            #expect(batch.changes.map { $0.id(of: Relogged.self) } == [2, 3, 4])
        }
    }

    @Test("get each change under the last of a type's names, also if it had another type's name before")
    func renamedTwice() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open([Logged.self, Relogged.self, LoggedTag.self]) { database in
            _ = try database.consumer(named: "upload", of: Relogged.self)
            _ = try database.consumer(named: "upload", of: Logged.self)
            try database.put(1)
        }
        try file.open([Relogged.self, LoggedTag.self], [.rename("Logged", to: Relogged.self)]) { _ in }
        try file.open([LoggedThrice.self, LoggedTag.self], [.rename("Relogged", to: LoggedThrice.self)]) { database in
            let upload = try database.consumer(named: "upload", of: LoggedThrice.self)
            try database.write { try LoggedThrice(id: 2, code: "c2").save(to: &$0) }
            let batch = try #require(try upload.next().batch)
            #expect(batch.changes.map { $0.id(of: LoggedThrice.self) } == [1, 2])
            #expect(try database.check { Issue.record("\($0)") })
        }
    }

    @Test("get each change once if one of their types has taken another one's name")
    func takenNames() throws {
        let both: [any EntityModelProtocol.Type] = [Logged.self, Relogged.self, LoggedTag.self, SeenChange.self]
        let file = try MigratedFile([]) { _ in }
        try file.open(both) { database in
            _ = try database.consumer(named: "upload", of: Logged.self, Relogged.self)
            try database.put(1)
        }
        let moved: [any EntityModelProtocol.Type] = [Relogged.self, LoggedTag.self, SeenChange.self]
        try file.open(moved, [.rename("Logged", to: Relogged.self)]) { database in
            try database.write { try Relogged(id: 2, code: "c2").save(to: &$0) }
            #expect(try database.changeConsumers().map(\.types) == [["Relogged"]])
            let upload = try database.consumer(named: "upload", of: Relogged.self)
            try database.write { try Relogged(id: 3, code: "c3").save(to: &$0) }
            let batch = try #require(try upload.next().batch)
            #expect(batch.changes.map { $0.id(of: Relogged.self) } == [1, 2, 3])
            #expect(try database.check { Issue.record("\($0)") })
        }
    }

    @Test("first get the changes before that of a type that no longer exists")
    func droppedTypes() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            _ = try database.consumer(named: "upload", of: Logged.self, SeenChange.self)
            try database.put(1, 2)
            try database.write { try SeenChange(id: 7, times: 0).save(to: &$0) }
            try database.put(3)
        }
        try file.open([Logged.self, LoggedTag.self], [.drop("SeenChange")]) { database in
            let upload = try database.consumer(named: "upload", of: Logged.self)
            #expect(try upload.lines() == ["1 inserted Logged 1", "2 inserted Logged 2"])
            try upload.acknowledgeNext()
            let error = #expect(throws: HornbeamError.self) { try upload.next() }
            #expect(error?.message.contains("acknowledge(through: 3)") == true, "\(String(describing: error))")
            try upload.acknowledge(through: 3)
            #expect(try upload.lines() == ["4 inserted Logged 3"])
        }
    }

    @Test("that handle one batch at the same time acknowledge it once")
    func rivals() throws {
        let database = try database()
        let one = try database.consumer(named: "exact", of: Logged.self)
        let other = try database.consumer(named: "exact", of: Logged.self)
        try database.put(1, 2, 3)
        let (first, same) = (try #require(try one.next(limit: 2).batch), try #require(try other.next().batch))
        func take(_ batch: ChangeBatch, _ consumer: ChangeConsumer) throws {
            try database.write { context in
                try SeenChange(id: Int(batch.last), times: 1).save(to: &context)
                try consumer.acknowledge(batch, in: &context)
            }
        }
        try take(first, one)
        let error = #expect(throws: HornbeamError.self) { try take(same, other) }
        #expect(error?.code == .conflict)
        #expect(try other.lines() == ["3 inserted Logged 3"])
        #expect(try database.read { try SeenChange.query().resolve(in: $0).map(\.id) } == [2])
        // A consumer that records its own progress may acknowledge twice.
        try other.acknowledge(first)
        #expect(try other.lines() == ["3 inserted Logged 3"])
    }

    @Test("report damage of the log in the check and when it is read; removing the consumer removes it")
    func damage() throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: Logged.self)
        try database.put(1, 2, 3)
        func problems(_ damage: (ChangeLog, StoredConsumer) throws -> Void) throws -> [String] {
            try database.write { context in
                let log = try #require(try ChangeLog(in: context.session.core.transaction))
                try damage(log, try #require(try log.consumer("upload")))
            }
            var found: [String] = []
            _ = try database.check { found.append($0) }
            return found
        }
        let key: [UInt8] = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]
        let missing = try problems { log, _ in _ = try log.transaction.delete(log.tree, key) }
        #expect(missing == ["consumer “upload”: of its changes 2 is missing"])
        #expect(throws: HornbeamError.self) { try upload.next() }
        let unreadable = try problems { log, _ in try log.transaction.put(log.tree, key, [9, 9]) }
        #expect(unreadable == ["change 2 of consumer “upload” is not readable"])
        #expect(throws: HornbeamError.self) { try upload.next() }
        for type in [0, 1] {
            let bad = StoredChange(kind: .updated, version: 1, type: type, id: [1])
            let what = (type == 0 ? "the id of " : "") + "change 2 of consumer “upload”"
            #expect(
                try problems { log, _ in try log.transaction.put(log.tree, key, bad.bytes) }
                    == ["\(what) is not readable"])
            #expect(throws: HornbeamError.self) { try upload.next() }
        }
        let good = StoredChange(kind: .inserted, version: 1, type: 0, id: [2, 0, 0, 0, 0, 0, 0, 0])
        let ends = try problems { log, consumer in
            try log.transaction.put(log.tree, key, good.bytes)
            var consumer = consumer
            (consumer.first, consumer.next) = (2, 6)
            try log.put(consumer, "upload")
        }
        #expect(
            ends == [
                "change 1 of consumer “upload” is outside the range of kept changes",
                "consumer “upload”: of its changes 4 to 5 are missing",
            ])
        let nobody = try problems { log, _ in try log.transaction.put(log.tree, [0] + Array("upload".utf8), [7]) }
        #expect(nobody.first == "a consumer of changes is not readable")
        #expect(nobody.dropFirst().allSatisfy { $0 == "the change log has an entry of no consumer" })
        // The write can't record its changes: it is refused until the consumer is removed, so that no change is lost.
        #expect(throws: HornbeamError.self) { try database.put(4) }
        #expect(try database.unregisterConsumer(named: "upload"))
        try database.put(4)
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("no changed byte of a consumer makes the log unsafe to read")
    func forged() throws {
        var consumer = StoredConsumer(number: 7)
            .wanting(ChangeWish(types: ["Logged", "Crate"], links: false, limit: 9))
        (consumer.acknowledged, consumer.first, consumer.next) = (3, 5, 8)
        consumer.note = [1, 2, 3]
        consumer.types[1].isMissed = true
        #expect(consumer.bytes.withUnsafeBytes { StoredConsumer($0) } == consumer)
        for place in consumer.bytes.indices {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var bytes = consumer.bytes
                bytes[place] = byte
                guard let read = bytes.withUnsafeBytes({ StoredConsumer($0) }) else { continue }
                #expect(read.acknowledged < read.first && read.first <= read.next && read.next < 1 << 63)
            }
            let isCut = place > 0 && consumer.bytes[..<place].withUnsafeBytes { StoredConsumer($0) } == consumer
            #expect(!isCut)
        }
    }

    @Test("with any changed byte in their log get damage reports, or changes that the log has")
    func damagedFile() throws {
        func entries(_ disk: SimulatedDisk) throws -> [(key: [UInt8], value: [UInt8])] {
            let database = try MigratedFile.open(disk, models, [])
            defer { try? database.close() }
            return try database.read { context in
                let log = try #require(try ChangeLog(in: context.session.core.transaction))
                var found: [(key: [UInt8], value: [UInt8])] = []
                var cursor = try log.transaction.cursor(log.tree)
                var isValid = try cursor.first()
                while isValid {
                    found.append((Array(cursor.key), Array(cursor.value)))
                    isValid = try cursor.next()
                }
                return found
            }
        }
        let start = try SimulatedDisk()
        let whole = try MigratedFile.open(start, models, [])
        _ = try whole.consumer(named: "upload", of: Logged.self, links: true, retention: 9)
        try whole.put(1, 2)
        try whole.close()
        for (key, value) in try entries(try SimulatedDisk(image: start.killedImage())) {
            for place in value.indices {
                for byte in [0, 3, 0x80, 0xFF] as [UInt8] where value[place] != byte {
                    let database = try MigratedFile.open(try SimulatedDisk(image: start.killedImage()), models, [])
                    let damaged = try database.store.beginWrite()
                    let tree = try #require(try damaged.tree(ChangeLog.treeName))
                    try damaged.put(tree, key, Array(value[..<place]) + [byte] + value[(place + 1)...])
                    try damaged.commit()
                    let what = "byte \(place) of \(key)"
                    var problems: [String] = []
                    let isSound = try database.check { problems.append($0) }
                    #expect(isSound == problems.isEmpty)
                    do {
                        let upload = try database.consumer(named: "upload", of: Logged.self, links: true, retention: 9)
                        switch try upload.next() {
                        case .none: break
                        case .gap(let from, let to):
                            #expect(from <= to, "\(what)")
                            try upload.acknowledge(through: to)
                        case .batch(let batch):
                            #expect(batch.first <= batch.last && batch.changes.count <= 9, "\(what)")
                            try #require(batch.last - batch.first < 9, "\(what)")
                            #expect(batch.changes.map(\.sequence) == Array(batch.first...batch.last), "\(what)")
                            if isSound {
                                #expect(batch.changes.allSatisfy { $0.id(of: Logged.self) != nil }, "\(what)")
                            }
                            try upload.acknowledge(batch)
                        }
                        try database.put(3)
                    } catch let error as HornbeamError {
                        let isTold = error.code == .corrupt || error.code == .invalid || error.code == .schemaMismatch
                        #expect(isTold, "\(what): \(error)")
                    }
                    // In every case the damaged log is removed with the consumer.
                    #expect(try database.unregisterConsumer(named: "upload"), "\(what)")
                    try database.put(4)
                    #expect(try database.check { Issue.record("\(what): \($0)") })
                    try database.close()
                }
            }
        }
    }

    @Test("of a single type make a write keep no row of another")
    func keptRows() throws {
        let database = try database()
        let tags = try database.consumer(named: "tags", of: LoggedTag.self)
        try database.write { context in
            for id in 0..<500 { try Logged(id: id, code: "c\(id)").save(to: &context) }
            try LoggedTag(id: "a", text: "").save(to: &context)
            let core = try context.session.core
            let capture = try #require(core.capture)
            #expect(capture.rows[try core.store("Logged").type.rows] == nil)
            #expect(capture.rows[try core.store("LoggedTag").type.rows]?.count == 1)
            #expect(capture.links.isEmpty)
        }
        #expect(try tags.lines() == ["1 inserted LoggedTag a"])
    }

    @Test("get all changes of a load, even if there is too much for observers")
    func observed() async throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: LoggedTag.self)
        var observer = database.observeAll().makeAsyncIterator()
        _ = try await observer.next()
        func load() throws {
            try database.write { context in
                for id in 0..<6_000 {
                    try Logged(id: id, code: "c\(id)").save(to: &context)
                    try LoggedTag(id: "\(id)", text: "").save(to: &context)
                }
            }
        }
        try load()
        let seen = try #require(try await observer.next())
        #expect(!seen.isComplete(for: Logged.self))
        #expect(try database.changeConsumers().map(\.pending) == [6_000])
        #expect(try upload.lines(limit: 1) == ["1 inserted LoggedTag 0"])
    }

    @Test("that want links learn of entities whose relations changed, once each")
    func links() throws {
        let database = try database()
        let plain = try database.consumer(named: "plain", of: Logged.self)
        let linked = try database.consumer(named: "linked", of: Logged.self, LoggedTag.self, links: true)
        #expect(try database.changeConsumers().map(\.links) == [true, false])
        try database.write { context in
            try LoggedTag(id: "a", text: "").save(to: &context)
            try LoggedTag(id: "b", text: "").save(to: &context)
        }
        try database.put(1, 2, 3)
        try linked.acknowledge(through: 5)
        try database.write { context in
            try Logged(id: 1, code: "c1", labels: .ids(["a", "b"])).save(to: &context)
            try Logged(id: 2, code: "new", labels: .ids(["a"])).save(to: &context)
            try Logged(id: 4, code: "c4", labels: .ids(["b"])).save(to: &context)
        }
        #expect(try linked.lines() == ["6 inserted Logged 4", "7 updated Logged 2", "8 relinked Logged 1"])
        try linked.acknowledge(through: 8)
        // A deleted entity's links are deleted with it. A one-way relation is no property of its target.
        try database.write { context in _ = try LoggedTag.delete(id: "a", from: &context) }
        // A change undone within a write changes no link.
        struct Undone: Error {}
        try database.write { context in
            do {
                try context.session.nested {
                    try Logged(id: 4, code: "c4", labels: .ids([])).save(to: &context)
                    throw Undone()
                }
            } catch is Undone {}
            try LoggedTag(id: "c", text: "").save(to: &context)
        }
        #expect(
            try linked.lines() == [
                "9 relinked Logged 1", "10 relinked Logged 2", "11 deleted LoggedTag a", "12 inserted LoggedTag c",
            ])
        #expect(try plain.lines().last == "5 updated Logged 2")
        // A consumer that no longer wants links gets none.
        _ = try database.consumer(named: "linked", of: Logged.self, LoggedTag.self)
        try linked.acknowledge(through: 12)
        try database.write { context in
            try Logged(id: 1, code: "c1", labels: .ids([])).save(to: &context)
        }
        #expect(try linked.lines() == [])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("get no touch and no undone link, even if a load is dropped for observers meanwhile")
    func undoneInALoad() async throws {
        struct Undone: Error {}
        let database = try Database.inMemory(
            models: Logged.self, LoggedTag.self, SeenChange.self, LoggedShelf.self)
        try database.put(1, 2, 3, 4, 5)
        let linked = try database.consumer(named: "linked", of: Logged.self, links: true)
        var observer = database.observeAll().makeAsyncIterator()
        _ = try await observer.next()
        func load() throws {
            try database.write { context in
                // Touches and links, which only observers get.
                for id in 0..<50 {
                    try SeenChange(id: id, times: 0).save(to: &context)
                    _ = try SeenChange.touch(id, in: &context)
                    try LoggedShelf(id: id, tags: .ids(["a"])).save(to: &context)
                }
                try Logged(id: 1, code: "c1", labels: .ids(["a"])).save(to: &context)
                do {
                    try context.session.nested {
                        try Logged(id: 1, code: "c1", labels: .ids([])).save(to: &context)
                        for id in 100..<11_000 { try SeenChange(id: id, times: 0).save(to: &context) }
                        for id in 2...5 {
                            _ = try Logged.touch(id, in: &context)
                            try Logged(id: id, code: "c\(id)", labels: .ids(["a"])).save(to: &context)
                        }
                        throw Undone()
                    }
                } catch is Undone {}
            }
        }
        try load()
        let seen = try #require(try await observer.next())
        #expect(!seen.isComplete(for: SeenChange.self))
        #expect(try linked.lines() == ["1 relinked Logged 1"])
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("that want links get a gap if a migration has changed relations, and others get none")
    func relationMigrations() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            _ = try database.consumer(named: "rows", of: Logged.self)
            let linked = try database.consumer(named: "linked", of: Logged.self, links: true)
            try database.put(1, 2)
            try database.write { context in
                try Logged(id: 1, code: "c1", labels: .relation([LoggedTag(id: "a", text: "")])).save(to: &context)
            }
            #expect(try linked.lines().last == "3 relinked Logged 1")
        }
        let steps: [Migration] = [.rename("Logged", to: Unlabelled.self), .forget(Unlabelled.self, "labels")]
        try file.open([Unlabelled.self, LoggedTag.self, SeenChange.self], steps) { database in
            let rows = try database.consumer(named: "rows", of: Unlabelled.self)
            #expect(try rows.next().batch?.changes.map { $0.id(of: Unlabelled.self) } == [1, 2])
            let linked = try database.consumer(named: "linked", of: Unlabelled.self, links: true)
            #expect(try linked.lines() == ["gap 1-4"])
            try linked.acknowledge(through: 4)
            try database.write { try Unlabelled(id: 3, code: "c3").save(to: &$0) }
            #expect(try linked.next().batch?.changes.map { $0.id(of: Unlabelled.self) } == [3])
        }
    }

    @Test(
        "get a gap if a migration has remade a type's entities, and each change of a program's own step")
    func migrations() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open(models) { database in
            _ = try database.consumer(named: "upload", of: Logged.self)
            _ = try database.consumer(named: "tags", of: LoggedTag.self)
            try database.put(1, 2)
        }
        let steps: [Migration] = [
            .rename("Logged", to: Weighed.self),
            .run("later") { context in try Weighed(id: 3, code: "c3").save(to: &context) },
        ]
        let grown: [any EntityModelProtocol.Type] = [Weighed.self, LoggedTag.self, SeenChange.self]
        try file.open(grown, steps) { database in
            let upload = try database.consumer(named: "upload", of: Weighed.self)
            #expect(try upload.lines() == ["gap 1-3"])
            try upload.acknowledge(through: 3)
            #expect(try upload.next().batch?.changes.map { $0.id(of: Weighed.self) } == [3])
            #expect(try database.consumer(named: "tags", of: LoggedTag.self).lines() == [])
        }
    }

    /// Handles the pending changes, one batch after the other, and counts them in the database itself.
    private func work(_ consumer: ChangeConsumer, _ database: Database) throws {
        while let batch = try consumer.next(limit: 2).batch {
            try database.write { context in
                for change in batch.changes {
                    let seen: SeenChange? = try context.find(Int(change.sequence))
                    try SeenChange(id: Int(change.sequence), times: (seen?.times ?? 0) + 1).save(to: &context)
                }
                try consumer.acknowledge(batch, in: &context)
                try consumer.setNote(Array("through \(batch.last)".utf8), in: &context)
            }
        }
    }

    @Test("continue without loss after being cut off at any call, and never get acknowledged changes again", .seeded)
    func crashes() throws {
        let start = try SimulatedDisk()
        do {
            let database = try MigratedFile.open(start, models, [])
            _ = try database.consumer(named: "exact", of: Logged.self)
            _ = try database.consumer(named: "plain", of: Logged.self)
            try database.put(1, 2, 3)
            try database.close()
        }
        // Returns the numbers of commits and of acknowledged changes.
        func live(_ disk: SimulatedDisk) -> (committed: Int, acknowledged: UInt64) {
            var done = (committed: 3, acknowledged: UInt64(0))
            do {
                let database = try MigratedFile.open(disk, models, [])
                let exact = try database.consumer(named: "exact", of: Logged.self)
                let plain = try database.consumer(named: "plain", of: Logged.self)
                try work(exact, database)
                try database.put(4, 5)
                done.committed = 5
                if let batch = try plain.next(limit: 4).batch {
                    try plain.acknowledge(batch)
                    done.acknowledged = batch.last
                }
                try work(exact, database)
                try database.close()
            } catch {}
            return done
        }
        try SimulatedDisk.crashAtEveryCall(of: start.killedImage(), live) { image, done, place in
            let database = try MigratedFile.open(try SimulatedDisk(image: image), models, [])
            let plain = try database.consumer(named: "plain", of: Logged.self)
            let (count, first) = try database.read { context in
                (try Logged.query().count(in: context), done.acknowledged + 1)
            }
            #expect(count >= done.committed, place)
            // At least the last change is pending: no more than four are acknowledged, of three or of five.
            if done.acknowledged < UInt64(count) {
                let batch = try #require(try plain.next().batch, place)
                #expect(batch.first >= first && batch.last == UInt64(count), place)
            }
            let exact = try database.consumer(named: "exact", of: Logged.self)
            let acknowledged = try #require(database.changeConsumers().first { $0.name == "exact" }).acknowledged
            let note = try database.read { try exact.note(in: $0) }
            #expect(String(decoding: note, as: UTF8.self) == (acknowledged > 0 ? "through \(acknowledged)" : ""), place)
            try work(exact, database)
            let seen = try database.read { try SeenChange.query().resolve(in: $0) }
            #expect(seen.map(\.id) == Array(1...count) && seen.allSatisfy { $0.times == 1 }, place)
            #expect(try database.check { Issue.record("\(place): \($0)") })
            try database.close()
        }
    }
}
