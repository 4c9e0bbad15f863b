// SPDX-License-Identifier: Apache-2.0
// Filters, orders and limits, in every spelling; with and without indexes they give the results of Swift's own `filter`
// and `sorted`.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

enum Status: String, Codable, Sendable { case active, idle, gone }

/// Its order differs from that of its raw values.
enum Grade: String, Codable, Comparable, Sendable {
    case low, middle, high
    private var rank: Int { self == .low ? 0 : self == .middle ? 1 : 2 }
    static func < (left: Grade, right: Grade) -> Bool { left.rank < right.rank }
}

@EntityModel
struct Person: Equatable {
    let id: Int
    let firstName: String
    let lastName: String
    var age: Int
    var status: Status
    var level: Grade
    var nick: String?
    var score: Double?
    var lastLogin: Date
    var tags: [String] = []

    var fullName: String { firstName + " " + lastName }
}

@EntityModel
struct IndexedPerson {
    @Index<Self>(\.age) private var byAge
    @Index<Self>(\.lastName, \.firstName) private var byName
    @Index<Self>(\.status, \.age.desc) private var byStatus
    @Index<Self>(\.nick) private var byNick
    @Index<Self>(\.score) private var byScore
    @Index<Self>(\.level) private var byLevel

    let id: Int
    let firstName: String
    let lastName: String
    var age: Int
    var status: Status
    var level: Grade
    var nick: String?
    var score: Double?
    var lastLogin: Date
    var tags: [String] = []

    var fullName: String { firstName + " " + lastName }

    init(_ person: Person) {
        id = person.id
        firstName = person.firstName
        lastName = person.lastName
        age = person.age
        status = person.status
        level = person.level
        nick = person.nick
        score = person.score
        lastLogin = person.lastLogin
        tags = person.tags
    }
}

extension Person {
    /// People in a fixed pattern: many equal ages and names, some without nick or score.
    static let all: [Person] = (1...60).map(make)

    private static let firstNames = ["Ann", "Bob", "Cid", "Dot", "Eve"]
    private static let lastNames = ["Ash", "Élan", "oak", "Elm"]
    private static let grades: [Grade] = [.high, .low, .middle]
    private static let states: [Status] = [.active, .idle, .gone]

    private static func make(_ number: Int) -> Person {
        let nick: String? = number % 4 == 0 ? nil : "n\(number % 6)"
        let score: Double? = number % 5 == 0 ? nil : Double(number % 9) - 3.5
        let day = Double(number * 31 % 17)
        return Person(
            id: number, firstName: firstNames[number % 5], lastName: lastNames[number * 7 % 4],
            age: 15 + number * 13 % 20, status: states[number % 3], level: grades[number * 5 % 3], nick: nick,
            score: score, lastLogin: Date(timeIntervalSinceReferenceDate: day * 86_400),
            tags: number % 2 == 0 ? ["even"] : [])
    }

    static func context() throws -> Context {
        var context = Context()
        for person in all {
            try person.save(to: &context)
            try IndexedPerson(person).save(to: &context)
        }
        return context
    }
}

@Suite("Queries")
struct QueryTests {
    /// Checks a query over people, plain and indexed, against Swift's filter. Without an order the ids are compared as
    /// sets.
    private func expect(
        _ plain: Hornbeam.Predicate<Person>, _ indexed: Hornbeam.Predicate<IndexedPerson>, in context: Context,
        _ test: (Person) -> Bool, _ place: SourceLocation = #_sourceLocation
    ) throws {
        let wanted = Person.all.filter(test).map(\.id)
        #expect(try Person.filter(plain).ids(in: context) == wanted, sourceLocation: place)
        #expect(try IndexedPerson.filter(indexed).ids(in: context).sorted() == wanted, sourceLocation: place)
        #expect(try Person.filter(plain).count(in: context) == wanted.count, sourceLocation: place)
        #expect(try IndexedPerson.filter(indexed).count(in: context) == wanted.count, sourceLocation: place)
    }

