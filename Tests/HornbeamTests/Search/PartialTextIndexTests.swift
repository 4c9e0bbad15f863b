// SPDX-License-Identifier: Apache-2.0
// Full-text indexes of some entities: their content after any changes, the searches they answer, and how they are
// stored.

import FoundationEssentials
import HornbeamTestSupport
import HornbeamText
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private enum Stage: String, Codable, CaseIterable { case draft, published, withdrawn }

@EntityModel
private struct Article {
    @FullTextIndex<Self>(\.title, \.text, where: \.stage == .published && \.year > 2000) private var search
    @FullTextIndex<Self>(\.note, analyzer: .trigrams, where: \.isOpen) private var notes
    @FullTextIndex<Self>(\.text, where: !\.isOpen) private var closed
    @FullTextIndex<Self>(\.text) private var all
    @Index<Self>(\.year) private var byYear

    let id: Int
    var title = ""
    var text = ""
    var note: String?
    var stage = Stage.draft
    var year = 2010
    var isOpen = false

    static let words = ["copy", "write", "page", "leaf", "tree", "branch", "cursor", "journal"]

    static func random(_ id: Int, _ random: inout SeededGenerator) -> Article {
        func text(_ most: Int) -> String {
            (0..<random.below(most + 1)).map { _ in words[random.below(words.count)] }.joined(separator: " ")
        }
        return Article(
            id: id, title: text(3), text: text(12), note: random.oneIn(4) ? nil : text(4),
            stage: Stage.allCases[random.below(3)], year: 1998 + random.below(6), isOpen: random.oneIn(2))
    }

    var isSearched: Bool { stage == .published && year > 2000 }
}

/// A type that has exactly the entities of `Article.search`.
@EntityModel
private struct Published {
    @FullTextIndex<Self>(\.title, \.text) private var search

    let id: Int
    var title = ""
    var text = ""
}

/// A type with several indexes over one property, and one index over more properties with all entities.
@EntityModel
private struct Paper {
    @FullTextIndex<Self>(\.title, where: \.isOpen) private var open
    @FullTextIndex<Self>(\.title, where: !\.isOpen) private var closed
    @FullTextIndex<Self>(\.text, \.title, where: \.isOpen) private var part
    @FullTextIndex<Self>(\.text, \.title) private var whole

    let id: Int
    var title = ""
    var text = ""
    var isOpen = false
}

@EntityModel
private struct Memo {
    @FullTextIndex<Self>(\.text, where: !(\.kind == 1 || \.kind == 2)) private var search

    let id: Int
    var text = ""
    var kind = 0
}

@Suite("Full-text indexes of some entities")
struct PartialTextIndexTests {
    private typealias Test = Hornbeam.Predicate<Article>

    private static let isSearched: Test = \.stage == .published && \.year > 2000

    private func message(_ body: () throws -> some Any) -> String {
        do {
            return "\(try body())"
        } catch {
            return (error as? HornbeamError)?.message ?? "\(error)"
        }
    }

    private func plan(_ query: QueryList<Article>, _ context: Context) throws -> String {
        try query.explain(in: context).description
    }

