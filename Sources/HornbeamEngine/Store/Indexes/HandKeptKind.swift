// SPDX-License-Identifier: Apache-2.0
// The kinds of hand-kept indexes, as the catalogue has them.

/// What kind of hand-kept index it is. The raw values are in files.
package enum HandKeptKind: String {
    case orderedIDs
    case groupsByEntity
    case groupsByKey
    case hash
    case set

    /// Settings: the entity type of the groups, and the type of the keys.
    package static let groupSetting = "group"
    package static let keySetting = "key"

    /// Whether entries have a place within their section, at the end of their keys.
    var isOrdered: Bool {
        switch self {
        case .orderedIDs, .groupsByEntity, .groupsByKey: true
        case .hash, .set: false
        }
    }
}

extension StoredIndex {
    package init(kept name: String, _ kind: HandKeptKind, _ entity: String, _ settings: [String: String]) {
        // No code makes its entries, so none is to be told by an identity. The version is that of the trees' form.
        self.init(
            name: name, identity: [UInt8](repeating: 0, count: 16),
            record: Record(entity: entity, kind: kind.rawValue, version: "1", settings: settings, columns: ""))
    }

    /// Nil if it follows the entities by itself.
    package var handKept: HandKeptKind? { HandKeptKind(rawValue: record.kind) }
    /// Of a hand-kept index: row id ‖ key of an entry of that row.
    var placesName: String { "p:\(record.entity):\(name)" }
    /// Of a hand-kept index: the entity type of its groups, if they are entities.
    package var group: String? { handKept == .groupsByEntity ? record.settings[HandKeptKind.groupSetting] : nil }
}
