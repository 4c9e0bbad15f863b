// SPDX-License-Identifier: Apache-2.0
// An entity that has one value in a property for each kind of index, and each kind's answer to a question about this
// value.

import Foundation
import HornbeamHandKept
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

protocol EdgeValue: IndexKey, Codable, Comparable, Hashable {
    var mapKey: MapKey { get }
    /// Any value, for keys that can't be nil.
    static var some: Self { get }
}

extension Double: EdgeValue {
    var mapKey: MapKey { .double(self) }
    static var some: Double { 1 }
}

extension Date: EdgeValue {
    var mapKey: MapKey { .date(self) }
    static var some: Date { Date(timeIntervalSinceReferenceDate: 1) }
}

extension String: EdgeValue {
    var mapKey: MapKey { .string(self) }
    static var some: String { "b" }
}

extension Decimal: EdgeValue {
    /// Map keys have no decimals.
    var mapKey: MapKey { .null }
    static var some: Decimal { 1 }
}

@EntityModel
struct Edge<Content: EdgeValue> {
    @Index<Self>(\.indexed) private var byIndex
    @HashIndex<Self>(\.hashed) private var byHash
    @Unique<Self>(\.unique, collisions: .throw) private var byUnique

    let id: Int
    var plain: Content?
    var indexed: Content?
    var hashed: Content?
    /// The value, in the first entity that has it or an equal one; nil in the others.
    var unique: Content?
    var valued: Content?
    var partial: Content?
    var isIn: Bool
    var elements: [Content]
    var plainElements: [Content]
    var note = ""

    var computed: Content? { plain }
    var plainComputed: Content? { plain }

    init(id: Int, _ value: Content?, isFirst: Bool) {
        self.id = id
        (plain, indexed, hashed, valued, partial) = (value, value, value, value, value)
        unique = isFirst ? value : nil
        isIn = id % 3 != 0
        elements = value.map { id % 2 == 0 ? [$0, $0, .some] : [$0] } ?? []
        plainElements = elements
    }
}

/// A question about a value.
enum EdgeQuestion<Content: EdgeValue>: CustomStringConvertible {
    case equal(Content?)
    case unequal(Content?)
    case among([Content])
    case less(Content)
    case lessOrEqual(Content)
    case greater(Content)
    case greaterOrEqual(Content)
    case order
    case reverse

    var description: String {
        func short(_ value: Content?) -> String { value.map { String("\($0.columnValue.text)".prefix(40)) } ?? "nil" }
        return switch self {
        case .equal(let value): "== \(short(value))"
        case .unequal(let value): "!= \(short(value))"
        case .among(let values): "in \(values.map(short))"
        case .less(let value): "< \(short(value))"
        case .lessOrEqual(let value): "<= \(short(value))"
        case .greater(let value): "> \(short(value))"
        case .greaterOrEqual(let value): ">= \(short(value))"
        case .order: "ascending"
        case .reverse: "descending"
        }
    }
}

struct EdgeLists<Content: EdgeValue>: IndexesType {
    let grouped = GroupByKeyIndex<Content?, Edge<Content>>("grouped")
    let hashed = HashIDIndex<Content, Edge<Content>>("hashedID")
    let matching = SetIndex<Edge<Content>>("matching")
}

/// A way to answer a question.
struct EdgeKind<Content: EdgeValue> {
    typealias Entity = Edge<Content>

    let name: String
    /// The values of an entity that are tested: one of them must pass.
    let values: @Sendable (Entity) -> [Content?]
    /// The ids that answer a question; nil for a question that doesn't apply to this kind.
    let answer: @Sendable (EdgeQuestion<Content>, Context) throws -> [Int]?

