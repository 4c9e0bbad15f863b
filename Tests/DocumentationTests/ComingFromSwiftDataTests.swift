// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from SwiftData”.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Trip {
    @Unique<Self>(\.name, collisions: .update) private var byName
    @Index<Self>(\.start) private var byStart

    let id: UUID
    var name: String
    var start: Date

    @Relationship(deleteRule: .cascade, inverse: \.trip) var stops: [Stop]?
}

@EntityModel
private struct Stop {
    let id: UUID
    var place: String

    @Relationship(inverse: \.stops) var trip: Trip?
}

/// A trip in the files of an earlier version.
@EntityModel
private struct Journey {
    let id: UUID
    var title: String
    var start: Date
}

@Suite("The guide “Coming from SwiftData”", .timeLimit(.minutes(30)))
struct ComingFromSwiftDataTests {
    private let today = Date(timeIntervalSinceReferenceDate: 800_000_000)

    @Test("Trips are saved, found, changed and deleted")
    func trips() throws {
        let database = try Database.inMemory(models: Trip.self)
        let id = UUID()
        var trip = Trip(
            id: id, name: "Roma", start: today + 1, stops: .relation([Stop(id: UUID(), place: "Forum")]))
        try database.write { context in
            try trip.save(to: &context)
            trip.name = "Rome"
            try trip.save(to: &context)
            try Trip(id: UUID(), name: "Rome", start: today + 2).save(to: &context)
        }
        try database.read { context in
            let query = Trip.filter(\.start > today)
            #expect(try query.resolve(in: context).map(\.name) == ["Rome"])
            #expect(try query.count(in: context) == 1)
            #expect(try Trip.query().sorted(by: \.start.desc).limit(10).ids(in: context) == [id])
            let named = Trip.filter(.string(\.name, contains: "ome"))
            #expect(try named.ids(in: context) == [id])
            let stops = try Trip.query(id).with(\.$stops).resolve(in: context)?.stops
            #expect(stops?.map(\.place) == ["Forum"])
        }
        try database.write { context in
            #expect(try Trip.filter(\.start < today).delete(from: &context) == 0)
            try trip.delete(from: &context)
            #expect(try context.ids(Stop.self) == [])
        }
    }

    @Test("A task writes, and another one observes")
    func tasks() async throws {
        let database = try Database.inMemory(models: Trip.self)
        let trip = Trip(id: UUID(), name: "Rome", start: today)
        try await database.write { context in
            try trip.save(to: &context)
        }
        for try await list in database.observe(Trip.query().sorted(by: \.start)) {
            #expect(list.entities.map(\.name) == ["Rome"])
            break
        }
    }

    @Test("A property gets another name")
    func migration() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("trips.hornbeam")
        let earlier = try Database(at: path, models: Journey.self)
        try earlier.write { try Journey(id: UUID(), title: "Rome", start: today).save(to: &$0) }
        try earlier.close()
        let migrations: [Migration] = [
            .rename("Journey", to: Trip.self),
            .rename(Trip.self, "title", to: \.name),
        ]
        let database = try Database(at: path, models: Trip.self, migrations: migrations)
        #expect(try database.read { try Trip.query().first(in: $0) }?.name == "Rome")
        try database.close()
        try Database(at: path, models: Trip.self).close()
    }
}
