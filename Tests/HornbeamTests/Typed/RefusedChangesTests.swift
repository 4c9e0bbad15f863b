// SPDX-License-Identifier: Apache-2.0
// Saves and deletions that are refused midway in a write that continues leave nothing behind. Hooks and resolvers
// that would run for ever are ended.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Inner {
    @Unique<Self>(\.key, collisions: .throw) private var byKey
    let id: Int
    var key: Int
}

@EntityModel
private struct Outer {
    let id: Int
    @Relationship() var inner: Inner?
}

/// An entity that saves another one once it is stored, and ignores a refusal.
@EntityModel
private struct Trigger {
    let id: Int
    func didSave(to context: inout Context) throws {
        try? Outer(id: 1, inner: .relation(Inner(id: 2, key: 1))).save(to: &context)
    }
}

private struct Refused: Error {}

@EntityModel
private struct Witness {
    let id: Int
    var note = "before"
}

/// An entity with two indexes: the rule of the first changes something, that of the second refuses.
@EntityModel
private struct Place {
    @Unique<Self>(\.row, collisions: .noting) private var byRow
    @Unique<Self>(\.seat, collisions: .refusing) private var bySeat
    let id: Int
    var row: Int
    var seat: Int
}

extension CollisionResolver<Place> {
    fileprivate static var noting: Self {
        Self { _, _, _, context in try Witness(id: 1, note: "changed").save(to: &context) }
    }
    fileprivate static var refusing: Self { Self { _, _, _, _ in throw Refused() } }
}

/// An entity whose holder of a wanted key is deleted, unless it is locked.
@EntityModel
private struct Guest {
    @Unique<Self>(\.name, collisions: .replace) private var byName
    @Unique<Self>(\.mail, collisions: .replace) private var byMail
    let id: Int
    var name: String
    var mail: String
    var isLocked = false
    var isRefusedAtLast = false

    func willDelete(from context: inout Context) throws { if isLocked { throw Refused() } }
    func didSave(to context: inout Context) throws { if isRefusedAtLast { throw Refused() } }
}

@EntityModel
private struct Album {
    let id: Int
    @Relationship(deleteRule: .cascade) var photos: [Photo]?
    @Relationship() var covers: [Photo]?
}

@EntityModel
private struct Photo {
    let id: Int
    var isLocked = false
    func willDelete(from context: inout Context) throws { if isLocked { throw Refused() } }
}

/// An entity that links the entities deleted with it while it is deleted.
@EntityModel
private struct Parting {
    let id: Int
    @Relationship(deleteRule: .cascade) var letters: [Letter]?

    func willDelete(from context: inout Context) throws {
        try Parting(id: id, letters: .relation([Letter(id: 1), Letter(id: 2, isLocked: id == 2)])).save(to: &context)
    }
}

@EntityModel
private struct Letter {
    let id: Int
    var isLocked = false
    func willDelete(from context: inout Context) throws { if isLocked { throw Refused() } }
}

