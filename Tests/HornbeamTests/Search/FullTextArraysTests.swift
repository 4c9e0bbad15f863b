// SPDX-License-Identifier: Apache-2.0
// Full text over arrays of strings: each element is a text of its own.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Recipe: Equatable {
    @FullTextIndex<Self>(\.steps) private var searchSteps
    @FullTextIndex<Self>(\.title, \.steps, \.hints) private var searchAll

    let id: Int
    var title = ""
    var steps: [String] = []
    var hints: [String]?
    /// A property without an index.
    var notes: [String] = []
    var moreNotes: [String]?
}

@Suite("Full text over arrays")
struct FullTextArraysTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Recipe.self)
        try database.write { (context) throws in
            for (id, steps) in [
                ["mix the flour", "bake it"], ["mix", "the flour waits"], ["flour"], [],
                ["bake bread", "bake it well"],
            ].enumerated() {
                try Recipe(
                    id: id, title: "recipe", steps: steps, hints: id == 2 ? nil : steps.reversed(), notes: steps,
                    moreNotes: steps.isEmpty ? nil : steps
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("words of any element are found, by the index and without one")
    func words() throws {
        try database().read { (context) throws in
            for text in ["flour", "bake", "mix", "nothing", "flour well"] {
                let indexed = Recipe.filter(.string(\.steps, matches: text))
                let plan = try indexed.explain(in: context).description
                #expect(plan.contains("searchSteps"))
                let plain = Recipe.filter(.string(\.notes, matches: text))
                let optional = Recipe.filter(.string(\.moreNotes, matches: text))
                let ids = try indexed.sorted(by: \.id).ids(in: context)
                #expect(try plain.sorted(by: \.id).ids(in: context) == ids, "\(text)")
                #expect(try optional.sorted(by: \.id).ids(in: context) == ids, "\(text)")
            }
            #expect(
                try Recipe.filter(.string(\.steps, matches: "flour")).sorted(by: \.id).ids(in: context) == [0, 1, 2])
            #expect(
                try Recipe.filter(.string(\.title, \.steps, \.hints, matches: "bake")).sorted(by: \.id).ids(in: context)
                    == [0, 4])
            // The shorter text scores more, as for single strings.
            #expect(try Recipe.filter(.string(\.steps, matches: "flour")).ids(in: context).first == 2)
        }
    }

    @Test("neither phrases nor nearness cross elements")
    func phrases() throws {
        try database().read { (context) throws in
            for (query, wanted) in [
                (.phrase("the flour"), [0, 1]), (.phrase("mix the"), [0]), (.phrase("flour bake"), []),
                (.phrase("bread bake"), []), (.near("mix", "flour", within: 9), [0]),
            ] as [(SearchQuery<Recipe>, [Int])] {
                #expect(try Recipe.filter(.string(\.steps, matches: query)).sorted(by: \.id).ids(in: context) == wanted)
                #expect(try Recipe.filter(.string(\.notes, matches: query)).sorted(by: \.id).ids(in: context) == wanted)
                let fields = query.in(\.hints)
                let all = Recipe.filter(.string(\.title, \.steps, \.hints, matches: fields)).sorted(by: \.id)
                #expect(try all.ids(in: context) == wanted)
            }
        }
    }

    @Test("highlights and snippets name their element, and the index suggests words")
    func shown() throws {
        try database().read { (context) throws in
            let recipe = try #require(try context.find(0) as Recipe?)
            let query = SearchQuery<Recipe>("flour bake")
            let found = try query.highlights(\.steps, of: recipe)
            #expect(found.map(\.element) == [0, 1])
            #expect(found.map { String(recipe.steps[$0.element][$0.range]) } == ["flour", "bake"])
            #expect(try query.highlights(\.hints, of: recipe).map(\.element) == [0, 1])
            #expect(try query.highlights(\.moreNotes, of: Recipe(id: 9)).isEmpty)
            let snippet = try #require(try query.snippet(\.title, \.steps, of: recipe, words: 2))
            #expect(snippet.property == 1 && snippet.element == 0 && snippet.marked("[", "]") == "…the [flour]")

            let all = Recipe.filter(.string(\.title, \.steps, \.hints, matches: "well"))
            let hit = try #require(try all.ranked(in: context).first)
            let passage = try #require(try hit.snippet(\.title, \.steps, words: 2))
            #expect(passage.property == 1 && passage.element == 1 && passage.marked("[", "]") == "…it [well]")
            #expect(try hit.highlights(\.steps).map(\.element) == [1] && hit.highlights(\.title).isEmpty)
            #expect(try hit.highlights(\.hints).map(\.element) == [0])
            #expect(try hit.highlights(\.moreNotes).map(\.element) == [1], "marked, though it isn't searched")

            let index = SearchIndex<Recipe>(\.title, \.steps, \.hints)
            #expect(try index.completions(of: "fl", in: context).map(\.word) == ["flour"])
            #expect(try index.corrected("bkae", in: context) == "bake")
            let alike = try index.query(like: recipe, in: context)
            #expect(try Recipe.filter(.string(\.title, \.steps, \.hints, matches: alike)).ids(in: context).contains(2))
        }
    }

    @Test("the index follows inserted, removed and moved elements")
    func changes() throws {
        let database = try database()
        try database.write { (context) throws in
            try Recipe(id: 0, steps: ["bake it", "mix the flour"]).save(to: &context)
            try Recipe(id: 2, steps: []).save(to: &context)
            try Recipe(id: 3, steps: ["the flour", "the flour"]).save(to: &context)
            _ = try Recipe.query(1).delete(from: &context)
            let flour = Recipe.filter(.string(\.steps, matches: "flour")).sorted(by: \.id)
            #expect(try flour.ids(in: context) == [0, 3])
        }
        #expect(try database.isSound())
    }
}
