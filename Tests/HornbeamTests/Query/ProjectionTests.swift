// SPDX-License-Identifier: Apache-2.0
// Projections to some properties, compared with the entities' properties.

import FoundationEssentials
import Hornbeam
import Testing

@EntityModel
private struct Volume {
    enum Form: String, Codable { case paper, file }

    @Index<Self>(\.year, \.title) private var byYear
    @FullTextIndex<Self>(\.title) private var search

    let id: Int
    var title: String
    var year: Int
    var subtitle: String?
    var form: Form = .paper
    var printed: Date

    var length: Int { title.count }
}

@Suite("Projections")
struct ProjectionTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Volume.self)
        try database.write { context in
            for id in 0..<200 {
                try Volume(
                    id: id, title: "Title \(id * 37 % 200)", year: 1900 + id % 20,
                    subtitle: id % 3 == 0 ? nil : "s\(id)",
                    form: id % 2 == 0 ? .paper : .file, printed: Date(timeIntervalSinceReferenceDate: Double(id))
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("one property gives values, several give tuples, in the query's order, with its filter and limit")
    func values() throws {
        try database().read { (context) throws in
            let list = Volume.filter(\.year < 1910).sorted(by: \.title.desc)
            let all = try list.resolve(in: context)
            #expect(try list.select(\.title).resolve(in: context) == all.map(\.title))
            let rows = try list.limit(7, offset: 3).select(\.id, \.subtitle, \.printed).resolve(in: context)
            #expect(rows.map(\.0) == all[3..<10].map(\.id))
            #expect(rows.map(\.1) == all[3..<10].map(\.subtitle))
            #expect(rows.map(\.2) == all[3..<10].map(\.printed))
            #expect(try list.select(\.form).resolve(in: context) == all.map(\.form))
            #expect(try list.select(\.length, \.year).resolve(in: context).map(\.0) == all.map(\.length))
            #expect(try list.select(\.title).first(in: context) == all.first?.title)
            #expect(try Volume.filter(\.year == 3).select(\.title).first(in: context) == nil)
        }
    }

    @Test("equal values are repeated for each entity")
    func repeated() throws {
        try database().read { (context) throws in
            let years = try Volume.query().select(\.year).resolve(in: context)
            #expect(years.count == 200)
            #expect(years.sorted() == (0..<200).map { 1900 + $0 % 20 }.sorted())
        }
    }

    @Test("an index over all needed columns is read instead of the rows")
    func covering() throws {
        try database().read { (context) throws in
            let list = Volume.filter(\.year == 1905).sorted(by: \.title)
            #expect(try list.select(\.title, \.year).explain(in: context).isCovering)
            #expect(try !list.select(\.subtitle).explain(in: context).isCovering)
        }
    }

    @Test("lists of a limit, a relation or a search, and queries that begin with the context, can be projected")
    func lists() throws {
        try database().read { (context) throws in
            let cut = Volume.query().sorted(by: \.title).limit(9).filter(\.year > 1905)
            #expect(try cut.select(\.id).resolve(in: context) == cut.ids(in: context))
            let found = Volume.filter(.string(\.title, matches: "11"))
            #expect(try found.select(\.title).resolve(in: context) == ["Title 11"])
            #expect(try Volume.query(in: context).sorted(by: \.id).select(\.id).resolve() == Array(0..<200))
        }
    }
}
