// SPDX-License-Identifier: Apache-2.0
// Conditions, sorts and aggregates that would read a relation of an entity decoded without its relations are refused,
// rather than answered as if nothing were linked. Also the right ways to query.

import Hornbeam
import Testing

@EntityModel
private struct Pair {
    @Index<Self>(\.a) private var byA

    let id: Int
    var a: Int
    @Relationship(inverse: \.many) var one: Pair?
    @Relationship(inverse: \.one) var many: [Pair]?

    var oneName: String { one.map { "\($0.id)" } ?? "none" }
    var double: Int { a * 2 }
}

@Suite("Relations in conditions")
struct RelationReadsTests {
    private let context: Context

    init() throws {
        var context = Context()
        for id in 1...6 { try Pair(id: id, a: id % 3).save(to: &context) }
        for id in 2...4 { try Pair(id: id, a: id % 3, one: .id(1)).save(to: &context) }
        self.context = context
    }

    private func isRefused(_ query: QueryList<Pair>) -> Bool {
        do {
            _ = try query.resolve(in: context)
            return false
        } catch {
            return (error as? HornbeamError).map { $0.code == .invalid && $0.message.contains("reads a relation") }
                ?? false
        }
    }

    @Test("A condition by a relation's property is refused, however it is hidden")
    func conditions() {
        #expect(isRefused(Pair.filter(\.$one.isNone == true)))
        #expect(isRefused(Pair.filter(\.one?.a == 1)))
        #expect(isRefused(Pair.filter(\.many?.count == 3)))
        #expect(isRefused(Pair.filter(\.$many.ids == [2, 3, 4])))
        #expect(isRefused(Pair.filter(\.oneName == "none")))
        #expect(isRefused(Pair.filter(\.a == 7 || \.oneName == "none")))
        #expect(isRefused(Pair.filter(.string(\.oneName, contains: "n"))))
        #expect(isRefused(Pair.filter(.any(\.$many, where: \.oneName == "none"))))
    }

    @Test("So are sorts, aggregates and groups by one")
    func others() throws {
        #expect(isRefused(Pair.query().sorted(by: \.oneName)))
        #expect(throws: HornbeamError.self) { try Pair.query().sum(\.$many.count, in: context) }
        #expect(throws: HornbeamError.self) { try Pair.query().distinct(\.oneName, in: context) }
        #expect(throws: HornbeamError.self) {
            try Pair.query().grouped(by: \.oneName).aggregate(.count).resolve(in: context)
        }
    }

    @Test("Other computed properties, and the relation's own conditions, are answered")
    func allowed() throws {
        func ids(_ query: QueryList<Pair>) throws -> [Int] { try query.resolve(in: context).map(\.id).sorted() }
        #expect(try ids(Pair.filter(\.double == 2)) == [1, 4])
        #expect(try ids(Pair.filter(.has(\.$one, \.id == 1))) == [2, 3, 4])
        #expect(try ids(Pair.filter(\.$one == .id(1))) == [2, 3, 4])
        #expect(try ids(Pair.filter(.none(\.$one))) == [1, 5, 6])
        #expect(try ids(Pair.filter(\.$many.count == 3)) == [1])
        #expect(try Pair.query().sorted(by: \.$many.count.desc).first(in: context)?.id == 1)
        // Loaded relations may be read at any time.
        #expect(try Pair.query(2).id(\.$one).resolve(in: context)?.$one.id == 1)
    }

    @Test("A deleted entity has the ids of its relations, which may be read")
    func deleted() throws {
        var context = context
        try Pair.delete(id: 3, from: &context)
        try Pair.delete(id: 6, from: &context)
        let found = try Deleted<Pair>.filter(\.entity.$one.id == 1).resolve(in: context)
        #expect(found.map(\.id) == [3])
    }

    @Test("Chains of conditions may be long, and too deep nesting is refused")
    func depth() async throws {
        let context = context
        // On the small stack of a task.
        let (long, lists, deep) = try await Task.detached {
            var any: Hornbeam.Predicate<Pair> = \.a == 100
            var list = Pair.filter(\.a == 100)
            for number in 1...20_000 {
                any = any || \.double == number
                if number <= 4_000 { list = list.or(\.double == number) }
            }
            // Nested on the right side.
            var all: Hornbeam.Predicate<Pair> = \.a == 2
            for number in 10..<2_000 { all = \.a != number && all }
            guard try Pair.filter(all).count(in: context) == 2 else { throw CancellationError() }
            var nested: Hornbeam.Predicate<Pair> = \.a == 0
            for number in 0..<5_000 { nested = number % 2 == 0 ? nested || \.a == number : nested && \.a == number }
            let refused = #expect(throws: HornbeamError.self) { try Pair.filter(nested).count(in: context) }
            return (try Pair.filter(any).count(in: context), try list.count(in: context), refused)
        }.value
        #expect(long == 4 && lists == 4)
        #expect(deep?.message.contains("128 deep") == true)
    }
}
