// SPDX-License-Identifier: Apache-2.0
// Indexes that a program registers by name, beside those its models declare: a function from an entity to entries,
// stored in a tree of its own. This file describes such an index. The changes of entries for a change of an entity, a
// pure function of the old entity and the new one, are in EntityEmitter.swift of the typed API.

import HornbeamKeys
package import HornbeamPages
package import HornbeamTree
import Synchronization

/// An index that is registered under a name: see `MapIndex`, `ValueIndex` and `ArrayIndex`.
public protocol RegisteredIndex: Sendable {
    /// The index in the form in which a database registers it.
    var registration: IndexRegistration { get }
}

/// A registered index as a database knows it: its name, and the program's code, which the file doesn't have.
public final class IndexRegistration: Sendable {
    /// Name of the index. Only one of all registered indexes of a database may have it.
    public let name: String
    /// The version of the code. It must be changed whenever the code is; the index is then rebuilt.
    public let version: String
    /// The kind of index.
    public let kind: String
    /// Other settings that the entries depend on.
    public let settings: [String: String]
    /// The name of the entity type that it is over.
    public let entity: String
    /// The program's entity type. It is nil for an index that is known only from the file.
    package let model: ObjectIdentifier?
    package let reduction: Reduction?
    /// Trees beside the first one: see `IndexTrees`.
    let others: Int
    /// A hash of everything except the code. It shows whether stored entries are this code's.
    package let identity: [UInt8]
    package let emitter: any IndexEmitter
    /// Converts a stored entry's value to the form that this version of the library writes. Returns nil if it can't be
    /// read. The closure is nil for kinds whose equal values have always had equal bytes.
    private let rewritten: (@Sendable (Bytes) -> [UInt8]?)?
    /// The form of the index for the planner; nil if queries use it only by name.
    let plannable: Plannable?
    /// The index's record as it was read last.
    let lastRead = Mutex<ReadRecord?>(nil)
    /// The reason why it can't be registered; nil if there is none.
    private let flaw: String?

    /// The form in which the planner gets an index, once its tree is known.
    package enum Plannable: Sendable {
        /// Entries in the form of declared indexes.
        case rows(@Sendable (EntityType, TreeID) throws(HornbeamError) -> EntityIndex)
        /// Entries for the elements of an array.
        case elements(@Sendable (TreeID) -> ElementIndex)
    }

    package init(
        name: String, version: String, kind: String, settings: [String: String], entity: String,
        model: ObjectIdentifier?,
        reduction: (size: Int, folder: @Sendable () -> any ReductionFolder)? = nil, others: Int = 0, flaw: String?,
        plannable: Plannable?, rewritten: (@Sendable (Bytes) -> [UInt8]?)? = nil, emitter: any IndexEmitter
    ) {
        self.rewritten = rewritten
        self.name = name
        self.version = version
        self.kind = kind
        var settings = settings
        if others > 0 { settings[IndexTrees.setting] = "\(others)" }
        self.settings = settings
        self.others = others
        self.flaw = flaw
        self.model = model
        self.plannable = plannable
        self.emitter = emitter
        self.entity = entity
        let parts = [kind, entity, name, version] + settings.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        // Each part is preceded by its size, so that different lists of parts give different texts.
        identity = IndexKeyBytes.hashed(parts.flatMap { Array("\($0.utf8.count):\($0)".utf8) })
        let reductionName = "index:" + identity.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.reduction = reduction.map { Reduction(name: reductionName, size: $0.size, folder: $0.folder) }
    }

    /// Whether the value of a stored entry equals the one that the code makes now.
    func isSame(_ stored: Bytes, as value: [UInt8]) -> Bool {
        stored.elementsEqual(value) || rewritten?(stored) == value
    }

    /// Checks name and version. Throws `.invalid` if no database can have the index. Names are part of a tree's name
    /// and of a key.
    package func check() throws(HornbeamError) {
        try Self.check(name: name)
        guard !version.utf8.contains(0) else {
            throw HornbeamError(.invalid, "the version of index “\(name)” has a zero byte: leave it out")
        }
        if let flaw { throw HornbeamError(.invalid, "index “\(name)” can't be registered: \(flaw)") }
    }

