// SPDX-License-Identifier: Apache-2.0
// hb_begin to hb_abort, and the checks of every operation of a transaction: a live handle, the right to write. A
// transaction and its cursors belong to one thread at a time, so nothing here locks. Looking up a transaction must not
// count references.

import CHornbeam
import HornbeamPages
import HornbeamTree

/// A transaction that C code has a handle of.
final class TransactionHandle: HandleObject {
    static var kind: HandleKind { .transaction }

    let store: StoreHandle
    /// The stripe to leave when the transaction ends, so that the store can be closed.
    @exclusivity(unchecked) private var entered: StripedCount.Stripe
    let transaction: Transaction
    let isWritable: Bool
    /// Whether a slice of a write transaction's memory was returned to the program. Until the next change such a slice
    /// may be an argument of that change, and is copied first, because the change would move it.
    @exclusivity(unchecked) var hasLent = false
    /// The transaction's handle. It has ended if the transaction has.
    @exclusivity(unchecked) private(set) var handle: OpaquePointer?
    /// The head of the list of its open cursors.
    @exclusivity(unchecked) var cursors: Unmanaged<CursorHandle>?

    init(_ transaction: Transaction, of store: StoreHandle, entered: StripedCount.Stripe) {
        self.transaction = transaction
        self.store = store
        self.entered = entered
        isWritable = transaction.isWritable
    }

    /// Runs a change. Throws `.readOnly` in a read transaction. The engine itself refuses to commit after a change that
    /// failed midway.
    @inline(__always)
    func change(_ body: (Transaction) throws(StorageError) -> Int32) throws(StorageError) -> Int32 {
        guard isWritable else { throw .readOnly("a read transaction can't change anything: begin one with HB_WRITE") }
        store.writer.hold()
        return try body(transaction)
    }

    /// Gives the transaction a handle for C.
    func join() throws(StorageError) -> OpaquePointer? {
        handle = try HandleTable.insert(self)
        return handle
    }

    /// Begins an ended read again, with the next handle of its slot.
    @inline(__always)
    func resume(into place: UnsafeMutablePointer<OpaquePointer?>, entered: StripedCount.Stripe) -> Int32 {
        do throws(StorageError) { try transaction.resume() } catch { return Failure.report(error) }
        self.entered = entered
        handle = HandleTable.resume(handle)
        place.pointee = handle
        return Result.ok
    }

    /// Ends the transaction of `handle`. Returns nil if there is none.
    static func end(_ handle: OpaquePointer?, committing: Bool) -> Int32? {
        guard let suspended = HandleTable.suspend(handle, TransactionHandle.self) else { return nil }
        guard suspended._withUnsafeGuaranteedRef({ $0.isWritable }) else {
            return endRead(suspended, committing: committing)
        }
        let transaction = suspended.takeUnretainedValue()
        transaction.drop()
        return transaction.endWrite(committing: committing)
    }

    /// Ends a read. The transaction and its slot are kept for the next read if there is room. Another thread may own
    /// them from then on.
    @inline(__always)
    private static func endRead(_ read: Unmanaged<TransactionHandle>, committing: Bool) -> Int32 {
        let (result, waits, idle, entered) = read._withUnsafeGuaranteedRef { (read) in
            let (result, waits) = read.endRead(committing: committing)
            return (result, waits, Unmanaged.passUnretained(read.store.idleReads), read.entered)
        }
        // (The store lives at least until it is left.)
        let isKept = waits && idle._withUnsafeGuaranteedRef { $0.give(read.toOpaque()) }
        if !isKept { read.takeUnretainedValue().drop() }
        entered.leave()
        return result
    }

    private func endWrite(committing: Bool) -> Int32 {
        endCursors()
        var result = Result.ok
        do throws(StorageError) {
            store.writer.hold()
            defer { store.writer.letGo() }
            if committing { try transaction.commit() } else { transaction.abort() }
        } catch {
            result = Failure.report(error)
        }
        entered.leave()
        return result
    }

    /// Ends the read. Returns whether it may begin again.
    private func endRead(committing: Bool) -> (result: Int32, waits: Bool) {
        if cursors != nil { endCursors() }
        var result = Result.ok
        if committing {
            do throws(StorageError) { try transaction.checkIsWhole() } catch { result = Failure.report(error) }
        }
        return (result, transaction.suspend())
    }

    /// Releases the transaction, whose handle was suspended, and its slot.
    func drop() { HandleTable.discard(handle, TransactionHandle.self) }

    private func endCursors() {
        while let cursor = cursors?.takeUnretainedValue() { cursor.end() }
    }
}

/// Runs `body` with the transaction of `handle`.
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
        return Failure.invalid("the mode is \(mode): it must be HB_READ, HB_WRITE or HB_WRITE|HB_NOWAIT")
    }
    return enteringStore(store) { (store, entered) throws(StorageError) in
        if mode & UInt32(HB_WRITE) == 0, let idle = store.idleReads.take() {
            let read = Unmanaged<TransactionHandle>.fromOpaque(idle)
            let result = read._withUnsafeGuaranteedRef { $0.resume(into: txn, entered: entered) }
            if result != Result.ok { read.takeUnretainedValue().drop() }
            return (result, staysInside: result == Result.ok)
        }
        let transaction =
            mode & UInt32(HB_WRITE) == 0
            ? try store.trees.beginRead()
            : try beginWrite(store, waits: mode & UInt32(HB_NOWAIT) == 0)
        do throws(StorageError) {
            txn.pointee = try TransactionHandle(transaction, of: store, entered: entered).join()
        } catch {
            transaction.abort()
            // The end of a read has no effect on the write transaction that this thread may also have.
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
        : try store.trees.beginWrite(.no)
    store.writer.hold()
    return transaction
}

@c @implementation
public func hb_durability(_ txn: OpaquePointer?, _ durability: UInt32) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        guard handle.isWritable else { throw .readOnly("a read transaction has no durability") }
        guard let durability = Durability(rawValue: durability) else {
            throw .invalid("the durability is \(durability): it must be one of HB_DURABLE_…")
        }
        handle.transaction.durability = durability
        return Result.ok
    }
}

@c @implementation
public func hb_commit(_ txn: OpaquePointer?) -> Int32 {
    TransactionHandle.end(txn, committing: true)
        ?? Failure.invalid("the transaction's handle is NULL, has ended, or is no transaction's")
}

@c @implementation
public func hb_abort(_ txn: OpaquePointer?) {
    _ = TransactionHandle.end(txn, committing: false)
}
