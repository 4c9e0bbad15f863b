// SPDX-License-Identifier: Apache-2.0
// Deleted entities: what deleting leaves, how it is restored, and how it is forgotten.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Writer: Equatable, Codable {
    let id: String
    var name: String
    var born: Date?
    var rank: Rank = .new
    @Relationship(deleteRule: .cascade, inverse: \.writer) var works: [Work]?
    @Relationship(inverse: \.writers) var circles: [Circle]?

    enum Rank: Int, Codable { case new, old }
}

@EntityModel
private struct Work: Equatable, Codable {
    @Unique<Self>(\.title, collisions: .replace) private var byTitle
    let id: Int
    var title: String
    @Relationship(inverse: \.works) var writer: Writer?
}

@EntityModel
private struct Circle: Equatable, Codable {
    let id: String
    @Relationship(deleteRule: .cascade, inverse: \.circles) var writers: [Writer]?
}

@EntityModel
private struct Scrap {
    let id: Int
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

/// An entity whose hooks record what they see of it and of its deleted form.
@EntityModel
private struct Witness {
    let id: Int
    static let log = Log()

    func willDelete(from context: inout Context) throws { try note("will", context) }
    func didDelete(from context: inout Context) throws { try note("did", context) }

    private func note(_ hook: String, _ context: Context) throws {
        let isStored = try context.find(id) as Witness? != nil
        let isDeleted = try context.find(id) as Deleted<Witness>? != nil
        Self.log.add("\(hook) \(isStored) \(isDeleted)")
    }

    final class Log: @unchecked Sendable {
        // Only one test writes it, in one thread.
        private(set) var lines: [String] = []
        func add(_ line: String) { lines.append(line) }
    }
}

@Suite("Deleted entities")
struct SoftDeleteTests {
    private func library() throws -> Context {
        var context = Context()
        try Writer(
            id: "w", name: "Lem", born: Date(timeIntervalSinceReferenceDate: 0.1), rank: .old,
            works: .relation([Work(id: 1, title: "Solaris"), Work(id: 2, title: "Fiasco")]),
            circles: .ids(["x", "y"])
        ).save(to: &context)
        return context
    }

    @Test("have the deleted values, with the ids of their relations, and the time of the deletion")
    func deletion() throws {
        var context = try library()
        let start = Date()
        try Work.delete(id: 1, from: &context)
        let deleted = try #require(try Deleted<Work>.query(1).resolve(in: context))
        #expect(deleted.id == 1)
        #expect(deleted.entity.title == "Solaris")
        #expect(deleted.entity.$writer.id == "w")
        #expect(try start...Date() ~= #require(try deleted.updatedAt(in: context)))
        #expect(try Deleted<Work>.filter(.updated(within: start...Date())).ids(in: context) == [1])
        try Work.delete(id: 2, from: &context)
        #expect(try Deleted<Work>.query().sorted(by: .updatedAt.desc).ids(in: context) == [2, 1])
        #expect(try Work.query().ids(in: context) == [])
        #expect(try context.isWhole())
    }

    @Test("are gone once they are restored, which restores them completely")
    func restoring() throws {
        var context = try library()
        let before = try #require(try Writer.query("w").with(.ids).resolve(in: context))
        try before.delete(from: &context)
        #expect(try Work.query().count(in: context) == 0)
        let deleted = try #require(try Deleted<Writer>.query("w").resolve(in: context))
        #expect(deleted.entity == before)
        try deleted.restore(in: &context)
        for work in try Deleted<Work>.query().resolve(in: context) { try work.restore(in: &context) }
        let after = try #require(try Writer.query("w").with(.ids).resolve(in: context))
        #expect(after == before)
        #expect(after.$works.ids == before.$works.ids)
        #expect(after.$circles.ids == ["x", "y"])
        #expect(try Work.query(1).id(\.$writer).resolve(in: context)?.$writer.id == "w")
        #expect(try Deleted<Writer>.query().count(in: context) + Deleted<Work>.query().count(in: context) == 0)
        #expect(try context.isWhole())
    }

    @Test("that were deleted together come back in any order with their links", arguments: [true, false])
    func restoringTogether(parentFirst: Bool) throws {
        var context = Context()
        try Writer(id: "w", name: "", circles: .ids(["a", "b"])).save(to: &context)
        try Circle(id: "a").save(to: &context)
        try Circle(id: "b").save(to: &context)
        try Circle.delete(id: "a", from: &context)
        #expect(try context.ids(Writer.self) == [])
        let writer = try #require(try context.find("w") as Deleted<Writer>?)
        let circle = try #require(try context.find("a") as Deleted<Circle>?)
        for isCircle in parentFirst ? [true, false] : [false, true] {
            if isCircle { try circle.restore(in: &context) } else { try writer.restore(in: &context) }
        }
        #expect(try Writer.query("w").id(\.$circles).resolve(in: context)?.$circles.ids?.sorted() == ["a", "b"])
        #expect(try Circle.query("a").id(\.$writers).resolve(in: context)?.$writers.ids == ["w"])
    }

    @Test("are removed when the entity is saved again; saving one deletes the entity")
    func eitherOr() throws {
        var context = try library()
        try Work.delete(id: 1, from: &context)
        try Work(id: 1, title: "Again").save(to: &context)
        #expect(try context.ids(Deleted<Work>.self) == [])
        try Deleted(Work(id: 1, title: "As I say")).save(to: &context)
        #expect(try context.find(1) as Work? == nil)
        #expect(try Deleted<Work>.query(1).resolve(in: context)?.entity.title == "As I say")
        try context.insert(Work(id: 1, title: "Raw"))
        #expect(try context.ids(Deleted<Work>.self) == [])
        #expect(try context.isWhole())
    }

