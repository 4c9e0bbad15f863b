// SPDX-License-Identifier: Apache-2.0
// Conditions on related entities and their number, and large relations read by pages, compared with plain Swift.

import Hornbeam
import HornbeamTestSupport
import Testing
@testable import HornbeamEngine

@EntityModel
private struct Club {
    let id: Int
    var name: String
    @Relationship(inverse: \.clubs) var members: [Member]?
    @Relationship() var places: [Spot]?
    @Relationship(inverse: \.leads) var leader: Member?
}

@EntityModel
private struct Member {
    @Index<Self>(\.age) private var byAge
    let id: Int
    var age: Int
    @Relationship(inverse: \.members) var clubs: [Club]?
    @Relationship(inverse: \.leader) var leads: [Club]?
}

@EntityModel
private struct Spot {
    let id: String
    var size: Int
}

@Suite("Conditions on relations")
struct RelationPredicateTests {
    /// The links as a model.
    private struct Model {
        var members: [Int: [Int]] = [:]
        var places: [Int: [String]] = [:]
        var leader: [Int: Int] = [:]
        var ages: [Int: Int] = [:]
        var sizes: [String: Int] = [:]

        func ages(of club: Int) -> [Int] { (members[club] ?? []).compactMap { ages[$0] } }
        func sizes(of club: Int) -> [Int] { (places[club] ?? []).compactMap { sizes[$0] } }
    }

