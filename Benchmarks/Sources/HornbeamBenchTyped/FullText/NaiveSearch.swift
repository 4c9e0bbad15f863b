// SPDX-License-Identifier: Apache-2.0
// The right answers, computed from all words of all documents: BM25 with k1 = 1.2 and b = 0.75, exact lengths and
// statistics, ties by the smaller number.

import Foundation

struct NaiveSearch {
    private let stream: WordStream
    /// For each word of a query: the documents that have it, and how often.
    private var postings: [String: [(document: Int, frequency: Int)]] = [:]
    /// By phrase, prefix or neighbours, and group if there is one: the number of matching documents.
    private var counts: [String: Int] = [:]
    private let averageLength: Double
    private var scores: [Double]
    private var matches: [Int]

    init(_ stream: WordStream, for sets: [QuestionSet]) {
        self.stream = stream
        averageLength = Double(stream.words.count) / Double(stream.documents)
        scores = Array(repeating: 0, count: stream.documents)
        matches = Array(repeating: 0, count: stream.documents)
        gather(Set(sets.filter { [.any, .all].contains($0.kind) }.flatMap(\.questions).flatMap(\.words)))
        countPhrases(sets.filter { $0.kind == .phrase }.flatMap(\.questions).map(\.words))
        countNeighbours(sets.filter { $0.kind == .near }.flatMap(\.questions).map(\.words))
        countPrefixes(Set(sets.filter { $0.kind == .prefix }.flatMap(\.questions).flatMap(\.words)))
    }

    private func numbers(of texts: Set<String>) -> [UInt32: String] {
        var numbers: [UInt32: String] = [:]
        for word in 0..<stream.vocabulary.count {
            let text = stream.vocabulary.text(word)
            if texts.contains(text) { numbers[UInt32(word)] = text }
        }
        return numbers
    }

    private mutating func gather(_ texts: Set<String>) {
        let numbers = numbers(of: texts)
        // An array, so that most words cost one access.
        var slots = [Int](repeating: -1, count: stream.vocabulary.count)
        var names: [String] = []
        for (word, text) in numbers {
            slots[Int(word)] = names.count
            names.append(text)
        }
        var lists = [[(document: Int, frequency: Int)]](repeating: [], count: names.count)
        for document in 0..<stream.documents {
            for word in stream.words(of: document) where slots[Int(word)] >= 0 {
                let slot = slots[Int(word)]
                if let last = lists[slot].last, last.document == document {
                    lists[slot][lists[slot].count - 1].frequency += 1
                } else {
                    lists[slot].append((document, 1))
                }
            }
        }
        for (slot, name) in names.enumerated() { postings[name] = lists[slot] }
    }

    private mutating func countPhrases(_ phrases: [[String]]) {
        let numbers = numbers(of: Set(phrases.flatMap(\.self)))
        let byText = Dictionary(uniqueKeysWithValues: numbers.map { ($1, $0) })
        var byFirst: [UInt32: [(words: [UInt32], name: String)]] = [:]
        for phrase in Set(phrases) {
            let words = phrase.compactMap { byText[$0] }
            byFirst[words[0], default: []].append((words, phrase.joined(separator: " ")))
        }
        for document in 0..<stream.documents {
            let words = stream.words(of: document)
            var found: Set<String> = []
            for place in words.indices {
                for phrase in byFirst[words[place]] ?? [] where words[place...].starts(with: phrase.words) {
                    found.insert(phrase.name)
                }
            }
            for name in found { count(document, name) }
        }
    }

    private mutating func count(_ document: Int, _ name: String) {
        counts[name, default: 0] += 1
        counts[Self.name(name, group: Corpus.group(of: document)), default: 0] += 1
    }

    private static func name(_ name: String, group: Int?) -> String { group.map { "\(name)\t\($0)" } ?? name }

    /// Returns a name that no phrase has.
    private static func neighbours(_ words: [String]) -> String { words.joined(separator: " ~ ") }

