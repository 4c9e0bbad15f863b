// SPDX-License-Identifier: Apache-2.0
// The entities that `prices` and `plans` measure. All stores have the same entities with different indexes: one of
// several plans in one store is the only plan in another.

import BenchHarness
import Foundation
import Hornbeam

/// An entity with a property of few values, one of many, and a text.
@EntityModel
struct Measured {
    let id: Int
    var few: Int
    var many: Int
    var text: String
    /// Not stored, so conditions on it call the program's code.
    var negative: Int { -many }
}

/// Databases in memory with the same entities.
struct MeasuredStores {
    /// Number of different values of `few`.
    static let fewValues = 100

    let unindexed: Database
    let byFew: Database
    let byMany: Database
    let byBoth: Database

    /// - Parameter count: the number of entities in each store.
    init(_ count: Int, seed: UInt64) throws {
        let few = ValueIndex("byFew", \Measured.few)
        let many = ValueIndex("byMany", \Measured.many)
        unindexed = try Self.filled(count, seed: seed, [])
        byFew = try Self.filled(count, seed: seed, [few])
        byMany = try Self.filled(count, seed: seed, [many])
        byBoth = try Self.filled(count, seed: seed, [few, many])
    }

    private static func filled(_ count: Int, seed: UInt64, _ indexes: [ValueIndex<Measured>]) throws -> Database {
        let database = try Database.inMemory(models: Measured.self)
        var random = SplitMix(state: seed)
        try database.write { context in
            for id in 0..<count {
                let many = Int.random(in: 0..<count, using: &random)
                try Measured(
                    id: id, few: .random(in: 0..<fewValues, using: &random), many: many,
                    text: "some text \(many % 1_000)"
                ).save(to: &context)
            }
        }
        for index in indexes { try database.createIndex(index) }
        return database
    }

    /// Returns the shortest time of several runs, in nanoseconds.
    static func time(_ rounds: Int = 5, _ body: () throws -> Void) rethrows -> Double {
        var least = Double.infinity
        for _ in 0..<rounds {
            let start = nanoseconds()
            try body()
            least = min(least, Double(nanoseconds() - start))
        }
        return least
    }
}
