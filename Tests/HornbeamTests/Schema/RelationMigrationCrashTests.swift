// SPDX-License-Identifier: Apache-2.0
// A migration of relations that is cut at any file operation, or has a full or failing disk: all links in the file
// are as they were, or all are migrated, on both sides.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Team {
    let id: Int
    @Relationship(inverse: \.team) var players: [Player]?
    @Relationship() var lead: Player?
}

@EntityModel
private struct Player {
    let id: Int
    @Relationship(inverse: \.players) var team: Team?
    @Relationship(inverse: \.members) var clubs: [Club]?
}

@EntityModel
private struct Club {
    let id: Int
    @Relationship(inverse: \.clubs) var members: [Player]?
}

private func relation(_ name: String, _ target: String, toMany: Bool, inverse: String? = nil) -> RelationDescription {
    RelationDescription(name: name, target: target, toMany: toMany, inverse: inverse)
}

private let old = [
    EntityDescription(
        name: "Team", columns: [column("id", .int64)],
        relations: [
            relation("members", "Player", toMany: true, inverse: "team"), relation("lead", "Player", toMany: true),
            relation("former", "Player", toMany: true),
        ]),
    EntityDescription(
        name: "Player", columns: [column("id", .int64)],
        relations: [
            relation("team", "Team", toMany: false, inverse: "members"), relation("clubs", "Club", toMany: true),
        ]),
    EntityDescription(name: "Club", columns: [column("id", .int64)]),
]

/// A relation is renamed, one becomes to-one with the first target, one is dropped, one gains its inverse.
private let steps: [Migration] = [
    .rename(Team.self, "members", to: \.$players), .toOne(Team.self, \.$lead), .forget(Team.self, "former"),
]

@Suite("Migrations of relations cut short")
struct RelationMigrationCrashTests {
    private static let teams = 40
    private static let teamSize = 6

    /// Links by the number of the entity.
    private typealias Links = [Int: [Int]]

    private static let members = links(teams) { team in (0..<teamSize).map { team * teamSize + $0 } }
    private static let leads = links(teams) { team in [team * teamSize + 2, team * teamSize] }
    private static let clubs = links(teams * teamSize) { player in [(player * 7 + 1) % 30, (player * 5 + 3) % 30] }

    private static func links(_ count: Int, _ targets: (Int) -> [Int]) -> Links {
        var links: Links = [:]
        for number in 0..<count {
            links[number] = targets(number).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        }
        return links
    }

    private static func reversed(_ links: Links) -> [Int: Set<Int>] {
        var reversed: [Int: Set<Int>] = [:]
        for (source, targets) in links { for target in targets { reversed[target, default: []].insert(source) } }
        return reversed
    }

    private func file() throws -> MigratedFile {
        try MigratedFile(old) { store in
            for number in 0..<Self.teams * Self.teamSize { try store.save("Player", [.int(Int64(number))]) }
            for number in 0..<Self.teams { try store.save("Team", [.int(Int64(number))]) }
            for number in 0..<30 { try store.save("Club", [.int(Int64(number))]) }
            for (type, name, links) in [
                ("Team", "members", Self.members), ("Team", "lead", Self.leads), ("Team", "former", Self.leads),
                ("Player", "clubs", Self.clubs),
            ] {
                let side = try store[type].type.relation(name)
                for (source, targets) in links.sorted(by: { $0.key < $1.key }) {
                    try store.core.edges.set(side, rowID(source), targets.map(rowID))
                }
            }
        }
    }

    /// Ids that are small numbers are row ids themselves.
    private func rowID(_ number: Int) -> RowID { RowID(rawValue: UInt64(number)) }

    private func links(_ core: StoreTransaction, _ type: String, _ name: String) throws -> Links {
        let store = try core.store(type)
        let side = try store.type.relation(name)
        var links: Links = [:]
        for case .int(let id) in try store.allIDs() {
            let targets = try core.edges.targets(side, of: rowID(Int(id))).map { Int($0.rawValue) }
            if !targets.isEmpty { links[Int(id)] = targets }
        }
        return links
    }

    /// Returns whether all links in an image are migrated; false if all of them are as they were.
    private func isMigrated(_ image: [UInt8]?, _ place: Comment) throws -> Bool {
        let store = try TreeStore.open(file: try SimulatedDisk(image: image))
        #expect(try store.check { Issue.record("\($0), \(place)") }, place)
        let read = try store.beginRead()
        defer { read.abort() }
        let schema = try SchemaCatalogue.load(read)
        let core = StoreTransaction(read, schema: schema)
        #expect(try EntityCheck(core).run { Issue.record("\($0), \(place)") }, place)
        let relations = try schema.type("Team").relations.map(\.name)
        let isMigrated = relations.contains("players")
        #expect(relations.sorted() == (isMigrated ? ["lead", "players"] : ["former", "lead", "members"]), place)
        #expect(try links(core, "Team", isMigrated ? "players" : "members") == Self.members, place)
        #expect(try links(core, "Player", "clubs") == Self.clubs, place)
        let teams = try links(core, "Player", "team").mapValues(Set.init)
        #expect(teams == Self.reversed(Self.members), place)
        let leads = try links(core, "Team", "lead")
        #expect(leads == (isMigrated ? Self.leads.mapValues { [$0[0]] } : Self.leads), place)
        if isMigrated {
            let members = try links(core, "Club", "members").mapValues(Set.init)
            #expect(members == Self.reversed(Self.clubs), place)
        } else {
            #expect(try links(core, "Team", "former") == Self.leads, place)
        }
        // The migration's temporary trees for links are removed with it.
        let loose = try read.treeNames().filter { name in ["f:", "b:"].contains { name.hasPrefix($0) } }
        #expect(loose == [], place)
        return isMigrated
    }

    /// Opens with a plan of faults.
    private func migrate(_ disk: SimulatedDisk) -> Bool {
        guard let database = try? MigratedFile.open(disk, [Team.self, Player.self, Club.self], steps) else {
            return false
        }
        try? database.close()
        return true
    }

    @Test("a crash at any call leaves all links as they were or all migrated, and acknowledged data stays", .seeded)
    func crashes() throws {
        try file().crashEverywhere(migrate, isMigrated)
    }

    @Test("a disk that fails or is full leaves a file whose links are whole", arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        try file().failEverywhere(code, migrate, isMigrated)
    }
}
