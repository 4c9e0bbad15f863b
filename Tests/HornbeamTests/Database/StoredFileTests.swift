// SPDX-License-Identifier: Apache-2.0
// Files of earlier versions open, keep their content and can be changed: Docs/public-api.md promises it for all
// released versions. `HORNBEAM_STORE_FILES=1 swift test --filter StoredFileTests` writes the missing files of this
// version. Files of released versions stay as they are.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

private enum Stored {
    @EntityModel
    struct Shelf {
        let id: String
        var room: Int
        @Relationship(deleteRule: .cascade, inverse: \.shelf) var books: [Book]?
    }

    @EntityModel
    struct Book {
        static let keepsDeleted = true

        @Index<Self>(\.year, \.title) private var byYear
        @Unique<Self>(\.isbn) private var byISBN
        @HashIndex<Self>(\.title) private var byTitle
        @FullTextIndex<Self>(\.title, \.text) private var words

        let id: Int
        var title: String
        var year: Int
        var isbn: UInt64?
        var text: String
        var notes: [String]
        var price: Decimal?
        var bought: Date
        @Relationship(inverse: \.books) var shelf: Shelf?
        @Relationship(inverse: \.cited) var cites: [Book]?
        @Relationship(inverse: \.cites) var cited: [Book]?
    }

    static func open(_ path: String) throws -> Database { try Database(at: path, models: Shelf.self, Book.self) }

    static func book(_ id: Int) -> Book {
        Book(
            id: id, title: "Title \(id % 50)", year: 1900 + id % 100, isbn: id % 3 == 0 ? UInt64(id) : nil,
            text: String(repeating: "word\(id % 7) and más ", count: id == 1 ? 5000 : 5), notes: ["a", "b\(id)"],
            price: id % 2 == 0 ? Decimal(id) / 100 : nil,
            bought: Date(timeIntervalSinceReferenceDate: Double(id) * 1000.5), shelf: .id("s\(id % 5)"),
            cites: .ids([id - 1, id - 2].filter { $0 > 0 }))
    }

    /// Fills a store and adds a consumer of its changes.
    static func fill(_ database: Database) throws {
        _ = try database.consumer(named: "follower", of: Book.self)
        try database.write { context in
            for number in 0..<5 { try Shelf(id: "s\(number)", room: number).save(to: &context) }
            for id in 1...300 { try book(id).save(to: &context) }
        }
        try database.write { context in
            for id in 281...300 { try Book.delete(id: id, from: &context) }
        }
    }
}

@Suite("Files of released versions")
struct StoredFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../StoredFiles").standardized

    /// `0.2.0.hornbeam` was closed; `0.2.0-killed.hornbeam` has commits that are only in its journal.
    private static var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".hornbeam") }.sorted()
    }

    @Test("of this version are there", .enabled(if: ProcessInfo.processInfo.environment["HORNBEAM_STORE_FILES"] != nil))
    func written() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        let database = try Stored.open(path)
        try Stored.fill(database)
        let (closed, killed) = (Self.folder.appending(path: "0.2.0.hornbeam"), "0.2.0-killed.hornbeam")
        if !FileManager.default.fileExists(atPath: closed.path) {
            try FileManager.default.copyItem(atPath: path, toPath: Self.folder.appending(path: killed).path)
            try database.close()
            try FileManager.default.copyItem(atPath: path, toPath: closed.path)
        }
        folder.keep()
    }

    @Test("open, are whole, answer queries of all indexes, and can be changed", arguments: names)
    func opened(name: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        try FileManager.default.copyItem(atPath: Self.folder.appending(path: name).path, toPath: path)
        let database = try Stored.open(path)
        #expect(try database.check { Issue.record("\(name): \($0)") })
        try database.read { context in
            #expect(try Stored.Book.query().count(in: context) == 280)
            #expect(try Deleted<Stored.Book>.query().count(in: context) == 20)
            for id in [1, 2, 280] {
                let book = try Stored.Book.query(id).resolve(in: context)
                let expected = Stored.book(id)
                #expect(book?.title == expected.title && book?.text == expected.text)
                #expect(book?.isbn == expected.isbn && book?.price == expected.price)
                #expect(book?.notes == expected.notes && book?.bought == expected.bought)
            }
            let found = try Stored.Book.filter(\.year == 1950).sorted(by: \.title).resolve(in: context)
            #expect(found.map(\.id).sorted() == [50, 150, 250])
            #expect(try Stored.Book.filter(\.isbn == 270).resolve(in: context).map(\.id) == [270])
            #expect(try Stored.Book.filter(\.title == "Title 7").count(in: context) == 6)
            #expect(try Stored.Book.filter(.string(\.text, matches: "word3")).count(in: context) == 40)
            let shelf = try Stored.Shelf.query("s2").with(\.$books).resolve(in: context)
            #expect(shelf?.books?.count == 56)
            let cited = try Stored.Book.query(10).with(\.$cites).with(\.$cited).resolve(in: context)
            #expect(cited?.cites?.map(\.id) == [9, 8] && cited?.cited?.map(\.id) == [11, 12])
        }
        #expect(try database.changeConsumers().map(\.name) == ["follower"])
        try database.write { context in
            try Stored.book(400).save(to: &context)
            try Stored.Shelf.delete(id: "s1", from: &context)
        }
        try database.close()
        let again = try Stored.open(path)
        #expect(try again.read { try Stored.Book.query().count(in: $0) } == 280 - 56 + 1)
        #expect(try again.check { Issue.record("\(name), changed: \($0)") })
        try again.close()
        folder.keep()
    }

    @Test("are kept in the repository")
    func present() { #expect(Self.names.contains("0.2.0.hornbeam") && Self.names.contains("0.2.0-killed.hornbeam")) }
}
