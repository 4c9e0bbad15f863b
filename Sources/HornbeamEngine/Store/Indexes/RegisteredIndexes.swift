// SPDX-License-Identifier: Apache-2.0
// The registered indexes that a store's writes have to maintain. If the program has given an index's code, the index
// follows each row. For the other indexes, the former bytes of a changed row are noted once, so that the index can be
// brought up to date when it is registered again. No write skips an index without a note, whichever program opened the
// file.

import HornbeamPages
import HornbeamTree

/// All registered indexes at one time. Immutable: registering an index makes another instance.
package final class RegisteredIndexes: Sendable {
    package let stored: [StoredIndex]
    /// The indexes that this program has registered with their code, by name.
    package let maintained: [String: MaintainedIndex]
    private let types: [String: TypeIndexes]

    package init(stored: [StoredIndex], maintained: [String: MaintainedIndex] = [:]) {
        self.stored = stored
        self.maintained = maintained
        let following = Dictionary(grouping: stored.filter { $0.handKept == nil }, by: \.record.entity)
        let handKept = KeptConcern.all(stored.filter { $0.handKept != nil })
        let names = Set(following.keys).union(handKept.keys)
        types = Dictionary(
            uniqueKeysWithValues: names.map { name in
                let indexes = following[name] ?? []
                let type = TypeIndexes(
                    maintained: indexes.compactMap { maintained[$0.name] },
                    missing: indexes.filter { maintained[$0.name] == nil }, handKept: handKept[name] ?? [])
                return (name, type)
            })
    }

    func indexes(of type: String) -> TypeIndexes? { types[type] }

    /// These indexes and one more, which replaces an index with its name.
    package func adding(_ index: StoredIndex, _ maintainedIndex: MaintainedIndex) -> RegisteredIndexes {
        var maintained = maintained
        maintained[index.name] = maintainedIndex
        return RegisteredIndexes(stored: stored.filter { $0.name != index.name } + [index], maintained: maintained)
    }

    /// These indexes and one without code: a build, or a hand-kept one.
    package func adding(_ index: StoredIndex) -> RegisteredIndexes {
        RegisteredIndexes(stored: stored.filter { $0.name != index.name } + [index], maintained: maintained)
    }

    package func removing(buildOf name: String) -> RegisteredIndexes { removing(StoredIndex.buildName(of: name)) }

    package func removing(_ name: String) -> RegisteredIndexes {
        var maintained = maintained
        maintained[name] = nil
        return RegisteredIndexes(stored: stored.filter { $0.name != name }, maintained: maintained)
    }
}

/// The registered indexes of one entity type. It exists only for types with an index.
final class TypeIndexes: Sendable {
    let maintained: [MaintainedIndex]
    /// One for each kind of emitter.
    private let followers: [any IndexFollower]
    private let missing: [StoredIndex]
    private let handKept: [KeptConcern]

    init(maintained: [MaintainedIndex], missing: [StoredIndex], handKept: [KeptConcern]) {
        self.maintained = maintained
        self.missing = missing
        self.handKept = handKept
        let kinds = Dictionary(grouping: maintained) { ObjectIdentifier(type(of: $0.registration.emitter)) }
        followers = kinds.values.compactMap { indexes in
            indexes.first.map { $0.registration.emitter.follower(of: indexes) }
        }
    }

    /// Returns the effects of a change of a row on all these indexes. Calls the program's code. Changes nothing itself.
    func changes(_ rowID: RowID, from old: RowReader?, to new: RowReader?) throws -> RegisteredChanges {
        RegisteredChanges(
            followed: try followers.flatMap { try $0.changes(rowID, from: old, to: new) }, missing: missing,
            former: missing.isEmpty ? [] : MissedRow.bytes(old), left: new == nil ? handKept : [])
    }
}

/// The effects of a change of a row on the registered indexes of its type.
struct RegisteredChanges {
    fileprivate let followed: [RegisteredChange]
    fileprivate let missing: [StoredIndex]
    /// The former row, for the missing indexes.
    fileprivate let former: [UInt8]
    /// Hand-kept indexes that a deleted row leaves.
    fileprivate let left: [KeptConcern]

    func apply(_ rowID: RowID, in transaction: Transaction) throws {
        for change in followed { try change.apply(rowID, in: transaction) }
        for index in missing {
            guard let tree = try transaction.tree(index.missedName, create: true) else { continue }
            // Only the first note counts: it has the row that the index has seen last.
            if try transaction.get(tree, rowID) == nil { try transaction.put(tree, rowID.key, former) }
        }
        for concern in left { try concern.drop(rowID, in: transaction) }
    }
}

/// A row with changes that an index has missed. The index has a tree of them: row id → 0, or 1 and the row as the index
/// has seen it.
package enum MissedRow {
    static func bytes(_ row: RowReader?) -> [UInt8] { row.map { [1] + Array($0.bytes) } ?? [0] }

    /// The row's bytes; nil if there was none.
    package static func row(_ stored: [UInt8]) throws(HornbeamError) -> [UInt8]? {
        switch stored.first {
        case 0 where stored.count == 1: return nil
        case 1: return Array(stored[1...])
        default: throw unreadable
        }
    }

    static var unreadable: HornbeamError {
        HornbeamError(.corrupt(Corruption(reason: "a change that a registered index has missed is not readable")))
    }
}
