// SPDX-License-Identifier: Apache-2.0
// Another version of a collation orders its sort keys differently. A file with such an index opens normally, no query
// trusts the index, and opening the file for writing rebuilds it, with or without the models that declare it.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct Neighbour: Equatable {
    let id: Int
    var street = ""
}

@Suite("versions of collations")
struct CollationVersionTests {
    private static let names = ["a", "Z", "å", "Å", "ä", "ö", "z"]
    private static let swedish = TextCollation.unicode(locale: "sv")
    private var late: QueryList<Townsperson> {
        Townsperson.filter(\.name > "z".collated(Self.swedish)).sorted(by: .by(\.name, collation: Self.swedish))
    }
    private static let remark = "index byName isn't used: it is in the order of unicode:sv as of icu-0."

    /// Returns a file whose declared indexes another system has left: their catalogue names another version, and the
    /// keys of `byName` are reversed, so that a query that uses it finds wrong results.
    /// - Parameter collation: the collation of `byName`, if it has another name.
    private func outdated(collation: String? = nil) throws -> [UInt8] {
        let disk = try SimulatedDisk()
        let database = try MigratedFile.open(disk, [Townsperson.self, Neighbour.self], [])
        try database.write { (context) throws in
            for (id, name) in Self.names.enumerated() {
                try Townsperson(id: id, name: name, email: "\(name)@\(id)").save(to: &context)
            }
            // Enough entities to make an index worthwhile.
            for id in 100..<300 { try Townsperson(id: id, name: "m\(id)").save(to: &context) }
        }
        try database.createIndex(ValueIndex("later", \Townsperson.name, collation: .unicode))
        let changed = try database.store.beginWrite()
        let schema = try #require(try changed.tree("schema"))
        let key = Array("type:Townsperson".utf8)
        var stored = try #require(try changed.get(schema, key).map { String(decoding: $0, as: UTF8.self) })
        #expect(stored.contains("\"icu-") && stored.contains("\"fold-"))
        stored = stored.replacing("\"icu-", with: "\"icu-0.").replacing("\"fold-", with: "\"fold-0.")
        if let collation { stored = stored.replacing("\"unicode:sv\"", with: "\"\(collation)\"") }
        try changed.put(schema, key, Array(stored.utf8))
        let tree = try #require(try changed.tree("x:Townsperson:byName"))
        var keys: [[UInt8]] = []
        var cursor = try changed.cursor(tree)
        while try cursor.next() { keys.append(Array(cursor.key)) }
        _ = try changed.deleteRange(tree, from: [], to: [])
        for key in keys { try changed.put(tree, key.dropLast(8).map { ~$0 } + key.suffix(8), []) }
        try changed.commit()
        try database.close()
        return try #require(disk.killedImage())
    }

    private func open(
        _ disk: SimulatedDisk, _ models: [any EntityModelProtocol.Type], isReadOnly: Bool = false
    ) throws -> Database {
        let opening = SchemaOpening(models: try ModelSet(models), isReadOnly: isReadOnly)
        return try Database(opening) { () throws(StorageError) in try TreeStore.open(file: disk) }
    }

    /// Returns the collation versions of the indexes in the file's catalogue.
    private func versions(_ disk: SimulatedDisk) throws -> Set<String> {
        let store = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        let read = try store.beginRead()
        defer { read.abort() }
        let type = try SchemaCatalogue.load(read).type("Townsperson")
        return Set(type.description.indexes.compactMap(\.collationVersion))
    }

    @Test("an index of another version is built anew with the models that declare it")
    func declared() throws {
        let database = try open(try SimulatedDisk(image: try outdated()), [Townsperson.self])
        #expect(try database.isWhole())
        #expect(try database.plan(late).access == .index(name: "byName", ranges: 1, entries: 5, reversed: false))
        #expect(try database.plan(late).remarks == [])
        #expect(try database.results(late).map(\.name) == ["Z", "å", "Å", "ä", "ö"])
        try database.register(ValueIndex("later", \Townsperson.name, collation: .unicode))
        #expect(try database.plan(Townsperson.filter(\.name == "a".collated(.unicode))).indexes == ["later"])
        try database.close()
    }

