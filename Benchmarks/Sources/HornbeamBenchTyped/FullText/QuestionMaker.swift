// SPDX-License-Identifier: Apache-2.0
// Chooses queries by the number of documents that have their words. Everything random comes from the seed, so that
// all engines and all runs get the same queries.

import BenchHarness

struct QuestionMaker {
    private let stream: WordStream
    private var random: SplitMix
    /// For each word, whether it has only letters without accents. Engines treat other letters differently.
    private let isPlain: [Bool]
    private static let count = 100

    init(_ stream: WordStream, seed: UInt64) {
        self.stream = stream
        random = SplitMix(state: seed)
        isPlain = (0..<stream.vocabulary.count).map { word in
            let bytes = stream.vocabulary.bytes(word)
            return bytes.count > 1 && bytes.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        }
    }

    /// Classes of words by the number of documents that have them. In a corpus of some hundred documents they
    /// overlap.
    private var classes: [(name: String, frequencies: ClosedRange<Int>)] {
        let documents = stream.documents
        return [
            ("rare", 2...20), ("medium", max(3, documents / 1_000)...max(10, documents / 200)),
            ("common", documents / 20 + 1...documents),
        ]
    }

    /// Returns the queries without the answers. A set is left out if the corpus has too few words for it.
    mutating func sets() -> [QuestionSet] {
        var sets: [QuestionSet?] = []
        for (name, frequencies) in classes {
            let words = stream.frequencies.indices.filter {
                isPlain[$0] && frequencies.contains(stream.frequencies[$0])
            }
            for count in [1, 2, 3, 5] {
                sets.append(set("any-\(count)-\(name)", .any) { $0.distinct(count, of: words) })
            }
        }
        for count in [2, 3, 5] {
            sets.append(set("any-\(count)-document", .any) { $0.ofOneDocument(count) { _ in true } })
        }
        for (name, frequencies) in classes {
            let frequency = stream.frequencies
            for count in [2, 3, 5] {
                sets.append(
                    set("all-\(count)-\(name)", .all) {
                        $0.ofOneDocument(count) { frequencies.contains(frequency[Int($0)]) }
                    })
            }
        }
        sets.append(set("all-2-document", .all) { $0.ofOneDocument(2) { _ in true } })
        for count in [2, 3] { sets.append(set("phrase-\(count)", .phrase) { $0.phrase(count) }) }
        sets.append(set("prefix-3", .prefix) { $0.prefix() })
        for name in [
            "any-2-common", "any-2-document", "all-2-common", "any-2-rare", "any-2-medium", "phrase-2", "prefix-3",
        ] {
            guard var filtered = sets.compactMap(\.self).first(where: { $0.name == name }) else { continue }
            filtered.name += "-filter"
            for index in filtered.questions.indices { filtered.questions[index].group = index % Corpus.groups }
            sets.append(filtered)
        }
        for (name, kind) in [("count-2-document", QuestionKind.count), ("texts-2-document", .texts)] {
            guard var other = sets.compactMap(\.self).first(where: { $0.name == "any-2-document" }) else { continue }
            (other.name, other.kind) = (name, kind)
            sets.append(other)
        }
        // Added last, so that the others stay unchanged.
        sets.append(set("near-2", .near) { $0.neighbours() })
        sets.append(set("fuzzy-1", .fuzzy) { $0.misspelled() })
        sets.append(set("wildcard-1", .wildcard) { $0.pattern() })
        return sets.compactMap(\.self)
    }

    private mutating func set(_ name: String, _ kind: QuestionKind, _ choose: (inout Self) -> [String]?)
        -> QuestionSet?
    {
        var questions: [Question] = []
        for _ in 0..<Self.count {
            guard let words = choose(&self) else { return nil }
            questions.append(Question(words: words))
        }
        return QuestionSet(name: name, kind: kind, questions: questions)
    }

    private mutating func distinct(_ count: Int, of words: [Int]) -> [String]? {
        guard words.count >= count else { return nil }
        var chosen: [Int] = []
        while chosen.count < count {
            let word = words[Int.random(in: 0..<words.count, using: &random)]
            if !chosen.contains(word) { chosen.append(word) }
        }
        return chosen.map(stream.vocabulary.text)
    }

    /// Returns different words of a document that has enough of them, drawn from its text: common ones are drawn more
    /// often.
    private mutating func ofOneDocument(_ count: Int, _ isWanted: (UInt32) -> Bool) -> [String]? {
        for _ in 0..<2_000 {
            let words = stream.words(of: Int.random(in: 0..<stream.documents, using: &random))
            let wanted = words.filter { isPlain[Int($0)] && isWanted($0) }
            guard wanted.count >= count else { continue }
            var chosen: [UInt32] = []
            for _ in 0..<20 where chosen.count < count {
                let word = wanted[Int.random(in: 0..<wanted.count, using: &random)]
                if !chosen.contains(word) { chosen.append(word) }
            }
            if chosen.count == count { return chosen.map { stream.vocabulary.text(Int($0)) } }
        }
        return nil
    }

    private mutating func phrase(_ count: Int) -> [String]? {
        for _ in 0..<1_000 {
            let words = stream.words(of: Int.random(in: 0..<stream.documents, using: &random))
            guard words.count >= count else { continue }
            let start = Int.random(in: words.startIndex...words.endIndex - count, using: &random)
            let chosen = words[start..<start + count]
            if chosen.allSatisfy({ isPlain[Int($0)] }) { return chosen.map { stream.vocabulary.text(Int($0)) } }
        }
        return nil
    }

    /// Returns two different words that are near each other.
    private mutating func neighbours() -> [String]? {
        for _ in 0..<1_000 {
            let words = stream.words(of: Int.random(in: 0..<stream.documents, using: &random))
            guard let place = words.indices.randomElement(using: &random) else { continue }
            let other = place + Int.random(in: 1...QuestionKind.nearDistance, using: &random)
            guard words.indices.contains(other), words[place] != words[other] else { continue }
            let chosen = [words[place], words[other]]
            if chosen.allSatisfy({ isPlain[Int($0)] }) { return chosen.map { stream.vocabulary.text(Int($0)) } }
        }
        return nil
    }

    /// Returns a word of six letters or more from a text.
    private mutating func longWord() -> String? {
        for _ in 0..<1_000 {
            guard let word = stream.words.randomElement(using: &random), isPlain[Int(word)] else { continue }
            let text = stream.vocabulary.text(Int(word))
            if (6...20).contains(text.utf8.count) { return text }
        }
        return nil
    }

    /// Returns a word with a letter left out, but not the first.
    private mutating func misspelled() -> [String]? {
        guard var word = longWord() else { return nil }
        word.remove(at: word.index(word.startIndex, offsetBy: Int.random(in: 1..<word.count, using: &random)))
        return [word]
    }

    /// Returns two letters at the beginning of a word and two at the end, with anything between them.
    private mutating func pattern() -> [String]? { longWord().map { ["\($0.prefix(2))*\($0.suffix(2))"] } }

    /// Returns the first three letters of a longer word.
    private mutating func prefix() -> [String]? {
        for _ in 0..<1_000 {
            guard let word = stream.words.randomElement(using: &random), isPlain[Int(word)] else { continue }
            let text = stream.vocabulary.text(Int(word))
            if text.utf8.count > 3 { return [String(text.prefix(3))] }
        }
        return nil
    }
}