    /// Compares the entities in the indexes, and the results of searches, with all entities.
    private func compare(_ context: Context, with articles: [Int: Article]) throws {
        for word in Article.words {
            let match = Test.string(\.title, \.text, matches: .words(word))
            func ids(_ isMeant: (Article) -> Bool) -> [Int] { articles.values.filter(isMeant).map(\.id).sorted() }
            func has(_ article: Article) -> Bool {
                "\(article.title) \(article.text)".split(separator: " ").contains { $0 == word }
            }
            let wanted = ids { $0.isSearched && has($0) }
            #expect(try Article.filter(match).filter(Self.isSearched).ids(in: context).sorted() == wanted)
            #expect(try Article.filter(match && Self.isSearched).count(in: context) == wanted.count)
            let ranked = Article.filter(match).filter(\.stage == .published).filter(\.year > 2001)
            let newer = ids { $0.isSearched && $0.year > 2001 && has($0) }
            #expect(try ranked.ranked(in: context).map(\.id).sorted() == newer)
            #expect(try Article.filter(match).sorted(by: \.id).ids(in: context) == ids(has))
            let part = Test.string(\.note, contains: word)
            let open = ids { $0.isOpen && $0.note?.contains(word) ?? false }
            #expect(try Article.filter(part).filter(\.isOpen).sorted(by: \.id).ids(in: context) == open)
            let noted = ids { $0.note?.contains(word) ?? false }
            #expect(try Article.filter(part).sorted(by: \.id).ids(in: context) == noted)
        }
        let held = try SearchIndex<Article>(\.title, \.text).statistics(in: context)
        #expect(held.entities == articles.values.count(where: \.isSearched))
        #expect(
            try SearchIndex<Article>(\.note).statistics(in: context).entities == articles.values.count(where: \.isOpen))
        #expect(try SearchIndex<Article>(\.text, using: "all").statistics(in: context).entities == articles.count)
    }

    @Test("They have the entities that meet their condition, after any changes", .seeded)
    func changes() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        let database = try Database.inMemory(models: Article.self)
        var articles: [Int: Article] = [:]
        for round in 0..<40 {
            let before = articles
            let isRolledBack = round % 5 == 4
            struct Stop: Error {}
            do {
                try database.write { (context) throws in
                    for _ in 0..<30 {
                        let id = random.below(60)
                        if let article = articles[id], random.oneIn(4) {
                            try article.delete(from: &context)
                            articles[id] = nil
                            continue
                        }
                        var article = Article.random(id, &random)
                        // Often the text stays and the condition changes.
                        if let old = articles[id], random.oneIn(2) {
                            (article.title, article.text, article.note) = (old.title, old.text, old.note)
                        }
                        try article.save(to: &context)
                        articles[id] = article
                    }
                    try compare(context, with: articles)
                    if isRolledBack { throw Stop() }
                }
            } catch is Stop {
                articles = before
            }
            try database.read { try compare($0, with: articles) }
        }
        var problems: [String] = []
        _ = try database.check { problems.append($0) }
        #expect(problems == [])
    }

    @Test("Scores are those of an index over only these entities", .seeded)
    func scores() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        let database = try Database.inMemory(models: Article.self, Published.self)
        try database.write { (context) throws in
            for id in 0..<300 {
                let article = Article.random(id, &random)
                try article.save(to: &context)
                guard article.isSearched else { continue }
                try Published(id: id, title: article.title, text: article.text).save(to: &context)
            }
        }
        try database.read { context in
            for word in Article.words {
                let hits = try Article.filter(.string(\.title, \.text, matches: .words("\(word) leaf")))
                    .filter(Self.isSearched).limit(20).ranked(in: context)
                let wanted = try Published.filter(.string(\.title, \.text, matches: .words("\(word) leaf")))
                    .limit(20).ranked(in: context)
                #expect(hits.map(\.id) == wanted.map(\.id) && !hits.isEmpty)
                #expect(hits.map(\.score) == wanted.map(\.score))
            }
        }
    }

    @Test("They answer searches within their condition; other searches do without the index, or have no scores")
    func use() throws {
        var context = Context()
        var random = SeededGenerator(seed: 7)
        for id in 0..<200 { try Article.random(id, &random).save(to: &context) }
        let match = Test.string(\.title, \.text, matches: "leaf")
        let stronger = Article.filter(match).filter(\.year > 2001 && \.stage == .published)
        #expect(try plan(stronger, context).contains("search of index search for"))
        let all = try stronger.ids(in: context)
        #expect(try stronger.limit(5).ids(in: context) == Array(all.prefix(5)))
        // The condition isn't implied: no index, and no scores.
        for weaker in [Article.filter(match), Article.filter(match).filter(\.stage == .published)] {
            #expect(try !plan(weaker.sorted(by: \.id), context).contains("search of index"))
            let found = try weaker.sorted(by: \.id).resolve(in: context)
            #expect(found.allSatisfy { "\($0.title) \($0.text)".contains("leaf") } && !found.isEmpty)
            #expect(try weaker.count(in: context) == found.count)
            let said = message { try weaker.resolve(in: context) }
            #expect(said.contains("the full-text index “search” of Article has only entities with"), "\(said)")
            #expect(said.contains("stage == \"published\" && year > 2000"), "\(said)")
            #expect(message { try weaker.sorted(by: .by(\.year), .score).ids(in: context) } == said)
            #expect(message { try weaker.sorted(by: .score).ids(in: context) } == said)
        }
        // Beside alternatives, and in each of them.
        let either = Article.filter(\.id == 3 || match).filter(Self.isSearched)
        let apart = Article.filter(\.id == 3 || match && Self.isSearched)
        for query in [either, apart] {
            let byHand = try query.resolve(in: context).map(\.id).sorted()
            #expect(try query.sorted(by: \.id).ids(in: context) == byHand)
            #expect(try plan(query, context).contains("search of index search for"))
        }
        let neither = Article.filter((\.id == 3 || match) && \.year > 2000)
        #expect(try !plan(neither.sorted(by: \.id), context).contains("search of index"))
        // The index of all entities is preferred; the other one is used if it is named.
        let leaf = Article.filter(.string(\.text, matches: "leaf"))
        #expect(try plan(leaf, context).contains("search of index all for"))
        #expect(try plan(leaf.filter(\.isOpen == false), context).contains("search of index all for"))
        let closed = Article.filter(.string(\.text, matches: "leaf", using: "closed"))
        #expect(try plan(closed.filter(\.isOpen == false), context).contains("search of index closed for"))
        #expect(message { try closed.resolve(in: context) }.contains("“closed”"))
        let open = Article.filter(.string(\.note, contains: "branch")).filter(\.isOpen)
        #expect(try plan(open, context).contains("search of index notes for"))
        #expect(
            try !plan(Article.filter(.string(\.note, contains: "branch")), context).contains("search of index"))
    }

    @Test("Of several, the one with the search's entities is used, in any order of declaration")
    func several() throws {
        var context = Context()
        for id in 1...80 {
            try Paper(id: id, title: "leaf \(id)", isOpen: id % 2 == 0).save(to: &context)
        }
        let leaf = Hornbeam.Predicate<Paper>.string(\.title, matches: "leaf")
        let closed = Paper.filter(leaf).filter(\.isOpen != true)
        #expect(try closed.explain(in: context).description.contains("search of index closed for"))
        #expect(try closed.ranked(in: context).map(\.id) == Array(stride(from: 1, to: 80, by: 2)))
        #expect(try closed.explainScore(of: 3, in: context) != nil)
        #expect(try closed.explainScore(of: 4, in: context) == nil)
        let first = try #require(closed.limit(7).resolve(in: context).last)
        #expect(try closed.after(first).limit(3).ids(in: context) == [15, 17, 19])
        #expect(try Paper.filter(leaf).filter(\.isOpen).ranked(in: context).count == 40)
        #expect(message { try Paper.filter(leaf).ranked(in: context) }.contains("“open” of Paper"))
        // Some of the properties, by an index over more properties with all entities.
        let whole = Paper.filter(leaf).sorted(by: \.id).requiringIndex()
        #expect(try whole.explain(in: context).description.contains("search of index whole for"))
        #expect(try whole.ids(in: context) == Array(1...80))
        let words = try SearchIndex<Paper>(\.title).statistics(in: context)
        #expect(words.entities == 40)
        #expect(try SearchIndex<Paper>(\.text, \.title).statistics(in: context).entities == 80)
    }

    @Test("A condition is recognised in other forms: another operator, a negation moved inwards")
    func otherWords() throws {
        var context = Context()
        for id in 1...70 { try Memo(id: id, text: "leaf", kind: id % 5).save(to: &context) }
        let match = Hornbeam.Predicate<Memo>.string(\.text, matches: "leaf")
        for condition in [
            \.kind != 1 && \.kind != 2, !(\.kind == 1) && !(\.kind == 2), !(\.kind == 1 || \.kind == 2), \.kind == 3,
            \.kind > 2,
        ] as [Hornbeam.Predicate<Memo>] {
            let wanted = try Memo.filter(condition).ids(in: context).sorted()
            #expect(try Memo.filter(match).filter(condition).ranked(in: context).map(\.id).sorted() == wanted)
        }
        for condition in [\.kind != 1, \.kind > 1] as [Hornbeam.Predicate<Memo>] {
            #expect(throws: HornbeamError.self) { try Memo.filter(match).filter(condition).ranked(in: context) }
        }
    }

    @Test("The indexes answer statements too")
    func statements() throws {
        var context = Context()
        for id in 1...9 {
            try Article(id: id, title: "leaf", stage: id % 3 == 0 ? .draft : .published, year: 1999 + id)
                .save(to: &context)
        }
        func ids(_ text: String) throws -> [Int] {
            try Statement(text).resolve(in: context).map { try $0.value("id", as: Int.self) }
        }
        let match = "SELECT id FROM Article WHERE MATCH(search, 'leaf')"
        let order = "ORDER BY RANK() DESC, id"
        #expect(try ids("\(match) AND stage = 'published' AND year > 2000 \(order)") == [2, 4, 5, 7, 8])
        #expect(try ids("\(match) AND stage = 'published' ORDER BY id") == [1, 2, 4, 5, 7, 8])
        #expect(message { try ids("\(match) \(order)") }.contains("add that condition"))
        #expect(message { try ids("SELECT id, RANK() FROM Article WHERE MATCH(search, 'leaf')") }.contains("“search”"))
    }
}