    /// Returns a kind for a property, by queries that choose its index themselves.
    private static func property(
        _ name: String, _ path: any KeyPath<Entity, Content?> & Sendable,
        _ descending: any KeyPath<Entity, Descending<NilFirst<Content>>> & Sendable, where isIn: Bool = false
    ) -> Self {
        let base = isIn ? Entity.filter(\.isIn == true) : Entity.query()
        return Self(name: name, values: { isIn && !$0.isIn ? [] : [$0[keyPath: path]] }) { question, context in
            let list =
                switch question {
                case .equal(let value): base.filter(path == value)
                case .unequal(let value): base.filter(path != value)
                case .among(let values): base.filter(.value(path, in: values))
                case .less(let value): base.filter(path < value)
                case .lessOrEqual(let value): base.filter(path <= value)
                case .greater(let value): base.filter(path > value)
                case .greaterOrEqual(let value): base.filter(path >= value)
                case .order: base.sorted(by: .by(path))
                case .reverse: base.sorted(by: .by(descending))
                }
            let ids = try list.ids(in: context)
            return switch question {
            case .order, .reverse: ids
            default: ids.sorted()
            }
        }
    }

    /// Returns a kind for the elements of an array, by conditions on them.
    private static func elements(
        _ name: String, _ path: any KeyPath<Entity, [Content]> & Sendable
    ) -> Self {
        Self(name: name, values: { $0[keyPath: path] }) { question, context in
            func any(
                _ condition: (ElementProxy<Content>) -> ElementPredicate<Content>
            ) throws -> [Int] {
                let found = try Entity.filter(.any(path, condition)).sorted(by: \.id).ids(in: context)
                // Queries of element rows give the same answers.
                let rows = try Entity.query().unnest(path).filter(condition).resolve(in: context)
                #expect(Set(rows.map(\.entity.id)) == Set(found), "\(name) \(question)")
                #expect(try Entity.query().unnest(path).filter(condition).count(in: context) == rows.count)
                return found
            }
            return switch question {
            case .equal(let value?): try any { $0 == value }
            case .unequal(let value?): try any { $0 != value }
            case .less(let value): try any { $0 < value }
            case .lessOrEqual(let value): try any { $0 <= value }
            case .greater(let value): try any { $0 > value }
            case .greaterOrEqual(let value): try any { $0 >= value }
            case .among(let values):
                try Entity.filter(.array(path, containsAny: values)).sorted(by: \.id).ids(in: context)
            default: nil
            }
        }
    }

    private static func contained(_ name: String, _ path: any KeyPath<Entity, [Content]> & Sendable) -> Self {
        Self(name: name, values: { $0[keyPath: path] }) { question, context in
            guard case .equal(let value?) = question else { return nil }
            let all = try Entity.filter(.array(path, containsAll: [value, value])).sorted(by: \.id).ids(in: context)
            #expect(try Entity.filter(.array(path, contains: value)).sorted(by: \.id).ids(in: context) == all)
            return all
        }
    }

    // MARK: Registered

    static var byMap: MapIndex<Entity, NoValue, CountReducer<NoValue>> {
        MapIndex("byMap", version: "1", collation: .binary) { (edge: Entity, emit: inout MapEmitter<NoValue>) in
            emit(key: edge.plain?.mapKey ?? .null)
        }
    }
    static var column: IndexColumn<Content> { IndexColumn("content") }
    static var bySecondary: SecondaryIndex<Entity> {
        SecondaryIndex("bySecondary", version: "1", columns: [column, IndexColumn<Int>("number")]) {
            (edge: Entity, row: inout IndexRowWriter) in
            row[column] = edge.plain
            row[IndexColumn<Int>("number")] = edge.id
        }
    }
    static var byView: View<Entity, Content> {
        View("byView", version: "1", groupedBy: \.plain)
    }
    static var ordered: View<Entity, SoleGroup> {
        View("ordered", version: "1", sortedBy: .ascending(\Entity.plain))
    }
    static var registered: [any RegisteredIndex] {
        [
            ValueIndex("byValue", \Entity.valued), ValueIndex("byPart", \Entity.partial, where: \Entity.isIn == true),
            ValueIndex("byComputed", \Entity.computed), ArrayIndex("byElement", \Entity.elements), bySecondary, ordered,
        ]
    }

