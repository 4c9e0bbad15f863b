// SPDX-License-Identifier: Apache-2.0
// Cursors: hb_cursor_open to hb_cursor_close. The engine's cursor can't outlive its transaction, but its handle can:
// the end of a transaction takes the engine's cursors away, and their handles return HB_INVALID until they are closed.
// Moving allocates nothing and counts no references.

public import CHornbeam
import HornbeamPages
import HornbeamTree

/// A cursor that C code has a handle of. It is in its transaction's list while that lives.
final class CursorHandle: HandleObject {
    static var kind: HandleKind { .cursor }

    /// The engine's cursor; nil once the transaction has ended. In separate memory, so that a move needs no exclusivity
    /// check.
    @exclusivity(unchecked) private(set) var place: UnsafeMutablePointer<Cursor>?
    /// The transaction lives as long as `place`: it ends its cursors before it goes.
    private let owner: Unmanaged<TransactionHandle>
    private let isWritable: Bool
    private var next: Unmanaged<CursorHandle>?
    private var previous: Unmanaged<CursorHandle>?

    init(_ cursor: consuming Cursor, of owner: TransactionHandle) {
        let place = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
        place.initialize(to: cursor)
        self.place = place
        self.owner = Unmanaged.passUnretained(owner)
        isWritable = owner.isWritable
    }

    deinit { end() }

    /// Adds the cursor to the transaction's list. Called once, when the table has the cursor.
    func join() {
        let owner = owner.takeUnretainedValue()
        next = owner.cursors
        next?.takeUnretainedValue().previous = Unmanaged.passUnretained(self)
        owner.cursors = Unmanaged.passUnretained(self)
    }

    /// Ends the engine's cursor and leaves the transaction's list.
    func end() {
        guard let place else { return }
        self.place = nil
        place.deinitialize(count: 1)
        place.deallocate()
        if let previous {
            previous.takeUnretainedValue().next = next
        } else if owner.takeUnretainedValue().cursors?.toOpaque() == Unmanaged.passUnretained(self).toOpaque() {
            owner.takeUnretainedValue().cursors = next
        }
        next?.takeUnretainedValue().previous = previous
        next = nil
        previous = nil
    }

    /// Notes that the returned memory must stay until the transaction's next change.
    @inline(__always)
    func noteLent() {
        if isWritable { owner._withUnsafeGuaranteedRef { $0.hasLent = true } }
    }

    /// The key and value at the cursor; nil if it stands on no entry.
    @inline(__always)
    func entry(_ place: UnsafeMutablePointer<Cursor>) throws(StorageError) -> (key: hb_slice, value: hb_slice)? {
        guard let entry = try place.pointee.entry() else { return nil }
        noteLent()
        return (hb_slice(lending: entry.key), hb_slice(lending: entry.value))
    }
}

/// Runs `body` with the cursor behind `handle` and its place.
@inline(__always)
private func inCursor(
    _ handle: OpaquePointer?,
    _ body: (CursorHandle, UnsafeMutablePointer<Cursor>) throws(StorageError) -> Bool
) -> Int32 {
    guard let unmanaged = HandleTable.find(handle, CursorHandle.self) else {
        return Failure.invalid("the cursor's handle is NULL, was closed, or is no cursor's")
    }
    return unmanaged._withUnsafeGuaranteedRef { cursor in
        guard let place = cursor.place else { return Failure.invalid("the cursor's transaction has ended") }
        do throws(StorageError) {
            return try body(cursor, place) ? Result.ok : Result.notFound
        } catch {
            return Failure.report(error)
        }
    }
}

@c @implementation
public func hb_cursor_open(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ cursor: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let cursor else { return Failure.invalid("hb_cursor_open needs a place for the cursor") }
    cursor.pointee = nil
    return inTransaction(txn) { (handle) throws(StorageError) in
        let tree = handle.treeID(tree)
        // The engine may notice a missing tree only at the first move.
        _ = try handle.transaction.count(tree)
        let opened = CursorHandle(try handle.transaction.cursor(tree), of: handle)
        cursor.pointee = try HandleTable.insert(opened)
        opened.join()
        return Result.ok
    }
}

