// SPDX-License-Identifier: Apache-2.0
// Spellings of the described model's queries, merge strategies and coders beyond its document.

import Foundation
import Hornbeam
import Testing

@EntityModel
private struct Lodger: Codable {
    let id: String
    var age = 0
    var name: String?
    var tags: [String] = []

    @Relationship(inverse: \.lodgers) var lodges: [Lodge]?
}

@EntityModel
private struct Lodge: Codable {
    let id: String

    @Relationship(inverse: \.lodges) var lodgers: [Lodger]?
    @Relationship() var head: Lodger?
}

/// As the document declares it, in Swift 6 mode.
extension MergeStrategy {
    fileprivate static func filling<Entity, Value>(
        _ keyPath: WritableKeyPath<Entity, Value?>
    ) -> MergeStrategy<Entity> {
        MergeStrategy<Entity> { old, new in
            var new = new
            new[keyPath: keyPath] = new[keyPath: keyPath] ?? old[keyPath: keyPath]
            return new
        }
    }
}

extension MergeStrategy where Entity == Lodger {
    fileprivate static var named: Self { .filling(\.name) }
}

@Suite("Queries of the described model")
struct MovedQueriesTests {
    /// Returns a context with lodgers 1 to 3, aged 10 to 30, in lodge c, each saved at a time of its own, and the
    /// time range of the second save.
    private func store() throws -> (context: Context, second: ClosedRange<Date>) {
        var context = Context()
        try Lodge(id: "c", lodgers: .ids(["1", "2"]), head: .id("2")).save(to: &context)
        var dates: [Date] = []
        for number in 1...3 {
            let last = Date()
            while Date() <= last {}
            dates.append(Date())
            try Lodger(id: "\(number)", age: number * 10).save(to: &context)
        }
        let last = Date()
        while Date() <= last {}
        return (context, dates[1]...dates[2].addingTimeInterval(-1e-6))
    }

    @Test("are filtered by a condition on the time of the last save that names no type")
    func metadata() throws {
        let (context, second) = try store()
        let updated = MetadataPredicate.updated(within: second)
        func ids(_ list: QueryList<Lodger>) throws -> [String] { try list.ids(in: context).sorted() }

        #expect(try ids(Lodger.filter(updated)) == ["2"])
        #expect(try ids(Lodger.filter(MetadataPredicate.updated(within: second))) == ["2"])
        #expect(try ids(Lodger.filter(.updated(within: second))) == ["2"])
        #expect(try ids(Lodger.query().filter(updated)) == ["2"])
        #expect(try ids(Lodger.filter(\.age > 10).and(updated)) == ["2"])
        #expect(try ids(Lodger.filter(\.age == 10).or(updated)) == ["1", "2"])
        #expect(try ids(Lodger.filter(\.age == 10).or(.filter(updated))) == ["1", "2"])
        #expect(try Lodger.filter(updated, in: context).resolve().map(\.id) == ["2"])
        #expect(try Lodger.query("2").filter(updated).exists(in: context))
        #expect(try !Lodger.query("1").filter(updated).exists(in: context))
        let lodge = try Lodge.query("c").with(\.$lodgers) { $0.filter(updated) }.resolve(in: context)
        #expect(lodge?.lodgers?.map(\.id) == ["2"])
        let head = try Lodge.query("c").with(\.$head) { $0.filter(updated) }.resolve(in: context)
        #expect(head?.head?.id == "2")
    }

    @Test("begin at the types of queries")
    func types() throws {
        let (context, second) = try store()
        #expect(try Query<Lodger>.filter(\.age == 20).resolve(in: context).map(\.id) == ["2"])
        #expect(try Query<Lodger>.filter(\.age == 20, in: context).resolve().map(\.id) == ["2"])
        #expect(try Query<Lodger>.filter(.updated(within: second)).resolve(in: context).map(\.id) == ["2"])
        let updated = MetadataPredicate.updated(within: second)
        #expect(try Query<Lodger>.filter(updated, in: context).resolve().map(\.id) == ["2"])
        #expect(try QueryList<Lodger>.schemaQuery().resolve(in: context).map(\.id) == ["1", "2", "3"])
        #expect(try QueryList<Lodger>.schemaQuery(in: context).resolve().count == 3)
        #expect(try Query<Lodger>.schemaQuery().resolve(in: context) == nil)
        #expect(try Query<Lodger>.schemaQuery(in: context).resolve() == nil)
    }

