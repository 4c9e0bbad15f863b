// SPDX-License-Identifier: Apache-2.0
// Delete rules that depend on other references to an entity, and the rule that notifies the entity.

import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Post {
    let id: Int
    @Relationship(deleteRule: .whenOrphaned, inverse: \.posts) var tags: [Tag]?
    @Relationship(deleteRule: .whenOrphaned) var picture: Picture?
    @Relationship(deleteRule: .notify, inverse: \.posts) var author: Author?
}

@EntityModel
private struct Tag {
    let id: String
    @Relationship(inverse: \.tags) var posts: [Post]?
    @Relationship(deleteRule: .deny) var locks: [Lock]?
}

@EntityModel
private struct Picture {
    let id: Int
}

@EntityModel
private struct Lock {
    let id: Int
}

@EntityModel
private struct Author {
    @Index<Self>(\.lost) private var byLost

    let id: Int
    var lost = 0
    var last = ""
    @Relationship(inverse: \.author) var posts: [Post]?

    struct Refusal: Error {}

    mutating func didLoseLink<Source: EntityModelProtocol>(
        from source: Source, relation: String, in context: inout Context
    ) throws -> Bool {
        if id == 13 { throw Refusal() }
        // The link and the deleted entity are gone already.
        guard try Author.query(id).related(\.$posts).filter(\.id == (source as? Post)?.id ?? -1).count(in: context) == 0
        else { return false }
        lost += 1
        last = "\(Source.entityName).\(relation) of \(source.id)"
        return id != 7
    }
}

/// An entity that leads to one of its own type.
@EntityModel
private struct Ring {
    static let deleted = Mutex<[Int]>([])

    let id: Int
    @Relationship(deleteRule: .whenOrphaned) var next: Ring?

    func didDelete(from context: inout Context) throws { Self.deleted.withLock { $0.append(id) } }
}

