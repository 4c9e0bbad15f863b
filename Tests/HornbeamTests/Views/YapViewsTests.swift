// SPDX-License-Identifier: Apache-2.0
// YapDatabase's views, row by row of the project's table of features. Each test is named after its row.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("YapDatabase's views")
struct YapViewsTests {
    @Test("an index in a group and its entity lead to each other in O(log n), for 100,000 entities")
    func y20() throws {
        let view = mailView()
        let database = try Database.counting(Mail.self)
        let count = 100_000
        try database.write { context in
            for id in 0..<count {
                try Mail(id: id, folder: ["a", "b"][id % 2], rank: id * 7919 % count).save(to: &context)
            }
        }
        try database.register(view)
        let wanted = try database.read { try view["b"].id(at: 31_415, in: $0) }
        let id = try #require(wanted)
        // One more than the number of entities with a higher rank.
        let higher = (0..<count).filter { $0 % 2 == 1 && $0 * 7919 % count > id * 7919 % count }.count
        #expect(higher == 31_415)
        // The catalogue, the view, the rows: a few descents of three or four pages each. A scan takes 600 pages or
        // more.
        let bound = 60
        func pages<Answer: Equatable>(_ wanted: Answer, _ body: (Context) throws -> Answer) throws -> Int {
            var answer: Answer?
            let pages = try database.pagesRead { context in answer = try body(context) }
            #expect(answer == wanted)
            return pages
        }
        #expect(try pages(id) { try view["b"].id(at: 31_415, in: $0) } < bound)
        #expect(try pages(ViewPosition(group: "b", index: 31_415)) { try view.position(of: id, in: $0) } < bound)
        #expect(try pages(count / 2) { try view["a"].count(in: $0) } < bound)
        #expect(try pages(["a", "b"]) { try view.groups(in: $0) } < bound)
        #expect(try pages(250) { try view["a"].indexes(of: 500..<1_000, in: $0).count } < bound)
        #expect(try pages(10) { try view["a"].entities(40_000..<40_010, in: $0).count } < bound + 40)
        #expect(try pages(count / 2) { try view["a"].ids(in: $0).count } > 2 * bound)
    }

    @Test("a contiguous range of a group is found by halving")
    func y21() throws {
        let view = mailView()
        let database = try Database.counting(Mail.self)
        try database.write { context in
            for id in 0..<5_000 { try Mail(id: id, folder: "a", rank: id / 10).save(to: &context) }
        }
        try database.register(view)
        var ranges: [Range<Int>] = []
        let pages = try database.pagesRead { context in
            ranges = [
                try view["a"].indexes(in: context) { mail in
                    mail.rank >= 300 ? .orderedAscending : mail.rank < 200 ? .orderedDescending : .orderedSame
                },
                try view["a"].indexes(of: 200..<300, in: context), try view["a"].indexes(of: 200...299, in: context),
            ]
        }
        #expect(ranges == [2_000..<3_000, 2_000..<3_000, 2_000..<3_000])
        #expect(pages < 600)
    }