    private func random(_ context: inout Context) throws -> Model {
        var random = SeededGenerator()
        var model = Model()
        for id in 0..<40 {
            // Some are linked but never stored.
            if id % 9 == 0 { continue }
            model.ages[id] = Int.random(in: 10...30, using: &random)
            try Member(id: id, age: model.ages[id] ?? 0).save(to: &context)
        }
        for id in 0..<10 where id % 4 != 0 {
            model.sizes["s\(id)"] = id
            try Spot(id: "s\(id)", size: id).save(to: &context)
        }
        for id in 0..<60 {
            let members = (0..<Int.random(in: 0...4, using: &random)).map { _ in Int.random(in: 0..<40, using: &random)
            }
            let places = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                "s\(Int.random(in: 0..<10, using: &random))"
            }
            let leader = Bool.random(using: &random) ? Int.random(in: 0..<40, using: &random) : nil
            model.members[id] = members.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            model.places[id] = places.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            model.leader[id] = leader
            try Club(
                id: id, name: "club \(id)", members: .ids(members), places: .ids(places),
                leader: leader.map { .id($0) } ?? .none
            ).save(to: &context)
        }
        return model
    }

    @Test(
        "any, all and none of a relation, one-way or mutual, to one or to many; links to unstored entities don't count",
        .seeded)
    func quantifiers() throws {
        var context = Context()
        let model = try random(&context)
        func expect(
            _ predicate: Predicate<Club>, _ test: (Int) -> Bool, _ location: SourceLocation = #_sourceLocation
        ) throws {
            let wanted = (0..<60).filter(test)
            #expect(try Club.filter(predicate).ids(in: context) == wanted, sourceLocation: location)
            #expect(try Club.filter(!predicate).count(in: context) == 60 - wanted.count, sourceLocation: location)
        }
        try expect(.any(\.$members, where: \.age > 25)) { model.ages(of: $0).contains { $0 > 25 } }
        try expect(.any(\.$members, where: \.age == 17)) { model.ages(of: $0).contains(17) }
        try expect(.all(\.$members, where: \.age < 25)) { model.ages(of: $0).allSatisfy { $0 < 25 } }
        try expect(.none(\.$members, where: \.age == 12)) { !model.ages(of: $0).contains(12) }
        try expect(.any(\.$members)) { !model.ages(of: $0).isEmpty }
        try expect(.none(\.$members)) { model.ages(of: $0).isEmpty }
        try expect(.any(\.$places, where: \.size == 3)) { model.sizes(of: $0).contains(3) }
        try expect(.all(\.$places, where: \.size > 3)) { model.sizes(of: $0).allSatisfy { $0 > 3 } }
        try expect(.none(\.$places)) { model.sizes(of: $0).isEmpty }
        try expect(.has(\.$leader, \.age > 20)) { model.leader[$0].flatMap { model.ages[$0] }.map { $0 > 20 } ?? false }
        try expect(.none(\.$leader)) { model.leader[$0].flatMap { model.ages[$0] } == nil }
        try expect(.any(\.$members, where: .any(\.$clubs, where: \.name == "club 7"))) { club in
            let seven = Set(model.members[7] ?? []).filter { model.ages[$0] != nil }
            return !seven.isDisjoint(with: model.members[club] ?? [])
        }
        try expect(\.$members.count == 2) { model.ages(of: $0).count == 2 }
        try expect(\.$members.count > 2 && \.$leader.count == 1) { club in
            model.ages(of: club).count > 2 && model.leader[club].flatMap { model.ages[$0] } != nil
        }
        let bySize = (0..<60).sorted { left, right in
            (-model.ages(of: left).count, left) < (-model.ages(of: right).count, right)
        }
        #expect(try Club.query().sorted(by: \.$members.count.desc).ids(in: context) == bySize)
        let mixed = try Club.query().sorted(by: \.$places.count, \.$members.count.desc, \.name).ids(in: context)
        #expect(
            mixed
                == (0..<60).sorted { left, right in
                    let first = (model.sizes(of: left).count, -model.ages(of: left).count, "club \(left)")
                    let second = (model.sizes(of: right).count, -model.ages(of: right).count, "club \(right)")
                    return first < second
                })
    }

    @Test(
        "the id of the one related entity, compared as any property, with an index along the relation and without",
        .seeded)
    func ids() throws {
        var context = Context()
        let model = try random(&context)
        func leader(_ club: Int) -> Int? { model.leader[club].flatMap { model.ages[$0] == nil ? nil : $0 } }
        func expect(
            _ predicate: Predicate<Club>, _ location: SourceLocation = #_sourceLocation, _ test: (Int?) -> Bool
        ) throws {
            let wanted = (0..<60).filter { test(leader($0)) }
            #expect(try Club.filter(predicate).ids(in: context) == wanted, sourceLocation: location)
            #expect(try Club.filter(!predicate).count(in: context) == 60 - wanted.count, sourceLocation: location)
        }
        for id in 0..<40 {
            try expect(\.$leader.id == id) { $0 == id }
            try expect(\.$leader.id != id) { $0 != id }
        }
        try expect(\.$leader.id == nil) { $0 == nil }
        try expect(\.$leader.id != nil) { $0 != nil }
        try expect(.isNil(\.$leader.id)) { $0 == nil }
        try expect(\.$leader.id < 20) { $0.map { $0 < 20 } ?? false }
        try expect(.value(\.$leader.id, in: 5...12)) { $0.map { (5...12).contains($0) } ?? false }
        try expect(.value(\.$leader.id, in: [1, 2, 3, 9])) { [1, 2, 3].contains($0) }
        try expect(.value(\.$leader.id, in: [4, nil])) { [4, nil].contains($0) }
        try expect(.value(\.$leader.id, notIn: [4, 5])) { ![4, 5].contains($0) }
        try expect(.value(\.$leader.id, notIn: [4, nil])) { ![4, nil].contains($0) }
        // Read from the other side, and within a condition on another relation.
        let led = Set((0..<60).compactMap(leader))
        let leads = try Member.filter(.any(\.$leads, where: \.$leader.id != nil)).ids(in: context)
        #expect(leads == led.sorted())
        for id in 100..<500 { try Club(id: id, name: "without").save(to: &context) }
        let one = try #require(led.min())
        let plan = try Club.filter(\.$leader.id == one).explain(in: context)
        #expect(plan.access == .join(relation: "leader", targets: 1) && plan.filter == nil)
    }

    @Test("if few pass, they are joined along the other side, and explain shows it")
    func joins() throws {
        var context = Context()
        for id in 0..<400 {
            try Member(id: id, age: id).save(to: &context)
            try Club(id: id, name: "c", members: .ids([id]), places: .ids(["s\(id % 40)"])).save(to: &context)
        }
        for id in 0..<40 { try Spot(id: "s\(id)", size: id).save(to: &context) }
        let query = Club.filter(.any(\.$members, where: \.age == 17))
        let plan = try query.explain(in: context)
        #expect(plan.access == .join(relation: "members", targets: 1))
        #expect(plan.filter == nil)
        #expect(try query.ids(in: context) == [17])
        let oneWay = Club.filter(.any(\.$places, where: \.id == "s3")).filter(\.id > 100)
        #expect(try oneWay.ids(in: context) == (101..<400).filter { $0 % 40 == 3 })
        let text = try Club.filter(.none(\.$members, where: \.age == 17)).explain(in: context).filter
        #expect(text == "none of members where age == 17")
    }

    @Test("an unstored target is no result of a join, nor counted by it, also where joins are nested")
    func joinsToMissing() throws {
        var context = Context()
        for id in 0..<400 { try Member(id: id, age: id).save(to: &context) }
        try Club(id: 1, name: "one", members: .ids([9999, 5])).save(to: &context)
        try Club(id: 2, name: "two", members: .ids([9999])).save(to: &context)
        let members = Member.filter(.any(\.$clubs, where: \.id == 1))
        #expect(try members.explain(in: context).access.description.hasPrefix("join"))
        #expect(try members.resolve(in: context).map(\.id) == [5])
        #expect(try members.ids(in: context) == [5])
        #expect(try members.count(in: context) == 1)
        for id in 3..<400 { try Club(id: id, name: "empty").save(to: &context) }
        let clubs = Club.filter(.any(\.$members, where: .any(\.$clubs, where: \.id == 1)))
        #expect(try clubs.ids(in: context) == [1])
    }

    @Test(
        "a list without a sort can't continue after an entity no longer in it, nor one by numbers of links")
    func positionsGone() throws {
        var context = Context()
        for id in 0..<20 { try Member(id: id, age: id).save(to: &context) }
        try Club(id: 1, name: "one", members: .ids(Array(0..<20))).save(to: &context)
        let members = Club.query(1).related(\.$members)
        let third = try #require(try context.find(3) as Member?)
        #expect(try members.after(third).limit(2).ids(in: context) == [4, 5])
        try third.delete(from: &context)
        for list in [members, Member.query([1, 2, 4]), Member.query().sorted(by: \.$clubs.count)] {
            #expect { try list.after(third).ids(in: context) } throws: { ($0 as? HornbeamError)?.code == .invalid }
        }
        #expect(try Member.query().sorted(by: \.age).after(third).limit(1).ids(in: context) == [4])
        #expect(try Member.query().after(third).limit(1).ids(in: context) == [4])
    }

    @Test("a large relation is counted, paged and partly removed by its positions, not in full")
    func large() throws {
        let database = try Database.inMemory(models: Club.self)
        try database.write { context in
            try Club(id: 1, name: "large").save(to: &context)
            for id in 0..<5000 { try Member(id: id, age: id % 100).save(to: &context) }
            try Club(id: 1, name: "large", members: .ids(Array((0..<5000).reversed()))).save(to: &context)
        }
        try database.write { context in
            let members = Club.query(1).related(\.$members)
            let plan = try members.limit(10, offset: 3000).explain(in: context)
            #expect(plan.access == .relation(name: "Club.members", targets: 5000))
            #expect(plan.isCountKnown)
            #expect(try members.count(in: context) == 5000)
            #expect(try members.limit(5, offset: 3000).ids(in: context) == [1999, 1998, 1997, 1996, 1995])
            #expect(try members.limit(10, offset: 4998).ids(in: context) == [1, 0])
            #expect(try members.limit(10, offset: 4998).count(in: context) == 2)
            let page = try Club.query(1).with(\.$members) { $0.limit(3, offset: 4000) }.resolve(in: context)
            #expect(page?.members?.map(\.id) == [999, 998, 997])
            let tail = try Club.query(1).with(\.$members) { $0.limit(3, offset: 4999) }.resolve(in: context)
            #expect(tail?.members?.map(\.id) == [0])
            let few = try Club.query(1).with(\.$members) { $0.filter(\.age == 7).limit(2) }.resolve(in: context)
            #expect(few?.members?.map(\.id) == [4907, 4807])
            let member = try #require(try context.find(1000) as Member?)
            #expect(try members.after(member).limit(3).ids(in: context) == [999, 998, 997])
            #expect(try members.after(member).count(in: context) == 1000)
            #expect(try Club.filter(\.$members.count == 5000).ids(in: context) == [1])

            let club = try #require(try context.find(1) as Club?)
            try club.detach(10, 11, relation: \.$members, inverse: \.$clubs, in: &context)
            #expect(try members.count(in: context) == 4998)
            #expect(try members.limit(3, offset: 4987).ids(in: context) == [12, 9, 8])
            // Linked before it is stored, so the links have to be read.
            var more = club
            more.$members = .appending(ids: [77_777])
            try more.save(to: &context)
            #expect(try members.count(in: context) == 4998)
            #expect(try members.limit(3, offset: 4996).ids(in: context) == [1, 0])
            try Member(id: 77_777, age: 1).save(to: &context)
            #expect(try members.count(in: context) == 4999)
            #expect(try members.limit(3, offset: 4996).ids(in: context) == [1, 0, 77_777])
        }
        #expect(try database.check())
    }
}
