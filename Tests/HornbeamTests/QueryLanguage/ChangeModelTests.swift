// SPDX-License-Identifier: Apache-2.0
// Random statements that change data, compared with a dictionary that is changed by hand.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Part {
    @Unique<Self>(\.code) private var byCode
    @Index<Self>(\.size) private var bySize
    @FullTextIndex<Self>(\.name) private var search

    let id: Int
    var code: Int
    var size: Int?
    var name: String
    @Relationship(inverse: \.parts) var whole: Part?
    @Relationship(deleteRule: .cascade, inverse: \.whole) var parts: [Part]?
}

/// The values of an entity in the model.
private struct Known: Equatable {
    var code: Int
    var size: Int?
    var name: String
    var whole: Int?
}

private struct Refused: Error {}

private struct Model {
    var parts: [Int: Known] = [:]

    mutating func insert(_ id: Int, _ known: Known, replaces: Bool) throws -> Int {
        if parts[id] != nil, !replaces { throw Refused() }
        let whole = parts[id]?.whole
        parts[id] = known
        // A relation that isn't named isn't changed.
        parts[id]?.whole = whole
        try check()
        return 1
    }

    mutating func update(_ holds: (Int, Known) -> Bool, _ change: (inout Known) -> Void) throws -> Int {
        let found = parts.filter { holds($0.key, $0.value) }
        for (id, part) in found {
            var part = part
            change(&part)
            parts[id] = part
        }
        try check()
        return found.count
    }

    mutating func delete(_ holds: (Int, Known) -> Bool) -> Int {
        let found = parts.filter { holds($0.key, $0.value) }.map(\.key)
        var waiting = found
        while let id = waiting.popLast() {
            parts[id] = nil
            waiting += parts.filter { $0.value.whole == id }.keys
        }
        // Links to a deleted entity are removed.
        for id in parts.keys where parts[id]?.whole.map({ parts[$0] == nil }) ?? false { parts[id]?.whole = nil }
        return found.count
    }

    private func check() throws {
        if Set(parts.values.map(\.code)).count != parts.count { throw Refused() }
    }
}

/// A statement, and its change made by hand.
private struct Change {
    var text: String
    var apply: (inout Model) throws -> Int

    private typealias Condition = (text: String, holds: (Model) -> (Int, Known) -> Bool)

    private static func condition(_ random: inout SeededGenerator) -> Condition {
        let number = random.below(20)
        switch random.below(5) {
        case 0: return ("id = \(number)", { _ in { id, _ in id == number } })
        case 1: return ("size > \(number)", { _ in { _, part in part.size.map { $0 > number } ?? false } })
        case 2: return ("size IS NULL OR code % 3 = 1", { _ in { $1.size == nil || $1.code % 3 == 1 } })
        case 3: return ("whole = \(number)", { _ in { _, part in part.whole == number } })
        default:
            return (
                "id IN (SELECT whole FROM Part WHERE whole > \(number))",
                { model in
                    let wholes = Set(model.parts.values.compactMap(\.whole)).filter { $0 > number }
                    return { id, _ in wholes.contains(id) }
                }
            )
        }
    }

    static func random(_ random: inout SeededGenerator, _ model: Model) -> Change {
        let (text, holds) = condition(&random)
        switch random.below(8) {
        case 0, 1, 2:
            let (id, replaces) = (random.below(20), random.oneIn(2))
            let part = Known(
                code: random.below(60), size: random.oneIn(4) ? nil : random.below(20), name: "n\(random.below(4))")
            let values = "\(id), \(part.code), \(part.size.map { "\($0)" } ?? "NULL"), '\(part.name)'"
            return Change(
                text: "\(replaces ? "UPSERT" : "INSERT") INTO Part (id, code, size, name) VALUES (\(values))"
            ) { try $0.insert(id, part, replaces: replaces) }
        case 3:
            return Change(text: "UPDATE Part SET size = size + 1, name = name || 'x' WHERE \(text)") { model in
                try model.update(holds(model)) {
                    $0.size = $0.size.map { $0 + 1 }
                    $0.name += "x"
                }
            }
        case 4:
            let step = random.below(5) - 2
            return Change(text: "UPDATE Part SET code = code + \(step) WHERE \(text)") { model in
                try model.update(holds(model)) { $0.code += step }
            }
        case 5, 6:
            let target = random.oneIn(4) ? nil : model.parts.keys.sorted().randomElement(using: &random)
            let value = target.map { "\($0)" } ?? "NULL"
            return Change(text: "UPDATE Part SET whole = \(value) WHERE \(text)") { model in
                try model.update(holds(model)) { $0.whole = target }
            }
        default:
            return Change(text: "DELETE FROM Part WHERE (\(text)) AND size % 2 = 0") { model in
                let holds = holds(model)
                return model.delete { holds($0, $1) && $1.size.map { $0 % 2 == 0 } ?? false }
            }
        }
    }
}

@Suite("Statements that change data, against a model")
struct ChangeModelTests {
    private func stored(_ context: Context) throws -> [Int: Known] {
        let parts = try Part.query().resolve(in: context)
        let wholes = try Statement("SELECT id, whole FROM Part").resolve(in: context)
        let links = try Dictionary(
            uniqueKeysWithValues: wholes.map {
                (try $0.value("id", as: Int.self), try $0.value("whole", as: Int?.self))
            })
        return Dictionary(
            uniqueKeysWithValues: parts.map { part in
                (part.id, Known(code: part.code, size: part.size, name: part.name, whole: links[part.id] ?? nil))
            })
    }

    @Test("leave the entities of a dictionary with the same changes", arguments: 1...8 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory(models: Part.self)
        var model = Model()
        var refused = 0
        for _ in 0..<300 {
            let change = Change.random(&random, model)
            var changed = model
            let expected: Int?
            do {
                expected = try change.apply(&changed)
                model = changed
            } catch {
                expected = nil
                refused += 1
            }
            do {
                let count = try database.execute(change.text).count
                #expect(count == expected, "\(change.text)")
            } catch let error as HornbeamError {
                #expect(expected == nil, "\(change.text): \(error.message)")
                #expect(error.code == .uniqueViolation || error.code == .alreadyStored, "\(error.message)")
            }
            #expect(try database.read { try stored($0) } == model.parts, "\(change.text)")
        }
        #expect(refused > 10 && refused < 200)
        #expect(try database.read { try $0.isWhole() })
        // Indexes lead to the entities that a scan finds.
        for size in 0..<20 {
            let found = try database.query("SELECT VALUE id FROM Part WHERE size = ? ORDER BY id", size).map(\.json)
            #expect(found == model.parts.filter { $0.value.size == size }.keys.sorted().map { "\($0)" })
        }
    }
}
