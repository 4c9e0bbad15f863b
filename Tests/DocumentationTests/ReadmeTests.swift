// SPDX-License-Identifier: Apache-2.0
// The example of README.md, line for line: the code of the first screen must compile and do as described.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
struct Article {
    @Index<Self>(\.section, \.published.desc) private var bySection
    @Unique<Self>(\.slug, collisions: .throw) private var bySlug
    @FullTextIndex<Self>(\.title, \.body) private var search

    let id: Int
    var slug: String
    var section: String
    var published: Date
    var title: String
    var body: String

    @Relationship(.required, inverse: \.articles) var author: Author?
}

@EntityModel
struct Author {
    let id: Int
    var name: String

    @Relationship(inverse: \.author) var articles: [Article]?
}

@Suite("README.md")
struct ReadmeTests {
    @Test("The example saves, queries, searches and explains")
    func example() throws {
        let folder = try TemporaryFolder()
        let database = try Database(at: folder.path("news.hornbeam"), models: Article.self, Author.self)

        // One transaction: all of it is durable when `write` returns, or none of it ever was.
        try database.write { context in
            try Author(id: 1, name: "Ada").save(to: &context)
            try Article(
                id: 1, slug: "engines", section: "science", published: .now, title: "On engines",
                body: "The analytical engine weaves algebraic patterns.", author: .id(1)
            ).save(to: &context)
        }

        // A frozen snapshot: never blocks, never is blocked.
        try database.read { context in
            let newest =
                try Article
                .filter(\.section == "science")
                .sorted(by: \.published.desc)
                .limit(20)
                .with(\.$author)
                .resolve(in: context)
            #expect(newest.map { $0.author?.name } == ["Ada"])

            let words = Article.filter(.string(\.title, \.body, matches: "algebraic engine")).limit(10)
            for hit in try words.ranked(in: context) {
                print(hit.score, try hit.entity?.title ?? "gone")
            }
            #expect(try words.ranked(in: context).map(\.id) == [1])

            print(newest.count, try words.explain(in: context))
        }
        try database.close()
    }

    @Test("The searches find the documented entities")
    func searches() throws {
        let database = try Database.inMemory(models: Article.self, Author.self)
        try database.write { context in
            try Author(id: 1, name: "Ada").save(to: &context)
            try Article(
                id: 1, slug: "engines", section: "science", published: .now, title: "On engines",
                body: "The analytical engine weaves algebraic patterns.", author: .id(1)
            ).save(to: &context)
        }
        try database.read { context in
            // What somebody types, while it is typed: never an error. Other conditions narrow the search itself.
            let typed = SearchQuery<Article>(lenient: "analytical eng", isTyping: true)
            let hits =
                try Article
                .filter(.string(\.title, \.body, matches: typed))
                .filter(\.section == "science")
                .limit(20)
                .ranked(in: context)
            for hit in hits {
                print(hit.score, try hit.snippet(\.title, \.body, words: 12)?.marked("<b>", "</b>") ?? "")
            }
            #expect(hits.map(\.id) == [1])

            // Phrases, beginnings of words, words spelled nearly so, single properties: written, or built.
            let text = #""analytical engine" OR (weav* NOT loom) OR title:engnes~"#
            let written = try SearchQuery<Article>(parsing: text)
            let built: SearchQuery<Article> =
                .phrase("analytical engine").boosted(2) || .prefix("weav") || .fuzzy("engnes")
            print(try Article.filter(.string(\.title, \.body, matches: written || built)).count(in: context))
            for query in [written, built] {
                #expect(try Article.filter(.string(\.title, \.body, matches: query)).ids(in: context) == [1])
            }

            // How a word goes on, and what was meant.
            let index = SearchIndex<Article>(\.title, \.body)
            print(try index.completions(of: "an", in: context).map(\.word))
            print(try index.corrected("analytcal engine", in: context) ?? typed)
            #expect(try index.completions(of: "an", in: context).map(\.word) == ["analytical"])
            #expect(try index.corrected("analytcal engine", in: context) == "analytical engine")
        }
    }

    /// Except for the file's path, every line of the README's program is in this file too.
    @Test("The program in the README is the one above")
    func sameText() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        // The program, and the searches in it.
        let programs = readme.components(separatedBy: "```swift\n").dropFirst().prefix(2)
        try #require(programs.count == 2)
        let program = programs.map { $0.components(separatedBy: "```")[0] }.joined()
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let compiled = Set(lines(try String(contentsOf: here, encoding: .utf8)))
        for line in lines(program) where !line.contains("news.hornbeam") {
            #expect(compiled.contains(line), "README: \(line)")
        }
    }
}