    package static func check(name: String) throws(HornbeamError) {
        // A byte of 1 ends the name of a background build.
        guard !name.isEmpty, name.utf8.count <= 200, !name.utf8.contains(where: { $0 < 2 }) else {
            throw HornbeamError(
                .invalid, "an index can't be called “\(name)”: a name has 1 to 200 bytes, none of them 0 or 1")
        }
        // The file compares names by their bytes, the program by their characters: each must have one form.
        guard name.isComposed else {
            throw HornbeamError(
                .invalid,
                "the name of index “\(name)” isn't in its composed form (NFC): write letters and their marks as one")
        }
    }
}

/// An entry of a registered index. Its key has neither row id nor ordinal while the index's code makes it, and both in
/// the tree.
package struct IndexEntry {
    package let key: [UInt8]
    package let value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// The effect of a change of one row on one registered index. Keys are complete.
package struct RegisteredChange {
    package let trees: IndexTrees
    /// Whether the row's former entries aren't known and all must be removed. They are searched for in the whole tree.
    package var isFormerUnknown = false
    package var removed: [[UInt8]] = []
    package var put: [IndexEntry] = []

    package init(trees: IndexTrees, isFormerUnknown: Bool = false, removed: [[UInt8]] = [], put: [IndexEntry] = []) {
        self.trees = trees
        self.isFormerUnknown = isFormerUnknown
        self.removed = removed
        self.put = put
    }
}

/// The code of a registered index, independent of the entity type.
package protocol IndexEmitter: Sendable {
    /// Returns the follower that keeps these indexes of one entity type together. All of them have emitters of this
    /// one's type.
    func follower(of indexes: [MaintainedIndex]) -> any IndexFollower
}

/// Keeps the registered indexes of one entity type whose code the program has given.
package protocol IndexFollower: Sendable {
    /// Returns the effects of a change of a row on these indexes. Calls the program's code. Changes nothing itself.
    func changes(_ rowID: RowID, from old: RowReader?, to new: RowReader?) throws -> [RegisteredChange]
    /// The entries of a row in one of these indexes, in the order of their keys.
    func entries(_ rowID: RowID, _ row: RowReader, in index: Int) throws -> [IndexEntry]
}

extension IndexFollower {
    /// The entries of a row for a build of an index, by a follower of that index alone. Errors name the index and the
    /// row.
    package func entriesToBuild(
        _ rowID: RowID, _ row: RowReader, _ index: IndexRegistration
    ) throws -> [IndexEntry] {
        do {
            return try entries(rowID, row, in: 0)
        } catch let error as HornbeamError {
            throw HornbeamError(
                error.code,
                "index “\(index.name)” can't be built over the \(index.entity) of \(rowID): \(error.message)")
        }
    }
}

/// A registered index whose code the program has given, with its trees: each write maintains it.
package struct MaintainedIndex: Sendable {
    package let registration: IndexRegistration
    package let trees: IndexTrees
    var tree: TreeID { trees.first }
    /// The form of the index for the planner; nil if queries use it only by name.
    package let planned: PlannedIndex?

    package init(_ registration: IndexRegistration, _ trees: IndexTrees, _ type: EntityType) throws(HornbeamError) {
        self.registration = registration
        self.trees = trees
        planned =
            switch registration.plannable {
            case .rows(let index): .rows(try index(type, trees.first))
            case .elements(let index): .elements(index(trees.first))
            case nil: nil
            }
    }
}

extension RegisteredChange {
    /// Makes the change that turns one sorted list of entries into another one.
    package init(_ trees: IndexTrees, from old: [IndexEntry], to new: [IndexEntry]) {
        self.trees = trees
        var (left, right) = (old[...], new[...])
        while let before = left.first, let after = right.first {
            if before.key == after.key {
                if before.value != after.value { put.append(after) }
                left.removeFirst()
                right.removeFirst()
            } else if before.key.lexicographicallyPrecedes(after.key) {
                removed.append(before.key)
                left.removeFirst()
            } else {
                put.append(after)
                right.removeFirst()
            }
        }
        removed += left.map(\.key)
        put += right
    }

    func apply(_ rowID: RowID, in transaction: Transaction) throws {
        if isFormerUnknown {
            for key in try trees.keys(of: rowID, in: transaction) { try trees.delete(key, in: transaction) }
        }
        for key in removed { try trees.delete(key, in: transaction) }
        for entry in put { try trees.put(entry, in: transaction) }
    }
}
