// SPDX-License-Identifier: Apache-2.0
// The weight of an occurrence by its field, for fields that postings distinguish. From these weights follows an upper
// bound of the contribution of postings of which only bounds are known.

import HornbeamPages

/// The weights of field slots for a leaf.
struct FieldScoring {
    /// The wanted slots.
    let wanted: FieldPlaces
    /// The weight of an occurrence in each slot.
    let weights: [Double]
    /// The least weight of a token in its document's length. Nil if all tokens have the same weight.
    let leastWeight: Double?
    /// The wanted slots, in descending order of weight.
    private let order: [Int]

    /// Returns nil if the counts of the shared slot `others` aren't sufficient: if only some of its fields are wanted,
    /// or if there are weights and several such fields.
    /// - Parameter fields: the wanted fields; nil means all.
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
            // The sum of several fields in one slot would be rounded differently.
            guard fieldCount <= FieldPlace.count else { return nil }
            for place in weights.indices where place < given.count { weights[place] = given[place] }
            least = context.leastWeight
        }
        let counting = weights.indices.filter { wanted.contains($0) }
        order = counting.sorted { weights[$0] > weights[$1] }
        (self.wanted, self.weights, leastWeight) = (wanted, weights, least)
    }

    /// Returns a lower bound of the length that a score uses, for a document of `length` tokens of which `held`
    /// contribute a weighted frequency of `frequency`.
    @inline(__always)
    func leastLength(_ length: Double, held: Double, frequency: Double) -> Double {
        guard let leastWeight else { return length }
        return frequency + leastWeight * max(length - held, 0)
    }

    /// Returns an upper bound, except for rounding, of the contribution of postings within these bounds.
    ///
    /// For each pair and each slot it assumes the maximum number of occurrences in that slot and the rest in lighter
    /// slots, in the shortest document that has an occurrence in that slot. Fewer occurrences give a lower score: the
    /// length decreases by no more than the occurrences' weight.
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
