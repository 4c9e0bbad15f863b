// SPDX-License-Identifier: Apache-2.0
// How well the best answers are the right ones: by queries with the documents that answer them.

import BenchHarness
import Foundation

struct Relevance {
    private let queries: [(words: [String], relevant: Set<Int>)]

    /// How far down an answer is looked at.
    static let depth = 1_000

    /// Lines of a query, a tab, and numbers of documents with commas. Of these the ones that are indexed count.
    init(path: String, documents: Int) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        queries = try text.split(separator: "\n").map { line in
            let parts = line.split(separator: "\t")
            guard parts.count == 2 else { throw BenchError("\(path): no query and documents in \(line)") }
            var words: [String] = []
            let query = Array(parts[0].utf8)
            query.withUnsafeBytes { bytes in
                eachWord(of: bytes) { words.append(String(decoding: $0, as: UTF8.self)) }
            }
            let numbers = parts[1].split(separator: ",").compactMap { Int($0) }
            return (words, Set(numbers.filter { $0 < documents }))
        }.filter { !$0.words.isEmpty && !$0.relevant.isEmpty }
    }

    /// Means over the queries: of the discounted gain of the best ten as a share of the greatest there can be (Järvelin
    /// and Kekäläinen), of the precision at each relevant document, and of one over the place of the first.
    func judge(_ search: ([String]) throws -> [Int]) throws -> [(name: String, value: Double)] {
        var (gain, precision, reciprocal) = (0.0, 0.0, 0.0)
        let asked = Double(queries.count)
        for (words, relevant) in queries {
            let found = try search(words).map(relevant.contains)
            let places = found.indices.filter { found[$0] }
            let discount = { (place: Int) in 1 / log2(Double(place) + 2) }
            let best = (0..<min(10, relevant.count)).reduce(0) { $0 + discount($1) }
            gain += places.prefix { $0 < 10 }.reduce(0) { $0 + discount($1) } / best
            precision +=
                places.enumerated().reduce(0) { $0 + Double($1.offset + 1) / Double($1.element + 1) }
                / Double(relevant.count)
            reciprocal += places.first.map { 1 / Double($0 + 1) } ?? 0
        }
        return [("ndcg-10", gain / asked), ("map", precision / asked), ("mrr", reciprocal / asked)]
    }
}