    @Test("comparisons answer as Swift's operators do, on columns, enums, optionals and computed properties")
    func comparisons() throws {
        let context = try Person.context()
        try expect(\.age == 25, \.age == 25, in: context) { $0.age == 25 }
        try expect(\.age != 25, \.age != 25, in: context) { $0.age != 25 }
        try expect(\.age > 25, \.age > 25, in: context) { $0.age > 25 }
        try expect(\.age >= 25, \.age >= 25, in: context) { $0.age >= 25 }
        try expect(\.age < 18, \.age < 18, in: context) { $0.age < 18 }
        try expect(\.age <= 18, \.age <= 18, in: context) { $0.age <= 18 }
        try expect(\.status == .idle, \.status == .idle, in: context) { $0.status == .idle }
        try expect(\.level == .high, \.level == .high, in: context) { $0.level == .high }
        try expect(\.level > .low, \.level > .low, in: context) { $0.level > .low }
        try expect(\.level <= .middle, \.level <= .middle, in: context) { $0.level <= .middle }
        try expect(\.nick == nil, \.nick == nil, in: context) { $0.nick == nil }
        try expect(\.nick != nil, \.nick != nil, in: context) { $0.nick != nil }
        try expect(\.nick == "n2", \.nick == "n2", in: context) { $0.nick == "n2" }
        try expect(\.nick != "n2", \.nick != "n2", in: context) { $0.nick != "n2" }
        try expect(\.score > 0, \.score > 0, in: context) { $0.score.map { $0 > 0 } ?? false }
        try expect(\.score <= 0, \.score <= 0, in: context) { $0.score.map { $0 <= 0 } ?? false }
        try expect(\.tags == ["even"], \.tags == ["even"], in: context) { $0.tags == ["even"] }
        try expect(\.fullName.count > 7, \.fullName.count > 7, in: context) { $0.fullName.count > 7 }
        try expect(\.fullName == "Bob oak", \.fullName == "Bob oak", in: context) { $0.fullName == "Bob oak" }
        let day = Date(timeIntervalSinceReferenceDate: 5 * 86_400)
        try expect(\.lastLogin > day, \.lastLogin > day, in: context) { $0.lastLogin > day }
        try expect(\.lastName == "E\u{301}lan", \.lastName == "E\u{301}lan", in: context) { $0.lastName == "Élan" }
    }

    @Test("predicates combine with &&, || and !")
    func combinations() throws {
        let context = try Person.context()
        try expect(\.age > 18 && \.status == .active, \.age > 18 && \.status == .active, in: context) {
            $0.age > 18 && $0.status == .active
        }
        try expect(\.age == 25 || \.nick == "n1", \.age == 25 || \.nick == "n1", in: context) {
            $0.age == 25 || $0.nick == "n1"
        }
        try expect(!(\.score > 0) && \.age < 30, !(\.score > 0) && \.age < 30, in: context) {
            !($0.score.map { $0 > 0 } ?? false) && $0.age < 30
        }
        try expect(
            (\.age < 20 || \.age > 30) && !(\.fullName.count == 7),
            (\.age < 20 || \.age > 30) && !(\.fullName.count == 7),
            in: context
        ) { ($0.age < 20 || $0.age > 30) && $0.fullName.count != 7 }
    }

    @Test("chained filters, and, or, in the spelling that begins with the context")
    func chains() throws {
        let context = try Person.context()
        func check(_ people: [Person], _ test: (Person) -> Bool, _ place: SourceLocation = #_sourceLocation) {
            #expect(people == Person.all.filter(test), sourceLocation: place)
        }
        check(try Person.filter(\.age == 25, in: context).resolve()) { $0.age == 25 }
        check(try Person.filter(\.age >= 18, in: context).filter(\.age < 30).resolve()) { (18..<30).contains($0.age) }
        check(try Person.filter(\.age == 25, in: context).or(.filter(\.age == 30, in: context)).resolve()) {
            $0.age == 25 || $0.age == 30
        }
        check(try Person.filter(\.age > 18, in: context).and(\.status == .active).resolve()) {
            $0.age > 18 && $0.status == .active
        }
        check(
            try Person.filter(\.age == 25, in: context)
                .or(.filter(\.status == .active, in: context))
                .or(.filter(\.age > 30, in: context).and(\.level <= .middle))
                .resolve()
        ) { $0.age == 25 || $0.status == .active || ($0.age > 30 && $0.level <= .middle) }
        let login = Date(timeIntervalSinceReferenceDate: 3 * 86_400)
        check(
            try Person.filter(\.age >= 18, in: context).and(\.status == .active).or(.filter(\.status == .gone))
                .and(\.lastLogin > login).resolve()
        ) { (($0.age >= 18 && $0.status == .active) || $0.status == .gone) && $0.lastLogin > login }
        check(try Person.filter(\.age == 25).or(\.age == 30).resolve(in: context)) { $0.age == 25 || $0.age == 30 }
        check(try Person.filter(\.age > 20).and(.filter(\.age < 25)).resolve(in: context)) {
            (21..<25).contains($0.age)
        }
    }

