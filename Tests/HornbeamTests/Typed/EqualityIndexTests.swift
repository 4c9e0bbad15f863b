// SPDX-License-Identifier: Apache-2.0
// @HashIndex and @Unique over types without an order: enums with payloads, structs, arrays, parameters of a generic
// type. They need only `Codable`.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private enum Payload: Codable, Hashable, Sendable {
    case text(String)
    case point(x: Int, y: Int)
    case nothing
}

private struct Place: Codable, Hashable, Sendable {
    var street: String
    var tags: Set<String> = []
}

private enum Color: String, Codable, Sendable {
    case red, green
}

@EntityModel
private struct Parcel: Codable {
    @HashIndex<Self>(\.payload) private var byPayload
    @HashIndex<Self>(\.place, \.weight) private var byPlace
    @HashIndex<Self>(\.colors) private var byColors
    @Unique<Self>(\.labels, collisions: .throw) private var byLabels
    @Unique<Self>(\.seal, \.weight, collisions: .upsert) private var bySeal

    let id: Int
    var payload = Payload.nothing
    var place: Place?
    var weight = 0
    var colors: [Color] = []
    var labels: [String]
    var seal: Payload?
}

/// A type with the properties of the type above, without indexes.
@EntityModel
private struct Plain {
    let id: Int
    var payload = Payload.nothing
    var place: Place?
    var colors: [Color] = []
}

@EntityModel
private struct Box<Content: Hashable & Codable & Sendable> {
    @HashIndex<Self>(\.content) private var byContent
    @Unique<Self>(\.key, collisions: .throw) private var byKey

    let id: Int
    var content: Content
    var key: Content?
}

@EntityModel
private struct Token {
    @Unique<Self>(\.place, collisions: .yielding) private var byPlace

    let id: Int
    var place: Place
    var isCurrent = true
}

extension CollisionResolver where Entity == Token {
    fileprivate static var yielding: Self {
        CollisionResolver { existing, _, _, context in
            guard var token = try Token.query(existing).resolve(in: context) else { return }
            token.isCurrent = false
            try token.save(to: &context)
        }
    }
}

@Suite("Indexes over types without an order")
struct EqualityIndexTests {
    private static let payloads: [Payload] = [.nothing, .text("a"), .text("b"), .point(x: 1, y: 2), .point(x: 2, y: 1)]

    private func context() throws -> Context {
        var context = Context()
        for id in 0..<100 {
            let payload = Self.payloads[id % 5]
            let place = id % 3 == 0 ? nil : Place(street: "s\(id % 4)", tags: ["x", "y", "\(id % 2)"])
            let colors: [Color] = id % 2 == 0 ? [.red, .green] : [.green]
            try Parcel(
                id: id, payload: payload, place: place, weight: id % 2, colors: colors, labels: ["n", "\(id)"]
            ).save(to: &context)
            try Plain(id: id, payload: payload, place: place, colors: colors).save(to: &context)
        }
        return context
    }

