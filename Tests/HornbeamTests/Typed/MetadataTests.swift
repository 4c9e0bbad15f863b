// SPDX-License-Identifier: Apache-2.0
// Metadata that the store keeps for each entity besides its properties: the time of the last save.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Memo: Equatable {
    @Index<Self>(.updatedAt) private var byUpdate
    @Index<Self>(\.room, .updatedAt.desc) private var byRoom
    let id: String
    var text: String
    var room = 0
    @Relationship() var next: Memo?
}

@EntityModel
private struct Bare {
    let id: Int
    var text: String
}

@Suite("The time of the last save")
struct MetadataTests {
    /// Saves one memo after the other. Returns the range of time in which each was saved.
    private func saved(
        _ ids: [String], text: String? = nil, to context: inout Context
    ) throws -> [ClosedRange<Date>] {
        try ids.map { id in
            let start = Date()
            try Memo(id: id, text: text ?? id).save(to: &context)
            let range = start...Date()
            // The next save is later than this one, however coarse the clock.
            while Date() <= range.upperBound {}
            return range
        }
    }

    @Test("is that of the last save, not of the value, and is removed with the entity")
    func lastSave() throws {
        var context = Context()
        let first = try saved(["a"], to: &context)[0]
        let memo = try #require(try context.find("a") as Memo?)
        let time = try #require(try memo.updatedAt(in: context))
        #expect(first.contains(time))
        _ = try saved(["a"], to: &context)
        #expect(try memo.updatedAt(in: context) == time, "nothing was to be saved")
        let second = try saved(["a"], text: "again", to: &context)[0]
        #expect(second.contains(try #require(try memo.updatedAt(in: context))))
        #expect(try Memo.updatedAt(id: "a", in: context) == memo.updatedAt(in: context))
        #expect(try Memo.updatedAt(id: "none", in: context) == nil)
        #expect(try context.find("a") == Memo(id: "a", text: "again"))
        try memo.delete(from: &context)
        #expect(try memo.updatedAt(in: context) == nil)
    }

    @Test("filters with inclusive bounds and sorts both ways, with an index or without one")
    func queries() throws {
        var context = Context()
        let ranges = try saved(["c", "a", "b"], to: &context)
        let middle = try #require(try Memo.updatedAt(id: "a", in: context))
        #expect(try Memo.filter(.updated(within: ranges[1])).ids(in: context) == ["a"])
        #expect(try Memo.filter(.updated(within: middle...middle)).ids(in: context) == ["a"])
        let from = ranges[1].lowerBound...Date.distantFuture
        #expect(try Memo.filter(.updated(within: from)).sorted(by: .updatedAt).ids(in: context) == ["a", "b"])
        #expect(try Memo.query().sorted(by: .updatedAt.desc).ids(in: context) == ["b", "a", "c"])
        #expect(try Memo.query("c").filter(.updated(within: from)).resolve(in: context) == nil)
        #expect(try Memo.query("b").filter(.updated(within: from)).resolve(in: context)?.id == "b")
        for id in [3, 1, 2] { try Bare(id: id, text: "").save(to: &context) }
        try Bare(id: 3, text: "again").save(to: &context)
        #expect(try Bare.query().sorted(by: .updatedAt).ids(in: context) == [1, 2, 3])
    }

    @Test("is found by the index over it, alone or after a property, and explained by its name")
    func index() throws {
        var context = Context()
        let ranges = try saved((0..<100).map { "\($0)" }, to: &context)
        let plan = try Memo.filter(.updated(within: ranges[0])).explain(in: context)
        #expect(plan.access == .index(name: "byUpdate", ranges: 1, entries: 1, reversed: false))
        let sort = try Memo.query().sorted(by: .updatedAt.desc).limit(3).explain(in: context)
        #expect(sort.access == .index(name: "byUpdate", ranges: 1, entries: 100, reversed: true))
        for id in 0..<50 { try Memo(id: "\(id)", text: "", room: 1).save(to: &context) }
        let both = Memo.filter(\.room == 1).sorted(by: .updatedAt.desc).limit(3)
        #expect(try both.explain(in: context).order == .byAccess)
        #expect("\(try both.explain(in: context))".contains("byRoom"))
        try Bare(id: 1, text: "").save(to: &context)
        let scan = try Bare.filter(.updated(within: ranges[0])).sorted(by: .updatedAt).explain(in: context)
        #expect(scan.filter?.contains("updatedAt >= ") == true)
        #expect(scan.filter?.contains("$") == false)
        #expect(scan.order == .inMemory(["updatedAt"]))
    }

