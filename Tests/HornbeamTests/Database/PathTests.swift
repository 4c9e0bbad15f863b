// SPDX-License-Identifier: Apache-2.0
// Paths that name no file, or a file that must not be overwritten, given to every function that takes a path.

import Foundation
import HornbeamHandKept
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@EntityModel
private struct Leaf {
    let id: Int
}

private struct NoIndexes: IndexesType {
    init() {}
}

@Suite("A path")
struct PathTests {
    /// Every function of the library that takes a path, by name.
    private static let uses: [(name: String, use: @Sendable (String, Database) async throws -> Void)] = [
        ("opening", { path, _ in _ = try Database(at: path, models: Leaf.self) }),
        (
            "opening with a list",
            { path, _ in
                let models: [any EntityModelProtocol.Type] = [Leaf.self]
                _ = try Database(at: path, models: models)
            }
        ),
        ("opening asynchronously", { path, _ in _ = try await Database.open(at: path, models: Leaf.self) }),
        (
            "opening for reading",
            { path, _ in
                var options = Database.Options()
                options.isReadOnly = true
                _ = try Database(at: path, models: Leaf.self, options: options)
            }
        ),
        (
            "opening with hand-kept indexes",
            { path, _ in
                _ = try Database(at: path, models: Leaf.self, handKept: NoIndexes())
            }
        ),
        ("backup", { path, database in try Self.backUp(database, path) }),
        ("asynchronous backup", { path, database in try await database.backup(to: path, progress: nil) }),
    ]

    private static func backUp(_ database: Database, _ path: String) throws { try database.backup(to: path) }

    private func code(_ body: () async throws -> Void) async -> HornbeamError.Code? {
        do {
            try await body()
            return nil
        } catch let error as StorageError {
            return HornbeamError(error).code
        } catch {
            return (error as? HornbeamError)?.code
        }
    }

    @Test("with a NUL, or without a character, is refused, and nothing is made")
    func nul() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try Database.inMemory(models: Leaf.self)
        for (name, use) in Self.uses {
            for path in [folder.path("nul\0.hornbeam"), folder.path("nul\0"), folder.path + "\0/nul", ""] {
                #expect(await code { try await use(path, database) } == .invalid, "\(name) of \(path.debugDescription)")
            }
        }
        let file = folder.path("nul\0.hornbeam")
        #expect(await code { _ = try Salvage.run(from: file, to: folder.path("new")) } == .invalid)
        #expect(try folder.names() == [])
        let error = #expect(throws: HornbeamError.self) { try Database(at: "a\0b", models: Leaf.self) }
        #expect(error?.message == "the path “a\\0b” contains the character NUL: no file can have that name")
    }

    @Test("of a copy never replaces an existing store, file, link or device")
    func copies() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let database = try Database(at: folder.path("own"), models: Leaf.self)
        try Database(at: folder.path("other"), models: Leaf.self).close()
        let text = try folder.write("text", "precious")
        symlink(text, folder.path("link"))
        symlink(folder.path("nowhere"), folder.path("dangling"))
        mkfifo(folder.path("fifo"), 0o600)
        let before = try folder.names()
        for name in ["own", "other", "text", "link", "dangling", "fifo"] {
            let path = folder.path(name)
            #expect(await code { try Self.backUp(database, path) } == .invalid, "\(name)")
            #expect(await code { _ = try Salvage.run(from: folder.path("other"), to: path) } == .invalid, "\(name)")
        }
        #expect(await code { try Self.backUp(database, "/dev/null") } == .invalid)
        #expect(try folder.names() == before)
        #expect(try folder.read("text") == "precious")
        // Opening neither makes a store at the target of a link nor makes another file a store.
        for name in ["text", "link", "dangling", "fifo"] {
            let code = await code { _ = try Database(at: folder.path(name), models: Leaf.self) }
            #expect(code == .notAStore || code == .invalid, "\(name)")
        }
        #expect(try folder.names() == before)
        try database.close()
    }
}