@Suite("Changes that are refused midway")
struct RefusedChangesTests {
    @Test("leave nothing behind, if a hook has made them")
    func inHook() throws {
        let database = try Database.inMemory(models: Inner.self, Outer.self, Trigger.self)
        try database.write { context in
            try Inner(id: 1, key: 1).save(to: &context)
            try Trigger(id: 1).save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try context.ids(Trigger.self) == [1])
            #expect(try context.ids(Inner.self) == [1])
            #expect(try context.ids(Outer.self) == [])
        }
    }

    @Test("leave an entity and the ones that its own hook has linked, if one of these refuses")
    func linkedByHook() throws {
        let database = try Database.inMemory(models: Parting.self, Letter.self)
        try database.write { context in
            for id in 1...2 { try Parting(id: id).save(to: &context) }
        }
        try database.write { (context) throws in
            #expect(throws: Refused.self) { try Parting.delete(id: 2, from: &context) }
            // The write continues.
            try Letter(id: 3).save(to: &context)
        }
        try database.read { (context) throws in
            #expect(try context.ids(Parting.self) == [1, 2] && context.ids(Letter.self) == [1, 2, 3])
            #expect(try Parting.query(2).related(\.$letters).ids(in: context) == [1, 2])
            #expect(try context.ids(Deleted<Letter>.self) == [] && context.ids(Deleted<Parting>.self) == [])
        }
        try database.write { context in try Parting.delete(id: 1, from: &context) }
        try database.read { (context) throws in
            #expect(try context.ids(Parting.self) == [2] && context.ids(Letter.self) == [3])
            #expect(try context.isWhole())
        }
    }

    @Test("leave nothing of a resolver's changes before another one refused")
    func resolvers() throws {
        var context = Context()
        try Witness(id: 1).save(to: &context)
        try [Place(id: 1, row: 1, seat: 1), Place(id: 2, row: 2, seat: 2)].save(to: &context)
        #expect(throws: Refused.self) { try Place(id: 3, row: 1, seat: 2).save(to: &context) }
        #expect((try context.find(1) as Witness?)?.note == "before")
        #expect(try context.ids(Place.self) == [1, 2])
        // Changes that aren't refused are made.
        try Place(id: 3, row: 1, seat: 3).save(to: &context)
        #expect((try context.find(1) as Witness?)?.note == "changed")
        #expect(try context.isWhole())
    }

    @Test("leave the holders of the wanted keys, if one of them refuses, or its own hook throws")
    func upserts() throws {
        var context = Context()
        try Guest(id: 1, name: "ann", mail: "a@x").save(to: &context)
        try Guest(id: 2, name: "bob", mail: "b@x", isLocked: true).save(to: &context)
        #expect(throws: Refused.self) { try Guest(id: 3, name: "ann", mail: "b@x").save(to: &context) }
        #expect(try context.ids(Guest.self) == [1, 2])
        #expect(try context.ids(Deleted<Guest>.self) == [])
        #expect(throws: Refused.self) {
            try Guest(id: 3, name: "ann", mail: "c@x", isRefusedAtLast: true).save(to: &context)
        }
        #expect(try Guest.query().resolve(in: context).map(\.name) == ["ann", "bob"])
        try Guest(id: 3, name: "ann", mail: "c@x").save(to: &context)
        #expect(try context.ids(Guest.self) == [2, 3])
        #expect(try context.isWhole())
    }

    @Test("leave all of a cascade, if one of its entities refuses")
    func cascades() throws {
        var context = Context()
        let photos = (1...3).map { Photo(id: $0, isLocked: $0 == 3) }
        let album = Album(id: 1, photos: .relation(photos), covers: .ids([1, 3]))
        try album.save(to: &context)
        #expect(throws: Refused.self) { try album.delete(from: &context) }
        #expect(throws: Refused.self) { try Album.delete(id: 1, from: &context) }
        #expect(throws: Refused.self) { try album.delete(\.$covers, from: &context) }
        #expect(throws: Refused.self) { try album.delete(1, 3, relation: \.$covers, from: &context) }
        #expect(try context.ids(Photo.self) == [1, 2, 3])
        #expect(try context.ids(Deleted<Photo>.self) == [])
        let links = try Album.query(1).with(.ids).resolve(in: context)
        #expect(links?.$photos.ids == [1, 2, 3] && links?.$covers.ids == [1, 3])
        // Unlinked ones stay.
        try album.delete(1, 2, 1, relation: \.$covers, from: &context)
        #expect(try context.ids(Photo.self) == [2, 3])
        try Photo(id: 3).save(to: &context)
        try album.delete(from: &context)
        #expect(try context.ids(Photo.self) == [])
        #expect(try context.isWhole())
    }

    @Test("are refused in a read as such, whichever entity would be deleted for a key")
    func reads() throws {
        let database = try Database.inMemory(models: Guest.self, Album.self, Photo.self)
        try database.write { context in
            try Guest(id: 1, name: "ann", mail: "a@x").save(to: &context)
            try Album(id: 1, photos: .relation([Photo(id: 1)])).save(to: &context)
        }
        try database.read { context in
            var context = context
            let save = #expect(throws: HornbeamError.self) {
                try Guest(id: 2, name: "ann", mail: "b@x").save(to: &context)
            }
            #expect(save?.code == .readOnly && save?.message.hasPrefix("Guest 2 can't be saved") == true)
            let delete = #expect(throws: HornbeamError.self) { try Album(id: 1).delete(from: &context) }
            #expect(delete?.code == .readOnly && delete?.message.hasPrefix("Album 1 can't be deleted") == true)
        }
    }
}

