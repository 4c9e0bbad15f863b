// SPDX-License-Identifier: Apache-2.0
// Documents as a program that embeds Hornbeam declares and queries them.

import BenchHarness
import Dispatch
import Hornbeam

@EntityModel
struct PlainDocument {
    @Index<Self>(\.score) private var byScore
    @Unique<Self>(\.key) private var byKey

    let id: Int
    var key: String
    var score: Int
    var text: String
}

@EntityModel
struct Document {
    @Index<Self>(\.score) private var byScore
    @Unique<Self>(\.key) private var byKey
    @FullTextIndex<Self>(\.text, analyzer: .words) private var search

    let id: Int
    var key: String
    var score: Int
    var text: String
}

extension Answer {
    fileprivate init(_ documents: [Document]) {
        self.init()
        for document in documents { add(document.id, document.key, document.score, document.text) }
    }
}

final class HornbeamDocuments: DocumentStore {
    private let database: Database

    /// `path` is nil for a database in memory.
    init(path: String?) throws {
        database =
            if let path {
                try Database(at: path, models: PlainDocument.self, Document.self)
            } else {
                try Database.inMemory(models: PlainDocument.self, Document.self)
            }
    }

    func savePlain(_ documents: [DocumentSample]) throws {
        try database.write { context in
            for sample in documents {
                let document = PlainDocument(id: sample.id, key: sample.key, score: sample.score, text: sample.text)
                try document.save(to: &context)
            }
        }
    }

    func save(_ documents: [DocumentSample]) throws {
        try database.write { context in
            for sample in documents {
                let document = Document(id: sample.id, key: sample.key, score: sample.score, text: sample.text)
                try document.save(to: &context)
            }
        }
    }

    func documents(score: Int) throws -> Answer {
        try database.read { Answer(try Document.filter(\.score == score).resolve(in: $0)) }
    }

    func document(key: String) throws -> Answer {
        try database.read { Answer(try Document.filter(\.key == key).resolve(in: $0)) }
    }

    func documents(scores: Range<Int>) throws -> Answer {
        let (least, end) = (scores.lowerBound, scores.upperBound)
        return try database.read {
            Answer(
                try Document.filter(\.score >= least).filter(\.score < end).sorted(by: \.score).resolve(in: $0))
        }
    }

    func first(_ limit: Int, descending: Bool) throws -> Answer {
        try database.read { context in
            let all = Document.query()
            let sorted = descending ? all.sorted(by: \.score.desc) : all.sorted(by: \.score)
            return Answer(try sorted.limit(limit).resolve(in: context))
        }
    }

    func documents(matching words: WordPair, limit: Int?) throws -> Answer {
        try database.read { context in
            let found = Document.filter(.string(\.text, matches: words.plain))
            return Answer(try (limit.map { found.limit($0) } ?? found).resolve(in: context))
        }
    }

    func documents(containing part: String) throws -> Answer {
        try database.read { Answer(try Document.filter(.string(\.text, contains: part)).resolve(in: $0)) }
    }

    func close() throws { try database.close() }
}

extension HornbeamDocuments: ObservedDocuments {
    func readNothing() throws { try database.read { _ in } }

    func follow(_ documents: ArraySlice<DocumentSample>, _ latencies: inout Latencies) throws {
        let hasCome = DispatchSemaphore(value: 0)
        let changes = database.changes(of: Document.query().sorted(by: \.score))
        let live = Task {
            for try await _ in changes { hasCome.signal() }
        }
        defer { live.cancel() }
        hasCome.wait()
        for sample in documents {
            // A save without a change wouldn't be reported.
            let document = Document(id: sample.id, key: sample.key, score: sample.score + 1, text: sample.text)
            try latencies.time {
                try database.write(durability: .process) { try document.save(to: &$0) }
                hasCome.wait()
            }
        }
    }
}
