// SPDX-License-Identifier: Apache-2.0
// Nested conditions, lists and searches on the smallest stack that a thread is likely to have. They work up to a
// bound, and are refused beyond it.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private struct Link: Codable, Hashable, Sendable {
    var kind: Int
}

@EntityModel
private struct Knot {
    @FullTextIndex<Self>(\.text) private var words

    let id: Int
    var number: Int
    var text = "common w1"
    var links: [Link] = [Link(kind: 1)]

    @Relationship(inverse: \.to) var from: [Knot]?
    @Relationship(inverse: \.from) var to: Knot?
}

private typealias Condition = Hornbeam.Predicate<Knot>

private func equal(_ number: Int) -> Condition { \.number == number }
/// A condition that holds for every entity.
private func unlike(_ number: Int) -> Condition { \.number != -1 - number }

/// A query that a loop nests to a given depth and then runs.
private struct Tower: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The greatest depth that works; nil if depth doesn't matter.
    let bound: Int?
    var code = HornbeamError.Code.tooLarge
    let list: @Sendable (_ depth: Int) -> QueryList<Knot>

    static func condition(
        _ name: String, _ bound: Int?, _ step: @escaping @Sendable (Condition, Int) -> Condition
    ) -> Tower {
        Tower(testDescription: name, bound: bound) { depth in
            var condition: Condition = \.number == 5
            for level in 0..<depth { condition = step(condition, level) }
            return Knot.filter(condition)
        }
    }

    static func list(
        _ name: String, _ bound: Int?, _ step: @escaping @Sendable (QueryList<Knot>, Int) -> QueryList<Knot>
    ) -> Tower {
        Tower(testDescription: name, bound: bound) { depth in
            var list = Knot.filter(\.number >= 0)
            for level in 0..<depth { list = step(list, level) }
            return list
        }
    }

    static func search(
        _ name: String, _ bound: Int?,
        _ step: @escaping @Sendable (SearchQuery<Knot>, Int) -> SearchQuery<Knot>
    ) -> Tower {
        Tower(testDescription: name, bound: bound, code: .invalid) { depth in
            var search = SearchQuery<Knot>.words("common")
            for level in 0..<depth { search = step(search, level) }
            _ = search == search
            _ = search.hashValue
            _ = "\(search)"
            return Knot.filter(.string(\.text, matches: search))
        }
    }

    static let conditions: [Tower] = [
        condition("not", Filter.maximumDepth) { condition, _ in !condition },
        condition("or, and", Filter.maximumDepth) { condition, level in
            level % 2 == 0 ? condition || equal(level) : condition && unlike(level)
        },
        condition("and, or, on the right", Filter.maximumDepth) { condition, level in
            level % 2 == 0 ? unlike(level) && condition : equal(level) || condition
        },
        condition("any related", Filter.maximumDepth / Filter.linkDepth) { condition, _ in .any(\.$to, where: condition)
        },
        condition("all related", Filter.maximumDepth / Filter.linkDepth) { condition, _ in
            .all(\.$from, where: condition)
        },
        condition("or", nil) { $0 || equal($1) },
        condition("and", nil) { $0 && unlike($1) },
    ]

    static let elements: [Tower] = [
        Tower(testDescription: "elements, not", bound: Filter.maximumDepth) { depth in
            Knot.filter(.any(\.links) { link in (0..<depth).reduce(link.kind == 1) { inner, _ in !inner } })
        },
        Tower(testDescription: "elements, or, and", bound: Filter.maximumDepth) { depth in
            Knot.filter(
                .any(\.links) { link in
                    (0..<depth).reduce(link.kind == 1) { inner, level in
                        if level % 2 == 0 { return inner || link.kind == level }
                        return inner && link.kind != -1
                    }
                })
        },
        Tower(testDescription: "elements, or", bound: nil) { depth in
            Knot.filter(.any(\.links) { link in (0..<depth).reduce(link.kind == 1) { $0 || link.kind == $1 } })
        },
    ]

    static let lists: [Tower] = [
        list("or a limited list", ListParts.maximumDepth) { $0.or(Knot.filter(equal($1)).limit(1)) },
        list("a limited list or", ListParts.maximumDepth) { Knot.filter(equal($1)).limit(1).or($0) },
        list("and a limited list", ListParts.maximumDepth) { list, _ in list.and(Knot.query().limit(50)) },
        list("filter behind a limit", ListParts.maximumDepth + 1) { $0.filter(unlike($1)).limit(1_000 + $1) },
        list("sort behind a limit", ListParts.maximumDepth + 1) { $0.sorted(by: \.number).limit(1_000 + $1) },
        list("first of each", ListParts.maximumDepth) { list, _ in list.first(ofEach: \.number) },
        list("last", ListParts.maximumDepth) { list, _ in list.last().list },
        list("to-one", ListParts.maximumDepth) { list, _ in list.related(\.$to) },
        list("to-many", ListParts.maximumDepth) { list, _ in list.related(\.$from).flatMap() },
        list("nested to-one", ListParts.maximumDepth) { list, _ in
            Knot.query().with(\.$to) { _ in Query(list) }
        },
        list("nested to-many", ListParts.maximumDepth) { list, _ in Knot.query().with(\.$from) { _ in list } },
        list("or, and of conditions", Filter.maximumDepth) { list, level in
            level % 2 == 0 ? list.or(equal(level)) : list.filter(unlike(level))
        },
        list("filter", nil) { $0.filter(unlike($1)) },
        list("or", nil) { $0.or(equal($1)) },
        list("limit", nil) { $0.limit(1_000_000 - $1) },
    ]

    static let searches: [Tower] = [
        search("boosted", 99) { search, _ in search.boosted(1) },
        search("without", 99) { $0.without(.words("x\($1)")) },
        search("within a property", 99) { search, _ in search.in(\.text) },
        search("or, and", 99) { $1 % 2 == 0 ? $0 || .words("y\($1)") : $0 && (.everything) },
        search("without, on the right", 99) { search, _ in SearchQuery.everything.without(search) },
        search("or", nil) { $0 || .words("w\($1)") },
    ]
}

