// SPDX-License-Identifier: Apache-2.0
// Row I23: when an entity was first saved and how often it was changed, of types that ask for it: they only grow, can
// be filtered, sorted and indexed by, and cost nothing elsewhere.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
struct Revised: Equatable {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(.createdAt) private var byCreation
    @Index<Self>(\.kind, .version.desc) private var byVersion

    let id: Int
    var kind = 0
    var name = ""
}

/// The same before it kept them.
@EntityModel
struct Unrevised {
    let id: Int
    var kind = 0
    var name = ""
}

@Suite("I23: what is kept of entities")
struct StoredMetadataTests {
    private func state(_ database: Database, _ id: Int) throws -> (version: Int?, created: Date?, updated: Date?) {
        try database.read { context in
            (
                try Revised.version(id: id, in: context), try Revised.createdAt(id: id, in: context),
                try Revised.updatedAt(id: id, in: context)
            )
        }
    }

    @Test("versions count changes and creation stays, whatever saves an entity")
    func monotone() throws {
        let database = try Database.inMemory(models: Revised.self)
        #expect(try state(database, 1).version == nil && state(database, 1).created == nil)
        let before = Date()
        try database.write { try Revised(id: 1, name: "a").save(to: &$0) }
        let first = try state(database, 1)
        let created = try #require(first.created)
        #expect(first.version == 1 && created >= before && created <= Date())
        var expected = 1
        let steps: [(Bool, (inout Context) throws -> Void)] = [
            (false, { try Revised(id: 1, name: "a").save(to: &$0) }),
            (true, { try Revised(id: 1, name: "b").save(to: &$0) }),
            (false, { _ = try Revised.touch(1, in: &$0) }),
            (
                true,
                { context in
                    _ = try Revised.filter(\.id == 1).update(in: &context) { $0.kind = 3 }
                }
            ),
            (false, { try Revised(id: 1).updateMetadata(.updatedAt, value: .distantPast, in: &$0) }),
            (
                false,
                { context in
                    try? context.transaction { context in
                        try Revised(id: 1, name: "undone").save(to: &context)
                        throw HornbeamError(.invalid, "undone")
                    }
                }
            ),
            (true, { try Revised(id: 1, name: "c").save(to: &$0) }),
        ]
        for (place, (isChange, step)) in steps.enumerated() {
            try database.write { try step(&$0) }
            if isChange { expected += 1 }
            let now = try state(database, 1)
            #expect(now.version == expected && now.created == created, "step \(place)")
        }
        // Another life has another beginning.
        try database.write { context in
            _ = try Revised.query(1).delete(from: &context)
            try Revised(id: 1, name: "c").save(to: &context)
        }
        #expect(try state(database, 1).version == 1)
        #expect(try #require(try state(database, 1).created) > created)
        #expect(throws: HornbeamError.self) {
            try database.write { try Revised(id: 1).updateMetadata(.createdAt, value: Date(), in: &$0) }
        }
        #expect(try database.isWhole())
    }

    @Test("filters and sorts by them use their indexes, also in statements")
    func indexed() throws {
        let database = try Database.inMemory(models: Revised.self)
        for round in 0..<4 {
            try database.write { context in
                for id in round * 5..<20 { try Revised(id: id, kind: id % 2, name: "\(round)").save(to: &context) }
            }
        }
        let versions = (0..<20).map { min(4, $0 / 5 + 1) }
        let often = Revised.filter(\.kind == 1 && .version(in: 3...9)).sorted(by: .version.desc)
        #expect(try database.plan(often).access.description.contains("byVersion"))
        #expect(try database.plan(often).order == .byAccess)
        let expected = (0..<20).filter { $0 % 2 == 1 && versions[$0] >= 3 }.sorted {
            (versions[$1], $0) < (versions[$0], $1)
        }
        #expect(try database.results(often).map(\.id) == expected)
        let middle = try #require(try state(database, 10).created)
        let early = Revised.filter(.created(within: Date.distantPast...middle)).sorted(by: .createdAt)
        let first = Revised.query().sorted(by: .createdAt).limit(3)
        #expect(try database.plan(first).access.description.contains("byCreation"))
        #expect(Set(try database.results(early).map(\.id)).isSuperset(of: Set(0..<10)))
        let rows = try database.query(
            "SELECT META().version AS v, META().createdAt AS c FROM Revised "
                + "WHERE META().version >= 4 ORDER BY id LIMIT 1")
        #expect(rows.count == 1 && rows[0]["v"] == .int(4))
        if case .date? = rows[0]["c"] {} else { Issue.record("\(rows)") }
        // On from a place in such an order.
        let page = Revised.query().sorted(by: .by(.version), .by(\.id)).limit(3)
        let last = try #require(try database.results(page).last)
        #expect(try database.results(page.after(last)).map(\.id) == [3, 4, 5])
    }

    @Test("what was stored before has no time and version 0, and is counted from then on")
    func later() throws {
        let file = try MigratedFile([]) { _ in }
        try file.open([Unrevised.self]) { database in
            try database.write { context in
                for id in 0..<3 { try Unrevised(id: id, name: "old").save(to: &context) }
            }
            let size = try database.read { try $0.session.store(Unrevised.self).type.layout.emptyRow.count }
            let counted = try Database.inMemory(models: Revised.self)
            let grown = try counted.read { try $0.session.store(Revised.self).type.layout.emptyRow.count }
            #expect(grown - size == 16)
        }
        try file.open([Revised.self], [.rename("Unrevised", to: Revised.self)]) { database in
            #expect(try state(database, 1).version == 0 && state(database, 1).created == nil)
            #expect(try database.results(Revised.filter(.version(in: 0...0))).map(\.id) == [0, 1, 2])
            #expect(try database.results(Revised.filter(.version(in: 1...9))).isEmpty)
            try database.write { try Revised(id: 1, name: "old").save(to: &$0) }
            #expect(try state(database, 1).version == 0)
            try database.write { try Revised(id: 1, name: "new").save(to: &$0) }
            #expect(try state(database, 1).version == 1 && state(database, 1).created == nil)
            #expect(try database.isWhole())
        }
    }

    @Test("types that don't ask for them keep none, and say how to")
    func absent() throws {
        let database = try Database.inMemory(models: Unrevised.self)
        try database.write { try Unrevised(id: 1).save(to: &$0) }
        let calls: [(Context) throws -> Void] = [
            { _ = try Unrevised.version(id: 1, in: $0) }, { _ = try Unrevised.createdAt(id: 1, in: $0) },
            { _ = try Unrevised.query().sorted(by: .version).resolve(in: $0) },
            { _ = try Unrevised.filter(.version(in: 1...2)).resolve(in: $0) },
            { _ = try Unrevised.filter(.created(within: Date.distantPast...Date())).resolve(in: $0) },
        ]
        for (place, call) in calls.enumerated() {
            let error = #expect(throws: HornbeamError.self, "\(place)") { try database.read { try call($0) } }
            #expect(error?.code == .invalid && error?.message.contains("storedMetadata") == true, "\(place)")
        }
        #expect(throws: HornbeamError.self) { try database.query("SELECT META().version AS v FROM Unrevised") }
    }

    @Test("lines of JSON carry them from file to file")
    func exported() throws {
        let database = try Database.inMemory(models: Revised.self)
        for name in ["a", "b", "c"] { try database.write { try Revised(id: 4, name: name).save(to: &$0) } }
        let line = try database.read { context in
            let store = try context.session.store(Revised.self)
            let row = try #require(try store.row(RowID(rawValue: 4)))
            return try JSONRows("Revised", session: context.session.entities()).line(RowID(rawValue: 4), row)
        }
        let other = try Database.inMemory(models: Revised.self)
        try other.write { context in
            _ = try Array(line.utf8).withUnsafeBytes {
                try JSONRows("Revised", session: context.session.entities()).save(line: $0)
            }
        }
        #expect(try state(other, 4).version == 3)
        let (here, there) = (try #require(try state(database, 4).created), try #require(try state(other, 4).created))
        #expect(abs(here.timeIntervalSince(there)) < 0.01)
    }
}