    @Test("a program that writes rebuilds it without these models: the file stores its definition")
    func undeclared() throws {
        let disk = try SimulatedDisk(image: try outdated())
        #expect(try versions(disk).contains { $0.hasPrefix("icu-0.") })
        let other = try open(disk, [Neighbour.self])
        try other.write { (context) throws in try Neighbour(id: 1, street: "High Street").save(to: &context) }
        try other.close()
        #expect(try !versions(disk).contains { $0.contains("-0.") })
        // Later openings have nothing to do.
        let store = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        let read = try store.beginRead()
        let known = try #require(try SchemaCatalogue.open([], in: read))
        let core = StoreTransaction(read, schema: known)
        defer { withExtendedLifetime(core) {} }
        let plan = try Planner(late.coreQuery, try core.store("Townsperson")).explanation()
        #expect(plan.access == .index(name: "byName", ranges: 1, entries: 5, reversed: false))
        read.abort()
        try store.close()
        let again = try open(try SimulatedDisk(image: disk.killedImage()), [Townsperson.self, Neighbour.self])
        #expect(try again.isWhole())
        #expect(try again.results(late).map(\.name) == ["Z", "å", "Å", "ä", "ö"])
        try again.close()
    }

    @Test("in a file opened read-only answers are a scan's, and the plan says why", arguments: [true, false])
    func readOnly(hasModels: Bool) throws {
        let disk = try SimulatedDisk(image: try outdated())
        let before = try versions(disk)
        let database = try open(disk, hasModels ? [Townsperson.self] : [Neighbour.self], isReadOnly: true)
        #expect(try database.isWhole())
        if hasModels {
            let plan = try database.plan(late)
            #expect(plan.access == .rowScan(rows: 207) && plan.indexes == [])
            #expect(plan.remarks.contains { $0.hasPrefix(Self.remark) }, "\(plan)")
            #expect(plan.description.contains(Self.remark))
            #expect(try database.results(late).map(\.name) == ["Z", "å", "Å", "ä", "ö"])
            // A look-up in a unique index must not trust it either.
            let one = Townsperson.filter(\.email == "Z@1".collated(.caseInsensitive))
            #expect(try database.plan(one).indexes == [])
            #expect(try database.plan(one).remarks.contains { $0.hasPrefix("index byEmail isn't used") })
            #expect(try database.results(one).map(\.id) == [1])
            // A query that doesn't concern the index gets no remark.
            #expect(try database.plan(Townsperson.filter(\.id > 3)).remarks == [])
        }
        try database.close()
        #expect(try versions(disk) == before)
    }

    @Test("a statement of a file without its models reads it, and the check passes over its keys")
    func withoutModels() throws {
        let store = try TreeStore.open(file: try SimulatedDisk(image: try outdated()))
        let read = try store.beginRead()
        let core = try StoreTransaction(reading: read)
        #expect(core.indexesOfOtherOrders == ["byName", "byAge", "byEmail"].map { "\($0) of Townsperson" })
        let plan = try Planner(late.coreQuery, try core.store("Townsperson")).explanation()
        #expect(plan.access == .rowScan(rows: 207))
        var problems: [String] = []
        #expect(try EntityCheck(core).run { problems.append($0) }, "\(problems)")
        read.abort()
        try store.close()
    }

    @Test("a registered index of another version isn't trusted by a reader without the models")
    func registered() throws {
        let disk = try SimulatedDisk(image: try outdated())
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let schema = try #require(try write.tree("schema"))
        let key = Array("index:later".utf8)
        let record = try #require(try write.get(schema, key).map { String(decoding: $0, as: UTF8.self) })
        func plan(_ transaction: Transaction) throws -> Plan {
            let core = try StoreTransaction(reading: transaction)
            defer { withExtendedLifetime(core) {} }
            let query = Townsperson.filter(\.name == "a".collated(.unicode))
            return try Planner(query.coreQuery, try core.store("Townsperson")).explanation()
        }
        #expect(try plan(write).indexes == ["later"])
        try write.put(schema, key, Array(record.replacing("icu-", with: "icu-0.").utf8))
        #expect(try plan(write).indexes == [])
        write.abort()
        try store.close()
    }

    @Test("an index with a collation unknown to this system stays as it is, and refuses writes that would change it")
    func unknown() throws {
        for name in ["unicode:qqq", "of-tomorrow"] {
            let disk = try SimulatedDisk(image: try outdated(collation: name))
            let database = try open(disk, [Neighbour.self])
            try database.write { (context) throws in try Neighbour(id: 1, street: "x").save(to: &context) }
            try database.close()
            #expect(try versions(disk).contains { $0.hasPrefix("icu-0.") })
            let store = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
            let write = try store.beginWrite()
            let known = try #require(try SchemaCatalogue.open([], in: write))
            let core = try StoreTransaction(writing: write, schema: known)
            defer { withExtendedLifetime(core) {} }
            let people = try core.store("Townsperson")
            let row = try #require(try people.rowID(of: .int(1)))
            let error = #expect(throws: HornbeamError.self) { try people.delete(row) }
            #expect(error?.code == .unsupported && error?.message.contains("byName") == true)
            write.abort()
            try store.close()
        }
    }
}
