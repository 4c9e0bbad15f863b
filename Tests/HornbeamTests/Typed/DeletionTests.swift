// SPDX-License-Identifier: Apache-2.0
// How a deletion handles the entities it deletes, and the store's handling of a deleted entity.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Link {
    let id: Int
    @Relationship(deleteRule: .cascade) var next: Link?
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

/// An entity that is related to others of its type in every way.
@EntityModel
private struct Knot {
    let id: Int
    @Relationship(inverse: \.groups) var members: [Knot]?
    @Relationship(inverse: \.members) var groups: [Knot]?
    @Relationship(deleteRule: .cascade, inverse: \.whole) var parts: [Knot]?
    @Relationship(inverse: \.parts) var whole: Knot?
    @Relationship() var owner: Knot?
}

/// A type with a property of each stored type.
@EntityModel
private struct Everything: Equatable {
    let id: String
    var flag: Bool
    var small: Int8
    var number: Int
    var large: UInt64
    var single: Float
    var double: Double
    var date: Date
    var other: Date?
    var uuid: UUID
    var text: String
    var note: String?
    var url: URL
    var data: Data
    var decimal: Decimal
    var list: [Int]
    var names: [String]?
    var inner: Inner
    @Relationship() var one: Everything?
    @Relationship() var many: [Everything]?
    @Relationship() var numbers: [Link]?

    struct Inner: Codable, Equatable, Sendable {
        var word: String
        var numbers: [Double]
    }
}

/// A type that chooses itself which properties its deleted entities keep.
@EntityModel
private struct Keeper {
    let id: Int
    var name: String
    var keeps: Keeps = .stored
    @Relationship() var friend: Keeper?

    enum Keeps: String, Codable { case stored, nothing, other, anonymous, stranger }

    func asDeleted(in context: Context) throws -> Deleted<Self>? {
        switch keeps {
        case .stored: .asStored(self)
        case .nothing: nil
        case .other: .asStored(Keeper(id: 99, name: "unread"))
        case .anonymous: Deleted(Keeper(id: id, name: "somebody"))
        case .stranger: .asStored(Keeper(id: 1_000, name: "a value"))
        }
    }
}

/// An entity that is restored when the entities deleted with it are gone.
@EntityModel
private struct Phoenix {
    let id: Int
    @Relationship(deleteRule: .cascade) var ash: Ash?
}

@EntityModel
private struct Ash {
    let id: Int
    func didDelete(from context: inout Context) throws { try Phoenix(id: id).save(to: &context) }
}

/// An entity that saves itself when it is deleted.
@EntityModel
private struct Sudden {
    let id: Int
    @Relationship(deleteRule: .cascade) var ash: Ash?

    func willDelete(from context: inout Context) throws {
        try Sudden(id: id, ash: .relation(Ash(id: 1))).save(to: &context)
    }
}

/// Leaves that remove each other while they are saved.
@EntityModel
private struct Tree {
    let id: Int
    @Relationship(inverse: \.tree) var leaves: [Leaf]?
}

@EntityModel
private struct Leaf {
    var id: String
    var victim: String?
    var becomes: String?
    @Relationship(inverse: \.leaves) var tree: Tree?

    mutating func willSave(to context: inout Context) throws { if let becomes { id = becomes } }
    func didSave(to context: inout Context) throws { if let victim { try Leaf.delete(id: victim, from: &context) } }
}

@Suite("Deleting")
struct DeletionTests {
    @Test("a cascade longer than a stack could hold deletes everything")
    func longChain() throws {
        var context = Context()
        let count = 20_000
        for id in 0..<count { try Link(id: id, next: .id(id + 1)).save(to: &context) }
        try Link(id: count, next: .id(0)).save(to: &context)
        try Link.delete(id: 0, from: &context)
        #expect(try Link.query().count(in: context) == 0)
        #expect(try context.isWhole())
    }

    /// Returns the ids that each knot is linked to: members, groups, parts, whole and owner.
    private func knots(_ context: Context) throws -> [Int: [[Int]]] {
        var all: [Int: [[Int]]] = [:]
        for knot in try Knot.query().with(.ids).resolve(in: context) {
            all[knot.id] = [
                knot.$members.ids ?? [], knot.$groups.ids ?? [], knot.$parts.ids ?? [],
                [knot.$whole.id].compactMap { $0 }, [knot.$owner.id].compactMap { $0 },
            ]
        }
        return all
    }

