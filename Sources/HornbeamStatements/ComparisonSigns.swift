// SPDX-License-Identifier: Apache-2.0
// Comparisons in the notation of statements, for code that makes filters from expressions.

extension Comparison {
    package init?(_ sign: BinaryOperator) {
        switch sign {
        case .equal: self = .equal
        case .notEqual: self = .notEqual
        case .less: self = .less
        case .lessOrEqual: self = .lessOrEqual
        case .greater: self = .greater
        case .greaterOrEqual: self = .greaterOrEqual
        case .or, .and, .concatenate, .add, .subtract, .multiply, .divide, .remainder: return nil
        }
    }

    /// The comparison with its operands exchanged.
    package var mirrored: Comparison {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    /// The comparison that holds where this one doesn't.
    package var opposite: Comparison {
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
