// SPDX-License-Identifier: Apache-2.0
// The same entities with different indexes: what the planner may choose in the one type, it has to do in another.

import BenchHarness
import Foundation
import Hornbeam

/// An entity with a property of few values, one of many, and texts.
protocol Measured: EntityModelProtocol where ID == Int {
    static var few: KeyPath<Self, Int> & Sendable { get }
    static var many: KeyPath<Self, Int> & Sendable { get }
    static var manyDescending: KeyPath<Self, Descending<Int>> & Sendable { get }
    static var text: KeyPath<Self, String> & Sendable { get }

    init(id: Int, few: Int, many: Int, text: String)
}

@EntityModel
struct Unindexed: Measured {
    let id: Int
    var few: Int
    var many: Int
    var text: String
    /// Not stored: conditions on it are the program's code.
    var negative: Int { -many }

    static var few: KeyPath<Self, Int> & Sendable { \.few }
    static var many: KeyPath<Self, Int> & Sendable { \.many }
    static var manyDescending: KeyPath<Self, Descending<Int>> & Sendable { \.many.desc }
    static var text: KeyPath<Self, String> & Sendable { \.text }
}

@EntityModel
struct ByFew: Measured {
    @Index<Self>(\.few) private var byFew

    let id: Int
    var few: Int
    var many: Int
    var text: String

    static var few: KeyPath<Self, Int> & Sendable { \.few }
    static var many: KeyPath<Self, Int> & Sendable { \.many }
    static var manyDescending: KeyPath<Self, Descending<Int>> & Sendable { \.many.desc }
    static var text: KeyPath<Self, String> & Sendable { \.text }
}

@EntityModel
struct ByMany: Measured {
    @Index<Self>(\.many) private var byMany

    let id: Int
    var few: Int
    var many: Int
    var text: String

    static var few: KeyPath<Self, Int> & Sendable { \.few }
    static var many: KeyPath<Self, Int> & Sendable { \.many }
    static var manyDescending: KeyPath<Self, Descending<Int>> & Sendable { \.many.desc }
    static var text: KeyPath<Self, String> & Sendable { \.text }
}

@EntityModel
struct ByBoth: Measured {
    @Index<Self>(\.few) private var byFew
    @Index<Self>(\.many) private var byMany

    let id: Int
    var few: Int
    var many: Int
    var text: String

    static var few: KeyPath<Self, Int> & Sendable { \.few }
    static var many: KeyPath<Self, Int> & Sendable { \.many }
    static var manyDescending: KeyPath<Self, Descending<Int>> & Sendable { \.many.desc }
    static var text: KeyPath<Self, String> & Sendable { \.text }
}

enum MeasuredStore {
    /// Values of `few`.
    static let fewValues = 100

    /// A database in memory with so many entities of each type, the same in all.
    static func filled(_ count: Int, seed: UInt64) throws -> Database {
        let database = try Database.inMemory(
            models: Unindexed.self, ByFew.self, ByMany.self, ByBoth.self)
        func fill<Entity: Measured>(_: Entity.Type) throws {
            var random = SplitMix(state: seed)
            try database.write { context in
                for id in 0..<count {
                    let many = Int.random(in: 0..<count, using: &random)
                    try Entity(
                        id: id, few: .random(in: 0..<fewValues, using: &random), many: many,
                        text: "some text \(many % 1_000)"
                    ).save(to: &context)
                }
            }
        }
        try fill(Unindexed.self)
        try fill(ByFew.self)
        try fill(ByMany.self)
        try fill(ByBoth.self)
        return database
    }

    /// The least time of several, in nanoseconds.
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
