// SPDX-License-Identifier: Apache-2.0
// Conditions of the store as conditions of the server. Their meaning is the meaning of `Filter`: a condition is true or
// false for each row, also for nil. So each condition has a separate form for its opposite, and none depends on NULL.
//
// Columns of dates hold microseconds, columns of texts hold composed forms, and Swift compares parts of texts by
// characters. If this leaves a row undecided, it is a candidate: see `SQLCondition`.

import Hornbeam

/// Makes the conditions of one statement.
final class ConditionSQL {
    private let tables: ModelTables
    private var aliases = 0

    init(_ tables: ModelTables) { self.tables = tables }

    /// Returns a table under a name that the statement doesn't have yet.
    func named(_ table: ModelTable) -> NamedTable {
        aliases += 1
        return NamedTable(table: table, alias: "t\(aliases)")
    }

    /// Returns the condition on the rows of a table, or its opposite. Throws `.unsupported` if the server can't test
    /// it.
    func condition(_ filter: Filter, on named: NamedTable, negated: Bool = false) throws -> SQLCondition {
        switch filter {
        case .and(let parts): return try joined(Filter.listingExclusions(parts), named, negated, isAll: !negated)
        case .or(let parts):
            // Alternative values of one column become one parameter.
            let listed = Filter.any(of: parts)
            guard case .or(let parts) = listed else { return try condition(listed, on: named, negated: negated) }
            return try joined(parts, named, negated, isAll: negated)
        case .not(let part): return try condition(part, on: named, negated: !negated)
        case .links(let test): return try condition(test, named, negated)
        default: return try one(filter, named, negated)
        }
    }

    private func joined(_ parts: [Filter], _ named: NamedTable, _ negated: Bool, isAll: Bool) throws -> SQLCondition {
        var conditions: [SQLCondition] = []
        for part in parts { conditions.append(try condition(part, on: named, negated: negated)) }
        return isAll ? .all(conditions) : .any(conditions)
    }

    private func one(_ filter: Filter, _ named: NamedTable, _ negated: Bool) throws -> SQLCondition {
        switch filter {
        case .all: return .constant(!negated)
        case .none: return .constant(negated)
        case .refused(let error): throw error
        case .compare(let number, let comparison, let value):
            return try ColumnCondition(number, named).compare(comparison, value, negated)
        case .isNull(let number): return try ColumnCondition(number, named).isNull(negated)
        case .within(let number, let values): return try ColumnCondition(number, named).within(values, negated)
        case .ids(let values): return try ColumnCondition(0, named).within(values, negated)
        case .elements(let test):
            return try ColumnCondition(test.column, named).elements(test.values, wantsAll: test.wantsAll, negated)
        case .string(let test):
            var parts: [SQLCondition] = []
            for number in test.columns {
                parts.append(try ColumnCondition(number, named).string(test, negated != test.isNegated))
            }
            return negated != test.isNegated ? .all(parts) : .any(parts)
        case .linkCount(let relation, let comparison, let count):
            let number = try linkCount(relation, of: named)
            let condition: SQLText = "\(number) \(comparison.sql) \(String(count), as: "bigint")"
            return SQLCondition(condition).negated(negated)
        case .related(let source): return try condition(source, named).negated(negated)
        case .anyElement(let test):
            guard let condition = try anyElement(test, named) else { throw unsupported(filter, named) }
            return condition.negated(negated)
        case .text, .matches, .opaque, .computed, .links, .and, .or, .not: throw unsupported(filter, named)
        }
    }

    private func unsupported(_ filter: Filter, _ named: NamedTable) -> HornbeamError {
        let reason =
            switch filter {
            case .matches: "the mirror has no such search: ask the store, or query the server's own full-text indexes"
            case .text: "the server has no such test of texts: ask the store"
            default: "only the program's code knows it: compare stored properties with values, or ask the store"
            }
        return HornbeamError(
            .unsupported,
            "the condition “\(filter.text(named.table.description))” on \(named.table.description.name) can't be "
                + "tested by the mirror: \(reason)")
    }

    // MARK: Relations

    private func condition(_ test: LinkTest, _ named: NamedTable, _ negated: Bool) throws -> SQLCondition {
        let (target, source) = try targets(test.relation, of: named)
        let isOfAll = test.quantifier == .all
        let inner = try condition(test.filter, on: target, negated: isOfAll)
        func exists(_ condition: SQLText) -> SQLText { "EXISTS (SELECT 1 FROM \(source) AND \(condition))" }
        let found = SQLCondition(may: exists(inner.may), must: inner.must.map(exists))
        // All quantifiers except `any` mean that there is no such entity.
        return found.negated(negated != (test.quantifier != .any))
    }

