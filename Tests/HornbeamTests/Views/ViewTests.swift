// SPDX-License-Identifier: Apache-2.0
// Views as lists with positions: compared with a list that is sorted by hand, and their refusals.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("Views")
struct ViewTests {
    private func expectSame(_ view: MailView, _ mails: [Int: Mail], _ context: Context) throws {
        let naive = NaiveView(mails.values)
        try #require(try view.groups(in: context) == naive.sections.map(\.group))
        #expect(try view.sections(in: context).map(\.count) == naive.sections.map(\.mails.count))
        #expect(try view.count(in: context) == naive.sections.map(\.mails.count).reduce(0, +))
        for (group, members) in naive.sections {
            let section = view[group]
            try #require(try section.entities(in: context) == members)
            #expect(try section.ids(in: context) == members.map(\.id))
            #expect(try section.count(in: context) == members.count)
            #expect(try section.first(in: context) == members.first)
            #expect(try section.last(in: context) == members.last)
            for (index, mail) in members.enumerated() {
                #expect(try section.entity(at: index, in: context) == mail)
                #expect(try view.position(of: mail.id, in: context) == ViewPosition(group: group, index: index))
            }
            for range in [0..<2, 1..<3, 5..<5, 2..<100] {
                #expect(
                    try section.entities(range, in: context)
                        == Array(members.dropFirst(range.lowerBound).prefix(range.count)))
            }
            for rank in -1...4 {
                for upper in rank...4 {
                    let halfOpen = try section.indexes(of: rank..<upper, in: context)
                    #expect(
                        members[halfOpen].map(\.id) == members.filter { (rank..<upper).contains($0.rank) }.map(\.id))
                    let closed = try section.indexes(of: rank...upper, in: context)
                    #expect(members[closed].map(\.id) == members.filter { (rank...upper).contains($0.rank) }.map(\.id))
                }
                let compared = try section.indexes(in: context) { mail in
                    mail.rank > rank ? .orderedAscending : mail.rank < rank ? .orderedDescending : .orderedSame
                }
                #expect(try section.indexes(of: rank...rank, in: context) == compared)
                #expect(members[try section.indexes(of: rank..., in: context)].allSatisfy { $0.rank >= rank })
                #expect(try section.indexes(of: ...rank, in: context).upperBound == members.count)
                #expect(try section.indexes(of: ..<rank, in: context).lowerBound == compared.upperBound)
            }
        }
        for mail in mails.values where mail.isSpam || mail.folder == nil {
            #expect(try view.position(of: mail.id, in: context) == nil)
        }
    }

    @Test("after any writes a view equals the sorted entities", arguments: SeededGenerator.seeds(4))
    func model(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let database = try Database.inMemory(models: Mail.self)
        let view = mailView()
        // The view is built from the stored entities.
        try writes.write(database, changes: 30)
        try database.register(view)
        for _ in 0..<40 {
            try writes.write(database, changes: writes.random.below(8))
            try database.read { context in try expectSame(view, writes.mails, context) }
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("a write sees its own changes")
    func ownChanges() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            try Mail(id: 1, folder: "a", rank: 1).save(to: &context)
            try Mail(id: 2, folder: "a", rank: 2).save(to: &context)
            let ids = try view["a"].ids(in: context)
            #expect(ids == [2, 1])
        }
    }

    @Test("groups of every type come back in order")
    func groups() throws {
        enum Level: Int, IndexKey, Codable { case low = -1, high = 1 }
        let database = try Database.inMemory(models: Mail.self)
        try database.write { context in
            for id in 0..<4 {
                try Mail(id: id, folder: "f\(id)", rank: id - 2, size: Double(id) / 2).save(to: &context)
            }
        }
        func groups<Group: IndexKey & Hashable>(_ group: @escaping @Sendable (Mail) -> Group?) throws -> [Group] {
            let view = View("v", version: "\(Group.self)", groupedBy: group, sortedBy: .ascending(\.rank))
            try database.register(view)
            return try database.read { context in try view.groups(in: context) }
        }
        let id = UUID()
        #expect(try groups { $0.rank } == [-2, -1, 0, 1])
        #expect(try groups { $0.size.map { -$0 } } == [-1.5, -1, -0.5, 0])
        #expect(
            try groups { Date(timeIntervalSinceReferenceDate: Double($0.rank)) }.map(\.timeIntervalSinceReferenceDate)
                == [-2, -1, 0, 1])
        #expect(try groups { UInt16($0.id) } == [0, 1, 2, 3])
        #expect(try groups { $0.rank > 0 } == [false, true])
        #expect(try groups { _ in id } == [id])
        #expect(try groups { Data([UInt8($0.id), 0]) } == (0..<4).map { Data([$0, 0]) })
        #expect(try groups { Decimal($0.rank) / 8 } == [-0.25, -0.125, 0, 0.125])
        #expect(try groups { $0.rank == 0 ? nil : $0.rank < 0 ? Level.low : .high } == [.low, .high])
        // Nil is a group if the type says so.
        #expect(try groups { mail -> String?? in .some(mail.id == 0 ? nil : mail.folder) } == [nil, "f1", "f2", "f3"])
    }

    @Test("a view works with ids that aren't row ids, a single list and equal keys")
    func sole() throws {
        let view = View<Consignment, SoleGroup>("byWeight", version: "1", sortedBy: .ascending(\.weight))
        let database = try Database.inMemory(models: Consignment.self, indexes: [view])
        try database.write { context in
            for (id, weight) in [("x", 3), ("y", 1), ("z", 3), ("w", 2)] {
                try Consignment(id: id, weight: weight).save(to: &context)
            }
        }
        try database.read { (context) throws in
            #expect(try view.list.ids(in: context) == ["y", "w", "x", "z"])
            #expect(try view.position(of: "z", in: context) == ViewPosition(group: .all, index: 3))
            #expect(try view.position(of: "none", in: context) == nil)
            #expect(try view.id(at: ViewPosition(group: .all, index: 1), in: context) == "w")
        }
    }

    @Test("nil comes first, is in no range, and a collation orders texts")
    func terms() throws {
        let bySize = View<Mail, SoleGroup>("bySize", version: "1", sortedBy: .ascending(\.size))
        let bySubject = View<Mail, SoleGroup>(
            "bySubject", version: "1", sortedBy: .ascending(\.subject, collation: .unicode), .descending(\.id))
        let database = try Database.inMemory(models: Mail.self, indexes: [bySize, bySubject])
        try database.write { context in
            for (id, subject) in ["b", "a", "A", "é", "z", "a"].enumerated() {
                try Mail(id: id, rank: 0, subject: subject, size: id % 3 == 0 ? nil : Double(id)).save(to: &context)
            }
        }
        try database.read { (context) throws in
            #expect(try bySize.list.ids(in: context) == [0, 3, 1, 2, 4, 5])
            #expect(try bySize.list.indexes(of: ..<(2.0), in: context) == 2..<3)
            #expect(try bySize.list.indexes(of: 2.0..., in: context) == 3..<6)
            #expect(try bySubject.list.ids(in: context) == [5, 1, 2, 0, 3, 4])
            #expect(try bySubject.list.indexes(of: "a"..."b", in: context) == 0..<4)
        }
    }

    @Test("long texts are ordered by their beginnings, and still have exact positions")
    func longTexts() throws {
        let view = View<Mail, SoleGroup>("bySubject", version: "1", sortedBy: .ascending(\.subject))
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        let long = String(repeating: "x", count: 700)
        try database.write { context in
            for (id, subject) in [long + "b", long, "x", long + "a", "y"].enumerated() {
                try Mail(id: id, rank: 0, subject: subject).save(to: &context)
            }
        }
        try database.read { (context) throws in
            #expect(try view.list.ids(in: context) == [2, 0, 1, 3, 4])
            #expect(try view.position(of: 3, in: context)?.index == 3)
            #expect(try view.list.indexes(of: "x"..."y", in: context) == 0..<5)
        }
        let bound = #expect(throws: HornbeamError.self) {
            try database.read { try view.list.indexes(of: long..., in: $0) }
        }
        #expect(bound?.code == .tooLarge)
        let groups = View<Mail, String>("byGroup", version: "1", groupedBy: \.subject)
        let error = #expect(throws: HornbeamError.self) { try database.register(groups) }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("group by less") == true)
    }

    @Test("a view refuses unsuitable definitions and arguments")
    func refusals() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self)
        func code(_ body: () throws -> Void) -> HornbeamError.Code? {
            #expect(throws: HornbeamError.self) { try body() }?.code
        }
        #expect(code { _ = try database.read { try view.count(in: $0) } } == .indexNotReady)
        try database.register(view)
        #expect(code { _ = try database.read { try mailView("2").count(in: $0) } } == .indexNotReady)
        #expect(code { _ = try database.read { try view["a"].indexes(of: "a"..., in: $0) } } == .invalid)
        struct Refused: Error {}
        let throwing = View<Mail, String>("throwing", version: "1") { mail in
            if mail.rank > 2 { throw Refused() }
            return "a"
        }
        try database.register(throwing)
        #expect(throws: Refused.self) {
            try database.write { context in try Mail(id: 1, folder: "a", rank: 3).save(to: &context) }
        }
        #expect(try database.read { context in try Mail.query(1).resolve(in: context) } == nil)
        // An unknown group is empty, and no error.
        try database.read { (context) throws in
            #expect(try view["none"].count(in: context) == 0)
            #expect(try view["none"].first(in: context) == nil)
            #expect(try view["none"].last(in: context) == nil)
            #expect(try view["none"].entity(at: -1, in: context) == nil)
            #expect(try view["none"].indexes(of: 1...2, in: context) == 0..<0)
        }
    }

    @Test("check finds a view with changed functions and an unchanged version")
    func check() throws {
        let disk = try SimulatedDisk()
        let database = try MigratedFile.open(disk, [Mail.self], [])
        try database.register(mailView())
        try database.write { context in try Mail(id: 1, folder: "a", rank: 1).save(to: &context) }
        try database.close()
        let again = try MigratedFile.open(try SimulatedDisk(image: disk.killedImage()), [Mail.self], [])
        let other = MailView(
            "inbox", version: "1", groupedBy: \.folder, sortedBy: .descending { $0.rank + 1 }, .ascending(\.subject))
        try again.register(other)
        var problems: [String] = []
        #expect(try !again.check { problems.append($0) })
        #expect(problems.contains { $0.contains("inbox") })
        let error = #expect(throws: HornbeamError.self) { try again.read { try other.position(of: 1, in: $0) } }
        #expect(error?.code == .corrupt)
    }
}