@c @implementation
public func hb_cursor_seek(_ cursor: OpaquePointer?, _ key: hb_slice) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.seek(try key.key) }
}

@c @implementation
public func hb_cursor_seek_last(_ cursor: OpaquePointer?, _ key: hb_slice) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.seekLast(try key.key) }
}

@c @implementation
public func hb_cursor_first(_ cursor: OpaquePointer?) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.first() }
}

@c @implementation
public func hb_cursor_last(_ cursor: OpaquePointer?) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.last() }
}

@c @implementation
public func hb_cursor_next(_ cursor: OpaquePointer?) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.next() }
}

@c @implementation
public func hb_cursor_prev(_ cursor: OpaquePointer?) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.previous() }
}

@c @implementation
public func hb_cursor_at(_ cursor: OpaquePointer?, _ index: UInt64) -> Int32 {
    inCursor(cursor) { (_, place) throws(StorageError) in try place.pointee.seek(index: index) }
}

@c @implementation
public func hb_cursor_entry(
    _ cursor: OpaquePointer?, _ key_or_null: UnsafeMutablePointer<hb_slice>?,
    _ value_or_null: UnsafeMutablePointer<hb_slice>?
) -> Int32 {
    key_or_null?.pointee = .none
    value_or_null?.pointee = .none
    return inCursor(cursor) { (cursor, place) throws(StorageError) in
        guard let entry = try cursor.entry(place) else { return false }
        key_or_null?.pointee = entry.key
        value_or_null?.pointee = entry.value
        return true
    }
}

/// Maximum number of entries in a call that leaves out their keys or values.
private let unwantedRoom = 512

/// Implements hb_cursor_read and hb_cursor_read_back.
@inline(__always)
private func read(
    isForward: Bool, _ cursor: OpaquePointer?, _ keys: UnsafeMutablePointer<hb_slice>?,
    _ values: UnsafeMutablePointer<hb_slice>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> Int32 {
    count?.pointee = 0
    guard let count else { return Failure.invalid("reading entries needs a place for their number") }
    // Counts from half the address space up arrive as negative.
    guard capacity > 0, capacity <= Int.max / MemoryLayout<hb_slice>.stride else {
        return Failure.invalid("entries can't be read into \(UInt(bitPattern: capacity)) places")
    }
    return inCursor(cursor) { (cursor, place) throws(StorageError) in
        // Both types are an address and a size.
        let keys = keys.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: EntryPart.self) }
        let values = values.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: EntryPart.self) }
        if let keys, let values {
            count.pointee = try place.pointee.read(
                isForward: isForward, keys: keys, values: values, capacity: capacity)
        } else {
            // Unwanted keys or values go into scratch memory, so that the loop needs no test for each entry.
            let capacity = min(capacity, unwantedRoom)
            let room = UnsafeMutablePointer<EntryPart>.allocate(capacity: capacity)
            defer { room.deallocate() }
            count.pointee = try place.pointee.read(
                isForward: isForward, keys: keys ?? room, values: values ?? room, capacity: capacity)
        }
        cursor.noteLent()
        return count.pointee > 0
    }
}

@c @implementation
public func hb_cursor_read(
    _ cursor: OpaquePointer?, _ keys_or_null: UnsafeMutablePointer<hb_slice>?,
    _ values_or_null: UnsafeMutablePointer<hb_slice>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> Int32 {
    read(isForward: true, cursor, keys_or_null, values_or_null, capacity, count)
}

@c @implementation
public func hb_cursor_read_back(
    _ cursor: OpaquePointer?, _ keys_or_null: UnsafeMutablePointer<hb_slice>?,
    _ values_or_null: UnsafeMutablePointer<hb_slice>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> Int32 {
    read(isForward: false, cursor, keys_or_null, values_or_null, capacity, count)
}

@c @implementation
public func hb_cursor_close(_ cursor: OpaquePointer?) {
    HandleTable.remove(cursor, CursorHandle.self)?.end()
}
