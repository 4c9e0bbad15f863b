// SPDX-License-Identifier: Apache-2.0
// Compares values without keys, in the order that their keys would have. For types without NaN that is the order of
// Swift's operators. NaN differs: it equals itself, and is greater than every number.

import FoundationEssentials

extension Comparison {
    /// Whether it holds for two values in this order: negative, zero or positive.
    @inline(__always)
    package func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    /// Whether it holds between two values of one type. Nothing is less or greater than null.
    fileprivate func holds(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .equal: left.comparable == right.comparable
        case .notEqual: left.comparable != right.comparable
        default: left.numberOrder(right).map(holds) ?? false
        }
    }
}

extension Value {
    /// A form of the value that is equal to another one's exactly if their keys are: NaN equals only NaN.
    package var comparable: Value {
        switch self {
        // A column of numbers holds no arrays.
        case .double(let number) where number.isNaN: .array([])
        case .date(let seconds) where seconds.isNaN: .array([])
        case .decimal(let number) where number.isNaN: .array([])
        case .array(let values): .array(values.map(\.comparable))
        default: self
        }
    }

    /// The order of two numbers or dates; nil for any other values.
    fileprivate func numberOrder(_ other: Value) -> Int? {
        func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
            ValueOrder.precedes(left, right) ? -1 : ValueOrder.precedes(right, left) ? 1 : 0
        }
        return switch (self, other) {
        case (.double(let left), .double(let right)), (.date(let left), .date(let right)): order(left, right)
        case (.decimal(let left), .decimal(let right)): order(left, right)
        default: nil
        }
    }
}

extension ColumnType {
    /// Whether Swift's operators compare its values differently from keys.
    var hasNaN: Bool {
        switch self {
        case .float, .double, .date, .decimal: true
        case .optional(let wrapped): wrapped.hasNaN
        case .array(let element): element.hasNaN
        default: false
        }
    }
}

/// Compares Swift values of one type as the store does, for types whose own operators compare differently.
package struct StoredOrder<Property: Sendable>: Sendable {
    /// The store's order of the type. Returns nil for types whose own operators compare as the store does.
    package init?() {
        guard ComputedComponent.storedType(of: Property.self)?.hasNaN == true else { return nil }
    }

    /// A comparison with the stored form of a value.
    package func test(_ comparison: Comparison, _ literal: Value) -> @Sendable (Property) -> Bool {
        { comparison.holds(stored($0), literal) }
    }

    func stored(_ value: Property) -> Value { literal(value) ?? .null }
}

extension String {
    /// The text of a value in the label of a condition. Foundation's own description of a date that is NaN traps.
    package init<Property>(shown value: Property) {
        let hasNaN = ComputedComponent.storedType(of: Property.self)?.hasNaN == true
        self = hasNaN ? literal(value)?.text ?? "nil" : "\(value)"
    }
}

/// Returns a test whether a value is among `values`, compared as the store does.
package func membership<Property: Equatable & Sendable>(_ values: [Property]) -> @Sendable (Property) -> Bool {
    guard let order = StoredOrder<Property>() else { return { values.contains($0) } }
    let wanted = Set(values.map { order.stored($0).comparable })
    return { wanted.contains(order.stored($0).comparable) }
}

/// The order of values in stored columns: Swift's, with NaN after all numbers.
package enum ValueOrder {
    package static func precedes<Property: Comparable>(_ left: Property, _ right: Property) -> Bool {
        // In Swift a decimal that is NaN equals itself and is less than all others.
        if Property.self == Decimal.self, let left = left as? Decimal, let right = right as? Decimal {
            return !left.isNaN && (right.isNaN || left < right)
        }
        if left < right { return true }
        // Only NaN isn't equal to itself. A wrapping type may order it already.
        return left == left && right != right && !(right < left)
    }
}
