// SPDX-License-Identifier: Apache-2.0
// A secondary index as a table: rows in the row format under the row ids of their entities, and an ordered index over
// each column, in further trees. To the planner it is an entity type like any other, so all techniques for queries of
// entities apply: exact counts of ranges, unions, intersections, orders, groups.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages
import HornbeamTree
import Synchronization

/// The columns and orders of one secondary index. A class: rows that are read borrow its layout.
final class SecondaryTable: Sendable {
    /// One tree of the index: columns in an order.
    struct Order: Sendable {
        let name: String
        let components: [EntityIndex.Component]
    }

    let index: String
    /// The first is the id of the entity.
    let columns: [ColumnDescription]
    let orders: [Order]
    let layout: RowLayout
    /// The reason why the table is invalid. Nil if it is valid.
    let flaw: String?
    private let numbers: [String: Int]
    /// The table that `store` made last.
    private let lastMade = Mutex<MadeTable?>(nil)

    /// The index as an entity type. It stays the same as long as the index's trees and the entity type do.
    private struct MadeTable {
        let trees: IndexTrees
        let entities: EntityType
        let table: EntityType
    }

    /// The name of the id's column. No column of a program can have it.
    static let idName = "rowid"

    /// - Parameter compound: names of columns, for orders by several.
    init(_ index: String, id: ColumnType, columns: [any SecondaryColumn], compound: [[String]]) {
        self.index = index
        let declared = columns.map { ColumnDescription(name: $0.name, type: .optional($0.type.unwrapped)) }
        let described = [ColumnDescription(name: Self.idName, type: id)] + declared
        self.columns = described
        layout = RowLayout(columns: described, type: index)
        let numbers = Dictionary(
            described.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        self.numbers = numbers
        let all = columns.map { [$0.name] } + compound
        var orders: [Order] = []
        for names in all {
            let components = names.compactMap { name in
                numbers[name].map {
                    EntityIndex.Component(column: $0, type: described[$0].type, descending: false)
                }
            }
            orders.append(Order(name: "\(index).\(names.joined(separator: "+"))", components: components))
        }
        self.orders = orders
        flaw = Self.flaw(columns, compound)
    }

    private static func flaw(_ columns: [any SecondaryColumn], _ compound: [[String]]) -> String? {
        if columns.isEmpty { return "it has no column" }
        var names: Set<String> = []
        for column in columns {
            let name = column.name
            if name.isEmpty || name.utf8.contains(0) { return "a column needs a name, without zero bytes" }
            if name.lowercased() == idName { return "no column can be called “\(name)”, which is the entity's id" }
            if !names.insert(name).inserted { return "two of its columns are called “\(name)”" }
            if !column.type.isOrdered { return "column “\(name)” is \(column.type.withArticle), which has no order" }
        }
        for list in compound {
            if let unknown = list.first(where: { !names.contains($0) }) {
                return "an order is by “\(unknown)”, which is none of its columns"
            }
            if list.count < 2 || Set(list).count < list.count {
                return "an order by (\(list.joined(separator: ", "))) needs two or more different columns"
            }
        }
        if columns.count + compound.count > IndexTrees.mostOthers {
            return "it has \(columns.count) columns and \(compound.count) orders by several: "
                + "the limit is \(IndexTrees.mostOthers) together"
        }
        return nil
    }

    /// All settings that the entries depend on, except the code.
    var settings: [String: String] {
        // Each name is preceded by its size, so that different lists give different texts.
        func text(_ name: String) -> String { "\(name.utf8.count):\(name)" }
        let columns = columns.dropFirst().map { "\(text($0.name)) \($0.type.unwrapped)" }
        return [
            "columns": columns.joined(separator: ", "), "id": columns.isEmpty ? "" : "\(self.columns[0].type)",
            "orders": orders.map { text($0.name) }.joined(separator: ", "),
        ]
    }

    /// Returns the number of a column. Throws `.invalid` if there is none.
    func column(_ name: String) throws(HornbeamError) -> Int {
        guard let column = numbers[name] else {
            let known = columns.dropFirst().map(\.name).joined(separator: ", ")
            throw HornbeamError(.invalid, "index “\(index)” has no column “\(name)”; it has \(known)")
        }
        return column
    }

    /// Returns a value in the form of a column. Throws `.invalid` if it doesn't fit.
    func converted(_ value: Value, for column: Int) throws(HornbeamError) -> Value {
        let type = columns[column].type
        if let converted = value.converted(to: type) { return converted }
        if case .at(let number)? = ValueBound(number: value, in: type.unwrapped, .asWritten) { return number }
        throw HornbeamError(
            .invalid,
            "column “\(columns[column].name)” of index “\(index)” has values of type \(type.unwrapped): "
                + "\(value.text.shown()) is none")
    }

    // MARK: Entries

    /// Returns the entries of an entity: the row, for the first tree, and a key for the tree of each order.
    func entries(id: Value, _ values: [Value]) throws -> [IndexEntry] {
        var writer = RowWriter(layout: layout)
        writer.set(id, 0)
        for (place, value) in values.enumerated() { writer.set(value, place + 1) }
        let row = try writer.finish()
        var entries = [IndexEntry(key: [0], value: row)]
        entries.reserveCapacity(orders.count + 1)
        try row.withUnsafeBytes { bytes in
            let reader = try RowReader(bytes, layout: layout)
            for (place, order) in orders.enumerated() {
                var key = KeyWriter(capacity: 32)
                for component in order.components {
                    try KeyCoding.appendComponent(
                        of: reader, column: component.column, descending: component.descending, to: &key)
                }
                var bytes = key.bytes
                IndexKeyBytes.cut(&bytes)
                entries.append(IndexEntry(key: [UInt8(truncatingIfNeeded: place + 1)] + bytes, value: []))
            }
        }
        return entries
    }

    // MARK: Reading

    /// Returns the table in a transaction, in the form that the planner takes.
    func store(_ trees: IndexTrees, of type: EntityType, _ core: StoreTransaction) throws -> EntityStore {
        if let made = lastMade.withLock({ $0 }), made.entities === type, made.trees == trees {
            return EntityStore(type: made.table, core: core, isTable: true)
        }
        let table = try table(trees, of: type)
        lastMade.withLock { $0 = MadeTable(trees: trees, entities: type, table: table) }
        return EntityStore(type: table, core: core, isTable: true)
    }

    private func table(_ trees: IndexTrees, of type: EntityType) throws -> EntityType {
        guard trees.others.count == orders.count else {
            throw StorageError.corrupt(
                Corruption(tree: "index “\(index)”", reason: "it has \(trees.others.count) orders, not \(orders.count)")
            )
        }
        let indexes = zip(orders, trees.others).map { order, tree in
            let description = IndexDescription(
                name: order.name, kind: .value,
                components: order.components.map { .init(column: columns[$0.column].name) })
            return EntityIndex(description: description, tree: tree, components: order.components)
        }
        return EntityType(
            description: EntityDescription(
                name: type.name, columns: columns, indexes: indexes.map(\.description)),
            declared: columns.count, layout: layout, rows: trees.first, ids: type.ids, unsaved: type.unsaved,
            links: type.links, indexes: indexes, textIndexes: [], relations: [], counterpart: nil)
    }

    // MARK: Conditions

    /// Returns the filter of a comparison, also with a number that the column can't hold.
    func comparison(
        _ column: Int, _ comparison: Comparison, _ value: Value
    ) throws(HornbeamError) -> Filter {
        if let place = ValueBound(number: value, in: columns[column].type.unwrapped, .asWritten) {
            return place.filter(column, comparison)
        }
        return .compare(column: column, comparison, try converted(value, for: column))
    }

    /// Returns the filter for rows whose column has one of these values. Numbers that it can't hold match nothing.
    func within(_ column: Int, _ values: [Value]) throws(HornbeamError) -> Filter {
        var literals: [Value] = []
        for value in values {
            switch ValueBound(number: value, in: columns[column].type.unwrapped, .asWritten) {
            case .at(let literal)?: literals.append(literal)
            case .some: break
            case nil: literals.append(try converted(value, for: column))
            }
        }
        return literals.isEmpty ? .none : .within(column: column, literals)
    }

    func test(_ kind: StringTest.Kind, _ name: String, _ text: String) throws(HornbeamError) -> StringTest {
        let column = try column(name)
        guard columns[column].type.unwrapped == .string else {
            throw HornbeamError(
                .invalid,
                "column “\(name)” of index “\(index)” has values of type \(columns[column].type.unwrapped), which are "
                    + "no text")
        }
        return StringTest(kind, columns: [column], text, caseSensitive: true)
    }
}
