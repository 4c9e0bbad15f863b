// SPDX-License-Identifier: Apache-2.0
// Queries for one whole unique key or one id: they find the same entities without a plan as with one.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let item = EntityDescription(
    name: "Item",
    columns: [
        ColumnDescription(name: "id", type: .string), ColumnDescription(name: "code", type: .optional(.string)),
        ColumnDescription(name: "room", type: .int64), ColumnDescription(name: "place", type: .optional(.double)),
    ],
    indexes: [
        IndexDescription(name: "byCode", kind: .unique, components: [.init(column: "code")]),
        IndexDescription(
            name: "byPlace", kind: .unique,
            components: [.init(column: "room"), .init(column: "place", descending: true)]),
        IndexDescription(name: "byRoom", kind: .value, components: [.init(column: "room")]),
    ])

private let hashed = EntityDescription(
    name: "Hashed",
    columns: [ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "code", type: .string)],
    indexes: [IndexDescription(name: "byCode", kind: .hash, components: [.init(column: "code")])])

private func filled(_ count: Int = 40) throws -> CoreStore {
    let store = try CoreStore([item])
    for number in 0..<count {
        let code: Value = number.isMultiple(of: 4) ? .null : .string("c\(number)")
        try store.save(
            "Item",
            [
                .string("i\(number)"), code, .int(Int64(number / 4)),
                number % 4 == 3 ? .null : .double(Double(number % 4)),
            ])
    }
    return store
}

private func equal(_ column: Int, _ value: Value) -> Filter { .compare(column: column, .equal, value) }

@Suite("One unique key or one id")
struct PointLookupTests {
    private func ids(_ filter: Filter, _ store: CoreStore) throws -> [Value] {
        try store.ids(EntityQuery(type: "Item", filter: filter))
    }

    @Test("finds the entity, or none, by each of its unique keys and its id")
    func finds() throws {
        let store = try filled()
        #expect(try ids(equal(1, .string("c5")), store) == [.string("i5")])
        #expect(try ids(equal(1, .string("c4")), store) == [])
        #expect(try ids(equal(0, .string("i7")), store) == [.string("i7")])
        #expect(try ids(equal(0, .string("nobody")), store) == [])
        #expect(try ids(equal(0, .string(String(repeating: "x", count: 2000))), store) == [])
        let both = Filter.and([equal(3, .double(2)), equal(2, .int(3))])
        #expect(try ids(both, store) == [.string("i14")])
        // −0.0 equals 0.0, as in all comparisons.
        #expect(try ids(.and([equal(2, .int(3)), equal(3, .double(-0.0))]), store) == [.string("i12")])
        #expect(try store.core.rowIDs(EntityQuery(type: "Item", filter: both)).count == 1)
        #expect(try store.core.count(EntityQuery(type: "Item", filter: both)) == 1)
    }

    @Test("tests all other conditions, and gives the same for keys that several entities may have")
    func others() throws {
        let store = try filled()
        // The number of conditions is that of the index's components, but not each component has one.
        #expect(try ids(.and([equal(2, .int(3)), equal(2, .int(4))]), store) == [])
        #expect(try ids(.and([equal(2, .int(3)), equal(1, .string("c13"))]), store) == [.string("i13")])
        #expect(try ids(.and([equal(2, .int(3)), equal(3, .double(1)), equal(1, .string("no"))]), store) == [])
        // Nil is no key: any number of entities may have nil.
        #expect(try ids(equal(1, .null), store).count == 10)
        #expect(try ids(.isNull(column: 1), store).count == 10)
        #expect(try ids(.and([equal(2, .int(3)), equal(3, .null)]), store) == [.string("i15")])
        let key = equal(1, .string("c5"))
        #expect(try store.ids(EntityQuery(type: "Item", filter: key, limit: 0)) == [])
        #expect(try store.ids(EntityQuery(type: "Item", filter: key, limit: 1)) == [.string("i5")])
        #expect(try store.ids(EntityQuery(type: "Item", filter: key, offset: 1)) == [])
        #expect(try store.ids(EntityQuery(type: "Item", filter: key, sort: [.column(2)])) == [.string("i5")])
        var behind = EntityQuery(type: "Item", filter: key)
        let row = try store.row("Item", [.string("i5"), .string("c5"), .int(1), .double(1)])
        behind.after = { _ in QueryPosition(id: .string("i5"), row: row) }
        #expect(try store.ids(behind) == [])
    }

