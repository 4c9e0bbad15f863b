// SPDX-License-Identifier: Apache-2.0
// A table of types: every kind of type accepted by `@EntityModel`, by itself, optional, in arrays, in arrays with nil
// and nested in `Codable` types. Saved values come back from the closed file, from exported lines and from `Deleted`.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam

private enum Word: String, Codable { case low, high }
private enum Score: Int, Codable { case one = 1, two }
/// An enum whose raw value is a column value.
private enum Level: Int, Codable, IndexKey { case first = 1, second }
private struct Tone: RawRepresentable, Codable, Hashable, Sendable { let rawValue: String }
/// A raw-representable type whose raw value is no column value.
private struct Size: RawRepresentable, Codable, Hashable, Sendable { let rawValue: CGFloat }
private struct Point: Codable, Hashable { var x: Int, y: Double?, words: Set<Word> = [] }
private enum Figure: Codable, Hashable { case point, circle(radius: CGFloat) }

/// A type in each form within a `Codable` type.
private struct Nested<Base: Codable & Hashable & Sendable>: Codable, Hashable {
    var one: Base
    var optional: Base?
    var list: [Base]
    var gaps: [Base?]
    var optionalGaps: [Base?]?
}

/// A model whose properties have one type in each form.
private protocol Shaped: EntityModelProtocol, Equatable where ID == Int {
    associatedtype Base: Codable & Hashable & Sendable
    init(
        id: Int, one: Base, optional: Base?, list: [Base], gaps: [Base?], optionalList: [Base]?, optionalGaps: [Base?]?,
        twice: Base??, nested: Nested<Base>)
}

@EntityModel
private struct Whole: Shaped {
    let id: Int
    var one: Int
    var optional: Int?
    var list: [Int]
    var gaps: [Int?]
    var optionalList: [Int]?
    var optionalGaps: [Int?]?
    var twice: Int??
    var nested: Nested<Int>
}

@EntityModel
private struct Byte: Shaped {
    let id: Int
    var one: UInt8
    var optional: UInt8?
    var list: [UInt8]
    var gaps: [UInt8?]
    var optionalList: [UInt8]?
    var optionalGaps: [UInt8?]?
    var twice: UInt8??
    var nested: Nested<UInt8>
}

@EntityModel
private struct Ratio: Shaped {
    let id: Int
    var one: Double
    var optional: Double?
    var list: [Double]
    var gaps: [Double?]
    var optionalList: [Double]?
    var optionalGaps: [Double?]?
    var twice: Double??
    var nested: Nested<Double>
}

@EntityModel
private struct Single: Shaped {
    let id: Int
    var one: Float
    var optional: Float?
    var list: [Float]
    var gaps: [Float?]
    var optionalList: [Float]?
    var optionalGaps: [Float?]?
    var twice: Float??
    var nested: Nested<Float>
}

@EntityModel
private struct Flag: Shaped {
    let id: Int
    var one: Bool
    var optional: Bool?
    var list: [Bool]
    var gaps: [Bool?]
    var optionalList: [Bool]?
    var optionalGaps: [Bool?]?
    var twice: Bool??
    var nested: Nested<Bool>
}

@EntityModel
private struct Text: Shaped {
    let id: Int
    var one: String
    var optional: String?
    var list: [String]
    var gaps: [String?]
    var optionalList: [String]?
    var optionalGaps: [String?]?
    var twice: String??
    var nested: Nested<String>
}

@EntityModel
private struct Moment: Shaped {
    let id: Int
    var one: Date
    var optional: Date?
    var list: [Date]
    var gaps: [Date?]
    var optionalList: [Date]?
    var optionalGaps: [Date?]?
    var twice: Date??
    var nested: Nested<Date>
}

@EntityModel
private struct Blob: Shaped {
    let id: Int
    var one: Data
    var optional: Data?
    var list: [Data]
    var gaps: [Data?]
    var optionalList: [Data]?
    var optionalGaps: [Data?]?
    var twice: Data??
    var nested: Nested<Data>
}

