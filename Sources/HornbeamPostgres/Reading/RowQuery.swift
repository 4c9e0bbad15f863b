// SPDX-License-Identifier: Apache-2.0
// A query for the rows of one type as a statement: its condition, its order (ties by id), limit and offset.

import Hornbeam
import HornbeamKeys

/// A term of an order, in the form by which the server sorts.
struct OrderTerm {
    enum Key {
        case column(Int)
        /// The number of entities that a relation leads to. The statement selects it beside the row's columns.
        case linkCount(String)
    }

    let key: Key
    let isDescending: Bool
    /// Whether different values may be equal for the server.
    let isRounded: Bool
    let sql: SQLText
}

/// A query of one table.
struct RowQuery {
    let named: NamedTable
    /// The tables in the FROM clause.
    private(set) var source: SQLText
    /// The conditions, all of which must hold.
    private var parts: [SQLCondition] = []
    /// The conditions by which candidates are tested.
    private(set) var undecided: [Filter] = []
    private(set) var order: [OrderTerm] = []
    /// The position in a relation's list, if rows are sorted by it.
    private(set) var position: SQLText?
    var limit: Int?
    var offset: Int
    private let isOrdered: Bool
    private let conditions: ConditionSQL

    var table: ModelTable { named.table }

    /// - Parameter isOrdered: whether the order of the rows matters.
    init(_ query: EntityQuery, _ tables: ModelTables, isOrdered: Bool = true) throws {
        let conjuncts = query.filter.conjuncts
        self.isOrdered = isOrdered && !conjuncts.contains(where: \.isOfOneID)
        conditions = ConditionSQL(tables)
        named = conditions.named(try tables.table(query.type))
        source = named.source
        limit = query.limit
        offset = query.offset
        if isOrdered {
            for term in query.sort { order.append(try self.term(term)) }
            if order.isEmpty { try orderByLinks(conjuncts) }
        } else {
            for case .refused(let error) in query.sort.map(\.key) { throw error }
        }
        for part in conjuncts { try add(part) }
    }

    /// Adds a condition.
    mutating func add(_ filter: Filter) throws {
        let part = try conditions.condition(filter, on: named)
        if !part.isExact {
            var links: [LinkDependency] = []
            filter.addLinks(to: &links)
            try links.requireAlong("the condition “\(filter.text(table.description))” on \(table.description.name)")
            undecided.append(filter)
        }
        parts.append(part)
    }

    /// Adds a condition that only the server tests.
    mutating func restrict(_ condition: SQLText) { parts.append(SQLCondition(condition)) }

    var condition: SQLCondition { .all(parts) }

    // MARK: Order

    private func term(_ term: SortTerm) throws -> OrderTerm {
        let direction: SQLText = term.descending ? " DESC" : ""
        switch term.key {
        case .column(let number):
            let (column, sql) = try named.column(number)
            guard column.type.isOrdered else {
                throw HornbeamError(
                    .invalid,
                    "\(table.description.name).\(column.property) has no order to sort by: sort by another property")
            }
            // Only if there may be nils, because indexes have them at the other end.
            let nils: SQLText = !column.isNullable ? "" : term.descending ? " NULLS LAST" : " NULLS FIRST"
            return OrderTerm(
                key: .column(number), isDescending: term.descending, isRounded: column.type == .date && number != 0,
                sql: "\(sql)\(direction)\(nils)")
        case .linkCount(let relation):
            return OrderTerm(
                key: .linkCount(relation), isDescending: term.descending, isRounded: false,
                sql: "\(try conditions.linkCount(relation, of: named))\(direction)")
        case .refused(let error): throw error
        case .score, .derived, .opaque:
            throw HornbeamError(
                .unsupported,
                "the sort “\(term.text(table.description))” of \(table.description.name) can't be made by the mirror: "
                    + "sort by stored properties, or ask the store")
        }
    }

    /// Without a sort, rows are in the order of linking if the first condition of this kind asks for one entity's
    /// relation.
    private mutating func orderByLinks(_ conjuncts: [Filter]) throws {
        let first = conjuncts.first { part in
            switch part {
            case .ids, .related: true
            default: false
            }
        }
        switch first {
        case .ids?:
            throw HornbeamError(
                .unsupported, "the mirror doesn't know the order of a list of ids: sort by a property")
        case .related(let links)?:
            guard let (owners, relation, id) = try conditions.links(of: links), relation.isToMany else { return }
            let (from, to) = (TypeLayout.Relation.source, TypeLayout.Relation.target)
            source = """
                \(source) JOIN \(owners.links(relation)) AS o ON o.\(name: to) = \(named.id) AND o.\(name: from) = \(id)
                """
            position = "o.\(name: TypeLayout.Relation.position)"
        default: break
        }
    }

    /// ORDER BY with its terms, by which no two rows are equal. Empty if the order doesn't matter.
    var orderBy: SQLText {
        if !isOrdered { return "" }
        if let position { return " ORDER BY \(position)" }
        var terms = order.map(\.sql)
        let hasID = order.contains { if case .column(0) = $0.key { true } else { false } }
        if !hasID { terms.append(named.id) }
        return " ORDER BY \(SQLText.joined(terms, by: ", "))"
    }

    /// The numbers of related entities by which rows are sorted, for SELECT.
    var counts: [SQLText] {
        get throws {
            var counts: [SQLText] = []
            for term in order {
                if case .linkCount(let relation) = term.key {
                    counts.append(try conditions.linkCount(relation, of: named))
                }
            }
            return counts
        }
    }

    /// Whether the server's order of rows may differ from the store's, because it compares rounded values.
    var isRounded: Bool { order.contains(where: \.isRounded) }

    // MARK: Statements

    /// LIMIT and OFFSET.
    var window: SQLText {
        let limit: SQLText = limit.map { " LIMIT \(max(0, $0))" } ?? ""
        return offset > 0 ? "\(limit) OFFSET \(offset)" : limit
    }

    func select(_ columns: [SQLText], where condition: SQLText, _ end: SQLText = "") -> SQLText {
        "SELECT \(SQLText.joined(columns, by: ", ")) FROM \(source) WHERE \(condition)\(end)"
    }

    /// Returns the number of results if `count` rows pass the condition.
    func cut(_ count: Int) -> Int {
        if offset < 0 { return 0 }
        return max(0, min(limit ?? .max, count - min(count, offset)))
    }

    /// Number of rows that are needed from the first one on. Nil for all.
    var needed: Int? {
        limit.map { limit in
            let (sum, isLarge) = max(0, limit).addingReportingOverflow(max(0, offset))
            return isLarge ? .max : sum
        }
    }
}

extension Filter {
    /// Whether at most one entity passes, because the condition is equality with an id.
    fileprivate var isOfOneID: Bool { if case .compare(0, .equal, _) = self { true } else { false } }
}

extension [LinkDependency] {
    /// Throws `.unsupported` if anything is read other than along relations of the rows.
    /// - Parameter reader: a description of the reading part, for the message.
    func requireAlong(_ reader: @autoclosure () -> String) throws(HornbeamError) {
        for dependency in self {
            guard case .along(_, let target) = dependency else {
                throw HornbeamError(
                    .unsupported,
                    "\(reader()) can't be tested in the mirror, because it also reads the entities that one entity's "
                        + "relation leads to: ask for these by a query of their own")
            }
            try target.links.requireAlong(reader())
        }
    }
}