    @Test("change-sets of several commits are combined, and an entity added and removed again cancels out")
    func y23() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for id in 1...5 { try Mail(id: id, folder: "a", rank: -id).save(to: &context) }
        }
        let read = try database.longLivedRead()
        try database.write { context in
            try Mail(id: 6, folder: "b", rank: 0).save(to: &context)
            _ = try Mail.query(2).delete(from: &context)
        }
        try database.write { context in
            _ = try Mail.query(6).delete(from: &context)
            // To the front, to another group, and out of the view.
            try Mail(id: 5, folder: "a", rank: 9).save(to: &context)
            try Mail(id: 3, folder: "c", rank: 0).save(to: &context)
            try Mail(id: 4, folder: "a", rank: -4, size: 1).save(to: &context)
        }
        let changes = try read.moveForward { try $0.changes(of: view) }
        typealias Position = ViewPosition<String>
        typealias Change = ViewChanges<Mail, String>.Change
        #expect(changes.deletedGroups == [])
        #expect(changes.insertedGroups == ["c"])
        #expect(changes.deletions.map(\.id) == [2])
        #expect(changes.deletions.map(\.position) == [Position(group: "a", index: 1)])
        #expect(changes.insertions == [])
        let five = Change(id: 5, from: Position(group: "a", index: 4), to: Position(group: "a", index: 0))
        let four = Change(id: 4, from: Position(group: "a", index: 3), to: Position(group: "a", index: 2))
        let three = Change(id: 3, from: Position(group: "a", index: 2), to: Position(group: "c", index: 0))
        #expect(changes.moves == [five, three])
        #expect(changes.updates == [five, four, three])
    }

    @Test("the work for a change-set depends on the changes, not on the number of entities")
    func n3() throws {
        let view = mailView()
        let database = try Database.counting(Mail.self)
        try database.write { context in
            for id in 0..<20_000 { try Mail(id: id, folder: ["a", "b"][id % 2], rank: id).save(to: &context) }
        }
        try database.register(view)
        let read = try database.longLivedRead()
        for id in [77, 12_345] {
            try database.write { context in try Mail(id: id, folder: "b", rank: -1).save(to: &context) }
        }
        var changes: ViewChanges<Mail, String>?
        let before = database.statistics.cache
        changes = try read.moveForward { try $0.changes(of: view) }
        let after = database.statistics.cache
        #expect(changes?.moves.map(\.to.index) == [9_998, 9_999])
        #expect(after.hits + after.misses - before.hits - before.misses < 150)
    }

    @Test("an insertion before a window is one insertion and one deletion at its edges")
    func y24() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for id in 0..<100 { try Mail(id: id, folder: "a", rank: -id).save(to: &context) }
        }
        let read = try database.longLivedRead()
        var fixed = ViewMappings(view, groups: ["a"])
        fixed.setWindow(.fixed(limit: 20, offset: 30), of: "a")
        var growing = ViewMappings(view, groups: ["a"])
        growing.setWindow(.growing(limit: 20, offset: 30), of: "a")
        var reversed = fixed
        reversed.setReversed(true, of: "a")
        try read.read { (context) throws in
            try fixed.load(in: context)
            try growing.load(in: context)
            try reversed.load(in: context)
        }
        func step(_ body: (inout Context) throws -> Void) throws -> [SectionChanges] {
            try database.write { try body(&$0) }
            return try read.moveForward { step in
                [try fixed.move(step), try growing.move(step), try reversed.move(step)]
            }
        }
        let before = try step { try Mail(id: 1000, folder: "a", rank: 5).save(to: &$0) }
        #expect(before[0].insertions == [ListPath(0, 0)])
        #expect(before[0].deletions == [ListPath(0, 19)])
        #expect(before[0].moves.isEmpty && before[0].updates.isEmpty)
        #expect(before[1].isEmpty)
        #expect(before[2].insertions == [ListPath(0, 19)])
        #expect(before[2].deletions == [ListPath(0, 0)])
        // In the window: the new row pushes the last row out, or the window grows.
        let within = try step { try Mail(id: 1001, folder: "a", rank: -40).save(to: &$0) }
        #expect(within[0].insertions == [ListPath(0, 12)])
        #expect(within[0].deletions == [ListPath(0, 19)])
        #expect(within[1].insertions == [ListPath(0, 11)])
        #expect(within[1].deletions == [])
        #expect(growing.count(ofSection: 0) == 21)
        let behind = try step { try Mail(id: 1002, folder: "a", rank: -80).save(to: &$0) }
        #expect(behind.map(\.isEmpty) == [true, true, true])
        // More rows are shown, at the same state.
        growing.setWindow(.growing(limit: 30, offset: 25), of: "a")
        let more = try read.read { try growing.refresh(in: $0) }
        #expect(more.deletions == [])
        #expect(more.insertions == (0..<6).map { ListPath(0, $0) } + (27..<30).map { ListPath(0, $0) })
    }

    @Test("sections appear and disappear, stay on request, and are identified by their groups")
    func y24Sections() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for (id, folder) in ["a", "c", "c"].enumerated() {
                try Mail(id: id, folder: folder, rank: 0).save(to: &context)
            }
        }
        let read = try database.longLivedRead()
        var lists = [
            ViewMappings(view, groups: ["c", "b", "a"]), ViewMappings(view), ViewMappings(view, sortedBy: { $0 > $1 }),
        ]
        try read.read { context in for index in lists.indices { try lists[index].load(in: context) } }
        #expect(lists.map(\.groups) == [["c", "b", "a"], ["a", "c"], ["c", "a"]])
        try database.write { context in
            try Mail(id: 0, folder: "b", rank: 0).save(to: &context)
            try Mail(id: 3, folder: "c", rank: 1).save(to: &context)
        }
        let changes = try read.moveForward { step in try lists.indices.map { try lists[$0].move(step) } }
        #expect(lists.map(\.groups) == [["c", "b", "a"], ["b", "c"], ["c", "b"]])
        #expect(changes.map(\.deletedSections) == [[], [0], [1]])
        #expect(changes.map(\.insertedSections) == [[], [0], [1]])
        #expect(changes[0].moves.map(\.from) == [ListPath(2, 0)])
        #expect(changes[0].moves.map(\.to) == [ListPath(1, 0)])
        #expect(changes.map(\.insertions) == [[ListPath(0, 0)], [ListPath(1, 0)], [ListPath(0, 0)]])
        #expect(changes.map(\.counts) == [[3, 1, 0], [1, 3], [3, 1]])
    }

    @Test("a reader that began before 1,000 commits sees its state in every index")
    func y31() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for id in 0..<50 { try Mail(id: id, folder: "a", rank: id, subject: "old").save(to: &context) }
        }
        let read = try database.longLivedRead()
        for commit in 0..<1_000 {
            try database.write { context in
                try Mail(id: commit % 60, folder: "b", rank: -commit, subject: "new").save(to: &context)
            }
        }
        try read.read { (context) throws in
            #expect(try view.sections(in: context) == [ViewSection(group: "a", count: 50)])
            #expect(try view["a"].ids(in: context) == Array((0..<50).reversed()))
            #expect(try Mail.filter(.string(\.subject, matches: "old")).count(in: context) == 50)
            #expect(try Mail.filter(.string(\.subject, matches: "new")).count(in: context) == 0)
            #expect(try Mail.query(7).resolve(in: context)?.rank == 7)
        }
        let now = try database.longLivedRead()
        #expect(now.version == read.version + 1_000)
    }

    @Test("a forgotten read's space is visible, and an old read releases it so that the file stops growing")
    func y32() throws {
        let database = try Database.inMemory(models: Mail.self)
        func churn() throws {
            for round in 0..<20 {
                try database.write { context in
                    for id in 0..<200 {
                        try Mail(id: id, folder: "a", rank: round, subject: "\(round) \(id)").save(to: &context)
                    }
                }
            }
            try database.checkpoint()
        }
        try churn()
        let read = try database.longLivedRead(maximumAge: .seconds(1_000))
        try churn()
        let held = database.statistics.snapshotBytes
        #expect(held > 0)
        let listed = try #require(database.longLivedReads.first)
        #expect(listed.version == read.version)
        #expect(listed.age > .zero && listed.age < .seconds(1_000))
        // As if it had reached its maximum age.
        read.expire()
        let error = #expect(throws: HornbeamError.self) { try read.read { _ in } }
        #expect(error?.code == .snapshotExpired)
        try churn()
        #expect(database.statistics.snapshotBytes < held)
        let size = database.statistics.fileBytes
        for _ in 0..<3 { try churn() }
        #expect(database.statistics.fileBytes == size)
    }

    @Test("a query returns whether an entity was changed between two states")
    func y33() throws {
        let database = try Database.inMemory(models: Mail.self, Consignment.self)
        try database.write { context in try Consignment(id: "x", weight: 1).save(to: &context) }
        let read = try database.longLivedRead()
        for round in 0..<30 {
            try database.write { context in try Mail(id: round % 3, rank: round).save(to: &context) }
        }
        try database.write { context in try Consignment(id: "x", weight: 2).save(to: &context) }
        let (mails, parcels) = try read.moveForward {
            (try $0.changes(of: Mail.self), try $0.changes(of: Consignment.self))
        }
        #expect(mails.inserted == [0, 1, 2] && mails.updated.isEmpty && mails.deleted.isEmpty)
        #expect(parcels.updated == ["x"])
    }

    @Test("a touched entity is an update, and the bytes of indexes stay the same")
    func y34() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for id in 0..<5 { try Mail(id: id, folder: "a", rank: -id).save(to: &context) }
        }
        func entries() throws -> [[UInt8]] {
            let read = try database.store.beginRead()
            defer { read.abort() }
            var cursor = try read.cursor(try view.registration.trees(in: read).first)
            var entries: [[UInt8]] = []
            while try cursor.next() { entries.append(Array(cursor.key) + Array(cursor.value)) }
            return entries
        }
        let before = try entries()
        let read = try database.longLivedRead()
        let touched = try database.write { context in
            [try Mail.touch(3, in: &context), try Mail.touch(9, in: &context)]
        }
        #expect(touched == [true, false])
        #expect(try entries() == before)
        let changes = try read.moveForward { try $0.changes(of: view) }
        #expect(changes.updates.map(\.id) == [3])
        #expect(changes.updates.map(\.to.index) == [3])
        #expect(changes.moves.isEmpty && changes.insertions.isEmpty && changes.deletions.isEmpty)
        let error = #expect(throws: HornbeamError.self) {
            try database.read { (context) throws in
                var context = context
                _ = try Mail.touch(3, in: &context)
            }
        }
        #expect(error?.code == .readOnly)
    }
}
