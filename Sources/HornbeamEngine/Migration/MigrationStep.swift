// SPDX-License-Identifier: Apache-2.0
// The steps from an earlier form of the models to the present one, as the store carries them out.

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
    /// A step that was declared wrongly; the error is thrown by opening.
    case wrong(HornbeamError)

    /// A change of a property's type.
    package struct Conversion: Sendable {
        package let type: String
        package let column: ColumnDescription
        package let from: ColumnType
        /// From the stored value to that of the new column. Null is given only if `from` is optional.
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
