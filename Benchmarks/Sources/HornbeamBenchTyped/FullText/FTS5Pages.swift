// SPDX-License-Identifier: Apache-2.0
// The texts in SQLite, used directly: FTS5 with the table of the texts as its external content, prepared statements,
// the index maintained by the program itself, and `rank` for the order, which is BM25.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite

    final class FTS5Pages: TextEngine {
        static let name = "sqlite"
        static let hasCommonScores = false
        static let indexings: [TextIndexing] = [.none, .words, .positions]

        struct Query {
            /// The query in FTS5's language.
            var words: String
            var group: Int?
        }

        private let connection: SQLiteConnection
        private let put: SQLiteStatement
        private let old: SQLiteStatement
        private let remove: SQLiteStatement
        private let index: SQLiteStatement?
        private let unindex: SQLiteStatement?
        private let ranked: SQLiteStatement?
        private let filtered: SQLiteStatement?
        private let counted: SQLiteStatement?
        private let read: SQLiteStatement?

        init(path: String, indexing: TextIndexing) throws {
            // Accents are kept, as by Hornbeam's default. `detail=none` keeps no frequencies either.
            let tokenizer = indexing == .stems ? "porter unicode61" : "unicode61 remove_diacritics 0"
            let detail = indexing == .words ? ", detail=none" : ""
            let search = """
                CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5 (text, content='page', content_rowid='id',
                tokenize='\(tokenizer)'\(detail))
                """
            connection = try SQLiteConnection(
                path: path,
                schema: [
                    """
                    CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, "group" INTEGER NOT NULL,
                    text TEXT NOT NULL)
                    """,
                    "CREATE INDEX IF NOT EXISTS pageByGroup ON page (\"group\")",
                ] + (indexing == .none ? [] : [search]))
            put = try connection.prepare("INSERT OR REPLACE INTO page VALUES (?, ?, ?)")
            old = try connection.prepare("SELECT text FROM page WHERE id = ?")
            remove = try connection.prepare("DELETE FROM page WHERE id = ?")
            guard indexing != .none else {
                (index, unindex, ranked, filtered, counted, read) = (nil, nil, nil, nil, nil, nil)
                return
            }
            index = try connection.prepare("INSERT INTO search (rowid, text) VALUES (?, ?)")
            unindex = try connection.prepare("INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)")
            let matching = "WHERE search MATCH ?"
            ranked = try connection.prepare("SELECT rowid, rank FROM search \(matching) ORDER BY rank LIMIT ?")
            counted = try connection.prepare("SELECT count(*) FROM search \(matching)")
            let joined = "FROM search JOIN page ON page.id = search.rowid"
            filtered = try connection.prepare(
                "SELECT page.id, rank \(joined) \(matching) AND page.\"group\" = ? ORDER BY rank LIMIT 10")
            read = try connection.prepare("SELECT page.text \(joined) \(matching) ORDER BY rank LIMIT 10")
        }

        func build(_ corpus: Corpus, _ documents: Range<Int>) throws {
            try connection.transaction {
                for number in documents { try add(number, corpus.text(number)) }
            }
        }

        private func add(_ number: Int, _ text: String) throws {
            put.bind(1, number)
            put.bind(2, Corpus.group(of: number))
            try put.bind(3, text) { try put.run() }
            index?.bind(1, number)
            try index?.bind(2, text) { try index?.run() }
        }

        /// Removes the text from the index, which needs its former content.
        private func forget(_ number: Int) throws {
            old.bind(1, number)
            var text = ""
            try old.each { text = old.text(0) }
            unindex?.bind(1, number)
            try unindex?.bind(2, text) { try unindex?.run() }
        }

        func query(_ kind: QuestionKind, _ question: Question) throws -> Query? {
            let words = question.words.map { "\"\($0)\"" }
            let text: String? =
                switch kind {
                case .any, .count, .texts: words.joined(separator: " OR ")
                case .all: words.joined(separator: " AND ")
                case .phrase: "\"\(question.words.joined(separator: " "))\""
                case .prefix: words[0] + "*"
                // FTS5 counts the words in between.
                case .near: "NEAR(\(words.joined(separator: " ")), \(QuestionKind.nearDistance - 1))"
                case .fuzzy, .wildcard: nil
                }
            guard let text else { return nil }
            return Query(words: text, group: question.group)
        }

        func best(_ query: Query) throws -> [TextHit] {
            guard let group = query.group, let filtered else { return try best(query, limit: 10) }
            filtered.bind(2, group)
            return try hits(query, filtered)
        }

        func best(_ query: Query, limit: Int) throws -> [TextHit] {
            guard let ranked else { return [] }
            ranked.bind(2, limit)
            return try hits(query, ranked)
        }

        private func hits(_ query: Query, _ statement: SQLiteStatement) throws -> [TextHit] {
            var hits: [TextHit] = []
            try statement.bind(1, query.words) {
                try statement.each {
                    hits.append(TextHit(document: statement.integer(0), score: -statement.double(1)))
                }
            }
            return hits
        }

        func texts(_ query: Query) throws -> Int {
            var size = 0
            guard let read else { return 0 }
            try read.bind(1, query.words) { try read.each { size += read.text(0).utf8.count } }
            return size
        }

        func count(_ query: Query) throws -> Int {
            var count = 0
            guard let counted else { return 0 }
            try counted.bind(1, query.words) { try counted.each { count = counted.integer(0) } }
            return count
        }

        func insert(_ document: Int, _ text: String) throws {
            try connection.transaction { try add(document, text) }
        }

        func update(_ document: Int, _ text: String) throws {
            try connection.transaction {
                try forget(document)
                try add(document, text)
            }
        }

        func delete(_ document: Int) throws {
            try connection.transaction {
                try forget(document)
                remove.bind(1, document)
                try remove.run()
            }
        }

        func close() throws { connection.close() }
    }
#endif