    @Test("a cascade in a circle keeps each entity with its remaining links, and restores them", .seeded)
    func circles() throws {
        struct Undo: Error {}
        var random = SeededGenerator()
        for _ in 0..<12 {
            var context = Context()
            let count = 24
            for id in 0..<count {
                let members = (0..<random.below(4)).map { _ in random.below(count) }
                let parts = (0..<random.below(3)).map { _ in random.below(count) }
                try Knot(id: id, members: .ids(members), parts: .ids(parts), owner: .id(random.below(count)))
                    .save(to: &context)
            }
            let former = try knots(context)
            let victim = random.below(count)
            #expect(throws: Undo.self) {
                try context.transaction { context in
                    try Knot.delete(id: victim, from: &context)
                    throw Undo()
                }
            }
            #expect(try knots(context) == former)
            var gone: Set<Int> = []
            var waiting = [victim]
            while let next = waiting.popLast() {
                if gone.insert(next).inserted { waiting += former[next]?[2] ?? [] }
            }
            try Knot.delete(id: victim, from: &context)
            #expect(Set(try context.ids(Deleted<Knot>.self)) == gone)
            let left = former.filter { !gone.contains($0.key) }
            #expect(
                try knots(context)
                    == left.mapValues { lists in lists.map { list in list.filter { !gone.contains($0) } } })
            #expect(try context.isWhole())
            for kept in try Deleted<Knot>.query().resolve(in: context) { try kept.restore(in: &context) }
            // Only the end that was deleted first has kept a mutual link. No end has recorded its owner.
            func mutual(_ knots: [Int: [[Int]]]) -> [Int: [[Int]]] {
                knots.mapValues { lists in lists.dropLast().map { $0.sorted() } }
            }
            #expect(try mutual(knots(context)) == mutual(former))
            #expect(try context.isWhole())
        }
    }

    private func sample(_ id: String, date: Date, text: String = "plain", double: Double = 0.1) -> Everything {
        Everything(
            id: id, flag: true, small: -128, number: .min, large: .max, single: 1.5, double: double, date: date,
            uuid: UUID(), text: text, url: URL(string: "https://example.org/a?b=%22c")!, data: Data([0, 255]),
            decimal: Decimal(string: "-12.50")!, list: [3, -1], inner: .init(word: "\"w\"", numbers: [.pi]))
    }

    private static let dates: [Double] = [
        0, -0.0, 1, -1, 86_399, 86_400, -86_401, 0.25, -0.25, 700_000_000, -978_307_201, 1e11, -6.3e10, 3e11, -1e11,
        1e300, .infinity, 725_760_000.123456,
    ]

    @Test("the stored form is the one that `Deleted` itself writes, for values of all types", arguments: dates)
    func copies(_ seconds: Double) throws {
        var context = Context()
        for (text, double) in [
            ("plain", 0.1), ("\"quoted\" \\ \n\u{1} ünï 🌍", .infinity), ("", .nan), ("\u{7F}", -0.0),
        ] {
            var sample = sample(
                "a/\"b", date: Date(timeIntervalSinceReferenceDate: seconds), text: text, double: double)
            if double > 0 { (sample.note, sample.other, sample.names) = ("n", sample.date, ["x\"", ""]) }
            sample.$one = .id("one \"1\"")
            sample.$many = .ids(["b", "a/\"b", "c"])
            sample.$numbers = .ids([5, 1_099_511_627_775, -3])
            try sample.save(to: &context)
            func kept() throws -> [String?] {
                var texts: [String?] = []
                let store = try context.session.core.store("Deleted<Everything>")
                try store.forEachRow { _, row in
                    texts = [try row.value(0).text, try row.string(1), try row.string(2)]
                    return false
                }
                return texts
            }
            let whole = try #require(try Everything.query(sample.id).with(.ids).resolve(in: context))
            try context.insert(Deleted(whole))
            let expected = try kept()
            try sample.save(to: &context)
            #expect(try Deleted<Everything>.query().count(in: context) == 0)
            try sample.delete(from: &context)
            #expect(try kept() == expected)
            #expect(expected[1]?.contains("updatedAt") == false)
            let back = try #require(try context.find(sample.id) as Deleted<Everything>?)
            #expect(back.entity.date == sample.date && back.entity.text == text && back.entity.inner == sample.inner)
            #expect(back.entity.$many.ids == ["b", "a/\"b", "c"] && back.entity.$numbers.ids?.count == 3)
            try Deleted<Everything>.purge(before: nil, from: &context)
            #expect(try context.isWhole())
        }
    }

    @Test("the stored entity is kept, with any content of the deleted value")
    func asStored() throws {
        var context = Context()
        try Keeper(id: 1, name: "stored", friend: .id(2)).save(to: &context)
        try Keeper(id: 1, name: "never saved").delete(from: &context)
        let kept = try #require(try context.find(1) as Deleted<Keeper>?)
        #expect(kept.entity.name == "stored" && kept.entity.$friend.id == 2)
        try kept.restore(in: &context)
        #expect(try Keeper.query(1).with(.ids).resolve(in: context)?.$friend.id == 2)
    }

    @Test("a type keeps the stored entity, nothing, a value of its own, or another entity")
    func ownRules() throws {
        var context = Context()
        try Keeper(id: 99, name: "stored 99", friend: .id(1)).save(to: &context)
        for (id, keeps) in [
            (1, Keeper.Keeps.stored), (2, .nothing), (3, .other), (4, .anonymous), (5, .stranger),
        ] {
            try Keeper(id: id, name: "stored \(id)", keeps: keeps).save(to: &context)
            try Keeper.delete(id: id, from: &context)
        }
        let kept = try Deleted<Keeper>.query().resolve(in: context).map { "\($0.id) \($0.entity.name)" }
        #expect(kept.sorted() == ["1 stored 1", "1000 a value", "4 somebody", "99 stored 99"])
    }

    @Test("a mark that is saved by hand stands for the stored entity too")
    func savedMark() throws {
        var context = Context()
        try Keeper(id: 1, name: "stored", friend: .id(2)).save(to: &context)
        try Deleted.asStored(Keeper(id: 1, name: "unread")).save(to: &context)
        #expect(try context.find(1) as Keeper? == nil)
        let kept = try #require(try context.find(1) as Deleted<Keeper>?)
        #expect(kept.entity.name == "stored" && kept.entity.$friend.id == 2)
    }

    @Test("a mark isn't inserted in place of a stored entity; saved after the deletion it keeps the links")
    func markOfTheDeleted() throws {
        var context = Context()
        try Keeper(id: 1, name: "stored", friend: .id(2)).save(to: &context)
        let mark = Deleted.asStored(Keeper(id: 1, name: "unread"))
        let error = #expect(throws: HornbeamError.self) { try context.insert(mark) }
        #expect(error?.message.contains("asStored(1)") == true)
        #expect(try Keeper.query(1).resolve(in: context)?.name == "stored")
        try Keeper.delete(id: 1, from: &context)
        try mark.save(to: &context)
        let kept = try #require(try context.find(1) as Deleted<Keeper>?)
        #expect(kept.entity.name == "stored" && kept.entity.$friend.id == 2)
    }

    @Test("an entity that a hook saves again during its deletion is stored, and not deleted too")
    func savedAgain() throws {
        var context = Context()
        try Phoenix(id: 1, ash: .relation(Ash(id: 1))).save(to: &context)
        try Phoenix.delete(id: 1, from: &context)
        #expect(try context.ids(Phoenix.self) == [1] && context.ids(Ash.self) == [])
        #expect(try context.ids(Deleted<Phoenix>.self) == [] && context.ids(Deleted<Ash>.self) == [1])
        #expect(try context.isWhole())
    }

    @Test("links to entities that hooks remove or rename while they are saved lead to ids that are known")
    func hooksThatRemove() throws {
        var context = Context()
        try Tree(id: 1, leaves: .relation([Leaf(id: "a"), Leaf(id: "b", victim: "a")])).save(to: &context)
        #expect(try Tree.query(1).with(.ids).resolve(in: context)?.$leaves.ids == ["a", "b"])
        #expect(try context.ids(Leaf.self) == ["b"])
        #expect(try context.isWhole())
        try Tree(id: 1, leaves: .relation([Leaf(id: "b"), Leaf(id: "c", becomes: "d")])).save(to: &context)
        #expect(try Tree.query(1).with(.ids).resolve(in: context)?.$leaves.ids == ["b", "d"])
        #expect(try context.ids(Leaf.self) == ["b", "d"])
        #expect(try context.isWhole())
        try Tree(id: 2, leaves: .relation([Leaf(id: "e"), Leaf(id: "b")])).save(to: &context)
        #expect(try Tree.query(2).with(.ids).resolve(in: context)?.$leaves.ids == ["e", "b"])
        #expect(try Tree.query(1).with(.ids).resolve(in: context)?.$leaves.ids == ["d"])
        #expect(try context.isWhole())
    }

    @Test("deleting an unstored value removes the links of its id, and none of its targets")
    func unsaved() throws {
        var context = Context()
        try [Link(id: 2, next: .id(3)), Link(id: 3)].save(to: &context)
        let unsaved = Link(id: 1, next: .id(2))
        try unsaved.save(\.$next, to: &context)
        #expect(try context.session.store(Link.self).mayMiss())
        try unsaved.delete(from: &context)
        #expect(try context.ids(Link.self) == [2, 3])
        #expect(try context.session.store(Link.self).mayMiss() == false)
        // An entity that a hook saves while it is deleted is stored, and is removed with everything that its rules
        // delete.
        try Sudden(id: 1).delete(from: &context)
        #expect(try context.ids(Sudden.self) == [] && context.ids(Ash.self) == [])
        #expect(try context.ids(Deleted<Ash>.self) == [1])
        #expect(try context.isWhole())
    }

    @Test("some entities of a relation are detached and deleted by an array of ids")
    func arrays() throws {
        var context = Context()
        let knot = Knot(id: 1, members: .relation((2...6).map { Knot(id: $0) }), owner: .id(2))
        try knot.save(to: &context)
        try knot.detach([2, 4, 99], relation: \.$members, inverse: \.$groups, in: &context)
        #expect(try Knot.query(1).related(\.$members).ids(in: context) == [3, 5, 6])
        try knot.delete([3, 4, 6], relation: \.$members, inverse: \.$groups, from: &context)
        #expect(try context.ids(Knot.self) == [1, 2, 4, 5])
        try knot.detach([3], relation: \.$owner, in: &context)
        #expect(try Knot.query(1).related(\.$owner).resolve(in: context)?.id == 2)
        try knot.delete([2], relation: \.$owner, from: &context)
        #expect(try context.ids(Knot.self) == [1, 4, 5])
        #expect(try context.isWhole())
    }
}
