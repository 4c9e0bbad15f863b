// SPDX-License-Identifier: Apache-2.0
// A write transaction's changes: arguments are checked, then the change is noted for the journal, then made. It is
// noted first because the new value may be a slice of a node that the change moves. After a change that fails midway,
// the transaction can only be aborted or go back to a savepoint. A refused argument leaves it as it was. Each change
// ends by spilling the transaction's pages if they take too much memory, so no address of a node outlives it. A change
// without effect (deleting a missing key, an append that is refused) leaves pages, and slices of them that were
// returned, where they are.

package import HornbeamPages

extension Transaction {
    /// Inserts an entry, or replaces its value. Throws `.tooLarge` for a key or value beyond its limit, `.readOnly` in
    /// a read.
    package func put(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        try checkKey(key)
        try checkValue(value)
        try changing { (writer) throws(StorageError) in
            let open = try prepare(tree, writer)
            writer.redo.add(.put, tree: tree.rawValue, key, value)
            do throws(StorageError) {
                try writer.put(open, key, value)
                try finishChange(writer)
            } catch {
                throw broken(error, open)
            }
        }
    }

    /// Inserts or replaces many entries. If they ascend and few others are between them, this takes a fraction of the
    /// time of single puts.
    package func put(_ tree: TreeID, _ run: EntryRun) throws(StorageError) {
        guard run.count > 0 else { return }
        try checkRun(run)
        try changing { (writer) throws(StorageError) in
            var open = try prepare(tree, writer)
            writer.redo.add(run, tree: tree.rawValue)
            var place = 0
            writer.isFilling = false
            defer { writer.isFilling = false }
            do throws(StorageError) {
                while place < run.count {
                    if place > 0 { open = try prepare(tree, writer) }
                    try writer.put(open, run.key(place), run.value(place))
                    place += 1
                    let filled = writer.fill(open, run, from: place)
                    writer.isFilling = filled > 0
                    place += filled
                    try finishChange(writer)
                }
            } catch {
                throw broken(error, open)
            }
        }
    }

    /// Removes the entries of many keys; ignores missing keys. The run must have no values. If the keys ascend and are
    /// adjacent, this takes a fraction of the time of single removals.
    package func delete(_ tree: TreeID, _ run: EntryRun) throws(StorageError) {
        guard run.count > 0 else { return }
        try checkRun(run)
        try changing { (writer) throws(StorageError) in
            var open = try prepare(tree, writer)
            let mark = writer.redo.mark
            writer.redo.add(run, tree: tree.rawValue, isDeleting: true)
            var place = 0
            var removed = 0
            do throws(StorageError) {
                while place < run.count {
                    if place > 0 { open = try prepare(tree, writer) }
                    let done = try writer.delete(open, run, from: place)
                    place += done.keys
                    removed += done.entries
                    if done.entries > 0 { try finishChange(writer) }
                }
            } catch {
                throw broken(error, open)
            }
            if removed == 0 { writer.redo.takeBack(to: mark) }
        }
    }

    private func checkRun(_ run: EntryRun) throws(StorageError) {
        try checkKey(run.key(0))
        guard run.keySize <= EntryRun.maximumSize, run.valueSize <= EntryRun.maximumSize else {
            throw .tooLarge(
                what: "key or value of a run", size: max(run.keySize, run.valueSize),
                limit: EntryRun.maximumSize)
        }
    }

    /// Puts an entry unless its key has one. In that case returns false and changes nothing. Takes one descent of the
    /// tree, while a lookup before a put takes two.
    package func insert(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StorageError) -> Bool {
        try checkKey(key)
        try checkValue(value)
        return try attempt(.put, tree, key, value) { (writer, open) throws(StorageError) in
            try writer.insert(open, key, value)
        }
    }

    /// Puts an entry whose key is greater than all keys of the tree, and fills nodes fully. Throws `.invalid` if the
    /// key isn't greater.
    package func append(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StorageError) {
        try checkKey(key)
        try checkValue(value)
        let isAppended = try attempt(.put, tree, key, value) { (writer, open) throws(StorageError) in
            try writer.append(open, key, value)
        }
        guard isAppended else { throw .invalid("append needs a key greater than all keys of the tree: use put") }
    }

    /// Fills a tree with entries in ascending order of their keys, all after the entries that it has. Throws `.invalid`
    /// at the first that isn't.
    package func load(
        _ tree: TreeID, _ entries: some Sequence<(key: [UInt8], value: [UInt8])>
    ) throws(StorageError) {
        for entry in entries { try append(tree, entry.key, entry.value) }
    }

