// SPDX-License-Identifier: Apache-2.0
// The code of Docs/map-reduce.md on views.

import Foundation
import Hornbeam
import HornbeamMapReduce
import Testing

@EntityModel
struct Mail {
    @FullTextIndex<Self>(\.subject) private var search

    let id: Int
    var folder: String
    var date: Date
    var subject: String
    var isSpam = false
}

let folders = View<Mail, String>(
    "folders", version: "1", groupedBy: \.folder, sortedBy: .descending(\.date), .ascending(\.subject),
    where: { !$0.isSpam })

@Suite("Views, as their page shows them")
struct ViewsTests {
    private let today = Date(timeIntervalSinceReferenceDate: 800_000_000)
    private var yesterday: Date { today - 86_400 }

    private func mailbox() throws -> Database {
        let database = try Database.inMemory(models: Mail.self, indexes: [folders])
        try database.write { (context) throws in
            try Mail(id: 1, folder: "home", date: today, subject: "Dinner").save(to: &context)
            try Mail(id: 7, folder: "work", date: yesterday, subject: "Report").save(to: &context)
            try Mail(id: 8, folder: "work", date: today, subject: "Meeting").save(to: &context)
            try Mail(id: 9, folder: "work", date: today, subject: "Win!", isSpam: true).save(to: &context)
        }
        return database
    }

    @Test("Asking by position")
    func positions() throws {
        try mailbox().read { (context) throws in
            #expect(
                try folders.sections(in: context)
                    == [ViewSection(group: "home", count: 1), ViewSection(group: "work", count: 2)])
            #expect(try folders["work"].count(in: context) == 2)
            #expect(try folders["work"].entity(at: 1, in: context)?.id == 7)
            #expect(try folders["work"].entities(0..<20, in: context).map(\.id) == [8, 7])
            #expect(try folders["work"].ids(0..<20, in: context) == [8, 7])
            #expect(try folders["work"].first(in: context)?.id == 8)
            #expect(try folders.position(of: 7, in: context) == ViewPosition(group: "work", index: 1))
            #expect(try folders["work"].indexes(of: yesterday..<today, in: context) == 1..<2)
            let compared = try folders["work"].indexes(in: context) { mail in
                mail.date > today ? .orderedAscending : mail.date < yesterday ? .orderedDescending : .orderedSame
            }
            #expect(compared == 0..<2)
        }
    }

    @Test("Changes")
    func changes() throws {
        let database = try mailbox()
        let reader = try database.longLivedRead()
        try database.write { (context) throws in
            try Mail(id: 10, folder: "work", date: today + 1, subject: "Lunch").save(to: &context)
            _ = try Mail.query(1).delete(from: &context)
            try Mail.touch(7, in: &context)
        }
        #expect(try reader.read { context in try folders["work"].ids(in: context) } == [8, 7])
        let (changes, mails) = try reader.moveForward { step in
            (try step.changes(of: folders), try step.changes(of: Mail.self))
        }
        #expect(changes.insertions.map(\.position) == [ViewPosition(group: "work", index: 0)])
        #expect(changes.deletions.map(\.id) == [1])
        #expect(changes.deletedGroups == ["home"])
        #expect(changes.updates.map(\.to) == [ViewPosition(group: "work", index: 2)])
        #expect(mails.inserted == [10])
        #expect(mails.updated == [7])
        #expect(database.longLivedReads.map(\.version) == [reader.version])
        #expect(database.statistics.snapshotBytes >= 0)
    }

    @Test("Lists on a screen")
    func mappings() throws {
        let database = try mailbox()
        let reader = try database.longLivedRead()
        var list = ViewMappings(folders, groups: ["work", "home"])
        list.setWindow(.fixed(limit: 1), of: "work")
        try reader.read { try list.load(in: $0) }
        #expect(list.sectionCount == 2)
        #expect(list.count(ofSection: 0) == 1)
        #expect(try reader.read { try list.entity(at: ListPath(0, 0), in: $0) }?.id == 8)
        try database.write { (context) throws in
            try Mail(id: 10, folder: "work", date: today + 1, subject: "Lunch").save(to: &context)
        }
        let changes = try reader.moveForward { try list.move($0) }
        let rows = changes.applied(to: [["Meeting"], ["Dinner"]]) { _ in "Lunch" }
        #expect(rows == [["Lunch"], ["Dinner"]])
    }

    @Test("A list that follows the database")
    func live() async throws {
        let database = try mailbox()
        var rows: [[Mail]] = []
        var elements = 0
        for try await element in database.observe(ViewMappings(folders)) {
            rows = element.applied(to: rows)
            elements += 1
            if elements == 2 { break }
            _ = try await database.write { context in try Mail.touch(8, in: &context) }
        }
        #expect(rows.map { $0.map(\.id) } == [[1], [8, 7]])
    }

    @Test("Filtered views and search results")
    func filtered() throws {
        let database = try mailbox()
        let reader = try database.longLivedRead()
        var found = FilteredView(folders, matching: .filter(.string(\.subject, matches: "report")))
        try reader.read { try found.load(in: $0) }
        #expect(found.sections == [ViewSection(group: "work", count: 1)])
        #expect(found.ids(of: "work", 0..<20) == [7])
        try database.write { (context) throws in
            try Mail(id: 10, folder: "home", date: today, subject: "Report").save(to: &context)
        }
        let changes = try reader.moveForward { try found.move($0) }
        #expect(changes.insertedGroups == ["home"])
        let start = yesterday
        let narrower = try reader.read { try found.setFilter({ $0.date > start }, in: $0) }
        #expect(narrower.deletions.map(\.id) == [7])
    }
}
