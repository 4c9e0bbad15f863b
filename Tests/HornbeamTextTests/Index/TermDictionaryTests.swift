// SPDX-License-Identifier: Apache-2.0
// Terms around and beyond the size that fits a key, with hashes that collide.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Terms of any length")
struct TermDictionaryTests {
    /// Two words that differ only after the 200th byte, with equal hashes.
    private func colliding() throws -> (String, String) {
        var random = SeededGenerator(seed: 7)
        var seen: [UInt32: [UInt8]] = [:]
        let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        for _ in 0..<1_000_000 {
            var bits = random.next()
            let rest = (0..<10).map { _ in
                bits >>= 6
                return letters[Int(bits % 26)]
            }
            let hash = rest.withUnsafeBytes { TermDictionary.hash($0) }
            if let other = seen[hash], other != rest {
                let prefix = String(repeating: "x", count: TermDictionary.plainLimit)
                return (
                    prefix + String(decoding: other, as: UTF8.self), prefix + String(decoding: rest, as: UTF8.self)
                )
            }
            seen[hash] = rest
        }
        throw StorageError.invalid("no collision found")
    }

    @Test(
        "Words at, below and far beyond the limit are each found", arguments: [1, 199, 200, 201, 202, 5000])
    func lengths(size: Int) throws {
        let word = String(repeating: "q", count: size)
        let store = try TreeStore.index(of: word, word + "z", String(word.dropLast()) + "z", word + " other")
        let searcher = try store.searcher()
        #expect(try searcher.matches(word) == [1, 4])
        #expect(try searcher.matches(word + "z") == [2])
        #expect(try searcher.documentFrequency(of: word) == 2)
        var terms: [String: UInt64] = [:]
        try searcher.forEachTerm { (term, documents, _) throws(StorageError) in
            terms[term] = documents
            return true
        }
        #expect(terms == [word: 2, word + "z": 1, String(word.dropLast()) + "z": 1, "other": 1])
    }

    @Test("Equal hashes lead to an ordinal, never to a wrong match")
    func collisions() throws {
        let (first, second) = try colliding()
        var model = NaiveIndex(texts: [1: first, 2: second, 3: "\(first) \(second)"])
        let store = try TreeStore.index(of: first, second, "\(first) \(second)")
        let searcher = try store.searcher()
        #expect(try searcher.matches(first) == [1, 3])
        #expect(try searcher.matches(second) == [2, 3])
        #expect(try searcher.search(second, limit: 5) == model.search(second))
        #expect(try store.problems(model) == [])
        // The later term stays when the earlier one is removed, and the earlier one can be added again before it.
        try store.write { writer in
            try writer.remove(1, text: first)
            try writer.update(3, from: "\(first) \(second)", to: second)
        }
        model = NaiveIndex(texts: [2: second, 3: second])
        #expect(try store.searcher().termCount() == 1)
        #expect(try store.searcher().matches(first) == [])
        try store.write { try $0.insert(9, text: first) }
        model[9] = first
        #expect(try store.searcher().matches(first) == [9])
        #expect(try store.searcher().matches(second) == [2, 3])
        #expect(try store.problems(model) == [])
    }

    @Test(
        "Few postings are stored in the entry, also if they were in a list before",
        arguments: [true, false])
    func placesOfPostings(storesPositions: Bool) throws {
        let index = TextIndex(prefix: "t:", storesPositions: storesPositions)
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        var model = NaiveIndex()
        func entry() throws -> TermEntry {
            let trees = try #require(try index.open(in: transaction)).trees
            let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
            return try #require(try withBytes(Array("word".utf8)) { try dictionary.find($0) })
        }
        func change(_ rows: some Sequence<UInt64>, _ text: (UInt64) -> String?) throws {
            let writer = try TextIndexWriter(index, in: transaction, limits: .none)
            for row in rows {
                let (old, new) = (model[row], text(row))
                switch (old, new) {
                case (nil, let new?): try writer.insert(row, text: new)
                case (let old?, let new?): try writer.update(row, from: old, to: new)
                case (let old?, nil): try writer.remove(row, text: old)
                case (nil, nil): break
                }
                model[row] = new
            }
            try writer.flush()
            let problems = try TextCheck(index, in: transaction).run { (body) throws(StorageError) in
                for (row, text) in model.texts { try body(row, DocumentText(text)) }
            }
            #expect(problems == [])
            let searcher = try TextSearcher(index, in: transaction)
            #expect(try searcher.search("word other3", limit: 10) == Array(model.search("word other3").prefix(10)))
            #expect(try searcher.search("other2 word", limit: 1) == Array(model.search("other2 word").prefix(1)))
        }
        try change(1...5) { "other\($0) word" }
        #expect(try entry().listNumber == 0 && entry().shortest == 1)
        try change(6...25) { "other\($0 % 4) word other word" }
        #expect(try entry().listNumber == 0 && entry().shortest == 2)
        // A document shorter than all others.
        try change(26...26) { _ in "word" }
        #expect(try entry().listNumber == 0 && entry().shortest == 1)
        try change(2...9) { _ in nil }
        #expect(try entry().documentFrequency == 18 && entry().listNumber == 0)
        try change(30...150) { "other\($0 % 5) word and more" }
        let list = try entry().listNumber
        #expect(list != 0)
        try change(20...130) { _ in nil }
        #expect(try entry().listNumber == list, "many are left")
        try change(6...145) { _ in nil }
        #expect(try entry().documentFrequency <= 8 && entry().listNumber == 0)
        transaction.abort()
    }

    @Test("Bytes that are no entry are refused", arguments: SeededGenerator.seeds(2))
    func garbage(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0..<20, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random) & (Bool.random(using: &random) ? 0xFF : 0x07)
            }
            withBytes(bytes) { bytes in
                var reader = ByteReader(bytes)
                guard let entry = TermEntry(&reader) else { return }
                #expect(entry.documentFrequency > 0 && entry.collectionFrequency >= entry.documentFrequency)
                let isSmall = InlinePostings.fits(
                    documents: UInt64(entry.documentFrequency), occurrences: entry.collectionFrequency)
                #expect(entry.listNumber == 0 || !isSmall)
                let isInline =
                    entry.documentFrequency <= InlinePostings.mostDocuments
                    && entry.collectionFrequency <= InlinePostings.mostOccurrences
                #expect(entry.listNumber > 0 || isInline && entry.shortest > 0)
                #expect((entry.listNumber == 0) == entry.bounds.isEmpty)
                let falls = zip(entry.bounds, entry.bounds.dropFirst()).allSatisfy {
                    $0.frequency > $1.frequency && $0.length > $1.length
                }
                #expect(falls && entry.bounds.count <= TermEntry.boundLimit)
            }
        }
    }
}
