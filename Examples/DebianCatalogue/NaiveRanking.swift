// SPDX-License-Identifier: Apache-2.0
// BM25 computed from the formula over the data set's files, without an index, to check the store's ranking.

import Foundation

struct NaiveRanking {
    private let files: CatalogueFiles
    private let k1 = 1.2
    private let b = 0.75

    init(_ files: CatalogueFiles) {
        self.files = files
    }

    /// Returns runs of letters and numbers, in lower case.
    private func tokens(_ text: String) -> [Substring] {
        text.lowercased().unicodeScalars.split { scalar in
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber:
                false
            default: true
            }
        }.map(Substring.init)
    }

    func best(_ query: String, _ limit: Int) -> [(id: Int, score: Double)] {
        let words = tokens(query)
        var total = 0
        var frequencies: [(id: Int, length: Int, counts: [Int])] = []
        var holders = [Int](repeating: 0, count: words.count)
        for record in files.packages {
            let text = tokens(record.short + "\n" + record.long)
            total += text.count
            let counts = words.map { word in text.count { $0 == word } }
            for (index, count) in counts.enumerated() where count > 0 { holders[index] += 1 }
            if counts.contains(where: { $0 > 0 }) { frequencies.append((record.id, text.count, counts)) }
        }
        let documents = Double(files.packages.count)
        let average = Double(total) / documents
        let scored = frequencies.map { id, length, counts in
            var score = 0.0
            for (index, count) in counts.enumerated() where count > 0 {
                let holding = Double(holders[index])
                let tf = Double(count)
                score +=
                    log(1 + (documents - holding + 0.5) / (holding + 0.5)) * tf
                    / (tf + k1 * (1 - b + b * Double(length) / average))
            }
            return (id: id, score: score)
        }
        return Array(scored.sorted { ($1.score, $0.id) < ($0.score, $1.id) }.prefix(limit))
    }
}
