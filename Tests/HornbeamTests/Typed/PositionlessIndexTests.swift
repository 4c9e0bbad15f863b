// SPDX-License-Identifier: Apache-2.0
// Full-text indexes declared without positions: their results, the searches that have scores, and rebuilding after a
// changed declaration.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Slim {
    let id: Int
    var title: String
    var body: String
    @FullTextIndex<Self>(\.title, \.body, positions: false) private var search
    @FullTextIndex<Self>(\.body, analyzer: .trigrams, positions: false) private var parts
}

@EntityModel
private struct Whole {
    let id: Int
    var title: String
    var body: String
    @FullTextIndex<Self>(\.title, \.body) private var search
    @FullTextIndex<Self>(\.body, analyzer: .trigrams) private var parts
}

@Suite("Full-text indexes without positions")
struct PositionlessIndexTests {
    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Slim.self, Whole.self)
        var random = SeededGenerator(seed: 21)
        let words = ["red", "green", "blue", "grey", "greenhouse", "sky"]
        func text() -> String { (0..<random.below(9)).map { _ in words[random.below(6)] }.joined(separator: " ") }
        for part in 0..<30 {
            try database.write { context in
                for id in part * 10..<part * 10 + 10 {
                    let (title, body) = (text(), text())
                    try Slim(id: id, title: title, body: body).save(to: &context)
                    try Whole(id: id, title: title, body: body).save(to: &context)
                }
            }
        }
        try database.write { context in
            let (title, body) = ("cobalt saffron", "periwinkle")
            try Slim(id: 1000, title: title, body: body).save(to: &context)
            try Whole(id: 1000, title: title, body: body).save(to: &context)
        }
        return database
    }

    private func searches<Entity: EntityModelProtocol>(_: Entity.Type) throws -> [SearchQuery<Entity>] {
        [
            .words("red"), .words("red blue"), .prefix("gre"), .words("red") && .words("blue"), .phrase("red blue"),
            .phrase("red sky", slop: 2), .near(.words("red"), .words("sky"), within: 3), .fuzzy("blux"),
            .phrase("green") || .phrase("no such words"), .prefix("blue gre"), .words("sky") && .phrase("blue blue"),
            try SearchQuery(parsing: "title:red"), try SearchQuery(parsing: "sky -\"red blue\""),
        ]
    }

    @Test("Conditions and scores of words are those with positions")
    func same() throws {
        let database = try filled()
        for (slimSearch, wholeSearch) in zip(try searches(Slim.self), try searches(Whole.self)) {
            let slimQuery = Slim.filter(.string(\.title, \.body, matches: slimSearch))
            let wholeQuery = Whole.filter(.string(\.title, \.body, matches: wholeSearch))
            let (slim, whole) = try database.read { context in
                (
                    try slimQuery.resolve(in: context).map(\.id).sorted(),
                    try wholeQuery.resolve(in: context).map(\.id).sorted()
                )
            }
            #expect(slim == whole && !slim.isEmpty, "\(slimSearch)")
            let counts = try database.read { context in
                [try slimQuery.count(in: context), try wholeQuery.count(in: context)]
            }
            #expect(counts == [slim.count, slim.count], "\(slimSearch)")
        }
        for text in ["red", "red blue sky", "greenhouse"] {
            let (slim, whole) = try database.read { context in
                (
                    try Slim.filter(.string(\.title, \.body, matches: text)).ranked(in: context),
                    try Whole.filter(.string(\.title, \.body, matches: text)).ranked(in: context)
                )
            }
            #expect(slim.map(\.id) == whole.map(\.id) && slim.map(\.score) == whole.map(\.score), "\(text)")
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("A phrase of one word has the scores of an index with positions")
    func oneWord() throws {
        let database = try filled()
        let phrases: [(SearchQuery<Slim>, SearchQuery<Whole>)] = [
            (.phrase("green"), .phrase("green")), (.phrase("Blue!", slop: 2), .phrase("Blue!", slop: 2)),
            (.words("sky") && .phrase("red"), .words("sky") && .phrase("red")),
            (.phrase("grey") || .words("blue"), .phrase("grey") || .words("blue")),
            (.words("red").without(.phrase("sky")), .words("red").without(.phrase("sky"))),
            (try SearchQuery(parsing: "\"greenhouse\"^2 sky"), try SearchQuery(parsing: "\"greenhouse\"^2 sky")),
        ]
        for (slimSearch, wholeSearch) in phrases {
            let slimQuery = Slim.filter(.string(\.title, \.body, matches: slimSearch))
            let wholeQuery = Whole.filter(.string(\.title, \.body, matches: wholeSearch))
            let (slim, whole) = try database.read { context in
                (try slimQuery.ranked(in: context), try wholeQuery.ranked(in: context))
            }
            #expect(!slim.isEmpty, "\(slimSearch)")
            #expect(slim.map(\.id) == whole.map(\.id) && slim.map(\.score) == whole.map(\.score), "\(slimSearch)")
        }
        // But not if the search is restricted to one of the properties.
        let inTitle = Slim.filter(.string(\.title, \.body, matches: try SearchQuery(parsing: "title:\"red\"")))
        #expect(throws: HornbeamError.self) { try database.read { _ = try inTitle.ranked(in: $0) } }
    }

    @Test("Parts of texts are found by three letters, without positions too")
    func parts() throws {
        let database = try filled()
        for part in ["enho", "red b", "skyx", "riwink"] {
            let (slim, whole, plan) = try database.read { context in
                (
                    try Slim.filter(.string(\.body, contains: part)).resolve(in: context).map(\.id).sorted(),
                    try Whole.filter(.string(\.body, contains: part)).resolve(in: context).map(\.id).sorted(),
                    try Slim.filter(.string(\.body, contains: part)).explain(in: context)
                )
            }
            #expect(slim == whole, "\(part)")
            #expect("\(plan)".contains("index parts") || part != "riwink", "\(plan)")
        }
    }

    @Test("A phrase is searched by its words, and has no score, as its plan says")
    func phrases() throws {
        let database = try filled()
        let phrase = Slim.filter(.string(\.title, \.body, matches: .phrase("cobalt saffron")))
        let plan = try database.read { "\(try phrase.explain(in: $0))" }
        #expect(plan.contains("index search"), "\(plan)")
        let error = #expect(throws: HornbeamError.self) { try database.read { _ = try phrase.ranked(in: $0) } }
        #expect(error?.code == .invalid && error?.message.contains("with positions") == true)
    }

    @Test("A changed declaration makes the index be rebuilt when the file is opened", arguments: [true, false])
    func otherDeclaration(positions: Bool) throws {
        func type(_ name: String) -> EntityDescription {
            let index = IndexDescription(
                name: "search", kind: .text, components: [.init(column: "title"), .init(column: "body")],
                positions: positions)
            let parts = IndexDescription(
                name: "parts", kind: .text, components: [.init(column: "body")], analyzer: "trigrams",
                positions: positions)
            let columns = [column("id", .int64), column("title", .string), column("body", .string)]
            return EntityDescription(name: name, columns: columns, indexes: [index, parts])
        }
        let file = try MigratedFile([type("Slim"), type("Whole")]) { store in
            for name in ["Slim", "Whole"] { try store.save(name, [.int(1), .string("red blue"), .string("sky")]) }
        }
        try file.open([Slim.self, Whole.self], []) { database throws in
            let found = try database.read { context in
                try Slim.filter(.string(\.title, \.body, matches: .phrase("red blue"))).count(in: context)
                    + Whole.filter(.string(\.title, \.body, matches: .phrase("red blue"))).count(in: context)
            }
            #expect(found == 2)
            #expect(try database.check { Issue.record("\($0)") })
        }
        let types = try file.types()
        #expect(types.first { $0.name == "Slim" }?.indexes.allSatisfy { !$0.positions } == true)
        #expect(types.first { $0.name == "Whole" }?.indexes.allSatisfy { $0.positions } == true)
    }
}
