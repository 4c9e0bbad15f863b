// SPDX-License-Identifier: Apache-2.0
// Putting a value in parts. A long value goes to its place in the file part by part, so that it never has to be in
// memory as a whole. Its bytes don't go through the journal: the transaction commits with a checkpoint.

package import HornbeamPages

/// Writes the value of one key. `finish` puts the entry. If the writer is given up, there is no entry. Nor is there one
/// if it isn't finished when the transaction commits or, for a value too long for memory, goes back to an earlier
/// savepoint. The transaction may make other changes in the meantime.
package final class ValueWriter {
    /// Size of the value in bytes.
    package let size: UInt64
    private let transaction: Transaction
    private let tree: TreeID
    private let key: [UInt8]
    /// Writes the value to its page. Nil for a value that is short enough for memory and the journal.
    private let page: LongPageWriter?
    private var short: [UInt8] = []
    private var isOpen = true

    /// Values up to this size are put like any other.
    static let shortSize = 1 << 16

    fileprivate init(_ transaction: Transaction, _ tree: TreeID, _ key: Bytes, size: UInt64) throws(StorageError) {
        self.transaction = transaction
        self.tree = tree
        self.key = Array(key)
        self.size = size
        guard let writer = transaction.writer else { throw .readOnly("changing a tree needs a write transaction") }
        page = size > UInt64(Self.shortSize) ? try LongPageWriter(writer.pages, size: size) : nil
    }

    deinit { cancel() }

    /// Adds the value's next bytes. Throws `.invalid` if there are too many.
    package func append(_ bytes: Bytes) throws(StorageError) {
        try ensureOpen()
        if let page { return try page.append(bytes) }
        guard UInt64(bytes.count) <= size - UInt64(short.count) else {
            throw .invalid("the value was begun with a size of \(size) bytes: give no more")
        }
        short += bytes
    }

    /// Puts the entry: inserts it, or replaces its value. Throws `.invalid` if bytes are missing; adding may go on
    /// then. After another error there is no entry, and the written part of the value is freed with this writer, or
    /// with the transaction.
    package func finish() throws(StorageError) {
        try ensureOpen()
        if let page {
            try key.withBytes { (key) throws(StorageError) in try transaction.putLong(tree, key, page) }
        } else {
            guard UInt64(short.count) == size else {
                throw .invalid("the value was begun with a size of \(size) bytes, but has \(short.count)")
            }
            try transaction.put(tree, key, short)
        }
        isOpen = false
    }

    /// Gives the value up. Has no effect once it is finished.
    package func cancel() {
        isOpen = false
        page?.cancel()
    }

    private func ensureOpen() throws(StorageError) {
        try transaction.ensureOpen()
        guard isOpen else { throw .invalid("the value takes no more bytes: it is finished or cancelled") }
    }
}

extension Transaction {
    /// Begins to put a value of `size` bytes in parts. Throws `.tooLarge` for a key or value beyond its limit.
    package func valueWriter(_ tree: TreeID, _ key: Bytes, size: UInt64) throws(StorageError) -> ValueWriter {
        try checkKey(key)
        guard size <= UInt64(NodeLayout.maximumValue) else {
            throw .tooLarge(
                what: "value", size: Int(clamping: size), limit: NodeLayout.maximumValue)
        }
        try ensureOpen()
        if let failure { throw failure }
        _ = try opened(tree)
        return try ValueWriter(self, tree, key, size: size)
    }

    package func valueWriter(_ tree: TreeID, _ key: [UInt8], size: UInt64) throws(StorageError) -> ValueWriter {
        try key.withBytes { (k) throws(StorageError) in try valueWriter(tree, k, size: size) }
    }

    /// Inserts or replaces an entry whose value is already complete in its page.
    fileprivate func putLong(_ tree: TreeID, _ key: Bytes, _ page: LongPageWriter) throws(StorageError) {
        // First, because a finished page must be referred to.
        let (writer, open) = try prepare(tree)
        try page.finish()
        writer.redo.giveUp()
        do throws(StorageError) {
            let reference = LongReference(page: page.pageNumber, size: page.size, birth: page.birth)
            try writer.put(open, key, long: reference)
            try finishChange(writer)
        } catch {
            throw broken(error, open)
        }
    }
}
