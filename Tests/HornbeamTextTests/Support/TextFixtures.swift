// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the suites of this module: random texts, and short functions for an index in memory.

import HornbeamPages
import HornbeamTestSupport
import HornbeamText
import HornbeamTree

/// Random texts of a few words, the first of which is the most frequent.
struct TextGenerator {
    var random: SeededGenerator
    let words: [String]

    init(seed: UInt64, wordCount: Int = 40) {
        random = SeededGenerator(seed: seed)
        let odd = ["naïve", "İx", "don't", "中文", "ΟΔΟΣ", "e\u{301}a", "", "--", String(repeating: "long", count: 80)]
        words = (0..<wordCount).map { $0 < odd.count ? odd[$0] + "\($0)" : "w\($0)" }.reversed()
    }

    mutating func word() -> String {
        // The product of two numbers below 1 is often small.
        let place = Double.random(in: 0..<1, using: &random) * Double.random(in: 0..<1, using: &random)
        return words[Int(place * Double(words.count))]
    }

    mutating func text(upTo count: Int) -> String {
        (0..<Int.random(in: 0...count, using: &random)).map { _ in word() }.joined(separator: " ")
    }
}

var testIndex: TextIndex { TextIndex(prefix: "t:Article:search:", analyzer: TestAnalyzer.current) }

extension TreeStore {
    /// Changes the index in a transaction of its own. Without limits, the postings are written at once.
    func write(
        budget: Int = 64 << 20, limits: PendingLimits = .none, _ body: (TextIndexWriter) throws -> Void
    ) throws {
        let transaction = try beginWrite()
        let writer = try TextIndexWriter(testIndex, in: transaction, budget: budget, limits: limits)
        try body(writer)
        try writer.flush()
        try transaction.commit()
    }

    /// Returns a searcher of the newest committed state.
    func searcher() throws(StorageError) -> TextSearcher { try TextSearcher(testIndex, in: beginRead()) }

    /// Returns the problems that the check finds, compared with the model's texts.
    func problems(_ model: NaiveIndex, batchSize: Int = 64 << 20) throws -> [String] {
        let transaction = try beginRead()
        defer { transaction.abort() }
        return try TextCheck(testIndex, in: transaction, batchSize: batchSize).run { (body) throws(StorageError) in
            for (row, text) in model.texts { try body(row, DocumentText(text)) }
        }
    }

    /// Returns an index in memory of these texts, numbered from 1.
    static func index(of texts: String...) throws -> TreeStore {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for (place, text) in texts.enumerated() { try writer.insert(UInt64(place + 1), text: text) }
        }
        return store
    }
}

/// Calls `body` with the bytes of the array.
func withBytes<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes(body)
}
