// SPDX-License-Identifier: Apache-2.0
// The relevance of the best answers, measured by queries with known relevant documents.

import BenchHarness
import Foundation

struct Relevance {
    private let queries: [(words: [String], relevant: Set<Int>)]

    /// The number of results that are examined.
    static let depth = 1_000

    /// Reads lines of a query, a tab, and numbers of documents with commas. Only indexed documents count.
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

    /// The measures of each query, in order.
    struct Measure {
        let name: String
        let values: [Double]

        var mean: Double { values.reduce(0, +) / Double(values.count) }
    }

    /// Returns for each query: the discounted gain of the best ten as a share of the greatest possible one (Järvelin
    /// and Kekäläinen), the precision at each relevant document, and the inverse of the rank of the first one.
    func judge(_ search: ([String]) throws -> [Int]) throws -> [Measure] {
        var (gain, precision, reciprocal): ([Double], [Double], [Double]) = ([], [], [])
        for (words, relevant) in queries {
            let found = try search(words).map(relevant.contains)
            let places = found.indices.filter { found[$0] }
            let discount = { (place: Int) in 1 / log2(Double(place) + 2) }
            let best = (0..<min(10, relevant.count)).reduce(0) { $0 + discount($1) }
            gain.append(places.prefix { $0 < 10 }.reduce(0) { $0 + discount($1) } / best)
            precision.append(
                places.enumerated().reduce(0) { $0 + Double($1.offset + 1) / Double($1.element + 1) }
                    / Double(relevant.count))
            reciprocal.append(places.first.map { 1 / Double($0 + 1) } ?? 0)
        }
        return [
            Measure(name: "ndcg-10", values: gain), Measure(name: "map", values: precision),
            Measure(name: "mrr", values: reciprocal),
        ]
    }
}
