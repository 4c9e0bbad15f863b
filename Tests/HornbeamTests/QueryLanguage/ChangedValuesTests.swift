// SPDX-License-Identifier: Apache-2.0
// UPDATE leaves alone all that it isn't told to change: digits of other numbers, links, and keys of a damaged index.

import Foundation
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

private struct Terms: Codable, Equatable, Sendable {
    var label: String
    var big: UInt64
    var sum: Decimal
    var steps: [Decimal]
}

@EntityModel
private struct Bargain {
    @Unique<Self>(\.code) private var byCode
    let id: Int
    var code: String
    var price: Terms
    var extra: Terms?
    @Relationship(inverse: \.offers) var shops: [Stall]?
}

@EntityModel
private struct Stall {
    let id: Int
    @Relationship(inverse: \.shops) var offers: [Bargain]?
}

@Suite("UPDATE leaves alone")
struct ChangedValuesTests {
    private let price: Terms
    private let database: Database

    init() throws {
        let digits = try #require(Decimal(string: "12345678901234567890.123456789"))
        let price = Terms(label: "old", big: 9_007_199_254_740_993, sum: digits, steps: [digits, 1, 2])
        let database = try Database.inMemory(models: Bargain.self, Stall.self)
        try database.write { (context) throws in
            for (id, code) in [(1, "a"), (2, "b"), (3, "c")] {
                try Bargain(id: id, code: code, price: price).save(to: &context)
            }
            try Stall(id: 7, offers: .ids([1, 2])).save(to: &context)
        }
        (self.price, self.database) = (price, database)
    }

    private func offer(_ id: Int) throws -> Bargain? { try database.read { try Bargain.query(id).resolve(in: $0) } }

    @Test("the digits of other numbers in a Codable value of which a part is set")
    func digits() throws {
        try database.execute("UPDATE Bargain SET price.label = 'new', price.steps[1] = 4 WHERE id = 1")
        var expected = price
        (expected.label, expected.steps[1]) = ("new", 4)
        #expect(try offer(1)?.price == expected)
        try database.execute("UPDATE Bargain SET price.big = 18446744073709551615 WHERE id = 1")
        expected.big = .max
        #expect(try offer(1)?.price == expected)
    }

    @Test("the order of the fields in stored JSON, and a value of which nothing is taken away")
    func fields() throws {
        try database.execute("UPDATE Bargain SET price.none.inner = MISSING, extra.label = MISSING")
        #expect(try offer(1)?.price == price)
        #expect(try offer(1)?.extra == nil)
        try database.execute("UPDATE Bargain SET price.note.text = 'x' WHERE id = 2")
        let note = try database.query("SELECT price.note, price.big FROM Bargain WHERE id = 2")
        #expect(note.map(\.json) == [#"{"note":{"text":"x"},"big":9007199254740993}"#])
        for wrong in ["price.label.x = 1", "price.steps[3] = 1", "price[0] = 1", "price.none[0] = MISSING"] {
            let error = #expect(throws: HornbeamError.self, "\(wrong)") {
                try database.execute("UPDATE Bargain SET \(wrong)")
            }
            #expect(error?.message.contains("leads through a value that is no object") == true, "\(wrong)")
        }
        #expect(try offer(1)?.price == price)
    }

    @Test(
        "links and elements where null is removed or added",
        arguments: [
            ("ARRAY_REMOVE(offers, NULL)", [1, 2]), ("ARRAY_CONCAT(offers, NULL)", [1, 2]),
            ("ARRAY_CONCAT(NULL, offers, [3])", [1, 2, 3]), ("ARRAY_REMOVE(offers, 1, NULL)", [2]),
        ])
    func links(_ value: String, _ expected: [Int]) throws {
        try database.execute("UPDATE Stall SET offers = \(value)")
        #expect(
            try database.query("SELECT VALUE offers FROM Stall").map(\.json) == ["\(expected)".filter { $0 != " " }])
    }

    @Test("a store whose unique index is damaged: the statement ends with an error")
    func damagedIndex() throws {
        try database.write { context in
            try context.session.run { session in
                let core = try session.core
                let tree = try #require(try core.store("Bargain").type.indexes.first).tree
                var entries: [(key: [UInt8], value: [UInt8])] = []
                var cursor = try core.transaction.cursor(tree)
                while try cursor.next(), let entry = try cursor.entry() {
                    entries.append((Array(entry.key), Array(entry.value)))
                }
                try #require(entries.count == 3)
                // The key of the second offer leads to the third one, which has another.
                try core.transaction.put(tree, entries[1].key, entries[2].value)
            }
        }
        let error = #expect(throws: HornbeamError.self) {
            try database.execute("UPDATE Bargain SET code = CASE id WHEN 1 THEN 'b' WHEN 2 THEN 'c' ELSE 'a' END")
        }
        #expect(error?.code == .corrupt && error?.message.contains("repair it") == true, "\(String(describing: error))")
        #expect(
            try database.query("SELECT VALUE code FROM Bargain ORDER BY id").map(\.json) == [#""a""#, #""b""#, #""c""#])
    }
}
