// SPDX-License-Identifier: Apache-2.0
// The columns of a secondary index. Each has a name and a type, which is known to the compiler or only at run time.

/// A column of a secondary index of any type: `IndexColumn` or `UntypedColumn`.
public protocol SecondaryColumn: Sendable {
    var name: String { get }
    /// The type of its values other than nil.
    var type: ColumnType { get }
}

/// A column whose values are of a type that the compiler knows. Any of them may be nil.
///
///     let department = IndexColumn<String>("department")
///     let salary = IndexColumn<Double>("salary")
public struct IndexColumn<Property: IndexKey>: SecondaryColumn {
    public let name: String
    public var type: ColumnType { Property.columnType.unwrapped }

    public init(_ name: String) { self.name = name }

    /// Ascending order, nil first.
    public var ascending: IndexOrder { IndexOrder(column: name) }
    /// Descending order, nil last.
    public var descending: IndexOrder { IndexOrder(column: name, isDescending: true) }
}

/// A column whose type is known only at run time.
public struct UntypedColumn: SecondaryColumn, Hashable {
    public let name: String
    public let type: ColumnType

    /// - Parameters:
    ///   - name: any except `rowid`.
    ///   - type: any but JSON and arrays, which have no order.
    public init(_ name: String, _ type: ColumnType) {
        self.name = name
        self.type = type.unwrapped
    }
}

extension SecondaryColumn where Self == UntypedColumn {
    /// Integers of 64 bits.
    public static func integer(_ name: String) -> UntypedColumn { UntypedColumn(name, .int64) }
    /// Doubles.
    public static func real(_ name: String) -> UntypedColumn { UntypedColumn(name, .double) }
    /// Exact decimal numbers of up to 38 digits, integers included.
    public static func numeric(_ name: String) -> UntypedColumn { UntypedColumn(name, .decimal) }
    public static func text(_ name: String) -> UntypedColumn { UntypedColumn(name, .string) }
    public static func blob(_ name: String) -> UntypedColumn { UntypedColumn(name, .data) }
    public static func date(_ name: String) -> UntypedColumn { UntypedColumn(name, .date) }
    public static func bool(_ name: String) -> UntypedColumn { UntypedColumn(name, .bool) }
    public static func uuid(_ name: String) -> UntypedColumn { UntypedColumn(name, .uuid) }
}

/// A column to sort by, and the direction.
public struct IndexOrder: Sendable, Hashable {
    let column: String
    let isDescending: Bool

    public init(column: String, isDescending: Bool = false) {
        self.column = column
        self.isDescending = isDescending
    }
}
