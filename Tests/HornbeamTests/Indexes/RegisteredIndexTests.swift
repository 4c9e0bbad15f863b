// SPDX-License-Identifier: Apache-2.0
// Registered indexes through their lives: built, left behind and caught up, rebuilt, dropped; cut short at any call;
// and read from files that were tampered with.

import Foundation
import Glibc
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@EntityModel
private struct Folder {
    let id: Int
    @Relationship(deleteRule: .cascade, inverse: \.folder) var files: [File]?
}

@EntityModel
private struct File {
    let id: Int
    var name = ""
    @Relationship(inverse: \.files) var folder: Folder?
}

private typealias NameIndex = MapIndex<File, Int, IntegerSumReducer<Int>>

private func byName(_ version: String = "1", _ counter: CallCounter? = nil) -> NameIndex {
    MapIndex("byName", version: version, reducer: .sum()) { (file: File, emit: inout MapEmitter<Int>) in
        counter?.note()
        if !file.name.isEmpty { emit(key: .string(file.name), value: file.id) }
    }
}

@Suite("Registered indexes")
struct RegisteredIndexTests {
    private func open(_ disk: SimulatedDisk) throws -> Database {
        try MigratedFile.open(disk, [Folder.self, File.self], [])
    }

    private func fill(_ database: Database, _ count: Int) throws {
        try database.write { (context) throws in
            for id in 0..<count { try File(id: id, name: "n\(id % 10)").save(to: &context) }
        }
    }

    private func sum(_ database: Database, _ index: MapIndex<File, Int, IntegerSumReducer<Int>>) throws -> Int {
        try database.read { context in try index.query().reduced().resolve(in: context) }
    }

    @Test("an index that a program didn't register gets the missed changes later, row by row")
    func unregistered() throws {
        let disk = try SimulatedDisk()
        var database = try open(disk)
        try database.register(byName())
        try fill(database, 1_000)
        try database.close()
        // A program without the index makes changes, deletions and new rows, some of them twice.
        database = try open(disk)
        try database.write { (context) throws in
            for id in 0..<5 { try File(id: id, name: "other").save(to: &context) }
            try File(id: 0, name: "other still").save(to: &context)
            _ = try File.query(7).delete(from: &context)
            try File(id: 2_000, name: "new").save(to: &context)
        }
        let state = try database.registeredIndexes()[0].state
        #expect(state == .unregistered(missed: 7))
        let behind = #expect(throws: HornbeamError.self) { try sum(database, byName()) }
        #expect(behind?.code == .indexNotReady)
        #expect(try database.isWhole())
        try database.close()
        database = try open(disk)
        let counter = CallCounter()
        try database.register(byName("1", counter))
        #expect(counter.count <= 28, "the missed rows, before and after, each asked twice at most")
        #expect(try sum(database, byName()) == (0..<1_000).reduce(0, +) - 7 + 2_000)
        #expect(try database.registeredIndexes()[0].state == .current)
        #expect(try database.isWhole())
        // This time nothing was missed.
        let again = CallCounter()
        try database.close()
        database = try open(disk)
        try database.register(byName("1", again))
        #expect(again.count == 0)
        try database.close()
    }

