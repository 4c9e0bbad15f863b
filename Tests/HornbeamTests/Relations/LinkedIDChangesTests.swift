// SPDX-License-Identifier: Apache-2.0
// Indexes over the id of a relation's target when that id differs from the one in the saved value: a nested entity
// stored under another id, renamed relations, live lists in the relation's order.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Show {
    @Unique<Self>(\.url, collisions: .update) private var byURL

    let id: Int
    var url: String
    @Relationship(inverse: \.show) var parts: [Part]?
}

@EntityModel
private struct Part {
    @Index<Self>(\.$show.id) private var byShow
    @Unique<Self>(\.$show.id, \.number) private var byNumber

    let id: Int
    var number: Int
    @Relationship(inverse: \.parts) var show: Show?
}

private enum Renamed {
    @EntityModel
    struct Show {
        let id: Int
        var url: String
        @Relationship(inverse: \.owner) var parts: [Part]?
    }

    @EntityModel
    struct Part {
        let id: Int
        var number: Int
        @Relationship(inverse: \.parts) var owner: Show?
    }
}

/// The relation now leads to a type whose ids have another type.
private enum Retold {
    @EntityModel
    struct Show {
        let id: String
        @Relationship(inverse: \.show) var parts: [Part]?
    }

    @EntityModel
    struct Part {
        @Index<Self>(\.$show.id) private var byShow

        let id: Int
        var number: Int
        @Relationship(inverse: \.parts) var show: Show?
    }
}

@Suite("Related ids that differ from the given value")
struct LinkedIDChangesTests {
    @Test("is the id of the entity that a nested one was saved into, each time")
    func nestedUpdate() throws {
        let database = try Database.inMemory(models: Show.self, Part.self)
        try database.write { try Show(id: 9, url: "u").save(to: &$0) }
        for _ in 1...2 {
            try database.write { context in
                try Part(id: 1, number: 1, show: .relation(Show(id: 7, url: "u"))).save(to: &context)
            }
            let found = try database.read { try Part.filter(\.$show.id == 9).ids(in: $0) }
            #expect(found == [1])
            #expect(try database.isWhole())
        }
    }