@EntityModel
private struct Unique: Shaped {
    let id: Int
    var one: UUID
    var optional: UUID?
    var list: [UUID]
    var gaps: [UUID?]
    var optionalList: [UUID]?
    var optionalGaps: [UUID?]?
    var twice: UUID??
    var nested: Nested<UUID>
}

@EntityModel
private struct Link: Shaped {
    let id: Int
    var one: URL
    var optional: URL?
    var list: [URL]
    var gaps: [URL?]
    var optionalList: [URL]?
    var optionalGaps: [URL?]?
    var twice: URL??
    var nested: Nested<URL>
}

@EntityModel
private struct Amount: Shaped {
    let id: Int
    var one: Decimal
    var optional: Decimal?
    var list: [Decimal]
    var gaps: [Decimal?]
    var optionalList: [Decimal]?
    var optionalGaps: [Decimal?]?
    var twice: Decimal??
    var nested: Nested<Decimal>
}

@EntityModel
private struct Width: Shaped {
    let id: Int
    var one: CGFloat
    var optional: CGFloat?
    var list: [CGFloat]
    var gaps: [CGFloat?]
    var optionalList: [CGFloat]?
    var optionalGaps: [CGFloat?]?
    var twice: CGFloat??
    var nested: Nested<CGFloat>
}

@EntityModel
private struct Huge: Shaped {
    let id: Int
    var one: Int128
    var optional: Int128?
    var list: [Int128]
    var gaps: [Int128?]
    var optionalList: [Int128]?
    var optionalGaps: [Int128?]?
    var twice: Int128??
    var nested: Nested<Int128>
}

@EntityModel
private struct Worded: Shaped {
    let id: Int
    var one: Word
    var optional: Word?
    var list: [Word]
    var gaps: [Word?]
    var optionalList: [Word]?
    var optionalGaps: [Word?]?
    var twice: Word??
    var nested: Nested<Word>
}

@EntityModel
private struct Ranked: Shaped {
    let id: Int
    var one: Score
    var optional: Score?
    var list: [Score]
    var gaps: [Score?]
    var optionalList: [Score]?
    var optionalGaps: [Score?]?
    var twice: Score??
    var nested: Nested<Score>
}

@EntityModel
private struct Leveled: Shaped {
    let id: Int
    var one: Level
    var optional: Level?
    var list: [Level]
    var gaps: [Level?]
    var optionalList: [Level]?
    var optionalGaps: [Level?]?
    var twice: Level??
    var nested: Nested<Level>
}

@EntityModel
private struct Toned: Shaped {
    let id: Int
    var one: Tone
    var optional: Tone?
    var list: [Tone]
    var gaps: [Tone?]
    var optionalList: [Tone]?
    var optionalGaps: [Tone?]?
    var twice: Tone??
    var nested: Nested<Tone>
}

@EntityModel
private struct Sized: Shaped {
    let id: Int
    var one: Size
    var optional: Size?
    var list: [Size]
    var gaps: [Size?]
    var optionalList: [Size]?
    var optionalGaps: [Size?]?
    var twice: Size??
    var nested: Nested<Size>
}

@EntityModel
private struct Placed: Shaped {
    let id: Int
    var one: Point
    var optional: Point?
    var list: [Point]
    var gaps: [Point?]
    var optionalList: [Point]?
    var optionalGaps: [Point?]?
    var twice: Point??
    var nested: Nested<Point>
}

@EntityModel
private struct Cased: Shaped {
    let id: Int
    var one: Figure
    var optional: Figure?
    var list: [Figure]
    var gaps: [Figure?]
    var optionalList: [Figure]?
    var optionalGaps: [Figure?]?
    var twice: Figure??
    var nested: Nested<Figure>
}

@EntityModel
private struct Grouped: Shaped {
    let id: Int
    var one: Set<Word>
    var optional: Set<Word>?
    var list: [Set<Word>]
    var gaps: [Set<Word>?]
    var optionalList: [Set<Word>]?
    var optionalGaps: [Set<Word>?]?
    var twice: Set<Word>??
    var nested: Nested<Set<Word>>
}

