// SPDX-License-Identifier: Apache-2.0
// Models with properties that stored entities lack: the values that opening gives to old rows, and when it refuses.

import Foundation
import HornbeamPages
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Aged {
    @Index<Self>(\.age) private var byAge
    @FullTextIndex<Self>(\.motto) private var search

    let id: String
    var age = 7
    var name: String
    var motto = "older and wiser"
    var nick: String?
    var tags = ["old"]
}

@EntityModel
private struct Looser {
    let id: String
    var name: String
    var nick: String?
    var level: Int? = 3
}

@EntityModel
private struct Plain {
    let id: String
    var name: String
    var nick: String?
}

@EntityModel
private struct Strict {
    let id: String
    var name: String
    var age: Int
}

/// A file that an earlier version of a program has left.
private final class OldFile {
    let path: String
    private let folder: URL

    /// Entities named by their ids. The type has lost a property since.
    init(_ name: String, _ ids: [String]) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "old.hornbeam").path
        let type = EntityDescription(
            name: name,
            columns: [
                ColumnDescription(name: "id", type: .string), ColumnDescription(name: "gone", type: .string),
                ColumnDescription(name: "name", type: .string),
            ])
        let store = try TreeStore.open(at: path, options: StoreOptions())
        let transaction = try store.beginWrite()
        let core = StoreTransaction(transaction, schema: try require(SchemaCatalogue.open([type], in: transaction)))
        let entities = try core.store(name)
        for id in ids {
            var row = entities.makeRow()
            for (column, text) in [id, "kept \(id)", "name of \(id)"].enumerated() { row.setString(text, column) }
            try entities.save(try row.finish(), try entities.ensureRowID(of: .string(id), saving: true))
        }
        try core.commit()
        try store.close()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Each stored row with its id.
    func rows<Result>(_ type: String, _ body: (RowReader, EntityType) throws -> Result) throws -> [Result] {
        let store = try TreeStore.open(at: path, options: StoreOptions())
        let transaction = try store.beginRead()
        var results: [Result] = []
        do {
            defer { transaction.abort() }
            let entities = try StoreTransaction(transaction, schema: try SchemaCatalogue.load(transaction)).store(type)
            try entities.forEachRow { _, row in
                results.append(try body(row, entities.type))
                return true
            }
        }
        try store.close()
        return results
    }
}

@Suite("Added properties")
struct AddedPropertiesTests {
    @Test("entities that are older than a property with a default have it: in values, filters, sorts and indexes")
    func defaults() throws {
        let file = try OldFile("Aged", ["a", "b", "c"])
        let database = try Database(at: file.path, models: Aged.self)
        try database.write { context in try Aged(id: "d", age: 5, name: "young", motto: "new").save(to: &context) }
        try database.read { context throws in
            #expect(try context.find("b").map { (aged: Aged) in aged.age } == 7)
            #expect(try Aged.filter(\.age == 7).ids(in: context) == ["a", "b", "c"])
            #expect(try Aged.filter(\.age > 6 && \.name == "name of b").ids(in: context) == ["b"])
            #expect(try Aged.query().sorted(by: \.age).ids(in: context) == ["d", "a", "b", "c"])
            #expect(try Aged.filter(.string(\.motto, matches: "wiser")).count(in: context) == 3)
            #expect(try Aged.filter(.string(\.motto, hasPrefix: "old")).count(in: context) == 3)
            #expect(try Aged.filter(\.nick == nil).count(in: context) == 4)
            #expect(try Aged.query("a").resolve(in: context)?.tags == ["old"])
        }
        var problems: [String] = []
        #expect(try database.check { problems.append($0) }, "\(problems)")
        try database.close()
        // Columns that the model no longer has stay.
        let kept = try file.rows("Aged") { row, type in try row.value(type.column("gone")) }
        #expect(kept == [.string("kept a"), .string("kept b"), .string("kept c"), .null])
    }

    @Test("an optional property changes no row, unless its default isn't nil")
    func optionals() throws {
        let file = try OldFile("Plain", ["a", "b"])
        let plain = try Database(at: file.path, models: Plain.self)
        #expect(try plain.read { try Plain.filter(\.nick == nil).ids(in: $0) } == ["a", "b"])
        try plain.close()
        #expect(
            try file.rows("Plain") { row, type in row.contains(column: try type.column("nick")) } == [false, false])

        let loose = try OldFile("Looser", ["a", "b"])
        let database = try Database(at: loose.path, models: Looser.self)
        try database.read { context throws in
            #expect(try Looser.filter(\.level == 3).ids(in: context) == ["a", "b"])
            #expect(try context.all().map { (looser: Looser) in looser.level } == [3, 3])
        }
        try database.close()
    }

    @Test("a property without a default that isn't optional is refused, and the file left as it was, if a row lacks it")
    func required() throws {
        let file = try OldFile("Strict", ["a", "b"])
        let before = try Data(contentsOf: URL(filePath: file.path))
        let error = #expect(throws: HornbeamError.self) { try Database(at: file.path, models: Strict.self) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("Strict \"a\"") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("“age”") == true)
        #expect(try Data(contentsOf: URL(filePath: file.path)) == before)
        #expect(try file.rows("Strict") { row, type in type.description.columns.count } == [3, 3])

        let empty = try OldFile("Strict", [])
        let database = try Database(at: empty.path, models: Strict.self)
        try database.write { context in try Strict(id: "c", name: "", age: 4).save(to: &context) }
        #expect(try database.read { try Strict.filter(\.age == 4).ids(in: $0) } == ["c"])
        try database.close()
    }
}
