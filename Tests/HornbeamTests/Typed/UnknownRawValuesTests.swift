// SPDX-License-Identifier: Apache-2.0
// Stored raw values that an enum doesn't have, or no longer has: how they are read, how their entities are deleted,
// and that each remedy in the error's message works.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private enum Stage: String, Codable { case open, shut }
/// An enum that is also a column value.
private enum Rating: Int, Codable, IndexKey { case good = 1, bad }
private struct Details: Codable, Equatable { var note: String }

/// The type in an earlier program, whose enums had more cases.
private let earlier = EntityDescription(
    name: "Ticket",
    columns: [
        column("id", .int64), column("status", .string), column("grade", .int64), column("past", .array(.string)),
        column("details", .json),
    ])

/// Returns a file with four entities: 1 and 2 have only present cases, 3 has former ones, and so has a list in 4.
private func file(_ name: String) throws -> MigratedFile {
    var type = earlier
    type.name = name
    return try MigratedFile([type]) { store in
        let details = Value.json(#"{"note":"x"}"#)
        let open = Value.array([.string("open")])
        try store.save(name, [.int(1), .string("open"), .int(1), open, details])
        try store.save(name, [.int(2), .string("shut"), .int(2), .array([]), details])
        try store.save(name, [.int(3), .string("archived"), .int(7), open, .json(#"{"text":"old"}"#)])
        try store.save(name, [.int(4), .string("open"), .int(1), .array([.string("open"), .string("lost")]), details])
    }
}

@EntityModel
private struct Strict {
    let id: Int
    var status: Stage
    var grade: Rating
    var past: [Stage]
    var details: Details

    @Relationship(deleteRule: .cascade, inverse: \.owner) var parts: [Part]?
    @Relationship(deleteRule: .notify) var watched: Strict? = nil

    mutating func didLoseLink<Source: EntityModelProtocol>(
        from source: Source, relation: String, in context: inout Context
    ) throws -> Bool {
        true
    }
}

@EntityModel
private struct Part {
    let id: Int
    @Relationship(inverse: \.parts) var owner: Strict?
}

@EntityModel
private struct Loose {
    let id: Int
    var status: Stage?
    var grade: Rating?
    var past: [Stage]?
}

@EntityModel
private struct Defaulted {
    let id: Int
    var status: Stage = .shut
    var grade = Rating.bad
    var past: [Stage] = [.shut]
}

@Suite("Raw values that an enum doesn't have")
struct UnknownRawValuesTests {
    private func error(_ body: () throws -> Void) -> HornbeamError? {
        do {
            try body()
            return nil
        } catch {
            return error as? HornbeamError
        }
    }

    @Test("are an error that names the entity, the value, and the remedies")
    func refused() throws {
        try file("Strict").open([Strict.self, Part.self]) { database throws in
            try database.read { context in
                let refusal = error { _ = try context.find(3) as Strict? }
                #expect(refusal?.code == .undecodable)
                let text = refusal?.message ?? ""
                for part in ["Strict 3", "“status”", "archived", "optional", "default", ".convert"] {
                    #expect(text.contains(part), "\(text)")
                }
                #expect(error { _ = try context.all() as [Strict] }?.code == .undecodable)
                #expect(error { _ = try context.find(4) as Strict? }?.message.contains("“past”") == true)
            }
        }
    }

    @Test("in a group are an error of the property, and of no entity where none is read")
    func groups() throws {
        try file("Strict").open([Strict.self, Part.self]) { database throws in
            try database.read { context in
                let refusal = error {
                    _ = try Strict.query().grouped(by: \.status).aggregate(.count).resolve(in: context)
                }
                #expect(refusal?.code == .undecodable)
                #expect(refusal?.message.contains("nil:") == false, "\(refusal?.message ?? "")")
            }
        }
    }

    @Test("don't keep an entity from being deleted: by id, by a query, by a relation and by a cascade")
    func deletions() throws {
        let file = try file("Strict")
        try file.open([Strict.self, Part.self]) { database throws in
            try database.write { context in
                try Part(id: 1, owner: .id(3)).save(to: &context)
                try Part(id: 2, owner: .id(1)).save(to: &context)
            }
            try database.write { context in
                try Strict.delete(id: 3, from: &context)
                #expect(try context.find(3) as Strict? == nil)
                #expect(try context.ids(Part.self) == [2], "the cascade went on")
                #expect(try Deleted<Strict>.query().count(in: context) == 0)
                #expect(try Deleted<Part>.query().ids(in: context) == [1])
                #expect(try Strict.query().delete(from: &context) == 3)
                #expect(try Strict.query().count(in: context) == 0)
                #expect(try Deleted<Strict>.query().ids(in: context) == [1, 2], "4 could not be read either")
                #expect(try context.ids(Part.self) == [])
            }
        }
    }

    @Test("don't prevent an entity from being notified of a removed link")
    func notified() throws {
        try file("Strict").open([Strict.self, Part.self]) { database throws in
            try database.write { context in
                var first = try #require(try context.find(1) as Strict?)
                first.$watched = .id(3)
                try first.save(to: &context)
                try Strict.delete(id: 1, from: &context)
                #expect(try context.ids(Strict.self) == [2, 3, 4])
            }
        }
    }

    @Test("of an optional property are nil, and conditions use the stored value")
    func optional() throws {
        try file("Loose").open([Loose.self]) { database throws in
            try database.read { context in
                let all: [Loose] = try context.all()
                #expect(all.map(\.status) == [.open, .shut, nil, .open])
                #expect(all.map(\.grade) == [.good, .bad, nil, .good])
                #expect(all.map(\.past) == [[.open], [], [.open], nil])
                #expect(try Loose.filter(\.status == nil).ids(in: context) == [])
                #expect(try Loose.filter(\.status == .open).ids(in: context) == [1, 4])
            }
        }
    }

    @Test("of a property with a default are its default")
    func defaulted() throws {
        try file("Defaulted").open([Defaulted.self]) { database throws in
            let all: [Defaulted] = try database.read { try $0.all() }
            #expect(all.map(\.status) == [.open, .shut, .shut, .open])
            #expect(all.map(\.grade) == [.good, .bad, .bad, .good])
            #expect(all.map(\.past) == [[.open], [], [.open], [.shut]])
        }
    }

    @Test("of deleted entities alone are converted too, and unreadable ones can be forgotten")
    func deletedOnes() throws {
        let deleted = EntityDescription(
            name: "Deleted<Strict>",
            columns: [column("id", .int64), column("entity", .json), column("links", .json)])
        var type = earlier
        type.name = "Strict"
        let json = #"{"id":5,"status":"archived","grade":1,"past":[],"details":{"note":"x"}}"#
        let file = try MigratedFile([type, deleted]) { store in
            try store.save("Deleted<Strict>", [.int(5), .json(json), .json("{}")])
        }
        let models: [any EntityModelProtocol.Type] = [Strict.self, Part.self]
        let step = Migration.convert(Strict.self, \.status, from: String.self) { _ in .shut }
        try file.open(models) { database throws in
            try database.read { context in
                #expect(error { _ = try Deleted<Strict>.query().resolve(in: context) }?.code == .undecodable)
            }
        }
        for _ in 0..<2 {
            try file.open(models, [step]) { database throws in
                let found = try database.read { try Deleted<Strict>.query().resolve(in: $0).map(\.entity.status) }
                #expect(found == [.shut])
            }
        }
        let other = try MigratedFile([type, deleted]) { store in
            try store.save("Deleted<Strict>", [.int(5), .json(json), .json("{}")])
        }
        try other.open(models) { database throws in
            try database.write { try Deleted<Strict>.delete(id: 5, from: &$0) }
            #expect(try database.read { try Deleted<Strict>.query().count(in: $0) } == 0)
        }
    }

    @Test("are converted if they are stored as the enum is; others stay, and the next opening writes nothing")
    func converted() throws {
        let file = try file("Strict")
        let steps: [Migration] = [
            .convert(Strict.self, \.status, from: String.self) { $0 == "archived" ? .shut : .open },
            .convert(Strict.self, \.grade, from: Int.self) { _ in .bad },
            .convert(Strict.self, \.past, from: [String].self) { $0.compactMap { Stage(rawValue: $0) } },
            .convert(Strict.self, \.details, from: [String: String].self) { Details(note: $0["text"] ?? "") },
        ]
        for _ in 0..<2 {
            try file.open([Strict.self, Part.self], steps) { database throws in
                let all: [Strict] = try database.read { try $0.all() }
                #expect(all.map(\.status) == [.open, .shut, .shut, .open])
                #expect(all.map(\.grade) == [.good, .bad, .bad, .good])
                #expect(all.map(\.past) == [[.open], [], [.open], [.open]])
                #expect(all.map(\.details.note) == ["x", "x", "old", "x"])
            }
        }
        var rewritten = 0
        try file.open([Strict.self, Part.self], steps, progress: { _ in rewritten += 1 }) { _ in }
        #expect(rewritten == 0)
    }
}
