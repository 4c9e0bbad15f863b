// SPDX-License-Identifier: Apache-2.0
// Queries of a secondary index as text, as they stand behind a SELECT. Parsed once, without an index; bound to the
// columns of one, and to values, when it is asked.
//
//     query      = [ "WHERE" or ] [ "GROUP" "BY" names ] [ "ORDER" "BY" term { "," term } ]
//                  [ "LIMIT" value [ "OFFSET" value ] ]
//     or         = and { "OR" and }
//     and        = not { "AND" not }
//     not        = "NOT" not | "(" or ")" | test
//     test       = name ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
//                | name "IS" [ "NOT" ] "NULL"
//                | name [ "NOT" ] "IN" "(" [ value { "," value } ] ")"
//                | name [ "NOT" ] "BETWEEN" value "AND" value
//     names      = name { "," name }
//     term       = name [ "ASC" | "DESC" ]
//     value      = "?" | number | string | "NULL" | "TRUE" | "FALSE"
//
// Words of the language may be written small; names are as the columns are called, or in double quotes.

/// A query as text, prepared: `try IndexQuery("WHERE department = ? ORDER BY salary DESC")`. It may be kept, and used
/// with any values, indexes and states; how it is answered is decided anew each time.
public struct IndexQuery: Sendable {
    /// A comparison with nil is neither true nor false, as in SQL, and so is its opposite.
    indirect enum Condition: Sendable {
        case compare(String, ColumnCondition.ColumnComparison, Operand)
        case isNull(String)
        case isIn(String, [Operand])
        case between(String, Operand, Operand)
        case and([Condition])
        case or([Condition])
        case not(Condition)
    }

    enum Operand: Sendable {
        case literal(Value)
        /// Counted from 0.
        case parameter(Int)
    }

    public let text: String
    let condition: Condition?
    let groups: [String]
    let order: [IndexOrder]
    let limit: Operand?
    let offset: Operand?
    /// How many values it takes.
    public let parameterCount: Int

    /// `.invalid`, with the place, if the text is none.
    public init(_ text: String) throws(HornbeamError) {
        var parser = try IndexQueryParser(text)
        self.text = text
        condition = try parser.condition()
        groups = try parser.groups()
        order = try parser.order()
        (limit, offset) = try parser.part()
        try parser.end()
        parameterCount = parser.parameters
    }
}

extension IndexAggregate {
    /// `COUNT(*)`, `COUNT(x)`, `COUNT(DISTINCT x)`, `SUM(x)`, `AVG(x)`, `MIN(x)`, `MAX(x)`, `GROUP_CONCAT(x)` and
    /// `GROUP_CONCAT(x, 'separator')`, small or in capitals.
    public init(_ text: String) throws(HornbeamError) {
        var tokens = try TextTokens(text, .clauses)
        let known = "expected COUNT, SUM, AVG, MIN, MAX or GROUP_CONCAT"
        guard case .name(let name) = tokens.next() else { throw tokens.failure(known, 0) }
        guard tokens.take(.sign("(")) else { throw tokens.failure("expected (") }
        let isDistinct = tokens.take(word: "DISTINCT")
        let at = tokens.position
        if name.uppercased() == "COUNT", tokens.take(.sign("*")) {
            guard tokens.take(.sign(")")), tokens.peek == .end else { throw tokens.failure("expected ) and the end") }
            self = .count
            return
        }
        guard case .name(let column) = tokens.next() else { throw tokens.failure("expected the name of a column", at) }
        var separator: String?
        if tokens.take(.sign(",")) {
            guard case .string(let text) = tokens.next() else { throw tokens.failure("expected a string in quotes") }
            separator = text
        }
        guard tokens.take(.sign(")")), tokens.peek == .end else { throw tokens.failure("expected ) and the end") }
        switch (name.uppercased(), isDistinct, separator) {
        case ("COUNT", false, nil): self = .countOf(column)
        case ("COUNT", true, nil): self = .countDistinct(column)
        case ("SUM", false, nil): self = .sum(column)
        case ("AVG", false, nil): self = .average(column)
        case ("MIN", false, nil): self = .min(column)
        case ("MAX", false, nil): self = .max(column)
        case ("GROUP_CONCAT", false, let separator): self = .joined(column, separator: separator ?? ",")
        default: throw tokens.failure(known, 0)
        }
    }
}

/// Reads the clauses, in their order.
private struct IndexQueryParser {
    private var tokens: TextTokens
    private(set) var parameters = 0

    init(_ text: String) throws(HornbeamError) { tokens = try TextTokens(text, .clauses) }

    mutating func condition() throws(HornbeamError) -> IndexQuery.Condition? {
        tokens.take(word: "WHERE") ? try or(0) : nil
    }

