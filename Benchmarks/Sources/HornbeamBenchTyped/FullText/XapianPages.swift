// SPDX-License-Identifier: Apache-2.0
// The texts in Xapian: the text as the document's data, a term for its group, BM25 with the common parameters.

#if PEER_XAPIAN
    import BenchHarness
    import CXapian
    import Foundation

    final class XapianPages: TextEngine {
        static let name = "xapian"
        static let hasCommonScores = false
        static let indexings: [TextIndexing] = [.none, .words, .positions]

        final class Query {
            fileprivate let pointer: OpaquePointer

            fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

            deinit { text_xapian_query_free(pointer) }
        }

        private let database: OpaquePointer

        init(path: String, indexing: TextIndexing) throws {
            let indexes =
                switch indexing {
                case .none: TEXT_XAPIAN_NOTHING
                case .words: TEXT_XAPIAN_TERMS
                case .positions: TEXT_XAPIAN_POSITIONS
                case .stems: TEXT_XAPIAN_STEMS
                }
            guard let database = text_xapian_open(path, 1, Int32(indexes)) else { throw Self.error }
            self.database = database
        }

        /// Opens the committed state, for another thread.
        init(reading path: String) throws {
            guard let database = text_xapian_open(path, 0, 0) else { throw Self.error }
            self.database = database
        }

        private static var error: BenchError { BenchError("xapian: \(String(cString: text_xapian_error()))") }

        private func check(_ code: some BinaryInteger) throws {
            guard code >= 0 else { throw Self.error }
        }

        func build(_ corpus: Corpus, _ documents: Range<Int>) throws {
            for number in documents {
                let text = corpus[number]
                try put(number, text.assumingMemoryBound(to: CChar.self))
            }
            try check(text_xapian_commit(database))
        }

        private func put(_ number: Int, _ text: UnsafeBufferPointer<CChar>) throws {
            try check(
                text_xapian_put(
                    database, UInt32(number), Int32(Corpus.group(of: number)), text.baseAddress, text.count))
        }

        func query(_ kind: QuestionKind, _ question: Question) throws -> Query? {
            let operation =
                switch kind {
                case .any, .count, .texts: TEXT_XAPIAN_ANY
                case .all: TEXT_XAPIAN_ALL
                case .phrase: TEXT_XAPIAN_PHRASE
                case .prefix: TEXT_XAPIAN_PREFIX
                case .near: TEXT_XAPIAN_NEAR
                case .fuzzy, .wildcard: nil as Int?
                }
            guard let operation else { return nil }
            let words = question.words.map { strdup($0) }
            defer { for word in words { free(word) } }
            let made = words.map { UnsafePointer($0) }.withUnsafeBufferPointer { words in
                text_xapian_query_make(
                    database, Int32(operation), words.baseAddress, Int32(words.count),
                    Int32(QuestionKind.nearDistance), Int32(question.group ?? -1))
            }
            guard let made else { throw Self.error }
            return Query(made)
        }

        func best(_ query: Query) throws -> [TextHit] { try best(query, limit: 10) }

        func best(_ query: Query, limit: Int) throws -> [TextHit] {
            try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: limit) { numbers in
                try withUnsafeTemporaryAllocation(of: Double.self, capacity: limit) { scores in
                    let count = text_xapian_best(
                        database, query.pointer, Int32(limit), numbers.baseAddress, scores.baseAddress, nil)
                    try check(count)
                    return (0..<Int(count)).map { TextHit(document: Int(numbers[$0]), score: scores[$0]) }
                }
            }
        }

        func texts(_ query: Query) throws -> Int {
            var size = 0
            var numbers: [UInt32] = Array(repeating: 0, count: 10)
            var scores: [Double] = Array(repeating: 0, count: 10)
            try check(text_xapian_best(database, query.pointer, 10, &numbers, &scores, &size))
            return size
        }

        func count(_ query: Query) throws -> Int {
            let count = text_xapian_count(database, query.pointer)
            try check(count)
            return Int(count)
        }

        func insert(_ document: Int, _ text: String) throws {
            var text = text
            try text.withUTF8 { bytes in
                try bytes.withMemoryRebound(to: CChar.self) { try put(document, $0) }
            }
            try check(text_xapian_commit(database))
        }

        func update(_ document: Int, _ text: String) throws { try insert(document, text) }

        func delete(_ document: Int) throws {
            try check(text_xapian_remove(database, UInt32(document)))
            try check(text_xapian_commit(database))
        }

        func refresh() throws { try check(text_xapian_reopen(database)) }

        func close() throws { text_xapian_close(database) }
    }
#endif
