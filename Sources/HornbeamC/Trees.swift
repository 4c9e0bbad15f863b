// SPDX-License-Identifier: Apache-2.0
// Named trees and their entries: hb_tree_open to hb_count. Slices from C are checked before their bytes are read.
// Slices to C point into the engine's memory and are valid as hornbeam.h states. hb_get allocates nothing.

public import CHornbeam
import HornbeamPages
import HornbeamTree

extension TransactionHandle {
    /// Converts a tree's number from C code; `number` converts back. A number of another store becomes one that no tree
    /// has.
    @inline(__always)
    func treeID(_ tree: hb_tree) -> TreeID { TreeID(rawValue: TreeNumber.mix(tree, salt: store.treeSalt)) }

    @inline(__always)
    func number(_ tree: TreeID) -> hb_tree { TreeNumber.mix(tree.rawValue, salt: store.treeSalt) }

    /// Returns bytes of the engine to C.
    @inline(__always)
    func lend(_ bytes: Bytes) -> hb_slice {
        if isWritable { hasLent = true }
        return hb_slice(lending: bytes)
    }
}

/// Mixes the numbers of trees with a store's salt. It is its own inverse, and 0 stays a number that no tree has.
enum TreeNumber {
    @inline(__always)
    static func mix(_ number: UInt32, salt: UInt32) -> UInt32 {
        number == 0 || number == salt ? number : number ^ salt
    }
}

/// The address of an empty value that has no memory.
nonisolated(unsafe) private let emptyBytes = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))

extension hb_slice {
    static var none: hb_slice { hb_slice(data: nil, size: 0) }

    @inline(__always)
    init(lending bytes: Bytes) {
        self.init(data: bytes.baseAddress ?? emptyBytes, size: bytes.count)
    }

    /// The bytes of a slice from C. Throws `.invalid` for an impossible size, or NULL data.
    @inline(__always)
    var bytes: Bytes {
        get throws(StorageError) {
            guard size != 0 else { return Bytes(start: nil, count: 0) }
            // Sizes from half the address space up arrive as negative.
            guard size > 0 else { throw .invalid("a slice can't have \(UInt(bitPattern: size)) bytes") }
            guard data != nil else { throw .invalid("a slice has \(size) bytes, but its data is NULL") }
            return Bytes(start: data, count: size)
        }
    }

    @inline(__always)
    var key: Bytes {
        get throws(StorageError) {
            let bytes = try bytes
            guard !bytes.isEmpty else { throw .invalid("a key can't be empty") }
            return bytes
        }
    }
}

/// Runs `body` with both runs of bytes, copied if the change could move their memory.
@inline(__always)
private func withStable(
    _ first: Bytes, _ second: Bytes, of handle: TransactionHandle,
    _ body: (Bytes, Bytes) throws(StorageError) -> Int32
) throws(StorageError) -> Int32 {
    // A size beyond all limits can't be copied. The engine refuses it without reading the bytes.
    guard handle.hasLent, max(first.count, second.count) <= UInt32.max else { return try body(first, second) }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: first.count + second.count, alignment: 8)
    defer { copy.deallocate() }
    copy.copyMemory(from: first)
    UnsafeMutableRawBufferPointer(rebasing: copy[first.count...]).copyMemory(from: second)
    let result = try body(Bytes(rebasing: copy[..<first.count]), Bytes(rebasing: copy[first.count...]))
    // Slices returned before the change are invalid. (After a refused change they are still valid.)
    if result == Result.ok { handle.hasLent = false }
    return result
}

// ---- Trees

@c @implementation
public func hb_tree_open(
    _ txn: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ flags: UInt32, _ tree: UnsafeMutablePointer<hb_tree>?
) -> Int32 {
    openTree(txn, name, flags, reduction: nil, tree)
}

/// Opens a tree, or makes it. An existing tree must have the reduction, if one is requested.
func openTree(
    _ txn: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ flags: UInt32, reduction: String?,
    _ tree: UnsafeMutablePointer<hb_tree>?
) -> Int32 {
    guard let tree else { return Failure.invalid("opening a tree needs a place for it") }
    tree.pointee = 0
    return inTransaction(txn) { (handle) throws(StorageError) in
        let name = try text(name, "the tree's name")
        guard flags <= UInt32(HB_TREE_CREATE | HB_TREE_LZ4) else {
            throw .invalid("a tree can't have the flags \(flags)")
        }
        if let found = try handle.transaction.tree(name) {
            if let reduction { try handle.transaction.checkReduction(found, reduction) }
            tree.pointee = handle.number(found)
            return Result.ok
        }
        guard flags & UInt32(HB_TREE_CREATE) != 0 else { return Failure.notFound("a tree called “\(name)”") }
        var options = TreeOptions(isCompressed: flags & UInt32(HB_TREE_LZ4) != 0)
        if let reduction {
            guard let known = handle.store.reductions[reduction] else {
                throw .invalid("the store was opened without a reduction called “\(reduction)”")
            }
            options.reduction = known
        }
        return try handle.change { (transaction) throws(StorageError) in
            guard let made = try transaction.tree(name, create: true, options: options) else {
                return Failure.notFound("the new tree “\(name)”")
            }
            tree.pointee = handle.number(made)
            return Result.ok
        }
    }
}

