// SPDX-License-Identifier: Apache-2.0
// The documents of a run and the queries for them, with the right answers, made before any clock starts.

import BenchHarness

struct DocumentSample: Sendable {
    let id: Int
    let key: String
    let score: Int
    let text: String
}

/// The results of a query, summed up so that two engines agree only if they have read the same.
struct Answer: Equatable {
    var count = 0
    /// A sum over all properties, in any order.
    private(set) var sum = 0
    /// A sum over the scores, which depends on their order.
    private(set) var order = 0
    /// A sum over the first ten ids, which depends on their order.
    private(set) var head = 0

    mutating func add(_ id: Int, _ key: String, _ score: Int, _ text: String) {
        if count < 10 { head = head &* 1_000_003 &+ id }
        count += 1
        sum &+= id &* 31 &+ score &* 7 &+ key.utf8.count &+ text.utf8.count
        order = order &* 1_000_003 &+ score
    }

    init() {}

    init(_ documents: some Sequence<DocumentSample>) {
        for document in documents { add(document.id, document.key, document.score, document.text) }
    }
}

/// Documents with texts of 20 words. There are 5,000 words; the popularity of word r is 1 / (r + 1).
struct DocumentSamples: Sendable {
    let documents: [DocumentSample]
    let words: [String]
    /// The documents of each word.
    let holders: [[Int]]

    static let scores = 10_000

    init(count: Int, seed: UInt64) {
        var random = SplitMix(state: seed)
        let words = Self.words(5_000, &random)
        var shares: [Double] = []
        var total = 0.0
        for rank in words.indices {
            total += 1 / Double(rank + 1)
            shares.append(total)
        }
        var holders = [[Int]](repeating: [], count: words.count)
        documents = (0..<count).map { id in
            let chosen = (0..<20).map { _ in
                Self.place(of: Double.random(in: 0..<total, using: &random), in: shares)
            }
            for word in Set(chosen) { holders[word].append(id) }
            return DocumentSample(
                id: id, key: "key-\(random.next() >> 40)-\(id)",
                score: Int.random(in: 0..<Self.scores, using: &random),
                text: chosen.map { words[$0] }.joined(separator: " "))
        }
        self.words = words
        self.holders = holders
    }

    private static func words(_ count: Int, _ random: inout SplitMix) -> [String] {
        var words: [String] = []
        var seen: Set<String> = []
        while words.count < count {
            let letters = (0..<Int.random(in: 3...9, using: &random)).map { _ in
                Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
            }
            if seen.insert(String(letters)).inserted { words.append(String(letters)) }
        }
        return words
    }

    /// Returns the first index whose cumulated share reaches `point`.
    private static func place(of point: Double, in shares: [Double]) -> Int {
        var range = 0..<shares.count - 1
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = shares[middle] > point ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }

    /// Returns parts of texts: three adjacent words of a document, of which the first lacks its beginning and the
    /// last its end, with the documents that contain them.
    func pieces(count: Int, _ random: inout SplitMix) -> [(String, answer: Answer)] {
        var number: [Substring: Int] = [:]
        for (rank, word) in words.enumerated() { number[word[...]] = rank }
        return (0..<count).map { _ in
            let document = documents.randomElement(using: &random) ?? documents[0]
            let own = document.text.split(separator: " ")
            let first = Int.random(in: 0..<own.count - 2, using: &random)
            let piece = "\(own[first].suffix(3)) \(own[first + 1]) \(own[first + 2].prefix(3))"
            let holders = holders[number[own[first + 1]] ?? 0]
            return (piece, Answer(holders.lazy.map { documents[$0] }.filter { $0.text.utf8Contains(piece) }))
        }
    }

    /// Returns five letters from inside a word, with the documents that contain them.
    func infixes(count: Int, _ random: inout SplitMix) -> [(String, answer: Answer)] {
        (0..<count).map { _ in
            var word = ""
            while word.count < 7 { word = words[Int.random(in: 1_000..<words.count, using: &random)] }
            let infix = String(word.dropFirst().prefix(5))
            let ranks = words.indices.filter { words[$0].contains(infix) }
            let found = ranks.reduce(into: Set<Int>()) { $0.formUnion(holders[$1]) }
            return (infix, Answer(found.lazy.map { documents[$0] }))
        }
    }

    /// The documents ordered by score, and then by id.
    var byScore: [DocumentSample] { documents.sorted { ($0.score, $0.id) < ($1.score, $1.id) } }

    /// Returns pairs of different words of some popularity, with the documents that have one or both.
    func pairs(_ ranks: Range<Int>, count: Int, _ random: inout SplitMix) -> [(words: WordPair, answer: Answer)] {
        (0..<count).map { _ in
            let first = Int.random(in: ranks, using: &random)
            var second = first
            while second == first { second = Int.random(in: ranks, using: &random) }
            let found = Set(holders[first]).union(holders[second])
            return (WordPair(words[first], words[second]), Answer(found.lazy.map { documents[$0] }))
        }
    }
}

extension String {
    /// Compares byte by byte.
    fileprivate func utf8Contains(_ part: String) -> Bool {
        let (text, part) = (Array(utf8), Array(part.utf8))
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
    }
}

/// Two words, in the form of each engine.
struct WordPair: Sendable {
    /// For Hornbeam: either of the words.
    let plain: String
    /// For FTS5.
    let either: String

    init(_ first: String, _ second: String) {
        plain = "\(first) \(second)"
        either = "\"\(first)\" OR \"\(second)\""
    }
}

/// A store that takes part.
protocol DocumentStore: AnyObject {
    /// Saves documents in one transaction, with an index of scores and a unique index of keys.
    func savePlain(_ documents: [DocumentSample]) throws
    /// Saves documents of another type, which has a full-text index too. The other queries use these.
    func save(_ documents: [DocumentSample]) throws

    func documents(score: Int) throws -> Answer
    func document(key: String) throws -> Answer
    /// Returns documents by score.
    func documents(scores: Range<Int>) throws -> Answer
    func first(_ limit: Int, descending: Bool) throws -> Answer
    /// Returns documents in any order, without regard to case.
    func documents(containing part: String) throws -> Answer
    /// Returns the best documents first.
    func documents(matching words: WordPair, limit: Int?) throws -> Answer

    func close() throws
}

/// A store that begins reads by itself, and has live queries.
protocol ObservedDocuments {
    func readNothing() throws
    /// Saves documents, each once the previous change has arrived in a live list of all documents by score.
    func follow(_ documents: ArraySlice<DocumentSample>, _ latencies: inout Latencies) throws
}
