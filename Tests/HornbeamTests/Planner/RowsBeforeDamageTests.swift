// SPDX-License-Identifier: Apache-2.0
// Rows are looked up several at a time, which must not be noticeable: rows before a damaged page or index entry come
// before the error, and no row beyond a limit is read.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models = [
    EntityDescription(
        name: "Item",
        columns: [
            ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string),
            ColumnDescription(name: "text", type: .string),
        ],
        indexes: [IndexDescription(name: "byName", kind: .value, components: [.init(column: "name")])])
]

/// Returns a text outside all indexes, which identifies the page of a row.
private func text(_ id: Int) -> String { "text of \(id)." + String(repeating: "-", count: 150) }

/// The rows named “a”, each on another page.
private let listed = Array(stride(from: 0, to: 400, by: 40))

/// A closed file of 400 rows.
private func image() throws -> [UInt8] {
    var options = StoreOptions()
    options.pageSize = 4096
    let disk = try SimulatedDisk()
    let store = try CoreStore(models, in: try TreeStore.open(file: disk, options: options))
    for id in 0..<400 {
        try store.save("Item", [.int(Int64(id)), .string(listed.contains(id) ? "a" : "b"), .string(text(id))])
    }
    try store.core.commit()
    try store.store.close()
    return try #require(disk.killedImage())
}

private func open(_ image: [UInt8], _ access: PageAccess) throws -> CoreStore {
    var options = StoreOptions()
    options.access = access
    options.cacheBytes = 16 << 20
    return try CoreStore(models, in: try TreeStore.open(file: try SimulatedDisk(image: image), options: options))
}

/// Returns the image with one byte changed in the row's page.
private func damaged(_ image: [UInt8], at id: Int) throws -> [UInt8] {
    let marker = Array("text of \(id).".utf8)
    let first = try #require(marker.first)
    let places = image.indices.filter { image[$0] == first && image[$0...].starts(with: marker) }
    var image = image
    for place in places { image[place] ^= 1 }
    try #require(!places.isEmpty)
    return image
}

/// Returns a query of the index for the rows named “a” that meet `also`.
private func query(_ also: Filter? = nil, limit: Int? = nil) -> EntityQuery {
    let named = Filter.compare(column: 1, .equal, .string("a"))
    return EntityQuery(type: "Item", filter: .and([named] + (also.map { [$0] } ?? [])), limit: limit)
}

/// Returns the first `count` rows that a query finds, and its error.
private func run(_ query: EntityQuery, _ store: CoreStore, until count: Int = .max) -> (ids: [Int], error: String?) {
    var found: [Int] = []
    do {
        try store.core.forEach(query) { rowID, _, _ in
            found.append(Int(rowID.rawValue))
            return found.count < count
        }
        return (found, nil)
    } catch {
        return (found, "\(error)")
    }
}

@Suite("Rows before damage")
struct RowsBeforeDamageTests {
    @Test(
        "on a page of another row come first, and no error if they are enough", arguments: [PageAccess.mapped, .read])
    func page(access: PageAccess) throws {
        let image = try image()
        #expect(run(query(), try open(image, access)).ids == listed)
        let store = try open(try damaged(image, at: listed[5]), access)
        // Twice: the second time the pages before it are known to be good.
        for _ in 0..<2 {
            let whole = run(query(), store)
            #expect(whole.ids == Array(listed.prefix(5)))
            let error = try #require(whole.error)
            #expect(error.contains("e:Item"), "\(error)")
            let part = run(query(), store, until: 5)
            #expect(part.ids == Array(listed.prefix(5)) && part.error == nil)
            let limited = run(query(limit: 5), store)
            #expect(limited.ids == Array(listed.prefix(5)) && limited.error == nil)
            #expect(run(query(limit: 6), store).error != nil)
        }
    }

    @Test("of an index entry come first, and no error if they are enough", arguments: [false, true])
    func entry(isSorted: Bool) throws {
        let store = try CoreStore(models)
        for id in 0..<100 {
            try store.save("Item", [.int(Int64(id)), .string(id == 0 || id == 2 ? "a" : "b"), .string("")])
        }
        try store.core.flush()
        let index = try #require(try store["Item"].type.indexes.first)
        let first = try store.core.transaction.cursor(index.tree).firstKey()
        // After all entries of “a”, and too short to name a row.
        let short = first.dropLast(8) + [0xFF]
        try #require(short.count < 8)
        _ = try store.core.transaction.put(index.tree, Array(short), [])
        var query = query()
        if isSorted { query.sort = [.column(1)] }
        let whole = run(query, store)
        #expect(whole.ids == [0, 2])
        let error = try #require(whole.error)
        #expect(error.contains("an entry names no row"), "\(error)")
        let part = run(query, store, until: 2)
        #expect(part.ids == [0, 2] && part.error == nil)
    }

    @Test("are the only rows read: none beyond a limit is")
    func limit() throws {
        let image = try image()
        // The index doesn't answer this condition. The second row fails it, so the limit is reached at the third.
        let rest = Filter.not(.compare(column: 2, .equal, .string(text(listed[1]))))
        for (query, expected, next) in [
            (query(limit: 2), [0, 1], 2), (query(rest, limit: 2), [0, 2], 3), (query(limit: 1), [0], 1),
        ] {
            let store = try open(image, .read)
            let found = run(query, store)
            #expect(found.ids == expected.map { listed[$0] } && found.error == nil)
            let before = store.store.statistics.cache.misses
            _ = try store["Item"].row(RowID(rawValue: UInt64(listed[next - 1])))
            #expect(store.store.statistics.cache.misses == before)
            _ = try store["Item"].row(RowID(rawValue: UInt64(listed[next])))
            #expect(store.store.statistics.cache.misses == before + 1)
        }
    }
}

extension Cursor {
    fileprivate consuming func firstKey() throws -> [UInt8] { try first() ? Array(key) : [] }
}
