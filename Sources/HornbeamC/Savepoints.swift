// SPDX-License-Identifier: Apache-2.0
// Savepoints of a write transaction: hb_save, hb_rollback, hb_release. A savepoint is a number that no other savepoint
// of its transaction has, so that a released one, or one of another transaction, is recognised.

public import CHornbeam
import HornbeamPages
import HornbeamTree

/// Runs `body` with the write transaction of `handle`. Slices that it returned earlier end with that.
private func inWrite(
    _ handle: OpaquePointer?, _ body: (Transaction) throws(StorageError) -> Void
) -> Int32 {
    inTransaction(handle) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            try body(transaction)
            handle.hasLent = false
            return Result.ok
        }
    }
}

@c @implementation
public func hb_save(_ txn: OpaquePointer?, _ savepoint: UnsafeMutablePointer<hb_savepoint>?) -> Int32 {
    guard let savepoint else { return Failure.invalid("hb_save needs a place for the savepoint") }
    savepoint.pointee = 0
    return inWrite(txn) { (transaction) throws(StorageError) in
        savepoint.pointee = try transaction.savepoint().number
    }
}

@c @implementation
public func hb_rollback(_ txn: OpaquePointer?, _ savepoint: hb_savepoint) -> Int32 {
    inWrite(txn) { (transaction) throws(StorageError) in
        try transaction.rollback(to: Savepoint(number: savepoint))
    }
}

@c @implementation
public func hb_release(_ txn: OpaquePointer?, _ savepoint: hb_savepoint) -> Int32 {
    inWrite(txn) { (transaction) throws(StorageError) in
        try transaction.release(Savepoint(number: savepoint))
    }
}
