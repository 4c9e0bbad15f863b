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

            let hits = try Article.filter(.string(\.title, \.body, matches: "algebraic engine")).limit(10)
                .ranked(in: context)
            for hit in hits {
                #expect(hit.score > 0)
                #expect(try hit.entity?.title == "On engines")
            }
            #expect(hits.count == 1)

            // With one article a scan is cheaper than the index.
            let plan = try Article.filter(\.section == "science").sorted(by: \.published.desc).explain(in: context)
            #expect("\(plan)".hasPrefix("Article: scan of 1 rows"))
        }
        try database.close()
    }
}
