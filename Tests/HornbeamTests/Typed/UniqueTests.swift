// SPDX-License-Identifier: Apache-2.0
// Unique indexes and their rules for collisions. A refused save leaves nothing behind, in no index.

import Hornbeam
import Testing
@testable import HornbeamEngine

@EntityModel
private struct Account: Equatable {
    @Unique<Self>(\.username, collisions: .upsert) private var uniqueUsername
    @Unique<Self>(\.email, collisions: .throw) private var uniqueEmail
    @Unique<Self>(\.phone, \.area, collisions: .throw) private var uniquePhone
    @Unique<Self>(\.isCurrent, collisions: .updateCurrentUser) private var currentUserIndex
    @FullTextIndex<Self>(\.about) private var search

    let id: String
    let username: String
    var email: String
    var phone: String? = nil
    var area: Int? = nil
    var isCurrent = false
    var about = ""
    @Relationship() var friend: Account?
    @Relationship(deleteRule: .cascade) var notes: [Note]?
}

@EntityModel
private struct Note {
    let id: String
}

extension CollisionResolver where Entity == Account {
    fileprivate static var updateCurrentUser: Self {
        CollisionResolver { existingId, _, _, context in
            guard var user = try Query<Entity>(context: context, id: existingId).resolve(), user.isCurrent else {
                return
            }
            user.isCurrent = false
            try user.save(to: &context)
        }
    }
}

@Suite("Unique indexes")
struct UniqueTests {
    private func account(_ id: String, _ name: String, _ email: String) -> Account {
        Account(id: id, username: name, email: email)
    }

    @Test("upsert deletes the entity that holds the key, by the rules of a deletion")
    func upsert() throws {
        var context = Context()
        var old = account("1", "bob", "a@x")
        old.$notes = .relation([Note(id: "n")])
        try old.save(to: &context)
        try account("2", "bob", "b@x").save(to: &context)
        #expect(try context.ids(Account.self) == ["2"])
        #expect(try context.ids(Note.self) == [])
        try account("2", "bob", "c@x").save(to: &context)
        #expect(try context.ids(Account.self) == ["2"])
    }

    @Test("throw refuses, names index and entities, and leaves nothing: no row, no id, no key of another index")
    func refusal() throws {
        var context = Context()
        try account("1", "bob", "a@x").save(to: &context)
        var other = account("2", "ann", "a@x")
        other.about = "ghost"
        let error = #expect(throws: HornbeamError.self) { try other.save(to: &context) }
        #expect(error?.code == .uniqueViolation)
        for part in ["Account \"2\"", "Account \"1\"", "“uniqueEmail”", "email \"a@x\""] {
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "") lacks \(part)")
        }
        #expect(error?.violation?.values == [.string("a@x")])
        #expect(try context.ids(Account.self) == ["1"])
        #expect(try Account.filter(\.username == "ann").count(in: context) == 0)
        #expect(try Account.filter(.string(\.about, matches: "ghost")).count(in: context) == 0)
        // This username would be taken if the refused save had stored it.
        try account("3", "ann", "c@x").save(to: &context)
        #expect(try context.ids(Account.self) == ["1", "3"])
    }

    @Test("throw comes before upsert: a refused save has deleted nothing")
    func refusalBeforeUpsert() throws {
        var context = Context()
        try account("1", "bob", "a@x").save(to: &context)
        try account("2", "ann", "b@x").save(to: &context)
        #expect(throws: HornbeamError.self) { try account("3", "bob", "b@x").save(to: &context) }
        #expect(try context.ids(Account.self) == ["1", "2"])
    }

    @Test("a refused entity nested in another refuses the whole save")
    func nestedRefusal() throws {
        var context = Context()
        try account("1", "bob", "a@x").save(to: &context)
        var outer = account("2", "ann", "b@x")
        outer.$friend = .relation(account("3", "eve", "a@x"))
        #expect(throws: HornbeamError.self) { try outer.save(to: &context) }
        #expect(try context.ids(Account.self) == ["1"])
    }

    @Test("a key with a nil in it never collides, a whole one does")
    func nilComponents() throws {
        var context = Context()
        for id in 1...3 {
            var one = account("\(id)", "u\(id)", "\(id)@x")
            one.phone = "1234"
            try one.save(to: &context)
        }
        #expect(try context.ids(Account.self).count == 3)
        var one = account("1", "u1", "1@x")
        (one.phone, one.area) = ("1234", 30)
        try one.save(to: &context)
        var two = account("2", "u2", "2@x")
        (two.phone, two.area) = ("1234", 30)
        #expect(throws: HornbeamError.self) { try two.save(to: &context) }
    }

    @Test("a custom resolver makes room, and entities that it leaves may keep the key")
    func customResolver() throws {
        var context = Context()
        for id in 1...4 {
            var one = account("\(id)", "u\(id)", "\(id)@x")
            one.isCurrent = id > 2
            try one.save(to: &context)
        }
        #expect(try Account.filter(\.isCurrent == true).ids(in: context) == ["4"])
        #expect(try Account.filter(\.isCurrent == false).ids(in: context).sorted() == ["1", "2", "3"])
        var first = try #require(try context.find("1") as Account?)
        first.isCurrent = true
        try first.save(to: &context)
        #expect(try Account.filter(\.isCurrent == true).ids(in: context) == ["1"])
        try first.save(to: &context)
        #expect(try Account.filter(\.isCurrent == true).ids(in: context) == ["1"])
    }

    @Test("a resolver that throws ends the save with its own error")
    func throwingResolver() throws {
        var context = Context()
        try Slot(id: 1, place: 7).save(to: &context)
        #expect(throws: Slot.Taken(by: 1, wanted: 2, index: "byPlace")) { try Slot(id: 2, place: 7).save(to: &context) }
        #expect(try context.ids(Slot.self) == [1])
    }

    @Test("an entity may take over a key that another gave up")
    func handOver() throws {
        var context = Context()
        try account("1", "bob", "a@x").save(to: &context)
        try account("1", "bob", "z@x").save(to: &context)
        try account("2", "ann", "a@x").save(to: &context)
        try Account.delete(id: "2", from: &context)
        try account("3", "eve", "a@x").save(to: &context)
        #expect(try context.ids(Account.self) == ["1", "3"])
    }
}

@EntityModel
private struct Slot {
    @Unique<Self>(\.place, collisions: .refusing) private var byPlace
    let id: Int
    var place: Int

    struct Taken: Error, Equatable {
        let by: Int, wanted: Int
        let index: String
    }
}

extension CollisionResolver where Entity == Slot {
    fileprivate static var refusing: Self {
        CollisionResolver { (existing: Int, wanted: Int, index, context) in
            throw Slot.Taken(by: existing, wanted: wanted, index: index)
        }
    }
}
