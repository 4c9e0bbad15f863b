// SPDX-License-Identifier: Apache-2.0
// How the commands open a store: existing files only, unless the command makes one; read-only, unless it writes. Every
// store is closed again, also after an error, so that the next one to open it finds nothing to recover.

import Glibc
import HornbeamPages
import HornbeamTree

enum OpenStore {
    /// Milliseconds that a command waits for a program that has the store open.
    private static let lockWait = 2_000

    /// Opens the store at `path` without the right to write, for the length of `body`.
    static func reading<Result>(_ path: String, _ body: (TreeStore) throws -> Result) throws -> Result {
        try requireFile(path)
        var options = StoreOptions()
        options.readOnly = true
        options.createIfMissing = false
        options.lockWaitMilliseconds = lockWait
        let store: TreeStore
        do {
            store = try TreeStore.open(at: path, options: options)
        } catch StorageError.readOnly {
            // Its program was killed. Opening it for writing recovers it, as that program's next start would.
            options.readOnly = false
            store = try TreeStore.open(at: path, options: options)
        }
        return try closing(store, body)
    }

    /// One read transaction on the store at `path`.
    static func snapshot<Result>(_ path: String, _ body: (Transaction) throws -> Result) throws -> Result {
        try reading(path) { store in try store.reading(body) }
    }

    /// Opens the store at `path` for the length of `body`; makes it if `create` allows it.
    static func writing<Result>(
        _ path: String, create: Bool, _ body: (TreeStore) throws -> Result
    ) throws -> Result {
        if !create { try requireFile(path) }
        var options = StoreOptions()
        options.createIfMissing = create
        options.lockWaitMilliseconds = lockWait
        return try closing(try TreeStore.open(at: path, options: options), body)
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
        if access(path, F_OK) != 0, errno == ENOENT {
            throw CommandError("there is no file \(path); 'hornbeam schema apply \(path) SCHEMA.json' makes a store")
        }
    }
}

extension TreeStore {
    /// One read transaction for the length of `body`.
    func reading<Result>(_ body: (Transaction) throws -> Result) throws -> Result {
        let transaction = try beginRead()
        defer { transaction.abort() }
        return try body(transaction)
    }

    /// One write transaction for the length of `body`, which commits; rolled back if it throws.
    func writing<Result>(_ body: (Transaction) throws -> Result) throws -> Result {
        let transaction = try beginWrite()
        defer { transaction.abort() }
        return try body(transaction)
    }
}