    private static var map: Self {
        Self(name: "map", values: { [$0.plain] }) { question, context in
            let query = byMap.query()
            // Nulls come before all values, but aren't less than these.
            let nulls = try query.key(.null).count(in: context)
            func sources(_ query: MapQuery<Entity, NoValue, CountReducer<NoValue>>) throws -> [Int] {
                try query.resolve(in: context).map(\.source)
            }
            return switch question {
            case .equal(let value): try sources(query.key(value?.mapKey ?? .null)).sorted()
            case .among(let values): try sources(query.keys(values.map(\.mapKey))).sorted()
            case .less(let value): try sources(query.range(below: value.mapKey)).dropFirst(nulls).sorted()
            case .lessOrEqual(let value): try sources(query.range(to: value.mapKey)).dropFirst(nulls).sorted()
            case .greaterOrEqual(let value): try sources(query.range(from: value.mapKey)).sorted()
            case .order: try sources(query)
            default: nil
            }
        }
    }

    private static var secondary: Self {
        Self(name: "secondary", values: { [$0.plain] }) { question, context in
            let query = bySecondary.query()
            let list: SecondaryQuery<Entity> =
                switch question {
                case .equal(let value): query.filter(column == value)
                case .unequal(let value): query.filter(column != value)
                case .among(let values): query.filter(column.isIn(values))
                case .less(let value): query.filter(column < value)
                case .lessOrEqual(let value): query.filter(column <= value)
                case .greater(let value): query.filter(column > value)
                case .greaterOrEqual(let value): query.filter(column >= value)
                case .order: query.sorted(by: column.ascending)
                case .reverse: query.sorted(by: column.descending)
                }
            let ids = try list.ids(in: context)
            return switch question {
            case .order, .reverse: ids
            default: ids.sorted()
            }
        }
    }

    private static var view: Self {
        Self(name: "view", values: { [$0.plain] }) { question, context in
            switch question {
            case .equal(let value?): try byView[value].ids(in: context)
            case .order: try ordered.list.ids(in: context)
            default: nil
            }
        }
    }

    private static var groups: Self {
        Self(name: "group by key", values: { [$0.plain] }) { question, context in
            let groups = try context.indexes(of: EdgeLists<Content>.self).grouped
            return switch question {
            case .equal(let value): try groups[value].ids.sorted()
            case .order: try groups.groups().flatMap { try groups[$0].ids.sorted() }
            default: nil
            }
        }
    }

    private static var hash: Self {
        Self(name: "hash to id", values: { [$0.unique] }) { question, context in
            guard case .equal(let value?) = question else { return nil }
            return try context.indexes(of: EdgeLists<Content>.self).hashed[value].map { [$0] } ?? []
        }
    }

    /// - Parameter isLong: whether some values are too long for keys that can't be cut.
    static func all(isLong: Bool) -> [Self] {
        var kinds = [
            property("scan", \.plain, \.plain.desc), property("@Index", \.indexed, \.indexed.desc),
            property("@HashIndex", \.hashed, \.hashed.desc), property("@Unique", \.unique, \.unique.desc),
            property("value", \.valued, \.valued.desc), property("partial", \.partial, \.partial.desc, where: true),
            property("computed", \.computed, \.computed.desc),
            property("computed, scan", \.plainComputed, \.plainComputed.desc),
            elements("array", \.elements), elements("array, scan", \.plainElements),
            contained("contains", \.elements), contained("contains, scan", \.plainElements), secondary,
        ]
        if !isLong { kinds += [view, groups, hash] }
        if !isLong, Content.self != Decimal.self { kinds.append(map) }
        return kinds
    }

    static func database(isLong: Bool) throws -> Database {
        let database = try Database.inMemory(models: Entity.self, handKept: EdgeLists<Content>())
        for index in registered { try database.register(index) }
        if !isLong {
            try database.register(byView)
            try database.register(byMap)
            let lists = EdgeLists<Content>()
            database.keep(lists.grouped) { $0.plain }
            database.keep(lists.hashed) { $0.unique }
        }
        database.keep(EdgeLists<Content>().matching) { $0.plain != nil }
        return database
    }
}
