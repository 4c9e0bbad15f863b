// SPDX-License-Identifier: Apache-2.0
// Expressions as text, for `EXPLAIN`: with all parentheses that the grammar needs, without positions. Parts that are
// nested too deep for the thread's stack are written as “…”.

extension Expression {
    var text: String {
        guard StackRoom.isEnough else { return "…" }
        return written
    }

    private var written: String {
        switch self {
        case .literal(let value, _): value == .null ? "NULL" : value.text
        case .missing: "MISSING"
        case .parameter(let parameter):
            switch parameter.name {
            case .position(let position): "?\(position)"
            case .name(let name): "$\(name)"
            }
        case .path(let path): path.text
        case .array(let parts, _): "[\(Self.list(parts))]"
        case .object(let fields, _):
            "{" + fields.map { "\(Value.string($0.name).text): \($0.value.text)" }.joined(separator: ", ") + "}"
        case .unary(.not, let inner, _): "NOT (\(inner.text))"
        case .unary(let sign, let inner, _): "\(sign.rawValue)\(inner.operand)"
        case .binary(let sign, let left, let right, _): "\(left.operand) \(sign.rawValue) \(right.operand)"
        case .like(let text, let pattern, let escape):
            "\(text.operand) LIKE \(pattern.operand)" + (escape.map { " ESCAPE \($0.operand)" } ?? "")
        case .between(let value, let low, let high): "\(value.operand) BETWEEN \(low.operand) AND \(high.operand)"
        case .within(let value, let list): "\(value.operand) IN (\(Self.list(list)))"
        case .withinArray(let value, let list): "\(value.operand) IN \(list.operand)"
        case .test(let inner, let test): "\(inner.operand) IS \(test.rawValue)"
        case .collate(let inner, let collation, _): "\(inner.operand) COLLATE \(collation.words)"
        case .choice(let subject, let cases, let otherwise):
            "CASE" + (subject.map { " \($0.operand)" } ?? "")
                + cases.map { " WHEN \($0.condition.text) THEN \($0.value.text)" }.joined()
                + (otherwise.map { " ELSE \($0.text)" } ?? "") + " END"
        case .quantified(let quantifier, let name, let array, let condition):
            "\(quantifier.rawValue) \(name) IN \(array.operand) SATISFIES \(condition.text) END"
        case .comprehension(let value, let name, let array, let condition, _):
            "ARRAY \(value.operand) FOR \(name) IN \(array.operand)" + (condition.map { " WHEN \($0.text)" } ?? "")
                + " END"
        case .call(let call):
            "\(call.name.uppercased())(" + (call.isDistinct ? "DISTINCT " : "") + Self.list(call.arguments) + ")"
        case .match(let matching):
            "MATCH(\(matching.targets.map(\.text).joined(separator: ", ")), \(matching.query.text))"
        case .rank: "RANK()"
        case .meta(let field, let alias, _): "META(\(alias ?? "")).\(field.rawValue)"
        case .star(let alias, _): alias.map { "\($0).*" } ?? "*"
        case .subquery(let statement, _): "(\(statement.words))"
        case .exists(let statement, _): "EXISTS (\(statement.words))"
        }
    }

    private static func list(_ parts: [Expression]) -> String { parts.map(\.text).joined(separator: ", ") }

    /// In parentheses, if it has operators.
    private var operand: String {
        switch self {
        case .unary, .binary, .like, .between, .within, .withinArray, .test, .collate: "(\(text))"
        default: text
        }
    }
}

extension SelectStatement {
    /// Enough of a subquery to know it again in a plan.
    fileprivate var words: String {
        let columns = projections.map(\.text).joined(separator: ", ")
        return "SELECT \(columns) FROM \(source.type)" + (clauses.condition.map { " WHERE \($0.text)" } ?? "")
    }
}
