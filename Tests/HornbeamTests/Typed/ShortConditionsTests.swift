// SPDX-License-Identifier: Apache-2.0
// Conditions in the words of Swift's collections are equivalent to the longer forms, and use the same indexes.

import Hornbeam
import Testing

@EntityModel
private struct Article {
    @Index<Self>(\.stock) private var byStock
    @Index<Self>(\.isPinned) private var byPin

    let id: Int
    var stock: Int
    var shelf: String?
    var isPinned = false
}

@Suite("Conditions in short")
struct ShortConditionsTests {
    private func stored() throws -> Context {
        var context = Context()
        for id in 0..<40 {
            try Article(
                id: id, stock: id / 2, shelf: id % 4 == 0 ? nil : "s\(id % 4)", isPinned: id % 10 == 0
            ).save(to: &context)
        }
        return context
    }

    @Test("a Bool property is a condition by itself, and its opposite with !")
    func bool() throws {
        let context = try stored()
        #expect(try Article.filter(\.isPinned).ids(in: context) == [0, 10, 20, 30])
        #expect(try Article.filter(\.stock > 12).filter(\.isPinned).ids(in: context) == [30])
        #expect(try Article.filter(!\.isPinned).count(in: context) == 36)
        #expect(try Article.filter(!\.isPinned && \.stock == 0).ids(in: context) == [1])
        let plan = try "\(Article.filter(\.isPinned).explain(in: context))"
        #expect(try plan == "\(Article.filter(\.isPinned == true).explain(in: context))" && plan.contains("byPin"))
    }

    @Test("a list or a range contains a property")
    func contains() throws {
        let context = try stored()
        #expect(try Article.filter([3, 99, 4].contains(\.stock)).ids(in: context) == [6, 7, 8, 9])
        #expect(try Article.filter(Set(["s1"]).contains(\.shelf)).count(in: context) == 10)
        #expect(try Article.filter((3...4).contains(\.stock)).ids(in: context) == [6, 7, 8, 9])
        #expect(try Article.filter((3..<4).contains(\.stock)).ids(in: context) == [6, 7])
        #expect(try Article.filter(("s1"..."s2").contains(\.shelf)).count(in: context) == 20)
        #expect(try Article.filter([Int]().contains(\.stock)).isEmpty(in: context))
        let plan = try "\(Article.filter((3...4).contains(\.stock)).explain(in: context))"
        #expect(plan.contains("byStock"))
        // The standard library's own functions of these names still work.
        #expect([1, 2].contains(2) && (1...3).contains(3) && [\Article.id].contains(\.id))
    }

    @Test("a list says whether it is empty")
    func isEmpty() throws {
        let context = try stored()
        #expect(try !Article.query().isEmpty(in: context))
        #expect(try Article.filter(\.stock > 100).isEmpty(in: context))
        #expect(try Article.query().limit(0).isEmpty(in: context))
    }

    @Test("a live list is a collection of its entities")
    func liveList() async throws {
        let database = try Database.inMemory(models: Article.self)
        try await database.write { try Article(id: 1, stock: 5).save(to: &$0) }
        for try await list in database.observe(Article.query()) {
            #expect(list.count == 1 && list.first?.stock == 5 && list.map(\.id) == [1])
            break
        }
    }
}
