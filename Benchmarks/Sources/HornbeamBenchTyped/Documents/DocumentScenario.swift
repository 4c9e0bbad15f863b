// SPDX-License-Identifier: Apache-2.0
// Saves documents with indexes of each kind, and finds them by each index, on disk or in memory.

import BenchHarness

func documentScenario(_ run: Run, isInMemory: Bool) throws {
    let samples = DocumentSamples(count: max(100, run.count / 10), seed: run.seed)
    let documents = samples.documents
    let part = Part(run, isInMemory)
    let store = try open(run, isInMemory)
    if run.wants(part.name("save-value")) {
        try part.change("save-value", documents.count) { _ in try store.savePlain(documents) }
    }
    try part.change("save-text", documents.count) { _ in try store.save(documents) }
    try indexed(part, samples, store)
    try ordered(part, samples, store)
    try matched(part, samples, store)
    try partly(part, samples, store)
    try observed(part, samples, store)
    try store.close()
}

private func open(_ run: Run, _ isInMemory: Bool) throws -> any DocumentStore {
    let path = isInMemory ? nil : run.storePath
    switch run.engine {
    case "hornbeam": return try HornbeamDocuments(path: path)
    #if PEER_SQLITE
        case "sqlite": return try SQLiteDocuments(path: path)
    #endif
    default: throw BenchError("\(run.engine) has no entities")
    }
}

/// Returns the number of queries: all of them, or at most the number of documents.
private func indexed(_ part: Part, _ samples: DocumentSamples, _ store: any DocumentStore) throws {
    let documents = samples.documents
    var random = SplitMix(state: part.run.seed &+ 1)
    let chosen = (0..<min(10_000, documents.count)).map { _ in documents.randomElement(using: &random) ?? documents[0] }
    let byScore = Dictionary(grouping: documents, by: \.score).mapValues { Answer($0) }
    try part.measure("equal", chosen.map { ($0.score, byScore[$0.score] ?? Answer()) }) {
        try store.documents(score: $0)
    }
    try part.measure("unique", chosen.map { ($0.key, Answer([$0])) }) { try store.document(key: $0) }
}

private func ordered(_ part: Part, _ samples: DocumentSamples, _ store: any DocumentStore) throws {
    var random = SplitMix(state: part.run.seed &+ 2)
    let sorted = samples.byScore
    for (name, share, count) in [("range-1", 100, 200), ("range-10", 10, 40)] {
        let width = DocumentSamples.scores / share
        let questions = (0..<min(count, sorted.count)).map { _ in
            let least = Int.random(in: 0...DocumentSamples.scores - width, using: &random)
            let range = least..<least + width
            return (range, Answer(sorted.lazy.drop { $0.score < least }.prefix { range.contains($0.score) }))
        }
        try part.measure(name, questions) { try store.documents(scores: $0) }
    }
    let times = min(2_000, sorted.count)
    let least = Answer(sorted.prefix(20))
    try part.measure("first", Array(repeating: (20, least), count: times)) { try store.first($0, descending: false) }
    // The choice among the last score isn't checked: SQLite would have to sort for Hornbeam's order.
    let most = Answer(sorted.suffix(20).reversed())
    try part.measure("last", Array(repeating: (20, most), count: times), by: \.order) {
        try store.first($0, descending: true)
    }
}

private func matched(_ part: Part, _ samples: DocumentSamples, _ store: any DocumentStore) throws {
    var random = SplitMix(state: part.run.seed &+ 3)
    for (name, ranks, count) in [("common", 0..<50, 40), ("middle", 100..<1_000, 100), ("rare", 2_000..<5_000, 200)] {
        let questions = samples.pairs(ranks, count: min(count, samples.documents.count), &random)
        // The order of all results depends on the engine's formula, but that of the first ten must be the same.
        try part.measure("match-\(name)", questions.map { ($0.words, $0.answer) }, by: \.sum) {
            try store.documents(matching: $0, limit: nil)
        }
        guard part.run.wants(part.name("match-\(name)-10")) else { continue }
        let best = try questions.map { ($0.words, try store.documents(matching: $0.words, limit: nil)) }
        try part.measure("match-\(name)-10", best, by: \.head) { try store.documents(matching: $0, limit: 10) }
    }
}

private func partly(_ part: Part, _ samples: DocumentSamples, _ store: any DocumentStore) throws {
    var random = SplitMix(state: part.run.seed &+ 5)
    let pieces = samples.pieces(count: min(100, samples.documents.count), &random)
    try part.measure("contains-words", pieces, by: \.sum) { try store.documents(containing: $0) }
    let infixes = samples.infixes(count: min(20, samples.documents.count), &random)
    try part.measure("contains-part", infixes, by: \.sum) { try store.documents(containing: $0) }
}

/// Comes last, because it changes documents.
private func observed(_ part: Part, _ samples: DocumentSamples, _ store: any DocumentStore) throws {
    guard let store = store as? any ObservedDocuments else { return }
    let times = min(100_000, 10 * samples.documents.count)
    try part.look("read", times) { latencies in
        for _ in 0..<times { try latencies.time { try store.readNothing() } }
    }
    var random = SplitMix(state: part.run.seed &+ 4)
    let chosen = samples.documents.shuffled(using: &random).prefix(min(1_000, samples.documents.count / 4))
    try part.look("live", chosen.count) { try store.follow(chosen[...], &$0) }
}
