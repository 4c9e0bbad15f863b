// SPDX-License-Identifier: Apache-2.0
// A file on a simulated disk that an earlier version of a program has left, and its opening by a later version.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

/// The bytes of a file between its openings.
final class MigratedFile {
    private(set) var image: [UInt8]?

    /// - Parameter fill: puts rows into a store of these types.
    init(_ types: [EntityDescription], _ fill: (CoreStore) throws -> Void) throws {
        let disk = try SimulatedDisk()
        let store = try CoreStore(types, in: try TreeStore.open(file: disk))
        try fill(store)
        try store.core.commit()
        try store.store.close()
        image = disk.killedImage()
    }

    /// Opens a database on a disk of its own with the file's bytes.
    static func open(
        _ disk: SimulatedDisk, _ models: [any EntityModelProtocol.Type], _ migrations: [Migration],
        _ progress: MigrationProgress.Handler? = nil
    ) throws -> Database {
        let opening = SchemaOpening(
            models: try ModelSet(models), migrations: migrations, keepsDeleted: .forever, progress: progress)
        return try Database(opening) { () throws(StorageError) in try TreeStore.open(file: disk) }
    }

    /// Opens the file, checks it completely, and returns the result of `body`. If opening throws, the file must be
    /// unchanged.
    @discardableResult
    func open<Result>(
        _ models: [any EntityModelProtocol.Type], _ migrations: [Migration] = [],
        progress: MigrationProgress.Handler? = nil, _ body: (Database) throws -> Result
    ) throws -> Result {
        let disk = try SimulatedDisk(image: image)
        let database: Database
        do {
            database = try Self.open(disk, models, migrations, progress)
        } catch {
            guard try Self.contents(disk.killedImage()) == Self.contents(image) else {
                throw Changed(reason: "\(error)")
            }
            throw error
        }
        let result = try body(database)
        var problems: [String] = []
        guard try database.check(report: { problems.append($0) }) else { throw Problems(problems: problems) }
        try database.close()
        image = disk.killedImage()
        return result
    }

    /// Returns all entries of all trees in a file's bytes. (Only its free space may have changed.)
    private static func contents(_ image: [UInt8]?) throws -> [String: [[UInt8]]] {
        let read = try TreeStore.open(file: try SimulatedDisk(image: image)).beginRead()
        defer { read.abort() }
        var contents: [String: [[UInt8]]] = [:]
        for name in try read.treeNames() {
            var cursor = try read.cursor(try require(read.tree(name)))
            var entries: [[UInt8]] = []
            while try cursor.next() { entries.append(Array(cursor.key) + [0] + Array(cursor.value)) }
            contents[name] = entries
        }
        return contents
    }

    /// All entries of a tree; empty if the file has no such tree.
    func entries(_ tree: String) throws -> [[UInt8]] { try Self.contents(image)[tree] ?? [] }

    /// The types stored in the file.
    func types() throws -> [EntityDescription] {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image))
        let read = try store.beginRead()
        defer { read.abort() }
        let schema = try SchemaCatalogue.load(read)
        return schema.typeNames.compactMap { schema.types[$0]?.description }
    }

    /// Opens the file with a crash at each of its calls in turn. After power loss and after a kill, `isMigrated` must
    /// recognise the old or the new file; after an acknowledged opening, the new one.
    func crashEverywhere(
        _ migrate: (SimulatedDisk) -> Bool, _ isMigrated: (_ image: [UInt8]?, _ place: Comment) throws -> Bool
    ) throws {
        var outcomes: Set<Bool> = []
        let calls = try SimulatedDisk.crashAtEveryCall(of: image, migrate) { image, isOpened, place in
            let isNew = try isMigrated(image, place)
            if isOpened { #expect(isNew, place) }
            outcomes.insert(isNew)
        }
        #expect(outcomes == [true, false] && calls > 3)
    }

    /// Opens the file with each call failing with `code`; the process continues.
    func failEverywhere(
        _ code: Int32, _ migrate: (SimulatedDisk) -> Bool,
        _ isMigrated: (_ image: [UInt8]?, _ place: Comment) throws -> Bool
    ) throws {
        try SimulatedDisk.failAtEveryCall(of: image, code, migrate) { image, isOpened, place in
            let isNew = try isMigrated(image, place)
            if isOpened { #expect(isNew, place) }
        }
    }

    struct Changed: Error { let reason: String }
    struct Problems: Error { let problems: [String] }
}

func column(_ name: String, _ type: ColumnType) -> ColumnDescription { ColumnDescription(name: name, type: type) }
