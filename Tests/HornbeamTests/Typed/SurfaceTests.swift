// SPDX-License-Identifier: Apache-2.0
// All functions of the entity model by name, in both spellings: with the context at the end and at the beginning.
// Mostly this tests that calls compile; other tests check their effects. Docs/entities.md lists deliberate omissions.

import Foundation
import HornbeamFoundation
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private typealias Filtered = Hornbeam.Predicate

@EntityModel
private struct Writer: Codable, Equatable {
    @Unique<Self>(\.mail, collisions: .throw) private var byMail
    @Unique<Self>(\.isLead, collisions: .handOver) private var byLead
    @Index<Self>(\.name, \.age.desc) private var byName
    @HashIndex<Self>(\.kind) private var byKind
    @FullTextIndex<Self>(\.about) private var search

    let id: String
    var name: String
    var age: Int
    var mail: String
    var kind = Kind.staff
    var isLead: Bool?
    var nick: String?
    var about = ""
    var tags: [String] = []

    @Relationship(deleteRule: .cascade, inverse: \.author) var texts: [Piece]?
    @Relationship(inverse: \.writers) var desks: [Place]?
    @Relationship var boss: Writer? = nil

    enum Kind: String, Codable, Sendable { case staff, guest }
    var nameLength: Int { name.count }
}

@EntityModel
private struct Piece: Codable, Equatable {
    let id: Int
    var title: String
    @Relationship(.required, inverse: \.texts) var author: Writer?
}

@EntityModel
private struct Place: Codable, Equatable {
    let id: Int
    @Relationship(inverse: \.desks) var writers: [Writer]?
}

@EntityModel
private struct All {
    var id = "all"
    @Relationship() var writers: [Writer]?
    @Relationship() var deleted: [Deleted<Piece>]?
}

extension CollisionResolver<Writer> {
    /// A resolver with the newer arguments.
    fileprivate static var handOver: Self {
        CollisionResolver { existingId, newEntity, indexName, context in
            guard newEntity.isLead == true, var other = try Writer.query(existingId).resolve(in: context)
            else { return }
            other.isLead = nil
            try other.save(to: &context)
        }
    }

    /// A resolver with the older arguments, which throws the one error of the described library.
    fileprivate static var refusing: Self {
        CollisionResolver {
            (existingId: String, newId: String, indexName: String, context: inout Context) in
            throw Errors.uniqueValueIndexViolation(existing: existingId, new: newId, indexName: indexName)
        }
    }
}

@Suite("The entity model's surface")
struct SurfaceTests {
    private func stored() throws -> Context {
        var context = Context()
        let boss = Writer(
            id: "b", name: "Bea", age: 50, mail: "b@x", nick: "B", about: "writes of engines")
        try boss.save(to: &context)
        var ann = Writer(id: "a", name: "Ann", age: 30, mail: "a@x", about: "engines 😀 and trees")
        ann.$texts = .relation([Piece(id: 1, title: "One"), Piece(id: 2, title: "Two")])
        ann.$desks = .relation([Place(id: 1)])
        ann.$boss = .id("b")
        try ann.save(to: &context, options: .replace)
        return context
    }