    mutating func groups() throws(HornbeamError) -> [String] {
        guard tokens.take(word: "GROUP") else { return [] }
        try expect("BY")
        var names = [try name()]
        while tokens.take(.sign(",")) { names.append(try name()) }
        return names
    }

    mutating func order() throws(HornbeamError) -> [IndexOrder] {
        guard tokens.take(word: "ORDER") else { return [] }
        try expect("BY")
        var terms: [IndexOrder] = []
        repeat {
            let column = try name()
            let isDescending = tokens.take(word: "DESC")
            if !isDescending { _ = tokens.take(word: "ASC") }
            terms.append(IndexOrder(column: column, isDescending: isDescending))
        } while tokens.take(.sign(","))
        return terms
    }

    mutating func part() throws(HornbeamError) -> (IndexQuery.Operand?, IndexQuery.Operand?) {
        guard tokens.take(word: "LIMIT") else { return (nil, nil) }
        let limit = try operand()
        return (limit, tokens.take(word: "OFFSET") ? try operand() : nil)
    }

    func end() throws(HornbeamError) {
        guard tokens.peek == .end else {
            throw tokens.failure("expected WHERE, GROUP BY, ORDER BY, LIMIT, in this order, or the end")
        }
    }

    private mutating func expect(_ word: String) throws(HornbeamError) {
        guard tokens.take(word: word) else { throw tokens.failure("expected \(word)") }
    }

    private mutating func name() throws(HornbeamError) -> String {
        guard case .name(let name) = tokens.peek else { throw tokens.failure("expected the name of a column") }
        _ = tokens.next()
        return name
    }

    // MARK: Conditions

    private mutating func or(_ depth: Int) throws(HornbeamError) -> IndexQuery.Condition {
        var parts = [try and(depth)]
        while tokens.take(word: "OR") { parts.append(try and(depth)) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func and(_ depth: Int) throws(HornbeamError) -> IndexQuery.Condition {
        var parts = [try not(depth)]
        while tokens.take(word: "AND") { parts.append(try not(depth)) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func not(_ depth: Int) throws(HornbeamError) -> IndexQuery.Condition {
        guard depth < 100 else { throw tokens.failure("more than 100 levels of nesting") }
        if tokens.take(word: "NOT") { return .not(try not(depth + 1)) }
        if tokens.take(.sign("(")) {
            let inner = try or(depth + 1)
            guard tokens.take(.sign(")")) else { throw tokens.failure("expected )") }
            return inner
        }
        return try test()
    }

    private static let comparisons: [String: ColumnCondition.ColumnComparison] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, ">": .greater,
        ">=": .greaterOrEqual,
    ]

    private mutating func test() throws(HornbeamError) -> IndexQuery.Condition {
        let column = try name()
        if case .sign(let sign) = tokens.peek, let comparison = Self.comparisons[sign] {
            _ = tokens.next()
            return .compare(column, comparison, try operand())
        }
        if tokens.take(word: "IS") {
            let isNot = tokens.take(word: "NOT")
            try expect("NULL")
            return isNot ? .not(.isNull(column)) : .isNull(column)
        }
        let isNot = tokens.take(word: "NOT")
        let test: IndexQuery.Condition
        if tokens.take(word: "IN") {
            test = .isIn(column, try list())
        } else if tokens.take(word: "BETWEEN") {
            let low = try operand()
            try expect("AND")
            test = .between(column, low, try operand())
        } else {
            throw tokens.failure("expected =, !=, <, <=, >, >=, IS, IN or BETWEEN")
        }
        return isNot ? .not(test) : test
    }

    private mutating func list() throws(HornbeamError) -> [IndexQuery.Operand] {
        guard tokens.take(.sign("(")) else { throw tokens.failure("expected (") }
        var values: [IndexQuery.Operand] = []
        while !tokens.take(.sign(")")) {
            if !values.isEmpty, !tokens.take(.sign(",")) { throw tokens.failure("expected , or )") }
            values.append(try operand())
        }
        return values
    }

    private mutating func operand() throws(HornbeamError) -> IndexQuery.Operand {
        let at = tokens.position
        switch tokens.next() {
        case .sign("?"):
            parameters += 1
            return .parameter(parameters - 1)
        case .string(let text): return .literal(.string(text))
        case .number(let text):
            if let number = Int64(text) { return .literal(.int(number)) }
            if let number = UInt64(text) { return .literal(.uint(number)) }
            guard let number = Double(text), number.isFinite else { throw tokens.failure("not a number", at) }
            return .literal(.double(number))
        case .name(let word) where word.uppercased() == "NULL": return .literal(.null)
        case .name(let word) where word.uppercased() == "TRUE": return .literal(.bool(true))
        case .name(let word) where word.uppercased() == "FALSE": return .literal(.bool(false))
        default: throw tokens.failure("expected a value: ?, a number or a string in single quotes", at)
        }
    }
}
