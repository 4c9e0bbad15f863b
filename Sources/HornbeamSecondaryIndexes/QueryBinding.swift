// SPDX-License-Identifier: Apache-2.0
// A query as text, bound to the columns of an index and to values. Three-valued logic, as in SQL, becomes two filters
// for each condition: one for the rows for which it is true, and one for the rows for which it is false. If a column is
// nil, a comparison is neither true nor false.
//
// The grammar is that of statements, but binding differs. A statement takes any expression, and tests conditions that
// no index answers row by row; a comparison of values of different types is false. A query of a secondary index is
// answered from its columns alone, whose types are declared, so both are errors here, with the position in the text.

extension SecondaryIndex {
    /// Makes a query from text: `try idx.query("WHERE department = ? ORDER BY salary DESC", "marketing")`. Throws
    /// `.invalid`, with the position, if the text isn't a query that the index can answer.
    /// - Parameters:
    ///   - text: the clauses that follow FROM in a statement, except HAVING.
    ///   - arguments: the value of each `?`. An array is the list of `IN (?)`.
    public func query(_ text: String, _ arguments: any ColumnValue...) throws -> SecondaryQuery<Entity> {
        try query(try IndexQuery(text), arguments)
    }

    /// Makes a query from a prepared text. Throws `.invalid`, with the position, if the index can't answer it.
    public func query(_ prepared: IndexQuery, _ arguments: any ColumnValue...) throws -> SecondaryQuery<Entity> {
        try query(prepared, arguments)
    }

    public func query(_ prepared: IndexQuery, _ arguments: [any ColumnValue]) throws -> SecondaryQuery<Entity> {
        let binding = try QueryBinding(prepared, arguments, table)
        let clauses = prepared.clauses
        if let having = clauses.having {
            throw binding.failure("a secondary index has no HAVING: filter the groups that it returns", at: having)
        }
        var query = query()
        if let condition = clauses.condition { query.filters = [try binding.filters(condition).isTrue] }
        query.groups = try clauses.groups.map { table.columns[try binding.column($0)].name }
        query.order = try clauses.order.map { try binding.order($0) }
        query.limit = try clauses.limit.map { try binding.number($0, "limit") }
        query.offset = try clauses.offset.map { try binding.number($0, "offset") } ?? 0
        return query
    }

    /// Returns an aggregate, given as text, of the rows that a query in text form selects: `try
    /// idx.aggregate("SUM(salary)", "WHERE department = ?", "marketing", in: context)`.
    public func aggregate(
        _ function: String, _ text: String = "", _ arguments: any ColumnValue..., in context: Context
    ) throws -> Value {
        let aggregate = try IndexAggregate(function)
        return try query(try IndexQuery(text), arguments).aggregate(aggregate, in: context)[0]
    }
}

extension SecondaryQuery {
    /// Returns the aggregate in a text, such as `SUM(salary)`, of each group of a query with `GROUP BY`.
    public func groups(_ function: String, in context: Context) throws -> [IndexGroup] {
        try groups(by: groups, [try IndexAggregate(function)], in: context)
    }
}

/// A prepared query with its values, for one table.
struct QueryBinding {
    /// The rows for which a condition is true, and those for which it is false.
    typealias Filters = (isTrue: Filter, isFalse: Filter)

    private let text: String
    private let arguments: [Value]
    private let table: SecondaryTable

    init(_ query: IndexQuery, _ arguments: [any ColumnValue], _ table: SecondaryTable) throws(HornbeamError) {
        text = query.text
        self.table = table
        self.arguments = arguments.map(\.columnValue)
        guard arguments.count == query.parameterCount else {
            throw HornbeamError(
                .invalid, "a query takes \(query.parameterCount) values, \(arguments.count) are given: \(query.text)")
        }
    }

    // MARK: Errors

    func failure(_ what: String, at expression: Expression) -> HornbeamError {
        StatementFailure.error(what, in: text, at: expression.place)
    }