    /// Removes the entry. Returns false if there was none.
    package func delete(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> Bool {
        try attempt(.delete, tree, key, nil) { (writer, open) throws(StorageError) in try writer.delete(open, key) }
    }

    /// Removes all entries of [from, to); an empty bound is an open end. Returns the number of removed entries.
    package func deleteRange(_ tree: TreeID, from: Bytes, to: Bytes) throws(StorageError) -> UInt64 {
        let (writer, open) = try prepare(tree)
        guard from.isEmpty || to.isEmpty || from.order(to) < 0 else { return 0 }
        let mark = writer.redo.mark
        writer.redo.add(.deleteRange, tree: tree.rawValue, from, to)
        let deleted: UInt64
        do throws(StorageError) {
            deleted = try writer.deleteRange(open, from: from.isEmpty ? nil : from, to: to.isEmpty ? nil : to)
            if deleted > 0 { try finishChange(writer) }
        } catch {
            throw broken(error, open)
        }
        if deleted == 0 { writer.redo.takeBack(to: mark) }
        return deleted
    }

    /// Drops a tree and all its entries. Returns false if there is none with that name.
    package func dropTree(_ name: String) throws(StorageError) -> Bool {
        guard let tree = try self.tree(name) else { return false }
        let (writer, open) = try prepare(tree, isDropped: true)
        let catalogue = try catalogue()
        do throws(StorageError) {
            writer.pages.note(addedEntries: -Int64(clamping: open.pointee.stored.root.count))
            try writer.drop(open)
            catalogue.pointee.changes &+= 1
            _ = try Array(name.utf8).withBytes { (key) throws(StorageError) in try writer.delete(catalogue, key) }
            try finishChange(writer)
        } catch {
            throw broken(error, open)
        }
        writer.redo.add(.drop, tree: tree.rawValue)
        open.pointee.close()
        return true
    }

    /// Gives a tree another name, which must be unused. Returns false if there is no tree with the old name. The time
    /// doesn't depend on the tree's size. The journal can't represent it, so the transaction commits with a checkpoint.
    /// Throws `.invalid` if the new name is used, or after a savepoint.
    package func renameTree(_ name: String, to new: String) throws(StorageError) -> Bool {
        guard let tree = try self.tree(name) else { return false }
        guard try self.tree(new) == nil else { throw .invalid("a tree “\(new)” exists already: drop it first") }
        guard !new.utf8.contains(0) else { throw .invalid("a tree's name can't contain the character NUL") }
        guard savepoints.isEmpty else {
            throw .invalid("a tree can't be renamed while there is a savepoint: release it first")
        }
        let (writer, open) = try prepare(tree)
        let catalogue = try catalogue()
        writer.redo.giveUp()
        do throws(StorageError) {
            catalogue.pointee.changes &+= 1
            _ = try Array(name.utf8).withBytes { (key) throws(StorageError) in try writer.delete(catalogue, key) }
            // With the record that the catalogue has now: this transaction's changes are stored at its end, under the
            // new name.
            try storeRecord(open.pointee.stored, Array(new.utf8), writer, catalogue)
            open.pointee.name = Array(new.utf8)
            names.rename(tree.rawValue, to: open.pointee.name)
            try finishChange(writer)
        } catch {
            throw broken(error, open)
        }
        return true
    }

    /// Creates a tree. `number` is given when recovery repeats a creation.
    @discardableResult
    func createTree(
        _ name: [UInt8], options: StoredOptions, number given: UInt32? = nil
    ) throws(StorageError) -> TreeID {
        if options.reductionSize > 0, names.reductions.find(options) == nil {
            let name = String(decoding: options.reduction, as: UTF8.self)
            throw .unsupported("the reduction “\(name)” is not one that the store was opened with")
        }
        guard let writer else { throw .readOnly("creating a tree needs a write transaction") }
        if let failure { throw failure }
        guard let number = given ?? names.reserve(from: nextTree) else {
            throw .tooLarge(what: "number of trees ever made", size: Int(UInt32.max), limit: Int(UInt32.max))
        }
        let catalogue = try catalogue()
        nextTree = max(nextTree, number + 1)
        let record = CatalogueRecord(number: number, options: options, root: TreeRoot(), longValues: 0)
        try storeRecord(record, name, writer, catalogue)
        name.withUnsafeBytes { (name) in
            options.journalBytes.withUnsafeBytes { writer.redo.add(.create, tree: number, name, $0) }
        }
        do throws(StorageError) {
            try spillIfNeeded(writer)
        } catch {
            throw broken(error, catalogue)
        }
        return TreeID(rawValue: try open(record, name).pointee.number)
    }

    /// Writes the roots of changed trees to the catalogue, and the catalogue's root to the writer.
    func storeRoots() throws(StorageError) {
        guard let writer, let catalogue = catalogueIfOpen else { return }
        try settleReductions()
        try forEachChangedTree { (tree) throws(StorageError) in
            try placeLeaves(of: tree, writer)
            let added = tree.pointee.addedEntries
            writer.pages.note(addedEntries: added)
            if added < 0 { writer.memory.removed.note(0 &- added, in: tree.pointee.number) }
            tree.pointee.stored.root = tree.pointee.root
            tree.pointee.stored.longValues = tree.pointee.longValues
            try storeRecord(tree.pointee.stored, tree.pointee.name, writer, catalogue)
        }
        let top = catalogue.pointee.root
        var root = view.root
        root.page = top.page
        root.birth = top.birth
        root.count = top.count
        root.level = UInt8(truncatingIfNeeded: top.level)
        root.nextTree = nextTree
        writer.pages.root = root
    }

    /// Computes and places what is left for the end of the transaction: before its pages leave memory, or must not be
    /// changed any more. Cursors on moved pages find their places again.
    func completePages() throws(StorageError) {
        guard let writer else { return }
        try settleReductions()
        try trees.forEach { (tree) throws(StorageError) in
            if tree.pointee.place >= 0 { try placeLeaves(of: tree, writer) }
        }
    }

    /// Places the tree's leaves. The memory of a leaf is freed or used again once it has its place.
    private func placeLeaves(of tree: OpenTreePointer, _ writer: TreeWriter) throws(StorageError) {
        guard tree.pointee.hasUnplacedLeaves else { return }
        tree.pointee.changes &+= 1
        do throws(StorageError) {
            try writer.placeLeaves(tree)
        } catch {
            throw broken(error, tree)
        }
    }

    private func storeRecord(
        _ record: CatalogueRecord, _ name: [UInt8], _ writer: TreeWriter, _ catalogue: OpenTreePointer
    ) throws(StorageError) {
        catalogue.pointee.changes &+= 1
        do throws(StorageError) {
            try withUnsafeTemporaryAllocation(byteCount: record.size, alignment: 8) { (bytes) throws(StorageError) in
                guard let start = bytes.baseAddress else { return }
                record.write(to: start)
                try name.withBytes { (key) throws(StorageError) in try writer.put(catalogue, key, Bytes(bytes)) }
            }
        } catch {
            throw broken(error, catalogue)
        }
    }

    /// Runs `body` with the writer, without counting references to it. Each look at an optional reference would count,
    /// which was a quarter of the time of a sorted load.
    @inline(__always)
    private func changing<Value>(_ body: (TreeWriter) throws(StorageError) -> Value) throws(StorageError) -> Value {
        guard let unmanagedWriter else { throw .readOnly("changing a tree needs a write transaction") }
        // (`_withUnsafeGuaranteedRef` rethrows errors without their type.)
        let result = unmanagedWriter._withUnsafeGuaranteedRef { (writer) -> Result<Value, StorageError> in
            do throws(StorageError) { return .success(try body(writer)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Makes a change of one entry. If its result is that nothing changed, removes it from the journal's notes.
    @inline(__always)
    private func attempt(
        _ kind: RedoKind, _ tree: TreeID, _ key: Bytes, _ value: Bytes?,
        _ change: (TreeWriter, OpenTreePointer) throws(StorageError) -> Bool
    ) throws(StorageError) -> Bool {
        try changing { (writer) throws(StorageError) in
            let open = try prepare(tree, writer)
            let mark = writer.redo.mark
            writer.redo.add(kind, tree: tree.rawValue, key, value)
            let isChanged: Bool
            do throws(StorageError) {
                isChanged = try change(writer, open)
                if isChanged { try finishChange(writer) }
            } catch {
                throw broken(error, open)
            }
            if !isChanged { writer.redo.takeBack(to: mark) }
            return isChanged
        }
    }

    /// Returns the writer and the tree to change. The tree's cursors find their places again after this.
    func prepare(
        _ tree: TreeID, isDropped: Bool = false
    ) throws(StorageError) -> (TreeWriter, OpenTreePointer) {
        guard let writer else { throw .readOnly("changing a tree needs a write transaction") }
        return (writer, try prepare(tree, writer, isDropped: isDropped))
    }

    @inline(__always)
    private func prepare(
        _ tree: TreeID, _ writer: TreeWriter, isDropped: Bool = false
    ) throws(StorageError) -> OpenTreePointer {
        let open = try opened(tree)
        if open.pointee.reductionSize > 0, !isDropped, open.pointee.reduction == nil { throw unknownReduction(open) }
        if let failure { throw failure }
        open.pointee.changes &+= 1
        view.beginChange()
        return open
    }

    /// Ends a change that was made: slices returned earlier become invalid. Must not be called after a change without
    /// effect.
    @inline(__always)
    func finishChange(_ writer: TreeWriter) throws(StorageError) {
        view.endChange()
        try spillIfNeeded(writer)
    }

    @inline(__always)
    private func spillIfNeeded(_ writer: TreeWriter) throws(StorageError) {
        if writer.pages.isOverBudget || writer.appendedBytes >= writer.appendedBound { try spill(writer) }
    }

    private func spill(_ writer: TreeWriter) throws(StorageError) {
        try completePages()
        noteMovedPages()
        writer.forgetPath()
        writer.endAppended()
        try writer.pages.spill()
    }

    func broken(_ error: StorageError, _ tree: OpenTreePointer) -> StorageError {
        let error = named(error, tree)
        failure = error
        return error
    }

    @inline(__always)
    func checkKey(_ key: Bytes) throws(StorageError) {
        if key.isEmpty { throw .invalid("a key needs at least one byte") }
        if key.count > maximumKey { throw .tooLarge(what: "key", size: key.count, limit: maximumKey) }
    }

    @inline(__always)
    private func checkValue(_ value: Bytes) throws(StorageError) {
        if value.count > NodeLayout.maximumValue {
            throw .tooLarge(what: "value", size: value.count, limit: NodeLayout.maximumValue)
        }
    }
}
