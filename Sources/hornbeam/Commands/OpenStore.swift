// SPDX-License-Identifier: Apache-2.0
// Opens stores for the commands: only existing files, unless the command makes one; read-only, unless it writes. Every
// store is closed again, even after an error, so that the next program that opens it has nothing to recover.

import Glibc
package import Hornbeam
import HornbeamPages
package import HornbeamTree
import Synchronization

enum OpenStore {
    /// Milliseconds that a command waits for a program that has the store open.
    private static let lockWait = 2_000

    /// Opens the store at `path` read-only while `body` runs.
    static func reading<Result>(_ path: String, _ body: (TreeStore) throws -> Result) throws -> Result {
        if let store = try heldStore(path) { return try body(store) }
        return try reading(path, key: StoreKeyFile.current, body)
    }

    /// A store that stays open for reading from one use to the next. A process can open a file only once, so this store
    /// is closed while the file is open for writing.
    private struct Held {
        let path: String
        var store: TreeStore?
        /// The transaction that BEGIN has opened. All reads of the store see its changes.
        var transaction: HeldTransaction?
    }

    private static let held = Mutex<Held?>(nil)

    /// Keeps the store at `path` open for reading, from its first use until the end of `body`.
    static func holding<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        held.withLock { $0 = Held(path: path) }
        defer { held.withLock { $0 = nil } }
        let result: Result
        do {
            result = try body()
        } catch {
            try? release()
            throw error
        }
        try release()
        return result
    }

    /// The store that is kept open, if that is the one at `path`.
    private static func heldStore(_ path: String) throws -> TreeStore? {
        guard let held = held.withLock({ $0 }), held.path == path else { return nil }
        try refuseTransaction(path)
        if let store = held.store { return store }
        try requireFile(path)
        let options = readingOptions(StoreKeyFile.current)
        let store: TreeStore
        do throws(StorageError) {
            store = try TreeStore.open(at: path, options: options)
        } catch {
            guard case .readOnly = error else { throw error }
            try recover(path, options, error).close()
            store = try TreeStore.open(at: path, options: options)
        }
        self.held.withLock { $0?.store = store }
        return store
    }

    /// Closes the store that is kept open. The next reader opens it again.
    private static func release() throws {
        let store = held.withLock { held in
            defer { held?.store = nil }
            return held?.store
        }
        try store?.close()
    }

    private static func readingOptions(_ key: (any StoreEncryption)?) -> StoreOptions {
        var options = StoreOptions()
        options.encryption = key
        options.readOnly = true
        options.createIfMissing = false
        options.lockWaitMilliseconds = lockWait
        return options
    }

    /// Opens the store at `path` read-only while `body` runs, with this key or without one.
    static func reading<Result>(
        _ path: String, key: (any StoreEncryption)?, _ body: (TreeStore) throws -> Result
    ) throws -> Result {
        try requireFile(path)
        return try closing(try open(path, readingOptions(key)), body)
    }

    private static func open(_ path: String, _ options: StoreOptions) throws(StorageError) -> TreeStore {
        do throws(StorageError) {
            return try TreeStore.open(at: path, options: options)
        } catch {
            guard case .readOnly = error else { throw error }
            return try recover(path, options, error)
        }
    }

    /// Recovers a store whose program was killed, by opening it for writing, as that program's next start would.
    /// - Parameter refusal: the error to throw if this process may not write to the store.
    private static func recover(
        _ path: String, _ options: StoreOptions, _ refusal: StorageError
    ) throws(StorageError) -> TreeStore {
        var options = options
        options.readOnly = false
        do throws(StorageError) {
            return try TreeStore.open(at: path, options: options)
        } catch {
            if case .io(_, _, let code) = error, [EACCES, EPERM, EROFS].contains(code) { throw refusal }
            throw error
        }
    }

    /// Runs `body` in a read transaction on the store at `path`, or in the transaction that is open on it.
    static func snapshot<Result>(_ path: String, _ body: (Transaction) throws -> Result) throws -> Result {
        try snapshot(path) { transaction, _ in try body(transaction) }
    }

    static func snapshot<Result>(
        _ path: String, _ body: (Transaction, TreeStore) throws -> Result
    ) throws -> Result {
        if let open = transaction(on: path) {
            try open.core.flush()
            return try body(open.core.transaction, open.store)
        }
        return try reading(path) { store in try store.reading { try body($0, store) } }
    }

    /// Runs `body` in a write transaction on the store at `path`, or in the transaction that is open on it. Commits
    /// only a transaction that it has begun.
    static func changing<Result>(_ path: String, _ body: (StoreTransaction) throws -> Result) throws -> Result {
        if let open = transaction(on: path) { return try body(open.core) }
        return try writing(path, create: false) { try $0.changing(body) }
    }

    // MARK: The transaction between BEGIN and COMMIT

    /// Whether a transaction is open on the store that is kept open.
    static var isInTransaction: Bool { held.withLock { $0?.transaction != nil } }

    private static func transaction(on path: String) -> HeldTransaction? {
        held.withLock { held in held.flatMap { $0.path == path ? $0.transaction : nil } }
    }

    /// Throws if a transaction is open. Used for work on the store as a whole, which sees only committed states.
    private static func refuseTransaction(_ path: String) throws {
        guard transaction(on: path) != nil else { return }
        throw CommandError("this can't run within a transaction: COMMIT or ROLLBACK ends it")
    }

    /// Begins a transaction on the store that is kept open. Other programs can't write until it ends.
    static func begin() throws {
        guard let path = held.withLock({ $0?.path }) else { return }
        let store = try openForWriting(path, create: false)
        do {
            let transaction = try HeldTransaction(store)
            held.withLock { $0?.transaction = transaction }
        } catch {
            try? store.close()
            throw error
        }
    }

    /// Ends the open transaction, even if this throws.
    /// - Parameter keeps: whether its changes are committed.
    static func endTransaction(keeps: Bool) throws {
        let open = held.withLock { held in
            defer { held?.transaction = nil }
            return held?.transaction
        }
        guard let open else { return }
        try closing(open.store) { _ in if keeps { try commit(open) } else { open.rollBack() } }
    }

    /// Commits the transaction. The message of an error tells whether the changes are kept.
    private static func commit(_ open: HeldTransaction) throws {
        do {
            try open.commit()
        } catch {
            var outcome = "the transaction is rolled back"
            // The journal may or may not hold the commit.
            if case .failed? = error as? StorageError { outcome = "it is unknown whether the transaction is committed" }
            throw CommandError("\(error); \(outcome)")
        }
    }

    /// Opens the store at `path` for writing while `body` runs. Makes it if there is none and `create` is true.
    static func writing<Result>(
        _ path: String, create: Bool, _ body: (TreeStore) throws -> Result
    ) throws -> Result {
        try closing(try openForWriting(path, create: create), body)
    }

    private static func openForWriting(_ path: String, create: Bool) throws -> TreeStore {
        try refuseTransaction(path)
        if !create { try requireFile(path) }
        try release()
        var options = StoreOptions()
        options.encryption = StoreKeyFile.current
        options.createIfMissing = create
        options.lockWaitMilliseconds = lockWait
        return try TreeStore.open(at: path, options: options)
    }

    /// Opens the store at `path` for writing, as a database without models, while `body` runs.
    static func database<Result>(_ path: String, _ body: (Database) throws -> Result) throws -> Result {
        try requireFile(path)
        try release()
        var options = Database.Options()
        options.createsIfMissing = false
        options.encryption = StoreKeyFile.current.map { Encryption($0) }
        options.lockWaitMilliseconds = lockWait
        let database = try Database(at: path, models: [], options: options)
        let result: Result
        do {
            result = try body(database)
        } catch {
            try? database.close()
            throw error
        }
        try database.close()
        return result
    }

    private static func closing<Result>(_ store: TreeStore, _ body: (TreeStore) throws -> Result) throws -> Result {
        let result: Result
        do {
            result = try body(store)
        } catch {
            // The first error is the one to report.
            try? store.close()
            throw error
        }
        try store.close()
        return result
    }

    private static func requireFile(_ path: String) throws {
        if path.isEmpty { throw CommandError("FILE is empty: name a store") }
        var file = stat()
        guard stat(path, &file) == 0 else {
            if errno != ENOENT { return }
            if lstat(path, &file) == 0 { throw CommandError("\(path) is a link that leads nowhere") }
            throw CommandError("there is no file \(path); 'hornbeam schema apply \(path) SCHEMA.json' makes a store")
        }
        // `hornbeam export FILE TYPE >> FILE` would append to the store.
        if OutputFile.isStandardOutput(file), file.st_mode & S_IFMT == S_IFREG {
            throw CommandError("standard output goes to the store \(path) itself: redirect it to another file")
        }
    }
}

extension TreeStore {
    /// Runs `body` in a read transaction.
    func reading<Result>(_ body: (Transaction) throws -> Result) throws -> Result {
        let transaction = try beginRead()
        defer { transaction.abort() }
        return try body(transaction)
    }

    /// Runs `body` in a write transaction over the entities, and commits it. Rolls it back if `body` throws.
    package func changing<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
        guard let schema = try reading({ try SchemaCatalogue.open([], in: $0) }) else {
            throw CommandError("the store has no entity types: 'hornbeam schema apply' makes some")
        }
        return try writing { transaction in
            let core = try StoreTransaction(writing: transaction, schema: schema)
            let result = try body(core)
            try core.commit()
            return result
        }
    }

    /// Runs `body` in a write transaction, which `body` must commit. Otherwise the transaction is rolled back.
    func writing<Result>(_ body: (Transaction) throws -> Result) throws -> Result {
        let transaction = try beginWrite()
        defer { transaction.abort() }
        return try body(transaction)
    }
}