// MARK: - Without end

/// The present holder of the place moves on by one.
@EntityModel
private struct Bench {
    @Unique<Self>(\.place, collisions: .movingOn) private var byPlace
    let id: Int
    var place: Int
}

extension CollisionResolver<Bench> {
    fileprivate static var movingOn: Self {
        Self { existing, _, _, context in
            guard var other = try context.find(existing) as Bench? else { return }
            other.place += 1
            try other.save(to: &context)
        }
    }
}

/// Two types whose entities save each other.
@EntityModel
private struct Ping {
    let id: Int
    func didSave(to context: inout Context) throws { try Pong(id: id + 1).save(to: &context) }
}

@EntityModel
private struct Pong {
    let id: Int
    mutating func willSave(to context: inout Context) throws { try Ping(id: id + 1).save(to: &context) }
}

/// A chain whose hooks delete its entities one after the other.
@EntityModel
private struct Domino {
    let id: Int
    func didDelete(from context: inout Context) throws { try Domino.delete(id: id + 1, from: &context) }
}

@Suite("Hooks and resolvers without end")
struct EndlessChangesTests {
    private func refusal(_ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: HornbeamError.self, sourceLocation: location) { try body() }
        #expect(error?.code == .invalid, sourceLocation: location)
        for part in ["can't be", "32", "hook", "resolver"] {
            #expect(error?.message.contains(part) == true, "\(part)", sourceLocation: location)
        }
    }

    @Test("of resolvers are refused, their changes undone, and the write continues")
    func resolvers() async throws {
        try await inSmallThread {
            var context = Context()
            try context.saveAll((0..<1_000).map { Bench(id: $0, place: $0) })
            refusal { try Bench(id: -1, place: 0).save(to: &context) }
            #expect(try Bench.query().resolve(in: context).map(\.place) == Array(0..<1_000))
            #expect(try Bench.query(-1).resolve(in: context) == nil)
            // A short chain of moves is allowed.
            try Bench(id: -1, place: 990).save(to: &context)
            #expect(try Bench.query(999).resolve(in: context)?.place == 1_000)
            #expect(try context.isWhole())
        }
    }

    @Test("of saves are refused, and the write can't be committed even if that is caught")
    func hooks() async throws {
        try await inSmallThread {
            let database = try Database.inMemory(models: Ping.self, Pong.self)
            refusal { try database.write { try Ping(id: 0).save(to: &$0) } }
            refusal { try database.write { try? Ping(id: 0).save(to: &$0) } }
            try database.write { (context) throws in
                refusal { try context.transaction { try Ping(id: 0).save(to: &$0) } }
                #expect(try context.ids(Ping.self) == [] && context.ids(Pong.self) == [])
            }
            #expect(try database.read { try $0.ids(Ping.self) } == [])
        }
    }

    @Test("of deletions are refused too, but a cascade of that length is not")
    func deletions() async throws {
        try await inSmallThread {
            let database = try Database.inMemory(models: Domino.self)
            try database.write { try $0.saveAll((0..<100).map(Domino.init)) }
            refusal { try database.write { try Domino.delete(id: 0, from: &$0) } }
            #expect(try database.read { try $0.ids(Domino.self).count } == 100)
            try database.write { try Domino.delete(id: 80, from: &$0) }
            #expect(try database.read { try $0.ids(Domino.self).count } == 80)
        }
    }
}