    /// Adds the position to errors of the table.
    private func placed<Result>(
        at expression: Expression, _ body: () throws(HornbeamError) -> Result
    ) throws(HornbeamError) -> Result {
        do throws(HornbeamError) {
            return try body()
        } catch {
            throw failure(error.message, at: expression)
        }
    }

    // MARK: Columns and values

    func column(_ expression: Expression) throws(HornbeamError) -> Int {
        guard case .path(let path) = expression, path.steps.count == 1 else {
            throw failure(
                "a query of a secondary index uses only its columns: expected the name of one", at: expression)
        }
        return try placed(at: expression) { () throws(HornbeamError) in try table.column(path.head) }
    }

    func order(_ term: Ordering) throws(HornbeamError) -> IndexOrder {
        let column = try column(term.value)
        if let nulls = term.nulls, (nulls == .first) == term.isDescending {
            throw failure("a secondary index has nulls first, and last with DESC", at: term.value)
        }
        return IndexOrder(column: table.columns[column].name, isDescending: term.isDescending)
    }

    func number(_ expression: Expression, _ what: String) throws(HornbeamError) -> Int {
        let value = try value(expression)
        guard case .int(let number)? = value.converted(to: .int64), number >= 0 else {
            throw failure(
                "the \(what) of a query is \(value.text.shown()): it must be a number from 0 up", at: expression)
        }
        return Int(number)
    }

    private func value(_ expression: Expression) throws(HornbeamError) -> Value {
        switch expression {
        case .literal(let value, _): return value
        case .parameter(let parameter):
            guard case .position(let position) = parameter.name, arguments.indices.contains(position - 1) else {
                throw failure("the parameter has no value", at: expression)
            }
            return arguments[position - 1]
        default:
            throw failure(
                "a secondary index compares its columns with values: expected ?, a number or a string", at: expression)
        }
    }

    /// Returns the value of an expression that must not be a list.
    private func single(_ expression: Expression) throws(HornbeamError) -> Value {
        let value = try value(expression)
        if case .array = value {
            throw failure("a list of values is only for IN (?): \(value.text.shown())", at: expression)
        }
        return value
    }

    // MARK: Conditions

    func filters(_ condition: Expression) throws(HornbeamError) -> Filters {
        switch condition {
        case .literal(.bool(let isTrue), _): return isTrue ? (.all, .none) : (.none, .all)
        case .literal(.null, _): return (.none, .none)
        case .unary(.not, let part, _):
            let (isTrue, isFalse) = try filters(part)
            return (isFalse, isTrue)
        case .binary(.and, let left, let right, _): return Self.both(try filters(left), try filters(right))
        case .binary(.or, let left, let right, _):
            let (one, other) = (try filters(left), try filters(right))
            return (one.isTrue.or(other.isTrue), one.isFalse.and(other.isFalse))
        case .binary(let sign, let left, let right, _):
            guard let comparison = Comparison(sign) else { break }
            if case .path = right {
                if case .path = left { throw failure("a secondary index compares no columns with others", at: right) }
                return try compare(right, comparison.mirrored, left)
            }
            return try compare(left, comparison, right)
        case .between(let column, let low, let high):
            return Self.both(
                try compare(column, .greaterOrEqual, low), try compare(column, .lessOrEqual, high))
        case .within(let column, let list), .withinArray(let column, .array(let list, _)): return try isIn(column, list)
        case .withinArray(let column, let list):
            guard case .array = try value(list) else { throw failure("expected a list of values after IN", at: list) }
            return try isIn(column, [list])
        case .like(let column, let pattern, nil): return try like(column, pattern)
        case .test(let column, let test): return tested(try self.column(column), test)
        case .path: return try flag(condition)
        default: break
        }
        throw failure("a secondary index has conditions on its columns alone, and can't answer this", at: condition)
    }

    private static func both(_ one: Filters, _ other: Filters) -> Filters {
        (one.isTrue.and(other.isTrue), one.isFalse.or(other.isFalse))
    }

