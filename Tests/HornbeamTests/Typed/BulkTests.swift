// SPDX-License-Identifier: Apache-2.0
// Deleting and changing the results of a query, compared with deleting and changing them one by one.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Crate: Equatable {
    @Index<Self>(\.size) private var bySize
    let id: String
    var size: Int
    var note: String?
    @Relationship(deleteRule: .cascade, inverse: \.crate) var parts: [Part]?
    @Relationship(inverse: \.inner) var outer: Crate?
    @Relationship(inverse: \.outer) var inner: [Crate]?
}

@EntityModel
private struct Part: Equatable {
    let id: Int
    @Relationship(inverse: \.parts) var crate: Crate?
}

@EntityModel
private struct Node {
    let id: Int
    @Relationship(deleteRule: .deny, inverse: \.parent) var children: [Node]?
    @Relationship(inverse: \.children) var parent: Node?
}

@EntityModel
private struct Seat: Equatable {
    @Unique<Self>(\.place, collisions: .throw) private var byPlace
    let id: Int
    var place: Int
}

/// A type whose entities are restored whenever they are deleted.
@EntityModel
private struct Weed {
    let id: Int
    func didDelete(from context: inout Context) throws { try save(to: &context) }
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

/// A type in which deleting an entity unmarks the next one, marks a much later one, and sometimes restores the
/// entity.
@EntityModel
private struct Rival {
    @Index<Self>(\.isMarked) private var byMark
    let id: Int
    var isMarked: Bool
    func didDelete(from context: inout Context) throws {
        if var next: Rival = try context.find(id + 1), id < 19 {
            next.isMarked = false
            try next.save(to: &context)
        }
        if id < 10 {
            try save(to: &context)
            try Rival(id: id + 20, isMarked: true).save(to: &context)
        }
    }
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

@Suite("Bulk deletes and updates")
struct BulkTests {
    private func fill(_ context: inout Context, _ count: Int = 50) throws {
        for id in 0..<count {
            try Crate(
                id: "c\(id)", size: id % 7, note: id % 3 == 0 ? nil : "n\(id)",
                parts: .relation((0..<id % 4).map { Part(id: id * 10 + $0) }),
                outer: id == 0 ? .null : .id("c\(id / 2)")
            ).save(to: &context)
        }
    }

    private func state(_ context: Context) throws -> [String] {
        let crates: [Crate] = try context.all()
        let links = try Crate.query().id(\.$parts).id(\.$outer).id(\.$inner).resolve(in: context)
        return crates.map { "\($0.id) \($0.size) \($0.note ?? "")" }
            + links.map { "\($0.$parts.ids ?? []) \($0.$outer.id ?? "") \($0.$inner.ids ?? [])" }
            + (try context.ids(Part.self)).map { "\($0)" } + (try context.ids(Deleted<Crate>.self))
            + (try context.ids(Deleted<Part>.self)).map { "\($0)" }
    }

    @Test("a bulk delete has the effect of single deletes in the same order, for every query")
    func likeSingle() throws {
        try expectLikeSingle("all", Crate.query())
        try expectLikeSingle("index", Crate.filter(\.size == 3))
        try expectLikeSingle("rest", Crate.filter(\.note != nil))
        try expectLikeSingle("range", Crate.filter(\.size > 1 && \.size < 5))
        try expectLikeSingle("ids", Crate.query(["c4", "c1", "x", "c9"]))
        try expectLikeSingle("part", Crate.query().sorted(by: \.size.desc).limit(9, offset: 2), isEmptied: false)
        try expectLikeSingle("sorted", Crate.filter(\.size < 3).sorted(by: \.size.desc))
        try expectLikeSingle("leaves", Crate.filter(\.$inner.count == 0), isEmptied: false)
        try expectLikeSingle("related", Crate.query("c1").related(\.$inner))
        try expectLikeSingle("repeated", Crate.query().related(\.$outer), isEmptied: false)
        try expectLikeSingle("nothing", Crate.filter(\.size > 100))
        try expectLikeSingle("either", Crate.filter(\.size == 1).or(\.note == "n4"))
        try expectLikeSingle("tested", Crate.filter(.string(\.note, passes: "long") { $0.count > 2 }))
    }

    private func expectLikeSingle(_ name: String, _ query: QueryList<Crate>, isEmptied: Bool = true) throws {
        let bulk = try Database.inMemory(models: Crate.self)
        let single = try Database.inMemory(models: Crate.self)
        for database in [bulk, single] { try database.write { try fill(&$0) } }
        let found = try bulk.write { context in try query.delete(from: &context) }
        let wanted = try single.write { context in
            let ids = try query.ids(in: context)
            for id in ids { try Crate.delete(id: id, from: &context) }
            return Set(ids).count
        }
        #expect(found == wanted, "\(name)")
        let (left, right) = (try bulk.read { try state($0) }, try single.read { try state($0) })
        #expect(left == right, "\(name)")
        let remaining = try bulk.read { try query.count(in: $0) }
        #expect(remaining == 0 || !isEmptied, "\(name)")
        let isSound = try bulk.check()
        #expect(isSound)
    }

    @Test("observers get each entity, the cascade's too")
    func observed() throws {
        let database = try Database.inMemory(models: Crate.self)
        try database.write { try fill(&$0) }
        let observation = Observation(StoreChangesResult(), of: database)
        observation.start()
        defer { observation.finish() }
        _ = try observation.poll()
        let (ids, parts) = try database.read { context in
            let crates = Crate.filter(\.size == 2)
            return (try crates.ids(in: context), try crates.related(\.$parts).flatMap().ids(in: context))
        }
        try database.write { context in _ = try Crate.filter(\.size == 2).delete(from: &context) }
        let changes = try #require(try observation.poll())
        #expect(Set(changes.deleted(Crate.self)) == Set(ids) && Set(changes.deleted(Part.self)) == Set(parts))
        #expect(!parts.isEmpty)
        try database.write { context in
            _ = try Crate.filter(\.size == 3).update(in: &context) { $0.note = "changed" }
        }
        let updated = try #require(try observation.poll()).updated(Crate.self)
        #expect(try Set(updated) == Set(database.read { try Crate.filter(\.size == 3).ids(in: $0) }))
    }

