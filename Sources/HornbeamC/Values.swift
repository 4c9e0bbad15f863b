// SPDX-License-Identifier: Apache-2.0
// Long values in parts: hb_get_part, and hb_put_begin to hb_put_cancel. A value's handle may outlive its transaction;
// then the engine refuses its operations.

public import CHornbeam
import HornbeamPages
import HornbeamTree

/// A value being written that C code has a handle of.
final class ValueHandle: HandleObject {
    static var kind: HandleKind { .value }

    let writer: ValueWriter
    /// The transaction's handle, which is looked up each time.
    let transaction: OpaquePointer?

    init(_ writer: ValueWriter, of transaction: OpaquePointer?) {
        self.writer = writer
        self.transaction = transaction
    }
}

private let noValue = "the value's handle is NULL, has ended, or is no value's"

@c @implementation
public func hb_get_part(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice, _ offset: UInt64, _ target: UnsafeMutableRawPointer?,
    _ size: Int, _ copied: UnsafeMutablePointer<Int>?, _ value_size_or_null: UnsafeMutablePointer<UInt64>?
) -> Int32 {
    guard let copied else { return Failure.invalid("hb_get_part needs a place for the number of bytes") }
    copied.pointee = 0
    value_size_or_null?.pointee = 0
    return inTransaction(txn) { (handle) throws(StorageError) in
        // Sizes from half the address space up arrive as negative.
        guard size >= 0, size == 0 || target != nil else {
            throw .invalid("a place can't have \(UInt(bitPattern: size)) bytes" + (target == nil ? " and be NULL" : ""))
        }
        guard let reader = try handle.transaction.valueReader(handle.treeID(tree), try key.key) else {
            return Result.notFound
        }
        copied.pointee = try reader.read(
            at: offset, into: UnsafeMutableRawBufferPointer(start: target, count: size))
        value_size_or_null?.pointee = reader.size
        return Result.ok
    }
}

@c @implementation
public func hb_put_begin(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice, _ size: UInt64,
    _ value: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let value else { return Failure.invalid("hb_put_begin needs a place for the value's handle") }
    value.pointee = nil
    return inTransaction(txn) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            let writer = try transaction.valueWriter(handle.treeID(tree), try key.key, size: size)
            value.pointee = try HandleTable.insert(ValueHandle(writer, of: txn))
            return Result.ok
        }
    }
}

@c @implementation
public func hb_put_more(_ value: OpaquePointer?, _ bytes: hb_slice) -> Int32 {
    guard let unmanaged = HandleTable.find(value, ValueHandle.self) else { return Failure.invalid(noValue) }
    return unmanaged._withUnsafeGuaranteedRef { (value) in
        inTransaction(value.transaction) { (handle) throws(StorageError) in
            try handle.change { (_) throws(StorageError) in
                try value.writer.append(try bytes.bytes)
                return Result.ok
            }
        }
    }
}

@c @implementation
public func hb_put_end(_ value: OpaquePointer?) -> Int32 {
    guard let value = HandleTable.remove(value, ValueHandle.self) else { return Failure.invalid(noValue) }
    return inTransaction(value.transaction) { (handle) throws(StorageError) in
        try handle.change { (_) throws(StorageError) in
            try value.writer.finish()
            // Slices returned before the change are invalid.
            handle.hasLent = false
            return Result.ok
        }
    }
}

@c @implementation
public func hb_put_cancel(_ value_or_null: OpaquePointer?) {
    HandleTable.remove(value_or_null, ValueHandle.self)?.writer.cancel()
}
