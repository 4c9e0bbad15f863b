// SPDX-License-Identifier: Apache-2.0
// The effects of migrations on deleted entities and on the times of the last saves: properties are renamed, converted
// and forgotten there too.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

/// The earlier version of Agent.
@EntityModel
private struct Clerk {
    let id: String
    var mail: String
    var age: String
    var first = "F"
    var ssn: String?
    @Relationship() var boss: Clerk?
    @Relationship() var friends: [Clerk]?
    @Relationship() var desks: [Clerk]?
}

@EntityModel
private struct Agent {
    let id: String
    var email: String
    var age = -1
    var fullName: String
    @Relationship() var manager: Agent?
    @Relationship() var desks: Agent?
}

@EntityModel
private struct Scratch {
    let id: Int
}

private let steps: [Migration] = [
    .rename("Clerk", to: Agent.self),
    .rename(Agent.self, "mail", to: \.email),
    .rename(Agent.self, "boss", to: \.$manager),
    .convert(Agent.self, \.age, from: String.self) { text in
        guard let age = Int(text) else { throw NoNumber() }
        return age
    },
    .fill(Agent.self, \.fullName) { "\(try $0.value("first", as: String.self)) L" },
    .forget(Agent.self, "ssn"),
    .forget(Agent.self, "friends"),
    .drop("Scratch"),
]

private struct NoNumber: Error {}

@Suite("Migrations of deleted entities")
struct TombstoneMigrationTests {
    /// Ann is stored, Bob deleted. Both have a secret.
    private func file(ageOfDeleted: String = "7") throws -> MigratedFile {
        let file = try MigratedFile([]) { _ in }
        try file.open([Clerk.self, Scratch.self]) { database in
            try database.write { context in
                try Clerk(id: "ann", mail: "a@x", age: "50", ssn: "secret").save(to: &context)
                var bob = Clerk(id: "bob", mail: "b@x", age: ageOfDeleted, first: "Bob", ssn: "secret")
                bob.$boss = .id("ann")
                bob.$friends = .ids(["ann", "friend"])
                bob.$desks = .ids(["ann", "other"])
                try bob.save(to: &context)
                try Clerk.delete(id: "bob", from: &context)
                try Scratch(id: 1).save(to: &context)
                try Scratch.delete(id: 1, from: &context)
            }
        }
        return file
    }

    private func text(_ file: MigratedFile, _ tree: String) throws -> String {
        try file.entries(tree).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    @Test("a deleted entity has the new names and forms, and is restored with them and its links")
    func restored() throws {
        let file = try file()
        for _ in 1...2 {
            try file.open([Agent.self], steps) { database throws in
                let bob = try #require(try database.read { try Deleted<Agent>.query("bob").resolve(in: $0) }).entity
                #expect(bob.email == "b@x" && bob.age == 7 && bob.fullName == "Bob L" && bob.$manager.id == "ann")
            }
        }
        try file.open([Agent.self], steps) { database throws in
            try database.write { context throws in
                try #require(try Deleted<Agent>.query("bob").resolve(in: context)).restore(in: &context)
                #expect(try Agent.query("bob").related(\.$manager).resolve(in: context)?.email == "a@x")
                let bob = try #require(try Agent.query("bob").with(.ids).resolve(in: context))
                #expect(bob.age == 7 && bob.$desks.id == "ann")
                #expect(try Deleted<Agent>.query().count(in: context) == 0)
            }
        }
    }

    @Test("forgotten properties and links are in no deleted entity any more; removed ones stay")
    func forgotten() throws {
        let file = try file()
        let before = try text(file, "e:Deleted<Clerk>")
        #expect(before.contains("secret") && before.contains("friend") && before.contains("Bob"))
        try file.open([Agent.self], steps) { _ in }
        let after = try text(file, "e:Deleted<Agent>")
        #expect(!after.contains("secret") && !after.contains("friend") && !after.contains("ssn"), "\(after)")
        #expect(after.contains("Bob"))
        #expect(try !text(file, "e:Agent").contains("secret"))
        #expect(try file.entries("e:Deleted<Clerk>") == [])
    }

    @Test("the types of deleted entities are renamed and dropped with the types")
    func types() throws {
        let file = try file()
        try file.open([Agent.self], steps) { _ in }
        #expect(try file.types().map(\.name) == ["Agent", "Deleted<Agent>"])
    }

    @Test("the times of saves and of deletions stay")
    func times() throws {
        let file = try file()
        let before = try file.open([Clerk.self, Scratch.self]) { database in
            try database.read { context in
                [try Clerk.updatedAt(id: "ann", in: context), try Deleted<Clerk>.updatedAt(id: "bob", in: context)]
            }
        }
        #expect(!before.contains(nil))
        try file.open([Agent.self], steps) { database throws in
            let after = try database.read { context in
                [try Agent.updatedAt(id: "ann", in: context), try Deleted<Agent>.updatedAt(id: "bob", in: context)]
            }
            #expect(after == before)
        }
    }

    @Test("a deleted value that can't be converted is left out, and the file opens")
    func unconvertible() throws {
        try file(ageOfDeleted: "seven").open([Agent.self], steps) { database throws in
            let bob = try #require(try database.read { try Deleted<Agent>.query("bob").resolve(in: $0) }).entity
            #expect(bob.age == -1 && bob.email == "b@x" && bob.fullName == "Bob L")
        }
    }

    @Test("a type whose new name has deleted entities of its own isn't renamed over them")
    func both() throws {
        let file = try file()
        try file.open([Agent.self]) { database in
            try database.write { context in
                try Agent(id: "x", email: "", age: 1, fullName: "").save(to: &context)
                try Agent.delete(id: "x", from: &context)
            }
        }
        #expect {
            try file.open([Agent.self], steps) { _ in }
        } throws: { error in
            "\(error)".contains("entities of both, stored or deleted ones")
        }
    }
}
