// SPDX-License-Identifier: Apache-2.0
// The kinds of hand-kept indexes, as the catalogue has them.

/// The kinds of hand-kept indexes. The raw values are stored in files.
package enum HandKeptKind: String {
    case orderedIDs
    case groupsByEntity
    case groupsByKey
    case hash
    case set

    /// The name of the setting with the entity type of the groups.
    package static let groupSetting = "group"
    /// The name of the setting with the type of the keys.
    package static let keySetting = "key"

    /// Whether entries have a place within their section, which ends their keys.
    var isOrdered: Bool {
        switch self {
        case .orderedIDs, .groupsByEntity, .groupsByKey: true
        case .hash, .set: false
        }
    }
}

extension StoredIndex {
    package init(kept name: String, _ kind: HandKeptKind, _ entity: String, _ settings: [String: String]) {
        // No code makes its entries, so the identity is always the same. The version is that of the trees' format.
        self.init(
            name: name, identity: [UInt8](repeating: 0, count: 16),
            record: Record(entity: entity, kind: kind.rawValue, version: "1", settings: settings, columns: ""))
    }

    /// The kind of hand-kept index, nil if the index follows the entities by itself.
    package var handKept: HandKeptKind? { HandKeptKind(rawValue: record.kind) }
    /// The name of a hand-kept index's tree of places. Its keys are row id ‖ key of an entry of that row.
    var placesName: String { "p:\(record.entity):\(name)" }
    /// The entity type of a hand-kept index's groups, nil if its groups aren't entities.
    package var group: String? { handKept == .groupsByEntity ? record.settings[HandKeptKind.groupSetting] : nil }
}
