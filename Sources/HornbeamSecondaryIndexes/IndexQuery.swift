// SPDX-License-Identifier: Apache-2.0
// Queries of a secondary index as text: the clauses of the query language that follow FROM. Parsed once, without an
// index; bound to the columns of an index, and to values, when it runs.

/// A prepared query in text form: `try IndexQuery("WHERE department = ? ORDER BY salary DESC")`. It can be kept, and
/// used with any values, indexes and states. The way to answer it is chosen each time it runs.
public struct IndexQuery: Sendable {
    public let text: String
    let clauses: QueryClauses
    /// The number of values that the query takes.
    public let parameterCount: Int

    /// Parses a query. Throws `.invalid`, with the position, if the text isn't a query, and `.tooLarge` if it is longer
    /// than a million bytes. The columns are checked when the query runs.
    public init(_ text: String) throws(HornbeamError) {
        self.text = text
        clauses = try QueryLanguage.clauses(text)
        parameterCount = try Self.parameterCount(text)
    }

    /// Returns the number of values. A `?` takes the value after that of the previous `?`; `?2` takes the second value.
    private static func parameterCount(_ text: String) throws(HornbeamError) -> Int {
        var lexer = StatementLexer(text)
        var (ordered, count) = (0, 0)
        for (token, place, _) in try lexer.tokens() {
            guard case .parameter(let name) = token else { continue }
            switch name {
            case nil:
                ordered += 1
                count = max(count, ordered)
            case .position(let position): count = max(count, position)
            case .name:
                throw StatementFailure.error(
                    "the values of a query are given in order: write ? or ?1", in: text, at: place)
            }
        }
        return count
    }
}

extension IndexAggregate {
    /// Parses an aggregate: `COUNT(*)`, `COUNT(x)`, `COUNT(DISTINCT x)`, `SUM(x)`, `AVG(x)`, `MIN(x)`, `MAX(x)`,
    /// `GROUP_CONCAT(x)` or `GROUP_CONCAT(x, 'separator')`, in small letters or capitals. Throws `.invalid` for any
    /// other text.
    public init(_ text: String) throws(HornbeamError) {
        func failure(_ what: String, _ place: TextPlace = 0) -> HornbeamError {
            StatementFailure.error(what, in: text, at: place)
        }
        guard case .call(let call) = try QueryLanguage.expression(text) else {
            throw failure("expected COUNT, SUM, AVG, MIN, MAX or GROUP_CONCAT, of a column")
        }
        if call.name == "count", !call.isDistinct, case .star? = call.arguments.first {
            self = .count
            return
        }
        guard case .path(let path)? = call.arguments.first, path.steps.count == 1 else {
            throw failure("expected the name of a column in \(call.name.uppercased())(…)", call.place)
        }
        let column = path.head
        switch (call.name, call.isDistinct, call.arguments.count) {
        case ("count", false, 1): self = .countOf(column)
        case ("count", true, 1): self = .countDistinct(column)
        case ("sum", false, 1): self = .sum(column)
        case ("avg", false, 1): self = .average(column)
        case ("min", false, 1): self = .min(column)
        case ("max", false, 1): self = .max(column)
        case ("group_concat", false, 1): self = .joined(column)
        case ("group_concat", false, 2):
            guard case .literal(.string(let separator), _) = call.arguments[1] else {
                throw failure("expected a string in quotes, to stand between the texts", call.place)
            }
            self = .joined(column, separator: separator)
        default:
            throw failure(
                "expected COUNT, SUM, AVG, MIN, MAX of a column, COUNT(DISTINCT …) or GROUP_CONCAT", call.place)
        }
    }
}
