// SPDX-License-Identifier: Apache-2.0
// The pages that an analyzed query looks at.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Reading {
    @Index<Self>(\.place) private var byPlace

    let id: Int
    var place: Int
    var text: String
}

@Suite("Pages that a query looks at")
struct PagesReadTests {
    private func fill(_ database: Database) throws {
        try database.write { context in
            for id in 0..<20_000 {
                try Reading(id: id, place: id % 2_000, text: String(repeating: "x", count: 60)).save(to: &context)
            }
        }
    }

    @Test("an index look-up takes few rows, a scan all, in memory and in a file", arguments: [false, true])
    func counted(inFile: Bool) throws {
        let folder = try TemporaryFolder()
        var database = try Database.inMemory(models: Reading.self)
        if inFile { database = try Database(at: folder.path("store"), models: Reading.self) }
        try fill(database)
        if inFile {
            // Closed and opened again, so that the pages are in the file and verified once.
            try database.close()
            database = try Database(at: folder.path("store"), models: Reading.self)
        }
        try database.read { context in
            let one = Reading.filter(\.place == 77).limit(3)
            let few = try one.explain(.analyze, in: context)
            #expect(few.results == 3 && (2...16).contains(few.pagesRead), "\(few.pagesRead)")
            // A row takes 100 bytes.
            let all = try Reading.filter(\.text == "y").explain(.analyze, in: context)
            #expect(all.results == 0 && (200...2_000).contains(all.pagesRead), "\(all.pagesRead)")
            let again = try Reading.filter(\.text == "y").explain(.analyze, in: context)
            #expect(again.pagesRead == all.pagesRead)
            let listed = try Reading.query().limit(10).filter(\.place < 5).explain(.analyze, in: context)
            #expect(listed.results == 5 && (1...16).contains(listed.pagesRead), "\(listed.pagesRead)")
            // Counting has changed nothing.
            #expect(try one.explain(.analyze, in: context).pagesRead == few.pagesRead)
            #expect(try Reading.query().count(in: context) == 20_000)
        }
        try database.write { context in
            try Reading(id: 20_000, place: 77, text: "").save(to: &context)
            let run = try Reading.filter(\.place == 77).explain(.analyze, in: context)
            #expect(run.results == 11 && run.pagesRead > 2)
        }
        try database.close()
    }
}