    @Test("take levels as arrays, which can be switched over, and modifiers as values")
    func levels() throws {
        let (context, _) = try store()
        let levels: [Nested] = [.entities, .ids]
        for found in [
            try Lodge.query("c").with(levels).resolve(in: context),
            try Lodge.query().with(levels).resolve(in: context).first,
            try Lodge.queryAll(with: levels).resolve(in: context).first,
            try Lodge.queryAll(with: levels, in: context).resolve().first,
        ] {
            #expect(found?.lodgers?.map(\.$lodges.ids) == [["c"], ["c"]])
        }

        let older: QueryListModifier<Lodger> = { $0.filter(\.age > 10) }
        let whole: QueryModifier<Lodger> = { $0.id(\.$lodges) }
        let lodge = try Lodge.query("c").with(\.$lodgers, nested: older).with(\.$head, nested: whole)
            .resolve(in: context)
        #expect(lodge?.lodgers?.map(\.id) == ["2"] && lodge?.head?.$lodges.ids == ["c"])

        func words(_ level: Nested) -> String {
            switch level {
            case .ids: "ids"
            case .entities(let filter, schemaQuery: let isSchema): "\(isSchema ? "all" : "linked") \(words(filter))"
            case .fragments(let filter, _): "parts \(words(filter))"
            }
        }
        func words(_ filter: MetadataPredicate?) -> String {
            switch filter {
            case .updated(within: let range)?: "updated in \(range.upperBound.timeIntervalSince(range.lowerBound))"
            case nil: "whenever"
            }
        }
        let range = Date(timeIntervalSince1970: 0)...Date(timeIntervalSince1970: 5)
        let all: [Nested] = [
            .ids, .entities, .schemaEntities, .schemaEntities(filter: .updated(within: range)), .fragments,
            .fragments(filter: .updated(within: range)), .entities(filter: .updated(within: range)), .schemaFragments,
        ]
        #expect(
            all.map(words) == [
                "ids", "linked whenever", "all whenever", "all updated in 5.0", "parts whenever",
                "parts updated in 5.0", "linked updated in 5.0", "parts whenever",
            ])
    }

    @Test("return the time of the latest save of a value and everything in it")
    func updates() throws {
        var (context, _) = try store()
        try Lodger(id: "1", age: 11).save(to: &context)
        let lodge = try #require(
            try Lodge.query("c").with(\.$lodgers) { $0.with(\.$lodges) }.resolve(in: context))
        let last = try Lodger.updatedAt(id: "1", in: context)
        #expect(try lodge.updatedAt(in: context, withNested: true) == last)
        #expect(try lodge.updatedAt(in: context, withNested: false) == Lodge.updatedAt(id: "c", in: context))
        #expect(try lodge.updatedAt(in: context, withNested: [.entities]) == last)
        #expect(try lodge.normalized().updatedAt(in: context, withNested: true) != last)
        #expect(try Lodger.lastUpdatedAt(in: context) == last)
        #expect(try Lodger.lastUpdatedAt(in: Context()) == nil)
    }

    @Test("save by arrays of strategies, and by a custom one that is generic over entities")
    func strategies() throws {
        var context = Context()
        try Lodger(id: "1", age: 2, name: "Ann", tags: ["a"]).save(to: &context)
        let parts: [MergeStrategy<Lodger>] = [.named, .append(\.tags)]

        try Lodger(id: "1", age: 1, tags: ["b"]).save(to: &context, options: MergeStrategy(parts))
        var stored = try #require(try Lodger.query("1").resolve(in: context))
        #expect(stored.age == 1 && stored.name == "Ann" && stored.tags == ["a", "b"])

        try Lodger(id: "1", age: 0, tags: ["c"]).save(
            to: &context, options: .lastWriteWins([.append(\.tags)], comparedBy: \.age))
        stored = try #require(try Lodger.query("1").resolve(in: context))
        #expect(stored.age == 1 && stored.tags == ["c", "a", "b"])
        #expect(MergeStrategy<Int>.lastWriteWins([]).merge(3, new: 2) == 3)
    }

    @Test("take key paths that a function was given")
    func keyPaths() throws {
        func equal<E: EntityModelProtocol, V: Comparable & Sendable>(_ path: KeyPath<E, V>, _ value: V) -> QueryList<E>
        {
            E.filter(path == value && path >= value && .value(path, in: [value])).sorted(by: path)
        }
        func named<E: EntityModelProtocol>(_ path: KeyPath<E, String?>, _ part: String) -> QueryList<E> {
            E.filter(.string(path, contains: part) && path != nil).sorted(by: path)
        }
        func sum<E: EntityModelProtocol>(_ path: KeyPath<E, Int>, _ context: Context) throws -> Int {
            try E.query().sum(path, in: context)
        }
        var (context, _) = try store()
        try Lodger(id: "4", age: 40, name: "Ann").save(to: &context)
        #expect(try equal(\Lodger.age, 20).ids(in: context) == ["2"])
        #expect(try equal(\Lodger.tags.count, 0).count(in: context) == 4)
        #expect(try named(\Lodger.name, "nn").ids(in: context) == ["4"])
        #expect(try sum(\Lodger.age, context) == 100)
    }

    @Test("sort by terms in an array")
    func terms() throws {
        let (context, _) = try store()
        let terms: [Sorting<Lodger>] = [.by(\.name), .by(\.age.desc)]
        #expect(try Lodger.query().sorted(by: terms).ids(in: context) == ["3", "2", "1"])
    }
}

