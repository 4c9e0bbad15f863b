// SPDX-License-Identifier: Apache-2.0
// A relation with a million members costs no more than one with a thousand: an operation reads and changes a few pages,
// with any number of members. Pages are counted, not time.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Crew {
    let id: Int
    @Relationship(inverse: \.crew) var sailors: [Sailor]?
}

@EntityModel
private struct Sailor: Equatable {
    let id: Int
    @Relationship(inverse: \.sailors) var crew: Crew?
}

/// Crew 1 with sailors 0, 1, 2 and so on, and one more sailor, who has no crew.
private struct LargeCrew {
    let database: Database
    let count: Int
    private let store: TreeStore

    init(_ count: Int) throws {
        self.count = count
        let opening = SchemaOpening(models: try ModelSet([Crew.self, Sailor.self]))
        var options = StoreOptions()
        options.access = .read
        options.cacheBytes = 64 << 20
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options)
        self.store = store
        database = try Database(opening) { () throws(StorageError) in store }
        try database.write { context in
            try Crew(id: 1).save(to: &context)
            try Self.fill(try context.session.core, count)
        }
    }

    /// Fills the trees directly, because saving a million entities takes minutes in a debug build: the entries are
    /// known, and each tree's are appended in the order of the keys.
    private static func fill(_ core: StoreTransaction, _ count: Int) throws {
        let transaction = core.transaction
        let sailors = try core.store("Sailor")
        let crew = try core.store("Crew").type.relation("sailors")
        let source = RowID(rawValue: 1)
        let other = try require(crew.other)
        // A sailor's place in the list is the sailor's number.
        for sailor in 0..<UInt64(count) {
            let (from, to) = (LinkEnd(source, sailor), LinkEnd(RowID(rawValue: sailor), 0))
            try append(crew.list, from, to, in: transaction)
            try append(other.list, to, from, in: transaction)
        }
        // Rows differ only in their ids.
        var row = try bytes(0, sailors)
        let place = try require(zip(row, try bytes(0xFF, sailors)).enumerated().first { $1.0 != $1.1 }?.offset)
        for sailor in 0...count {
            row.withUnsafeMutableBytes { $0.storeBytes(of: sailor.littleEndian, toByteOffset: place, as: Int.self) }
            try transaction.append(sailors.type.rows, RowID(rawValue: UInt64(sailor)).key, row)
        }
    }

    private static func append(
        _ list: LinkList, _ end: LinkEnd, _ other: LinkEnd, in transaction: Transaction
    ) throws(StorageError) {
        try LinkKey(list, end).withBytes { (key) throws(StorageError) in
            try other.withStored { (value) throws(StorageError) in try transaction.append(list.tree, key, value) }
        }
    }

    private static func bytes(_ id: Int64, _ store: EntityStore) throws -> [UInt8] {
        var row = store.makeRow()
        row.set(.int(id), 0)
        return try row.finish()
    }

    /// The number of pages that the file's readers have read since the store was opened.
    private var looks: UInt64 {
        let cache = store.statistics.cache
        return cache.hits + cache.misses
    }

    /// Returns the number of pages that a read looks at.
    func pagesRead(_ body: (Context) throws -> Void) throws -> UInt64 {
        let before = looks
        try database.read(body)
        return looks - before
    }

    /// Returns the number of pages that a read looks at when it is repeated.
    func pagesReadAgain(_ body: (Context) throws -> Void) throws -> UInt64 {
        try database.read { context in
            for _ in 0..<4 { try body(context) }
            let before = looks
            try body(context)
            return looks - before
        }
    }

    /// Returns the number of pages that a write looks at.
    func pagesReadToWrite(_ body: (inout Context) throws -> Void) throws -> UInt64 {
        try database.write { context in
            let before = looks
            try body(&context)
            return looks - before
        }
    }

    /// Returns the number of pages that a write changes.
    func pagesWritten(_ body: (inout Context) throws -> Void) throws -> UInt64 {
        var changed: UInt64 = 0
        try database.write { context in
            try body(&context)
            try context.session.core.flush()
            changed = store.statistics.writerBytes / 8192
        }
        return changed
    }
}

