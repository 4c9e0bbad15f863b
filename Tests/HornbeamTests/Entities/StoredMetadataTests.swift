// SPDX-License-Identifier: Apache-2.0
// The creation time and the number of changes of an entity, for types that ask for them: they only grow, entities can
// be filtered and sorted by them, they can be indexed, and other types pay nothing for them.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct Revised: Equatable {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(.createdAt) private var byCreation
    @Index<Self>(\.kind, .version.desc) private var byVersion

    let id: Int
    var kind = 0
    var name = ""
}

/// `Revised` in a later program: with another name and another property.
@EntityModel
struct Reshaped {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(.createdAt) private var byCreation

    let id: Int
    var kind = 0
    var name = ""
    var weight = 5
}

/// `Revised` in an earlier program, which kept no metadata.
@EntityModel
struct Unrevised {
    let id: Int
    var kind = 0
    var name = ""
}

@Suite("stored metadata")
struct StoredMetadataTests {
    private func state(_ database: Database, _ id: Int) throws -> (version: Int?, created: Date?, updated: Date?) {
        try database.read { context in
            (
                try Revised.version(id: id, in: context), try Revised.createdAt(id: id, in: context),
                try Revised.updatedAt(id: id, in: context)
            )
        }
    }

    @Test("versions count changes and creation times stay, however an entity is saved")
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
        // A deleted entity that is saved again begins anew.
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

    @Test("filters and sorts by metadata use their indexes, also in statements")
    func indexed() throws {
        let database = try Database.inMemory(models: Revised.self)
        // The highest ids are saved first: the order of creation differs from the order of ids.
        try database.write { context in
            for id in 10..<20 { try Revised(id: id, kind: id % 2, name: "0").save(to: &context) }
        }
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
        let created = try (0..<20).map { try #require(try state(database, $0).created) }
        let byCreation = (0..<20).sorted { (created[$0], $0) < (created[$1], $1) }
        let middle = created[19]
        try #require(created[0] > middle)
        let early = Revised.filter(.created(within: Date.distantPast...middle)).sorted(by: .createdAt)
        let first = Revised.query().sorted(by: .createdAt).limit(3)
        #expect(try database.plan(first).access.description.contains("byCreation"))
        #expect(try database.results(early).map(\.id) == byCreation.filter { created[$0] <= middle })
        #expect(try database.results(first).map(\.id) == Array(byCreation.prefix(3)))
        let rows = try database.query(
            "SELECT META().version AS v, META().createdAt AS c FROM Revised "
                + "WHERE META().version >= 4 ORDER BY id LIMIT 1")
        #expect(rows.count == 1 && rows[0]["v"] == .int(4))
        if case .date? = rows[0]["c"] {} else { Issue.record("\(rows)") }
        // Continues after a position in such an order.
        let page = Revised.query().sorted(by: .by(.version), .by(\.id)).limit(3)
        let last = try #require(try database.results(page).last)
        #expect(try database.results(page.after(last)).map(\.id) == [3, 4, 5])
    }

    @Test("older entities have no time and version 0, and are counted from then on")
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

    @Test("metadata stays when a file is opened again, and after a migration that remakes the rows")
    func kept() throws {
        let file = try MigratedFile([]) { _ in }
        let before = try file.open([Revised.self]) { database in
            for id in [1, 2, 1, 1] {
                let name = "\(try state(database, 1).version ?? 0)"
                try database.write { try Revised(id: id, name: name).save(to: &$0) }
            }
            return try [1, 2].map { try state(database, $0) }
        }
        #expect(before.map(\.version) == [3, 1] && before.allSatisfy { $0.created != nil })
        try file.open([Revised.self]) { (database) throws in
            for (id, before) in zip([1, 2], before) { #expect(try state(database, id) == before) }
        }
        try file.open([Reshaped.self], [.rename("Revised", to: Reshaped.self)]) { database in
            try database.read { (context) throws in
                for (id, before) in zip([1, 2], before) {
                    #expect(try Reshaped.version(id: id, in: context) == before.version)
                    #expect(try Reshaped.createdAt(id: id, in: context) == before.created)
                }
                #expect(try Reshaped.query().sorted(by: .createdAt).ids(in: context) == [1, 2])
                #expect(try Reshaped.filter(\.weight == 5).count(in: context) == 2)
            }
            try database.write { try Reshaped(id: 1, name: "new").save(to: &$0) }
            #expect(try database.read { try Reshaped.version(id: 1, in: $0) } == 4)
        }
    }

    @Test("restored entities begin anew")
    func restored() throws {
        let database = try Database.inMemory(models: Revised.self, keepsDeleted: .forever)
        for name in ["a", "b", "c"] { try database.write { try Revised(id: 1, name: name).save(to: &$0) } }
        let before = try #require(try state(database, 1).created)
        try database.write { try Revised.delete(id: 1, from: &$0) }
        #expect(try state(database, 1).version == nil && state(database, 1).created == nil)
        try database.write { context in
            let gone: Deleted<Revised>? = try context.find(1)
            try #require(gone).restore(in: &context)
        }
        #expect(try database.results(Revised.query()).map(\.name) == ["c"])
        #expect(try state(database, 1).version == 1)
        #expect(try #require(try state(database, 1).created) > before)
        #expect(try database.isWhole())
    }

    @Test("types that don't ask for metadata keep none, and errors tell how to")
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
            return try JSONRows("Revised", core: context.session.core).line(RowID(rawValue: 4), row)
        }
        // As if from an old file: an entity saved now would have the present time.
        let told = try #require(line.firstRange(of: /"\$createdAt":"[^"]*"/))
        let old = line.replacingCharacters(in: told, with: #""$createdAt":"2001-01-02T00:00:00Z""#)
        let other = try Database.inMemory(models: Revised.self)
        try other.write { context in
            _ = try Array(old.utf8).withUnsafeBytes {
                try JSONRows("Revised", core: context.session.core).save(line: $0)
            }
        }
        #expect(try state(other, 4).version == 3)
        #expect(try state(other, 4).created == Date(timeIntervalSinceReferenceDate: 86_400))
    }
}
