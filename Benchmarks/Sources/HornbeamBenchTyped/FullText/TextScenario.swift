// SPDX-License-Identifier: Apache-2.0
// The measurements of one engine with one corpus, with a process each for building, searching, changing and judging,
// so that none is affected by the memory of another.

import BenchHarness
import Foundation

enum TextScenario {
    /// Documents of a corpus that are not indexed at first.
    static let spare = 200

    /// Number of documents that are changed, and changed back, before common words are searched again.
    static let many = 5_000

    /// Further options of a child.
    static let options: Set<String> = ["corpus", "questions", "judged"]

    /// `text-sample` and `text-prepare` make the input of the other parts.
    static func perform(_ name: String, _ arguments: Arguments) throws {
        let count = try arguments.number("n", 1_000, least: 100)
        let seed = UInt64(try arguments.number("seed", 1))
        switch (name, arguments.text("corpus"), arguments.text("questions")) {
        case ("text-sample", let corpus?, _): try Corpus.makeSample(at: corpus, count: count, seed: seed)
        case ("text-prepare", let corpus?, let questions?):
            try prepareQuestions(corpus: corpus, questions: questions, limit: count, seed: seed)
        default: try run(name, arguments)
        }
    }

    private static func run(_ name: String, _ arguments: Arguments) throws {
        let run = try Run(arguments)
        if name == "text-fields", let corpus = arguments.text("corpus"), let questions = arguments.text("questions") {
            let scenario = FieldScenario(
                run: run, corpus: try Corpus(path: corpus), questions: try QuestionFile.read(questions))
            return try scenario.perform()
        }
        switch run.engine {
        case HornbeamPages.name: try TextRun<HornbeamPages>(run, arguments).run(name)
        #if PEER_SQLITE
            case FTS5Pages.name: try TextRun<FTS5Pages>(run, arguments).run(name)
        #endif
        #if PEER_XAPIAN
            case XapianPages.name: try TextRun<XapianPages>(run, arguments).run(name)
        #endif
        default: throw BenchError("\(run.engine) has no full text in this build")
        }
    }
}

struct TextRun<Engine: TextEngine> {
    private let run: Run
    private let corpus: Corpus
    private let questions: QuestionFile
    private let judged: String?
    /// Number of times that each query is timed.
    private let passes = 3

    init(_ run: Run, _ arguments: Arguments) throws {
        guard let corpus = arguments.text("corpus"), let questions = arguments.text("questions") else {
            throw BenchError("child is for hornbeam-bench itself: see text")
        }
        self.run = run
        self.corpus = try Corpus(path: corpus)
        self.questions = try QuestionFile.read(questions)
        judged = arguments.text("judged")
    }

    func run(_ name: String) throws {
        switch name {
        case "text-build": try build()
        case "text-search": try search()
        case "text-change": try change()
        case "text-judge": try judge()
        default: throw BenchError("there is no scenario \(name) of full text")
        }
    }

    /// The searched store: with positions if the engine has them.
    private var searched: TextIndexing { Engine.indexings.contains(.positions) ? .positions : .words }

    // MARK: - Building

    /// Builds the searched store first, in a process that has done nothing else; this store stays.
    private func build() throws {
        let seconds = try build(searched)
        let bytes = Double(questions.textBytes)
        try run.tell("speed-build", value: bytes / seconds)
        let (folder, kept) = (run.folder, run.folder + "-kept")
        try FileManager.default.moveItem(atPath: folder, toPath: kept)
        for indexing in Engine.indexings where indexing != searched {
            guard run.wants("build-\(indexing)") || indexing == .none && run.wants("speed-index") else { continue }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let other = try build(indexing)
            if indexing == .none { try run.tell("speed-index", value: bytes / (seconds - other)) }
            try FileManager.default.removeItem(atPath: folder)
        }
        try FileManager.default.moveItem(atPath: kept, toPath: folder)
    }

