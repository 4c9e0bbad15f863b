// SPDX-License-Identifier: Apache-2.0
// The errors of opening: for a file that doesn't fit its models, and for impossible options.

import Foundation
import Hornbeam
import Testing

private enum Before {
    @EntityModel
    struct Desk {
        let id: Int
    }

    @EntityModel
    struct Worker {
        let id: Int
    }
}

private enum After {
    @EntityModel
    struct Desk {
        @Index<Self>(\.room) private var byRoom
        let id: Int
        var room = ""
        @Relationship() var lamps: [Lamp]?
    }

    @EntityModel
    struct Lamp {
        let id: Int
    }

    /// An entity whose id had another type before.
    @EntityModel
    struct Table {
        let id: String
    }

    @EntityModel
    struct Employee {
        let id: Int
    }
}

@Suite("Opening says")
struct OpeningWordsTests {
    private func withFile(_ body: (_ path: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "words.hornbeam").path)
    }

    private func expect(
        _ code: HornbeamError.Code, _ words: [String], without others: [String] = [],
        _ place: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        let error = #expect(throws: HornbeamError.self, sourceLocation: place) { try body() }
        #expect(error?.code == code, sourceLocation: place)
        let message = error?.message ?? ""
        for word in words { #expect(message.contains(word), "\(message) lacks \(word)", sourceLocation: place) }
        for word in others { #expect(!message.contains(word), "\(message)", sourceLocation: place) }
    }

    @Test("that the type of an id can't change, of which entity, and what to do instead")
    func idTypes() throws {
        try withFile { path in
            try Database(at: path, models: Before.Desk.self).close()
            let words = ["After.Table.id", "string", "int64", "id can't change", "export"]
            expect(.schemaMismatch, words, without: ["Deleted<", ".convert", ".forget"]) {
                _ = try Database(
                    at: path, models: After.Table.self,
                    migrations: [.rename(Before.Desk.entityName, to: After.Table.self)])
            }
        }
    }

    @Test("which parts are missing in a file opened without the right to change it")
    func readOnlyOpening() throws {
        try withFile { path in
            try Database(at: path, models: Before.Desk.self).close()
            var options = Database.Options()
            options.isReadOnly = true
            let name = Migration.rename(Before.Desk.entityName, to: After.Desk.self)
            let words = [
                "read-only", "the renaming of Before.Desk to After.Desk", "property After.Desk.room",
                "relation After.Desk.lamps", "index “byRoom” of After.Desk", "the type After.Lamp", "and 1 more",
                "once for writing",
            ]
            expect(.schemaMismatch, words, without: ["Deleted<"]) {
                _ = try Database(
                    at: path, models: After.Desk.self, After.Lamp.self, options: options,
                    migrations: [name, .run("count") { _ in }])
            }
            let steps = (1...7).map { number in Migration.run("step \(number)") { _ in } }
            expect(.schemaMismatch, ["“step 1”", "“step 5” and 2 more"]) {
                _ = try Database(at: path, models: Before.Desk.self, options: options, migrations: steps)
            }
            try Database(at: path, models: Before.Desk.self, options: options).close()
        }
    }

    @Test("that a stored nested type has a longer name than the one to be renamed")
    func shortNames() throws {
        let long = Before.Worker.entityName
        #expect(long == "Before.Worker")
        let short = Migration.rename("Worker", to: After.Employee.self)
        try withFile { path in
            try Database(at: path, models: Before.Worker.self).close()
            expect(.schemaMismatch, ["the store calls it Before.Worker", long, ".rename(\"\(long)\""]) {
                _ = try Database(at: path, models: After.Employee.self, migrations: [short])
            }
            // After the right migration, with the wrong one still declared: there is nothing to lose any more.
            try Database(
                at: path, models: After.Employee.self,
                migrations: [.rename(long, to: After.Employee.self), short]
            ).close()
            try Database(at: path, models: After.Employee.self, migrations: [short]).close()
        }
        // A nested type with a model is an entity of its own.
        try withFile { path in
            try Database(at: path, models: Before.Worker.self).close()
            try Database(
                at: path, models: Before.Worker.self, After.Employee.self, migrations: [short]
            ).close()
        }
    }

    @Test("which option can't be negative")
    func options() throws {
        try withFile { path in
            var options = Database.Options()
            options.checkpointBytes = -4096
            expect(.invalid, ["Options.checkpointBytes is -4096"]) {
                _ = try Database(at: path, models: Before.Desk.self, options: options)
            }
            options = Database.Options()
            options.lockWaitMilliseconds = -5
            expect(.invalid, ["Options.lockWaitMilliseconds is -5"]) {
                _ = try Database(at: path, models: Before.Desk.self, options: options)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }
}
