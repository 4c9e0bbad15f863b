// SPDX-License-Identifier: Apache-2.0
// Nil in unique indexes: any number of entities may have it, or only one, if the declaration says so.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Guest: Equatable {
    @Unique<Self>(\.seat, nilsDistinct: false, collisions: .throw) private var bySeat
    @Unique<Self>(\.name, \.table, nilsDistinct: false, collisions: .throw) private var byPlace
    @Unique<Self>(\.badge, nilsDistinct: false, collisions: .replace) private var byBadge
    @Unique<Self>(\.coat, collisions: .throw) private var byCoat
    @Unique<Self>(\.host, nilsDistinct: false, collisions: .yielding) private var byHost

    let id: Int
    var seat: Int?
    var name: String?
    var table: String?
    var badge: Int?
    var coat: Int?
    var host: Int?

    /// A guest with unique keys.
    init(_ id: Int) {
        self.id = id
        (seat, table, badge, host) = (id, "t\(id)", id, id)
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var guest = self
        change(&guest)
        return guest
    }
}

extension CollisionResolver where Entity == Guest {
    /// A rule that gives the present holder of the key another one.
    fileprivate static var yielding: Self {
        CollisionResolver { existing, _, _, context in
            guard var guest: Guest = try context.find(existing) else { return }
            guest.host = (guest.host ?? 0) + 100 * existing
            try guest.save(to: &context, options: .replace)
        }
    }
}

@Suite("Nil in unique indexes")
struct UniqueNilsTests {
    private func database() throws -> Database { try Database.inMemory(models: Guest.self) }

    @Test("Nils are distinct, unless the index says otherwise")
    func collisions() throws {
        let database = try database()
        try database.write { (context) throws in
            try Guest(1).with { $0.seat = nil }.save(to: &context)
            #expect(codeThrown { try Guest(2).with { $0.seat = nil }.save(to: &context) } == .uniqueViolation)
            // Saving an entity again isn't a collision.
            try Guest(1).with { $0.seat = nil }.save(to: &context)
            // The rest of a compound key is compared.
            try Guest(3).with { ($0.name, $0.table) = (nil, "a") }.save(to: &context)
            try Guest(4).with { ($0.name, $0.table) = (nil, nil) }.save(to: &context)
            try Guest(5).with { ($0.name, $0.table) = ("b", nil) }.save(to: &context)
            for (name, table) in [(nil, "a"), (nil, nil), ("b", nil)] as [(String?, String?)] {
                let guest = Guest(6).with { ($0.name, $0.table) = (name, table) }
                #expect(codeThrown { try guest.save(to: &context) } == .uniqueViolation)
            }
            // All coats but these have been nil.
            #expect(try Guest.filter(\.coat == nil).count(in: context) == 4)
            #expect(try Guest.filter(\.seat == nil).ids(in: context) == [1])
            #expect(try Guest.filter(\.name == nil && \.table == nil).ids(in: context) == [4])
        }
        #expect(try database.isSound())
    }

    @Test("Collisions follow the rules of any other key")
    func rules() throws {
        let database = try database()
        try database.write { (context) throws in
            try Guest(1).with { $0.badge = nil }.save(to: &context)
            try Guest(2).with { $0.badge = nil }.save(to: &context)
            #expect(try context.ids(Guest.self) == [2])
            try Guest(3).with { $0.host = nil }.save(to: &context)
            try Guest(4).with { $0.host = nil }.save(to: &context)
            #expect(try Guest.filter(\.host == nil).ids(in: context) == [4])
            #expect(try context.find(3).map { (guest: Guest) in guest.host } == 300)
        }
        #expect(try database.isSound())
    }

    @Test("Nil changes hands in a list of entities; two of them are refused")
    func batches() throws {
        let database = try database()
        try database.write { (context) throws in
            try context.saveAll([Guest(1).with { $0.seat = nil }, Guest(2)])
            try context.saveAll([Guest(2).with { $0.seat = nil }, Guest(1)])
            #expect(try Guest.filter(\.seat == nil).ids(in: context) == [2])
            let both = [3, 4].map { Guest($0).with { $0.seat = nil } }
            #expect(codeThrown { try context.saveAll(both) } == .uniqueViolation)
            #expect(codeThrown { try context.saveAll([both[0]]) } == .uniqueViolation)
            #expect(try context.ids(Guest.self) == [1, 2])
        }
        #expect(try database.isSound())
    }

    @Test("keys that are cut are distinguished after a nil, too")
    func longKeys() throws {
        let database = try database()
        let long = String(repeating: "x", count: 5_000)
        try database.write { (context) throws in
            try Guest(1).with { ($0.name, $0.table) = (nil, long + "1") }.save(to: &context)
            try Guest(2).with { ($0.name, $0.table) = (nil, long + "2") }.save(to: &context)
            let again = Guest(3).with { ($0.name, $0.table) = (nil, long + "1") }
            #expect(codeThrown { try again.save(to: &context) } == .uniqueViolation)
        }
        #expect(try database.isSound())
    }

    /// Returns the declaration above with the given option.
    private func description(nilsDistinct: Bool) -> EntityDescription {
        var type = Guest.entityShape.description
        type.indexes = type.indexes.map { index in
            var index = index
            if index.name == "bySeat" { index.nilsDistinct = nilsDistinct }
            return index
        }
        return type
    }

    private func file(nilsDistinct: Bool, seats: [Int?]) throws -> MigratedFile {
        try MigratedFile([description(nilsDistinct: nilsDistinct)]) { store in
            for (id, seat) in seats.enumerated() {
                let number = Value.int(Int64(id))
                let seat = seat.map { Value.int(Int64($0)) } ?? .null
                try store.save(Guest.entityName, [number, seat, .null, .string("t\(id)"), number, .null, number])
            }
        }
    }

    @Test("A changed declaration makes the index be rebuilt, or is refused with the file unchanged")
    func changed() throws {
        let file = try file(nilsDistinct: true, seats: [nil, 1, nil])
        let error = #expect(throws: HornbeamError.self) { try file.open([Guest.self]) { _ in } }
        #expect(error?.code == .uniqueViolation)
        #expect(error?.message.contains("“bySeat”") == true && error?.message.contains("nil") == true)

        let single = try self.file(nilsDistinct: true, seats: [nil, 1])
        for _ in 0..<2 {
            try single.open([Guest.self]) { database in
                try database.write { (context) throws in
                    let other = Guest(5).with { $0.seat = nil }
                    #expect(codeThrown { try other.save(to: &context) } == .uniqueViolation)
                }
            }
        }
    }

    @Test("The option is stored with the schema, and only where it isn't the default")
    func stored() throws {
        let indexes = Guest.entityShape.description.indexes
        #expect(indexes.filter { !$0.nilsDistinct }.map(\.name) == ["bySeat", "byPlace", "byBadge", "byHost"])
        let text = String(decoding: try JSONEncoder().encode(indexes), as: UTF8.self)
        #expect(text.components(separatedBy: "nilsDistinct").count == 5)
        #expect(try JSONDecoder().decode([IndexDescription].self, from: Data(text.utf8)) == indexes)
        // A file that already has the option is opened without building anything.
        let kept = try file(nilsDistinct: false, seats: [nil, 1])
        var built: [String] = []
        try kept.open([Guest.self], progress: { built.append("\($0)") }) { _ in }
        #expect(built.isEmpty)
    }
}