    /// Returns the seconds that building took.
    private func build(_ indexing: TextIndexing) throws -> Double {
        let peak = MemoryPeak()
        defer { _ = peak.end() }
        let engine = try Engine(path: run.storePath, indexing: indexing)
        let start = nanoseconds()
        try run.change("build-\(indexing)", questions.documents) { _ in
            try engine.build(corpus, 0..<questions.documents)
        }
        let seconds = Double(nanoseconds() - start) * 1e-9
        if indexing == searched { try run.tell("memory-build", value: Double(peak.end())) }
        try engine.close()
        // The size after closing.
        try run.tell("size-\(indexing)", operations: questions.documents, seconds: 1)
        return seconds
    }

    // MARK: - Searching

    private func search() throws {
        let engine = try Engine(path: run.storePath, indexing: searched)
        for set in questions.sets { try ask(set, of: engine) }
        try engine.close()
    }

    /// Runs each query once to check the answer, which also warms the store, and then with the clock.
    private func ask(_ set: QuestionSet, of engine: Engine) throws {
        guard run.wants(set.name) else { return }
        let queries = try set.questions.compactMap { try engine.query(set.kind, $0) }
        guard queries.count == set.questions.count else { return }
        for (place, (query, question)) in zip(queries, set.questions).enumerated() {
            // Hornbeam counts by reading all documents: ten counts are enough.
            let isCounted = place < 10 || set.kind == .count
            let check = TextCheck(set: set, question: question, corpus: corpus, isCounted: isCounted)
            if set.kind.isChecked { try check.check(query, of: engine) }
        }
        var sum = 0
        try run.look(set.name, queries.count * passes) { latencies in
            for query in Array(repeating: queries, count: passes).joined() {
                sum &+= try latencies.timed {
                    switch set.kind {
                    case .count: try engine.count(query)
                    case .texts: try engine.texts(query)
                    case .any, .all, .phrase, .prefix, .near, .fuzzy, .wildcard: try engine.best(query).count
                    }
                }
            }
        }
        guard sum > 0 else { throw BenchError("\(set.name): nothing found") }
    }

    // MARK: - Changing

    /// Inserts the reserved documents, changes the texts of some documents, changes them back, and deletes the
    /// inserted ones. In the end every answer must be that of the beginning.
    private func change() throws {
        let engine = try Engine(path: run.storePath, indexing: searched)
        let spare = Array(questions.documents..<min(corpus.count, questions.documents + TextScenario.spare))
        var random = SplitMix(state: run.seed)
        let changed = Array((0..<questions.documents).shuffled(using: &random).prefix(spare.count))
        if run.wants("prefix-behind"), let number = changed.first, let other = spare.first {
            try engine.update(number, corpus.text(other))
            try engine.update(number, corpus.text(number))
            try engine.refresh()
            try ask("prefix-3", as: "prefix-behind", of: engine)
        }
        try run.changeBesideBare("insert-1", spare.count, bare: "insert-bare") {
            try engine.insert(spare[$0], corpus.text(spare[$0]))
        }
        try run.change("update-1", 2 * changed.count) { latencies in
            for (number, other) in zip(changed, spare) {
                try latencies.time { try engine.update(number, corpus.text(other)) }
            }
            for number in changed { try latencies.time { try engine.update(number, corpus.text(number)) } }
        }
        try run.change("delete-1", spare.count) { latencies in
            for number in spare { try latencies.time { try engine.delete(number) } }
        }
        if run.wants("update-many") || run.wants("after-many") { try changeMany(of: engine, &random) }
        try engine.refresh()
        if let set = questions.sets.first(where: { $0.name == "any-2-document" }) {
            var after = set
            after.name = "after-changes"
            try ask(after, of: engine)
            if run.wants("beside-search") || run.wants("beside-write") {
                let reader = try engine.reader(at: run.storePath)
                let queries = try set.questions.compactMap { try reader.query(set.kind, $0) }
                let beside = TextBeside(
                    reader: reader, queries: Array(Array(repeating: queries, count: passes).joined()), writer: engine,
                    documents: spare.map { ($0, corpus.text($0)) })
                try beside.run(run)
            }
        }
        if Engine.hasPlainDocuments, run.wants("insert-plain") {
            // Last, because these documents stay in the store, which isn't measured any more.
            try run.changeBesideBare("insert-plain", spare.count, bare: "plain-bare") {
                try engine.insertPlain(spare[$0], corpus.text(spare[$0]))
            }
        }
        try engine.close()
    }