    @Test("answer equality and lists as without an index")
    func equality() throws {
        let context = try context()
        for payload in Self.payloads + [.text("c")] {
            let query = Parcel.filter(\.payload == payload)
            #expect(try query.requiringIndex().explain(in: context).access.description.contains("byPayload"))
            #expect(try query.ids(in: context) == Plain.filter(\.payload == payload).ids(in: context))
            #expect(
                try Parcel.filter(\.payload != payload).ids(in: context)
                    == Plain.filter(\.payload != payload).ids(in: context))
        }
        let some: [Payload] = [.text("b"), .nothing]
        #expect(
            try Parcel.filter(.value(\.payload, in: some)).ids(in: context)
                == Plain.filter(.value(\.payload, in: some)).ids(in: context))
        #expect(
            try Parcel.filter(.value(\.payload, in: some)).requiringIndex().explain(in: context).access.description
                .contains("byPayload"))
        let place = Place(street: "s1", tags: ["1", "y", "x"])
        for place in [place, Place(street: "s1", tags: ["y"]), nil] {
            #expect(
                try Parcel.filter(\.place == place).ids(in: context) == Plain.filter(\.place == place).ids(in: context))
        }
        let both = Parcel.filter(\.place == place && \.weight == 1)
        #expect(try both.explain(in: context).access.description.contains("byPlace"))
        #expect(try both.count(in: context) == Plain.filter(\.place == place).count(in: context))
        let colors = Parcel.filter(\.colors == [.green]).requiringIndex()
        #expect(try colors.explain(in: context).access.description.contains("byColors"))
        #expect(try colors.count(in: context) == 50)
        #expect(try Parcel.filter(\.labels == ["n", "7"]).ids(in: context) == [7])
        #expect(try Parcel.filter(\.labels == ["7", "n"]).ids(in: context) == [])
    }

    @Test("allow each value once, by the rules of collisions")
    func uniqueness() throws {
        var context = try context()
        do {
            try Parcel(id: 200, labels: ["n", "7"]).save(to: &context)
            Issue.record("the labels are there already")
        } catch let error as HornbeamError {
            #expect(error.code == .uniqueViolation && error.violation?.indexName == "byLabels")
        }
        try Parcel(id: 200, labels: ["n", "7", ""]).save(to: &context)
        try Parcel(id: 201, labels: ["n7"]).save(to: &context)

        // Two nils differ. An entity with an equal seal replaces the other one.
        try Parcel(id: 300, labels: ["u"], seal: .text("x")).save(to: &context)
        try Parcel(id: 301, weight: 1, labels: ["v"], seal: .text("x")).save(to: &context)
        try Parcel(id: 302, labels: ["w"], seal: .text("x")).save(to: &context)
        #expect(try Parcel.filter(\.seal == .text("x")).ids(in: context) == [301, 302])
        #expect(try Parcel.filter(\.id >= 200).count(in: context) == 4)
    }

    @Test("use a custom resolver")
    func resolver() throws {
        var context = Context()
        try Token(id: 1, place: Place(street: "a", tags: ["p", "q"])).save(to: &context)
        try Token(id: 2, place: Place(street: "b")).save(to: &context)
        try Token(id: 3, place: Place(street: "a", tags: ["q", "p"])).save(to: &context)
        #expect(try Token.filter(\.isCurrent == true).ids(in: context) == [2, 3])
    }

    @Test("follow changes and deletions, hold long values, and are in order")
    func changes() throws {
        var context = try context()
        let long = String(repeating: "long ", count: 500)
        try Parcel(id: 7, payload: .text(long + "1"), labels: [long, "1"]).save(to: &context)
        try Parcel(id: 8, payload: .text(long + "2"), labels: [long, "2"]).save(to: &context)
        #expect(try Parcel.filter(\.payload == .text(long + "1")).ids(in: context) == [7])
        #expect(try Parcel.filter(\.labels == [long, "2"]).ids(in: context) == [8])
        #expect(throws: HornbeamError.self) { try Parcel(id: 9, labels: [long, "2"]).save(to: &context) }
        try Parcel.delete(id: 8, from: &context)
        try Parcel(id: 9, labels: [long, "2"]).save(to: &context)
        #expect(try Parcel.filter(\.labels == [long, "2"]).ids(in: context) == [9])
        #expect(try Parcel.filter(\.payload == .text(long + "2")).ids(in: context) == [])
    }

    @Test("are built over stored entities, and checked")
    func built() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("parcels")
        do {
            let database = try Database(at: path, models: Parcel.self)
            try database.write { context in
                for id in 0..<50 {
                    try Parcel(id: id, payload: Self.payloads[id % 5], labels: ["\(id)"]).save(to: &context)
                }
            }
            try database.repair(index: "byPayload", of: Parcel.self)
            try database.repair(index: "byLabels", of: Parcel.self)
            #expect(try database.check())
            try database.close()
        }
        let database = try Database(at: path, models: Parcel.self)
        #expect(try database.read { try Parcel.filter(\.payload == .text("a")).count(in: $0) } == 10)
        #expect(try database.read { try Parcel.filter(\.labels == ["7"]).ids(in: $0) } == [7])
    }

    @Test("of a generic type work for any type of its parameter")
    func generic() throws {
        var context = Context()
        for id in 0..<10 {
            try Box<Int>(id: id, content: id % 3, key: id).save(to: &context)
            try Box<Payload>(id: id, content: .text("\(id % 3)"), key: nil).save(to: &context)
            try Box<[String]>(id: id, content: ["\(id % 3)"], key: ["\(id)"]).save(to: &context)
        }
        #expect(try Box<Int>.filter(\.content == 1).requiringIndex().ids(in: context) == [1, 4, 7])
        #expect(try Box<Payload>.filter(\.content == .text("1")).requiringIndex().ids(in: context) == [1, 4, 7])
        #expect(try Box<[String]>.filter(\.content == ["1"]).requiringIndex().ids(in: context) == [1, 4, 7])
        #expect(try Box<Int>.filter(\.key == 4).ids(in: context) == [4])
        #expect(try Box<Payload>.filter(\.key == nil).count(in: context) == 10)
        #expect(throws: HornbeamError.self) { try Box<Int>(id: 10, content: 0, key: 4).save(to: &context) }
        #expect(throws: HornbeamError.self) { try Box<[String]>(id: 10, content: [], key: ["4"]).save(to: &context) }
    }

    @Test("have no order: comparing by one is refused, with the alternatives")
    func noOrder() throws {
        let context = try context()
        var query = EntityQuery(type: "Parcel")
        query.filter = .compare(column: 1, .less, .json("{}"))
        let error = #expect(throws: HornbeamError.self) {
            _ = try context.session.run { try $0.core(for: Parcel.self).rowIDs(query) }
        }
        #expect(error?.message.contains("has no order") == true)
    }
}
