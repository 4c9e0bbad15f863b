// SPDX-License-Identifier: Apache-2.0
// Saves of entities that are stored already: no way of saving writes anything, and no observer gets a change.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Song: Equatable {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(\.title) private var byTitle
    @Unique<Self>(\.code, collisions: .replace) private var byCode
    @FullTextIndex<Self>(\.title) private var search

    let id: String
    var title: String
    var code: Int
    var tags: Set<String> = []
    var note: String?

    @Relationship(inverse: \.songs) var album: Album?

    nonisolated(unsafe) static var hooks: [String] = []
    mutating func willSave(to context: inout Context) throws { Self.hooks.append("will \(id)") }
    func didSave(to context: inout Context) throws { Self.hooks.append("did \(id)") }
}

@EntityModel
private struct Album {
    let id: Int
    var name: String
    @Relationship(inverse: \.album) var songs: [Song]?
}

@Suite("Saving stored entities again", .serialized)
struct EqualSavesTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory(models: Song.self, Album.self)
        try database.write { context in
            let songs = (1...3).map { Song(id: "s\($0)", title: "Title \($0)", code: $0, tags: ["a", "b"], note: "n") }
            try Album(id: 1, name: "First", songs: .relation(songs)).save(to: &context)
        }
    }

    private func song(_ number: Int) -> Song {
        Song(id: "s\(number)", title: "Title \(number)", code: number, tags: ["b", "a"], note: "n")
    }

    /// Runs a write that must change nothing, and compares everything that could show a change.
    private func expectNoChange(_ what: Comment, _ write: (inout Context) throws -> Void) throws {
        func state(_ context: Context) throws -> [String] {
            try ["s1", "s2", "s3"].map { id in
                let times = try (Song.updatedAt(id: id, in: context), Song.createdAt(id: id, in: context))
                let token = try Song.stateToken(id: id, in: context)
                return
                    "\(times) \(String(describing: try Song.version(id: id, in: context))) \(token?.description ?? "")"
            }
        }
        let (before, version) = try (database.read(state), database.version)
        let changes = try database.performBatchUpdates(write).changes
        #expect(changes[Song.self].updated.isEmpty && changes[Album.self].updated.isEmpty, what)
        #expect(try database.read(state) == before, what)
        #expect(try database.version == version, what)
    }

    @Test("writes nothing and notifies no observer, in each way of saving")
    func everyWay() throws {
        try expectNoChange("save") { try song(1).save(to: &$0) }
        try expectNoChange("fragment") {
            try Song(id: "s1", title: "Title 1", code: 1, tags: ["a", "b"]).save(to: &$0, options: .fragment)
        }
        try expectNoChange("list") { try [song(1), song(2), song(3)].save(to: &$0) }
        try expectNoChange("read and saved") { context in
            try (context.find("s2") as Song?)?.save(to: &context)
            for song in try Song.query().with(.entities).resolve(in: context) { try song.save(to: &context) }
        }
        try expectNoChange("nested") { context in
            try Album(id: 1, name: "First", songs: .relation([song(1), song(2), song(3)])).save(to: &context)
        }
        try expectNoChange("bulk") { try Song.query().update(in: &$0) { $0.code += 0 } }
        try expectNoChange("insert") { try $0.insert(song(1)) }
        try expectNoChange("expected") { context in
            try song(1).save(to: &context, expecting: try Song.stateToken(id: "s1", in: context))
        }
        try expectNoChange("imported") { context in
            let rows = try JSONRows("Song", core: context.session.core)
            let line = #"{"id":"s1","title":"Title 1","code":1,"tags":["a","b"],"note":"n"}"#
            _ = try Array(line.utf8).withBytes { try rows.save(line: $0) }
        }
        #expect(try database.check())
    }

    @Test("runs the hooks nevertheless")
    func hooks() throws {
        Song.hooks = []
        try expectNoChange("hooks") { try song(1).save(to: &$0) }
        #expect(Song.hooks == ["will s1", "did s1"])
    }

    @Test("changes only differences: a property, a link, a given or touched time")
    func differences() throws {
        let time = try #require(try database.read { try Song.updatedAt(id: "s1", in: $0) })
        while Date() <= time {}
        let touched = try database.performBatchUpdates { try Song.touch("s1", in: &$0) }.changes
        #expect(touched[Song.self].updated == ["s1"])
        #expect(try database.read { try Song.updatedAt(id: "s1", in: $0) } ?? time > time)
        try database.write { try song(1).updateMetadata(.updatedAt, value: time, in: &$0) }
        #expect(try database.read { try Song.updatedAt(id: "s1", in: $0) } == time)
        try database.write { context in
            let rows = try JSONRows("Song", core: context.session.core)
            let line = #"{"id":"s1","title":"Title 1","code":1,"tags":["a","b"],"note":"n","$updatedAt":5}"#
            _ = try Array(line.utf8).withBytes { try rows.save(line: $0) }
        }
        #expect(
            try database.read { try Song.updatedAt(id: "s1", in: $0) } == Date(timeIntervalSinceReferenceDate: 5))
        var other = song(2)
        other.tags = ["a"]
        let changes = try database.performBatchUpdates { try other.save(to: &$0) }.changes
        #expect(changes[Song.self].updated == ["s2"])
        #expect(try database.read { try Song.version(id: "s2", in: $0) } == 2)
        try expectNoChange("a link alone") { context in
            var moved = song(3)
            moved.$album = .id(1)
            try moved.save(to: &context)
        }
        #expect(try database.check())
    }

    @Test("nevertheless removes a stray deleted entity of that id")
    func strayDeleted() throws {
        try database.write { context in
            let core = try context.session.core
            let (songs, deleted) = (try core.store("Song"), try core.store("Deleted<Song>"))
            let row = try #require(try songs.rowID(of: .string("s1")))
            try deleted.saveTombstone(try #require(try songs.tombstone(of: row, in: deleted)))
        }
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems == [#"Song "s1" is both stored and deleted"#])
        try database.write { try song(1).save(to: &$0) }
        #expect(try database.check { Issue.record("\($0)") })
        #expect(try database.read { try Deleted<Song>.query().count(in: $0) } == 0)
    }

    @Test("keeps columns of a later program, and still is no change")
    func undeclared() throws {
        let type = EntityDescription(
            name: "Plain",
            columns: [column("id", .int64), column("name", .string), column("later", .optional(.string))])
        let file = try MigratedFile([type]) { try $0.save("Plain", [.int(1), .string("a"), .string("kept")]) }
        try file.open([Plain.self]) { database throws in
            try database.write { try Plain(id: 1, name: "b").save(to: &$0) }
            let version = try database.version
            try database.write { try Plain(id: 1, name: "b").save(to: &$0) }
            #expect(try database.version == version)
            #expect(try database.query("SELECT VALUE later FROM Plain").map(\.json) == [#""kept""#])
        }
    }
}

@EntityModel
private struct Plain {
    let id: Int
    var name: String
}
