// SPDX-License-Identifier: Apache-2.0
// The code of Docs/views.md.

import Foundation
import Hornbeam
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
}
