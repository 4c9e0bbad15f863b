// SPDX-License-Identifier: Apache-2.0
// Registers an index: brings the file's index up to date with the program's code. Nothing is done if it is, or the rows
// that it has missed are processed, or it is built from all rows. This takes one write transaction, beside any number
// of readers.

import HornbeamPages
package import HornbeamTree
import Synchronization

/// The work to do before an index can follow its rows.
package enum RegistrationWork: Equatable {
    case none
    /// Compute the tree's reduced values, which a program without the code has left unknown.
    case completion
    /// Process the rows that it has missed.
    case missedRows
    case building
}

/// Registers one index in one transaction. The store must already have the index's reduction.
package struct IndexRegistering {
    package let registration: IndexRegistration
    package let transaction: Transaction
    package let schema: Schema
    package var progress: MigrationProgress.Handler?
    var threads = RowBatch.standardThreads

    package init(
        registration: IndexRegistration, transaction: Transaction, schema: Schema,
        progress: MigrationProgress.Handler? = nil, threads: Int = RowBatch.standardThreads
    ) {
        self.registration = registration
        self.transaction = transaction
        self.schema = schema
        self.progress = progress
        self.threads = threads
    }

    package func type() throws -> EntityType { try schema.type(registration.entity) }

    /// Finds out which work there is. Throws `.indexMismatch` if the name belongs to an index of another kind or entity
    /// type.
    package func work() throws -> RegistrationWork {
        try registration.check()
        let type = try type()
        guard let stored = try RegisteredCatalogue.read(registration.name, in: transaction) else { return .building }
        guard stored.record.entity == registration.entity, stored.record.kind == registration.kind else {
            throw HornbeamError(
                .indexMismatch,
                "index “\(registration.name)” is of kind \(stored.record.kind) over \(stored.record.entity), and "
                    + "registered as \(registration.kind) over \(registration.entity): give it another name, or "
                    + "unregister the stored one")
        }
        guard stored.identity == registration.identity,
            stored.record.columns == RegisteredCatalogue.fingerprint(type.description),
            let tree = try IndexTrees(of: stored, in: transaction)?.first, try hasReduction(tree)
        else { return .building }
        if let missed = try transaction.tree(stored.missedName) {
            return try isShort(missed, of: type) ? .missedRows : .building
        }
        return try transaction.lacksReductions(tree) ? .completion : .none
    }

    /// Whether catching up takes less than building. Catching up looks up each missed row in both states; building
    /// reads the rows in their order.
    package func isShort(_ missed: TreeID, of type: EntityType) throws -> Bool {
        try transaction.count(missed) < transaction.count(type.rows) / 4 + 100
    }

    package func hasReduction(_ tree: TreeID) throws -> Bool {
        let stored = try transaction.reduction(of: tree)
        return stored?.name == registration.reduction?.name && stored?.size == registration.reduction?.size
    }

    /// The index as the file has it after the work.
    package func index() throws -> StoredIndex {
        StoredIndex(
            name: registration.name, identity: registration.identity,
            record: StoredIndex.Record(
                entity: registration.entity, kind: registration.kind, version: registration.version,
                settings: registration.settings,
                columns: RegisteredCatalogue.fingerprint(try type().description)))
    }

    /// Does the work. Returns the index as it is afterwards.
    package func run(_ work: RegistrationWork) throws -> (StoredIndex, MaintainedIndex) {
        let type = try type()
        let index = try index()
        if work == .building {
            if let old = try RegisteredCatalogue.read(registration.name, in: transaction) {
                try RegisteredCatalogue.drop(old, in: transaction)
            }
            try RegisteredCatalogue.dropBuild(of: registration.name, in: transaction)
            try RegisteredCatalogue.begin(index, in: transaction)
        }
        let options = TreeOptions(reduction: registration.reduction)
        guard let trees = try IndexTrees(of: index, in: transaction, create: work == .building, options) else {
            throw StorageError.corrupt(Corruption(tree: index.treeName, reason: "a registered index lacks a tree"))
        }
        let tree = trees.first
        let maintained = try MaintainedIndex(registration, trees, type)
        switch work {
        case .none: break
        case .completion: try transaction.completeReductions(tree)
        case .missedRows:
            do {
                try catchUp(index, maintained, type)
            } catch is HornbeamError {
                // For example, a row's former state can't be read. The current rows are enough to build the index.
                return try run(.building)
            }
            try transaction.completeReductions(tree)
        case .building: try build(maintained, type)
        }
        return (index, maintained)
    }

    private func build(_ index: MaintainedIndex, _ type: EntityType) throws {
        var batch = RowBatch(index, type, transaction, threads: threads)
        var sorter = EntrySorter(transaction)
        var reports = StepProgress(
            .buildingIndex, type.name, registration.name, total: Int(clamping: try transaction.count(type.rows)),
            progress)
        var cursor = try transaction.cursor(type.rows)
        while try cursor.next() {
            guard cursor.key.count == 8, let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            batch.add(rowID, cursor.value)
            if batch.isFull { try batch.finish(into: &sorter) }
            try reports.advance()
        }
        try batch.finish(into: &sorter)
        try sorter.finish { key, _, value in try index.trees.append(key, value, in: transaction) }
        try reports.finish()
    }

    /// Takes a sample of the index. Returns an error if entries come from other code.
    package func drift(of index: MaintainedIndex) throws -> HornbeamError? {
        try DriftProbe(index: index, type: try type(), transaction: transaction).run()
    }

    private func catchUp(_ stored: StoredIndex, _ index: MaintainedIndex, _ type: EntityType) throws {
        guard let missed = try transaction.tree(stored.missedName) else { return }
        let follower = registration.emitter.follower(of: [index])
        var reports = StepProgress(
            .buildingIndex, type.name, registration.name, total: Int(clamping: try transaction.count(missed)), progress)
        var cursor = try transaction.cursor(missed)
        while try cursor.next() {
            guard cursor.key.count == 8, let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: stored.missedName, reason: "a key is no row id"))
            }
            try catchUp(rowID, noted: Array(cursor.value), follower, type)
            try reports.advance()
        }
        _ = try transaction.dropTree(stored.missedName)
        try reports.finish()
    }

    /// Updates the index from a row's former state to its present one.
    /// - Parameter noted: the note of the former state.
    package func catchUp(_ rowID: RowID, noted: [UInt8], _ follower: any IndexFollower, _ type: EntityType) throws {
        let former = try MissedRow.row(noted)
        let changes = try (former ?? []).withUnsafeBytes { bytes in
            let old = try former.map { _ in try RowReader(bytes, of: type) }
            let new = try transaction.get(type.rows, rowID).map { try RowReader($0, of: type) }
            return try follower.changes(rowID, from: old, to: new)
        }
        for change in changes { try change.apply(rowID, in: transaction) }
    }
}

