// SPDX-License-Identifier: Apache-2.0
// Bounds must hold: for every posting, every weighting and every average length.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Bounds of postings")
struct BoundsTests {
    @Test("The pairs cover all added postings, however few pairs there are", .seeded, arguments: [1, 2, 4, 40])
    func covers(limit: Int) {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<60 {
            var frontier = BoundFrontier()
            let all = (0..<Int.random(in: 1...400, using: &random)).map { _ in
                let frequency = UInt32.random(in: 1...UInt32.random(in: 1...500, using: &random), using: &random)
                return Bound(frequency: frequency, length: frequency &+ .random(in: 0...5000, using: &random))
            }
            for bound in all { frontier.add(bound) }
            frontier.reduce(to: limit)
            let pairs = frontier.descending
            #expect(!pairs.isEmpty && pairs.count <= limit)
            #expect(all.allSatisfy { bound in pairs.contains { $0.covers(bound) } })
            #expect(pairs[0].frequency == all.map(\.frequency).max())
            #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.frequency > $1.frequency && $0.length > $1.length })
            for (k1, b, average) in [(1.2, 0.75, 100.0), (0.1, 1, 1), (9, 0, 4000)] {
                func score(_ bound: Bound) -> Double {
                    let frequency = Double(bound.frequency)
                    return frequency / (frequency + k1 * (1 - b + b * Double(bound.length) / average))
                }
                #expect((pairs.map(score).max() ?? 0) >= (all.map(score).max() ?? 0))
            }
        }
    }

    @Test("Two pairs remain for any number of added postings, the more frequent first", .seeded)
    func two() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<300 {
            var all = LeadersTests.postings(Int.random(in: 1...60, using: &random), &random)
            var frontier = BoundFrontier()
            for bound in all { frontier.add(bound) }
            frontier.reduce(to: 2)
            var pair = BoundPair(frontier[frontier.count - 1], frontier[0])
            for posting in LeadersTests.postings(30, &random) {
                pair.add(posting)
                all.append(posting)
                #expect(all.allSatisfy { pair.first.covers($0) || pair.second.covers($0) })
                #expect(
                    pair.first == pair.second
                        || pair.first.frequency > pair.second.frequency && pair.first.length > pair.second.length)
            }
        }
    }

    @Test("A few pairs are exact")
    func exact() {
        var frontier = BoundFrontier()
        for (frequency, length) in [(3, 90), (1, 10), (2, 50), (2, 60), (1, 11), (3, 95)] as [(UInt32, UInt32)] {
            frontier.add(Bound(frequency: frequency, length: length))
        }
        #expect(frontier.descending.map(\.frequency) == [3, 2, 1])
        #expect(frontier.descending.map(\.length) == [90, 50, 10])
    }
}
