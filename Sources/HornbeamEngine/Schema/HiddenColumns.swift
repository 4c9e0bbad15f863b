// SPDX-License-Identifier: Apache-2.0
// The columns that the store keeps for itself, after the declared ones.

extension ColumnDescription {
    /// The names of hidden columns begin with a sign that no property's name can have.
    private static let hiddenSign = "$"

    /// When a row was last saved.
    package static let updatedAt = ColumnDescription(name: "$updatedAt", type: .optional(.date))
    /// When it was first saved.
    package static let createdAt = ColumnDescription(name: "$createdAt", type: .optional(.date))
    /// Number of times that its properties were changed.
    package static let version = ColumnDescription(name: "$version", type: .optional(.int64))

    /// The id of the entity that a to-one relation leads to. The column exists if an index has it as a component.
    package static func linkedID(of relation: String, _ type: ColumnType) -> ColumnDescription {
        ColumnDescription(name: linkedIDName(of: relation), type: .optional(type))
    }

    package static func linkedIDName(of relation: String) -> String { "\(hiddenSign)\(relation)\(linkedIDSuffix)" }

    private static let linkedIDSuffix = ".id"

    /// The relation whose id the column holds; nil for other columns.
    package var linkedRelation: String? {
        guard isHidden, name.hasSuffix(Self.linkedIDSuffix) else { return nil }
        return String(name.dropFirst(Self.hiddenSign.count).dropLast(Self.linkedIDSuffix.count))
    }

    /// Whether the store keeps the column for itself.
    package var isHidden: Bool { Self.isHidden(name) }

    static func isHidden(_ name: String) -> Bool { name.hasPrefix(hiddenSign) }

    /// The name for people.
    package var label: String { Self.label(name) }

    package static func label(_ name: String) -> String {
        name.hasPrefix(hiddenSign) ? String(name.dropFirst(hiddenSign.count)) : name
    }
}
