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
    var origin: String?
    var notes: String = ""
    var tags: [String] = []

    @Relationship(inverse: \.product) var reviews: [Review]?
    @Relationship() var maker: Maker?
}

@EntityModel
struct Review {
    let id: Int
    var stars: Int
    @Relationship(.required, inverse: \.reviews) var product: Product?
}

@EntityModel
struct Maker {
    let id: Int
    var country: String
}

@EntityModel
struct Page {
    @FullTextIndex<Self>(\.title, \.text) private var search

    let id: Int
    var title: String
    var text: String
    var language: String
}

struct CommaWords: TextTokenizer {
    var name: String { "org.example.comma-words" }
    var version: Int { 1 }

    func forEachToken(in text: String, _ emit: (String) -> Void) {
        for part in text.split(separator: ",") { emit(part.lowercased()) }
    }
}

@EntityModel
struct Labelled {
    @FullTextIndex<Self>(\.labels, analyzer: .custom(CommaWords())) private var search

    let id: Int
    var labels: [String]
}

@EntityModel
struct Story {
    @FullTextIndex<Self>(\.title, \.text, analyzer: .unicode(stemming: .english)) private var search
    @FullTextIndex<Self>(\.title, \.text, analyzer: .unicode) private var typing

    let id: Int
    var title: String
    var text: String
}

@EntityModel
struct Treatise {
    @FullTextIndex<Self>(\.title, \.text, where: \.isPublished) private var search