    @Test("orders by one property or several, up and down, by columns, computed properties and optionals")
    func orders() throws {
        let context = try Person.context()
        func check<Key: Comparable>(
            _ query: QueryList<Person>, by key: (Person) -> Key, _ place: SourceLocation = #_sourceLocation
        ) throws {
            // Swift's sort is stable, and ties are ordered by row id, which is the id here.
            let wanted = Person.all.sorted { key($0) < key($1) }
            #expect(try query.resolve(in: context) == wanted, sourceLocation: place)
        }
        try check(Person.query().sorted(by: \.age)) { $0.age }
        try check(Person.query().sorted(by: \.age.desc)) { -$0.age }
        try check(Person.query().sorted(by: \.level)) { $0.level }
        try check(Person.query().sorted(by: \.level.desc)) { $0.level.desc }
        try check(Person.query().sorted(by: \.fullName.count)) { $0.fullName.count }
        try check(Person.query().sorted(by: \.lastLogin.desc)) { $0.lastLogin.desc }
        try check(Person.query().sorted(by: \.score)) { $0.score ?? -.infinity }
        let names = try Person.query().sorted(by: \.lastName, \.firstName).resolve(in: context)
        #expect(names == Person.all.sorted { ($0.lastName, $0.firstName, $0.id) < ($1.lastName, $1.firstName, $1.id) })
        let mixed = try Person.query().sorted(by: \.age.desc, \.fullName, \.level).resolve(in: context)
        #expect(mixed == Person.all.sorted { (-$0.age, $0.fullName, $0.level) < (-$1.age, $1.fullName, $1.level) })
        let indexed = try IndexedPerson.query().sorted(by: \.lastName, \.firstName).ids(in: context)
        #expect(indexed == names.map(\.id))
        let combined = try IndexedPerson.filter(\.age > 18).filter(\.status == .active).sorted(
            by: \.age.desc, \.lastName
        )
        .ids(in: context)
        let wanted = Person.all.filter { $0.age > 18 && $0.status == .active }
            .sorted { (-$0.age, $0.lastName, $0.id) < (-$1.age, $1.lastName, $1.id) }
        #expect(combined == wanted.map(\.id))
    }