    private func compare(
        _ expression: Expression, _ comparison: Comparison, _ operand: Expression
    ) throws(HornbeamError) -> Filters {
        let (column, value) = (try column(expression), try single(operand))
        // A comparison with null is neither true nor false.
        if value == .null { return (.none, .none) }
        return try placed(at: expression) { () throws(HornbeamError) in
            (try known(column, comparison, value), try known(column, comparison.opposite, value))
        }
    }

    /// Returns a comparison that is true only for rows with a value.
    private func known(_ column: Int, _ comparison: Comparison, _ value: Value) throws(HornbeamError) -> Filter {
        let filter = try table.comparison(column, comparison, value)
        return comparison == .notEqual ? filter.and(.not(.isNull(column: column))) : filter
    }

    /// Returns the filters of a condition on a column. It is neither true nor false for rows without a value.
    private func among(_ column: Int, _ isTrue: Filter) -> Filters {
        (isTrue, Filter.not(isTrue).and(.not(.isNull(column: column))))
    }

    /// Returns the filters of IN. If the list contains null, the condition is false for no row.
    private func isIn(_ expression: Expression, _ operands: [Expression]) throws(HornbeamError) -> Filters {
        let column = try column(expression)
        var values: [Value] = []
        for operand in operands {
            switch try value(operand) {
            case .array(let list) where operands.count == 1:
                for case .array in list {
                    throw failure("a list of values for IN (?) has a list in it", at: operand)
                }
                values += list
            default: values.append(try single(operand))
            }
        }
        // An empty list contains nothing, not even an unknown value.
        if values.isEmpty { return (.none, .all) }
        let known = try placed(at: expression) { () throws(HornbeamError) in
            try table.within(column, values.filter { $0 != .null })
        }
        let (isTrue, isFalse) = among(column, known)
        return (isTrue, values.contains(.null) ? .none : isFalse)
    }

    /// Returns the filters of LIKE. The pattern may have `%` only at its ends: it tests a prefix, a suffix or a part of
    /// a text.
    private func like(_ expression: Expression, _ operand: Expression) throws(HornbeamError) -> Filters {
        let column = try column(expression)
        let value = try single(operand)
        if value == .null { return (.none, .none) }
        guard case .string(let pattern) = value else {
            throw failure("a pattern of LIKE is a string, not \(value.text.shown())", at: expression)
        }
        let isOpenStart = pattern.hasPrefix("%")
        let isOpenEnd = pattern.count > 1 && pattern.hasSuffix("%")
        let part = String(pattern.dropFirst(isOpenStart ? 1 : 0).dropLast(isOpenEnd ? 1 : 0))
        guard !part.contains("%"), !part.contains("_") else {
            throw failure(
                "a secondary index takes patterns with % only at their ends: \(value.text.shown())", at: expression)
        }
        let name = table.columns[column].name
        return try placed(at: expression) { () throws(HornbeamError) in
            // Columns of other types than text are an error, even if the pattern matches any text.
            let kind: StringTest.Kind = isOpenStart ? isOpenEnd ? .contains : .hasSuffix : .hasPrefix
            let test = Filter.string(try table.test(kind, name, part))
            if part.isEmpty, isOpenStart || isOpenEnd { return (.not(.isNull(column: column)), .none) }
            return among(column, isOpenStart || isOpenEnd ? test : try table.comparison(column, .equal, .string(part)))
        }
    }

    /// Returns the filters of a test for null. A column is never missing.
    private func tested(_ column: Int, _ test: StateTest) -> Filters {
        let isNull = Filter.isNull(column: column)
        return switch test {
        case .null: (isNull, .not(isNull))
        case .valued: (.not(isNull), isNull)
        case .missing: (.none, .all)
        }
    }

    /// Returns the filters of a column that is a condition by itself.
    private func flag(_ expression: Expression) throws(HornbeamError) -> Filters {
        let column = try column(expression)
        let type = table.columns[column].type.unwrapped
        guard type == .bool else {
            throw failure(
                "column “\(table.columns[column].name)” has values of type \(type), which are no condition",
                at: expression)
        }
        return among(column, .compare(column: column, .equal, .bool(true)))
    }
}
