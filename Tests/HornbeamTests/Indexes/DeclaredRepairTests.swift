// SPDX-License-Identifier: Apache-2.0
// A damaged declared index of any kind is built anew, and the rest of the file stays as it was.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@EntityModel
private struct Paper {
    @FullTextIndex<Self>(\.title, \.tags) private var search
    @Index<Self>(\.title) private var byTitle
    @Unique<Self>(\.code, collisions: .replace) private var byCode
    @HashIndex<Self>(\.title) private var hashed

    let id: Int
    var title: String
    var tags: [String]
    var code: Int
}

@Suite("Declared indexes that are built anew")
struct DeclaredRepairTests {
    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Paper.self)
        for start in [0, 40] {
            try database.write { context in
                for id in start..<start + 40 {
                    let tags = ["common", "tag\(id)"]
                    try Paper(id: id, title: "title \(id % 7)", tags: tags, code: id).save(to: &context)
                }
            }
        }
        return database
    }

    /// Removes every other entry of a tree.
    private func damage(_ database: Database, _ name: String) throws {
        let transaction = try database.store.beginWrite()
        let tree = try #require(try transaction.tree(name))
        var keys: [[UInt8]] = []
        var cursor = try transaction.cursor(tree)
        while try cursor.next() { keys.append(Array(cursor.key)) }
        for key in keys.enumerated().filter({ $0.offset % 2 == 0 }).map(\.element) {
            _ = try transaction.delete(tree, key)
        }
        try transaction.commit()
    }

    private func problems(_ database: Database) throws -> [String] {
        var problems: [String] = []
        _ = try database.check { problems.append($0) }
        return problems
    }

    @Test(
        "They match the entities, and are searched, changed and observed as before",
        arguments: [
            ("search", "t:Paper:search:terms"), ("search", "t:Paper:search:documents"),
            ("search", "t:Paper:search:statistics"), ("search", "t:Paper:search:pending"),
            ("byTitle", "x:Paper:byTitle"), ("byCode", "u:Paper:byCode"), ("hashed", "x:Paper:hashed"),
        ])
    func rebuilt(_ index: String, _ tree: String) throws {
        let database = try filled()
        let search = Paper.filter(.string(\.title, \.tags, matches: "common tag3"))
        let before = try database.read { try search.ranked(in: $0) }
        try damage(database, tree)
        #expect(try !problems(database).isEmpty)
        try database.repair(index: index, of: Paper.self)
        #expect(try problems(database) == [])
        try database.read { context in
            let after = try search.ranked(in: context)
            #expect(after.map(\.id) == before.map(\.id) && after.map(\.score) == before.map(\.score))
            #expect(try Paper.filter(\.title == "title 3").count(in: context) == 11)
            #expect(try Paper.filter(\.code == 17).ids(in: context) == [17])
        }
        try database.write { context in
            try Paper(id: 3, title: "new", tags: [], code: 100).save(to: &context)
            try Paper.delete(id: 4, from: &context)
        }
        #expect(try problems(database) == [])
    }

    @Test("A missing one is reported with the declared names")
    func unknown() throws {
        let database = try filled()
        let error = #expect(throws: HornbeamError.self) { try database.repair(index: "nothing", of: Paper.self) }
        #expect(error?.code == .invalid && error?.message.contains("search, byTitle, byCode, hashed") == true)
    }
}
