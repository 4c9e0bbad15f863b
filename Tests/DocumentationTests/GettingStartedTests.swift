// SPDX-License-Identifier: Apache-2.0
// The code of the articles “Getting started” and of the landing page.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
struct Note {
    @Index<Self>(\.created) private var byCreated

    let id: Int
    var text: String
    var created: Date
}

@EntityModel
struct Book {
    @Index<Self>(\.author, \.year) private var byAuthor
    @Unique<Self>(\.isbn, collisions: .throw) private var byISBN

    let id: Int
    var isbn: String
    var title: String
    var author: String
    var year: Int
    var shelf: Shelf = .fiction
    var notes: [String] = []

    enum Shelf: String, Codable {
        case fiction, science
    }
}

@Suite("Getting started")
struct GettingStartedTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("The landing page's database keeps notes")
    func landingPage() throws {
        let database = try Database(at: folder.path("notes.hornbeam"), models: Note.self)
        try database.write { context in
            try Note(id: 1, text: "Milk", created: .now).save(to: &context)
        }
        let notes = try database.read { context in
            try Note.query().sorted(by: \.created.desc).limit(10).resolve(in: context)
        }
        #expect(notes.map(\.text) == ["Milk"])
    }

    @Test("A book is saved, read, and deleted")
    func saveReadDelete() throws {
        let database = try Database(at: folder.path("books.hornbeam"), models: Book.self)
        try database.write { context in
            try Book(id: 1, isbn: "0-441-47812-3", title: "The Left Hand of Darkness", author: "Le Guin", year: 1969)
                .save(to: &context)
        }
        let book = try database.read { context in
            try Book.query(1).resolve(in: context)
        }
        #expect(book?.shelf == .fiction && book?.notes == [])
        try database.write { context in
            guard var book = try Book.query(1).resolve(in: context) else { return }
            book.notes.append("Read in May")
            try book.save(to: &context)
        }
        let early = try database.read { context in
            try Book.filter(\.author == "Le Guin" && \.year < 1980).sorted(by: \.year).resolve(in: context)
        }
        #expect(early.map(\.notes) == [["Read in May"]])
        try database.write { context in
            try Book.delete(id: 1, from: &context)
        }
        #expect(try database.read { try Book.query().count(in: $0) } == 0)
        let isSound = try database.check { print($0) }
        #expect(isSound)
        try database.close()
    }

    @Test("A taken key is an error with a code and a message, and nothing is stored")
    func errors() throws {
        let database = try Database.inMemory(models: Book.self)
        try database.write { context in
            try Book(id: 1, isbn: "0-441-47812-3", title: "The Left Hand of Darkness", author: "Le Guin", year: 1969)
                .save(to: &context)
        }
        var message = ""
        do {
            try database.write { context in
                try Book(id: 2, isbn: "0-441-47812-3", title: "Another", author: "Nobody", year: 2000)
                    .save(to: &context)
            }
        } catch let error as HornbeamError where error.code == .uniqueViolation {
            message = error.message
            print(error.message)
        }
        #expect(message.contains("byISBN"))
        #expect(try database.read { try Book.query().ids(in: $0) } == [1])
    }

    @Test("A database that was not closed is recovered")
    func withoutClosing() throws {
        let path = folder.path("open.hornbeam")
        do {
            let database = try Database(at: path, models: Note.self)
            try database.write { try Note(id: 1, text: "Milk", created: .now).save(to: &$0) }
        }
        let again = try Database(at: path, models: Note.self)
        #expect(try again.read { try Note.query().count(in: $0) } == 1)
    }
}
