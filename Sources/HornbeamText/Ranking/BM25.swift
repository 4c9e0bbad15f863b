// SPDX-License-Identifier: Apache-2.0
// The BM25 score, exactly defined: in double precision and in this order of operations, so that outside programs get
// the same bits. A document's score is the sum over the query's tokens in their order, starting from 0. A repeated
// token counts each time.

import Glibc

/// Okapi BM25 without the factor (k1 + 1), with a logarithm that is positive for every term.
package enum BM25 {
    package static let k1 = 1.2
    package static let b = 0.75

    /// Returns the weight of a term that occurs in `documentFrequency` of `documentCount` documents.
    package static func weight(documentCount: UInt64, documentFrequency: UInt64) -> Double {
        let documents = Double(documentCount)
        let frequency = Double(documentFrequency)
        return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    }

    /// Returns the score of a term of `weight` that occurs `frequency` times in a document of `length` tokens.
    @inline(__always)
    package static func score(weight: Double, frequency: Double, length: Double, averageLength: Double) -> Double {
        weight * frequency / (frequency + k1 * (1 - b + b * length / averageLength))
    }
}