private enum Phase: String, Codable { case draft, published }

@EntityModel
private struct Leaflet {
    @FullTextIndex<Self>(\.text, where: \.phase == .published) private var live
    @FullTextIndex<Self>(\.text, where: \.phase != .draft) private var shown
    @FullTextIndex<Self>(\.text, where: \.score != nil) private var scored

    let id: Int
    var text: String
    var phase: Phase
    var score: Int?
}

// MARK: - Schema

@Suite("Full-text indexes of some entities in a schema")
struct PartialTextIndexSchemaTests {
    private static func note(_ condition: StoredCondition?, size: String = "size") -> EntityDescription {
        var index = IndexDescription(name: "search", kind: .text, components: [.init(column: "text")])
        index.condition = condition
        return EntityDescription(
            name: "Note", columns: [column("id", .int64), column("text", .string), column(size, .int64)],
            indexes: [index])
    }

    private static func larger(than size: Int64, _ name: String = "size") throws -> StoredCondition {
        try require(StoredCondition(.compare(column: 2, .greater, .int(size)), note(nil, size: name)))
    }

    private func count(_ store: CoreStore) throws -> Int {
        let entities = try store["Note"]
        let index = try require(entities.type.textIndexes.first)
        return Int(try IndexSearch(index, TextMatch(columns: [1], query: .everything), entities).count())
    }