    private mutating func countNeighbours(_ pairs: [[String]]) {
        let numbers = numbers(of: Set(pairs.flatMap(\.self)))
        let byText = Dictionary(uniqueKeysWithValues: numbers.map { ($1, $0) })
        var byWord: [UInt32: [(other: UInt32, name: String)]] = [:]
        for pair in Set(pairs) {
            guard let first = byText[pair[0]], let second = byText[pair[1]] else { continue }
            byWord[first, default: []].append((second, Self.neighbours(pair)))
        }
        let distance = QuestionKind.nearDistance
        for document in 0..<stream.documents {
            let words = stream.words(of: document)
            var found: Set<String> = []
            for place in words.indices {
                guard let pairs = byWord[words[place]] else { continue }
                let around =
                    words[max(words.startIndex, place - distance)..<min(words.endIndex, place + distance + 1)]
                for (other, name) in pairs where around.contains(other) { found.insert(name) }
            }
            for name in found { count(document, name) }
        }
    }

    private mutating func countPrefixes(_ prefixes: Set<String>) {
        let byWord = (0..<stream.vocabulary.count).map { word in
            let prefix = String(decoding: stream.vocabulary.bytes(word).prefix(3), as: UTF8.self)
            return prefixes.contains(prefix) ? prefix : nil
        }
        for document in 0..<stream.documents {
            for prefix in Set(stream.words(of: document).compactMap({ byWord[Int($0)] })) {
                count(document, prefix)
            }
        }
    }

    /// Adds the answers to the queries of a set.
    mutating func answer(_ set: inout QuestionSet) {
        for index in set.questions.indices {
            switch set.kind {
            case .phrase, .prefix, .near:
                let question = set.questions[index]
                let words = question.words
                let name = set.kind == .near ? Self.neighbours(words) : words.joined(separator: " ")
                set.questions[index].count = counts[Self.name(name, group: question.group)] ?? 0
            case .fuzzy, .wildcard: break
            case .any, .count, .texts: rank(&set.questions[index], least: 1)
            case .all: rank(&set.questions[index], least: set.questions[index].words.count)
            }
        }
    }

    private mutating func rank(_ question: inout Question, least: Int) {
        var touched: [Int] = []
        for word in question.words {
            let list = postings[word] ?? []
            let (all, having) = (Double(stream.documents), Double(list.count))
            let weight = log(1 + (all - having + 0.5) / (having + 0.5))
            for (document, frequency) in list {
                let length = Double(stream.words(of: document).count)
                let times = Double(frequency)
                if matches[document] == 0 { touched.append(document) }
                matches[document] += 1
                scores[document] += weight * times / (times + 1.2 * (0.25 + 0.75 * length / averageLength))
            }
        }
        let group = question.group
        let found = touched.filter { document in
            matches[document] >= least && (group.map { Corpus.group(of: document) == $0 } ?? true)
        }
        question.count = found.count
        question.best = best(of: found)
        question.scores = question.best.map { scores[$0] }
        for document in touched { (scores[document], matches[document]) = (0, 0) }
    }

    private func best(of documents: [Int]) -> [Int] {
        var best: [Int] = []
        for document in documents {
            if best.count == 10, !precedes(document, best[9]) { continue }
            best.insert(document, at: best.firstIndex { precedes(document, $0) } ?? best.count)
            if best.count > 10 { best.removeLast() }
        }
        return best
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        scores[left] > scores[right] || scores[left] == scores[right] && left < right
    }
}

/// Makes a corpus's queries, unless they exist. The last documents are reserved for later inserts.
func prepareQuestions(corpus path: String, questions: String, limit: Int, seed: UInt64) throws {
    let corpus = try Corpus(path: path)
    let spare = min(TextScenario.spare, corpus.count / 10)
    let documents = min(limit, corpus.count - spare)
    let stream = WordStream(corpus, 0..<documents)
    var maker = QuestionMaker(stream, seed: seed)
    var sets = maker.sets()
    var search = NaiveSearch(stream, for: sets)
    for index in sets.indices { search.answer(&sets[index]) }
    try QuestionFile(
        documents: documents, words: stream.words.count, distinctWords: stream.vocabulary.count,
        postings: stream.frequencies.reduce(0, +), textBytes: (0..<documents).reduce(0) { $0 + corpus[$1].count },
        sets: sets
    ).write(questions)
}