@Suite("Delete rules")
struct DeleteRulesTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(
            models: Post.self, Tag.self, Picture.self, Lock.self, Author.self, Ring.self,
            keepsDeleted: .forever)
        try database.write { (context) throws in
            for id in 1...3 {
                try Post(
                    id: id, tags: .relation([Tag(id: "all"), Tag(id: "of \(id)")]), picture: .relation(Picture(id: 1)),
                    author: .relation(Author(id: 1))
                ).save(to: &context)
            }
        }
        return database
    }

    private func tags(_ context: Context) throws -> [String] { try Tag.query().ids(in: context).sorted() }

    @Test("a tag is deleted with the last of its posts, not before")
    func lastOfThree() throws {
        let database = try database()
        try database.write { (context) throws in
            try Post.delete(id: 2, from: &context)
            #expect(try tags(context) == ["all", "of 1", "of 3"])
            try Post.delete(id: 1, from: &context)
            #expect(try tags(context) == ["all", "of 3"])
            #expect(try Picture.query().count(in: context) == 1)
            try Post.delete(id: 3, from: &context)
            #expect(try tags(context).isEmpty)
            #expect(try Picture.query().count(in: context) == 0)
        }
        // Restoring the entities restores the links between them.
        try database.write { (context) throws in
            try Deleted<Tag>.query().filter(\.id == "all").resolve(in: context).first?.restore(in: &context)
            try Deleted<Post>.query().filter(\.id == 3).resolve(in: context).first?.restore(in: &context)
            #expect(try Tag.query("all").related(\.$posts).ids(in: context) == [3])
        }
        #expect(try database.isWhole())
    }

    @Test("all results of a query are one deletion, and entities that only they led to are deleted", arguments: [2, 3])
    func queries(last: Int) throws {
        let database = try database()
        try database.write { (context) throws in
            try Post.filter(\.id <= last).delete(from: &context)
            #expect(try tags(context) == (last == 3 ? [] : ["all", "of 3"]))
        }
        #expect(try database.isWhole())
    }

    @Test("a pending link holds its entity; links that a save or a detachment removes delete nothing")
    func otherLinks() throws {
        let database = try database()
        try database.write { (context) throws in
            // Post 9 was never saved.
            try Tag(id: "of 1", posts: .appending(ids: [9])).save(to: &context)
            try Post.delete(id: 1, from: &context)
            #expect(try tags(context).contains("of 1"))
            try Post(id: 2, tags: .ids(["all"])).save(to: &context)
            #expect(try tags(context).contains("of 2"))
            let post = try #require(try Post.query(3).resolve(in: context))
            try post.detach("of 3", relation: \.$tags, inverse: \.$posts, in: &context)
            try Post.delete(id: 3, from: &context)
            #expect(try tags(context) == ["all", "of 1", "of 2", "of 3"])
        }
        #expect(try database.isWhole())
    }

    @Test("two entities that lead to each other are deleted once")
    func cycle() throws {
        let database = try database()
        try database.write { (context) throws in
            try Ring(id: 1, next: .id(2)).save(to: &context)
            try Ring(id: 2, next: .id(1)).save(to: &context)
            // Also an entity that refers to itself.
            try Ring(id: 3, next: .id(3)).save(to: &context)
            try Ring.delete(id: 1, from: &context)
            #expect(Ring.deleted.withLock { $0 } == [2, 1])
            try Ring.delete(id: 3, from: &context)
            #expect(Ring.deleted.withLock { $0 } == [2, 1, 3])
            #expect(try Ring.query().count(in: context) == 0)
        }
        #expect(try database.isWhole())
    }

    @Test("a denial by an orphan comes before any change, and only if it would be an orphan")
    func denials() throws {
        let database = try database()
        try database.write { (context) throws in
            try Tag(id: "all", locks: .relation([Lock(id: 1)])).save(to: &context)
            try Post.delete(id: 1, from: &context)
            let error = #expect(throws: HornbeamError.self) { try Post.query().delete(from: &context) }
            #expect(
                error?.code == .deleteDenied && error?.message.contains("Tag \"all\"") == true,
                "\(String(describing: error))")
            #expect(try Post.query().count(in: context) == 2)
            try Post.delete(id: 2, from: &context)
            #expect(throws: HornbeamError.self) { try Post.delete(id: 3, from: &context) }
            #expect(try tags(context) == ["all", "of 3"])
            try Lock.delete(id: 1, from: &context)
            try Post.delete(id: 3, from: &context)
            #expect(try tags(context).isEmpty)
        }
        #expect(try database.isWhole())
    }

    @Test("an entity that loses a link may change itself in the same commit, or refuse")
    func notifying() throws {
        let database = try database()
        let commits = Mutex(0)
        database.onWillCommit { _, changes in
            commits.withLock { $0 += 1 }
            #expect(changes[Author.self].updated == [1])
            #expect(changes[Post.self].deleted == [1])
        }
        try database.write { (context) throws in try Post.delete(id: 1, from: &context) }
        #expect(commits.withLock { $0 } > 0)
        let author = try database.read { context in try Author.query(1).resolve(in: context) }
        #expect(author?.lost == 1 && author?.last == "Post.author of 1")
        // The index follows, and the links stay.
        try database.read { (context) throws in
            #expect(try Author.filter(\.lost == 1).ids(in: context) == [1])
            #expect(try Author.query(1).related(\.$posts).ids(in: context) == [2, 3])
        }
        #expect(try database.isWhole())
        try quiet()
    }

    private func quiet() throws {
        let database = try database()
        try database.write { (context) throws in
            try Post(id: 7, author: .relation(Author(id: 7))).save(to: &context)
            try Post(id: 8, author: .id(8)).save(to: &context)
            try Post(id: 13, author: .relation(Author(id: 13))).save(to: &context)
        }
        try database.write { (context) throws in
            // An author whose hook refuses the change, and one that isn't stored.
            try Post.delete(id: 7, from: &context)
            try Post.delete(id: 8, from: &context)
            #expect(try Author.query(7).resolve(in: context)?.lost == 0)
        }
        #expect(throws: Author.Refusal.self) {
            try database.write { (context) throws in try Post.delete(id: 13, from: &context) }
        }
        #expect(try database.read { context in try Post.query(13).resolve(in: context) } != nil)
        #expect(try database.isWhole())
    }

    @Test("a changed rule needs no migration, and applies from then on")
    func migration() throws {
        let disk = try SimulatedDisk()
        let models: [any EntityModelProtocol.Type] = [Post.self, Tag.self, Picture.self, Lock.self, Author.self]
        var database = try MigratedFile.open(disk, models, [])
        let descriptions = database.schemaDescription
        try database.write { (context) throws in
            try Post(id: 1, tags: .relation([Tag(id: "a")])).save(to: &context)
        }
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let former = descriptions.map { type in
            var type = type
            for place in type.relations.indices { type.relations[place].deleteRule = .nullify }
            return type
        }
        _ = try SchemaCatalogue.open(former, in: write, migrations: [])
        try write.commit()
        try store.close()
        database = try MigratedFile.open(disk, models, [])
        try database.write { (context) throws in
            try Post.delete(id: 1, from: &context)
            #expect(try tags(context).isEmpty)
        }
        #expect(try database.isWhole())
        #expect(database.schemaDescription == descriptions)
    }
}
