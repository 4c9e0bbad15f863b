// SPDX-License-Identifier: Apache-2.0
// The examples of Docs/mirror.md, compiled and run.

import Foundation
import Hornbeam
import HornbeamPostgres
import HornbeamTestSupport
import PostgresTestSupport
import Testing

@EntityModel
struct Article {
    @Index<Self>(\.published) private var byDate

    let id: Int
    var title: String
    var isPublished: Bool
    var published: Date
    @Relationship(inverse: \.articles) var author: Author?
}

@EntityModel
struct Author {
    let id: Int
    var name: String
    @Relationship(inverse: \.author) var articles: [Article]?
}

@Suite("Docs/mirror.md")
struct MirrorPageTests {
    @Test("sets up, waits, verifies, restores and reads as it says")
    func examples() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let folder = try TemporaryFolder()
        let database = try Database(at: folder.path("store"), models: Article.self, Author.self)
        let mirror = try PostgresMirror(of: database, named: "reporting", to: url, schema: "news")
        let running = Task { try await mirror.run() }
        try await database.write { context in
            for id in 1...30 {
                try Article(
                    id: id, title: "A\(id)", isPublished: id % 2 == 0,
                    published: Date(timeIntervalSinceReferenceDate: Double(id)),
                    author: .relation(Author(id: id % 3, name: "N\(id % 3)"))
                ).save(to: &context)
            }
        }
        try await mirror.reach(database.version)
        var wasSeen = false
        for await state in mirror.states {
            if case .following = state { wasSeen = true }
            break
        }
        #expect(wasSeen)
        try await mirror.verify()
        #expect(try PostgresServer.psql(#"SELECT "title" FROM news."Article" WHERE id = 7"#, url: url) == "A7")
        running.cancel()
        try await running.value

        let restored = try await Database.restore(
            to: folder.path("restored"), from: url, schema: "news", models: Article.self, Author.self)
        let reader = try PostgresReader(url, schema: "news", models: Article.self, Author.self)
        let newest = Article.filter(\.isPublished).sorted(by: \.published.desc).limit(20).with(\.$author)
        let articles = try await reader.resolve(newest)
        #expect(articles.map(\.id) == Array(stride(from: 30, through: 2, by: -2)))
        #expect(articles.first?.author?.name == "N0")
        #expect(try await restored.read { try newest.resolve(in: $0).map(\.id) } == articles.map(\.id))
        try restored.close()
        try database.close()
    }

    @Test("A mirror can have some types, with indexes, under a name")
    func options() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        let database = try Database.inMemory(models: Article.self, Author.self)
        var options = PostgresMirror.Options()
        options.indexes = [.declared, .fullText]
        let mirror = try PostgresMirror(
            of: database, named: "some", to: url, types: .only(Article.self), options: options)
        try await mirror.update()
        let tables =
            "SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.tables "
            + "WHERE table_schema = 'hornbeam'"
        #expect(try PostgresServer.psql(tables, url: url) == "Article _mirror")
        let indexes =
            "SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'hornbeam' "
            + "AND tablename = 'Article'"
        #expect(
            try PostgresServer.psql(indexes, url: url) == "Article/author Article/byDate Article_pkey")
    }
}
