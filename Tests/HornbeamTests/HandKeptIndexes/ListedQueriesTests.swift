// SPDX-License-Identifier: Apache-2.0
// Queries over the ids in hand-kept indexes and in lists: with any filters, orders, limits and positions, the answer
// equals that from plain arrays, and no more is read than necessary.

import HornbeamHandKept
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Shelved: Equatable {
    @Index<Self>(\.year) private var byYear
    @FullTextIndex<Self>(\.note) private var search

    let id: Int
    var year = 0
    var title = ""
    var shelf: Int?
    var note = ""
}

@EntityModel
private struct Case: Equatable {
    let id: Int
}

private struct ShelvedIndexes: IndexesType {
    let all = OrderedIDIndex<Shelved>("all")
    let byCase = GroupByEntityIndex<Case, Shelved>("byCase")
    let byTopic = GroupByKeyIndex<String, Shelved>("byTopic")
    let starred = SetIndex<Shelved>("starred")
}

extension Context {
    fileprivate var shelves: HandKeptIndexes<ShelvedIndexes> { indexes(of: ShelvedIndexes.self) }
}

@Suite("Queries for hand-kept lists")
struct ListedQueriesTests {
    private static let indexes = ShelvedIndexes()

    private func database(_ entities: [Shelved]) throws -> Database {
        let database = try Database.inMemory(models: Shelved.self, Case.self, handKept: Self.indexes)
        try database.write { (context) throws in
            try context.saveAll(entities)
            try Case(id: 1).save(to: &context)
        }
        return database
    }

    // MARK: Against arrays

    /// A query, as data.
    private struct Asked {
        var filter: (query: Hornbeam.Predicate<Shelved>, holds: (Shelved) -> Bool)?
        var key: ((Shelved) -> (Int, String))?
        var isDescending = false
        var after: Shelved?
        var limit: Int?
        var offset = 0

        func query(_ list: QueryList<Shelved>) -> QueryList<Shelved> {
            var query = list
            if let filter { query = query.filter(filter.query) }
            if let key {
                // By year, or by title.
                let isYear = key(Shelved(id: 0, year: 7, title: "t")) == (7, "")
                switch (isYear, isDescending) {
                case (true, false): query = query.sorted(by: \.year)
                case (true, true): query = query.sorted(by: \.year.desc)
                case (false, false): query = query.sorted(by: \.title)
                case (false, true): query = query.sorted(by: \.title.desc)
                }
            }
            if let after { query = query.after(after) }
            if limit != nil || offset > 0 { query = query.limit(limit ?? 1_000_000, offset: offset) }
            return query
        }

        func ids(_ list: [Shelved]) -> [Int] {
            var found = list
            if let key {
                func precedes(_ left: Shelved, _ right: Shelved) -> Bool {
                    if key(left) == key(right) { return left.id < right.id }
                    return (key(left) < key(right)) != isDescending
                }
                found.sort(by: precedes)
                if let after { found.removeAll { !precedes(after, $0) } }
            } else if let after, let place = found.firstIndex(where: { $0.id == after.id }) {
                found.removeFirst(place + 1)
            }
            if let filter { found.removeAll { !filter.holds($0) } }
            return found.dropFirst(offset).prefix(limit ?? .max).map(\.id)
        }
    }

    private func asked(_ list: [Shelved], _ random: inout SeededGenerator) -> Asked {
        var asked = Asked()
        let year = random.below(40)
        switch random.below(5) {
        case 0: asked.filter = (\.year == year, { $0.year == year })
        case 1: asked.filter = (\.year < year, { $0.year < year })
        case 2: asked.filter = (\.title == "t\(year % 7)", { $0.title == "t\(year % 7)" })
        case 3: asked.filter = (\.year == year && \.shelf == nil, { $0.year == year && $0.shelf == nil })
        default: break
        }
        switch random.below(3) {
        case 0: asked.key = { ($0.year, "") }
        case 1: asked.key = { (0, $0.title) }
        default: break
        }
        asked.isDescending = random.oneIn(2)
        if !list.isEmpty, random.oneIn(3) { asked.after = list[random.below(list.count)] }
        if !random.oneIn(3) { (asked.limit, asked.offset) = (random.below(12), random.below(20)) }
        return asked
    }