    let id: Int
    var title: String
    var text: String
    var isPublished = false
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
        let last = try query.last(in: context)
        let count = try query.count(in: context)
        let ids = try query.ids(in: context)
        #expect(products.map(\.id) == [18, 37, 17, 36, 16, 35, 15, 34, 14, 33])
        #expect(first?.id == 18 && last?.id == 33 && count == 10 && ids == products.map(\.id))
        try query.forEach(in: context) { product in print(product.name) }
        print(try query.explain(in: context))
        #expect(
            "\(try query.explain(in: context))" == """
                Product: index byCategory, one range of 41 entries
                  limit 10 within the access
                  count known without reading
                """)
    }

    @Test("By ids, in their order; by words of any property; after a limit")
    func others() throws {
        let context = try shop()
        let one = try Product.query(7).resolve(in: context)
        let some = try Product.query([7, 9, 8]).resolve(in: context)
        #expect(one?.name == "Product 7" && some.map(\.id) == [7, 9, 8])
        #expect(try Product.query([9, 800, 7]).ids(in: context) == [9, 7])
        #expect(try Product.filter(.string(\.name, \.origin, contains: "jas")).ids(in: context) == [9])
        #expect(try Product.filter(.string(\.notes, matches: "green leaf")).sorted(by: \.id).ids(in: context) == [7])
        #expect(try Product.filter(\.id > 5).limit(3).filter(\.id != 7).ids(in: context) == [6, 8])
        #expect(try Product.filter(\.id == 1).or(\.id == 2).ids(in: context) == [1, 2])
    }

    @Test("Some properties alone")
    func properties() throws {
        let context = try shop()
        let query = Product.filter(\.category == "tea" && \.price < 20).sorted(by: \.price.desc, \.name).limit(10)
        let names = try query.select(\.name).resolve(in: context)
        let rows = try query.select(\.name, \.price).resolve(in: context)
        let products = try query.resolve(in: context)
        #expect(names == products.map(\.name) && rows.map(\.1) == products.map(\.price))
    }

    @Test("The table's conditions")
    func conditions() throws {
        var context = try shop()
        try Review(id: 1, stars: 5, product: .id(3)).save(to: &context)
        try Review(id: 2, stars: 1, product: .id(3)).save(to: &context)
        try Review(id: 3, stars: 2, product: .id(4)).save(to: &context)
        var product = Product(id: 3, name: "No. 77", category: "tea", price: 3, tags: ["bio"])
        product.$maker = .relation(Maker(id: 1, country: "JP"))
        try product.save(to: &context)
        func ids(_ predicate: Predicate<Product>) throws -> [Int] {
            try Product.filter(predicate).sorted(by: \.id).ids(in: context)
        }
        #expect(try ids(.value(\.price, in: 5...20)).count == 42)
        #expect(try ids(.value(\.price, in: [4, 8])) == [4, 8, 23, 27, 42, 46])
        #expect(try ids(.array(\.tags, contains: "bio")) == [3])
        #expect(try ids(.string(\.name, matches: #/No\. \d+/#)) == [3])
        #expect(try ids(.string(\.name, passes: "is long") { $0.count > 40 }).isEmpty)
        #expect(try ids(.any(\.$reviews, where: \.stars > 3)) == [3])
        #expect(try ids(.any(\.$reviews)) == [3, 4])
        #expect(try ids(.value(\.price, notIn: [4, 8])).count == 54)
        #expect(try ids(\.$maker.id == 1) == [3] && ids(.value(\.$maker.id, in: [7, 8])).isEmpty)
        #expect(try ids(.has(\.$maker, \.country == "JP")) == [3])
        #expect(try ids(\.$reviews.count > 1) == [3])
        #expect(try Product.query().sorted(by: \.$reviews.count.desc).limit(2).ids(in: context) == [3, 4])
    }

    @Test("The entities that a query finds are changed and deleted")
    func bulk() throws {
        let database = try Database.inMemory(models: Product.self)
        let products: [Product] = try shop().all()
        let cheap = try database.query("SELECT name, price FROM Product WHERE price < ? ORDER BY name", 5)
        #expect(cheap.isEmpty)
        try database.write { context in
            try products.save(to: &context)
        }
        try database.write { context in
            let cheaper = try Product.filter(\.category == "tea").update(in: &context) { $0.price -= 1 }
            let gone = try Product.filter(\.price <= 0).delete(from: &context)
            print(cheaper, gone)
            #expect(cheaper == 41 && gone == 6)
        }
    }

    @Test("Pages that continue after an entity; aggregates and groups")
    func pagesAndAggregates() throws {
        let context = try shop()
        let page = try query.resolve(in: context)
        if let last = page.last {
            let next = try query.after(last).resolve(in: context)
            print(next.count)
            #expect(next.first?.id == 13 && next.count == 10)
        }
        let all = Product.query()
        let total = try all.sum(\.price, in: context)
        let mean = try all.average(\.price, in: context)
        let cheapest = try all.min(\.price, in: context)
        let categories = try all.distinct(\.category, in: context)
        let names = try all.sorted(by: \.name).groupConcat(\.name, separator: ", ", in: context)
        #expect(total == 519 && mean == total / 60 && cheapest == 0 && categories == ["coffee", "tea"])
        #expect(names.hasPrefix("Product 1, Product 10, Product 11"))

        let groups = try all.grouped(by: \.category)
            .aggregate(.count, .average(\.price), .max(\.price))
            .having { count, _, _ in count > 1 }
            .resolve(in: context)
        for (category, (count, average, most)) in groups {
            print(category, count, average ?? 0, most ?? 0)
        }
        #expect(groups.map { "\($0.key) \($0.values.0)" } == ["coffee 19", "tea 41"])
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
        for hit in hits {
            print(hit.id, hit.score, try hit.entity?.title ?? "")
        }
        #expect(hits.map(\.id) == [2, 1])
        #expect(try hits[0].entity?.title == "Copy on write")
        try moreThanWords(context)
        let sorted = Page.filter(.string(\.title, \.text, matches: "copy")).sorted(by: \.id.desc)
        #expect(try sorted.ids(in: context) == [3, 2])
        #expect(throws: HornbeamError.self) { try sorted.ranked(in: context) }
    }

    private func moreThanWords(_ context: Context) throws {
        let found =
            try Page
            .filter(.string(\.title, \.text, matches: .phrase("copy on write").boosted(2) || .prefix("snapsh")))
            .limit(10)
            .ranked(in: context)
        #expect(found.map(\.id) == [2, 3] || found.map(\.id) == [3, 2])
        let written = try SearchQuery<Page>(parsing: #"title:"copy on write" OR (snapshot AND NOT virtual)"#)
        let some = Page.filter(.string(\.title, \.text, matches: written)).filter(\.language == "en")
        #expect(try some.ids(in: context) == [2])
        for hit in found {
            print(try hit.snippet(\.title, \.text, words: 12)?.marked("<b>", "</b>") ?? "")
        }
        #expect(try found[0].snippet(\.title, \.text)?.marked("<b>", "</b>") == "<b>Copy on write</b>")
        let query = SearchQuery<Page>(lenient: "the history of copies", matching: .all).leavingOut(.english)
        #expect(query == SearchQuery<Page>(lenient: "history copies", matching: .all))
        let index = SearchIndex<Page>(\.title, \.text)
        let words = try index.completions(of: "copy on wr", in: context).map(\.word)
        #expect(words == ["write"])
        let meant = try index.corrected("databsae copy", in: context)
        #expect(meant == nil)
        #expect(try index.corrected("tres copy", in: context) == "trees copy")
        let page = try #require(try context.find(2) as Page?)
        let alike = try index.query(like: page, in: context)
        #expect(try Page.filter(.string(\.title, \.text, matches: alike)).ids(in: context).contains(3))
    }

    @Test("Pages, counts, orders and explained scores of a search")
    func searchPages() throws {
        var context = Context()
        for id in 1...30 {
            try Page(id: id, title: "Copy \(id % 3)", text: "Copied on write.", language: id < 3 ? "fr" : "en")
                .save(to: &context)
        }
        let search = Page.filter(.string(\.title, \.text, matches: "copy")).filter(\.language == "en")
        let total = try search.count(in: context)
        let page = try search.limit(20).ranked(in: context)
        if let last = page.last {
            let next = try search.after(last).limit(20).ranked(in: context)
            #expect(total == 28 && next.count == 8 && Set(page.map(\.id)).isDisjoint(with: next.map(\.id)))
        }
        let byTitle = try search.sorted(by: .score, .by(\.title)).limit(20).ranked(in: context)
        #expect(try byTitle.map { try $0.entity?.title } == Array(repeating: "Copy 0", count: 10) + page1)
        if let hit = page.first, let why = try search.explainScore(of: hit.id, in: context) {
            print(why)
            #expect(why.value == hit.score)
        }
    }

    private var page1: [String] { Array(repeating: "Copy 1", count: 9) + ["Copy 2"] }

    @Test("A full-text index of some entities is searched with its condition")
    func someEntities() throws {
        var context = Context()
        for id in 1...4 {
            try Treatise(id: id, title: "On copies", text: "", isPublished: id > 2).save(to: &context)
        }
        let found = Treatise.filter(.string(\.title, \.text, matches: "copies")).filter(\.isPublished)
        #expect(try found.ranked(in: context).map(\.id) == [3, 4])
        #expect(throws: HornbeamError.self) {
            try Treatise.filter(.string(\.title, \.text, matches: "copies")).ranked(in: context)
        }
    }

    @Test("A second index of the same properties finds words while they are typed")
    func typing() throws {
        var context = Context()
        try Story(id: 1, title: "On happiness", text: "Running in Zürich").save(to: &context)
        let found = Story.filter(.string(\.title, \.text, matches: "runs happily"))
        #expect(try found.ids(in: context) == [1])
        let typed = SearchQuery<Story>(lenient: "zurich happin", isTyping: true)
        let shown = try Story.filter(.string(\.title, \.text, matches: typed, using: "typing")).ranked(in: context)
        let words = try SearchIndex<Story>(\.title, \.text, using: "typing")
            .completions(of: "happin", in: context).map(\.word)
        #expect(shown.map(\.id) == [1] && words == ["happiness"])
        let labels = Labelled(id: 1, labels: ["New York,Paris", "rome"])
        try labels.save(to: &context)
        for city in ["new york", "rome"] {
            #expect(try Labelled.filter(.string(\.labels, matches: .phrase(city))).ids(in: context) == [1])
        }
        let numbers = try SearchIndex<Labelled>(\.labels).statistics(in: context)
        #expect(numbers.entities == 1 && numbers.words == 3)
        let stems = try SearchIndex<Story>(\.title, \.text).completions(of: "happin", in: context)
        #expect(stems.isEmpty)
    }
}
