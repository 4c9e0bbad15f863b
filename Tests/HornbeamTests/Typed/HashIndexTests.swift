// SPDX-License-Identifier: Apache-2.0
// Indexes by hashes: for equality alone, with entries of one size.

import Hornbeam
import Testing

@EntityModel
private struct Page {
    @HashIndex<Self>(\.url) private var byURL
    @HashIndex<Self>(\.host, \.port) private var byHost

    let id: Int
    var url: String
    var host: String?
    var port: Int
}

@Suite("Indexes by hashes")
struct HashIndexTests {
    private let long = String(repeating: "x", count: 3000)

    private func database() throws -> Database {
        let database = try Database.inMemory(models: Page.self)
        try database.write { context in
            for id in 0..<200 {
                try Page(
                    id: id, url: "\(long)/\(id % 50)", host: id % 3 == 0 ? nil : "h\(id % 5)", port: id % 2
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("answer equality, of all their properties, and lists of values; the entities are as without an index")
    func equality() throws {
        try database().read { context in
            let one = Page.filter(\.url == "\(long)/7")
            #expect(try one.ids(in: context) == [7, 57, 107, 157])
            #expect(try one.count(in: context) == 4)
            let plan = try one.explain(in: context)
            #expect(plan.access == .index(name: "byURL", ranges: 1, entries: 4, reversed: false))
            // Two values may share a hash, so that rows are looked at.
            #expect(plan.filter != nil && !plan.isCountKnown)
            let some = Page.filter(.value(\.url, in: ["\(long)/7", "\(long)/8", "none"]))
            #expect(try some.ids(in: context) == [7, 8, 57, 58, 107, 108, 157, 158])
            #expect(try some.explain(in: context).access.description.contains("3 ranges"))
            let both = Page.filter(\.host == "h2" && \.port == 1)
            #expect(try both.explain(in: context).access.description.contains("byHost"))
            #expect(try both.ids(in: context) == (0..<200).filter { $0 % 3 != 0 && $0 % 5 == 2 && $0 % 2 == 1 })
            let none = Page.filter(\.host == nil && \.port == 0)
            #expect(try none.ids(in: context) == (0..<200).filter { $0 % 3 == 0 && $0 % 2 == 0 })
        }
    }

    @Test("find the one entity that has a key, and none, without a plan, and tell more in its own words")
    func single() throws {
        let database = try database()
        try database.write { context in
            try Page(id: 500, url: "\(long)/only", host: "own", port: 9).save(to: &context)
            try Page(id: 501, url: "last", host: nil, port: 9).save(to: &context)
        }
        func ids(_ query: QueryList<Page>) throws -> [Int] {
            try database.read { context in try query.resolve(in: context).map(\.id) }
        }
        let only = Page.filter(\.url == "\(long)/only")
        #expect(try ids(only) == [500])
        #expect(try ids(only.limit(1, offset: 1)) == [])
        #expect(try ids(only.sorted(by: \.port)) == [500])
        #expect(try ids(Page.filter(\.url == "\(long)/nobody's")) == [])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 9)) == [500])
        #expect(try ids(Page.filter(\.port == 9 && \.host == "own")) == [500])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 8)) == [])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 9 && \.id == 3)) == [])
        // Nil is a value like any other here, of which there may be many.
        #expect(try ids(Page.filter(\.host == nil && \.port == 9)) == [501])
        #expect(try ids(Page.filter(\.url == "\(long)/7").limit(2)) == [7, 57])
        let (count, access) = try database.read { context in
            (try only.count(in: context), try only.explain(in: context).access.description)
        }
        #expect(count == 1 && access.contains("byURL"))
    }

    @Test("are left alone by ranges, parts of a key and sorts")
    func others() throws {
        try database().read { context in
            for query in [
                Page.filter(\.url > "a"), Page.filter(\.host == "h2"), Page.query().sorted(by: \.url),
                Page.filter(\.url == "\(long)/7").sorted(by: \.port),
            ] {
                let access = try query.explain(in: context).access.description
                #expect(access.contains("scan of 200 rows") || access.contains("byURL, one range of 4"))
                #expect(try query.ids(in: context).count == query.count(in: context))
            }
            #expect(
                try Page.filter(\.url == "\(long)/7").after(
                    Page(id: 57, url: "", host: nil, port: 0)
                ).ids(in: context) == [107, 157])
        }
    }

    @Test("follow changes, and the check finds them in order")
    func changes() throws {
        let database = try database()
        try database.write { context in
            for id in 0..<200 where id % 4 == 0 { try Page.delete(id: id, from: &context) }
            try Page(id: 7, url: "new", host: nil, port: 3).save(to: &context)
        }
        let new = try database.read { try Page.filter(\.url == "new").ids(in: $0) }
        let old = try database.read { try Page.filter(\.url == "\(long)/7").ids(in: $0) }
        #expect(new == [7] && old == [57, 107, 157])
        #expect(try database.check())
    }
}