    @Test("of a value with its relations is the latest of all loaded ones, if requested")
    func nested() throws {
        var context = Context()
        for id in ["c", "b", "a"] { _ = try saved([id], to: &context) }
        try Memo(id: "b", text: "", next: .id("c")).save(to: &context)
        try Memo(id: "a", text: "", next: .id("b")).save(to: &context)
        _ = try saved(["c"], text: "again", to: &context)
        let (a, b, c) = try (
            Memo.updatedAt(id: "a", in: context), Memo.updatedAt(id: "b", in: context),
            Memo.updatedAt(id: "c", in: context)
        )
        let alone = try #require(try context.find("a") as Memo?)
        #expect(try alone.updatedAt(in: context, withNested: .entities, .ids) == a)
        let whole = try #require(try Memo.query("a").with(.entities, .ids).resolve(in: context))
        #expect(try whole.updatedAt(in: context, withNested: .entities) == max(a ?? .distantPast, b ?? .distantPast))
        #expect(try whole.updatedAt(in: context, withNested: .entities, .ids) == c)
    }

    @Test("survives closing, a checkpoint and the lines of an export")
    func persistence() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("memos.hornbeam")
        let database = try Database(at: path, models: Memo.self)
        try database.write { context in for id in ["a", "b"] { try Memo(id: id, text: id).save(to: &context) } }
        let time = try database.read { try Memo.updatedAt(id: "a", in: $0) }
        #expect(time != nil)
        try database.close()
        let again = try Database(at: path, models: Memo.self)
        #expect(try again.read { try Memo.updatedAt(id: "a", in: $0) } == time)
        #expect(try again.check())
        try again.write { context in
            let core = try context.session.core
            let (rows, store) = (try JSONRows("Memo", core: core), try core.store("Memo"))
            let rowID = try #require(try store.rowID(of: .string("a")))
            let line = try rows.line(rowID, try #require(try store.row(rowID)))
            #expect(line.contains("\"$updatedAt\":"))
            try Memo.delete(id: "a", from: &context)
            try Array(line.utf8).withBytes { _ = try rows.save(line: $0) }
            try Array(#"{"id":"b","text":"","room":1}"#.utf8).withBytes { _ = try rows.save(line: $0) }
        }
        #expect(try again.read { try Memo.updatedAt(id: "a", in: $0) } == time)
        #expect(try again.read { try Memo.updatedAt(id: "b", in: $0) } ?? .distantPast > time ?? .distantFuture)
        #expect(try again.check())
        try again.close()
    }

    @Test("is nil for rows of a store that didn't keep it, which opening leaves as they are")
    func olderStore() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("old.hornbeam")
        let type = EntityDescription(
            name: "Bare",
            columns: [ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "text", type: .string)])
        let store = try TreeStore.open(at: path, options: StoreOptions())
        let write = try store.beginWrite()
        let core = StoreTransaction(write, schema: try #require(try SchemaCatalogue.open([type], in: write)))
        let entities = try core.store("Bare")
        var row = entities.makeRow()
        row.setInt(1, 0)
        row.setString("old", 1)
        let bytes = try row.finish()
        try entities.save(bytes, RowID(rawValue: 1))
        try core.commit()
        try store.close()

        let database = try Database(at: path, models: Bare.self)
        try database.read { context in
            #expect(try Bare.updatedAt(id: 1, in: context) == nil)
            #expect(try Bare.filter(.updated(within: .distantPast ... .distantFuture)).count(in: context) == 0)
            let stored = try #require(try context.session.core.store("Bare").row(RowID(rawValue: 1)))
            #expect(Array(stored.bytes) == bytes)
        }
        try database.write { try Bare(id: 1, text: "new").save(to: &$0) }
        #expect(try database.read { try Bare.updatedAt(id: 1, in: $0) } != nil)
        #expect(try database.check())
        try database.close()
    }
}