@Suite("Deep queries")
struct DeepQueriesTests {
    private func expect(_ tower: Tower) async throws {
        try await inSmallThread {
            let database = try Database.inMemory(models: Knot.self)
            try database.write { context in
                // The knots form a ring.
                for id in 0..<4 { try Knot(id: id, number: id, to: .id((id + 1) % 4)).save(to: &context) }
            }
            func ask(_ depth: Int) throws -> Int {
                let list = tower.list(depth)
                return try database.read { context in
                    _ = try list.explain(in: context)
                    let found = try list.resolve(in: context)
                    #expect(try list.count(in: context) == found.count)
                    return found.count
                }
            }
            guard let bound = tower.bound else {
                _ = try ask(3_000)
                return
            }
            _ = try ask(bound)
            for depth in [bound + 1, bound + 2, 20_000] {
                let error = #expect(throws: HornbeamError.self, "\(depth)") { try ask(depth) }
                #expect(error?.code == tower.code, "\(depth): \(error?.message ?? "")")
            }
        }
    }

    @Test("conditions within conditions", arguments: Tower.conditions)
    fileprivate func conditions(tower: Tower) async throws { try await expect(tower) }

    @Test("conditions on elements", arguments: Tower.elements)
    fileprivate func elements(tower: Tower) async throws { try await expect(tower) }

    @Test("lists within lists", arguments: Tower.lists)
    fileprivate func lists(tower: Tower) async throws { try await expect(tower) }

    @Test("searches within searches", arguments: Tower.searches)
    fileprivate func searches(tower: Tower) async throws { try await expect(tower) }

    @Test("lists of the greatest depth over conditions of the greatest depth")
    func together() async throws {
        try await inSmallThread {
            var context = Context()
            for id in 0..<4 { try Knot(id: id, number: id, to: .id((id + 1) % 4)).save(to: &context) }
            var condition: Condition = \.number == 5
            for level in 0..<Filter.maximumDepth / (Filter.linkDepth + 1) {
                condition = .any(\.$to, where: condition) || equal(level)
            }
            var list = Knot.filter(condition)
            for _ in 0..<ListParts.maximumDepth { list = list.related(\.$to) }
            let count = try list.resolve(in: context).count
            #expect(count == 2)
        }
    }

    @Test("rows of elements, filtered again and again")
    func unnested() async throws {
        try await inSmallThread {
            var context = Context()
            try Knot(id: 1, number: 1).save(to: &context)
            func ask(_ depth: Int) throws -> Int {
                var rows = Knot.query().unnest(\.links)
                for level in 0..<depth { rows = rows.filter { $0.kind != -level - 1 } }
                return try rows.resolve(in: context).count
            }
            #expect(try ask(Filter.maximumDepth) == 1)
            let error = #expect(throws: HornbeamError.self) { try ask(20_000) }
            #expect(error?.code == .tooLarge)
        }
    }
}
