// SPDX-License-Identifier: Apache-2.0
// The model: the right answers of an index, computed from the texts alone and in the simplest way. The tokens of
// analyzers other than `words` come from the analyzer itself, which other suites test.

import Foundation
import HornbeamText

/// Texts by document, and every answer computed from their words.
struct NaiveIndex {
    private(set) var texts: [UInt64: String] = [:]
    /// The number of occurrences of each token in each document.
    private var counts: [UInt64: [[UInt8]: UInt64]] = [:]
    private let analyzer: Analyzer

    init(texts: [UInt64: String] = [:], analyzer: Analyzer = TestAnalyzer.current) {
        self.analyzer = analyzer
        for (docno, text) in texts { self[docno] = text }
    }

    subscript(docno: UInt64) -> String? {
        get { texts[docno] }
        set {
            texts[docno] = newValue
            counts[docno] = newValue.map { text in
                var counts: [[UInt8]: UInt64] = [:]
                for token in terms(of: text) { counts[token, default: 0] += 1 }
                return counts
            }
        }
    }

    private func terms(of text: String) -> [[UInt8]] {
        analyzer == .words ? Self.tokens(of: text).map { Array($0.utf8) } : analyzer.tokens(of: text)
    }

    /// Returns the terms to search for words. Two letters of a script without spaces are searched by their pair.
    private func queryTerms(of text: String) -> [[UInt8]] {
        analyzer == .words ? terms(of: text) : analyzer.queryTokens(of: text).map(\.term)
    }

    /// Returns the tokens of the analyzer `words`, by the standard library's properties, scalar by scalar.
    static func tokens(of text: String) -> [String] {
        let scalars = Array(text.unicodeScalars)
        var lower = String.UnicodeScalarView()
        for (place, scalar) in scalars.enumerated() {
            if scalar == "\u{3A3}" {
                let before = scalars[..<place].last { !$0.properties.isCaseIgnorable }
                let after = scalars[(place + 1)...].first { !$0.properties.isCaseIgnorable }
                let isFinal = before?.properties.isCased == true && after?.properties.isCased != true
                lower.append(isFinal ? "\u{3C2}" : "\u{3C3}")
            } else {
                lower.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
            }
        }
        return lower.split { !isWord($0) }.map { String($0) }
    }

    static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
        case .decimalNumber, .letterNumber, .otherNumber: true
        default: false
        }
    }

    private func length(_ docno: UInt64) -> UInt64 { counts[docno]?.values.reduce(0, +) ?? 0 }

    /// Returns all documents with a token of the query, with their scores: best first, then by number.
    func search(_ query: String) -> [TextHit] {
        let lengths = Dictionary(uniqueKeysWithValues: counts.keys.map { ($0, Double(length($0))) })
        let averageLength = lengths.values.reduce(0, +) / Double(counts.count)
        var scores: [UInt64: Double] = [:]
        for token in queryTerms(of: query) {
            let holders = counts.compactMapValues { $0[token].map { Double($0) } }
            let ratio = (Double(counts.count) - Double(holders.count) + 0.5) / (Double(holders.count) + 0.5)
            let idf = log(1 + ratio)
            for (docno, tf) in holders {
                let dl = lengths[docno] ?? 0
                scores[docno, default: 0] += idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * dl / averageLength))
            }
        }
        return scores.map { TextHit(row: $0.key, score: $0.value) }
            .sorted { $0.score != $1.score ? $0.score > $1.score : $0.row < $1.row }
    }

    /// Returns all documents with a token of the query.
    func matches(_ query: String) -> [UInt64] {
        let tokens = queryTerms(of: query)
        return counts.filter { entry in tokens.contains { entry.value[$0] != nil } }.keys.sorted()
    }

    /// Returns every term by its bytes, with its document frequency and its occurrences.
    func vocabulary() -> [[UInt8]: [UInt64]] {
        var vocabulary: [[UInt8]: [UInt64]] = [:]
        for (term, count) in counts.values.joined() {
            vocabulary[term, default: [0, 0]][0] += 1
            vocabulary[term, default: [0, 0]][1] += count
        }
        return vocabulary
    }

    var totalLength: UInt64 { counts.keys.reduce(0) { $0 + length($1) } }
}
