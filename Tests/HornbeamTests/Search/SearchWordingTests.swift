// SPDX-License-Identifier: Apache-2.0
// The words of a search over other properties than an index has, or in another order: an index's analyzer defines
// them, with the index's help or without it, for results and highlights alike.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Place {
    @FullTextIndex<Self>(\.name, \.notes, \.tags, analyzer: .unicode(stemming: .english)) private var search
    @FullTextIndex<Self>(\.region, \.notes) private var regions
    @FullTextIndex<Self>(\.notes, \.name, analyzer: .unicode) private var names

    let id: Int
    var name = ""
    var notes = ""
    var tags: [String] = []
    var region = ""
    var other = ""
}

/// A type with the first index alone, with positions and without, and properties without an index.
@EntityModel
private struct Indexed {
    @FullTextIndex<Self>(\.name, \.notes, \.tags, analyzer: .unicode) private var search
    let id: Int
    var name: String
    var notes: String
    var tags: [String]
}

@EntityModel
private struct Slim {
    @FullTextIndex<Self>(\.name, \.notes, \.tags, analyzer: .unicode, positions: false) private var search
    let id: Int
    var name: String
    var notes: String
    var tags: [String]
}

@EntityModel
private struct Pieces {
    @FullTextIndex<Self>(\.name, \.notes, \.tags, analyzer: .trigrams) private var search
    let id: Int
    var name: String
    var notes: String
    var tags: [String]
}

@Suite("Words of searches over some of an index's properties")
struct SearchWordingTests {
    @Test("Words are defined by the index over exactly the searched properties, else by the first one that has them")
    func choice() throws {
        let indexes = [[1, 2, 3], [4, 2], [2, 1], [5]]
        #expect(TextWording.place(of: [2, 1], in: indexes) == 2 && TextWording.place(of: [1, 2], in: indexes) == 2)
        #expect(TextWording.place(of: [3, 1], in: indexes) == 0 && TextWording.place(of: [2], in: indexes) == 0)
        #expect(TextWording.place(of: [2, 4], in: indexes) == 1 && TextWording.place(of: [4], in: indexes) == 1)
        #expect(TextWording.place(of: [6, 5], in: indexes) == 3 && TextWording.place(of: [6], in: indexes) == nil)
    }

    @Test("Filter, highlights and snippet have the same words")
    func alike() throws {
        var context = Context()
        let place = Place(
            id: 7, name: "Zürich hotels", notes: "Hôtel in ZÜRICH", tags: ["zürich", "hotels"], region: "Zürich",
            other: "Zürich")
        try place.save(to: &context)
        func found(_ predicate: Hornbeam.Predicate<Place>) throws -> Bool {
            try Place.filter(predicate).count(in: context) == 1
        }
        // Words of an index with stemming.
        #expect(try found(.string(\.name, matches: "zurich")) && found(.string(\.tags, \.name, matches: "hotel")))
        let hotel = SearchQuery<Place>("hotel")
        #expect(try hotel.highlights(\.name, of: place).map { String(place.name[$0]) } == ["hotels"])
        #expect(try hotel.highlights(\.tags, of: place).map(\.element) == [1])
        #expect(try hotel.snippet(\.tags, \.name, of: place)?.marked("[", "]") == "[hotels]")
        // Words of the index over exactly these properties, without stemming.
        #expect(try found(.string(\.name, \.notes, matches: "zurich")))
        #expect(try found(.string(\.name, \.notes, matches: "hotel")), "Hôtel, without its accent")
        let names = Place.filter(.string(\.name, \.notes, matches: .words("hotel").in(\.name)))
        #expect(try names.count(in: context) == 0)
        // Words of an index that keeps accents.
        #expect(try !found(.string(\.region, matches: "zurich")) && found(.string(\.region, matches: "ZÜRICH")))
        #expect(try SearchQuery<Place>("zurich").highlights(\.region, of: place).isEmpty)
        // Words of a property without an index.
        #expect(try !found(.string(\.other, matches: "zurich")) && found(.string(\.other, matches: "zürich")))
        // Beside a property without an index.
        #expect(try found(.string(\.other, \.name, matches: "zurich")))
        #expect(try SearchQuery<Place>("zurich").snippet(\.other, \.name, of: place)?.highlights.count == 1)
    }

    private func fill<Entity: EntityModelProtocol>(
        _ context: inout Context, _ make: (Int, String, String, [String]) -> Entity
    ) throws {
        var random = SeededGenerator(seed: 5)
        let words = ["zürich", "Zurich", "bern", "genève", "see", "berg", "bergsee", "am", "東京都", "wi-fi", "wi", "fi"]
        func text() -> String { (0..<random.below(5)).map { _ in words[random.below(12)] }.joined(separator: " ") }
        for id in 0..<200 {
            let tags = (0..<random.below(3)).map { _ in text() }
            try make(id, text(), text(), tags).save(to: &context)
        }
    }

