// SPDX-License-Identifier: Apache-2.0
// The score, exactly: in double precision, in this order of operations, so that outside programs get the same bits.
// A score is the sum of these over the query's tokens in their order, repeats counting again, starting from 0.

import Glibc

/// Okapi BM25 without the factor (k1 + 1), with a logarithm that is positive for every term.
package enum BM25 {
    package static let k1 = 1.2
    package static let b = 0.75

    /// The weight of a term that `documentFrequency` of `documentCount` documents hold.
    package static func weight(documentCount: UInt64, documentFrequency: UInt64) -> Double {
        let documents = Double(documentCount)
        let frequency = Double(documentFrequency)
        return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    }

    /// What a term of `weight` that stands `frequency` times in a document of `length` tokens adds to its score.
    @inline(__always)
    package static func score(weight: Double, frequency: Double, length: Double, averageLength: Double) -> Double {
        weight * frequency / (frequency + k1 * (1 - b + b * length / averageLength))
    }
}
