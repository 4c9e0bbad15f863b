// SPDX-License-Identifier: Apache-2.0
// How a text becomes terms. The analyzer's identity is stored with each index and compared when it is opened, so a term
// in the file never means anything but what this code makes of a text.

/// A way to turn text into tokens, by the number that is stored in the index.
package enum Analyzer: UInt16, Sendable {
    /// Lower-cased by Unicode's full case mapping; tokens are the maximal runs of letters and numbers (general
    /// categories L* and N*), all else separates, combining marks included. No normalization, stemming, stop words,
    /// length limit.
    case words = 1

    /// Changes with every change of the rules, even one that few texts show.
    package var version: UInt16 { 1 }

    /// The version of Unicode whose letters and case mappings it knows.
    package var unicodeVersion: (major: UInt16, minor: UInt16) { UnicodeTables.version }

    /// The tokens of a text, each as UTF-8, in order. Convenient, not fast: for queries and tests.
    package func tokens(of text: String) -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        var tokenizer = Tokenizer(self)
        tokenizer.forEachToken(in: text) { tokens.append([UInt8]($0)) }
        return tokens
    }
}
