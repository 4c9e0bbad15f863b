// SPDX-License-Identifier: Apache-2.0
// Registering: brings the file's index up to the code that is given, by nothing if it is the same, by the rows that it
// has missed, or by building it from all rows. All in one write transaction, beside any number of readers.

import HornbeamPages
import HornbeamTree
import Synchronization

/// What there is to do before an index can follow its rows.
enum RegistrationWork: Equatable {
    case none
    /// The tree's reduced values, as far as a program without the code has left them unknown.
    case completion
    /// The rows that it has missed.
    case missedRows
    case building
}

/// One registering, in one transaction. The index's reduction must have been given to the store before.
struct IndexRegistering {
    let registration: IndexRegistration
    let transaction: Transaction
    let schema: Schema
    var progress: MigrationProgress.Handler?

    private func type() throws -> EntityType { try schema.type(registration.entity) }

    /// `.indexMismatch` if the name is another index's.
    func work() throws -> RegistrationWork {
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
            let tree = try transaction.tree(stored.treeName), try hasReduction(tree)
        else { return .building }
        if let missed = try transaction.tree(stored.missedName) {
            // Each missed row is looked up in both states; building reads the rows in their order.
            let isShort = try transaction.count(missed) < transaction.count(type.rows) / 4 + 100
            return isShort ? .missedRows : .building
        }
        return try transaction.lacksReductions(tree) ? .completion : .none
    }

    private func hasReduction(_ tree: TreeID) throws -> Bool {
        let stored = try transaction.reduction(of: tree)
        return stored?.name == registration.reduction?.name && stored?.size == registration.reduction?.size
    }

    /// Does the work; the index as it is afterwards.
    func run(_ work: RegistrationWork) throws -> (StoredIndex, AttendedIndex) {
        let type = try type()
        let index = StoredIndex(
            name: registration.name, identity: registration.identity,
            record: StoredIndex.Record(
                entity: registration.entity, kind: registration.kind, version: registration.version,
                settings: registration.settings, columns: RegisteredCatalogue.fingerprint(type.description)))
        if work == .building {
            if let old = try RegisteredCatalogue.read(registration.name, in: transaction) {
                try RegisteredCatalogue.drop(old, in: transaction)
            }
            try RegisteredCatalogue.store(index, in: transaction)
        }
        let options = TreeOptions(reduction: registration.reduction)
        guard let tree = try transaction.tree(index.treeName, create: work == .building, options: options) else {
            throw StorageError.corrupt(Corruption(tree: index.treeName, reason: "a registered index lacks its tree"))
        }
        let attended = AttendedIndex(registration: registration, tree: tree)
        switch work {
        case .none: break
        case .completion: try transaction.completeReductions(tree)
        case .missedRows:
            do {
                try catchUp(index, attended, type)
            } catch is HornbeamError {
                // A row as it was can't be read, say. What the rows are now is enough to build it.
                return try run(.building)
            }
            try transaction.completeReductions(tree)
        case .building: try build(attended, type)
        }
        return (index, attended)
    }

    private func build(_ index: AttendedIndex, _ type: EntityType) throws {
        let follower = registration.emitter.follower(of: [index])
        var sorter = EntrySorter(transaction)
        var reports = StepProgress(
            .buildingIndex, type.name, registration.name, total: Int(clamping: try transaction.count(type.rows)),
            progress)
        var cursor = try transaction.cursor(type.rows)
        while try cursor.next() {
            guard cursor.key.count == 8, let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
            }
            let entries: [IndexEntry]
            do {
                entries = try follower.entries(rowID, try RowReader(cursor.value, of: type), in: 0)
            } catch let error as HornbeamError {
                throw HornbeamError(
                    error.code,
                    "index “\(registration.name)” can't be built over the \(type.name) of \(rowID): \(error.message)")
            }
            for entry in entries { try sorter.add(entry.key, flag: 0, value: entry.value) }
            try reports.advance()
        }
        try sorter.finish { key, _, value in try transaction.append(index.tree, key, value) }
        try reports.finish()
    }

    private func catchUp(_ stored: StoredIndex, _ index: AttendedIndex, _ type: EntityType) throws {
        guard let missed = try transaction.tree(stored.missedName) else { return }
        let follower = registration.emitter.follower(of: [index])
        var reports = StepProgress(
            .buildingIndex, type.name, registration.name, total: Int(clamping: try transaction.count(missed)), progress)
        var cursor = try transaction.cursor(missed)
        while try cursor.next() {
            guard cursor.key.count == 8, let rowID = RowID(key: cursor.key) else {
                throw StorageError.corrupt(Corruption(tree: stored.missedName, reason: "a key is no row id"))
            }
            let former = try MissedRow.row(Array(cursor.value))
            let changes = try (former ?? []).withUnsafeBytes { bytes in
                let old = try former.map { _ in try RowReader(bytes, of: type) }
                let new = try transaction.get(type.rows, rowID.key).map { try RowReader($0, of: type) }
                return try follower.changes(rowID, from: old, to: new)
            }
            for change in changes { try change.apply(in: transaction) }
            try reports.advance()
        }
        _ = try transaction.dropTree(stored.missedName)
        try reports.finish()
    }
}

