// SPDX-License-Identifier: Apache-2.0
// How deep expressions may be within one another. Whoever goes through one calls itself for each level, and stacks are
// small; what the grammar allows at one place adds up over many, so that the whole is measured, without such a call.

extension StatementParser {
    /// Levels of a whole expression.
    static let maxHeight = 600

    func requireHeight(_ expressions: [Expression]) throws(HornbeamError) {
        var waiting = expressions.map { (expression: $0, height: 1) }
        while let (expression, height) = waiting.popLast() {
            guard height <= Self.maxHeight else {
                throw HornbeamError(
                    .invalid,
                    "an expression of the statement has more than \(Self.maxHeight) levels: make it simpler, or give "
                        + "long lists as parameters")
            }
            for child in expression.children { waiting.append((child, height + 1)) }
        }
    }
}

extension QueryClauses {
    var expressions: [Expression] {
        [condition, having, limit, offset].compactMap { $0 } + groups + order.map(\.value)
    }
}

extension SelectStatement {
    var expressions: [Expression] {
        let joined = joins.compactMap { join in
            switch join.target {
            case .type(_, let condition): condition
            case .elements(let array): array
            case .relation: nil
            }
        }
        return projections.map(\.value) + joined + clauses.expressions
    }
}
