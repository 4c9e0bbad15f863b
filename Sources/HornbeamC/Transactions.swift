// SPDX-License-Identifier: Apache-2.0
// hb_begin to hb_abort, and what every operation of a transaction goes through: a live handle, the right to write. A
// transaction and its cursors belong to one thread at a time, so nothing here locks; looking a transaction up must not
// count references.

import CHornbeam
import HornbeamPages
import HornbeamTree

/// A transaction in the hands of C code.
final class TransactionHandle: HandleObject {
    static var kind: HandleKind { .transaction }

    let store: StoreHandle
    /// What is left when the transaction ends, so that the store can be closed.
    private let entered: OpaquePointer?
    let transaction: Transaction
    let isWritable: Bool
    /// Set when a slice of a write transaction's memory went out. Until the next change such a slice may come back
    /// as that change's argument, and is copied first: the change would move it.
    @exclusivity(unchecked) var hasLent = false
    /// The head of the list of its open cursors.
    @exclusivity(unchecked) var cursors: Unmanaged<CursorHandle>?

    init(_ transaction: Transaction, of store: StoreHandle, entered: OpaquePointer?) {
        self.transaction = transaction
        self.store = store
        self.entered = entered
        isWritable = transaction.isWritable
    }

    /// Runs a change, in a write transaction only. The engine itself refuses to commit after a change that failed
    /// midway.
    @inline(__always)
    func change(_ body: (Transaction) throws(StorageError) -> Int32) throws(StorageError) -> Int32 {
        guard isWritable else { throw .readOnly("a change in a read transaction: begin it with HB_WRITE") }
        store.writer.hold()
        return try body(transaction)
    }

    /// Ends the transaction; its handle must be gone from the table already.
    func end(committing: Bool) -> Int32 {
        endCursors()
        var result = Result.ok
        do throws(StorageError) {
            if isWritable {
                store.writer.hold()
                defer { store.writer.letGo() }
                if committing { try transaction.commit() } else { transaction.abort() }
            } else {
                defer { store.trees.endRead(transaction) }
                if committing { try transaction.checkIsWhole() }
            }
        } catch {
            result = Failure.report(error)
        }
        HandleTable.leave(entered)
        return result
    }

    private func endCursors() {
        while let cursor = cursors?.takeUnretainedValue() { cursor.end() }
    }
}

/// Runs `body` with the transaction behind `handle`.
@inline(__always)
func inTransaction(
    _ handle: OpaquePointer?, _ body: (TransactionHandle) throws(StorageError) -> Int32
) -> Int32 {
    guard let unmanaged = HandleTable.find(handle, TransactionHandle.self) else {
        return Failure.invalid("the transaction's handle is NULL, has ended, or is no transaction's")
    }
    return unmanaged._withUnsafeGuaranteedRef { transaction in
        do throws(StorageError) { return try body(transaction) } catch { return Failure.report(error) }
    }
}

@c @implementation
public func hb_begin(
    _ store: OpaquePointer?, _ mode: UInt32, _ txn: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let txn else { return Failure.invalid("hb_begin needs a place for the transaction") }
    txn.pointee = nil
    guard mode <= UInt32(HB_WRITE | HB_NOWAIT) else {
        return Failure.invalid("the mode \(mode): it must be HB_READ, HB_WRITE or HB_WRITE|HB_NOWAIT")
    }
    let entered = store
    return inStore(store) { (store) throws(StorageError) in
        let transaction =
            mode & UInt32(HB_WRITE) == 0
            ? try store.trees.beginRead()
            : try beginWrite(store, waits: mode & UInt32(HB_NOWAIT) == 0)
        do throws(StorageError) {
            txn.pointee = try HandleTable.insert(TransactionHandle(transaction, of: store, entered: entered))
        } catch {
            transaction.abort()
            // A read's end is nothing to the write transaction that this thread may hold beside it.
            if transaction.isWritable { store.writer.letGo() }
            throw error
        }
        return (Result.ok, staysInside: true)
    }
}

private func beginWrite(_ store: StoreHandle, waits: Bool) throws(StorageError) -> Transaction {
    let own = StorageError.invalid(
        "this thread holds the open write transaction and would wait for itself: commit or abort that first")
    let transaction =
        waits
        ? try store.writer.waiting(orThrow: own) { () throws(StorageError) in try store.trees.beginWrite() }
        : try store.trees.beginWrite(waiting: false)
    store.writer.hold()
    return transaction
}

@c @implementation
public func hb_durability(_ txn: OpaquePointer?, _ durability: UInt32) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        guard handle.isWritable else { throw .readOnly("a read transaction has no durability") }
        guard let durability = Durability(rawValue: durability) else {
            throw .invalid("the durability \(durability): it must be one of HB_DURABLE_…")
        }
        handle.transaction.durability = durability
        return Result.ok
    }
}

@c @implementation
public func hb_commit(_ txn: OpaquePointer?) -> Int32 {
    guard let transaction = HandleTable.remove(txn, TransactionHandle.self) else {
        return Failure.invalid("the transaction's handle is NULL, has ended, or is no transaction's")
    }
    return transaction.end(committing: true)
}

@c @implementation
public func hb_abort(_ txn: OpaquePointer?) {
    _ = HandleTable.remove(txn, TransactionHandle.self)?.end(committing: false)
}