    @Test("of contexts, saving and deleting")
    func changes() throws {
        var context = try stored()
        #expect(try context.ids(Writer.self).count == 2)
        #expect(try (context.all() as [Writer]).count == 2)
        #expect(try (context.find("a") as Writer?)?.name == "Ann")
        #expect(try (context.findAll(["a", "z"]) as [Writer?]).count == 2)
        #expect(try (context.findAllExisting(["a", "z"]) as [Writer]).count == 1)
        let guest = Writer(id: "g", name: "Guy", age: 20, mail: "g@x", kind: .guest)
        try context.insert(guest)
        try context.insert(guest as Writer?)
        try context.insert([guest], options: .replace)
        try context.remove(Writer.self, id: "g")
        try context.removeAll(Writer.self, ids: ["g"])

        let ann = try #require(try Writer.query("a").with(.ids).resolve(in: context))
        for strategy: MergeStrategy<Writer> in [
            .replace, .default, .fragment, Writer.patch, .patch(\.nick), .append(\.tags),
            Writer.defaultMergeStrategy,
            Writer.fragmentMergeStrategy, .lastWriteWins(.patch(\.nick), comparedBy: \.age),
            MergeStrategy(.patch(\.nick), .append(\.tags)), MergeStrategy { old, new in new },
        ] {
            try ann.save(to: &context, options: strategy)
            #expect(strategy.merge(ann, new: ann).id == "a")
        }
        #expect(MergeStrategy<Int>.lastWriteWins().merge(3, new: 2) == 3)
        #expect(MergeStrategy<Int?>.patch().merge(3, new: nil) == 3)

        #expect(ann.normalized().$texts.isNone && !ann.$texts.isNone)
        try ann.detach(2, relation: \.$texts, inverse: \.$author, in: &context)
        try ann.detach(\.$boss, in: &context)
        try ann.detach("b", relation: \.$boss, in: &context)
        try ann.detach(\.$desks, inverse: \.$writers, in: &context)
        try ann.delete(1, relation: \.$texts, inverse: \.$author, from: &context)
        try ann.delete(\.$texts, inverse: \.$author, from: &context)
        try ann.delete(\.$boss, from: &context)
        try ann.delete("b", relation: \.$boss, from: &context)
        #expect(try context.ids(Piece.self) == [2])
        #expect(try ann.asDeleted(in: context)?.id == "a")
        try ann.delete(from: &context)
        try Writer.delete(id: "b", from: &context)
        try Deleted<Writer>.query("a").resolve(in: context)?.restore(in: &context)
        #expect(try context.ids(Writer.self) == ["a"])
        #expect(try context.isWhole())
    }

