// SPDX-License-Identifier: Apache-2.0
// Rows looked up together agree with single look-ups, including missing rows, the transaction's own changes, and
// damage, which is reported when its row's turn comes.

import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models = [
    EntityDescription(
        name: "Item",
        columns: [ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string)],
        indexes: [IndexDescription(name: "byName", kind: .value, components: [.init(column: "name")])])
]

private func filled(_ ids: some Sequence<Int>) throws -> CoreStore {
    let store = try CoreStore(models)
    for id in ids { try save(id, "item \(id % 3)", store) }
    return store
}

private func save(_ id: Int, _ name: String, _ store: CoreStore) throws {
    try store.save("Item", [.int(Int64(id)), .string(name)])
}

/// Returns the names of the rows with these ids, nil for missing ones.
private func names(_ ids: [Int], _ store: CoreStore) throws -> [String?] {
    let items = try store["Item"]
    var found: [String?] = []
    func take(_ rowID: RowID, _ row: RowReader?) throws -> Bool {
        #expect(rowID.rawValue == UInt64(ids[found.count]))
        found.append(try row?.string(1))
        return true
    }
    var waiting = RowLookups()
    for id in ids {
        waiting.add(RowID(rawValue: UInt64(id)))
        if waiting.isFull { #expect(try waiting.finish(in: items, take)) }
    }
    #expect(try waiting.finish(in: items, take))
    #expect(waiting.count == 0)
    return found
}

private func damage(_ id: UInt64, _ store: CoreStore) throws {
    let type = try store["Item"].type
    _ = try store.core.transaction.put(type.rows, RowID(rawValue: id).key, [0xFF])
}

@Suite("Rows looked up together")
struct RowLookupsTests {
    @Test("come in the order of their ids, missing ones as nil", arguments: [0, 1, 15, 16, 17, 99])
    func order(_ count: Int) throws {
        let store = try filled((0..<1_000).filter { $0 % 7 != 0 })
        let ids = (0..<count).map { $0 * 379 % 1_003 }
        let expected = ids.map { $0 < 1_000 && $0 % 7 != 0 ? "item \($0 % 3)" : nil }
        #expect(try names(ids, store) == expected)
        try store.reopen()
        #expect(try names(ids, store) == expected)
    }

    @Test("include this transaction's changes, additions and deletions")
    func changes() throws {
        let store = try filled(0..<500)
        try store.reopen()
        try save(20, "changed", store)
        try save(600, "added", store)
        try store["Item"].delete(RowID(rawValue: 21))
        #expect(try names([19, 20, 21, 22, 600, 601], store) == ["item 1", "changed", nil, "item 1", "added", nil])
        try store.rollBack()
        #expect(try names([19, 20, 21, 22, 600], store) == ["item 1", "item 2", "item 0", "item 1", nil])
    }

    @Test("end when no more are wanted")
    func end() throws {
        let store = try filled(0..<10)
        var waiting = RowLookups()
        for id in 0..<10 { waiting.add(RowID(rawValue: UInt64(id))) }
        var seen: [UInt64] = []
        let isWhole = try waiting.finish(in: try store["Item"]) { rowID, _ in
            seen.append(rowID.rawValue)
            return seen.count < 4
        }
        #expect(!isWhole)
        #expect(seen == [0, 1, 2, 3])
    }

    @Test("that are damaged give their error when their turn comes, and none if a limit comes before")
    func damaged() throws {
        let store = try filled(0..<30)
        // The rows named “item 0”: 0, 3, 6 and so on.
        try damage(6, store)
        let query = EntityQuery(type: "Item", filter: .compare(column: 1, .equal, .string("item 0")))
        var limited = query
        limited.limit = 2
        var found: [UInt64] = []
        func take(_ rowID: RowID, _: RowReader, _: Double?) -> Bool {
            found.append(rowID.rawValue)
            return true
        }
        try store.core.forEach(limited, take)
        #expect(found == [0, 3])
        found = []
        #expect(throws: HornbeamError.self) { try store.core.forEach(query, take) }
        #expect(found == [0, 3])
        limited.limit = 3
        #expect(throws: HornbeamError.self) { try store.core.forEach(limited, take) }
    }

    @Test("that an index names but that are missing are damage, unless a limit comes before")
    func missing() throws {
        let store = try filled(0..<30)
        let type = try store["Item"].type
        _ = try store.core.transaction.delete(type.rows, RowID(rawValue: 9).key)
        var query = EntityQuery(
            type: "Item", filter: .compare(column: 1, .equal, .string("item 0")), sort: [.column(1)], limit: 3)
        var found: [UInt64] = []
        func take(_ rowID: RowID, _: RowReader, _: Double?) -> Bool {
            found.append(rowID.rawValue)
            return found.count < 100
        }
        try store.core.forEach(query, take)
        #expect(found == [0, 3, 6])
        query.limit = nil
        #expect(throws: StorageError.self) { try store.core.forEach(query, take) }
        #expect(found == [0, 3, 6, 0, 3, 6])
    }
}
