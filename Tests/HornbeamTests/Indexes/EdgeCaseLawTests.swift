// SPDX-License-Identifier: Apache-2.0
// The law of indexes: for all values, each kind of index gives the answer of a scan, and both give the expected one.
// The values come in ordered classes of equal values, so that the test itself compares no values.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

/// Values with their expected answers.
struct EdgeCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let run: @Sendable () throws -> Void

    /// - Parameters:
    /// - asked: the values in the queries; nil for all.
    ///   - isLong: whether keys are too long for groups.
    init<Content: EdgeValue>(
        _ name: String, _ classes: [[Content]], asked: Set<Content>? = nil, isLong: Bool = false
    ) {
        testDescription = name
        run = { try EdgeLaw(classes: classes, asked: asked, isLong: isLong).hold() }
    }

    static let negativeNaN = Double(bitPattern: 0xFFF8_0000_0000_0001)
    /// Longer than the part of a key that is kept; few texts are longer.
    static let longText = String(repeating: "long", count: 1_300)
    static let hugeText = String(repeating: "huge", count: 262_144)

    static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

    static let all = [
        EdgeCase(
            "doubles",
            [
                [-.infinity], [-1], [-.leastNonzeroMagnitude], [-0.0, 0.0], [1], [.greatestFiniteMagnitude],
                [.infinity],
                [.nan, negativeNaN, .signalingNaN],
            ]),
        EdgeCase(
            "dates", [[date(-.infinity)], [date(-1)], [date(-0.0), date(0)], [date(1)], [date(.nan)]]),
        EdgeCase("decimals", [[-2], [0], [Decimal(string: "0.10") ?? 0], [1], [Decimal.nan]]),
        EdgeCase(
            "texts",
            [
                [""], ["\0"], ["\0\0"], ["\0a"], ["a"], ["a\0"], ["a\0b"], ["aa"], ["b"], ["é", "e\u{301}"],
                ["\u{212B}", "Å", "A\u{30A}"].map { "é" + $0 }, ["😀"],
            ]),
        EdgeCase(
            "long texts", [["a"], ["b"], [longText], [longText + "a"], [longText + "b"], ["lp"]], isLong: true),
        EdgeCase("a text of 1 MiB", [["a"], ["b"], [hugeText], ["i"]], asked: [hugeText], isLong: true),
    ]
}

private struct EdgeLaw<Content: EdgeValue> {
    typealias Entity = Edge<Content>

    let classes: [[Content]]
    let asked: Set<Content>?
    let isLong: Bool

    /// Returns entities with all values and nil, each twice, shuffled.
    private func entities() -> [(entity: Entity, rank: Int?)] {
        var found: [(entity: Entity, rank: Int?)] = []
        var seen: Set<Int> = []
        let values = classes.enumerated().flatMap { rank, values in values.map { (rank: rank as Int?, $0 as Content?) }
        }
        var random = SeededGenerator(seed: 7)
        for (rank, value) in ((isLong ? values : values + values) + [(nil, nil), (nil, nil)]).shuffled(using: &random) {
            let isFirst = rank.map { seen.insert($0).inserted } ?? true
            found.append((Entity(id: found.count + 1, value, isFirst: isFirst), rank))
        }
        return found
    }

    private typealias Question = (question: EdgeQuestion<Content>, holds: (Int?) -> Bool)

    /// The questions, with the expected condition on the class of a value; nil stands for no class.
    private var questions: [Question] {
        var all: [Question] = []
        for (rank, values) in classes.enumerated() {
            for value in values where asked?.contains(value) ?? true { add(value, rank, to: &all) }
        }
        all.append((.equal(nil), { $0 == nil }))
        all.append((.unequal(nil), { $0 != nil }))
        all.append((.order, { _ in true }))
        all.append((.reverse, { _ in true }))
        return all
    }

    private func add(_ value: Content, _ rank: Int, to all: inout [Question]) {
        let some = some
        all.append((.equal(value), { $0 == rank }))
        all.append((.unequal(value), { $0 != rank }))
        all.append((.among([value]), { $0 == rank }))
        all.append((.among([value, .some, value]), { $0 == rank || ($0 != nil && $0 == some) }))
        all.append((.less(value), { $0.map { $0 < rank } ?? false }))
        all.append((.lessOrEqual(value), { $0.map { $0 <= rank } ?? false }))
        all.append((.greater(value), { $0.map { $0 > rank } ?? false }))
        all.append((.greaterOrEqual(value), { $0.map { $0 >= rank } ?? false }))
    }

    /// The class of the elements of any array.
    private var some: Int? { classes.firstIndex { $0.contains(.some) } }

    private func expected(
        _ kind: EdgeKind<Content>, _ question: EdgeQuestion<Content>, _ holds: (Int?) -> Bool, _ stored: [Stored]
    ) -> [Int] {
        func ranks(_ stored: Stored) -> [Int?] {
            let values = kind.values(stored.entity)
            // The first two are the entity's own values, or nil if this kind has none.
            return values.enumerated().map { place, value in place < 2 ? value.map { _ in stored.rank } ?? nil : some }
        }
        let passing = stored.filter { ranks($0).contains(where: holds) }
        switch question {
        case .order, .reverse:
            let isReverse = if case .reverse = question { true } else { false }
            return passing.sorted { left, right in
                let (first, second) = (ranks(left)[0] ?? -1, ranks(right)[0] ?? -1)
                if first == second { return left.entity.id < right.entity.id }
                return isReverse ? second < first : first < second
            }.map(\.entity.id)
        default: return passing.map(\.entity.id).sorted()
        }
    }

    typealias Stored = (entity: Entity, rank: Int?)

    func hold() throws {
        let database = try EdgeKind<Content>.database(isLong: isLong)
        let stored = entities()
        try database.write { (context) throws in
            for (entity, _) in stored { try entity.save(to: &context) }
        }
        try database.read { (context) throws in
            for kind in EdgeKind<Content>.all(isLong: isLong) {
                for (question, holds) in questions {
                    guard let answer = try kind.answer(question, context) else { continue }
                    #expect(answer == expected(kind, question, holds, stored), "\(kind.name) \(question)")
                }
            }
        }
        #expect(try database.check { Issue.record("\($0)") })
        try untouched(database, stored)
        // After the last entities are deleted, each kind must have lost them.
        let gone = stored.suffix(stored.count / 2)
        try database.write { (context) throws in
            _ = try Entity.query(gone.map(\.entity.id)).delete(from: &context)
        }
        try database.read { (context) throws in
            for kind in EdgeKind<Content>.all(isLong: isLong) {
                let left = expected(kind, .order, { _ in true }, Array(stored.dropLast(gone.count)))
                if let answer = try kind.answer(.order, context) { #expect(answer == left, "\(kind.name)") }
            }
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    /// Checks that a change of a property without an index changes only the row, in all kinds.
    private func untouched(_ database: Database, _ stored: [Stored]) throws {
        try database.write { (context) throws in
            for (entity, _) in stored {
                var entity = entity
                entity.note = "changed"
                try entity.save(to: &context)
            }
            let transaction = try context.session.core.transaction
            let changed = try transaction.treeNames().filter { name in
                try transaction.tree(name).map { transaction.treesChanged.contains($0) } ?? false
            }
            #expect(changed == ["e:\(Entity.entityName)"])
        }
    }
}

@Suite("Edge cases in all kinds of indexes")
struct EdgeCaseLawTests {
    @Test("Each kind gives the results of a scan", arguments: EdgeCase.all)
    func law(_ edges: EdgeCase) throws { try edges.run() }
}