/// A registered index, as a list of them shows it.
public struct RegisteredIndexDescription: Sendable, Equatable {
    public enum State: Sendable, Equatable {
        /// It follows every change.
        case current
        /// The program hasn't registered it since the database was opened. It has missed the changes of this many
        /// entities, and gets them when it is registered again.
        case unattended(missed: Int)
    }

    public let name: String
    public let entity: String
    public let kind: String
    public let version: String
    public let settings: [String: String]
    public let state: State
    /// Rows in it.
    public let entries: Int
    /// Of the pages that its tree takes, long values not counted.
    public let bytes: Int
}

extension Database {
    /// Gives the database an index: from now on it follows the entities, in the transactions that change them.
    ///
    /// If the file has it with the same version and settings, nothing is done; entities that were changed while it
    /// wasn't registered are looked at. Otherwise it is built from all entities, in one transaction that readers don't
    /// notice and other writers wait for; a crash leaves it absent, or as it was. `.indexMismatch` if the name is an
    /// index's of another kind, or over another entity type.
    ///
    /// - Parameter progress: called now and then while entities are looked at; throws to cancel.
    public func register(_ index: some RegisteredIndex, progress: MigrationProgress.Handler? = nil) throws {
        let registration = index.registration
        try indexing {
            guard models.contains(registration.model) else {
                throw HornbeamError(
                    .unregisteredEntity,
                    "index “\(registration.name)” is over \(registration.entity), which the database was opened without"
                )
            }
            try registration.check()
            if let reduction = registration.reduction { try store.register(reduction) }
            if isReadOnly { return try attendReadOnly(registration) }
            let transaction = try store.beginWrite()
            do {
                let work = IndexRegistering(
                    registration: registration, transaction: transaction, schema: schema, progress: progress)
                let kind = try work.work()
                let (stored, attended) = try work.run(kind)
                if kind == .none { transaction.durability = .none }
                try commit(transaction) { $0.adding(stored, attended) }
            } catch {
                transaction.abort()
                throw error
            }
        }
    }

    /// The same without blocking the caller's thread.
    public func register(
        _ index: some RegisteredIndex, progress: (@Sendable (MigrationProgress) throws -> Void)? = nil
    ) async throws {
        try await inWriterQueue { try $0.register(index, progress: progress) }
    }

    /// A file that is open for reading alone can't be brought up to the code: it must have the index already.
    private func attendReadOnly(_ registration: IndexRegistration) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        let work = IndexRegistering(registration: registration, transaction: read, schema: schema)
        switch try work.work() {
        case .none, .completion:
            let (stored, attended) = try work.run(.none)
            registry.withLock { $0 = $0.adding(stored, attended) }
        case .missedRows, .building:
            throw HornbeamError(
                .readOnly,
                "the file is open read-only, and its index “\(registration.name)” is absent, of another version or "
                    + "behind: register it once with the file open for writing")
        }
    }

    /// Drops a registered index, whether this program has registered it or not; whether there was one.
    @discardableResult
    public func unregister(_ name: String) throws -> Bool {
        try indexing {
            let transaction = try store.beginWrite()
            do {
                guard let stored = try RegisteredCatalogue.read(name, in: transaction) else {
                    transaction.abort()
                    return false
                }
                try RegisteredCatalogue.drop(stored, in: transaction)
                try commit(transaction) { $0.removing(name) }
                return true
            } catch {
                transaction.abort()
                throw error
            }
        }
    }

    /// Commits a transaction that changes the registered indexes.
    ///
    /// The next write begins before this commit is known to have succeeded or failed. It asks for the registered
    /// indexes when it has its turn, and waits here until they are those of the state that the file is in. So nobody
    /// else's change comes between, to be undone with this one. A transaction that has changed nothing commits too:
    /// that fails if the state that it was built on does.
    func commit(
        _ transaction: Transaction, _ change: (RegisteredIndexes) -> RegisteredIndexes
    ) throws(StorageError) {
        try registry.withLock { (registered) throws(StorageError) in
            let former = registered
            registered = change(former)
            do throws(StorageError) {
                try transaction.commit()
            } catch {
                registered = former
                throw error
            }
        }
    }

    /// The registered indexes that the file has, by name.
    public func registeredIndexes() throws -> [RegisteredIndexDescription] {
        try indexing {
            let attended = registered.attended
            let read = try store.beginRead()
            defer { read.abort() }
            return try RegisteredCatalogue.read(read).map { index in
                let tree = try read.tree(index.treeName)
                let missed = try read.tree(index.missedName).map { Int(clamping: try read.count($0)) } ?? 0
                let follows = attended[index.name]?.registration.identity == index.identity && missed == 0
                let isCurrent = follows || index.handKept != nil
                return RegisteredIndexDescription(
                    name: index.name, entity: index.record.entity, kind: index.record.kind,
                    version: index.record.version, settings: index.record.settings,
                    state: isCurrent ? .current : .unattended(missed: missed),
                    entries: try tree.map { Int(clamping: try read.count($0)) } ?? 0,
                    bytes: try tree.map { Int(clamping: try read.nodeBytes($0)) } ?? 0)
            }
        }
    }

    func indexing<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }
}
