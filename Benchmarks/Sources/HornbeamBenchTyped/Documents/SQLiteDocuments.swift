// SPDX-License-Identifier: Apache-2.0
// The documents in SQLite, used directly. The full-text index is FTS5 with the table as its external content, so that
// texts aren't stored twice; the program itself writes to both, which is faster than a trigger.

#if PEER_SQLITE
    import BenchHarness
    import CSQLite

    private struct DocumentRow {
        let id: Int
        let key: String
        let score: Int
        let text: String
    }

    final class SQLiteDocuments: DocumentStore {
        private let connection: SQLiteConnection
        private let putPlain: SQLiteStatement
        private let put: SQLiteStatement
        private let putText: SQLiteStatement
        private let byScore: SQLiteStatement
        private let byKey: SQLiteStatement
        private let byScores: SQLiteStatement
        private let least: SQLiteStatement
        private let most: SQLiteStatement
        private let containing: SQLiteStatement
        private let matching: SQLiteStatement

        /// `path` is nil for a database in memory.
        init(path: String?) throws {
            let columns =
                "id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, score INTEGER NOT NULL, text TEXT NOT NULL"
            connection = try SQLiteConnection(
                path: path,
                schema: [
                    "CREATE TABLE plain (\(columns))", "CREATE INDEX plainByScore ON plain (score)",
                    "CREATE TABLE document (\(columns))", "CREATE INDEX documentByScore ON document (score)",
                    "CREATE VIRTUAL TABLE search USING fts5 (text, content='document', content_rowid='id')",
                ])
            let kept =
                "ON CONFLICT (id) DO UPDATE SET key = excluded.key, score = excluded.score, text = excluded.text"
            putPlain = try connection.prepare("INSERT INTO plain VALUES (?, ?, ?, ?) \(kept)")
            put = try connection.prepare("INSERT INTO document VALUES (?, ?, ?, ?) \(kept)")
            putText = try connection.prepare("INSERT INTO search (rowid, text) VALUES (?, ?)")
            let select = "SELECT id, key, score, text FROM document"
            byScore = try connection.prepare("\(select) WHERE score = ?")
            byKey = try connection.prepare("\(select) WHERE key = ?")
            byScores = try connection.prepare("\(select) WHERE score >= ? AND score < ? ORDER BY score, id")
            least = try connection.prepare("\(select) ORDER BY score, id LIMIT ?")
            // Not ordered by id: SQLite would have to sort the documents of each score again.
            most = try connection.prepare("\(select) ORDER BY score DESC LIMIT ?")
            containing = try connection.prepare("\(select) WHERE text LIKE ?")
            matching = try connection.prepare(
                """
                SELECT document.id, document.key, document.score, document.text
                FROM search JOIN document ON document.id = search.rowid
                WHERE search MATCH ? ORDER BY rank LIMIT ?
                """)
        }

        func savePlain(_ documents: [DocumentSample]) throws {
            try connection.transaction {
                for sample in documents { try write(sample, putPlain) {} }
            }
        }

        func save(_ documents: [DocumentSample]) throws {
            try connection.transaction {
                for sample in documents {
                    try write(sample, put) {
                        putText.bind(1, sample.id)
                        try putText.bind(2, sample.text) { try putText.run() }
                    }
                }
            }
        }

        private func write(_ sample: DocumentSample, _ statement: SQLiteStatement, _ then: () throws -> Void) throws {
            statement.bind(1, sample.id)
            statement.bind(3, sample.score)
            try statement.bind(2, sample.key) {
                try statement.bind(4, sample.text) { try statement.run() }
            }
            try then()
        }

        func documents(score: Int) throws -> Answer {
            byScore.bind(1, score)
            return try answer(byScore)
        }

        func document(key: String) throws -> Answer {
            try byKey.bind(1, key) { try answer(byKey) }
        }

        func documents(scores: Range<Int>) throws -> Answer {
            byScores.bind(1, scores.lowerBound)
            byScores.bind(2, scores.upperBound)
            return try answer(byScores)
        }

        func first(_ limit: Int, descending: Bool) throws -> Answer {
            let statement = descending ? most : least
            statement.bind(1, limit)
            return try answer(statement)
        }

        func documents(containing part: String) throws -> Answer {
            try containing.bind(1, "%\(part)%") { try answer(containing) }
        }

        func documents(matching words: WordPair, limit: Int?) throws -> Answer {
            matching.bind(2, limit ?? -1)
            return try matching.bind(1, words.either) { try answer(matching) }
        }

        private func answer(_ statement: SQLiteStatement) throws -> Answer {
            var rows: [DocumentRow] = []
            try statement.each {
                rows.append(
                    DocumentRow(
                        id: statement.integer(0), key: statement.text(1), score: statement.integer(2),
                        text: statement.text(3)))
            }
            var answer = Answer()
            for row in rows { answer.add(row.id, row.key, row.score, row.text) }
            return answer
        }

        func close() throws { connection.close() }
    }
#endif