    @Test("give the results for equal arrays, for all queries", .seeded, arguments: SeededGenerator.seeds(6))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let entities = (0..<2_000).map { id in
            Shelved(
                id: id, year: random.below(40), title: "t\(random.below(7))",
                shelf: random.oneIn(2) ? nil : random.below(5))
        }
        let database = try database(entities)
        // Short and long lists, with repeated ids.
        var lists: [String: [Int]] = [:]
        for (name, count) in [("all", 3_000), ("case", 1_200), ("topic", 60), ("starred", 900)] {
            lists[name] = (0..<count).map { _ in random.below(2_000) }
        }
        lists["starred"] = Set(lists["starred"] ?? []).sorted()
        // Some of the ids aren't stored.
        let ids = (0..<[40, 1_500][random.below(2)]).map { _ in random.below(2_200) }
        lists["ids"] = ids.filter { $0 < entities.count }
        try database.write { [lists] (context) throws in
            try context.shelves.all.append(contentsOf: lists["all"] ?? [])
            try context.shelves.byCase[1].append(contentsOf: lists["case"] ?? [])
            try context.shelves.byTopic["a"].append(contentsOf: lists["topic"] ?? [])
            try context.shelves.byTopic["b"].append(contentsOf: [1, 2])
            try context.shelves.starred.formUnion(lists["starred"] ?? [])
        }
        let queries: [(String, QueryList<Shelved>)] = [
            ("all", Shelved.query(in: Self.indexes.all)),
            ("case", Shelved.query(in: Self.indexes.byCase, group: 1)),
            ("topic", Shelved.query(in: Self.indexes.byTopic, group: "a")),
            ("starred", Shelved.query(in: Self.indexes.starred)),
            ("none", Shelved.query(in: Self.indexes.byTopic, group: "none")),
            ("none", Shelved.query(in: Self.indexes.byCase, group: 99)),
            ("ids", Shelved.query(ids)),
        ]
        var planned: Set<String> = []
        try database.read { (context) throws in
            for _ in 0..<300 {
                let (name, list) = queries[random.below(queries.count)]
                let content = (lists[name] ?? []).map { entities[$0] }
                let asked = asked(content, &random)
                let query = asked.query(list)
                let expected = asked.ids(content)
                let run = try query.explain(.analyze, in: context)
                #expect(try query.resolve(in: context).map(\.id) == expected, "\(name): \(run)")
                #expect(try query.ids(in: context) == expected, "\(name): \(run)")
                #expect(try query.count(in: context) == expected.count, "\(name): \(run)")
                #expect(try query.first(in: context)?.id == expected.first, "\(name): \(run)")
                #expect(try query.last().resolve(in: context)?.id == expected.last, "\(name): \(run)")
                #expect(run.results == expected.count, "\(name): \(run)")
                #expect(run.plan.list != nil || name == "ids", "\(name): \(run)")
                planned.insert("\(run.plan.access.description.prefix(8))")
            }
        }
        #expect(planned.count > 1, "\(planned)")
    }

    // MARK: Rows read

    /// Returns a database with a list of 20,000 in descending order, in which each year occurs 100 times.
    private func long() throws -> Database {
        let database = try database(
            (0..<20_000).map { id in
                Shelved(
                    id: id, year: id % 200, title: "t\(id % 3)", note: id % 5_000 == 7 ? "a rare word" : "a common one")
            })
        try database.write { (context) throws in
            try context.shelves.all.append(contentsOf: (0..<20_000).reversed())
        }
        return database
    }

    private func run(_ database: Database, _ query: QueryList<Shelved>) throws -> PlanRun {
        try database.read { try query.explain(.analyze, in: $0) }
    }

    @Test("read one page, wherever it is, and count without reading")
    func pages() throws {
        let database = try long()
        let all = Shelved.query(in: Self.indexes.all)
        let page = try run(database, all.limit(10, offset: 15_000))
        #expect(page.rowsRead == 10 && page.results == 10, "\(page)")
        #expect(page.plan.isCountKnown && page.plan.list == "all")
        try database.read { (context) throws in
            #expect(try all.limit(3, offset: 15_000).resolve(in: context).map(\.id) == [4_999, 4_998, 4_997])
            #expect(try all.count(in: context) == 20_000)
            #expect(try all.limit(10, offset: 19_995).count(in: context) == 5)
            #expect(try all.after(Shelved(id: 7)).resolve(in: context).map(\.id) == [6, 5, 4, 3, 2, 1, 0])
            #expect(try all.last().resolve(in: context)?.id == 0)
        }
    }

    @Test("have no place for a hit, and continue after it only in the order of scores")
    func afterHit() throws {
        let notes = (0..<6).map { Shelved(id: $0, note: String(repeating: "oak ", count: 1 + $0 % 3)) }
        let database = try database(notes)
        try database.write { try $0.shelves.all.append(contentsOf: [5, 4, 3, 2, 1, 0, 5]) }
        let oaks = Shelved.filter(.string(\.note, matches: "oak"))
        for list in [Shelved.query(in: Self.indexes.all), Shelved.query([5, 4, 3, 2, 1, 0, 5])] {
            try database.read { (context) throws in
                let hit = try #require(try oaks.limit(1).ranked(in: context).first)
                for other in [list, list.sorted(by: \.year), list.filter(\.year == 0)] {
                    let error = #expect(throws: HornbeamError.self) { try other.after(hit).ids(in: context) }
                    #expect(error?.message.contains("can continue after a hit") == true)
                }
                let best = list.filter(.string(\.note, matches: "oak")).sorted(by: .score)
                #expect(try best.ids(in: context) == [2, 5, 5, 1, 4, 0, 3])
                #expect(try best.after(hit).ids(in: context) == [5, 5, 1, 4, 0, 3])
            }
        }
    }

    @Test("find nothing in an empty list, even after an entity, which is an error in a list that lacks it")
    func behindPosition() throws {
        let database = try database([Shelved(id: 1), Shelved(id: 2)])
        try database.read { (context) throws in
            let position = Shelved(id: 1)
            let empty: [QueryList<Shelved>] = [
                Shelved.query(in: Self.indexes.all), Shelved.query(in: Self.indexes.byTopic, group: "none"),
                Shelved.query([]),
            ]
            for list in empty {
                #expect(try list.after(position).ids(in: context) == [])
                #expect(try list.after(position).count(in: context) == 0)
                #expect(try list.filter(\.year == 0).after(position).last().resolve(in: context) == nil)
            }
            let error = #expect(throws: HornbeamError.self) {
                try Shelved.query([2]).after(position).ids(in: context)
            }
            #expect(error?.message.contains("is not in the list any more") == true)
        }
    }

    @Test("stop once the limit is full, and read no more than an index finds")
    func filtered() throws {
        let database = try long()
        let all = Shelved.query(in: Self.indexes.all)
        let some = try run(database, all.filter(\.title == "t1").limit(5))
        #expect(some.rowsRead <= 32 && some.results == 5, "\(some)")
        #expect(some.plan.access == .ids(count: 20_000) && some.plan.filter != nil)
        let few = try run(database, all.filter(\.year == 7))
        #expect(few.rowsRead == 100 && few.results == 100, "\(few)")
        #expect(
            few.plan.description.hasPrefix(
                "Shelved: index byYear, one range of 100 entries, looked for in list “all”"), "\(few)")
        #expect(try database.results(all.filter(\.year == 7)).map(\.id).prefix(2) == [19_807, 19_607])
        let rare = all.filter(.string(\.note, matches: "rare"))
        let searched = try run(database, rare)
        #expect(searched.rowsRead == 4 && searched.results == 4, "\(searched)")
        #expect(try database.results(rare).map(\.id) == [15_007, 10_007, 5_007, 7])
        #expect(try database.results(rare.sorted(by: \.id)).map(\.id) == [7, 5_007, 10_007, 15_007])
        // The list has the query's order: in this order a small limit is reached sooner.
        let first = try run(database, all.filter(\.year > 50).limit(3))
        #expect(first.rowsRead <= 32 && first.results == 3, "\(first)")
    }

    @Test("take an order from an index, and sort in memory no more than the limit asks for")
    func sorted() throws {
        let database = try long()
        let all = Shelved.query(in: Self.indexes.all)
        let newest = all.sorted(by: \.year.desc).limit(5, offset: 2)
        let taken = try run(database, newest)
        #expect(taken.rowsRead < 200 && taken.plan.order == .byAccess, "\(taken)")
        #expect(try database.results(newest).map(\.id) == [599, 799, 999, 1_199, 1_399])
        let titled = try run(database, all.sorted(by: \.title).limit(5))
        #expect(titled.rowsRead == 20_000 && titled.plan.order == .inMemory(["title"]), "\(titled)")
        // A short list is sorted as a whole: going through an index would take longer.
        try database.write { try $0.shelves.byTopic["few"].append(contentsOf: [5, 3, 4]) }
        let few = Shelved.query(in: Self.indexes.byTopic, group: "few").sorted(by: \.year).limit(2)
        #expect(try run(database, few).rowsRead == 3)
        #expect(try database.results(few).map(\.id) == [3, 4])
        // A set whose entities come last in the order.
        try database.write { try $0.shelves.starred.formUnion((0..<20_000).filter { $0 % 200 > 100 }) }
        let late = Shelved.query(in: Self.indexes.starred).sorted(by: \.year).limit(2)
        #expect(try database.results(late).map(\.id) == [101, 301])
    }

    @Test("can be made of an array, and follow it")
    func atHand() async throws {
        let database = try database((0..<10).map { Shelved(id: $0, year: $0) })
        let query = try await database.write { (context) throws in
            try context.shelves.all.append(contentsOf: [4, 2, 9, 2])
            try context.shelves.byCase[1].append(contentsOf: [8, 7])
            try context.shelves.starred.formUnion([6, 5])
            #expect(try context.shelves.all.query().filter(\.year > 2).resolve().map(\.id) == [4, 9])
            #expect(try context.shelves.all.query().limit(2, offset: 1).resolve().map(\.id) == [2, 9])
            #expect(try context.shelves.byCase[1].query().sorted(by: \.year).resolve().map(\.id) == [7, 8])
            #expect(try context.shelves.byCase[3].query().resolve().isEmpty)
            #expect(try context.shelves.starred.query().resolve().map(\.id) == [5, 6])
            return try context.shelves.all.query().limit(2)
        }
        // The query is a value like any other, also valid in later transactions.
        let found = try await database.read { context in try query.resolve(in: context).map(\.id) }
        #expect(found == [4, 2])
        var results = database.observe(query).makeAsyncIterator()
        #expect(try await results.next()?.entities.map(\.id) == [4, 2])
        try await database.write { try $0.shelves.all.insert(1, at: 0) }
        #expect(try await results.next()?.entities.map(\.id) == [1, 4])
        try await database.write { _ = try Shelved.delete(id: 1, from: &$0) }
        #expect(try await results.next()?.entities.map(\.id) == [4, 2])
    }
}