    @Test("of relations by themselves: their values, entities and links")
    func relations() throws {
        var context = try stored()
        var bea = try #require(try Writer.query("b").resolve(in: context))
        bea.$texts = .relation([Piece(id: 3, title: "Three"), Piece(id: 4, title: "Four")])
        try bea.$texts.save(&context)
        #expect(try context.ids(Piece.self) == [1, 2, 3, 4])
        #expect(try Writer.query("b").related(\.$texts).resolve(in: context) == [])
        try bea.save(\.$texts, inverse: \.$author, to: &context)
        #expect(try Writer.query("b").related(\.$texts).ids(in: context) == [3, 4])
        bea.$texts = .appending(fragment: [Piece(id: 1, title: "First")])
        try bea.save(\.$texts, inverse: \.$author, to: &context)
        #expect(try Writer.query("b").related(\.$texts).ids(in: context) == [3, 4, 1])
        bea.$boss = .id("a")
        try bea.save(\.$boss, to: &context)
        #expect(try Writer.query("b").id(\.$boss).resolve(in: context)?.$boss.id == "a")
        // If one of the entities is refused, nothing of the relation is saved.
        bea.$boss = .relation(Writer(id: "c", name: "Cy", age: 1, mail: "b@x"))
        #expect(throws: HornbeamError.self) { try bea.save(\.$boss, to: &context) }
        #expect(try Writer.query("b").id(\.$boss).resolve(in: context)?.$boss.id == "a")
        // The entity itself need not be stored.
        try Writer(id: "z", name: "", age: 0, mail: "", texts: .ids([2])).save(
            \.$texts, inverse: \.$author, to: &context)
        #expect(try Piece.query(2).id(\.$author).resolve(in: context)?.$author.id == "z")
        bea.$texts.normalize()
        #expect(bea.$texts.isNone && !bea.$texts.isId && !bea.$texts.isFragment && !bea.$texts.isSlice)
        let none: OneToManyRelation<Piece, Relations.Required> = .none
        let one: ManyToOneRelation<Writer, Relations.Required> = .id("a")
        let many: ManyToManyRelation<Writer, Relations.Required> = .ids([])
        let other: OneToOneRelation<Writer, Relations.Optional> = .null
        let way: OneWayRelation<Writer, Relations.ToOne<Writer>, Relations.Optional> = .fragment(bea)
        #expect(none.ids == nil && one.id == "a" && many.ids == [] && other.id == nil && way.isFragment)
        #expect(throws: HornbeamError.self) {
            try Twin(id: 1).detach(\.$left, inverse: \.$right, in: &context)
        }
        #expect(try context.isWhole())
    }

    @Test("of a single relation; saving an unset one stores nothing, not even the id")
    func oneRelation() throws {
        var context = try stored()
        let stranger = Writer(id: "s", name: "", age: 0, mail: "")
        try stranger.save(\.$texts, inverse: \.$author, to: &context)
        try stranger.save(\.$boss, to: &context)
        let mayMiss = try context.session.run { try $0.store(Writer.self).mayMiss() }
        #expect(!mayMiss)
        let seated = Writer(id: "s", name: "", age: 0, mail: "", desks: .ids([7]))
        try seated.save(\.$desks, inverse: \.$writers, to: &context)
        #expect(try Set(context.ids(Writer.self)) == ["a", "b"])
        try Place(id: 7).save(to: &context)
        try stranger.save(to: &context)
        #expect(try Place.query(7).related(\.$writers).ids(in: context) == ["s"])
        #expect(try context.isWhole())
    }

    @Test("of stored metadata")
    func metadata() throws {
        var context = try stored()
        let ann = try #require(try Writer.query("a").resolve(in: context))
        let then = Date(timeIntervalSinceReferenceDate: 1_000)
        try ann.updateMetadata(.updatedAt, value: then, in: &context)
        #expect(try ann.updatedAt(in: context) == then)
        let around = then.addingTimeInterval(-1)...then.addingTimeInterval(1)
        #expect(try Writer.filter(.updated(within: around)).ids(in: context) == ["a"])
        #expect(try Writer.query("a").filter(.updated(within: around)).resolve(in: context) == ann)
        #expect(try Writer.query().sorted(by: .updatedAt).ids(in: context) == ["a", "b"])
        #expect(try ann.updatedAt(in: context, withNested: .entities) == then)
        try ann.saveMetadata(to: &context)
        #expect(try Writer.query().sorted(by: .updatedAt).ids(in: context) == ["b", "a"])
        try ann.deleteMetadata(from: &context)
        #expect(try ann.updatedAt(in: context) == nil)
        try ann.saveMetadata(to: &context)
        try ann.removeMetadata(from: &context)
        try ann.removeFromMetadata(.updatedAt, valueType: Date.self, in: &context)
        #expect(try ann.updatedAt(in: context) == nil && Writer.query("a").resolve(in: context) == ann)
        // Nothing is stored under this id.
        let stranger = Writer(id: "s", name: "", age: 0, mail: "")
        try stranger.updateMetadata(.updatedAt, value: then, in: &context)
        try stranger.saveMetadata(to: &context)
        #expect(try context.ids(Writer.self).count == 2)
        #expect(try context.isWhole())
    }

    @Test("of queries that end with the context")
    func queries() throws {
        let context = try stored()
        let lead: EqualityPredicate<Writer, Bool?> = \.isLead == true
        let text: StringPredicate<Writer> = .string(\.name, \.mail, contains: "NN")
        let regex: RegexPredicate<Writer> = .string(\.name, matches: /n+/)
        for (predicate, ids) in [
            (lead, []), (text, ["a"]), (regex, ["a"]), (.string(\.name, notMatching: /n+/), ["b"]),
            (\.age > 30, ["b"]), (\.age >= 30, ["b", "a"]), (\.age < 50, ["a"]),
            (\.age <= 50, ["b", "a"]),
            (\.age != 30, ["b"]), (\.kind == .staff, ["b", "a"]), (\.nick == nil, ["a"]),
            (\.nameLength > 3, []),
            (.string(\.name, hasPrefix: "be"), ["b"]),
            (.string(\.name, hasSuffix: "N", caseSensitive: true), []),
            (.string(\.name, notHavingPrefix: "be"), ["a"]),
            (.string(\.name, notHavingSuffix: "a"), ["a"]),
            (.string(\.about, matches: "trees"), ["a"]),
        ] as [(Filtered<Writer>, [String])] {
            #expect(try Writer.filter(predicate).ids(in: context) == ids)
        }
        let all = Writer.query()
        #expect(try all.first().resolve(in: context)?.id == "b")
        #expect(try all.last().resolve(in: context)?.id == "a")
        #expect(try all.limit(1, offset: 1).distinct().resolve(in: context).count == 1)
        #expect(try all.limit(-1).resolve(in: context).isEmpty)
        #expect(try all.and(\.age == 30).or(.filter(\.age == 50)).resolve(in: context).count == 2)
        #expect(
            try all.and(.filter(\.age == 30)).sorted(by: \.name, \.age.desc).resolve(in: context).count
                == 1)
        #expect(try [Writer.query("a"), Writer.query("z")].resolve(in: context).count == 1)
        #expect(try Writer.query(["a", "b"]).resolve(in: context).map(\.id) == ["a", "b"])
        #expect(try Writer.query("a").resolve(in: context)?.query().resolve(in: context)?.id == "a")
        #expect(
            try all.related(\.$texts).flatMap { $0.related(\.$author) }.resolve(in: context).count == 2)
        #expect(try all.related(\.$boss).resolve(in: context).map(\.id) == ["b"])
        #expect(try Writer.query("a").related(\.$boss).resolve(in: context)?.id == "b")
        #expect(try Writer.query("a").related(\.$texts).resolve(in: context).count == 2)
        let nested = try Writer.query("a")
            .with(\.$texts) { $0.filter(\.id > 1).sorted(by: \.title).limit(1).id(\.$author) }
            .with(slice: \.$desks).fragment(\.$boss).resolve(in: context)
        #expect(
            nested?.texts?.map(\.id) == [2] && nested?.$desks.isSlice == true && nested?.boss?.id == "b")
        let parts = try Writer.query("a").fragment(slice: \.$texts) { $0.limit(1) }.id(slice: \.$desks)
            .id(\.$boss)
            .resolve(in: context)
        #expect(parts?.$texts.isFragment == true && parts?.$desks.isId == true)
        for levels: [Nested] in [
            [.entities, .fragments, .ids], [.schemaEntities], [.schemaFragments, .ids],
            [.entities(filter: .updated(within: .distantPast ... .distantFuture))],
            [.fragments(filter: .updated(within: .distantPast ... .distantFuture))],
            [.schemaEntities(filter: .updated(within: .distantPast ... .distantFuture))],
            [.schemaFragments(filter: .updated(within: .distantPast ... .distantFuture))],
        ] {
            let query = Writer.nestedQueryModifier(Writer.query("a"), nested: levels)
            #expect(try query.resolve(in: context)?.$texts.ids?.count == 2)
        }
        #expect(try Writer.queryAll(with: .entities, .ids).resolve(in: context).count == 2)
        #expect(try All.query().with(\.$writers) { $0.schemaQuery() }.resolve(in: context).isEmpty)
    }

    @Test("of queries that begin with the context")
    func queriesWithContext() throws {
        let context = try stored()
        #expect(try Writer.query("a", in: context).resolve()?.id == "a")
        #expect(try Writer.query(["a"], in: context).resolve().count == 1)
        #expect(try Writer.query(in: context).sorted(by: \.age.desc).first().resolve()?.id == "b")
        #expect(
            try Writer.filter(\.age > 18, in: context).filter(\.kind == .staff).resolve().count == 2)
        #expect(try Query<Writer>(context: context, id: "a").resolve()?.id == "a")
        #expect(try QueryList<Writer>.filter(\.age > 40, in: context).resolve().map(\.id) == ["b"])
        #expect(
            try Writer(id: "a", name: "", age: 0, mail: "").query(in: context).resolve()?.name == "Ann")
        #expect(try Writer.query(in: context).related(\.$texts).resolve().count == 2)
        #expect(try Writer.query(in: context).related(\.$boss).resolve().count == 1)
        #expect(try Writer.queryAll(with: .ids, in: context).resolve().count == 2)
        #expect(try [Writer.query("a", in: context)].resolve().count == 1)
        let query = Writer.nestedQueryModifier(
            Writer.query("a", in: context), in: context, nested: [.ids])
        #expect(try query.resolve()?.$texts.ids == [1, 2])
        #expect(
            try Writer.query("a", in: context).with(\.$texts) { $0.with(.entities) }.resolve()?.texts?
                .count == 2)
    }

    @Test("of collisions: programs can read the cause of a refusal in two ways")
    func collisions() throws {
        var context = try stored()
        let found = #expect(throws: HornbeamError.self) {
            try Writer(id: "c", name: "Cy", age: 1, mail: "b@x").save(to: &context)
        }
        let error = try #require(found)
        let violation = try #require(error.violation)
        #expect(violation.entityName == Writer.entityName && violation.indexName == "byMail")
        #expect(violation.existing == .string("b") && violation.new == .string("c"))
        let errors = try #require(CollisionResolver<Writer>.Errors(error))
        guard case .uniqueValueIndexViolation(let existing, let new, let indexName) = errors else {
            return
        }
        #expect(existing == "b" && new == "c" && indexName == "byMail")
        #expect(CollisionResolver<Piece>.Errors(error) == nil)
        #expect(CollisionResolver<Writer>.Errors(errors) == errors)
        #expect(CollisionResolver<Writer>.Errors(CancellationError()) == nil)
        let twins = ["d", "e"].map { Writer(id: $0, name: "", age: 1, mail: "t@x") }
        let batch = #expect(throws: HornbeamError.self) { try twins.save(to: &context) }
        #expect(batch?.violation?.existing == .string("d") && batch?.violation?.new == .string("e"))
        #expect(HornbeamError(.invalid, "").violation == nil)
        _ = [CollisionResolver<Writer>.throw, .upsert, .refusing]
        try Writer(id: "b", name: "Bea", age: 50, mail: "b@x", isLead: true).save(to: &context)
        try Writer(id: "a", name: "Ann", age: 30, mail: "a@x", isLead: true).save(to: &context)
        #expect(try Writer.filter(\.isLead == true).ids(in: context) == ["a"])
    }

    @Test("of coding")
    func coding() throws {
        let encoder = JSONEncoder.prettyPrinting
        let decoder = JSONDecoder()
        for (strategy, forms): (RelationEncodingStrategy, RelationDecodingStrategy) in [
            (.plain, .plain), (.keyedContainer, .keyedContainer),
            (.explicitKeyedContainer, .explicitKeyedContainer),
        ] {
            encoder.relationEncodingStrategy = strategy
            decoder.relationDecodingStrategy = forms
            let writer = Writer(id: "a", name: "Ann", age: 3, mail: "", texts: .ids([1]))
            #expect(try decoder.decode(Writer.self, from: encoder.encode(writer)) == writer)
            #expect(writer.prettyDescription(with: encoder)?.contains("Ann") == true)
        }
    }

    @Test("of Foundation's regular expressions: text after characters of two units is searched too")
    func regularExpressions() throws {
        let context = try stored()
        let trees = try NSRegularExpression(pattern: "tre+s$", options: [.caseInsensitive])
        let anchored = try NSRegularExpression(pattern: "engines")
        for (predicate, ids) in [
            (.string(\.about, matches: trees), ["a"]), (.string(\.about, notMatching: trees), ["b"]),
            (.string(\.name, \.about, matches: trees), ["a"]), (.string(\.nick, matches: trees), []),
            (.string(\.nick, \.about, notMatching: trees), ["b"]),
            (.string(\.about, matches: anchored), ["b", "a"]),
            (.string(\.about, matches: anchored, options: [.anchored]), ["a"]),
            (.string(\.about, notMatching: anchored, options: [.anchored]), ["b"]),
            (.string(\.about, matches: try NSRegularExpression(pattern: "😀 and")), ["a"]),
        ] as [(Filtered<Writer>, [String])] {
            #expect(try Writer.filter(predicate).ids(in: context) == ids)
            #expect(try Writer.query().filter(predicate).count(in: context) == ids.count)
        }
    }
}

/// An entity with two relations to its own type.
@EntityModel
private struct Twin {
    let id: Int
    @Relationship(inverse: \.other) var left: Twin?
    @Relationship(inverse: \.left) var other: Twin?
    @Relationship(inverse: \.back) var right: Twin?
    @Relationship(inverse: \.right) var back: Twin?
}