@Suite("A relation with very many members")
struct ManyMembersTests {
    /// Returns the number of pages of each operation, whose effect is verified too.
    private func pages(_ crew: LargeCrew) throws -> [String: UInt64] {
        let (count, middle) = (crew.count, crew.count / 2)
        let all = Crew.query(1).related(\.$sailors)
        var pages: [String: UInt64] = [:]
        pages["page by offset"] = try crew.pagesRead { context in
            let page = try all.limit(20, offset: middle).resolve(in: context)
            #expect(page.map(\.id) == Array(middle..<middle + 20))
        }
        pages["page after a member"] = try crew.pagesRead { context in
            let page = try all.limit(20).after(Sailor(id: middle)).resolve(in: context)
            #expect(page.map(\.id) == Array(middle + 1...middle + 20))
        }
        pages["append"] = try crew.pagesWritten { context in
            try Crew(id: 1, sailors: .appending(ids: [count])).save(to: &context)
        }
        pages["last page"] = try crew.pagesRead { context in
            let page = try all.limit(20, offset: count - 3).resolve(in: context)
            #expect(page.map(\.id) == Array(count - 3...count))
        }
        pages["remove some"] = try crew.pagesWritten { context in
            try Crew(id: 1).detach(middle + 1, middle + 3, 0, relation: \.$sailors, inverse: \.$crew, in: &context)
        }
        pages["page with gaps"] = try crew.pagesRead { context in
            let page = try all.limit(3).after(Sailor(id: middle)).resolve(in: context)
            #expect(page.map(\.id) == [middle + 2, middle + 4, middle + 5])
        }
        pages["delete a member"] = try crew.pagesWritten { context in
            try Sailor.delete(id: middle, from: &context)
        }
        pages["delete members"] = try crew.pagesReadToWrite { context in
            try Crew(id: 1).delete(middle + 2, count, relation: \.$sailors, inverse: \.$crew, from: &context)
            #expect(try context.findAllExisting([middle + 2, count]) as [Sailor] == [])
        }
        pages["count"] = try crew.pagesRead { context in
            let core = try context.session.core
            let side = try core.store("Crew").type.relation("sailors")
            #expect(try core.edges.count(side, of: RowID(rawValue: 1)) == count - 5)
        }
        try withMissing(crew, &pages)
        return pages
    }

    /// Does the same operations with a sailor that is linked and not stored: first one of another crew, then one of
    /// this.
    private func withMissing(_ crew: LargeCrew, _ pages: inout [String: UInt64]) throws {
        let (count, middle) = (crew.count, crew.count / 2)
        let all = Crew.query(1).related(\.$sailors)
        for isOwn in [false, true] {
            let name = isOwn ? "one missing" : "one missing elsewhere"
            try crew.database.write { context in
                try Crew(id: isOwn ? 1 : 2, sailors: .appending(ids: [isOwn ? -7 : -8])).save(to: &context)
            }
            // Without 0, the middle, the three after that, and the last one.
            pages["page by offset, \(name)"] = try crew.pagesRead { context in
                let page = try all.limit(20, offset: middle - 11).resolve(in: context)
                #expect(page.map(\.id) == Array(middle - 10..<middle) + Array(middle + 4...middle + 13))
            }
            pages["nested page, \(name)"] = try crew.pagesRead { context in
                let found = try Crew.query(1).with(\.$sailors) { $0.limit(20) }.resolve(in: context)
                #expect(found?.sailors?.map(\.id) == Array(1...20))
            }
            pages["count, \(name)"] = try crew.pagesRead { context in
                let found = try all.count(in: context)
                #expect(found == count - 5)
            }
            pages["last, \(name)"] = try crew.pagesRead { context in
                let found = try all.last().resolve(in: context)
                #expect(found?.id == count - 1)
            }
        }
    }

    @Test("is counted without looking up unstored targets of other links again")
    func missingElsewhere() throws {
        let crew = try LargeCrew(1_000)
        let all = Crew.query(1).related(\.$sailors)
        func pages() throws -> UInt64 {
            try crew.pagesReadAgain { (context) throws in
                #expect(try all.count(in: context) == 999)
                #expect(try all.limit(3, offset: 700).resolve(in: context).map(\.id) == [701, 702, 703])
            }
        }
        // One link is missing here, and very many elsewhere.
        try crew.database.write { context in
            try Crew(id: 1).detach(7, relation: \.$sailors, inverse: \.$crew, in: &context)
            try Crew(id: 1, sailors: .appending(ids: [-1])).save(to: &context)
        }
        let few = try pages()
        let missing = Array(-2_000 ... -2)
        try crew.database.write { try Crew(id: 2, sailors: .ids(missing)).save(to: &$0) }
        #expect(try pages() <= few + 20)
        // Once unstored ids are no longer linked, nothing looks for them.
        try crew.database.write { try Crew.delete(id: 2, from: &$0) }
        try crew.database.read { context in
            let core = try context.session.core
            let type = try core.store("Sailor").type
            #expect(try core.transaction.count(type.unsaved) == 1)
        }
        #expect(try pages() <= few + 2)
    }

    @Test("costs as much as one with few members: appending, paging by offset and member, counting, removing")
    func size() throws {
        let few = try pages(LargeCrew(1_000))
        let many = try pages(LargeCrew(1_000_000))
        for (operation, some) in few {
            // A thousand times the members are one level more in each tree; two trees, three levels.
            #expect(
                many[operation] ?? .max <= 2 * some + 2, "\(operation): \(some) pages, then \(many[operation] ?? 0)")
        }
    }
}
