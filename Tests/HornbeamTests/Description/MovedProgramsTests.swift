// SPDX-License-Identifier: Apache-2.0
// Spellings in programs of the described model that its document lacks: declarations, values, names and arrays.

import FoundationEssentials
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Member: Codable {
    let id: String
    var name: String
    var age: Int? = nil
    var motto: String? = nil

    @Relationship(inverse: \.members) var clubs: [Club]? = nil
}

@EntityModel
private struct Club: Codable {
    let id: String

    @Relationship(inverse: \.clubs) var members: [Member]?
    @Relationship(.optional) var chair: Member?
    @Relationship(.required) var founder: Member? = .id("1")
}

/// A versioned schema as such programs declare it: one entity that leads to all others.
private enum Schema {
    @EntityModel
    struct V1: Codable {
        var id: String { "\(V1.self)" }

        @Relationship var members: [Member]? = .none
        @Relationship var clubs: [Club]? = .ids(["1", "2"])
    }
}

@EntityModel
private struct Root {
    let id = "root"

    @Relationship var v1: Schema.V1? = .relation(Schema.V1())
    @Relationship(.optional, deleteRule: .cascade) var last: Member? = .null
    @Relationship var guests: [Member]? = .fragment([Member(id: "9", name: "Guest")])
    @Relationship var regulars: [Member]? = .appending(ids: ["9"])
}

@EntityModel
private struct Seat: Codable {
    @Index<Self>(\.id) private var byId

    var id: String { "\(row)-\(number)" }
    let row: Int
    var number: Int
    var isTaken = false
}

@Suite("Programs of the described model: ids that are computed")
struct MovedIdTests {
    @Test("are keys of rows; rows are requested, sorted and filtered by them like by stored ids")
    func computed() throws {
        var context = Context()
        for number in 1...3 { try Seat(row: 2, number: number).save(to: &context) }
        try Seat(row: 2, number: 3, isTaken: true).save(to: &context)

        #expect(try Seat.query().sorted(by: \.id.desc).ids(in: context) == ["2-3", "2-2", "2-1"])
        let found = try #require(try Seat.query("2-3").resolve(in: context))
        #expect(found.row == 2 && found.number == 3 && found.isTaken)
        #expect(try Seat.filter(\.id == "2-1").resolve(in: context).map(\.number) == [1])
        #expect(try Seat.filter(\.id == "2-1").explain(in: context).access.description.contains("byId"))
        #expect(try found.query().exists(in: context))

        try found.delete(from: &context)
        #expect(try Seat.query("2-3").resolve(in: context) == nil)
        try Deleted<Seat>.query("2-3").resolve(in: context)?.restore(in: &context)
        #expect(try Seat.query("2-3").resolve(in: context)?.isTaken == true)
    }

    @Test("that are constant are those of a single entity")
    func constant() throws {
        var context = Context()
        try Root().save(to: &context)
        try Root().save(to: &context)
        #expect(try context.ids(Root.self) == ["root"])
        #expect(try context.ids(Schema.V1.self) == ["V1"])
    }

    @Test("stay in a file that is opened again")
    func reopened() throws {
        let folder = try TemporaryFolder()
        do {
            let database = try Database(at: folder.path("seats"), models: Seat.self)
            try database.write { try Seat(row: 1, number: 7).save(to: &$0) }
            try database.close()
        }
        let database = try Database(at: folder.path("seats"), models: Seat.self)
        #expect(try database.read { try Seat.query("1-7").resolve(in: $0) }?.number == 7)
    }
}

@Suite("Programs of the described model: relations with values in their declarations")
struct MovedRelationTests {
    @Test("are saved with a new entity that doesn't set them")
    func saved() throws {
        var context = Context()
        try Member(id: "9", name: "Ann", age: 30).save(to: &context)
        try Root().save(to: &context)

        let root = try #require(
            try Root.query("root").with(\.$v1) { $0.id(\.$clubs) }.id(\.$guests).id(\.$regulars).resolve(in: context))
        #expect(root.v1?.id == "V1" && root.v1?.$clubs.ids == ["1", "2"])
        #expect(root.$guests.ids == ["9"] && root.$regulars.ids == ["9"])
        // A fragment: the stored values of its missing properties are kept.
        let guest = try Member.query("9").resolve(in: context)
        #expect(guest?.name == "Guest" && guest?.age == 30)
    }

    @Test("are unset in an entity that is read, so that saving it changes no link")
    func read() throws {
        var context = Context()
        try Root().save(to: &context)
        try Root(v1: .none, last: .none, guests: .ids([]), regulars: .ids(["3"])).save(to: &context)

        let read = try #require(try Root.query("root").resolve(in: context))
        #expect(read.$v1.isNone && read.$last.isNone && read.$guests.isNone && read.$regulars.isNone)
        try read.save(to: &context)
        let root = try Root.query("root").with(.ids).resolve(in: context)
        #expect(root?.$v1.id == "V1" && root?.$guests.ids == [] && root?.$regulars.ids == ["3"])
    }

    @Test("take entities in the memberwise initialiser after nil, and relations otherwise")
    func memberwise() throws {
        let club = Club(id: "1", members: .none, chair: .none)
        let member = Member(id: "1", name: "Bob", clubs: [club])
        #expect(member.$clubs.ids == ["1"] && club.$founder.id == "1" && club.$chair.isNone)
        #expect(Schema.V1(members: .ids(["1"])).$members.ids == ["1"])
    }

    @Test("to-many ones are required, as the types declare, but may be empty")
    func toMany() throws {
        func ids(_ relation: ToManyRelation<Member, Relations.Mutual, Relations.Required>) -> [String]? { relation.ids }
        var context = Context()
        try Club(id: "1", members: .relation([Member(id: "1", name: "Bob")]), chair: .id("1")).save(to: &context)
        let club = try #require(try Club.query("1").with(.ids).resolve(in: context))
        #expect(ids(club.$members) == ["1"])
        try Club(id: "1", members: .ids([]), chair: .null).save(to: &context)
        #expect(try Club.query("1").related(\.$members).count(in: context) == 0)
        #expect(!Club.entityShape.description.relations[0].required)
    }
}