    @Test("counts for unique keys with its final value")
    func nestedUnique() throws {
        let database = try Database.inMemory(models: Show.self, Part.self)
        try database.write { context in
            try Show(id: 9, url: "u").save(to: &context)
            try Part(id: 1, number: 1, show: .id(9)).save(to: &context)
            try Part(id: 2, number: 2, show: .id(9)).save(to: &context)
        }
        let error = #expect(throws: HornbeamError.self) {
            try database.write { context in
                try Part(id: 2, number: 1, show: .relation(Show(id: 7, url: "u"))).save(to: &context)
            }
        }
        #expect(error?.code == .uniqueViolation)
        #expect(try database.isWhole())
        let numbers = try database.read { try Part.query().resolve(in: $0).map(\.number) }
        #expect(numbers == [1, 2])
    }

    @Test("is read from the links again after relations were renamed there and back")
    func renamedBack() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("parts.hornbeam")
        var database = try Database(at: path, models: Show.self, Part.self)
        try database.write { context in
            for id in 1...3 { try Show(id: id, url: "\(id)").save(to: &context) }
            for id in 1...3 { try Part(id: id, number: id, show: .id(id)).save(to: &context) }
        }
        try database.close()
        database = try Database(
            at: path, models: Renamed.Show.self, Renamed.Part.self,
            migrations: [
                .rename("Show", to: Renamed.Show.self), .rename("Part", to: Renamed.Part.self),
                .rename(Renamed.Part.self, "show", to: \.$owner),
            ])
        try database.write { context in
            for id in 1...3 { try Renamed.Part(id: id, number: id, owner: .id(4 - id)).save(to: &context) }
        }
        try database.close()
        database = try Database(
            at: path, models: Show.self, Part.self,
            migrations: [
                .rename("Renamed.Show", to: Show.self), .rename("Renamed.Part", to: Part.self),
                .rename(Part.self, "owner", to: \.$show),
            ])
        #expect(try database.isWhole())
        try database.read { (context) throws in
            for id in 1...3 { #expect(try Part.filter(\.$show.id == id).ids(in: context) == [4 - id]) }
        }
        try database.close()
    }

    @Test("changes its type with the relation's target, without a migration of its own")
    func otherIDs() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("parts.hornbeam")
        var database = try Database(at: path, models: Show.self, Part.self)
        try database.write { context in
            try Show(id: 1, url: "1").save(to: &context)
            try Part(id: 1, number: 1, show: .id(1)).save(to: &context)
        }
        try database.close()
        let renamed: [Migration] = [.rename("Part", to: Retold.Part.self)]
        let error = #expect(throws: HornbeamError.self) {
            try Database(at: path, models: Retold.Show.self, Retold.Part.self, migrations: renamed)
        }
        #expect(error?.message.contains(".forget(Retold.Part.self, \"show\")") == true, "\(error?.message ?? "")")
        database = try Database(
            at: path, models: Retold.Show.self, Retold.Part.self,
            migrations: renamed + [.forget(Retold.Part.self, "show")])
        try database.write { context in
            #expect(try Retold.Part.filter(\.$show.id == nil).ids(in: context) == [1])
            try Retold.Show(id: "a", parts: .ids([1])).save(to: &context)
            #expect(try Retold.Part.filter(\.$show.id == "a").requiringIndex().ids(in: context) == [1])
        }
        #expect(try database.isWhole())
        try database.close()
    }

    @Test("has no greatest or least value in a link to an unstored entity, and sorts in every spelling")
    func dangling() throws {
        var context = Context()
        for id in 1...2 { try Show(id: id, url: "\(id)").save(to: &context) }
        for id in 1...3 { try Part(id: id, number: id, show: .id(id)).save(to: &context) }
        try Part(id: 4, number: 4).save(to: &context)
        // Show 3 isn't stored.
        #expect(try Part.query().max(\.$show.id, in: context) == 2)
        #expect(try Part.query().min(\.$show.id, in: context) == 1)
        #expect(try Part.filter(\.$show.id == 3).count(in: context) == 0)
        // Swift calls that key path `show?._byURL`.
        #expect(try Part.filter(\.show?.id == 2).ids(in: context) == [2])
        #expect(try Part.filter(\.show!.id == 1).ids(in: context) == [1])
        for sorted in [
            Part.query().sorted(by: \.$show.id), Part.query().sorted(by: \.$show.id.asc),
            Part.query().sorted(by: \.show?.id),
        ] { #expect(try sorted.ids(in: context) == [4, 1, 2, 3]) }
        #expect(try Part.query().sorted(by: \.$show.id.desc).ids(in: context) == [3, 2, 1, 4])
        let error = #expect(throws: HornbeamError.self) {
            try Renamed.Part.query().sorted(by: \.$owner.id).resolve(in: context)
        }
        #expect(error?.message.contains("declare @Index<Self>(\\.$owner.id)") == true)
    }

    @Test("reorders a live list when a link changes from either side")
    func live() async throws {
        let database = try Database.inMemory(models: Show.self, Part.self)
        try await database.write { context in
            for id in 1...3 { try Show(id: id, url: "\(id)").save(to: &context) }
            for id in 1...3 { try Part(id: id, number: id, show: .id(id)).save(to: &context) }
        }
        var lists = database.observe(Part.query().sorted(by: \.$show.id)).makeAsyncIterator()
        #expect(try await lists.next()?.map(\.id) == [1, 2, 3])
        try await database.write { context in
            try Part(id: 3, number: 3, show: .null).save(to: &context)
        }
        #expect(try await lists.next()?.map(\.id) == [3, 1, 2])
        try await database.write { context in
            try Show(id: 3, url: "3", parts: .ids([1])).save(to: &context)
        }
        #expect(try await lists.next()?.map(\.id) == [3, 2, 1])
    }
}
