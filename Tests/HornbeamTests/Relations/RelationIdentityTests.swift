// SPDX-License-Identifier: Apache-2.0
// The target of a to-one relation in conditions and groups: by its id or as a value, in all spellings. And key paths
// through a relation that can't be queried, which are refused on an empty store too.

import Hornbeam
import Testing

@EntityModel
private struct Show {
    let id: Int
    var title = ""
    @Relationship(inverse: \.show) var parts: [Part]?
}

@EntityModel
private struct Part {
    let id: Int
    var length = 0
    @Relationship(inverse: \.parts) var show: Show?
    @Relationship() var host: Host?
    @Relationship() var guests: [Host]?
    /// A property whose name begins like a relation's.
    var showNumber: Int { length }
    var shown: Show? { Show(id: length) }
}

@EntityModel
private struct Host: Equatable {
    let id: String
    var name = ""
}

@EntityModel
private struct Holder<Item: Codable & Sendable> {
    let id: Int
    var item: Item
    @Relationship() var next: Show?
}

@Suite("The target of a relation")
struct RelationIdentityTests {
    private var context = Context()

    init() throws {
        for id in 1...3 { try Show(id: id, title: "show \(id)").save(to: &context) }
        for id in ["a", "b"] { try Host(id: id, name: id).save(to: &context) }
        // 1 and 4 link to show 1, 2 and 5 to show 2, 6 to a show that isn't stored, 3 to none.
        let shows: [Int: Int] = [1: 1, 2: 2, 4: 1, 5: 2, 6: 9]
        for id in 1...6 {
            var part = Part(id: id, length: id * 10)
            if let show = shows[id] { part.$show = .id(show) }
            if id % 2 == 0 { part.$host = .id("a") }
            try part.save(to: &context)
        }
    }

    private func ids(_ predicate: Hornbeam.Predicate<Part>) throws -> [Int] {
        #expect(try Part.filter(predicate).resolve(in: Context()).isEmpty)
        return try Part.filter(predicate).ids(in: context)
    }

    @Test("is compared by its id in any spelling")
    func byID() throws {
        #expect(try ids(\.show?.id == 1) == [1, 4])
        #expect(try ids(\.show!.id == 1) == [1, 4])
        #expect(try ids(\.$show.id == 1) == [1, 4])
        #expect(try ids(\.$show == 1) == [1, 4])
        #expect(try ids(\.$show == .id(1)) == [1, 4])
        #expect(try ids(\.show?.id != 1) == [2, 3, 5, 6])
        #expect(try ids(\.$show != 1) == [2, 3, 5, 6])
        #expect(try ids(\.show!.id != 1) == [2, 3, 5, 6])
        #expect(try ids(\.show?.id > 1) == [2, 5])
        #expect(try ids(.value(\.show?.id, in: [1, 2])) == [1, 2, 4, 5])
        #expect(try ids(.value(\.show!.id, in: [1, 7])) == [1, 4])
        #expect(try ids(.value(\.show?.id, in: [2, nil])) == [2, 3, 5, 6])
        #expect(try ids(\.host?.id == "a") == [2, 4, 6])
        #expect(try ids(\.show?.id == 1 && \.host?.id == "a") == [4])
        #expect(try Holder<Int>.filter(\.next?.id == 1).resolve(in: context).isEmpty)
    }

    @Test("is compared with an entity by id")
    func byEntity() throws {
        let show = Show(id: 2, title: "another title")
        #expect(try ids(\.show == show) == [2, 5])
        #expect(try ids(\.show != show) == [1, 3, 4, 6])
        #expect(try ids(\.$show == show) == [2, 5])
        #expect(try ids(\.$show != show) == [1, 3, 4, 6])
        #expect(try ids(\.$show == .relation(show)) == [2, 5])
        #expect(try ids(\.$show == show.id) == [2, 5])
        // Entities that are Equatable.
        #expect(try ids(\.host == Host(id: "a")) == [2, 4, 6])
        #expect(try ids(\.host != Host(id: "a")) == [1, 3, 5])
        #expect(try ids(\.$host == Host(id: "a")) == [2, 4, 6])
        let host: Host? = Host(id: "a")
        #expect(try ids(\.host == host) == [2, 4, 6])
        #expect(try ids(\.host != host) == [1, 3, 5])
        // A property of the program's own that gives an entity.
        #expect(try ids(\.shown == Show(id: 30)) == [3])
    }

    @Test("may be missing: a link to an unstored entity counts as none")
    func nowhere() throws {
        #expect(try ids(\.show == nil) == [3, 6])
        #expect(try ids(\.$show == nil) == [3, 6])
        #expect(try ids(\.$show == .null) == [3, 6])
        #expect(try ids(\.show?.id == nil) == [3, 6])
        #expect(try ids(\.show != nil) == [1, 2, 4, 5])
        #expect(try ids(\.$show != nil) == [1, 2, 4, 5])
        #expect(try ids(\.host == nil) == [1, 3, 5])
        #expect(try ids(\.shown == nil) == [])
    }

    @Test("is planned along the relation, as .has is")
    func plan() throws {
        let plans = try [\Part.show?.id == 1, \.$show == 1, .has(\.$show, \.id == 1)].map {
            "\(try Part.filter($0).explain(in: context))"
        }
        #expect(plans[0] == plans[2] && plans[1] == plans[2])
    }