    private static let searches = [
        "zurich", "bern am", "\"am see\"", "\"see bern\"~1", "berg*", "bern NEAR/2 see", "+zurich -geneve",
        "* NOT bern",
        "name:zurich", "tags:(bern AND see)", "name:bern OR tags:see", "gen?ve", "zuric~", "bern^2 see",
        "name:see -tags:see", "+wi-fi", "\"wi fi\" -wi-fi", "wi-fi NEAR/3 bern", "wi-fi bern", "+東京都 -wi-fi",
    ]

    @Test("Some properties, and all in another order, give the same results with the index and without", .seeded)
    func differential() throws {
        var context = Context()
        try fill(&context) { Indexed(id: $0, name: $1, notes: $2, tags: $3) }
        try fill(&context) { Slim(id: $0, name: $1, notes: $2, tags: $3) }
        try fill(&context) { Pieces(id: $0, name: $1, notes: $2, tags: $3) }
        let some = try compare(context, \Indexed.tags, \Indexed.name)
        #expect(some > 10, "searches of the index: \(some)")
        #expect(try compare(context, \Slim.tags, \Slim.name) > 5)
        #expect(try compare(context, \Pieces.tags, \Pieces.name) > 5)
    }

    /// Compares results with those of testing row by row. Returns the number of searches that used the index.
    private func compare<Entity: EntityModelProtocol>(
        _ context: Context, _ first: any KeyPath<Entity, [String]> & Sendable,
        _ second: any KeyPath<Entity, String> & Sendable
    ) throws -> Int where Entity.ID == Int {
        var searched = 0
        for text in Self.searches {
            let query = try SearchQuery<Entity>(parsing: text, over: first, second)
            let test = Hornbeam.Predicate<Entity>.string(first, second, matches: query)
            let list = try Entity.filter(test).requiringIndexIfAny(in: context)
            let access = try list.explain(in: context).access.description
            if access.hasPrefix("search of index") { searched += 1 }
            let found = try list.ids(in: context)
            let others = Entity.filter(!test)
            #expect(try others.explain(in: context).access.description == "scan of 200 rows")
            #expect(try (found + others.ids(in: context)).sorted() == Array(0..<200), "\(text)")
            #expect(try Entity.filter(test).count(in: context) == found.count, "\(text)")
        }
        return searched
    }

    @Test("All properties in another order are one search too, which a query that requires an index uses")
    func reordered() throws {
        var context = Context()
        try fill(&context) { Indexed(id: $0, name: $1, notes: $2, tags: $3) }
        let all = Indexed.filter(.string(\.tags, \.notes, \.name, matches: "name:zurich")).sorted(by: \.id)
        let other = Indexed.filter(.string(\.name, \.notes, \.tags, matches: "name:zurich")).sorted(by: \.id)
        #expect(try all.ids(in: context) == other.ids(in: context))
        let parsed = try SearchQuery<Indexed>(parsing: "name:zurich tags:\"am see\"")
        let first = Indexed.filter(.string(\.tags, \.notes, \.name, matches: parsed)).sorted(by: \.id)
        let second = Indexed.filter(.string(\.name, \.notes, \.tags, matches: parsed)).sorted(by: \.id)
        #expect(try first.requiringIndex().ids(in: context) == second.ids(in: context))
        #expect(try first.requiringIndex().count(in: context) > 0)
    }

    @Test("Without positions the results agree too; words of several tokens need not be adjacent")
    func reorderedWithoutPositions() throws {
        var context = Context()
        try fill(&context) { Slim(id: $0, name: $1, notes: $2, tags: $3) }
        var apart = 0
        for text in Self.searches {
            let query = try SearchQuery<Slim>(parsing: text)
            let test = Hornbeam.Predicate<Slim>.string(\.tags, \.notes, \.name, matches: query)
            let found = try Slim.filter(test).ids(in: context)
            #expect(try (found + Slim.filter(!test).ids(in: context)).sorted() == Array(0..<200), "\(text)")
        }
        // Matches are marked.
        for hit in try Slim.filter(.string(\.name, \.notes, \.tags, matches: .all(["wi-fi"]))).ranked(in: context) {
            var marked = try hit.highlights(\.name).count + hit.highlights(\.notes).count
            marked += try hit.highlights(\.tags).count
            #expect(marked > 1, "\(hit.id)")
            let place = try #require(try hit.entity)
            let texts = ([place.name, place.notes] + place.tags).joined(separator: "\n")
            apart += texts.contains("wi-fi") || texts.contains("wi fi") ? 0 : 1
        }
        #expect(apart > 0)
    }
}

extension QueryList {
    /// Requires an index if there is a suitable one.
    fileprivate func requiringIndexIfAny(in context: Context) throws -> Self {
        do {
            _ = try requiringIndex().explain(in: context)
            return requiringIndex()
        } catch let error as HornbeamError where error.code == .needsIndex {
            return self
        }
    }
}
