// SPDX-License-Identifier: Apache-2.0
// Errors of the typed API name the mistake, its place, and the remedy.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Left {
    let id: Int
    @Relationship(inverse: \.first) var rights: [Right]?
    @Relationship(inverse: \.second) var others: [Right]?
}

/// Both of its relations lead to `Left`, but each names the other's inverse.
@EntityModel
private struct Right {
    let id: Int
    @Relationship(inverse: \.others) var first: Left?
    @Relationship(inverse: \.rights) var second: Left?
}

@EntityModel
private struct Alone {
    let id: Int
    var label = ""
    var spot = Spot()

    struct Spot: Codable, Sendable { var city = "" }
    var loud: String { label.uppercased() }

    static var renumbering: MergeStrategy<Self> { MergeStrategy { _, new in Alone(id: new.id + 1) } }
}

@EntityModel
private struct Stranger {
    let id: Int
}

@EntityModel
private struct Word {
    let id: String
}

/// Saves itself when it is deleted.
@EntityModel
private struct Revenant {
    @Unique<Self>(\.row, \.seat, collisions: .replace) private var bySeat
    let id: Int
    var row: Int
    var seat: String

    func didDelete(from context: inout Context) throws { try save(to: &context) }
}

@Suite("Errors say")
struct ErrorWordsTests {
    private func expect(
        _ code: HornbeamError.Code, _ words: [String], _ place: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        let error = #expect(throws: HornbeamError.self, sourceLocation: place) { try body() }
        #expect(error?.code == code, sourceLocation: place)
        for word in words {
            #expect(
                error?.message.contains(word) == true, "\(error?.message ?? "") lacks \(word)", sourceLocation: place)
        }
    }

    @Test("which relations have mismatched inverses, when the database is opened")
    func inverses() {
        expect(.schemaMismatch, ["Left.", "Right.", "inverse", "each side must name the other"]) {
            _ = try Database.inMemory(models: Left.self)
        }
    }

    @Test("which model is missing, and where to name it")
    func unregistered() throws {
        let database = try Database.inMemory(models: Alone.self)
        expect(.unregisteredEntity, ["Stranger", "among the models"]) {
            try database.write { try Stranger(id: 1).save(to: &$0) }
        }
        expect(.unregisteredEntity, ["Stranger", "among the models"]) {
            try database.read { _ = try Stranger.query().count(in: $0) }
        }
    }

    @Test("which entities have the same key, and in which index, if a hook restores the deleted one")
    func revenants() throws {
        var context = Context()
        try Revenant(id: 1, row: 7, seat: "A").save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Revenant(id: 2, row: 7, seat: "A").save(to: &context) }
        for word in ["Revenant 2", "Revenant 1", "row 7, seat \"A\"", "“bySeat”", "look for a hook"] {
            #expect(error?.message.contains(word) == true, "\(error?.message ?? "") lacks \(word)")
        }
        let violation = try #require(error?.violation)
        #expect(error?.code == .uniqueViolation && violation.indexName == "bySeat")
        #expect(violation.existing == .int(1) && violation.new == .int(2))
        #expect(violation.values == [.int(7), .string("A")])
        #expect(try context.ids(Revenant.self) == [1])
    }

    @Test("the mistake of a merge strategy, and its entity")
    func merging() throws {
        var context = Context()
        try Alone(id: 7).save(to: &context)
        expect(.invalid, ["Alone 7", "changed the id to 8", "keep the id"]) {
            try Alone(id: 7).save(to: &context, options: Alone.renumbering)
        }
    }

    @Test("which properties can't be searched, and the alternatives")
    func searching() throws {
        var context = Context()
        try Alone(id: 1, label: "a").save(to: &context)
        expect(.invalid, ["Alone", "stored String properties", "are label", "computed String", "contains"]) {
            _ = try Alone.filter(.string(\.loud, matches: "a")).ids(in: context)
        }
        expect(.invalid, ["are label", "\\Alone.spot.city"]) {
            _ = try Alone.filter(.string(\.spot.city, matches: "a")).ids(in: context)
        }
    }

    @Test("which relations exist, if a missing one is requested")
    func relations() throws {
        var context = Context()
        try Chat(id: "1").save(to: &context)
        let type = try context.session.core.store("Chat").type
        expect(.invalid, ["Chat has no relation “writers”", "users, messages, admins"]) {
            _ = try type.relation("writers")
        }
    }

    @Test("why a literal can't be compared, and which one would fit")
    func literals() throws {
        var context = Context()
        try Alone(id: 1).save(to: &context)
        expect(.invalid, ["Alone.id", "int64", "\"x\"", "give a value of its type"]) {
            var query = EntityQuery(type: "Alone")
            query.filter = .compare(column: 0, .equal, .string("x"))
            _ = try context.session.run { try $0.core(for: Alone.self).rowIDs(query) }
        }
    }

    @Test("which entity can't be changed in a read, and where it can")
    func changesInReads() throws {
        let database = try Database.inMemory(models: Alone.self, Word.self)
        try database.write { try Alone(id: 7, label: "kept").save(to: &$0) }
        let words = ["Alone 7", "read", "database.write"]
        try database.read { context in
            var copy = context
            expect(.readOnly, words + ["saved"]) { try Alone(id: 7).save(to: &copy) }
            expect(.readOnly, words + ["saved"]) { try copy.insert(Alone(id: 7)) }
            expect(.readOnly, words + ["deleted"]) { try Alone.delete(id: 7, from: &copy) }
            expect(.readOnly, words + ["removed"]) { try copy.remove(Alone.self, id: 7) }
            expect(.readOnly, ["Word a", "saved"]) { try Word(id: "a").save(to: &copy) }
            expect(.readOnly, ["database.write"]) { try copy.saveAll([Alone(id: 7)]) }
        }
        #expect(try database.read { try $0.find(7) as Alone? }?.label == "kept")
    }

    @Test("the length limit of an id, in the bytes of the given one")
    func longIDs() throws {
        var context = Context()
        try Word(id: String(repeating: "a", count: 899)).save(to: &context)
        expect(.tooLarge, ["id of a Word", "900", "899"]) {
            try Word(id: String(repeating: "a", count: 900)).save(to: &context)
        }
        expect(.tooLarge, ["id of a Word", "1000", "899"]) {
            try Word(id: String(repeating: "é", count: 500)).save(to: &context)
        }
    }

    @Test("which property of which entity can't be encoded")
    func encoding() throws {
        var context = Context()
        expect(.invalid, ["Form 7", "“answer”", "Answer", "encode(to:)"]) {
            try Form(id: 7, answer: Answer(isGiven: false)).save(to: &context)
        }
        try Form(id: 7, answer: Answer(isGiven: true)).save(to: &context)
        #expect(try context.ids(Form.self) == [7])
        expect(.invalid, ["Form 8", "“amount”", "int8"]) {
            let store = try context.session.store(Form.self)
            var row = store.makeRow()
            row.setInt(1_000, 3)
            _ = try row.finish(of: "Form 8")
        }
    }

    @Test("nothing about numbers in a Codable property that JSON can't represent")
    func specialNumbers() throws {
        var context = Context()
        let curve = Form.Curve(start: -.infinity, middle: [.nan, 1.5], end: .infinity)
        try Form(id: 1, answer: Answer(isGiven: true), curve: curve).save(to: &context)
        let read = try #require(try context.find(1) as Form?).curve
        #expect(read?.start == -.infinity && read?.end == .infinity)
        #expect(read?.middle[0].isNaN == true && read?.middle[1] == 1.5)
        try Form.delete(id: 1, from: &context)
        try Deleted<Form>.query(1).resolve(in: context)?.restore(in: &context)
        #expect(try (context.find(1) as Form?)?.curve?.end == .infinity)
    }
}

@EntityModel
private struct Form {
    let id: Int
    var answer: Answer
    var curve: Curve?
    var amount: Int8 = 0

    struct Curve: Codable, Sendable {
        var start: Double
        var middle: [Double]
        var end: Float
    }
}

private struct Answer: Codable, Sendable {
    var isGiven: Bool

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if isGiven { return try container.encode(["isGiven": true]) }
        throw EncodingError.invalidValue(isGiven, .init(codingPath: [], debugDescription: "no answer"))
    }
}
