// SPDX-License-Identifier: Apache-2.0
// Entry points of the grammar: whole statements, the clauses after FROM alone, and a single expression.

package enum QueryLanguage {
    /// All keywords, in upper case, for completing what a person types.
    package static let keywords: [String] = StatementParser.reserved.union([
        "ANALYZE", "ASC", "COLLATE", "DELETE", "DESC", "ESCAPE", "EXISTS", "FIRST", "FOR", "INSERT", "INTO", "LAST",
        "LIKE", "NULLS", "RETURNING", "SET", "UNION", "UPDATE", "UPSERT", "VALUE", "VALUED", "VALUES", "WITH",
    ]).sorted()

    /// The names of all functions, in upper case.
    package static let functions: [String] =
        (ScalarFunction.all.keys.map { $0.uppercased() }
        + BoundAggregate.Function.allCases.map { $0.rawValue.uppercased() } + [
            "MATCH", "META", "NOW", "RANK", "SNIPPET",
        ])
        .sorted()

    /// `[EXPLAIN] SELECT … FROM …`, or a statement that changes data.
    static func statement(_ text: String) throws(HornbeamError) -> StatementTree {
        var parser = try StatementParser(text)
        return try parser.wholeStatement()
    }

    /// Reads `[WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]`, all of them optional.
    package static func clauses(_ text: String) throws(HornbeamError) -> QueryClauses {
        var parser = try StatementParser(text)
        return try parser.wholeClauses()
    }

    package static func expression(_ text: String) throws(HornbeamError) -> Expression {
        var parser = try StatementParser(text)
        return try parser.wholeExpression()
    }
}
