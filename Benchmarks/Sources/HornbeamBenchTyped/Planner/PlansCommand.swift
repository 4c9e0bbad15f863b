// SPDX-License-Identifier: Apache-2.0
// `plans`: checks that the planner's choice is about as fast as the best plan. Generated queries run in a store with
// two indexes, where the planner chooses, and in stores with one index or none, with and without `requiringIndex()`:
// so every plan runs in one of them.

import BenchHarness
import Foundation
import Hornbeam

struct PlansCommand {
    /// A query for any of the stores.
    private struct Case {
        enum Result: CaseIterable { case entities, ids, count }
        enum Order: CaseIterable { case none, few, many, manyDescending, text }

        var ranges: [(isFew: Bool, range: Range<Int>)] = []
        var values: [Int] = []
        var isAny = false
        var part: String?
        var order = Order.none
        var limit: Int?
        var offset = 0
        var result = Result.entities
    }

    private let count: Int
    private let cases: Int
    private let seed: UInt64

    init(_ arguments: Arguments) throws {
        count = try arguments.number("n", 100_000, least: 1_000)
        cases = try arguments.number("cases", 200, least: 1)
        seed = UInt64(try arguments.number("seed", 1))
    }

    /// Throws if a chosen plan takes more than 1.5 times as long as another one.
    func run() throws {
        let stores = try MeasuredStores(count, seed: seed)
        var random = SplitMix(state: seed)
        var bad = 0
        var ratios: [Double] = []
        for _ in 0..<cases {
            let asked = some(&random)
            let chosen = try time(asked, stores.byBoth, requires: false)
            let others = try [
                time(asked, stores.unindexed, requires: false),
                time(asked, stores.byFew, requires: false),
                time(asked, stores.byFew, requires: true),
                time(asked, stores.byMany, requires: false),
                time(asked, stores.byMany, requires: true),
                time(asked, stores.byBoth, requires: true),
            ].compactMap { $0 }
            guard let chosen, let best = others.min(by: { $0.time < $1.time }) else { continue }
            let ratio = chosen.time / min(best.time, chosen.time)
            ratios.append(ratio)
            // Smaller differences come from planning.
            guard ratio > 1.5, chosen.time - best.time > 20_000 else { continue }
            bad += 1
            print(String(format: "%.2f times: %.0f µs, not %.0f µs", ratio, chosen.time / 1e3, best.time / 1e3))
            print("  chosen \(chosen.plan)\n  better \(best.plan)")
        }
        ratios.sort()
        print(
            "\(cases) queries of \(count) entities: "
                + String(format: "median %.2f, 95 %% %.2f", ratios[ratios.count / 2], ratios[ratios.count * 95 / 100])
                + ", \(bad) beyond 1.5")
        if bad > 0 { throw BenchError("\(bad) plans are more than 1.5 times as slow as another one") }
    }

    private func some(_ random: inout SplitMix) -> Case {
        var asked = Case()
        func range(below bound: Int) -> Range<Int> {
            let size = max(1, Int(Double(bound) * pow(10, -Double.random(in: 0...4, using: &random))))
            let start = Int.random(in: 0...(bound - size), using: &random)
            return start..<start + size
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let isFew = Bool.random(using: &random)
            asked.ranges.append((isFew, range(below: isFew ? MeasuredStores.fewValues : count)))
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let number = Int(pow(10, Double.random(in: 0...4, using: &random)))
            asked.values = (0..<number).map { _ in Int.random(in: 0..<count, using: &random) }
        }
        asked.isAny = Int.random(in: 0..<4, using: &random) == 0
        if Int.random(in: 0..<3, using: &random) == 0 { asked.part = "\(Int.random(in: 0..<100, using: &random))" }
        asked.order = Case.Order.allCases.randomElement(using: &random) ?? .none
        asked.limit = [nil, nil, 1, 20, 1_000].randomElement(using: &random) ?? nil
        if asked.limit != nil, Bool.random(using: &random) { asked.offset = Int.random(in: 0..<2_000, using: &random) }
        asked.result = Case.Result.allCases.randomElement(using: &random) ?? .entities
        return asked
    }

    private func query(_ asked: Case) -> QueryList<Measured> {
        var conditions: [Hornbeam.Predicate<Measured>] = asked.ranges.map { isFew, range in
            let property: KeyPath<Measured, Int> & Sendable = if isFew { \.few } else { \.many }
            return property >= range.lowerBound && property < range.upperBound
        }
        if !asked.values.isEmpty { conditions.append(.value(\.many, in: asked.values)) }
        var query = Measured.query()
        if asked.isAny, let first = conditions.first {
            query = query.filter(conditions.dropFirst().reduce(first) { $0 || $1 })
        } else {
            for condition in conditions { query = query.filter(condition) }
        }
        if let part = asked.part { query = query.filter(.string(\.text, contains: part)) }
        switch asked.order {
        case .none: break
        case .few: query = query.sorted(by: \.few)
        case .many: query = query.sorted(by: \.many)
        case .manyDescending: query = query.sorted(by: \.many.desc)
        case .text: query = query.sorted(by: \.text)
        }
        if let limit = asked.limit { query = query.limit(limit, offset: asked.offset) }
        return query
    }

    /// Returns nil if an index is required and there is none for the query.
    private func time(
        _ asked: Case, _ database: Database, requires: Bool
    ) throws -> (time: Double, plan: String)? {
        let query = requires ? query(asked).requiringIndex() : query(asked)
        do {
            return try database.read { (context) throws -> (time: Double, plan: String) in
                let time = try MeasuredStores.time(7) {
                    switch asked.result {
                    case .entities: _ = try query.resolve(in: context)
                    case .ids: _ = try query.ids(in: context)
                    case .count: _ = try query.count(in: context)
                    }
                }
                // A count has no order.
                var explained = asked
                if asked.result == .count { explained.order = .none }
                let shown = requires ? self.query(explained).requiringIndex() : self.query(explained)
                let plan = try shown.explain(in: context).description.prefix(300).split(separator: "\n")
                return (time, "\(asked.result) \(requires ? "required " : "")" + plan.joined(separator: ";"))
            }
        } catch let error as HornbeamError where error.code == .needsIndex {
            return nil
        }
    }
}