@EntityModel
private struct Keyed: Shaped {
    let id: Int
    var one: [Word: Int]
    var optional: [Word: Int]?
    var list: [[Word: Int]]
    var gaps: [[Word: Int]?]
    var optionalList: [[Word: Int]]?
    var optionalGaps: [[Word: Int]?]?
    var twice: [Word: Int]??
    var nested: Nested<[Word: Int]>
}

@EntityModel
private struct Listed: Shaped {
    let id: Int
    var one: [Int]
    var optional: [Int]?
    var list: [[Int]]
    var gaps: [[Int]?]
    var optionalList: [[Int]]?
    var optionalGaps: [[Int]?]?
    var twice: [Int]??
    var nested: Nested<[Int]>
}

/// A model with types that the macro can't see: they aren't in its source, or its extension doesn't see them.
private enum Outer {
    enum Kind: String, Codable { case plain, fancy }

    @EntityModel
    struct Inner: Equatable {
        let id: Int
        var width: CGFloat
        var kinds: [Kind?]
        var twice: Kind??
        var kind = Kind.plain
        var size: CGFloat = 0
        var some: [Kind]? = [.fancy]
        var amount: CGFloat? = nil
    }
}

@Suite("Types of properties")
struct PropertyTypesTests {
    private func entities<Model: Shaped>(_: Model.Type, _ a: Model.Base, _ b: Model.Base) -> [Model] {
        [
            Model(
                id: 1, one: a, optional: b, list: [a, b], gaps: [a, nil, b], optionalList: [b], optionalGaps: [nil, a],
                twice: .some(.some(b)),
                nested: Nested(one: a, optional: b, list: [a, b], gaps: [nil, b], optionalGaps: [a, nil])),
            Model(
                id: 2, one: b, optional: nil, list: [], gaps: [], optionalList: nil, optionalGaps: nil, twice: nil,
                nested: Nested(one: b, optional: nil, list: [], gaps: [], optionalGaps: nil)),
            Model(
                id: 3, one: a, optional: a, list: [b], gaps: [nil], optionalList: [], optionalGaps: [], twice: .some(a),
                nested: Nested(one: a, optional: nil, list: [b], gaps: [nil, nil], optionalGaps: [])),
        ]
    }

