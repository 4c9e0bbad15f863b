// SPDX-License-Identifier: Apache-2.0
// How the commands open a store: existing files only, unless the command makes one; read-only, unless it writes.

import Glibc
import HornbeamPages
import HornbeamTree

enum OpenStore {
    /// Milliseconds that a command waits for a program that has the store open.
    private static let lockWait = 2_000

    /// Opens `path` without the right to write.
    static func reading(_ path: String) throws -> TreeStore {
        try requireFile(path)
        var options = StoreOptions()
        options.readOnly = true
        options.createIfMissing = false
        options.lockWaitMilliseconds = lockWait
        return try TreeStore.open(at: path, options: options)
    }

    /// Opens `path` to write; makes the store if `create` allows it.
    static func writing(_ path: String, create: Bool) throws -> TreeStore {
        if !create { try requireFile(path) }
        var options = StoreOptions()
        options.createIfMissing = create
        options.lockWaitMilliseconds = lockWait
        return try TreeStore.open(at: path, options: options)
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
}
