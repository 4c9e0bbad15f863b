// SPDX-License-Identifier: Apache-2.0
// What an occurrence counts by the field in which it stands, as far as postings tell fields apart; and so how much a
// posting may contribute at most of which only bounds are known.

import HornbeamPages

/// How the places of fields count for something that scores.
struct FieldScoring {
    /// The places that count.
    let wanted: FieldPlaces
    /// The weight of an occurrence at each place.
    let weights: [Double]
    /// The least weight of a token as a part of its document's length. Nil if all count alike.
    let leastWeight: Double?
    /// The places that count, the weightiest first.
    private let order: [Int]

    /// Returns nil if postings don't tell enough about the fields that share the place `others`: if only some of them
    /// count, or if there are weights and several such fields.
    /// - Parameter fields: the fields that count; nil means all.
    init?(_ context: ScoreContext, fields: Set<Int>?) throws(StorageError) {
        let needsNumber = context.fieldWeights != nil || (fields?.contains { $0 >= FieldPlace.others } ?? false)
        let fieldCount = needsNumber ? try context.view.fieldTotals().count : 0
        var wanted = FieldPlaces.all
        if let fields {
            wanted = FieldPlaces()
            for field in fields where field >= 0 && field < FieldPlace.others { wanted.insert(field) }
            let others = FieldPlace.others..<max(fieldCount, FieldPlace.others)
            if others.contains(where: { fields.contains($0) }) {
                guard others.allSatisfy({ fields.contains($0) }) else { return nil }
                wanted.insert(FieldPlace.others)
            }
        }
        var weights = [Double](repeating: 1, count: FieldPlace.count)
        var least: Double?
        if let given = context.fieldWeights {
            // Sums of several fields at one place would be rounded otherwise.
            guard fieldCount <= FieldPlace.count else { return nil }
            for place in weights.indices where place < given.count { weights[place] = given[place] }
            least = context.leastWeight
        }
        let counting = weights.indices.filter { wanted.contains($0) }
        order = counting.sorted { weights[$0] > weights[$1] }
        (self.wanted, self.weights, leastWeight) = (wanted, weights, least)
    }

    /// The length that a score goes by, or less, of a document of `length` tokens of which `held` are a frequency of
    /// `frequency`.
    @inline(__always)
    func leastLength(_ length: Double, held: Double, frequency: Double) -> Double {
        guard let leastWeight else { return length }
        return frequency + leastWeight * max(length - held, 0)
    }

    /// No posting contributes more to a score, but for rounding, of those that these bound.
    ///
    /// Of each of the pairs and each place: as if its most occurrences at that place stood beside the most at lighter
    /// ones in the shortest document that has any there. With fewer of them the score is less, even with what the
    /// length is less then: it has them in it as heavy as they count.
    func bound(_ fields: FieldBounds, _ pairs: [Bound], weight: Double, averageLength: Double) -> Double {
        var best = 0.0
        for pair in pairs { best = max(best, bound(fields, pair, weight: weight, averageLength: averageLength)) }
        return best
    }

    @inline(__always)
    func bound(_ fields: FieldBounds, _ pair: Bound, weight: Double, averageLength: Double) -> Double {
        var best = 0.0
        for rank in order.indices {
            let own = fields[order[rank]]
            guard own.frequency > 0 else { continue }
            var (rest, frequency, held) = (pair.frequency, 0.0, 0.0)
            for place in order[rank...] {
                let most = min(fields.frequencies[place], rest)
                rest &-= most
                frequency += weights[place] * Double(most)
                held += Double(most)
            }
            guard frequency > 0 else { continue }
            let length = Double(max(own.length, pair.length))
            best = max(
                best,
                BM25.score(
                    weight: weight, frequency: frequency,
                    length: leastLength(length, held: held, frequency: frequency), averageLength: averageLength))
        }
        return best
    }
}
