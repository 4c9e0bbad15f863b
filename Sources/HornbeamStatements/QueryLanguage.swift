// SPDX-License-Identifier: Apache-2.0
// Entry points of the grammar: whole statements, the clauses after FROM alone, and a single expression.

package enum QueryLanguage {
    /// `[EXPLAIN] SELECT … FROM …`
    static func statement(_ text: String) throws(HornbeamError) -> SelectStatement {
        var parser = try StatementParser(text)
        return try parser.wholeStatement()
    }

    /// `[WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]`, none of them needed.
    package static func clauses(_ text: String) throws(HornbeamError) -> QueryClauses {
        var parser = try StatementParser(text)
        return try parser.wholeClauses()
    }

    package static func expression(_ text: String) throws(HornbeamError) -> Expression {
        var parser = try StatementParser(text)
        return try parser.wholeExpression()
    }
}