    private func filled(_ condition: StoredCondition?) throws -> CoreStore {
        let store = try CoreStore([Self.note(condition)])
        for id in 0..<10 { try store.save("Note", [.int(Int64(id)), .string("leaf \(id)"), .int(Int64(id))]) }
        return store
    }

    @Test("A new, changed or removed condition makes the index be rebuilt; an unchanged one doesn't")
    func changed() throws {
        let store = try filled(nil)
        #expect(try count(store) == 10)
        for (condition, wanted) in [(try Self.larger(than: 6), 3), (try Self.larger(than: 2), 7), (nil, 10)] {
            var built = 0
            try store.reopen([Self.note(condition)], progress: { _ in built += 1 })
            #expect(try count(store) == wanted && built > 0)
            #expect(try store.problems() == [])
            built = 0
            try store.reopen([Self.note(condition)], progress: { _ in built += 1 })
            #expect(try count(store) == wanted && built == 0)
        }
    }

    @Test("The file has the condition, and a program without the model maintains the index by it")
    func withoutModel() throws {
        let store = try filled(try Self.larger(than: 6))
        try store.core.commit()
        let write = try store.store.beginWrite()
        let schema = try SchemaCatalogue.load(write)
        #expect(schema.types["Note"]?.description == Self.note(try Self.larger(than: 6)))
        let core = StoreTransaction(write, schema: schema)
        let entities = try core.store("Note")
        for id in [1, 8] as [Int64] {
            var row = entities.makeRow()
            let values: [Value] = [.int(id), .string("leaf"), .int(9 - id)]
            for (place, value) in values.enumerated() { row.set(value, place) }
            try entities.save(try row.finish(), try entities.ensureRowID(of: .int(id), saving: true))
        }
        let index = try require(entities.type.textIndexes.first)
        let found = try IndexSearch(index, TextMatch(columns: [1], query: .everything), entities).matches()
        #expect(found.count == 3)
        var problems: [String] = []
        _ = try EntityCheck(core).run { problems.append($0) }
        #expect(problems == [])
        write.abort()
    }