/// Records its coder's strategies for relations.
private struct Note: Codable {
    var encoding: String?
    var decoding: Int?

    init() {}

    init(from decoder: any Decoder) throws {
        encoding = try decoder.singleValueContainer().decode(String.self)
        decoding = decoder.relationDecodingStrategy.rawValue
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(encoder.relationEncodingStrategy)")
    }
}

@Suite("Coders of the described model")
struct MovedCodersTests {
    @Test("have a default, and a key by which coders of any kind find theirs")
    func keys() throws {
        let encoder = PropertyListEncoder()
        #expect(try PropertyListDecoder().decode([Note].self, from: encoder.encode([Note()]))[0].encoding == "plain")
        encoder.userInfo[RelationEncodingStrategy.userInfoKey] = RelationEncodingStrategy.explicitKeyedContainer
        let decoder = PropertyListDecoder()
        decoder.userInfo[RelationDecodingStrategy.userInfoKey] = RelationDecodingStrategy.explicitKeyedContainer
        let note = try decoder.decode([Note].self, from: encoder.encode([Note()]))[0]
        #expect(note.encoding == "explicitKeyedContainer" && note.decoding == 4)

        let json = JSONEncoder()
        json.relationEncodingStrategy = .keyedContainer
        #expect(json.userInfo[RelationEncodingStrategy.userInfoKey] as? RelationEncodingStrategy == .keyedContainer)
        json.relationEncodingStrategy = .default
        #expect(json.relationEncodingStrategy == .plain && JSONDecoder().relationDecodingStrategy == .default)
    }

    @Test("carry a slice through a property list")
    func propertyList() throws {
        let encoder = PropertyListEncoder()
        encoder.userInfo[RelationEncodingStrategy.userInfoKey] = RelationEncodingStrategy.explicitKeyedContainer
        let decoder = PropertyListDecoder()
        decoder.userInfo[RelationDecodingStrategy.userInfoKey] = RelationDecodingStrategy.explicitKeyedContainer
        let lodge = Lodge(id: "c", lodgers: .appending(ids: ["1"]), head: .id("2"))
        let read = try decoder.decode(Lodge.self, from: encoder.encode(lodge))
        #expect(read.$lodgers.isSlice && read.$lodgers.ids == ["1"] && read.$head.id == "2")
    }
}
