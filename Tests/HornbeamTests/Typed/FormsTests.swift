// SPDX-License-Identifier: Apache-2.0
// Every form of declaration that `@EntityModel` accepts, compiled and stored: types, access, nesting, names.

import Foundation
public import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamEngine

/// Every type that a property can have.
@EntityModel
private struct AllTypes: Equatable {
    @Index<Self>(\.uuid, \.date.desc) private var byUUID
    @Index<Self>(\.raw) private var byRaw
    @Index<Self>(\.optionalRaw, \.optionalInt) private var byOptionals
    @Index<Self>(\.handle) private var byHandle

    let id: UUID
    var bool = true
    var int: Int, int8: Int8, int16: Int16 = -3
    var int32: Int32
    var int64: Int64 = .min
    var uint: UInt = .max
    var uint8: UInt8 = 200
    var uint16: UInt16 = 60_000
    var uint32: UInt32 = .max
    var uint64: UInt64 = .max
    var float: Float = 1.5
    var double = -0.25
    var string = "é"
    var date: Date
    var data = Data([0, 255])
    var uuid: UUID
    var url: URL
    var decimal: Decimal = 12
    var raw: Weekday = .friday
    var optionalRaw: Weekday?
    var optionalInt: Int?
    var optionalString: String? = nil
    var ints: [Int] = [1, 2]
    var optionals: [String?] = ["a", nil]
    var raws: [Weekday] = [.monday, .friday]
    var optionalArray: [Double]?
    var nested: [[Int]] = [[1], []]
    var codable: Point
    var optionalCodable: Point?
    var codables: [Point] = []
    var dictionary: [String: Int] = ["a": 1]
    var handle: Handle
    private var hidden = 7
    private(set) var guarded = "x"
    var observed = 1 { didSet { guarded = "\(oldValue)" } }
    let constant = 5

    var doubled: Int { int &* 2 }
    static let shared = 3
    static var computed: Int { 4 }

    init(id: UUID, int: Int, optionalInt: Int?, point: Point, hidden: Int) {
        self.id = id
        self.int = int
        int8 = -8
        int32 = 32
        date = Date(timeIntervalSinceReferenceDate: 0.125)
        uuid = id
        url = URL(filePath: "/tmp/a b")
        codable = point
        handle = Handle(text: "h")
        self.optionalInt = optionalInt
        self.hidden = hidden
    }
}

private enum Weekday: Int, Codable, Sendable { case monday = 1, friday = 5 }

private struct Point: Codable, Equatable, Sendable {
    var x: Double, y: Double
}

/// A type that conforms by naming its stored form.
private struct Handle: Equatable, IndexKey {
    var text: String
    static var columnType: ColumnType { .string }
    var columnValue: Value { .string(text) }
    init(text: String) { self.text = text }
    init?(columnValue: Value) {
        guard case .string(let text) = columnValue else { return nil }
        self.text = text
    }
}

enum Shop {
    @EntityModel
    struct Item: Equatable {
        let id: Key
        var `default` = false
        var price: Decimal?

        struct Key: RawRepresentable, Hashable, IndexKey {
            let rawValue: Int
        }
    }

    enum Kind: String { case tool, book }

    @EntityModel
    struct Shelf: Equatable {
        let id: Int
        var kind: Kind
    }

    @EntityModel
    fileprivate struct Hidden {
        private let secret: String
        let id: Int8
        @Relationship() var item: Item?
        @Relationship(deleteRule: .cascade) fileprivate var items: [Item]?

        init(id: Int8, secret: String) {
            self.id = id
            self.secret = secret
        }

        var told: String { secret }
    }
}

@EntityModel
struct Boxed<Content: Codable & Sendable & Equatable>: Equatable {
    @Index<Self>(\.size) private var bySize
    let id: Int
    var size: Int
    var content: Content
}

/// A type whose property types are all written out, some of them hidden.
@EntityModel
private struct Written: Equatable {
    private enum Secret: Int { case one = 1, two }

    let id: Int
    var `default`: String?
    private var secret: Secret
    var days: [Weekday], spare: Double?

    init(id: Int) {
        self.id = id
        secret = .two
        days = [.friday]
    }
}

@EntityModel
public struct Announced: Codable, Hashable {
    @Unique<Self>(\.name, collisions: .throw) private var byName
    @FullTextIndex<Self>(\.name) private var search
    public let id: Int
    public var name: String
    @Relationship(.required) public var next: Announced?

    public init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}

