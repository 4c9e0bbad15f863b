// SPDX-License-Identifier: Apache-2.0
// The condition of a partial index. A query may use the index if its own conditions imply this one. Only simple
// implications are found, by one conjunct of the query at a time; missing one costs time, never a result.

import HornbeamKeys
import HornbeamPages

/// The condition on the rows that an index has entries for.
///
/// `@unchecked Sendable`: the bound parts of a condition that can be stored never change.
package final class IndexCondition: @unchecked Sendable {
    let stored: StoredCondition
    /// The columns that it tests.
    let columns: [Int]
    /// Conditions that all hold for each row in the index. Literals are in the form of their columns, and none is null:
    /// a comparison with null becomes a test for null.
    private let parts: [Filter]
    private let filter: RowFilter

    package init(_ stored: StoredCondition, _ type: EntityType) throws(HornbeamError) {
        self.stored = stored
        columns = stored.properties.compactMap(type.description.column)
        let filter = try stored.filter(type.description)
        do {
            parts = try filter.converted(type).conjuncts
            self.filter = try RowFilter(ofRow: filter, type: type)
        } catch {
            throw Self.failure(error)
        }
    }

    /// The condition of a declared index; nil if the index has all rows. Throws `.schemaMismatch` if the type can't
    /// have the condition.
    static func declared(_ index: IndexDescription, _ type: EntityDescription) throws(HornbeamError) -> IndexCondition?
    {
        guard let condition = index.condition else { return nil }
        let name = "index “\(index.name)” of \(type.name)"
        guard index.kind == .text else {
            throw HornbeamError(
                .schemaMismatch,
                "\(name) can't have a condition: only full-text indexes and indexes registered at run time can")
        }
        // Columns that the store writes itself change without a save that updates the indexes.
        for property in condition.properties.sorted() where ColumnDescription.isHidden(property) {
            throw HornbeamError(
                .schemaMismatch,
                "the condition of \(name) uses \(ColumnDescription.label(property)), which the store sets: "
                    + "use only stored properties of the model")
        }
        do throws(HornbeamError) {
            return try IndexCondition(condition, EntityType(named: type))
        } catch {
            throw HornbeamError(.schemaMismatch, "the condition of \(name) doesn't fit its type: \(error.message)")
        }
    }

    /// Whether a row has an entry. No condition that can be stored tests the row id, so any number stands for it.
    package func accepts(_ row: RowReader) throws(HornbeamError) -> Bool {
        do {
            return try filter.accepts(RowID(rawValue: 0), row)
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> HornbeamError {
        error as? HornbeamError ?? HornbeamError(.invalid, "the condition of an index: \(error)")
    }

    /// Returns the conjuncts of a query that hold for all rows in the index. Returns nil unless the index has all rows
    /// that meet the conjuncts.
    func implied(by conjuncts: [Filter], _ type: EntityType) throws -> ConjunctSet? {
        let conjuncts = try conjuncts.map { try $0.converted(type) }
        guard parts.allSatisfy({ part in conjuncts.contains { $0.implies(part) } }) else { return nil }
        var answered = ConjunctSet()
        for place in conjuncts.indices where parts.contains(where: { $0.implies(conjuncts[place]) }) {
            answered.insert(place)
        }
        return answered
    }
}

extension Filter {
    /// Converts the literals of comparisons to the form of their columns. A comparison that no value passes becomes
    /// `none`; other conditions stay as they are.
    fileprivate func converted(_ type: EntityType) throws -> Filter {
        switch self {
        case .compare(let column, let comparison, let value):
            let literal = try RowFilter.literal(value, column, type)
            switch (literal, comparison) {
            case (.null, .equal): return .isNull(column: column)
            case (.null, .notEqual): return .not(.isNull(column: column))
            case (.null, _): return .none
            case (.bool(let flag), .notEqual) where type.description.columns[column].type == .bool:
                return .compare(column: column, .equal, .bool(!flag))
            default: return .compare(column: column, comparison, literal)
            }
        case .within(let column, let values):
            return .within(column: column, try values.map { try RowFilter.literal($0, column, type) })
        case .and(let parts): return .and(try parts.map { try $0.converted(type) })
        case .or(let parts): return .any(of: try parts.map { try $0.converted(type) })
        case .not(let part): return try part.converted(type).negated(type)
        default: return self
        }
    }

    /// Maximum number of a list's values that are compared one by one. A longer list is implied only by an equal one.
    private static let fewValues = 32

    /// Its negation, made of comparisons as far as possible.
    private func negated(_ type: EntityType) throws -> Filter {
        switch self {
        // Null equals no value, so it passes `!=` with every value.
        case .compare(let column, .equal, let value):
            try Filter.compare(column: column, .notEqual, value).converted(type)
        case .compare(let column, .notEqual, let value): .compare(column: column, .equal, value)
        case .and(let parts): .any(of: try parts.map { try $0.negated(type) })
        case .or(let parts): .conjunction(try parts.map { try $0.negated(type) })
        case .within(let column, let values) where values.count <= Self.fewValues:
            .conjunction(
                try values.map { try Filter.compare(column: column, .notEqual, $0).converted(type) })
        case .not(let part): part
        default: .not(self)
        }
    }

    /// Whether `other` is known to hold wherever this filter does.
    func implies(_ other: Filter) -> Bool {
        switch (self, other) {
        case (_, .all), (.none, _): true
        case (_, .and(let parts)): parts.allSatisfy { implies($0) }
        case (.or(let parts), _): parts.allSatisfy { $0.implies(other) }
        case (_, .or(let parts)): parts.contains { implies($0) }
        case (.and(let parts), _): parts.contains { $0.implies(other) }
        case (.not(.isNull(let column)), .not(.isNull(let asked))): column == asked
        case (.not(let part), .not(let wanted)): wanted.implies(part)
        case (.string(let test), .string(let wanted)): test == wanted
        case (.elements(let test), .elements(let wanted)): test == wanted
        default: soleColumn != nil && soleColumn == other.soleColumn && impliesOfColumn(other)
        }
    }

    /// The column that it tests, if it is the only one and the condition is a simple one.
    private var soleColumn: Int? {
        switch self {
        case .compare(let column, _, _), .within(let column, _), .isNull(let column), .not(.isNull(let column)): column
        case .string(let test): test.columns.count == 1 ? test.columns[0] : nil
        case .elements(let test): test.column
        default: nil
        }
    }

    /// Whether `other` holds wherever this filter does. Both test the same column.
    private func impliesOfColumn(_ other: Filter) -> Bool {
        switch (self, other) {
        case (.compare(_, let comparison, let value), .compare(_, let wanted, let bound)):
            Self.holds(comparison, value, implying: wanted, bound)
        case (.within(_, let values), .compare(_, let wanted, let bound)):
            values.allSatisfy { $0 == .null ? wanted == .notEqual : Self.holds(.equal, $0, implying: wanted, bound) }
        case (.compare(_, .equal, let value), .within(_, let values)): values.contains(value)
        case (.isNull, .within(_, let values)): values.contains(.null)
        case (.within(_, let values), .within(_, let wanted)): values.allSatisfy(wanted.contains)
        case (.isNull, .isNull): true
        // Only `!=` holds for null.
        case (.compare(_, let comparison, _), .not(.isNull)): comparison != .notEqual
        case (.within(_, let values), .not(.isNull)): !values.contains(.null)
        case (.string(let test), .not(.isNull)): !test.isNegated
        case (.elements(let test), .not(.isNull)): !test.values.isEmpty
        case (.isNull, .compare(_, .notEqual, _)): true
        default: false
        }
    }

    /// Whether every value with `comparison` to `value` also has `wanted` to `bound`. Neither is null.
    private static func holds(
        _ comparison: Comparison, _ value: Value, implying wanted: Comparison, _ bound: Value
    ) -> Bool {
        guard let order = value.keyOrder(bound) else { return false }
        return switch (comparison, wanted) {
        case (.equal, .equal), (.notEqual, .notEqual): order == 0
        case (.equal, .notEqual): order != 0
        case (.equal, .less), (.lessOrEqual, .less): order < 0
        case (.equal, .lessOrEqual), (.less, .lessOrEqual), (.lessOrEqual, .lessOrEqual), (.less, .less): order <= 0
        case (.equal, .greater), (.greaterOrEqual, .greater): order > 0
        case (.equal, .greaterOrEqual), (.greater, .greaterOrEqual), (.greaterOrEqual, .greaterOrEqual),
            (.greater, .greater):
            order >= 0
        case (.less, .notEqual): order <= 0
        case (.lessOrEqual, .notEqual): order < 0
        case (.greater, .notEqual): order >= 0
        case (.greaterOrEqual, .notEqual): order > 0
        default: false
        }
    }
}

extension Value {
    /// The order of two values of one column type. Returns nil if their types differ or have no order.
    fileprivate func keyOrder(_ other: Value) -> Int? {
        let type: ColumnType
        switch (self, other) {
        case (.bool, .bool): type = .bool
        case (.int, .int): type = .int64
        case (.uint, .uint): type = .uint64
        case (.double, .double): type = .double
        case (.date, .date): type = .date
        case (.uuid, .uuid): type = .uuid
        case (.string, .string): type = .string
        case (.data, .data): type = .data
        case (.decimal, .decimal): type = .decimal
        default: return nil
        }
        var (left, right) = (KeyWriter(capacity: 24), KeyWriter(capacity: 24))
        guard (try? KeyCoding.append(self, as: type, to: &left)) != nil,
            (try? KeyCoding.append(other, as: type, to: &right)) != nil
        else { return nil }
        return left.bytes.withUnsafeBytes { left in right.bytes.withUnsafeBytes { left.order($0) } }
    }
}
