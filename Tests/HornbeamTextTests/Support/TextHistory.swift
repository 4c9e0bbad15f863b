// SPDX-License-Identifier: Apache-2.0
// Random changes of an index and of its model, and the comparison of all their answers.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

extension NaiveIndex {
    /// Makes a random change of a document, in the index and in the model.
    mutating func change(_ row: UInt64, by writer: TextIndexWriter, _ generator: inout TextGenerator) throws {
        let text = generator.text(upTo: 12)
        switch (self[row], Int.random(in: 0..<10, using: &generator.random)) {
        case (nil, _):
            try writer.insert(row, text: text)
            self[row] = text
        case (let old?, 0..<5):
            try writer.remove(row, text: old)
            self[row] = nil
        case (let old?, 5..<7):
            let longer = old + " " + text
            try writer.update(row, from: old, to: longer)
            self[row] = longer
        case (let old?, _):
            try writer.update(row, from: old, to: text)
            self[row] = text
        }
    }

    /// Checks that the index in a transaction gives the model's answers to the last bit.
    func expectAnswers(in transaction: Transaction, _ generator: inout TextGenerator, _ note: Comment) throws {
        let searcher = try TextSearcher(testIndex, in: transaction)
        #expect(searcher.statistics.documentCount == UInt64(texts.count), note)
        #expect(searcher.statistics.totalLength == totalLength, note)
        #expect(try testIndex.documentCount(in: transaction) == UInt64(texts.count), note)
        var vocabulary: [[UInt8]: [UInt64]] = [:]
        try searcher.forEachTerm { (term, documents, occurrences) throws(StorageError) in
            vocabulary[Array(term.utf8)] = [documents, occurrences]
            return true
        }
        #expect(vocabulary == self.vocabulary(), note)
        #expect(try searcher.termCount() == UInt64(vocabulary.count), note)
        for _ in 0..<4 {
            let query = generator.text(upTo: 5) + " unknownword"
            let expected = search(query)
            #expect(try searcher.search(query, limit: 10) == Array(expected.prefix(10)), note)
            #expect(try searcher.search(query, limit: .max) == expected, note)
            #expect(try searcher.matches(query) == matches(query), note)
            #expect(try searcher.count(query) == UInt64(expected.count), note)
        }
    }
}
