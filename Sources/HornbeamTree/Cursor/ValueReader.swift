// SPDX-License-Identifier: Apache-2.0
// Reading a value in parts, which matters for long values: only the requested part is read and verified.

package import HornbeamPages

/// Reads one key's value. Valid until its transaction ends, or replaces or deletes the value; then reads throw. For a
/// value that the transaction itself has put, valid until the tree's next change, because another value may get its
/// sectors.
package final class ValueReader {
    /// Size of the value in bytes.
    package let size: UInt64
    private let transaction: Transaction
    private let tree: OpenTreePointer
    private let key: [UInt8]
    private var value: FoundValue
    /// The reader of a long value's page. Replaced when pages of the transaction may have moved.
    private var page: LongPageReader?
    private var changes: UInt64

    fileprivate init(
        _ transaction: Transaction, _ tree: OpenTreePointer, _ key: [UInt8], _ value: FoundValue
    ) throws(StorageError) {
        self.transaction = transaction
        self.tree = tree
        self.key = key
        self.value = value
        changes = tree.pointee.changes
        size = value.size
        try openPage()
    }

    private func openPage() throws(StorageError) {
        guard case .long(let long) = value else { return }
        page = try LongPageReader(transaction.view, number: long.page, birth: long.birth, size: long.size)
    }

    /// Copies bytes from `offset` on to `target`, as many as it takes and there are. Returns their number, 0 at the
    /// end.
    package func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(StorageError) -> Int {
        try transaction.ensureOpen()
        return try transaction.answer(tree) { () throws(StorageError) in
            if tree.pointee.changes != changes { try findAgain() }
            if let page { return try page.read(at: offset, into: target) }
            guard case .short(let bytes) = value, offset < size else { return 0 }
            let part = bytes[Int(offset)...].prefix(target.count)
            target.copyBytes(from: part)
            return part.count
        }
    }

    /// Finds the value again after a change of the tree, or a move of the transaction's pages. Throws if it has
    /// changed.
    private func findAgain() throws(StorageError) {
        let found = try transaction.find(key, in: tree)
        guard let found, found == value, found.birth <= transaction.version else {
            throw .invalid("the value was replaced or deleted since its reader was opened: open a new reader")
        }
        try openPage()
        changes = tree.pointee.changes
    }
}

extension Transaction {
    /// Returns a reader of the key's value; nil if there is none.
    package func valueReader(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> ValueReader? {
        try valueReader(tree, Array(key))
    }

    package func valueReader(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> ValueReader? {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            guard let found = try find(key, in: open) else { return nil }
            return try ValueReader(self, open, key, found)
        }
    }

    fileprivate func find(_ key: [UInt8], in tree: OpenTreePointer) throws(StorageError) -> FoundValue? {
        try key.withBytes { (key) throws(StorageError) in
            try tree.pointee.root.find(key, of: tree.pointee.number, in: view)
        }
    }
}

/// A value as its entry holds it.
private enum FoundValue: Equatable {
    case long(LongReference)
    case short([UInt8])

    /// The birth of the value's page; 0 if the value was copied.
    var birth: UInt64 {
        if case .long(let long) = self { long.birth } else { 0 }
    }

    var size: UInt64 {
        switch self {
        case .long(let long): long.size
        case .short(let bytes): UInt64(bytes.count)
        }
    }
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