    /// Returns the stored entities that a relation leads to: their table, and the text of FROM and WHERE.
    private func targets(_ name: String, of named: NamedTable) throws -> (target: NamedTable, source: SQLText) {
        let relation = try named.table.relation(name)
        let target = self.named(try tables.table(relation.target))
        guard relation.isToMany else {
            return (target, "\(target.source) WHERE \(target.id) = \(named.place(relation.place))")
        }
        aliases += 1
        let links = SQLText.trusted("l\(aliases)")
        let (from, to) = (TypeLayout.Relation.source, TypeLayout.Relation.target)
        return (
            target,
            """
            \(named.table.links(relation)) AS \(links) JOIN \(target.source) ON \(target.id) = \(links).\(name: to) \
            WHERE \(links).\(name: from) = \(named.id)
            """
        )
    }

    /// Returns the number of stored entities that a relation leads to.
    func linkCount(_ relation: String, of named: NamedTable) throws -> SQLText {
        "(SELECT count(*) FROM \(try targets(relation, of: named).source))"
    }

    /// Returns the table, the relation and the id, as a parameter, of an entity whose links are searched. Returns nil
    /// if no entity has the id.
    func links(of source: RelationSource) throws -> (table: ModelTable, relation: TypeLayout.Relation, id: SQLText)? {
        let table = try tables.table(source.type)
        let relation = try table.relation(source.relation)
        guard let id = source.source.converted(to: table.id.type), id != .null else { return nil }
        return (table, relation, table.id.form.parameter(id))
    }

    private func condition(_ source: RelationSource, _ named: NamedTable) throws -> SQLCondition {
        guard let (table, relation, id) = try links(of: source) else { return .constant(false) }
        guard relation.isToMany else {
            let owner = self.named(table)
            return SQLCondition(
                """
                EXISTS (SELECT 1 FROM \(owner.source) WHERE \(owner.id) = \(id) \
                AND \(owner.place(relation.place)) = \(named.id))
                """)
        }
        aliases += 1
        let links = SQLText.trusted("l\(aliases)")
        let (from, to) = (TypeLayout.Relation.source, TypeLayout.Relation.target)
        return SQLCondition(
            """
            EXISTS (SELECT 1 FROM \(table.links(relation)) AS \(links) WHERE \(links).\(name: from) = \(id) \
            AND \(links).\(name: to) = \(named.id))
            """)
    }

    // MARK: Elements of arrays

    /// Returns the condition that an element passes, or nil if it isn't a condition on the elements themselves.
    private func anyElement(_ test: AnyElementTest, _ named: NamedTable) throws -> SQLCondition? {
        guard test.isComplete, !test.terms.isEmpty, test.steps.count == 1, let property = test.steps[0].name,
            let number = named.table.description.column(property),
            case .array(let element) = named.table.columns[number].type
        else { return nil }
        let (column, array) = try named.column(number)
        guard column.form.isList else { return nil }
        aliases += 1
        let alias = "e\(aliases)"
        let elements = ElementColumn(alias, element, isExact: named.isExact)
        var parts: [SQLCondition] = []
        for term in test.terms {
            guard term.subject == nil else { return nil }
            switch term.test {
            case .compare(let comparison, let value):
                parts.append(try elements.condition(named).compare(comparison, value, false))
            case .within(let values): parts.append(try elements.condition(named).within(values, false))
            }
        }
        let condition = SQLCondition.all(parts)
        func exists(_ condition: SQLText) -> SQLText {
            "EXISTS (SELECT 1 FROM unnest(\(array)) AS \(SQLText.trusted(alias))(value) WHERE \(condition))"
        }
        return SQLCondition(may: exists(condition.may), must: condition.must.map(exists))
    }
}

/// The elements of an array as a column.
private struct ElementColumn {
    let alias: String
    let type: ColumnType
    let isExact: SQLText

    init(_ alias: String, _ type: ColumnType, isExact: SQLText) {
        (self.alias, self.type, self.isExact) = (alias, type, isExact)
    }

    func condition(_ named: NamedTable) -> ColumnCondition {
        let column = ModelTable.Column("element", type.unwrapped, isNullable: type.isOptional, ColumnForm(type), nil)
        return ColumnCondition(
            column, SQLText.trusted("\(alias).value"), isID: false, isExact: isExact, of: named.table.description.name)
    }
}

extension Comparison {
    /// The operator in SQL.
    var sql: SQLText {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}
