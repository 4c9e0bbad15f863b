// SPDX-License-Identifier: Apache-2.0
// Texts as a program that embeds Hornbeam declares and searches them.

import BenchHarness
import Hornbeam

/// A type without an index of its text.
@EntityModel
struct PlainPage {
    @Index<Self>(\.group) private var byGroup

    let id: Int
    var group: Int
    var text: String
}

@EntityModel
struct Page {
    @Index<Self>(\.group) private var byGroup
    @FullTextIndex<Self>(\.text, analyzer: .words) private var search

    let id: Int
    var group: Int
    var text: String

    /// Deleted entities aren't kept, as by the peers.
    func asDeleted(in context: Context) throws -> Deleted<Page>? { nil }
}

/// A type with an index without positions.
@EntityModel
struct WordsPage {
    @Index<Self>(\.group) private var byGroup
    @FullTextIndex<Self>(\.text, analyzer: .words, positions: false) private var search

    let id: Int
    var group: Int
    var text: String
}

/// A type with an index of stems.
@EntityModel
struct StemsPage {
    @FullTextIndex<Self>(\.text, analyzer: .unicode(stemming: .english), positions: false) private var search

    let id: Int
    var text: String
}

final class HornbeamPages: TextEngine {
    static let name = "hornbeam"
    static let hasCommonScores = true
    static let indexings: [TextIndexing] = [.none, .words, .positions]
    static let hasPlainDocuments = true

    struct Query {
        /// The words of the query.
        var words: String
        var search: SearchQuery<Page>
        var group: Int?
    }

    private let database: Database
    private let indexing: TextIndexing

    init(path: String, indexing: TextIndexing) throws {
        self.indexing = indexing
        database = try Database(at: path, models: PlainPage.self, WordsPage.self, Page.self, StemsPage.self)
    }

    /// For another thread: all threads share one database.
    init(sharing other: HornbeamPages) {
        (database, indexing) = (other.database, other.indexing)
    }

    func build(_ corpus: Corpus, _ documents: Range<Int>) throws {
        try database.write { context in
            for number in documents {
                let (group, text) = (Corpus.group(of: number), corpus.text(number))
                switch indexing {
                case .none: try PlainPage(id: number, group: group, text: text).save(to: &context)
                case .words: try WordsPage(id: number, group: group, text: text).save(to: &context)
                case .positions: try Page(id: number, group: group, text: text).save(to: &context)
                case .stems: try StemsPage(id: number, text: text).save(to: &context)
                }
            }
        }
        try database.checkpoint()
    }

    func query(_ kind: QuestionKind, _ question: Question) throws -> Query? {
        let words = question.words.joined(separator: " ")
        let search: SearchQuery<Page> =
            switch kind {
            case .any, .count, .texts: .words(words)
            case .all: .all(question.words.map { .words($0) })
            case .phrase: .phrase(words)
            case .prefix: .prefix(words)
            case .near:
                .near(.words(question.words[0]), .words(question.words[1]), within: QuestionKind.nearDistance)
            case .fuzzy: .fuzzy(words)
            case .wildcard: .wildcard(words)
            }
        return Query(words: words, search: search, group: question.group)
    }

    private func list(_ query: Query) -> QueryList<Page> {
        let found = Page.filter(.string(\.text, matches: query.search))
        return if let group = query.group { found.filter(\.group == group) } else { found }
    }

    func best(_ query: Query) throws -> [TextHit] { try best(query, limit: 10) }

    func best(_ query: Query, limit: Int) throws -> [TextHit] {
        if indexing == .stems { return try bestByStems(query, limit: limit) }
        return try database.read { context in
            try list(query).limit(limit).ranked(in: context).map { TextHit(document: $0.id, score: $0.score) }
        }
    }

    private func bestByStems(_ query: Query, limit: Int) throws -> [TextHit] {
        let words = query.words
        return try database.read { context in
            try StemsPage.filter(.string(\.text, matches: .words(words))).limit(limit).ranked(in: context).map {
                TextHit(document: $0.id, score: $0.score)
            }
        }
    }

    func texts(_ query: Query) throws -> Int {
        try database.read { context in
            try list(query).limit(10).resolve(in: context).reduce(0) { $0 + $1.text.utf8.count }
        }
    }

    func count(_ query: Query) throws -> Int {
        try database.read { context in try list(query).count(in: context) }
    }

    func insert(_ document: Int, _ text: String) throws {
        try database.write { context in
            try Page(id: document, group: Corpus.group(of: document), text: text).save(to: &context)
        }
    }

    func update(_ document: Int, _ text: String) throws { try insert(document, text) }

    func insertPlain(_ document: Int, _ text: String) throws {
        try database.write { context in
            try PlainPage(id: document, group: Corpus.group(of: document), text: text).save(to: &context)
        }
    }

    func delete(_ document: Int) throws {
        try database.write { try Page.delete(id: document, from: &$0) }
    }

    func close() throws { try database.close() }
}
