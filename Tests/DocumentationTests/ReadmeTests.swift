// SPDX-License-Identifier: Apache-2.0
// The examples of README.md, line for line: they must compile and do as described.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
struct City {
    @Unique<Self>(\.name) private var byName

    let id: Int
    var name: String
}

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
    @Test("The first example saves an entity and finds it")
    func firstExample() throws {
        let folder = try TemporaryFolder()
        let database = try Database(at: folder.path("cities.hornbeam"), models: City.self)
        try database.write { context in
            try City(id: 1, name: "Oslo").save(to: &context)
        }
        let found = try database.read { context in
            try City.filter(\.name == "Oslo").resolve(in: context)
        }
        #expect(found.map(\.id) == [1])
        try database.close()
    }

    @Test("The longer example saves, queries, searches and explains")
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

    /// Except for the lines with the file's path, every line of the README's examples is in this file too.
    @Test("The examples in the README are the ones above")
    func sameText() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        // The block that names the package is no program.
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
        let programs = blocks.filter { !$0.hasPrefix("dependencies:") }
        try #require(programs.count == 2)
        let program = programs.map { $0.components(separatedBy: "```")[0] }.joined()
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let compiled = Set(lines(try String(contentsOf: here, encoding: .utf8)))
        for line in lines(program) where !line.contains("Database(at:") {
            #expect(compiled.contains(line), "README: \(line)")
        }
    }
}
