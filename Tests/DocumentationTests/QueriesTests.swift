// SPDX-License-Identifier: Apache-2.0
// The code of the articles “Queries” and “Full text”.

import Hornbeam
import Testing

@EntityModel
struct Product {
    @Index<Self>(\.category, \.price.desc, \.name) private var byCategory

    let id: Int
    var name: String
    var category: String
    var price: Double
    var origin: String = ""
    var notes: String = ""
}

@EntityModel
struct Page {
    @FullTextIndex<Self>(\.title, \.text) private var search

    let id: Int
    var title: String
    var text: String
    var language: String
}

@Suite("Queries, as the articles show them")
struct QueriesTests {
    private func shop() throws -> Context {
        var context = Context()
        for id in 1...60 {
            let isTea = id <= 41
            try Product(
                id: id, name: "Product \(id)", category: isTea ? "tea" : "coffee", price: Double(id % 19),
                origin: id == 9 ? "Jasmine hills" : "", notes: id == 7 ? "a green leaf" : ""
            ).save(to: &context)
        }
        return context
    }

    private let query =
        Product
        .filter(\.category == "tea" && \.price < 20)
        .sorted(by: \.price.desc, \.name)
        .limit(10)

    @Test("One query is resolved, counted, explained")
    func resolve() throws {
        let context = try shop()
        let products = try query.resolve(in: context)
        let first = try query.first(in: context)
        let count = try query.count(in: context)
        let ids = try query.ids(in: context)
        #expect(products.map(\.id) == [18, 37, 17, 36, 16, 35, 15, 34, 14, 33])
        #expect(first?.id == 18 && count == 10 && ids == products.map(\.id))
        #expect(
            "\(try query.explain(in: context))" == """
                Product: index byCategory, one range of 41 entries
                  limit 10 within the access
                  count known without reading
                """)
    }

    @Test("By ids, in their order; by words of any property; behind a limit")
    func others() throws {
        let context = try shop()
        let one = try Product.query(7).resolve(in: context)
        let some = try Product.query([7, 9, 800, 8]).resolve(in: context)
        #expect(one?.name == "Product 7" && some.map(\.id) == [7, 9, 8])
        #expect(try Product.filter(.string(\.name, \.origin, contains: "jas")).ids(in: context) == [9])
        #expect(try Product.filter(.string(\.notes, matches: "green leaf")).sorted(by: \.id).ids(in: context) == [7])
        #expect(try Product.filter(\.id > 5).limit(3).filter(\.id != 7).ids(in: context) == [6, 8])
        #expect(try Product.filter(\.id == 1).or(\.id == 2).ids(in: context) == [1, 2])
    }

    @Test("Full text is ranked, narrowed by other conditions, and a filter once it is sorted")
    func fullText() throws {
        var context = Context()
        try Page(id: 1, title: "Trees", text: "Pages are copied on write.", language: "en").save(to: &context)
        try Page(id: 2, title: "Copy on write", text: "A write makes a copy.", language: "en").save(to: &context)
        try Page(id: 3, title: "Copy on write", text: "Une copie.", language: "fr").save(to: &context)
        let hits =
            try Page
            .filter(.string(\.title, \.text, matches: "copy on write"))
            .filter(\.language == "en")
            .limit(20)
            .ranked(in: context)
        #expect(hits.map(\.id) == [2, 1])
        #expect(try hits[0].entity?.title == "Copy on write")
        let sorted = Page.filter(.string(\.title, \.text, matches: "copy")).sorted(by: \.id.desc)
        #expect(try sorted.ids(in: context) == [3, 2])
        #expect(throws: HornbeamError.self) { try sorted.ranked(in: context) }
    }
}