    @Test("limits and offsets cut after the order; later filters apply to the rest")
    func limits() throws {
        let context = try Person.context()
        let sorted = Person.all.sorted { $0.age > $1.age }
        let query = Person.query().sorted(by: \.age.desc)
        #expect(try query.limit(7, offset: 3).resolve(in: context) == Array(sorted[3..<10]))
        #expect(
            try query.limit(7).filter(\.status == .active).resolve(in: context)
                == sorted.prefix(7).filter { $0.status == .active })
        #expect(try query.limit(5).limit(2, offset: 1).resolve(in: context) == Array(sorted[1..<3]))
        #expect(try query.limit(5).sorted(by: \.id).resolve(in: context) == sorted.prefix(5).sorted { $0.id < $1.id })
        #expect(try query.limit(0).resolve(in: context).isEmpty)
        #expect(try query.limit(9, offset: 58).count(in: context) == 2)
        #expect(try query.first(in: context) == sorted.first)
        #expect(try query.last().resolve(in: context) == sorted.last)
        #expect(try Person.filter(\.age > 99).first(in: context) == nil)
    }

    @Test("negative limits and offsets give nothing, in every way of resolving the query")
    func negativeLimits() throws {
        let context = try Person.context()
        let all = Person.query().sorted(by: \.age)
        for query in [all.limit(-1), all.limit(5, offset: -2), all.limit(.min, offset: .min), all.limit(-1, offset: 3)]
        {
            #expect(try query.resolve(in: context).isEmpty)
            #expect(try query.count(in: context) == 0)
            #expect(try !query.exists(in: context))
            #expect(try query.ids(in: context).isEmpty)
            #expect(try query.first(in: context) == nil)
            #expect(try query.last().resolve(in: context) == nil)
            #expect(try query.sum(\.age, in: context) == 0)
            #expect(try query.filter(\.age > 1).limit(3).resolve(in: context).isEmpty)
            #expect(try query.or(.filter(\.id == 3)).ids(in: context) == [3])
            _ = try query.explain(in: context)
        }
        let groups = all.grouped(by: \.status).aggregate(.count)
        #expect(try groups.limit(-1).resolve(in: context).isEmpty)
        #expect(try groups.limit(1, offset: -2).resolve(in: context).isEmpty)
        #expect(try groups.limit(1).resolve(in: context).count == 1)
    }

    @Test("ids keep the requested order; unknown ones are left out")
    func ids() throws {
        let context = try Person.context()
        #expect(try Person.query([30, 2, 99, 17]).resolve(in: context).map(\.id) == [30, 2, 17])
        #expect(try Person.query([30, 2, 99, 17]).count(in: context) == 3)
        #expect(try Person.query([30, 2, 17]).filter(\.id > 2).ids(in: context) == [30, 17])
        #expect(try Person.query([30, 2, 17]).sorted(by: \.id).ids(in: context) == [2, 17, 30])
        #expect(try Person.query([5, 5, 4]).resolve(in: context).map(\.id) == [5, 5, 4])
        #expect(try Person.query([5, 5, 4]).distinct().ids(in: context) == [5, 4])
        #expect(try Person.query([]).resolve(in: context).isEmpty)
        #expect(try [Person.query(3), Person.query(77), Person.query(1)].resolve(in: context).map(\.id) == [3, 1])
        #expect(try context.find(3) as Person? == Person.all[2])
        #expect(try context.findAll([3, 77]) as [Person?] == [Person.all[2], nil])
        #expect(try context.findAllExisting([77, 3]) as [Person] == [Person.all[2]])
        #expect(try context.all() as [Person] == Person.all)
    }

    @Test("a sort by the properties of an index uses its order, with fixed ones named or not")
    func sortedByIndex() throws {
        let context = try Person.context()
        let whole = IndexedPerson.query().sorted(by: \.lastName, \.firstName).limit(5)
        let plan = try whole.explain(in: context)
        #expect(plan.order == .byAccess)
        #expect(plan.access == .index(name: "byName", ranges: 1, entries: 60, reversed: false))
        #expect(
            try whole.ids(in: context)
                == Person.query().sorted(by: \.lastName, \.firstName).limit(5).ids(in: context))
        let oaks = IndexedPerson.filter(\.lastName == "oak")
        let wanted = try Person.filter(\.lastName == "oak").sorted(by: \.firstName).ids(in: context)
        #expect(wanted.count == 15)
        for query in [oaks.sorted(by: \.firstName), oaks.sorted(by: \.lastName, \.firstName)] {
            let plan = try query.explain(in: context)
            #expect(plan.order == .byAccess && plan.filter == nil)
            #expect(plan.access == .index(name: "byName", ranges: 1, entries: 15, reversed: false))
            #expect(try query.ids(in: context) == wanted)
        }
        // Ties are ordered by row id, also by an index with more properties.
        for (fewer, plain) in [
            (IndexedPerson.query().sorted(by: \.lastName), Person.query().sorted(by: \.lastName)),
            (IndexedPerson.query().sorted(by: \.lastName.desc), Person.query().sorted(by: \.lastName.desc)),
        ] {
            #expect(try fewer.limit(7).explain(in: context).order == .byAccess)
            #expect(try fewer.limit(20, offset: 3).ids(in: context) == plain.limit(20, offset: 3).ids(in: context))
            #expect(try fewer.ids(in: context) == plain.ids(in: context))
        }
    }

    @Test("explain of a query over another one's rows describes that query, not a scan")
    func explainLists() throws {
        let context = try Person.context()
        let ids = try Person.query([7, 99, 3, 7]).explain(in: context)
        #expect(ids.access == .ids(count: 3))
        #expect(ids.order == .byAccess && ids.filter == nil && ids.limit == nil)
        let behind = Person.query().sorted(by: \.age).limit(5).filter(\.status == .idle).limit(2, offset: 1)
        let plan = try behind.explain(in: context)
        #expect(plan.access == .ids(count: 5))
        #expect(plan.filter == "status == \"idle\"")
        #expect((plan.limit, plan.offset) == (2, 1))
        let sorted = try Person.query([7, 3, 5]).sorted(by: \.fullName).explain(in: context)
        #expect(sorted.access == .ids(count: 3))
        #expect(sorted.order != .byAccess)
        #expect(try Person.query([7, 3]).limit(0).explain(in: context).access == .nothing)
        #expect(try Person.query([7, 99, 3, 7]).limit(2, offset: 1).ids(in: context) == [3, 7])
    }

    @Test("explain names the index and its exact count")
    func explain() throws {
        let context = try Person.context()
        let plan = try IndexedPerson.filter(\.age == 25).explain(in: context)
        let wanted = Person.all.count { $0.age == 25 }
        #expect(plan.access == .index(name: "byAge", ranges: 1, entries: wanted, reversed: false))
        #expect(plan.filter == nil)
        let scan = try Person.filter(\.age > 25).explain(in: context)
        #expect(scan.access == .rowScan(rows: 60))
        let computed = try Person.filter(\.fullName.count > 3).explain(in: context)
        #expect(computed.filter?.contains("computed Int of Person") == true)
    }
}