/// A registered index, as a list of indexes shows it.
public struct RegisteredIndexDescription: Sendable, Equatable {
    /// The state of a registered index.
    public enum State: Sendable, Equatable {
        /// The index follows every change.
        case current
        /// The program hasn't registered the index since the database was opened. The index has missed the changes of
        /// this many entities, and processes them when it is registered again.
        case unregistered(missed: Int)
        /// The index is being built in the background, or was until the database was closed. `done` of its `total`
        /// entities have been read. A former index of the same name is listed, too.
        case building(done: Int, total: Int)
        /// The file's record of it is damaged. The index can't be queried, and no index of its name can be registered,
        /// until `unregister` drops it.
        case unreadable
    }

    /// The name of the index.
    public let name: String
    /// The name of its entity type.
    public let entity: String
    /// The kind of index, such as `map` or `value`.
    public let kind: String
    /// The version that its code had when it was built.
    public let version: String
    /// The settings that its entries depend on, besides code and version.
    public let settings: [String: String]
    /// Whether the index is up to date.
    public let state: State
    /// Number of rows in the index.
    public let entries: Int
    /// Size of the pages of its tree in bytes, without long values.
    public let bytes: Int

    package init(
        name: String, entity: String, kind: String, version: String, settings: [String: String], state: State,
        entries: Int, bytes: Int
    ) {
        self.name = name
        self.entity = entity
        self.kind = kind
        self.version = version
        self.settings = settings
        self.state = state
        self.entries = entries
        self.bytes = bytes
    }
}
