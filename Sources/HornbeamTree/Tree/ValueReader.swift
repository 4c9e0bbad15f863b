// SPDX-License-Identifier: Apache-2.0
// Reading a value in parts, which matters for long ones: only what is asked for is read and verified.

package import HornbeamPages

/// One key's value. Good until its transaction ends or changes the tree; after that its reads are refused.
package final class ValueReader {
    /// Of the value, in bytes.
    package let size: UInt64
    private let transaction: Transaction
    private let tree: OpenTreePointer
    private let changes: UInt64
    /// Nil for a value that lies in its leaf.
    private let long: LongPageReader?
    private let short: [UInt8]

    init(_ transaction: Transaction, _ tree: OpenTreePointer, long: LongReference) throws(StorageError) {
        self.transaction = transaction
        self.tree = tree
        changes = tree.pointee.changes
        size = long.size
        self.long = try LongPageReader(transaction.view, number: long.page, birth: long.birth, size: long.size)
        short = []
    }

    init(_ transaction: Transaction, _ tree: OpenTreePointer, short: [UInt8]) {
        self.transaction = transaction
        self.tree = tree
        changes = tree.pointee.changes
        size = UInt64(short.count)
        long = nil
        self.short = short
    }

    /// Copies bytes from `offset` on to `target`, as many as it takes and there are; how many that is, 0 at the end.
    package func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(StorageError) -> Int {
        try transaction.ensureOpen()
        guard tree.pointee.changes == changes else {
            throw .invalid("the tree was changed since the value's reader was opened: open another")
        }
        if let long {
            do throws(StorageError) {
                let count = try long.read(at: offset, into: target)
                try transaction.checkIsWhole()
                return count
            } catch {
                try transaction.checkIsWhole()
                throw transaction.named(error, tree)
            }
        }
        guard offset < size else { return 0 }
        let part = short[Int(offset)...].prefix(target.count)
        target.copyBytes(from: part)
        return part.count
    }
}

extension Transaction {
    /// A reader of the key's value; nil if there is none.
    package func valueReader(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> ValueReader? {
        let open = try opened(tree)
        do throws(StorageError) {
            guard let found = try open.pointee.root.find(key, of: open.pointee.number, in: view) else {
                try view.checkIsWhole()
                return nil
            }
            switch found {
            case .long(let reference): return try ValueReader(self, open, long: reference)
            case .short(let bytes):
                try view.checkIsWhole()
                return ValueReader(self, open, short: bytes)
            }
        } catch {
            try view.checkIsWhole()
            throw named(error, open)
        }
    }

    package func valueReader(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> ValueReader? {
        try key.withBytes { (k) throws(StorageError) in try valueReader(tree, k) }
    }
}

/// A value as its entry has it.
private enum FoundValue {
    case long(LongReference)
    case short([UInt8])
}

extension TreeRoot {
    fileprivate func find(_ key: Bytes, of tree: UInt32, in view: PageView) throws(StorageError) -> FoundValue? {
        guard !isEmpty else { return nil }
        defer { view.letGo() }
        let leaf = try leaf(for: key, of: tree, in: view)
        let (index, found) = leaf.find(key)
        guard found else { return nil }
        let cell = leaf.cell(index)
        return cell.isLong ? .long(LongReference(cell.value)) : .short(Array(cell.valueBytes))
    }
}
