// SPDX-License-Identifier: Apache-2.0
// Copies of a database, and shortening its file, while it is in use.

import Foundation
import HornbeamMapReduce
import HornbeamTestSupport
import Synchronization
import Testing

@testable import Hornbeam

@Suite("Backups and compaction of a database")
struct UpkeepTests {
    private struct Enough: Error {}

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String) throws -> Database {
        let database = try Database(at: folder.path(name), models: TaggedPost.self)
        try database.register(postsByTag())
        return database
    }

    /// Saves posts 0 to 9, which have an equal size after each write, and as many tags as posts.
    private func save(_ size: Int, _ database: Database) throws {
        try database.write(durability: .none) { (context) throws in
            for id in 0..<10 { try post(id, size).save(to: &context) }
            try post(10 + size, size).save(to: &context)
        }
    }

    private static let title = String(repeating: "t", count: 3_000)

    private func post(_ id: Int, _ size: Int) -> TaggedPost {
        TaggedPost(id: id, title: Self.title, tags: ["all"], size: size)
    }

    // Backs up by the synchronous function.

    private func backUp(
        _ database: Database, _ path: String, _ progress: @escaping Database.UpkeepHandler
    ) throws {
        try database.backup(to: path, progress: progress)
    }

    @discardableResult
    private func compact(
        _ database: Database, _ progress: Database.UpkeepHandler? = nil
    ) throws -> Database.Compaction {
        try database.compact(progress: progress)
    }

    @Test("a backup beside a writer opens and verifies, and is of one version", arguments: [false, true])
    func backup(isAsync: Bool) async throws {
        defer { folder.keep() }
        let database = try open("a.hornbeam")
        for size in 0..<800 { try save(size, database) }
        let isDone = Atomic(false)
        let failure = Mutex<String?>(nil)
        let group = DispatchGroup()
        DispatchQueue(label: "writer").async(group: group) {
            var size = 800
            do {
                while !isDone.load(ordering: .relaxed) {
                    try save(size, database)
                    size += 1
                }
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        let reports = Atomic(0)
        let path = folder.path("copy.hornbeam")
        if isAsync {
            try await database.backup(to: path) { progress in
                #expect(progress.doneBytes <= progress.totalBytes)
                reports.add(1, ordering: .relaxed)
            }
        } else {
            try backUp(database, path) { _ in reports.add(1, ordering: .relaxed) }
        }
        isDone.store(true, ordering: .relaxed)
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(failure.withLock { $0 } == nil)
        #expect(reports.load(ordering: .relaxed) > 0)
        // The copy's index can be queried without its code, because it missed no rows.
        let copy = try open("copy.hornbeam")
        #expect(try copy.isWhole())
        try await copy.read { (context) throws in
            let posts: [TaggedPost] = try context.all()
            let sizes = Set(posts.prefix(10).map(\.size))
            let size = try #require(sizes.first)
            #expect(sizes.count == 1 && size >= 799 && posts.count == size + 11)
            let sum = try postsByTag().query().key("all").reduced().resolve(in: context)
            #expect(sum == posts.reduce(0) { $0 + $1.size })
        }
        try copy.close()
        try database.close()
        #expect(try folder.names() == ["a.hornbeam", "copy.hornbeam"])
    }

    @Test(
        "a backup that is ended, refused or cancelled leaves no file, and a handler's error is thrown")
    func endedBackups() async throws {
        defer { folder.keep() }
        let database = try open("a.hornbeam")
        for size in 0..<800 { try save(size, database) }
        let path = folder.path("copy.hornbeam")
        #expect(throws: Enough.self) { try backUp(database, path) { _ in throw Enough() } }
        var calls = 0
        try backUp(database, folder.path("whole.hornbeam")) { _ in calls += 1 }
        try FileManager.default.removeItem(atPath: folder.path("whole.hornbeam"))
        // The last call can end it, too.
        #expect(throws: Enough.self) {
            try backUp(database, path) { _ in
                calls -= 1
                if calls == 0 { throw Enough() }
            }
        }
        #expect(try calls == 0 && folder.names() == ["a.hornbeam"])
        let task = Task {
            try await database.backup(to: path) { _ in Thread.sleep(forTimeInterval: 0.2) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names() == ["a.hornbeam"])
        let taken = await #expect(throws: HornbeamError.self) {
            try await database.backup(to: folder.path("a.hornbeam"))
        }
        #expect(taken?.code == .invalid && taken?.message.contains("a.hornbeam") == true)
        try database.close()
    }

    @Test(
        "compaction frees deleted space, beside reads and writes, and may be ended", arguments: [false, true])
    func compaction(isAsync: Bool) async throws {
        defer { folder.keep() }
        let database = try open("a.hornbeam")
        for size in 0..<1_500 { try save(size, database) }
        // The space of deleted entities may be given back before the test asks for it.
        let before = database.statistics.fileBytes
        try await database.write { (context) throws in
            try TaggedPost.filter(\.id > 20).delete(from: &context)
            try Deleted<TaggedPost>.purge(before: .distantFuture, from: &context)
        }
        try database.checkpoint()
        let deleted = database.statistics.fileBytes
        #expect(throws: Enough.self) { try compact(database) { _ in throw Enough() } }
        try await database.write { [self] _ in
            let error = #expect(throws: HornbeamError.self) { try compact(database) }
            #expect(error?.code == .invalid || error?.code == .busy)
        }
        let result =
            if isAsync {
                try await database.compact { progress in #expect(progress.doneBytes <= progress.totalBytes) }
            } else {
                try compact(database)
            }
        #expect(result.bytesAfter == database.statistics.fileBytes && result.bytesAfter < before / 2)
        #expect(result.bytesAfter <= deleted)
        #expect(try database.isWhole())
        let left = try await database.read { context in try TaggedPost.query().count(in: context) }
        #expect(left == 21)
        try database.close()
        let size = try FileManager.default.attributesOfItem(atPath: folder.path("a.hornbeam"))[.size] as? Int
        #expect(size == Int(result.bytesAfter))
    }

    @Test("a database in memory can be copied to a file")
    func memory() async throws {
        defer { folder.keep() }
        let database = try Database.inMemory(models: TaggedPost.self, indexes: [postsByTag()])
        try save(3, database)
        try await database.backup(to: folder.path("copy.hornbeam"))
        try await database.compact()
        let copy = try open("copy.hornbeam")
        #expect(try copy.isWhole())
        let copied = try await copy.read { context in try TaggedPost.query().count(in: context) }
        #expect(copied == 11)
        try copy.close()
    }
}