    @Test("A property of the condition that is renamed keeps the index")
    func renamed() throws {
        let store = try filled(try Self.larger(than: 6))
        var built = 0
        try store.reopen(
            [Self.note(try Self.larger(than: 6, "width"), size: "width")],
            [.rename(type: "Note", from: "size", to: "width", isRelation: false)], progress: { _ in built += 1 })
        #expect(try count(store) == 3 && built == 0)
        #expect(try store.problems() == [])
    }

    @Test("Converting or forgetting a property of the condition makes the index be rebuilt")
    func converted() throws {
        // As the models would declare it, over rows stored before.
        func index(_ name: String, _ condition: StoredCondition?) -> IndexDescription {
            var index = IndexDescription(name: name, kind: .text, components: [.init(column: "text")])
            index.nameNoAnalyzer()
            index.condition = condition
            return index
        }
        let declared = try #require(ModelSet([Leaflet.self]).descriptions.first { !$0.name.contains("Deleted") })
        var stored = declared
        stored.columns[2].type = .string
        stored.columns[3].type = .optional(.string)
        stored.indexes = declared.indexes.map { index($0.name, $0.condition) }
        for steps in [
            [
                .convert(Leaflet.self, \.phase, from: String.self) { $0 == "live" ? .published : .draft },
                .convert(Leaflet.self, \.score, from: String?.self) { $0.flatMap { Int($0) } },
            ],
            [
                .convert(Leaflet.self, \.phase, from: String.self) { $0 == "live" ? .published : .draft },
                .forget(Leaflet.self, "score"),
            ],
        ] as [[Migration]] {
            let file = try MigratedFile([stored]) { store in
                for (id, phase) in ["live", "published", "old", "draft"].enumerated() {
                    let score: Value = id == 0 ? .null : .string(id == 1 ? "7" : "many")
                    try store.save(declared.name, [.int(Int64(id)), .string("leaf"), .string(phase), score])
                }
            }
            try file.open([Leaflet.self], steps) { database in
                try database.read { (context) throws in
                    let all = try Leaflet.query().resolve(in: context)
                    #expect(all.map(\.phase) == [.published, .published, .draft, .draft])
                    let match = Hornbeam.Predicate<Leaflet>.string(\.text, matches: "leaf", using: "live")
                    #expect(
                        try Leaflet.filter(match).filter(\.phase == .published).ids(in: context).sorted() == [0, 1])
                    for (name, wanted) in [
                        ("live", 2), ("shown", 2), ("scored", all.count { $0.score != nil }),
                    ] {
                        let index = SearchIndex<Leaflet>(\.text, using: name)
                        #expect(try index.statistics(in: context).entities == wanted, "\(name)")
                    }
                }
                #expect(try database.check { Issue.record("\($0)") })
            }
        }
    }

    @Test("A file whose condition doesn't fit its type is refused by every reader, with the index's name")
    func damaged() throws {
        for condition in [
            StoredCondition.isNil(property: "sizes"), .isNil(property: "$updatedAt"),
            .compare(property: "size", by: "~", value: "AAAAAAAAAAA="),
            .compare(property: "size", by: "==", value: "A"),
            .elements(property: "size", values: [], all: true), .compare(property: "id", by: "<", value: "AA=="),
        ] {
            let store = try filled(nil)
            try store.core.commit()
            let write = try store.store.beginWrite()
            var type = Self.note(nil)
            type.indexes[0].condition = condition
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let tree = try #require(try write.tree("schema"))
            let key = Array("type:Note".utf8)
            try #require(try write.get(tree, key) != nil)
            try write.put(tree, key, Array(try encoder.encode(type)))
            let said: String
            do {
                _ = try SchemaCatalogue.load(write)
                said = "nothing"
            } catch {
                said = (error as? HornbeamError)?.message ?? "\(error)"
            }
            #expect(said.contains("index “search” of Note"), "\(condition)")
            write.abort()
        }
    }

    @Test("A check finds missing rows of the index, and rows that don't meet its condition")
    func check() throws {
        let store = try filled(try Self.larger(than: 6))
        try store.core.commit()
        // Reads the trees under another condition than the one they were written by.
        for (size, isWhole) in [(6, true), (7, false), (5, false)] as [(Int64, Bool)] {
            let write = try store.store.beginWrite()
            let stored = try require(SchemaCatalogue.load(write).types["Note"])
            let index = stored.textIndexes[0]
            let other = EntityTextIndex(
                description: index.description, index: index.index, columns: index.columns, place: 0,
                condition: try IndexCondition(try Self.larger(than: size), stored))
            let type = EntityType(
                description: stored.description, declared: stored.declared, layout: stored.layout, rows: stored.rows,
                ids: stored.ids, unsaved: stored.unsaved, links: stored.links, indexes: [], textIndexes: [other],
                relations: [], counterpart: nil)
            let core = StoreTransaction(write, schema: Schema(types: [type]))
            var problems: [String] = []
            _ = try EntityCheck(core).run { problems.append($0) }
            #expect(problems.isEmpty == isWhole)
            #expect(problems.allSatisfy { $0.contains("full text “search” of Note") })
            write.abort()
        }
    }

    @Test("Conditions that can't be stored are refused, and so are those of other indexes")
    func refused() throws {
        func message(_ type: EntityDescription) -> String {
            do {
                _ = try CoreStore([type])
                return ""
            } catch {
                return (error as? HornbeamError)?.message ?? "\(error)"
            }
        }
        let hidden = message(Self.note(.isNil(property: "$updatedAt")))
        #expect(hidden.contains("uses updatedAt, which the store sets"))
        let missing = message(Self.note(.isNil(property: "sizes")))
        #expect(missing.contains("index “search” of Note") && missing.contains("Note.sizes, which doesn't exist"))
        var value = Self.note(try Self.larger(than: 1))
        value.indexes[0].kind = .value
        #expect(message(value).contains("only full-text indexes"))
        #expect(throws: HornbeamError.self) { try Database.inMemory(models: Computed.self) }
        do {
            _ = try Database.inMemory(models: Computed.self)
        } catch {
            let said = (error as? HornbeamError)?.message ?? ""
            #expect(said.contains("“search” of Computed can't be stored: compare stored properties"))
        }
    }
}

@EntityModel
private struct Computed {
    @FullTextIndex<Self>(\.text, where: \.isLong) private var search
    let id: Int
    var text = ""
    var isLong: Bool { text.count > 100 }
}