    @Test("groups entities, in the order of ids, with those without a target first")
    func groups() throws {
        func found<Key: Equatable>(_ rows: [(key: Key, values: Int)], _ expected: [(Key, Int)]) -> Bool {
            rows.map(\.key) == expected.map(\.0) && rows.map(\.values) == expected.map(\.1)
        }
        let all: [(Int?, Int)] = [(nil, 2), (1, 2), (2, 2)]
        #expect(found(try Part.query().grouped(by: \.$show.id).aggregate(.count).resolve(in: context), all))
        #expect(found(try Part.query().grouped(by: \.show?.id).aggregate(.count).resolve(in: context), all))
        let sums = try Part.query().grouped(by: \.show?.id).aggregate(.sum(\.length)).resolve(in: context)
        #expect(found(sums, [(nil, 90), (1, 50), (2, 70)]))
        let linked = Part.filter(\.show != nil)
        #expect(
            found(try linked.grouped(by: \.show!.id).aggregate(.count).resolve(in: context), [(1, 2), (2, 2)]))
        let pairs = try linked.grouped(by: \.show?.id, \.host?.id).aggregate(.count).resolve(in: context)
        #expect(
            pairs.map { "\($0.key)" } == [
                "(Optional(1), nil)", "(Optional(1), Optional(\"a\"))", "(Optional(2), nil)",
                "(Optional(2), Optional(\"a\"))",
            ])
        // Other spellings of these keys.
        #expect(try Part.query().distinct(\.show?.id, in: context) == [1, 2])
        #expect(try Part.query().aggregate(.countDistinct(\.show?.id), in: context) == 2)
        #expect(try Part.query().max(\.$show.id, in: context) == 2)
        let firsts = Part.query().sorted(by: \.length.desc).first(ofEach: \.show?.id)
        #expect(try firsts.ids(in: context) == [6, 4, 5])
        let limited = Part.query().sorted(by: \.id).limit(2).grouped(by: \.show?.id).aggregate(.count)
        #expect(found(try limited.resolve(in: context), [(1, 1), (2, 1)]))
        // There is no id that the error could name.
        let error = #expect(throws: HornbeamError.self) {
            try Part.query().grouped(by: \.show!.id).aggregate(.count).resolve(in: context)
        }
        #expect(error?.message.contains(#"write \.$show.id"#) == true)
    }

    @Test("Live groups follow links, without a change of the entities themselves")
    func live() async throws {
        let database = try Database.inMemory(models: Show.self, Part.self, Host.self)
        try await database.write { context in
            for id in 1...2 { try Show(id: id).save(to: &context) }
            for id in 1...3 { try Part(id: id, show: .id(1)).save(to: &context) }
        }
        let query = Part.query().grouped(by: \.show?.id).aggregate(.count)
        var groups = database.observe(query).makeAsyncIterator()
        #expect(try await groups.next()?.rows.map(\.values) == [3])
        try await database.write { context in try Show(id: 2, parts: .appending(ids: [3])).save(to: &context) }
        let moved = try await groups.next()
        #expect(moved?.rows.map(\.key) == [1, 2] && moved?.rows.map(\.values) == [2, 1])
        var counts = database.observe(Part.query(), aggregating: .countDistinct(\.show?.id)).makeAsyncIterator()
        #expect(try await counts.next() == 2)
        try await database.write { context in try Show.delete(id: 2, from: &context) }
        #expect(try await counts.next() == 1)
    }

    @Test("Key paths through a relation are refused on an empty store too, and the error has the right spelling")
    func refused() throws {
        func message(_ query: () throws -> Any) -> String {
            do {
                return "\(try query())"
            } catch {
                return (error as? HornbeamError)?.message ?? "\(error)"
            }
        }
        let empty = Context()
        let has = #"write .has(\.$show, …)"#
        let any = #"write .any(\.$guests, where: …)"#
        #expect(message { try Part.filter(\.show?.title == "a").resolve(in: empty) }.contains(has))
        #expect(message { try Part.filter(\.show!.title == "a").resolve(in: context) }.contains(has))
        #expect(message { try Part.filter(\.length == 3 && \.show?.title == "a").count(in: empty) }.contains(has))
        #expect(message { try Part.filter(\.length == 3 || !(\.show?.title == "a")).count(in: empty) }.contains(has))
        #expect(message { try Part.filter(\.$show.isNone == true).resolve(in: empty) }.contains(has))
        #expect(message { try Part.filter(\.guests?.count == 3).resolve(in: empty) }.contains(any))
        #expect(message { try Part.filter(\.$guests == .ids(["a"])).resolve(in: empty) }.contains(any))
        #expect(message { try Part.query().sorted(by: \.show?.title).resolve(in: empty) }.contains(has))
        #expect(message { try Part.query().sorted(by: .by(\.show?.title)).first(in: empty) as Any }.contains(has))
        let index = #"declare @Index<Self>(\.$show.id)"#
        #expect(message { try Part.query().sorted(by: \.show?.id).resolve(in: empty) }.contains(index))
        let groups = Part.query().grouped(by: \.show?.title).aggregate(.count)
        #expect(message { try groups.resolve(in: empty) }.contains(has))
        let byParts = Show.filter(.any(\.$parts, where: \.show?.title == "a"))
        #expect(message { try byParts.resolve(in: empty) }.contains(has))
        let withParts = Show.query().with(\.$parts) { $0.filter(\.show?.title == "a") }
        #expect(message { try withParts.resolve(in: context) }.contains(has))
        // Properties whose names only begin like a relation's are allowed.
        #expect(try Part.filter(\.showNumber == 30).ids(in: context) == [3])
        #expect(try Part.filter(\.shown?.id == 30).ids(in: context) == [3])
        #expect(try Part.query().sorted(by: \.shown?.id.desc).first(in: context)?.id == 6)
    }
}