    @Test("changes by an import of a program without the models are applied later, too")
    func imports() throws {
        let disk = try SimulatedDisk()
        var database = try open(disk)
        try database.register(byName())
        try fill(database, 50)
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let core = StoreTransaction(write, schema: try SchemaCatalogue.load(write))
        let rows = try JSONRows("File", core: core)
        try Array(#"{"id":3,"name":"imported"}"#.utf8).withUnsafeBytes { _ = try rows.save(line: $0) }
        try core.commit()
        try store.close()
        database = try open(disk)
        try database.register(byName())
        #expect(try database.read { context in try byName().query().key("imported").count(in: context) } == 1)
        #expect(try database.isWhole())
    }

    @Test("a name belongs to one index; another kind or entity type is refused, and nothing is changed")
    func names() throws {
        let database = try open(try SimulatedDisk())
        try database.register(byName())
        let other = MapIndex("byName", version: "1") { (folder: Folder, emit: inout MapEmitter<NoValue>) in
            emit(key: .int(folder.id))
        }
        let error = #expect(throws: HornbeamError.self) { try database.register(other) }
        #expect(error?.code == .indexMismatch)
        for name in ["", "a\0b", String(repeating: "x", count: 201)] {
            let nameless = MapIndex(name, version: "1") { (_: File, _: inout MapEmitter<NoValue>) in }
            let error = #expect(throws: HornbeamError.self) { try database.register(nameless) }
            #expect(error?.code == .invalid)
        }
        let unknown = MapIndex("posts", version: "1") { (_: TaggedPost, _: inout MapEmitter<NoValue>) in }
        let unregistered = #expect(throws: HornbeamError.self) { try database.register(unknown) }
        #expect(unregistered?.code == .unregisteredEntity)
        let descriptions = try database.registeredIndexes()
        #expect(descriptions.map(\.name) == ["byName"] && descriptions.map(\.kind) == ["map"])
        #expect(descriptions.map(\.entity) == ["File"] && descriptions[0].settings["reducer"] == "sum")
    }

    @Test("an index over some entities has only these")
    func subset() throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 2_000)
        let few = MapIndex("few", version: "1") { (file: File, emit: inout MapEmitter<NoValue>) in
            if file.id % 500 == 0 { emit(key: .int(file.id)) }
        }
        try database.register(few)
        let description = try database.registeredIndexes()[0]
        #expect(description.entries == 4 && description.bytes > 0 && description.bytes <= 65_536)
        #expect(description.version == "1" && description.state == .current)
    }

    @Test("an entity type with several indexes, changed in every way; cascades too")
    func several() throws {
        let database = try open(try SimulatedDisk())
        let byLength = MapIndex("byLength", version: "1") { (file: File, emit: inout MapEmitter<NoValue>) in
            emit(key: .int(file.name.count))
        }
        try database.register(byName())
        try database.register(byLength)
        try database.write { (context) throws in
            try Folder(id: 1, files: .relation([File(id: 1, name: "a"), File(id: 2, name: "bb")])).save(to: &context)
            try File(id: 3, name: "ccc").save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try byName().query().count(in: context) == 3)
            #expect(try byLength.query().range(from: 2).count(in: context) == 2)
        }
        try database.write { (context) throws in
            _ = try Folder.query(1).delete(from: &context)
            #expect(try byName().query().resolve(in: context).map(\.key) == ["ccc"])
            // Deleted and saved again in one write.
            _ = try File.query(3).delete(from: &context)
            try File(id: 3, name: "again").save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try byName().query().resolve(in: context).map(\.key) == ["again"])
            #expect(try byName().query().explain(in: context).contains("map index “byName” of File: 1 of 1 rows"))
        }
        #expect(try database.isWhole())
    }

    @Test("a save that changes no row of the index doesn't touch its tree")
    func untouched() throws {
        let database = try Database.inMemory(models: TaggedPost.self)
        try database.register(postsByTag())
        try database.write { (context) throws in
            try TaggedPost(id: 1, title: "one", tags: ["a", "b"], size: 1).save(to: &context)
        }
        try database.write { (context) throws in
            try TaggedPost(id: 1, title: "two", tags: ["a", "b"], size: 1, score: 3).save(to: &context)
            let core = try context.session.core
            let tree = try #require(try core.transaction.tree("m:TaggedPost:byTag"))
            let rows = try #require(try core.transaction.tree("e:TaggedPost"))
            #expect(!core.transaction.treesChanged.contains(tree))
            #expect(core.transaction.treesChanged.contains(rows))
        }
    }

    @Test("a refused row refuses the save, which leaves nothing behind")
    func refusals() throws {
        struct Refused: Error {}
        let database = try Database.inMemory(models: TaggedPost.self)
        let index = MapIndex("refusing", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            if post.size < 0 { throw Refused() }
            emit(key: .string(post.title), value: post.size)
        }
        try database.register(index)
        try database.write { (context) throws in
            try TaggedPost(id: 1, title: "a", size: 1).save(to: &context)
            #expect(throws: Refused.self) { try TaggedPost(id: 1, title: "b", size: -1).save(to: &context) }
            var deep = MapKey.null
            for _ in 0..<200 { deep = [deep] }
            #expect(throws: HornbeamError.self) { try index.query().key(deep).resolve(in: context) }
        }
        try database.read { (context) throws in
            #expect(try TaggedPost.query().resolve(in: context).map(\.title) == ["a"])
            #expect(try index.query().resolve(in: context).map(\.key) == ["a"])
        }
        #expect(try database.isWhole())
        // A map that throws while the index is built leaves it absent.
        let never = MapIndex("never", version: "1") { (_: TaggedPost, _: inout MapEmitter<Int>) in throw Refused() }
        #expect(throws: Refused.self) { try database.register(never) }
        #expect(try database.registeredIndexes().map(\.name) == ["refusing"])
    }

    @Test("building reports progress, and can be cancelled; the index is absent then")
    func progress() throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 5_000)
        struct Cancelled: Error {}
        #expect(throws: Cancelled.self) {
            try database.register(byName()) { progress in if progress.done > 2_000 { throw Cancelled() } }
        }
        #expect(try database.registeredIndexes() == [])
        var reports: [MigrationProgress] = []
        try database.register(byName()) { reports.append($0) }
        #expect(reports.last?.done == 5_000 && reports.last?.name == "byName" && reports.count > 3)
        #expect(reports.allSatisfy { $0.step == .buildingIndex && $0.entity == "File" })
        #expect(try database.isWhole())
    }

    @Test("readers continue while an index is built and dropped, each with the state it sees")
    func readers() throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 100)
        try database.read { (context) throws in
            try database.register(byName())
            let error = #expect(throws: HornbeamError.self) { try byName().query().resolve(in: context) }
            #expect(error?.code == .indexNotReady)
        }
        // Dropped while it is read.
        try database.read { (context) throws in
            #expect(try byName().query().count(in: context) == 100)
            try database.unregister("byName")
            #expect(try byName().query().resolve(in: context).count == 100)
        }
    }

    @Test("tasks register in the order of their writes")
    func tasks() async throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 100)
        async let registering: Void = database.register(byName())
        async let writing: Void = database.write { context in try File(id: 500, name: "late").save(to: &context) }
        _ = try await (registering, writing)
        #expect(try sum(database, byName()) == (0..<100).reduce(0, +) + 500)
        #expect(try database.isWhole())
    }

    @Test("live queries continue while an index is registered and dropped")
    func observers() async throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 10)
        var results = database.observe(File.query()).makeAsyncIterator()
        #expect(try await results.next()?.entities.count == 10)
        try await database.register(byName())
        try await database.write { context in try File(id: 500, name: "late").save(to: &context) }
        #expect(try await results.next()?.entities.count == 11)
        _ = try await database.write { context in try File.query(500).delete(from: &context) }
        #expect(try await results.next()?.entities.count == 10)
    }

    @Test("a file opened read-only is queried, and not updated for other code")
    func readOnly() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("db")
        do {
            let database = try Database(at: path, models: Folder.self, File.self, indexes: [byName()])
            try fill(database, 100)
            try database.close()
        }
        var options = Database.Options()
        options.isReadOnly = true
        do {
            let database = try Database(at: path, models: Folder.self, File.self, options: options, indexes: [byName()])
            #expect(try sum(database, byName()) == (0..<100).reduce(0, +))
            try database.close()
        }
        let error = #expect(throws: HornbeamError.self) {
            try Database(at: path, models: Folder.self, File.self, options: options, indexes: [byName("2")])
        }
        #expect(error?.code == .readOnly)
    }

    @Test("registering and dropping an index changes no entity")
    func entities() throws {
        let database = try open(try SimulatedDisk())
        try fill(database, 300)
        func rows() throws -> [[UInt8]] {
            let read = try database.store.beginRead()
            defer { read.abort() }
            var rows: [[UInt8]] = []
            var cursor = try read.cursor(try #require(try read.tree("e:File")))
            while try cursor.next() { rows.append(Array(cursor.key) + Array(cursor.value)) }
            return rows
        }
        let before = try rows()
        try database.register(byName())
        #expect(try rows() == before)
        try database.unregister("byName")
        #expect(try rows() == before)
    }

    // MARK: Cut short

    /// Registers an index, changes its entries, registers another version and drops it. Returns the number of
    /// finished steps.
    private func live(_ disk: SimulatedDisk) -> Int {
        var done = 0
        do {
            let database = try open(disk)
            try database.register(byName())
            done = 1
            try database.write { (context) throws in
                for id in 100..<160 { try File(id: id, name: "later").save(to: &context) }
                _ = try File.filter(\.name == "n3").delete(from: &context)
            }
            try database.register(byName("2"))
            done = 2
            try database.unregister("byName")
            done = 3
            try database.close()
        } catch {}
        return done
    }

    /// Returns the index's version in a file that was cut short after some steps of `live`. It is the result of the
    /// last step, or of the next one. The file must be sound, and the index complete or absent; an absent index can
    /// be registered anew.
    private func version(_ image: [UInt8]?, after done: Int, _ place: Comment) throws -> String? {
        let database = try open(try SimulatedDisk(image: image))
        let version = try database.registeredIndexes().first?.version
        let versions: [String?] = [nil, "1", "2", nil]
        #expect(versions[done...].prefix(2).contains(version), place)
        #expect(try database.check { Issue.record("\($0), \(place)") }, place)
        let counter = CallCounter()
        try database.register(byName(version ?? "1", counter))
        #expect((counter.count == 0) == (version != nil), place)
        #expect(try database.check { Issue.record("\($0), \(place)") }, place)
        try database.close()
        return version
    }

    /// A file with entities and no index.
    private func filled() throws -> [UInt8]? {
        let disk = try SimulatedDisk()
        let database = try open(disk)
        try fill(database, 100)
        try database.close()
        return disk.killedImage()
    }

    @Test("a crash at any call leaves the index absent or whole", .seeded)
    func crashes() throws {
        var seen: Set<String?> = []
        try SimulatedDisk.crashAtEveryCall(of: try filled(), live) { image, done, place in
            seen.insert(try version(image, after: done, place))
        }
        #expect(seen == [nil, "1", "2"])
    }

    @Test("a disk that fails or is full leaves the index as it was, and writes work", arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        try SimulatedDisk.failAtEveryCall(of: try filled(), code, live) { image, done, place in
            _ = try version(image, after: done, place)
        }
    }

    // MARK: Migrations

    @Test("an added property, and a renamed type, make the index be rebuilt")
    func migrations() throws {
        let old = EntityDescription(name: "Paper", columns: [column("id", .int64), column("name", .string)])
        let file = try MigratedFile([old]) { store in
            for id in 0..<50 { try store.save("Paper", [.int(Int64(id)), .string("n")]) }
        }
        // An index over the old type, as another program has left it.
        let stored = StoredIndex(
            name: "byName", identity: [UInt8](repeating: 7, count: 16),
            record: StoredIndex.Record(
                entity: "Paper", kind: "map", version: "0", settings: [:], columns: RegisteredCatalogue.fingerprint(old)
            ))
        let disk = try SimulatedDisk(image: file.image)
        let trees = try TreeStore.open(file: disk)
        let write = try trees.beginWrite()
        try RegisteredCatalogue.store(stored, in: write)
        _ = try write.tree(stored.treeName, create: true)
        try write.commit()
        try trees.close()
        let database = try MigratedFile.open(disk, [Folder.self, File.self], [.rename("Paper", to: File.self)])
        #expect(try database.registeredIndexes().map(\.entity) == ["File"])
        #expect(try database.isWhole())
        try database.register(byName())
        #expect(try sum(database, byName()) == (0..<50).reduce(0, +))
        #expect(try database.isWhole())
    }

    @Test("a type that is dropped takes its indexes along")
    func dropping() throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [TaggedPost.self, TaggedNote.self], [])
        try database.register(postsByTag())
        #expect(try database.treeID("m:TaggedPost:byTag") != nil)
        try database.close()
        database = try MigratedFile.open(disk, [TaggedNote.self], [.drop("TaggedPost")])
        #expect(try database.registeredIndexes() == [])
        #expect(try database.treeID("m:TaggedPost:byTag") == nil)
        #expect(try database.isWhole())
    }

    // MARK: Damage

    /// Returns a database whose index tree was changed from outside.
    private func tampered(_ change: (Transaction, TreeID) throws -> Void) throws -> Database {
        let disk = try SimulatedDisk()
        let database = try open(disk)
        try database.register(byName())
        try fill(database, 300)
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        try change(write, try #require(try write.tree("m:File:byName")))
        try write.commit()
        try store.close()
        let again = try open(disk)
        try again.register(byName())
        return again
    }

    @Test("the check finds surplus rows, and missing ones")
    func drift() throws {
        let collator = try Collator(.unicode(locale: nil))
        let extra = try MapKey.string("nobody's").bytes(collator) + RowID(rawValue: 3).key + [0, 0, 0, 0]
        for change: (Transaction, TreeID) throws -> Void in [
            { try $0.put($1, extra, [0]) },
            { transaction, tree in
                var cursor = try transaction.cursor(tree)
                _ = try cursor.first()
                _ = try transaction.delete(tree, Array(cursor.key))
            },
            { transaction, tree in
                var cursor = try transaction.cursor(tree)
                _ = try cursor.first()
                try transaction.put(tree, Array(cursor.key), [0])
            },
        ] {
            let database = try tampered(change)
            var problems: [String] = []
            #expect(try !database.check { problems.append($0) })
            #expect(problems.contains { $0.contains("index “byName” of File") }, "\(problems)")
        }
    }

    @Test("entries of any bytes give errors, never a trap", .seeded)
    func hostile() throws {
        var random = SeededGenerator()
        for _ in 0..<60 {
            let database = try tampered { transaction, tree in
                for _ in 0..<3 {
                    var cursor = try transaction.cursor(tree)
                    _ = try cursor.seek(index: UInt64(random.below(290)))
                    var (key, value) = (Array(cursor.key), Array(cursor.value))
                    switch random.below(4) {
                    case 0: key = random.bytes(1 + random.below(30))
                    case 1: value = random.bytes(random.below(20))
                    case 2: key[random.below(key.count)] ^= UInt8(1 + random.below(255))
                    default: if !value.isEmpty { value[0] ^= UInt8(1 + random.below(255)) }
                    }
                    try transaction.put(tree, key, value)
                }
            }
            func attempt(_ body: (Context) throws -> Void) throws {
                do {
                    try database.read(body)
                } catch let error as HornbeamError {
                    #expect([.corrupt, .undecodable, .invalid].contains(error.code))
                }
            }
            let query = byName().query()
            try attempt { context in _ = try query.resolve(in: context) }
            try attempt { context in _ = try query.descending().withEntities().resolve(in: context) }
            try attempt { context in _ = try query.prefix("n").resolve(in: context) }
            try attempt { context in _ = try query.reduced().resolve(in: context) }
            try attempt { context in _ = try query.grouped().resolve(in: context) }
            try attempt { context in _ = try query.grouped(level: 1).descending().resolve(in: context) }
            _ = try database.check { _ in }
            try database.write { context in try File(id: 1, name: "n7").save(to: &context) }
        }
    }
}