@c @implementation
public func hb_tree_drop(_ txn: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        let name = try text(name, "the tree's name")
        return try handle.change { (transaction) throws(StorageError) in
            try transaction.dropTree(name) ? Result.ok : Failure.notFound("a tree called “\(name)”")
        }
    }
}

@c @implementation
public func hb_tree_list(
    _ txn: OpaquePointer?,
    _ each: (@convention(c) (_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?) -> Void)?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let each else { return Failure.invalid("hb_tree_list needs a function to call") }
    var names: [String] = []
    let result = inTransaction(txn) { (handle) throws(StorageError) in
        names = try handle.transaction.treeNames()
        return Result.ok
    }
    // Outside of the transaction, which the function may end.
    for name in names { name.withCString { each(context, $0) } }
    return result
}

// ---- Entries

@c @implementation
public func hb_get(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice, _ value_or_null: UnsafeMutablePointer<hb_slice>?
) -> Int32 {
    value_or_null?.pointee = .none
    return inTransaction(txn) { (handle) throws(StorageError) in
        guard let found = try handle.transaction.get(handle.treeID(tree), try key.key) else { return Result.notFound }
        value_or_null?.pointee = handle.lend(found)
        return Result.ok
    }
}

@c @implementation
public func hb_get_many(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ keys: UnsafePointer<hb_slice>?,
    _ values: UnsafeMutablePointer<hb_slice>?, _ count: Int
) -> Int32 {
    // Counts from half the address space up arrive as negative.
    guard count >= 0, count <= Int.max / MemoryLayout<hb_slice>.stride else {
        return Failure.invalid("hb_get_many can't read \(UInt(bitPattern: count)) keys")
    }
    guard count == 0 || (keys != nil && values != nil) else {
        return Failure.invalid("hb_get_many needs keys, and places for values")
    }
    let keys = UnsafeBufferPointer(start: keys, count: count)
    let values = UnsafeMutableBufferPointer(start: values, count: count)
    values.update(repeating: .none)
    let result = inTransaction(txn) { (handle) throws(StorageError) in
        for key in keys { _ = try key.key }
        try handle.transaction.getMany(
            handle.treeID(tree), count: count, key: { Bytes(start: keys[$0].data, count: keys[$0].size) },
            { (index, found) in if let found { values[index] = handle.lend(found) } })
        return Result.ok
    }
    if result != Result.ok { values.update(repeating: .none) }
    return result
}

@c @implementation
public func hb_put(_ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice, _ value: hb_slice) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            try withStable(try key.key, try value.bytes, of: handle) { (key, value) throws(StorageError) in
                try transaction.put(handle.treeID(tree), key, value)
                return Result.ok
            }
        }
    }
}

@c @implementation
public func hb_append(_ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice, _ value: hb_slice) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            try withStable(try key.key, try value.bytes, of: handle) { (key, value) throws(StorageError) in
                try transaction.append(handle.treeID(tree), key, value)
                return Result.ok
            }
        }
    }
}

@c @implementation
public func hb_delete(_ txn: OpaquePointer?, _ tree: hb_tree, _ key: hb_slice) -> Int32 {
    inTransaction(txn) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            try withStable(try key.key, .init(start: nil, count: 0), of: handle) { (key, _) throws(StorageError) in
                try transaction.delete(handle.treeID(tree), key) ? Result.ok : Result.notFound
            }
        }
    }
}

@c @implementation
public func hb_delete_range(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ from: hb_slice, _ to: hb_slice,
    _ deleted_or_null: UnsafeMutablePointer<UInt64>?
) -> Int32 {
    deleted_or_null?.pointee = 0
    return inTransaction(txn) { (handle) throws(StorageError) in
        try handle.change { (transaction) throws(StorageError) in
            let hadLent = handle.hasLent
            var deleted: UInt64 = 0
            let result = try withStable(try from.bytes, try to.bytes, of: handle) { (from, to) throws(StorageError) in
                deleted = try transaction.deleteRange(handle.treeID(tree), from: from, to: to)
                return Result.ok
            }
            deleted_or_null?.pointee = deleted
            // If nothing was changed, slices returned earlier stay valid.
            handle.hasLent = handle.hasLent || hadLent && deleted == 0
            return result
        }
    }
}

@c @implementation
public func hb_count(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ from: hb_slice, _ to: hb_slice,
    _ count: UnsafeMutablePointer<UInt64>?
) -> Int32 {
    guard let count else { return Failure.invalid("hb_count needs a place for the count") }
    count.pointee = 0
    return inTransaction(txn) { (handle) throws(StorageError) in
        count.pointee = try handle.transaction.count(
            handle.treeID(tree), from: try from.bytes, to: try to.bytes)
        return Result.ok
    }
}
