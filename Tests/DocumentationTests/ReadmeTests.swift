// SPDX-License-Identifier: Apache-2.0
// The example of README.md, line for line: what the first screen shows must compile and do what it says.

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

    /// But for where the file lies, every line of the README's program stands in this file too.
    @Test("The program in the README is the one above")
    func sameText() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let program = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
            .components(separatedBy: "```")[0]
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let compiled = Set(lines(try String(contentsOf: here, encoding: .utf8)))
        for line in lines(program) where !line.contains("news.hornbeam") {
            #expect(compiled.contains(line), "README: \(line)")
        }
    }
}
