// SPDX-License-Identifier: Apache-2.0
// The steps from an earlier form of the models to the present one, in the form for the store.

/// A step of a migration, in terms of names and columns.
package enum MigrationStep: Sendable {
    case renameType(from: String, to: String)
    case dropType(String)
    case rename(type: String, from: String, to: String, isRelation: Bool)
    case convert(Conversion)
    case fill(type: String, ColumnDescription, @Sendable (StoredRow) throws -> Value)
    case forget(type: String, name: String)
    case toOne(type: String, relation: String)
    case run(name: String)
    /// A step with an error in its declaration. Opening throws the error.
    case wrong(HornbeamError)

    /// A change of a property's type.
    package struct Conversion: Sendable {
        package let type: String
        package let column: ColumnDescription
        package let from: ColumnType
        /// Converts a stored value to a value of the new column. It is called with null only if `from` is optional.
        package let convert: @Sendable (Value) throws -> Value
        /// Whether the property's type can read a value of the new column's type.
        package var isReadable: @Sendable (Value) -> Bool = { _ in true }

        package init(
            type: String, column: ColumnDescription, from: ColumnType,
            convert: @escaping @Sendable (Value) throws -> Value,
            isReadable: @escaping @Sendable (Value) -> Bool = { _ in true }
        ) {
            self.type = type
            self.column = column
            self.from = from
            self.convert = convert
            self.isReadable = isReadable
        }
    }
}
