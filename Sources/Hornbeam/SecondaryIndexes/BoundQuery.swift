// SPDX-License-Identifier: Apache-2.0
// A query as text, bound to the columns of an index and to values. Three-valued logic, as SQL has it, becomes two
// filters for each condition: of the rows for which it is true, and of those for which it is false. Where a column is
// nil, a comparison is in neither.

extension SecondaryIndex {
    /// A query as text: `try idx.query("WHERE department = ? AND salary > ? ORDER BY salary DESC", "marketing", 50_000)`.
    /// - Parameter arguments: for each `?` its value; an array is for `IN (?)`.
    public func query(_ text: String, _ arguments: any ColumnValue...) throws -> SecondaryQuery<Entity> {
        try query(try IndexQuery(text), arguments)
    }

    /// The same of one that was prepared.
    public func query(_ prepared: IndexQuery, _ arguments: any ColumnValue...) throws -> SecondaryQuery<Entity> {
        try query(prepared, arguments)
    }

    public func query(_ prepared: IndexQuery, _ arguments: [any ColumnValue]) throws -> SecondaryQuery<Entity> {
        let bound = try QueryBinding(prepared, arguments, table)
        var query = query()
        if let condition = prepared.condition { query.filters = [try bound.filters(condition).isTrue] }
        query.order = prepared.order
        query.groups = prepared.groups
        for name in prepared.groups + prepared.order.map(\.column) { _ = try table.column(name) }
        query.limit = try prepared.limit.map { try bound.number($0, "limit") }
        query.offset = try prepared.offset.map { try bound.number($0, "offset") } ?? 0
        return query
    }

    /// An aggregate as text, of the rows that a query as text selects:
    /// `try idx.aggregate("SUM(salary)", "WHERE department = ?", "marketing", in: context)`.
    public func aggregate(
        _ function: String, _ text: String = "", _ arguments: any ColumnValue..., in context: Context
    ) throws -> Value {
        let aggregate = try IndexAggregate(function)
        return try query(try IndexQuery(text), arguments).aggregate(aggregate, in: context)[0]
    }
}

extension SecondaryQuery {
    /// An aggregate as text, such as `SUM(salary)`, of each group of a query with `GROUP BY`.
    public func groups(_ function: String, in context: Context) throws -> [IndexGroup] {
        try groups(by: groups, [try IndexAggregate(function)], in: context)
    }
}

/// A prepared query with its values, for one table.
struct QueryBinding {
    private let arguments: [Value]
    private let table: SecondaryTable

    init(_ query: IndexQuery, _ arguments: [any ColumnValue], _ table: SecondaryTable) throws(HornbeamError) {
        self.table = table
        self.arguments = arguments.map(\.columnValue)
        guard arguments.count == query.parameterCount else {
            throw HornbeamError(
                .invalid, "a query takes \(query.parameterCount) values, \(arguments.count) are given: \(query.text)")
        }
    }

    private func value(_ operand: IndexQuery.Operand) -> Value {
        switch operand {
        case .literal(let value): value
        case .parameter(let place): arguments[place]
        }
    }

    /// Not a list.
    private func single(_ operand: IndexQuery.Operand) throws(HornbeamError) -> Value {
        let value = value(operand)
        if case .array = value {
            throw HornbeamError(.invalid, "a list of values is for IN (?) alone: \(value.text)")
        }
        return value
    }

    func number(_ operand: IndexQuery.Operand, _ what: String) throws(HornbeamError) -> Int {
        let value = value(operand)
        guard case .int(let number)? = value.converted(to: .int64), number >= 0 else {
            throw HornbeamError(.invalid, "the \(what) of a query is \(value.text): it must be a number from 0 up")
        }
        return Int(number)
    }

    /// The rows for which a condition is true, and those for which it is false.
    func filters(_ condition: IndexQuery.Condition) throws(HornbeamError) -> (isTrue: Filter, isFalse: Filter) {
        switch condition {
        case .isNull(let name):
            let isNull = Filter.isNull(column: try table.column(name))
            return (isNull, .not(isNull))
        case .not(let part):
            let (isTrue, isFalse) = try filters(part)
            return (isFalse, isTrue)
        case .and(let parts):
            let (isTrue, isFalse) = try filters(parts)
            return (Filter.conjunction(isTrue), .or(isFalse))
        case .or(let parts):
            let (isTrue, isFalse) = try filters(parts)
            return (.or(isTrue), Filter.conjunction(isFalse))
        case .compare(let name, let comparison, let operand):
            return try compare(try table.column(name), comparison.filter, try single(operand))
        case .between(let name, let low, let high):
            return try filters(.and([.compare(name, .greaterOrEqual, low), .compare(name, .lessOrEqual, high)]))
        case .isIn(let name, let operands): return try isIn(try table.column(name), operands)
        }
    }

    private func filters(
        _ conditions: [IndexQuery.Condition]
    ) throws(HornbeamError) -> (isTrue: [Filter], isFalse: [Filter]) {
        var (isTrue, isFalse): ([Filter], [Filter]) = ([], [])
        for condition in conditions {
            let both = try filters(condition)
            isTrue.append(both.isTrue)
            isFalse.append(both.isFalse)
        }
        return (isTrue, isFalse)
    }

    private func compare(
        _ column: Int, _ comparison: Comparison, _ value: Value
    ) throws(HornbeamError) -> (isTrue: Filter, isFalse: Filter) {
        // Neither true nor false of anything.
        if value == .null { return (.none, .none) }
        return (
            try known(column, comparison, value), try known(column, comparison.opposite, value)
        )
    }

    /// A comparison of those that have a value.
    private func known(_ column: Int, _ comparison: Comparison, _ value: Value) throws(HornbeamError) -> Filter {
        let filter = try table.comparison(column, comparison, value)
        return comparison == .notEqual ? filter.and(.not(.isNull(column: column))) : filter
    }

    /// A list with nil in it is of no row known not to have a value.
    private func isIn(
        _ column: Int, _ operands: [IndexQuery.Operand]
    ) throws(HornbeamError) -> (isTrue: Filter, isFalse: Filter) {
        var values: [Value] = []
        for operand in operands {
            switch value(operand) {
            case .array(let list) where operands.count == 1:
                for case .array in list {
                    throw HornbeamError(.invalid, "a list of values for IN (?) has a list in it")
                }
                values += list
            default: values.append(try single(operand))
            }
        }
        // Of an empty list nothing is, whatever it is.
        if values.isEmpty { return (.none, .all) }
        let known = try table.within(column, values.filter { $0 != .null })
        let isOther = Filter.not(known).and(.not(.isNull(column: column)))
        return (known, values.contains(.null) ? .none : isOther)
    }
}

extension Comparison {
    fileprivate var opposite: Comparison {
        switch self {
        case .equal: .notEqual
        case .notEqual: .equal
        case .less: .greaterOrEqual
        case .lessOrEqual: .greater
        case .greater: .lessOrEqual
        case .greaterOrEqual: .less
        }
    }
}