    /// Saves the entities, and compares them with those read back from each of their forms in a file.
    private func check<Model: EntityModelProtocol & Equatable>(_ entities: [Model]) throws where Model.ID == Int {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("types.hornbeam")
        let ids = entities.map(\.id)
        var database = try Database(at: path, models: Model.self, options: .keepsAll)
        try database.write { try $0.saveAll(entities) }
        try database.close()
        database = try Database(at: path, models: Model.self, options: .keepsAll)
        #expect(try database.read { try $0.findAllExisting(ids) } == entities, "closed and opened again")
        let version = try database.read { try $0.version }
        try database.write { try $0.saveAll(entities) }
        #expect(try database.read { try $0.version } == version, "saved as they were")
        try database.write { context in
            let core = try context.session.core
            let (rows, store) = (try JSONRows(Model.entityName, core: core), try core.store(Model.entityName))
            let lines = try ids.map { id in
                let rowID = RowID(rawValue: UInt64(id))
                return try rows.line(rowID, try #require(try store.row(rowID)))
            }
            for id in ids { try context.remove(Model.self, id: id) }
            for line in lines { _ = try Array(line.utf8).withBytes { try rows.save(line: $0) } }
        }
        #expect(try database.read { try $0.findAllExisting(ids) } == entities, "exported and imported")
        try database.write { context in
            for entity in entities { try entity.delete(from: &context) }
            #expect(try Deleted<Model>.query().resolve(in: context).map(\.entity) == entities, "deleted")
            for deleted in try Deleted<Model>.query().resolve(in: context) { try deleted.restore(in: &context) }
        }
        #expect(try database.read { try $0.findAllExisting(ids) } == entities, "restored")
        var problems: [String] = []
        #expect(try database.check { problems.append($0) }, "\(problems)")
        try database.close()
    }

    private func check<Model: Shaped>(_ model: Model.Type, _ a: Model.Base, _ b: Model.Base) throws {
        try check(entities(model, a, b))
        // Migrations find this form at run time.
        func form<Property>(_: Property.Type) throws -> ColumnType { try StoredForm<Property>.find().type }
        let forms = try [
            form(Model.Base.self), form(Model.Base?.self), form([Model.Base].self), form([Model.Base?].self),
            form([Model.Base]?.self), form([Model.Base?]?.self), form(Model.Base??.self), form(Nested<Model.Base>.self),
        ]
        let columns = Model.entityShape.description.columns[1...8].map(\.type)
        #expect(Array(columns) == forms, "\(Model.self)")
    }

    @Test("that are column values come back, in any wrapping")
    func columnValues() throws {
        try check(Whole.self, .max, .min)
        try check(Byte.self, 0, .max)
        try check(Ratio.self, 0.1, -.greatestFiniteMagnitude)
        try check(Single.self, 0.1, .leastNonzeroMagnitude)
        try check(Flag.self, true, false)
        try check(Text.self, "", "a/\"\\\n\u{8}\u{0}é👍")
        try check(Moment.self, Date(timeIntervalSinceReferenceDate: 0.1), Date(timeIntervalSince1970: 0))
        try check(Blob.self, Data(), Data([0, 1, 255]))
        try check(Unique.self, UUID(), UUID())
        try check(
            Link.self, try #require(URL(string: "https://a.org/b?c=d#e")), try #require(URL(string: "relative/path")))
        try check(
            Amount.self, try #require(Decimal(string: "12345678901234567890.123456789012345678")),
            .greatestFiniteMagnitude)
        try check(Amount.self, .leastNonzeroMagnitude, try #require(Decimal(string: "-0.1")))
        try check(Listed.self, [], [1, -1])
    }

    @Test("that have raw values come back, in any wrapping")
    func rawValues() throws {
        try check(Worded.self, .low, .high)
        try check(Ranked.self, .one, .two)
        try check(Leveled.self, .first, .second)
        try check(Toned.self, Tone(rawValue: ""), Tone(rawValue: "x"))
        try check(Sized.self, Size(rawValue: 0.5), Size(rawValue: 2))
    }

    @Test("that are stored as JSON come back, in any wrapping")
    func codable() throws {
        try check(Width.self, 0.5, -3)
        try check(Huge.self, .max, .min)
        try check(Placed.self, Point(x: 1, y: nil), Point(x: 2, y: 0.1, words: [.low, .high]))
        try check(Cased.self, .point, .circle(radius: 0.5))
        try check(Grouped.self, [], [.low, .high])
        try check(Keyed.self, [:], [.low: 1, .high: 2])
    }

    @Test("come back where the macro can't see them, and nil within nil is nil")
    func unseen() throws {
        let whole = Outer.Inner(
            id: 1, width: 0.5, kinds: [.plain, nil], twice: .some(.fancy), kind: .fancy, size: 2, some: nil,
            amount: 0.25)
        try check([whole, Outer.Inner(id: 2, width: 1, kinds: [], twice: nil)])
        var context = Context()
        try Outer.Inner(id: 3, width: 1, kinds: [], twice: .some(nil)).save(to: &context)
        let stored = try #require(try context.find(3) as Outer.Inner?)
        #expect(stored.twice == .none)
    }

    @Test("that are stored as JSON are filtered, sorted and given to statements by their values")
    func questions() throws {
        let database = try Database.inMemory(models: Width.self)
        try database.write { try $0.saveAll(entities(Width.self, 0.5, 3)) }
        try database.read { context throws in
            #expect(try Width.filter(\.one > 1).ids(in: context) == [2])
            #expect(try Width.query().sorted(by: \.one.desc).ids(in: context) == [2, 1, 3])
            #expect(try Width.filter(\.optional == nil).ids(in: context) == [2])
        }
        #expect(try database.query("SELECT VALUE one FROM Width").map(\.json) == ["0.5", "3", "0.5"])
    }
}
