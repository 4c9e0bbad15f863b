// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Migrating models”.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Reader {
    let id: Int
    var first: String
    var last: String
    var born: String
    var card: String?
}

@EntityModel
private struct Member {
    @Index<Self>(\.born) private var byBorn

    let id: Int
    var name: String
    var born: Int
    var cardNumber: String?
    var city = "Oslo"
}

@Suite("The guide “Migrating models”")
struct MigratingModelsTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("library.hornbeam")
        let earlier = try Database(at: path, models: Reader.self)
        try earlier.write { context in
            try Reader(id: 1, first: "Ada", last: "Byron", born: "1815", card: "a-1").save(to: &context)
            try Reader(id: 2, first: "Bob", last: "Noyce", born: "?").save(to: &context)
        }
        try earlier.close()
    }

    private let migrations: [Migration] = [
        .rename("Reader", to: Member.self),
        .rename(Member.self, "card", to: \.cardNumber),
        .convert(Member.self, \.born, from: String.self) { Int($0) ?? 0 },
        .fill(Member.self, \.name) { old in
            "\(try old.value("first", as: String.self)) \(try old.value("last", as: String.self))"
        },
    ]

    @Test("A file of the earlier version opens with the present models, once and again")
    func example() throws {
        for _ in 1...2 {
            let database = try Database(at: path, models: Member.self, migrations: migrations)
            let member = try database.read { try $0.find(Member.self, 1) }
            #expect(member?.name == "Ada Byron" && member?.born == 1815)
            #expect(member?.cardNumber == "a-1" && member?.city == "Oslo")
            #expect(try database.check())
            try database.close()
        }
    }

    @Test("A step of the program's own runs once")
    func running() throws {
        let cleanup = Migration.run("upper-case card numbers") { context in
            for var member: Member in try context.all() {
                member.cardNumber = member.cardNumber?.uppercased()
                try member.save(to: &context)
            }
        }
        let database = try Database(at: path, models: Member.self, migrations: migrations + [cleanup])
        #expect(try database.read { try $0.find(Member.self, 1) }?.cardNumber == "A-1")
        try database.write { try Member(id: 1, name: "Ada", born: 1815, cardNumber: "a-2").save(to: &$0) }
        try database.close()
        let again = try Database(at: path, models: Member.self, migrations: migrations + [cleanup])
        #expect(try again.read { try $0.find(Member.self, 1) }?.cardNumber == "a-2")
    }

    @Test("Progress is reported, and an error in it leaves the file as it was")
    func progress() throws {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try Database(at: path, models: Member.self, migrations: migrations) { _ in throw Stop() }
        }
        let earlier = try Database(at: path, models: Reader.self)
        #expect(try earlier.read { try $0.find(Reader.self, 1) }?.born == "1815")
        try earlier.close()
        let database = try Database(at: path, models: Member.self, migrations: migrations) { progress in
            print(progress.step, progress.entity, progress.done, progress.total)
        }
        #expect(try database.read { try $0.ids(Member.self) } == [1, 2])
    }

    @Test("A change without its step is refused")
    func refused() throws {
        var messages: [String] = []
        func print(_ message: String) { messages.append(message) }
        do {
            _ = try Database(at: path, models: Member.self, migrations: [migrations[0]])
        } catch let error as HornbeamError where error.code == .schemaMismatch {
            print(error.message)
        }
        #expect(messages.count == 1 && messages[0].contains("declare a migration"))
    }

    @Test("Without the rename of a type, the present one is empty; the step brings its entities back")
    func forgottenRename() throws {
        let database = try Database(at: path, models: Member.self)
        #expect(try database.read { try $0.ids(Member.self) } == [])
        try database.close()
        let repaired = try Database(at: path, models: Member.self, migrations: migrations)
        #expect(try repaired.read { try $0.ids(Member.self) } == [1, 2])
        try repaired.close()
        let older = try Database(at: path, models: Reader.self)
        #expect(try older.read { try $0.ids(Reader.self) } == [])
    }
}
