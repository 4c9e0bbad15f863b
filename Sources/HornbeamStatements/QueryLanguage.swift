// SPDX-License-Identifier: Apache-2.0
// The entrances to the grammar, for whoever has text to be read: whole statements, the clauses behind FROM alone, one
// expression.

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
