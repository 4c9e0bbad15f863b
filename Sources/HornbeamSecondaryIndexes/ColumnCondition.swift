// SPDX-License-Identifier: Apache-2.0
// Conditions on the columns of a secondary index. Their meaning is that of conditions on properties: an ordering
// comparison with nil is false, `!=` is the opposite of `==`, and values compare as their keys do.
// A program writes conditions before the index is open, so they can't be a `Filter` yet: they have the names of
// columns, and only the table has the columns' numbers and knows whether a value fits its column.

/// A condition on the rows of a query: `department == "marketing" && salary >= 100_000`.
public indirect enum ColumnCondition: Sendable {
    case compare(column: String, ColumnComparison, Value)
    case isNil(column: String)
    /// The value is one of these; `.null` stands for nil.
    case isIn(column: String, [Value])
    /// The text begins with a prefix, as by Swift's `hasPrefix`.
    case hasPrefix(column: String, String)
    case contains(column: String, String)
    case and([ColumnCondition])
    case or([ColumnCondition])
    case not(ColumnCondition)

    /// A comparison of two values.
    public enum ColumnComparison: Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    }

    public static func && (left: Self, right: Self) -> Self {
        if case .and(let parts) = left { .and(parts + [right]) } else { .and([left, right]) }
    }
    public static func || (left: Self, right: Self) -> Self {
        if case .or(let parts) = left { .or(parts + [right]) } else { .or([left, right]) }
    }
    public static prefix func ! (condition: Self) -> Self { .not(condition) }
}

extension IndexColumn {
    public static func == (column: Self, value: Property?) -> ColumnCondition { column.compared(.equal, value) }
    public static func != (column: Self, value: Property?) -> ColumnCondition { column.compared(.notEqual, value) }
    public static func < (column: Self, value: Property) -> ColumnCondition { column.compared(.less, value) }
    public static func <= (column: Self, value: Property) -> ColumnCondition { column.compared(.lessOrEqual, value) }
    public static func > (column: Self, value: Property) -> ColumnCondition { column.compared(.greater, value) }
    public static func >= (column: Self, value: Property) -> ColumnCondition { column.compared(.greaterOrEqual, value) }

    private func compared(_ comparison: ColumnCondition.ColumnComparison, _ value: Property?) -> ColumnCondition {
        .compare(column: name, comparison, value?.columnValue ?? .null)
    }

    public var isNil: ColumnCondition { .isNil(column: name) }
    public var isNotNil: ColumnCondition { .not(.isNil(column: name)) }

    /// The value is one of these; an empty list matches nothing.
    public func isIn(_ values: some Sequence<Property>) -> ColumnCondition {
        .isIn(column: name, values.map(\.columnValue))
    }

    /// The value is between two values, or equal to one of them.
    public func isBetween(_ low: Property, _ high: Property) -> ColumnCondition { self >= low && self <= high }
}

extension IndexColumn where Property == String {
    /// The text begins with a prefix, as by Swift's `hasPrefix`.
    public func hasPrefix(_ prefix: String) -> ColumnCondition { .hasPrefix(column: name, prefix) }
    /// The text contains another text, as by Swift's `contains`.
    public func contains(_ text: String) -> ColumnCondition { .contains(column: name, text) }
}

extension ColumnCondition {
    /// Returns the condition as a filter of the index's table. Throws `.tooLarge` if it is nested too deep.
    func filter(_ table: SecondaryTable) throws(HornbeamError) -> Filter {
        guard isWithin(Filter.maximumDepth) else { throw Filter.depthError }
        return try part(table)
    }

    private func isWithin(_ levels: Int) -> Bool {
        switch self {
        case .and(let parts), .or(let parts): levels > 0 && parts.allSatisfy { $0.isWithin(levels - 1) }
        case .not(let part): levels > 0 && part.isWithin(levels - 1)
        default: true
        }
    }

    private func part(_ table: SecondaryTable) throws(HornbeamError) -> Filter {
        switch self {
        case .compare(let name, let comparison, let value):
            return try table.comparison(try table.column(name), comparison.filter, value)
        case .isNil(let name): return .isNull(column: try table.column(name))
        case .isIn(let name, let values): return try table.within(try table.column(name), values)
        case .hasPrefix(let name, let text): return .string(try table.test(.hasPrefix, name, text))
        case .contains(let name, let text): return .string(try table.test(.contains, name, text))
        case .and(let parts): return Filter.conjunction(try Self.filters(parts, table))
        case .or(let parts): return parts.isEmpty ? .none : .or(try Self.filters(parts, table))
        case .not(let condition): return .not(try condition.part(table))
        }
    }

    private static func filters(
        _ parts: [ColumnCondition], _ table: SecondaryTable
    ) throws(HornbeamError) -> [Filter] {
        var filters: [Filter] = []
        for condition in parts { filters.append(try condition.part(table)) }
        return filters
    }
}

extension ColumnCondition.ColumnComparison {
    var filter: Comparison {
        switch self {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        }
    }
}
