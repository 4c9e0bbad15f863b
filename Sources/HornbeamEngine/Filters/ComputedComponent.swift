// SPDX-License-Identifier: Apache-2.0
// The components of an index that aren't stored: properties that the program computes, texts by a collation,
// expressions. A condition names the value that it compares in the same way, so that the planner recognizes an index
// over it.

import FoundationEssentials

/// An expression that a component of an index or a comparison computes: see `ComputedSubject`.
package protocol ComputedExpression: Sendable {
    /// Whether both expressions give the same value for every row.
    func isSame(as other: any ComputedExpression) -> Bool
}

/// The subject of a computed component or a comparison. Two are equal if they are the same property, column by a
/// collation, or expression.
///
/// `@unchecked Sendable`: made of key paths, which are immutable.
package struct ComputedSubject: Equatable, @unchecked Sendable {
    private enum Property {
        case keyPath(AnyKeyPath)
        /// The names of stored properties, with dots between them.
        case named(String, of: any Any.Type)
        /// A part of an order: the key path of a property, with or without one of these steps, such as `.asc`, at its
        /// end.
        case ordered(AnyKeyPath, behind: [AnyKeyPath])
        /// A column of texts by a collation.
        case collated(CollatedColumn)
        /// An expression over a row.
        case expression(any ComputedExpression)
    }

    private let property: Property

    private init(_ property: Property) {
        self.property = property
    }

    package init(_ keyPath: AnyKeyPath) { self.init(.keyPath(keyPath)) }

    /// The subject of a stored property.
    package init(stored keyPath: AnyKeyPath) { self.init(.keyPath(keyPath)) }

    /// The subject of a path through stored properties, given by their names with dots between them.
    package init(_ names: String, of type: any Any.Type) { self.init(.named(names, of: type)) }

    /// The property of a key path in an order. The key path alone doesn't tell which step comes last, so it may end
    /// with any of `steps`.
    package init(_ keyPath: AnyKeyPath, behind steps: [AnyKeyPath]) {
        self.init(.ordered(keyPath, behind: steps))
    }

    init(_ collated: CollatedColumn) { self.init(.collated(collated)) }

    package init(_ expression: any ComputedExpression) { self.init(.expression(expression)) }

    package var collated: CollatedColumn? { if case .collated(let column) = property { column } else { nil } }

    /// The subject of a property of this one. Returns nil if the key path doesn't fit.
    package func appending(_ next: AnyKeyPath) -> ComputedSubject? {
        guard case .keyPath(let keyPath) = property else { return nil }
        return keyPath.appending(path: next).map { ComputedSubject(stored: $0) }
    }

    package var keyPath: AnyKeyPath? { if case .keyPath(let keyPath) = property { keyPath } else { nil } }

    /// Its path as names; nil if it isn't stored.
    package var name: String? {
        switch property {
        case .keyPath(let keyPath): keyPath.isNamed ? keyPath.path : nil
        case .named(let names, _): names
        case .ordered, .collated, .expression: nil
        }
    }

    /// Whether it is stored, so that names identify it.
    package var isNamed: Bool { keyPath?.isNamed ?? true }

    package static func == (left: Self, right: Self) -> Bool {
        switch (left.property, right.property) {
        case (.keyPath(let left), .keyPath(let right)): left == right
        case (.named(let left, let leftType), .named(let right, let rightType)):
            left == right && leftType == rightType
        case (.keyPath(let keyPath), .named(let names, let type)), (.named(let names, let type), .keyPath(let keyPath)):
            Swift.type(of: keyPath).rootType == type && keyPath.path == names
        case (.keyPath(let keyPath), .ordered(let whole, let steps)),
            (.ordered(let whole, let steps), .keyPath(let keyPath)):
            keyPath == whole || steps.contains { keyPath.appending(path: $0) == whole }
        case (.ordered(let left, let steps), .ordered(let right, let others)):
            left == right || steps.contains { right.appending(path: $0) == left }
                || others.contains { left.appending(path: $0) == right }
        case (.collated(let left), .collated(let right)): left == right
        case (.expression(let left), .expression(let right)): left.isSame(as: right)
        case (.named, .ordered), (.ordered, .named), (.collated, _), (_, .collated), (.expression, _), (_, .expression):
            false
        }
    }
}

/// A column of texts that are compared by a collation.
package struct CollatedColumn: Equatable, Sendable {
    package let entity: String
    package let column: Int
    package let collation: TextCollation

    package init(entity: String, column: Int, collation: TextCollation) {
        self.entity = entity
        self.column = column
        self.collation = collation
    }
}

/// A key component that is computed from a row. The property must always give the same value for the same entity. An
/// index over it has a version, which must change with the property's code.
package struct ComputedComponent: Sendable {
    package let subject: ComputedSubject
    package let label: String
    package let type: ColumnType
    /// The columns that it is computed from; nil if only the program's code knows them.
    package let sources: [Int]?
    package let value: @Sendable (RowReader) throws(HornbeamError) -> Value

    package init(
        _ subject: ComputedSubject, label: String, type: ColumnType, sources: [Int]?,
        value: @escaping @Sendable (RowReader) throws(HornbeamError) -> Value
    ) {
        self.subject = subject
        self.label = label
        self.type = type
        self.sources = sources
        self.value = value
    }

    /// The type of a property's stored form; nil if it has none that is ordered.
    package static func type<Property>(of _: Property.Type) -> ColumnType? {
        let type = storedType(of: Property.self)
        return type?.isOrdered == true ? type : nil
    }

    /// The type of a property's stored form, ordered or not; nil if it has none.
    static func storedType<Property>(of _: Property.Type) -> ColumnType? {
        (Property.self as? any ColumnValue.Type)?.columnType
            ?? (Property.self as? any RawRepresentable.Type).flatMap { rawType(of: $0) }
    }

    private static func rawType<Raw: RawRepresentable>(of _: Raw.Type) -> ColumnType? {
        (Raw.RawValue.self as? any ColumnValue.Type)?.columnType
    }
}

/// A comparison of a property that isn't stored. A class, so that a filter stays small.
package final class ComputedTest: Sendable {
    let subject: ComputedSubject
    let comparison: Comparison
    let literal: Value
    /// The values, if it tests for any of several instead of one.
    let list: [Value]?
    /// For `explain`.
    package let label: String
    /// The columns that it reads; nil if it may read any.
    let sources: [Int]?
    let accepts: @Sendable (RowReader) throws -> Bool

    package init(
        _ subject: ComputedSubject, _ comparison: Comparison, _ literal: Value, list: [Value]? = nil, label: String,
        sources: [Int]? = nil, accepts: @escaping @Sendable (RowReader) throws -> Bool
    ) {
        self.sources = sources
        self.subject = subject
        self.comparison = comparison
        self.literal = literal
        self.list = list
        self.label = label
        self.accepts = accepts
    }
}

extension ComputedComponent {
    /// A column of texts by a collation.
    package init(column: Int, of type: EntityDescription, by collation: TextCollation) throws(HornbeamError) {
        let collator = try collation.collator
        self.init(
            ComputedSubject(CollatedColumn(entity: type.name, column: column, collation: collation)),
            label: "\(type.columns[column].name) COLLATE \(collation.words)", type: .data, sources: [column]
        ) { (row) throws(HornbeamError) in
            guard let text = try row.string(column) else { return .null }
            return .data(Data(try collator.key(of: text)))
        }
    }
}