    @Test("neither includes an index with repeated keys, nor a known id that isn't stored")
    func neither() throws {
        let store = try filled()
        #expect(try ids(equal(2, .int(3)), store).count == 4)
        _ = try store["Item"].ensureRowID(of: .string("linked"))
        #expect(try ids(equal(0, .string("linked")), store) == [])
        #expect(try store.core.count(EntityQuery(type: "Item", filter: equal(0, .string("linked")))) == 0)
    }

    @Test("keys too long for a tree, which may share a cut key, are planned")
    func longKeys() throws {
        let store = try filled()
        let long = String(repeating: "x", count: 3000)
        try store.save("Item", [.string("l1"), .string(long + "1"), .int(900), .null])
        try store.save("Item", [.string("l2"), .string(long + "2"), .int(900), .null])
        #expect(try ids(equal(1, .string(long + "2")), store) == [.string("l2")])
        #expect(try ids(equal(1, .string(long + "3")), store) == [])
    }

    @Test("explain mentions the index, or the id")
    func explained() throws {
        for count in [2, 40] {
            let store = try filled(count)
            func access(_ filter: Filter) throws -> Plan.Access {
                try store.core.explain(EntityQuery(type: "Item", filter: filter)).access
            }
            #expect(
                try access(equal(1, .string("c1"))) == .index(name: "byCode", ranges: 1, entries: 1, reversed: false))
            #expect(
                try access(.and([equal(3, .double(1)), equal(2, .int(0))]))
                    == .index(name: "byPlace", ranges: 1, entries: 1, reversed: false))
            #expect(try access(equal(0, .string("i1"))) == .ids(count: 1))
            #expect(try access(equal(0, .string("nobody"))) == .ids(count: 0))
        }
    }

    @Test("an entry of a hash that leads to another key finds nothing; one without its row is reported")
    func hashCollision() throws {
        let store = try CoreStore([hashed])
        for id in 1...9 { try store.save("Hashed", [.int(Int64(id)), .string("c\(id)")]) }
        let type = try store["Hashed"].type
        let index = try #require(type.indexes.first)
        let own = try store.row("Hashed", [.int(3), .string("c3")])
        let hash = try own.withUnsafeBytes { bytes in
            IndexKeyBytes.hashed(try index.fullKey(of: RowReader(bytes, layout: type.layout)).key)
        }
        // As if the keys of 3 and 4 had the same hash.
        _ = try store.core.transaction.delete(index.tree, hash + RowID(rawValue: 3).key)
        try store.core.transaction.put(index.tree, hash + RowID(rawValue: 4).key, [])
        let asked = EntityQuery(type: "Hashed", filter: equal(1, .string("c3")))
        #expect(try store.ids(asked) == [])
        #expect(try store.core.count(asked) == 0)
        _ = try store.core.transaction.delete(type.rows, RowID(rawValue: 4).key)
        #expect { try store.ids(asked) } throws: { "\($0)".contains("which has no row") }
    }

    @Test("an entry without its row is reported, as is a literal of another type")
    func damage() throws {
        let store = try filled()
        let type = try store["Item"].type
        let rowID = try #require(try store["Item"].rowID(of: .string("i5")))
        _ = try store.core.transaction.delete(type.rows, rowID.key)
        #expect {
            try ids(equal(1, .string("c5")), store)
        } throws: { "\($0)".contains("names \(rowID), which has no row") }
        let index = try #require(type.indexes.first { $0.description.name == "byCode" })
        // The key: a marker, the text, its end.
        try store.core.transaction.put(index.tree, [1] + Array("c1".utf8) + [0], [1, 2, 3])
        #expect {
            try ids(equal(1, .string("c1")), store)
        } throws: { "\($0)".contains("an entry names no row") }
        #expect { try ids(equal(1, .int(5)), store) } throws: { ($0 as? HornbeamError)?.code == .invalid }
        #expect { try ids(equal(0, .int(5)), store) } throws: { ($0 as? HornbeamError)?.code == .invalid }
    }
}
