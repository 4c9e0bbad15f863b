// SPDX-License-Identifier: Apache-2.0
// A transaction's changes as the journal keeps them: logical operations, so that a replay gives equal content on other
// pages. Reading validates every length, because the bytes come from a file.
//
// Operation: kind u8 · tree u32 · size of a u32 · size of b u32 · a · b. All integers little-endian.

import HornbeamPages

enum RedoKind: UInt8 {
    /// a: the name, b: the options, empty if there are none.
    case create = 1
    case drop = 2
    /// a: key, b: value.
    case put = 3
    /// a: key.
    case delete = 4
    /// a, b: bounds; an empty bound is open.
    case deleteRange = 5

    /// Many puts. a: the size of each key u8, of each value u8; b: keys and values, one entry after the other. The
    /// reader returns single puts.
    static var putRun: UInt8 { 6 }
    /// Many deletes in this form, with values of 0 bytes.
    static var deleteRun: UInt8 { 7 }
}

/// Collects operations while a transaction works. Part of a store's writer memory.
final class RedoLog {
    static let headerSize = 13
    /// Capacity that is kept for the next transaction.
    private static let keptCapacity = 1 << 20

    @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private var size = 0
    @exclusivity(unchecked) private var limit = 0
    @exclusivity(unchecked) private var isComplete = true
    /// Size of the operations that were not kept, including those that were dropped because they were too many.
    @exclusivity(unchecked) private var lostSize = 0

    deinit { memory?.deallocate() }

    /// Starts over for a transaction whose log may have `limit` bytes. Beyond that nothing is kept.
    func begin(limit: Int) {
        if capacity > Self.keptCapacity { release() }
        size = 0
        lostSize = 0
        self.limit = limit
        isComplete = limit > 0
    }

    /// The operations; nil if they were too many.
    var bytes: Bytes? { isComplete ? Bytes(start: memory, count: size) : nil }

    /// The size that a log that became too long would have had; 0 if it didn't, or if it was given up for another
    /// reason.
    var missingSize: Int { isComplete ? 0 : lostSize }

    /// Notes that the transaction has changes that are not in the log, so that it commits with a checkpoint.
    func giveUp() {
        isComplete = false
        lostSize = 0
        release()
    }

    /// The position of the next operation.
    var mark: Int { size }

    /// Forgets the operations added since `mark`, which changed nothing. A log that was given up stays so.
    func takeBack(to mark: Int) {
        if isComplete { size = mark }
    }

    func add(
        _ kind: RedoKind, tree: UInt32, _ a: Bytes = Bytes(start: nil, count: 0), _ b: Bytes? = nil
    ) {
        add(kind.rawValue, tree: tree, a, b)
    }

    @inline(__always)
    private func add(_ kind: UInt8, tree: UInt32, _ a: Bytes, _ b: Bytes?) {
        let second = b ?? Bytes(start: nil, count: 0)
        guard isComplete else {
            if lostSize > 0 { lostSize &+= Self.headerSize &+ a.count &+ second.count }
            return
        }
        let needed = size + Self.headerSize + a.count + second.count
        guard needed <= limit else {
            isComplete = false
            lostSize = limit > 0 ? needed : 0
            return release()
        }
        if needed > capacity { grow(to: needed) }
        guard let memory else { return }
        let start = memory + size
        start.storeBytes(of: kind, as: UInt8.self)
        start.write32(tree, 1)
        start.write32(UInt32(truncatingIfNeeded: a.count), 5)
        start.write32(UInt32(truncatingIfNeeded: second.count), 9)
        (start + Self.headerSize).copy(a)
        (start + (Self.headerSize + a.count)).copy(second)
        size = needed
    }

    /// Adds the puts of many entries, or the deletes of many keys, as one operation.
    func add(_ run: EntryRun, tree: UInt32, isDeleting: Bool = false) {
        let sizes = (UInt8(truncatingIfNeeded: run.keySize), UInt8(truncatingIfNeeded: run.valueSize))
        let kind = isDeleting ? RedoKind.deleteRun : RedoKind.putRun
        withUnsafeBytes(of: sizes) { add(kind, tree: tree, $0, run.bytes) }
    }

    private func grow(to needed: Int) {
        let larger = max(4096, needed, min(capacity * 2, limit))
        let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        if let memory {
            new.copyMemory(from: memory, byteCount: size)
            memory.deallocate()
        }
        memory = new
        capacity = larger
    }

    private func release() {
        memory?.deallocate()
        memory = nil
        capacity = 0
        size = 0
    }
}

/// One operation, in the journal's format.
struct RedoOperation {
    var kind: RedoKind
    var tree: UInt32
    var a: Bytes
    var b: Bytes
}

/// Reads a log.
struct RedoReader {
    private var rest: Bytes
    /// The puts or deletes of a run that are still to be returned.
    private var run: (kind: RedoKind, entries: Bytes, tree: UInt32, keySize: Int, valueSize: Int)?

    init(_ bytes: Bytes) { rest = bytes }

    /// Returns the next operation; nil at the end. Throws `.corrupt` if the log is damaged.
    mutating func next() throws(StorageError) -> RedoOperation? {
        if let operation = nextOfRun() { return operation }
        guard !rest.isEmpty else { return nil }
        guard rest.count >= RedoLog.headerSize, let start = rest.baseAddress else {
            throw damaged("ends within an operation")
        }
        let number = start.load(as: UInt8.self)
        let kind: RedoKind? =
            switch number {
            case RedoKind.putRun: .put
            case RedoKind.deleteRun: .delete
            default: RedoKind(rawValue: number)
            }
        guard let kind else { throw damaged("has an operation of unknown kind \(number)") }
        let sizeA = Int(start.read32(5))
        let sizeB = Int(start.read32(9))
        let end = RedoLog.headerSize + sizeA + sizeB
        guard end <= rest.count else { throw damaged("ends within an operation") }
        let operation = RedoOperation(
            kind: kind, tree: start.read32(1),
            a: Bytes(start: start + RedoLog.headerSize, count: sizeA),
            b: Bytes(start: start + (RedoLog.headerSize + sizeA), count: sizeB))
        rest = Bytes(rebasing: rest[end...])
        guard number == RedoKind.putRun || number == RedoKind.deleteRun else { return operation }
        try begin(operation)
        return nextOfRun()
    }

    private mutating func begin(_ operation: RedoOperation) throws(StorageError) {
        guard operation.a.count == 2, operation.a[0] > 0 else {
            throw damaged("has a run of entries without keys")
        }
        let (keySize, valueSize) = (Int(operation.a[0]), Int(operation.a[1]))
        guard operation.b.count > 0, operation.b.count % (keySize + valueSize) == 0 else {
            throw damaged("has a run that ends within an entry")
        }
        guard operation.kind == .put || valueSize == 0 else { throw damaged("has a run of deletes with values") }
        run = (operation.kind, operation.b, operation.tree, keySize, valueSize)
    }

    private mutating func nextOfRun() -> RedoOperation? {
        guard let run else { return nil }
        let size = run.keySize + run.valueSize
        let operation = RedoOperation(
            kind: run.kind, tree: run.tree, a: Bytes(rebasing: run.entries[..<run.keySize]),
            b: Bytes(rebasing: run.entries[run.keySize..<size]))
        if run.entries.count > size {
            self.run?.entries = Bytes(rebasing: run.entries[size...])
        } else {
            self.run = nil
        }
        return operation
    }

    private func damaged(_ reason: String) -> StorageError {
        .corrupt(Corruption(reason: "a journal record \(reason)"))
    }
}