    @Test("are forgotten for good: one by deleting it, many by a purge")
    func forgetting() throws {
        var context = Context()
        for id in 1...4 {
            try Work(id: id, title: "\(id)").save(to: &context)
            try Work.delete(id: id, from: &context)
        }
        try Deleted<Work>.delete(id: 1, from: &context)
        #expect(try context.ids(Deleted<Work>.self) == [2, 3, 4])
        let third = try Deleted<Work>.updatedAt(id: 3, in: context)
        #expect(try Deleted<Work>.purge(before: third, from: &context) == 1)
        #expect(try context.ids(Deleted<Work>.self) == [3, 4])
        #expect(try Deleted<Work>.purge(before: nil, from: &context) == 2)
        #expect(try context.ids(Deleted<Work>.self) == [])
        #expect(try context.isWhole())
    }

    @Test("are not kept for a type that returns nil, for an unsaved value, or for an unknown id")
    func none() throws {
        var context = Context()
        try Scrap(id: 1).save(to: &context)
        try Scrap.delete(id: 1, from: &context)
        #expect(try context.ids(Deleted<Scrap>.self) == [])
        try Work(id: 9, title: "never saved").delete(from: &context)
        try Work.delete(id: 10, from: &context)
        #expect(try context.ids(Deleted<Work>.self) == [])
    }

    @Test("are left for the loser of a collision, and for all entities of a cascade")
    func collisions() throws {
        var context = try library()
        try Work(id: 3, title: "Solaris").save(to: &context)
        #expect(try context.ids(Deleted<Work>.self) == [1])
        try Writer.delete(id: "w", from: &context)
        #expect(try context.ids(Deleted<Work>.self).sorted() == [1, 2])
        #expect(try context.ids(Deleted<Writer>.self) == ["w"])
    }

    @Test("are stored before didDelete and after willDelete")
    func hooks() throws {
        var context = Context()
        try Witness(id: 1).save(to: &context)
        try Witness.delete(id: 1, from: &context)
        #expect(Witness.log.lines == ["will true false", "did false true"])
    }

    @Test("survive closing; a write that fails restores none; the types come with their models")
    func file() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("library.hornbeam")
        let database = try Database(at: path, models: Writer.self, options: .keepsAll)
        try database.write { context in
            try Work(id: 1, title: "Solaris", writer: .id("w")).save(to: &context)
            try Work.delete(id: 1, from: &context)
        }
        struct Refusal: Error {}
        #expect(throws: Refusal.self) {
            try database.write { context in
                try (context.find(1) as Deleted<Work>?)?.restore(in: &context)
                throw Refusal()
            }
        }
        try database.close()
        let again = try Database(at: path, models: Writer.self, options: .keepsAll)
        #expect(try again.read { try Deleted<Work>.query().resolve(in: $0).map(\.entity.title) } == ["Solaris"])
        try again.write { try ($0.find(1) as Deleted<Work>?)?.restore(in: &$0) }
        #expect(try again.read { try Work.query(1).id(\.$writer).resolve(in: $0)?.$writer.id } == "w")
        #expect(try again.check { Issue.record("\($0)") })
        try again.close()
    }

    @Test("survive changes of their type: removed parts are left out, new ones are nil or the default")
    func changedType() throws {
        var context = Context()
        try Deleted(Work(id: 1, title: "")).save(to: &context)
        let json = #"{"id":7,"title":"Eden","pages":300,"writer":"w"}"#
        let store = try context.session.core.store("Deleted<Work>")
        func deleted(_ json: String, _ links: String) throws -> Deleted<Work>? {
            var row = store.makeRow()
            row.setInt(7, 0)
            row.setString(json, 1)
            row.setString(links, 2)
            try store.save(try row.finish(), RowID(rawValue: 7))
            return try context.find(7)
        }
        let found = try #require(try deleted(json, #"{"writer":["w"],"readers":[1]}"#))
        #expect(found.entity.title == "Eden")
        #expect(found.entity.$writer.id == "w")
        let error = #expect(throws: HornbeamError.self) { try deleted(#"{"id":7}"#, "{}") }
        #expect(error?.code == .undecodable)
        #expect(error?.message.contains("Work 7") == true)
    }

    @Test("are Codable and Hashable as their entities are")
    func coding() throws {
        let deleted = Deleted(Work(id: 1, title: "Solaris", writer: .id("w")))
        let data = try JSONEncoder().encode(deleted)
        #expect(try JSONDecoder().decode(Deleted<Work>.self, from: data) == deleted)
    }

    @Test("dates without a text of their own come back", arguments: [Double.infinity, -.infinity, 1e300, 0.1])
    func unusualDates(_ seconds: Double) throws {
        var context = Context()
        let writer = Writer(id: "w", name: "W", born: Date(timeIntervalSinceReferenceDate: seconds))
        try writer.save(to: &context)
        try writer.delete(from: &context)
        let deleted = try #require(try Deleted<Writer>.query("w").resolve(in: context))
        #expect(deleted.entity.born == writer.born)
        try deleted.restore(in: &context)
        #expect(try context.find("w") == writer)
    }
}