    /// Makes ten thousand transactions of one document each, so that some of them do the work that an index
    /// postpones; then searches common words immediately.
    private func changeMany(of engine: Engine, _ random: inout SplitMix) throws {
        let changed = Array((0..<questions.documents).shuffled(using: &random).prefix(TextScenario.many))
        try run.change("update-many", 2 * changed.count) { latencies in
            for (number, other) in zip(changed, changed.reversed()) {
                try latencies.time { try engine.update(number, corpus.text(other)) }
            }
            for number in changed { try latencies.time { try engine.update(number, corpus.text(number)) } }
        }
        guard run.wants("after-many") else { return }
        try engine.refresh()
        try ask("any-2-common", as: "after-many", of: engine)
    }

    /// Repeats the queries of a row for another row.
    private func ask(_ name: String, as other: String, of engine: Engine) throws {
        guard var set = questions.sets.first(where: { $0.name == name }) else { return }
        set.name = other
        try ask(set, of: engine)
    }

    // MARK: - Judging

    private func judge() throws {
        guard let judged else { throw BenchError("text-judge needs what is judged") }
        let relevance = try Relevance(path: judged, documents: questions.documents)
        let engine = try Engine(path: run.storePath, indexing: searched)
        try judge(engine, by: relevance, of: "")
        try engine.close()
        guard run.wants("ndcg-10-stems") else { return }
        let path = run.storePath + "-stems"
        let stems = try Engine(path: path, indexing: .stems)
        try stems.build(corpus, 0..<questions.documents)
        try stems.refresh()
        try judge(stems, by: relevance, of: "-stems")
        try stems.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: run.folder) where name.contains("-stems") {
            try FileManager.default.removeItem(atPath: run.folder + "/" + name)
        }
    }

    private func judge(_ engine: Engine, by relevance: Relevance, of kind: String) throws {
        let measures = try relevance.judge { words in
            try engine.query(.any, Question(words: words)).map { query in
                try engine.best(query, limit: Relevance.depth).map(\.document)
            } ?? []
        }
        for measure in measures {
            try run.tell(measure.name + kind, value: measure.mean, of: measure.values)
        }
    }
}

/// Compares an engine's answer with the right one.
struct TextCheck {
    let set: QuestionSet
    let question: Question
    let corpus: Corpus
    /// Whether the number of all matches is checked.
    let isCounted: Bool

    private func wrong(_ what: String) -> BenchError { BenchError("\(set.name), \(question.words): \(what)") }

    func check<Engine: TextEngine>(_ query: Engine.Query, of engine: Engine) throws {
        if isCounted, question.group == nil {
            let count = try engine.count(query)
            // A peer's tables of letters may have another version of Unicode.
            let tolerance = Engine.hasCommonScores ? 0 : question.count / 1_000 + 1
            guard abs(count - question.count) <= tolerance else {
                throw wrong("\(count) documents instead of \(question.count)")
            }
        }
        let hits = try engine.best(query)
        let isSure = Engine.hasCommonScores || question.count > 11
        guard !isSure || hits.count == min(10, question.count) else { throw wrong("\(hits.count) best ones") }
        if set.kind == .texts {
            // The choice of the best is the engine's; the check is that their texts are read completely.
            let size = hits.reduce(0) { $0 + corpus[$1.document].count }
            guard try engine.texts(query) == size else { throw wrong("texts of another size than \(size)") }
        }
        if let group = question.group {
            guard hits.allSatisfy({ Corpus.group(of: $0.document) == group }) else { throw wrong("another group") }
        }
        if Engine.hasCommonScores { try checkScores(hits) }
    }

    private func checkScores(_ hits: [TextHit]) throws {
        for (place, score) in question.scores.enumerated() {
            let hit = hits[place]
            guard abs(hit.score - score) <= 1e-9 * score else {
                throw wrong("score \(hit.score) at \(place) instead of \(score)")
            }
            // If scores differ only in their last bits, any order is right.
            let isTied = question.scores.enumerated().contains {
                $0.offset != place && abs($0.element - score) <= 1e-12 * score
            }
            guard isTied || place == 9 || hit.document == question.best[place] else {
                throw wrong("document \(hit.document) at \(place) instead of \(question.best[place])")
            }
        }
    }
}
