// SPDX-License-Identifier: Apache-2.0
// Searches that distinguish the title from the text: the title's words weigh more, or only they count. A document's
// title is its first line, or its first words if it has only one line.

import BenchHarness
import Hornbeam

@EntityModel
struct TitledPage {
    @FullTextIndex<Self>(\.title, \.text, analyzer: .words) private var search

    let id: Int
    var title: String
    var text: String
}

/// The words that count, and their weights.
enum FieldQuestion: String, CaseIterable {
    /// Words of the title weigh five times as much.
    case weights
    /// Only words of the title.
    case title

    static let titleWeight = 5.0
}

protocol FieldEngine: AnyObject {
    init(path: String) throws
    func build(_ pages: [(id: Int, title: String, text: String)]) throws
    /// Returns the best documents with any of the words, best first.
    func best(_ kind: FieldQuestion, _ words: [String], limit: Int) throws -> [TextHit]
    func close() throws
}

final class HornbeamFields: FieldEngine {
    private let database: Database

    init(path: String) throws { database = try Database(at: path, models: TitledPage.self) }

    func build(_ pages: [(id: Int, title: String, text: String)]) throws {
        try database.write { context in
            for page in pages {
                try TitledPage(id: page.id, title: page.title, text: page.text).save(to: &context)
            }
        }
        try database.checkpoint()
    }

    func best(_ kind: FieldQuestion, _ words: [String], limit: Int) throws -> [TextHit] {
        let words = SearchQuery<TitledPage>.words(words.joined(separator: " "))
        let match: Predicate<TitledPage> =
            switch kind {
            case .weights: .string(\.title, \.text, matches: words, weights: [FieldQuestion.titleWeight, 1])
            case .title: .string(\.title, \.text, matches: words.in(\TitledPage.title))
            }
        return try database.read { context in
            try TitledPage.filter(match).limit(limit).ranked(in: context).map {
                TextHit(document: $0.id, score: $0.score)
            }
        }
    }

    func close() throws { try database.close() }
}

#if PEER_SQLITE
    final class FTS5Fields: FieldEngine {
        private let connection: SQLiteConnection
        private let put: SQLiteStatement
        private let index: SQLiteStatement
        private let weighted: SQLiteStatement
        private let ranked: SQLiteStatement

        init(path: String) throws {
            connection = try SQLiteConnection(
                path: path,
                schema: [
                    "CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL)",
                    """
                    CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5 (title, text, content='page',
                    content_rowid='id', tokenize='unicode61 remove_diacritics 0')
                    """,
                ])
            put = try connection.prepare("INSERT OR REPLACE INTO page VALUES (?, ?, ?)")
            index = try connection.prepare("INSERT INTO search (rowid, title, text) VALUES (?, ?, ?)")
            let found = "FROM search WHERE search MATCH ? ORDER BY"
            weighted = try connection.prepare(
                "SELECT rowid, bm25(search, \(FieldQuestion.titleWeight), 1.0) AS score \(found) score LIMIT ?")
            ranked = try connection.prepare("SELECT rowid, rank \(found) rank LIMIT ?")
        }

        func build(_ pages: [(id: Int, title: String, text: String)]) throws {
            try connection.transaction {
                for page in pages {
                    for statement in [put, index] {
                        statement.bind(1, page.id)
                        try statement.bind(2, page.title) {
                            try statement.bind(3, page.text) { try statement.run() }
                        }
                    }
                }
            }
        }

        func best(_ kind: FieldQuestion, _ words: [String], limit: Int) throws -> [TextHit] {
            let text = words.map { "\"\($0)\"" }.joined(separator: " OR ")
            let statement = kind == .weights ? weighted : ranked
            statement.bind(2, limit)
            var hits: [TextHit] = []
            try statement.bind(1, kind == .weights ? text : "{title} : (\(text))") {
                try statement.each {
                    hits.append(TextHit(document: statement.integer(0), score: -statement.double(1)))
                }
            }
            return hits
        }

        func close() throws { connection.close() }
    }
#endif

/// Builds a store of titles and texts, and queries it.
struct FieldScenario {
    let run: Run
    let corpus: Corpus
    let questions: QuestionFile

    /// The workloads, and the sets of queries that each uses.
    private static let sets = ["1-common": "any-1-common", "2-document": "any-2-document"]

    func perform() throws {
        switch run.engine {
        case HornbeamPages.name: try perform(HornbeamFields.self)
        #if PEER_SQLITE
            case FTS5Pages.name: try perform(FTS5Fields.self)
        #endif
        default: break
        }
    }

    private func perform<Engine: FieldEngine>(_ type: Engine.Type) throws {
        let engine = try Engine(path: run.storePath)
        try engine.build((0..<questions.documents).map { page($0) })
        for kind in FieldQuestion.allCases {
            for (name, set) in Self.sets.sorted(by: { $0.key < $1.key }) {
                guard let set = questions.sets.first(where: { $0.name == set }) else { continue }
                try ask(kind, set.questions.map(\.words), "\(kind)-\(name)", engine)
            }
        }
        try engine.close()
    }

    private func page(_ number: Int) -> (id: Int, title: String, text: String) {
        let text = corpus.text(number)
        let line = text.prefix { $0 != "\n" }
        if line.count < text.count { return (number, String(line), String(text[line.endIndex...])) }
        let words = text.split(separator: " ", maxSplits: 6)
        return (number, words.prefix(6).joined(separator: " "), words.dropFirst(6).joined(separator: " "))
    }

    private func ask(
        _ kind: FieldQuestion, _ questions: [[String]], _ name: String, _ engine: some FieldEngine
    ) throws {
        guard run.wants(name) else { return }
        var sum = 0
        for (place, words) in questions.enumerated() {
            let best = try engine.best(kind, words, limit: 10)
            sum += best.count
            // The best few must be the best of all.
            guard place < 10 else { continue }
            let all = try engine.best(kind, words, limit: self.questions.documents)
            guard zip(best, all).allSatisfy({ $0.score == $1.score }), best.count == min(10, all.count) else {
                throw BenchError("\(name), \(words): others are better")
            }
        }
        guard sum > 0 else { throw BenchError("\(name): nothing found") }
        try run.look(name, 3 * questions.count) { latencies in
            for words in Array(repeating: questions, count: 3).joined() {
                _ = try latencies.timed { try engine.best(kind, words, limit: 10) }
            }
        }
    }
}