    @Test("a denied deletion changes nothing; links within the same deletion deny nothing, in any order")
    func denied() throws {
        var context = Context()
        for id in 1...6 { try Node(id: id, parent: id == 1 ? .null : .id(id / 2)).save(to: &context) }
        let error = #expect(throws: HornbeamError.self) { try Node.filter(\.id < 4).delete(from: &context) }
        #expect(error?.code == .deleteDenied)
        #expect(try context.ids(Node.self) == [1, 2, 3, 4, 5, 6])
        // Only the present leaves, not those that the deletion makes leaves.
        let leaves = Node.filter(.none(\.$children))
        #expect(try leaves.delete(from: &context) == 3)
        #expect(try context.ids(Node.self) == [1, 2, 3])
        #expect(try Node.query().delete(from: &context) == 3)
        #expect(try Node.query().count(in: context) == 0)
        // Deleted entities no longer count.
        try Node(id: 1, children: .ids([2])).save(to: &context)
        try Node(id: 2).save(to: &context)
        #expect(throws: HornbeamError.self) { try Node.delete(id: 1, from: &context) }
    }

    @Test("a hook that brings entities back doesn't keep it from ending, and a read refuses it")
    func hooks() throws {
        let database = try Database.inMemory(models: Weed.self)
        let count = try database.write { context in
            for id in 0..<20 { try Weed(id: id).save(to: &context) }
            return try Weed.query().delete(from: &context)
        }
        #expect(count == 20)
        #expect(try database.read { try Weed.query().count(in: $0) } == 20)
        #expect {
            try database.read { context in
                var context = context
                _ = try Weed.query().delete(from: &context)
            }
        } throws: { ($0 as? HornbeamError)?.code == .readOnly }
        let one = try database.write { context in
            (try Weed.query(3).delete(from: &context), try Weed.query(33).delete(from: &context))
        }
        #expect(one.0 && !one.1)
    }

    @Test("the deleted entities are determined before the first hook runs, despite changes by hooks")
    func settled() throws {
        var context = Context()
        for id in 0..<30 { try Rival(id: id, isMarked: id < 20).save(to: &context) }
        // Each one marks an unmarked one and unmarks the next, and the lower half is restored.
        #expect(try Rival.filter(\.isMarked == true).delete(from: &context) == 20)
        let left: [Rival] = try context.all()
        #expect(left.map(\.id) == Array(0..<10) + Array(20..<30))
        // The restored entities are as they were when their turn came.
        #expect(left.filter(\.isMarked).map(\.id) == [0] + Array(20..<30))
    }

    @Test("an update saves each entity changed, keeps links, and is undone as a whole")
    func updates() throws {
        var context = Context()
        try fill(&context)
        let before = try state(context)
        let links = try Crate.query().id(\.$parts).resolve(in: context).map { $0.$parts.ids }
        struct Stop: Error {}
        var seen = 0
        #expect(throws: Stop.self) {
            try Crate.query().update(in: &context) { crate in
                crate.size += 1
                seen += 1
                if seen == 30 { throw Stop() }
            }
        }
        #expect(try state(context) == before)
        let count = try Crate.filter(\.size == 3).update(in: &context) { crate in
            crate.size = 100
            crate.note = nil
        }
        #expect(count == 7)
        #expect(try Crate.filter(\.size == 100 && \.note == nil).count(in: context) == 7)
        #expect(try Crate.filter(\.size == 3).count(in: context) == 0)
        #expect(try Crate.query().id(\.$parts).resolve(in: context).map { $0.$parts.ids } == links)
        let isFound = try Crate.query("c1").update(in: &context) { $0.$parts = .ids([]) }
        #expect(try Crate.query("c1").related(\.$parts).count(in: context) == 0)
        let isNone = try !Crate.query("none").update(in: &context) { $0.size = 1 }
        #expect(isFound && isNone)
    }

    @Test("each entity is changed once, though the change moves it in the order; unique keys may change hands")
    func moving() throws {
        var context = Context()
        for id in 0..<3_000 { try Seat(id: id, place: id).save(to: &context) }
        let moved = try Seat.query().sorted(by: \.place).update(in: &context) { $0.place += 1 }
        #expect(moved == 3_000)
        let seats: [Seat] = try context.all()
        #expect(seats.allSatisfy { $0.place == $0.id + 1 })
        #expect {
            try Seat.query().update(in: &context) { $0.place = 7 }
        } throws: { ($0 as? HornbeamError)?.code == .uniqueViolation }
        let after: [Seat] = try context.all()
        #expect(after == seats)
        for id in 0..<2_500 { try Part(id: id).save(to: &context) }
        for id in 0..<2_500 { try Crate(id: "m\(id)", size: id).save(to: &context) }
        let grown = try Crate.filter(\.size >= 0).sorted(by: \.size).update(in: &context) { $0.size += 2 }
        #expect(grown == 2_500)
        #expect(try Crate.query().min(\.size, in: context) == 2)
        #expect(try Crate.query().max(\.size, in: context) == 2_501)
        #expect {
            try Part.filter(\.id == 3).update(in: &context) { $0 = Part(id: 4) }
        } throws: { ($0 as? HornbeamError)?.code == .identityChanged && "\($0)".contains("Part 3") }
    }
}