@Suite("Declarations of entities")
struct FormsTests {
    @Test("every type of property comes back as it was")
    func roundTrip() throws {
        var context = Context()
        let full = AllTypes(id: UUID(), int: 7, optionalInt: 3, point: Point(x: 1, y: -2), hidden: 9)
        var sparse = AllTypes(id: UUID(), int: .max, optionalInt: nil, point: Point(x: 0, y: 0.1), hidden: 0)
        sparse.observed = 2
        try full.save(to: &context)
        try sparse.save(to: &context)
        #expect(try context.find(full.id) == full)
        #expect(try context.find(sparse.id) == sparse)
        #expect(try context.find(sparse.id).map { (found: AllTypes) in found.guarded } == "1")
        #expect(try AllTypes.filter(\.raw == .friday).count(in: context) == 2)
        #expect(try AllTypes.filter(\.uuid == full.id).ids(in: context) == [full.id])
        #expect(try AllTypes.filter(\.codable == Point(x: 1, y: -2)).ids(in: context) == [full.id])
        #expect(try AllTypes.filter(\.uint64 == .max).count(in: context) == 2)
        #expect(try AllTypes.filter(\.doubled == 14).ids(in: context) == [full.id])
    }

    @Test("nested, hidden, generic and public types are entities like others")
    func kindsOfTypes() throws {
        var context = Context()
        let item = Shop.Item(id: .init(rawValue: 3), default: true, price: 1)
        try item.save(to: &context)
        #expect(try context.find(.init(rawValue: 3)) == item)
        #expect(Shop.Item.entityName == "Shop.Item")
        let shelf = Shop.Shelf(id: 4, kind: .book)
        try shelf.save(to: &context)
        #expect(try context.find(4) == shelf)
        let written = Written(id: 5)
        try written.save(to: &context)
        #expect(try context.find(5) == written)
        var hidden = Shop.Hidden(id: 1, secret: "s")
        hidden.$item = .id(item.id)
        hidden.$items = .ids([item.id])
        try hidden.save(to: &context)
        #expect(try Shop.Hidden.query(1).with(\.$item).resolve(in: context)?.item == item)
        #expect(try context.find(1).map { (found: Shop.Hidden) in found.told } == "s")
        let box = Boxed(id: 1, size: 2, content: ["a": [1]])
        try box.save(to: &context)
        #expect(try Boxed<[String: [Int]]>.filter(\.size == 2).resolve(in: context) == [box])
        try Announced(id: 1, name: "n").save(to: &context)
        #expect(try Announced.filter(.string(\.name, matches: "N")).ids(in: context) == [1])
    }

    @Test("specialisations of a generic type are types of their own, in one database")
    func specialisations() throws {
        #expect(Boxed<Int>.entityName == "Boxed<Int>")
        #expect(Boxed<[String: [Int]]>.entityName == "Boxed<Dictionary<String, Array<Int>>>")
        #expect(Boxed<Announced>.entityName == "Boxed<Announced>")
        #expect(Deleted<Boxed<Int>>.entityName.contains("Boxed<Int>"))
        #expect(Boxed<Int>.entityShape === Boxed<Int>.entityShape)
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("boxes.hornbeam")
        do {
            let database = try Database(at: path, models: Boxed<Int>.self, Boxed<String>.self, options: .keepsAll)
            try database.write { context in
                try Boxed(id: 1, size: 2, content: 7).save(to: &context)
                try Boxed(id: 1, size: 2, content: "seven").save(to: &context)
                try Boxed(id: 2, size: 3, content: 8).save(to: &context)
                try Boxed<Int>.delete(id: 2, from: &context)
            }
            try database.close()
        }
        let database = try Database(at: path, models: Boxed<Int>.self, Boxed<String>.self, options: .keepsAll)
        try database.read { (context) throws in
            #expect(try Boxed<Int>.filter(\.size == 2).resolve(in: context) == [Boxed(id: 1, size: 2, content: 7)])
            #expect(try Boxed<String>.filter(\.size == 2).resolve(in: context).map(\.content) == ["seven"])
            #expect(try Deleted<Boxed<Int>>.query().ids(in: context) == [2])
        }
        #expect(try database.check())
        try database.close()
    }

    @Test("index properties take no space in the entity")
    func noSpace() {
        struct Bare {
            let id: Int
            var size: Int
            var content: Int
        }
        #expect(MemoryLayout<Boxed<Int>>.size == MemoryLayout<Bare>.size)
    }

    @Test("an id of any size works; a negative one too")
    func ids() throws {
        var context = Context()
        for id in [0, -1, .max, .min, 1 << 40] as [Int] {
            try Boxed(id: id, size: id, content: true).save(to: &context)
            #expect(try context.find(id) == Boxed(id: id, size: id, content: true))
        }
        #expect(try context.ids(Boxed<Bool>.self).count == 5)
    }

    @Test("two types of one name are refused rather than mixed")
    func sameName() throws {
        enum Left { struct Tag: Codable, Equatable {} }
        enum Right { struct Tag: Codable, Equatable {} }
        var context = Context()
        try Boxed(id: 1, size: 1, content: Left.Tag()).save(to: &context)
        #expect(throws: HornbeamError.self) { try Boxed(id: 1, size: 1, content: Right.Tag()).save(to: &context) }
    }
}
