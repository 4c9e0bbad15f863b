// SPDX-License-Identifier: Apache-2.0
// A transaction over named trees: opening trees, reading, and its end. Its changes are in TransactionWrites.swift. It
// never outlives its pages: its end closes every tree that it has opened, and cursors notice that.

public import HornbeamPages

/// A read or a write transaction over named trees. Belongs to one thread at a time. Slices that it returns are valid
/// until it ends or, in a write transaction, until its next change.
@usableFromInline
package final class Transaction {
    /// The store that gets the snapshot back; nil while recovery replays a record.
    private let store: PageStore?
    @usableFromInline let view: PageView
    /// The writer that makes the changes; nil in a read.
    let writer: TreeWriter?
    /// The writer without counted references, for `changing`; nil in a read.
    let unmanagedWriter: Unmanaged<TreeWriter>?
    let names: TreeNames
    /// Longest key of this store, in bytes.
    let maximumKey: Int
    /// Longest name of a tree, in bytes.
    let maximumName: Int
    let trees = OpenTrees()
    /// The savepoints that it can go back to, the oldest first.
    @exclusivity(unchecked) var savepoints: [SavedTransaction] = []
    @exclusivity(unchecked) private var openCatalogue: OpenTreePointer?
    /// Above the numbers of all trees in this transaction.
    @exclusivity(unchecked) var nextTree: UInt32
    @exclusivity(unchecked) private(set) var isOpen = true
    /// Number of times that it was begun: a read that begins again may find the present state at other addresses.
    @exclusivity(unchecked) package private(set) var beginnings = 1
    /// Set when a change failed midway. The transaction can then only be aborted, or go back to a savepoint.
    @exclusivity(unchecked) var failure: StorageError?
    /// The memory in which the last cursor kept its key, of the longest key's size. Kept for the next cursor.
    @exclusivity(unchecked) private var keyMemory: UnsafeMutableRawPointer?
    /// Asks the read to end early; nil if nothing can ask.
    @exclusivity(unchecked) package var interruption: Interruption?
    /// Overrides the store's durability for this write transaction.
    @exclusivity(unchecked) package var durability: Durability

    init(
        store: PageStore?, view: PageView, writer: TreeWriter?, names: TreeNames, durability: Durability = .full
    ) {
        self.store = store
        self.view = view
        self.writer = writer
        unmanagedWriter = writer.map { .passUnretained($0) }
        self.names = names
        self.durability = durability
        maximumKey = NodeLayout.maximumKey(pageSize: view.pageSize)
        maximumName = CatalogueRecord.maximumName(pageSize: view.pageSize)
        nextTree = view.root.nextTree
    }

    /// The store whose thread waits in `helping` while other threads do a part of its work; nil in recovery.
    package var helped: PageStore? { store }

    deinit {
        abort()
        dropCatalogue()
        keyMemory?.deallocate()
    }

    /// Returns memory for a cursor's key.
    func takeKeyMemory() -> UnsafeMutableRawPointer {
        // Aligned to 8, as any memory is: asking for more costs 500 instructions.
        guard let memory = keyMemory else { return .allocate(byteCount: NodeLayout.longestKey, alignment: 8) }
        keyMemory = nil
        return memory
    }

    /// Takes memory for a cursor's key back.
    func giveKeyMemory(_ memory: UnsafeMutableRawPointer) {
        guard keyMemory == nil else { return memory.deallocate() }
        keyMemory = memory
    }

    private func dropCatalogue() {
        guard let openCatalogue else { return }
        openCatalogue.deinitialize(count: 1)
        openCatalogue.deallocate()
        self.openCatalogue = nil
    }

    package var isWritable: Bool { writer != nil }
    /// Whether both transactions see states of one store.
    func isOfStore(of other: Transaction) -> Bool { store != nil && store === other.store }
    /// Number of the state that it sees (a write transaction's own number is one more).
    package var version: UInt64 { view.transaction }

    // MARK: - Reading

    /// Throws `.cancelled` if the read is to end early. Called whenever a cursor moves to another leaf or a posting
    /// list to another block, and for each row, or batch of rows, that is read by its number.
    @inline(__always)
    package func checkGoesOn() throws(StorageError) {
        if interruption != nil { try refuseInterrupted() }
    }

    @inline(never)
    private func refuseInterrupted() throws(StorageError) {
        if let interruption, interruption.isSet { throw .cancelled }
    }

    /// Returns the result of `body`, which reads the tree, after checking that none of it was zeros in place of
    /// unreadable bytes. Every result from pages passes through here, or is checked by `checkIsWhole` later.
    @inline(__always)
    func answer<Answer>(
        _ tree: OpenTreePointer, _ body: () throws(StorageError) -> Answer
    ) throws(StorageError) -> Answer {
        do throws(StorageError) {
            let answer = try body()
            try view.checkIsWhole()
            return answer
        } catch {
            throw explained(error, tree)
        }
    }

    /// Returns the error with the tree's name, or its underlying cause: unreadable bytes may look like damage.
    @inline(never)
    func explained(_ error: StorageError, _ tree: OpenTreePointer) -> StorageError {
        do throws(StorageError) { try view.checkIsWhole() } catch { return error }
        return named(error, tree)
    }

    /// Returns the value of `key`, or nil if there is none. Takes O(log n) time.
    package func get(_ tree: TreeID, _ key: Bytes) throws(StorageError) -> Bytes? {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            try open.get(key, in: view)
        }
    }

    /// Returns the value of a key of eight bytes, or nil. `number` is the key as a big-endian number.
    package func get(_ tree: TreeID, number: UInt64) throws(StorageError) -> Bytes? {
        try checkGoesOn()
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            try open.get(number: number, in: view)
        }
    }

    /// Passes the index and the value of each of `count` keys to `body`, in order. If pages are mapped, this is faster
    /// than single lookups. The values count only if this doesn't throw.
    @inline(__always)
    package func getMany(
        _ tree: TreeID, count: Int, key: (Int) -> Bytes, _ body: (Int, Bytes?) -> Void
    ) throws(StorageError) {
        let open = try opened(tree)
        try answer(open) { () throws(StorageError) in
            if open.pointee.isCompressed {
                // One by one, because a decoded leaf is held from its reading on.
                for index in 0..<count { body(index, try open.get(key(index), in: view)) }
                return
            }
            try open.pointee.root.getMany(count, key: key, of: open.pointee.number, in: view, body)
        }
    }

    /// Finds the values of up to 16 keys of eight bytes, in their order. `numbers` are the keys as big-endian numbers.
    /// `found` gets a value for each key, nil if it isn't there.
    package func getMany(
        _ tree: TreeID, numbers: UnsafeBufferPointer<UInt64>, into found: UnsafeMutableBufferPointer<Bytes?>
    ) throws(StorageError) {
        try checkGoesOn()
        let open = try opened(tree)
        try answer(open) { () throws(StorageError) in
            if open.pointee.isCompressed {
                for index in numbers.indices { found[index] = try open.get(number: numbers[index], in: view) }
                return
            }
            try open.pointee.root.getMany(numbers: numbers, of: open.pointee.number, in: view, into: found)
        }
    }

    /// Returns the number of entries. Takes O(1) time.
    package func count(_ tree: TreeID) throws(StorageError) -> UInt64 { try opened(tree).pointee.root.count }

    /// Returns the number of entries in [from, to); an empty bound is an open end. Takes O(log n) time.
    package func count(_ tree: TreeID, from: Bytes, to: Bytes) throws(StorageError) -> UInt64 {
        let open = try opened(tree)
        return try answer(open) { () throws(StorageError) in
            try open.pointee.root.count(from: from, to: to, of: open.pointee.number, in: view)
        }
    }

    /// The number of changes that this transaction has made to a tree, including going back to a savepoint. Nil if it
    /// hasn't opened the tree, or if the tree is gone. For callers that cache values of a tree.
    package func changes(of tree: TreeID) -> UInt64? { trees.find(tree.rawValue)?.pointee.changes }

    /// Returns the identity of the entries that a read sees, for a caller that keeps results of a tree from one state
    /// to the next. Returns nil in a write transaction, whose changes have no identity yet.
    package func identity(of tree: TreeID) throws(StorageError) -> TreeIdentity? {
        let open = try opened(tree)
        return isWritable ? nil : TreeIdentity(open.pointee.root)
    }

    /// Whether bytes that were read stay at their address as long as the state is the newest one, even while a read
    /// that sees it is suspended. True if they are in the mapping, and not in a page kept in memory.
    package func stays(_ bytes: UnsafeRawPointer) -> Bool { writer == nil && view.isMapped(bytes) }

    /// Throws if some of the bytes read may have been zeros in place of an unreadable page. For a caller that has read
    /// in slices after the last call.
    @inlinable @inline(__always)
    package func checkIsWhole() throws(StorageError) { try view.checkIsWhole() }

    /// Returns the number of different pages that `body` reads.
    package func countingPages(_ body: () throws -> Void) rethrows -> Int { try view.countingPages(body) }

    // MARK: - Trees

    /// Returns the tree called `name` (not empty, without NUL), or nil if there is none and `create` is false.
    /// `options` apply to a tree that is created. Throws `.invalid` if the tree was created with another reduction,
    /// `.tooLarge` if the name is too long.
    package func tree(
        _ name: String, create: Bool = false, options: TreeOptions = TreeOptions()
    ) throws(StorageError) -> TreeID? {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty else { throw .invalid("a tree needs a name") }
        guard bytes.count <= maximumName else {
            throw .tooLarge(what: "tree name", size: bytes.count, limit: maximumName)
        }
        if let record = try catalogueRecord(bytes) {
            let open = try open(record, bytes)
            if let reduction = options.reduction { try checkReduction(open, reduction.name, size: reduction.size) }
            return TreeID(rawValue: open.pointee.number)
        }
        guard create else { return nil }
        // C code could never name it.
        guard !bytes.contains(0) else { throw .invalid("a tree's name can't contain the character NUL") }
        return try createTree(bytes, options: options.stored)
    }

    /// Returns the name of the tree's reduction and the size of its values, or nil if it has none.
    package func reduction(of tree: TreeID) throws(StorageError) -> (name: String, size: Int)? {
        let options = try opened(tree).pointee.stored.options
        guard options.reductionSize > 0 else { return nil }
        return (String(decoding: options.reduction, as: UTF8.self), options.reductionSize)
    }

    /// Throws `.invalid` if the tree has another reduction, or none.
    package func checkReduction(_ tree: TreeID, _ name: String) throws(StorageError) {
        try checkReduction(opened(tree), name, size: nil)
    }

    private func checkReduction(_ tree: OpenTreePointer, _ wanted: String, size: Int?) throws(StorageError) {
        let stored = tree.pointee.stored.options
        let name = String(decoding: stored.reduction, as: UTF8.self)
        guard name != wanted || stored.reductionSize != size ?? stored.reductionSize else { return }
        let owner = String(decoding: tree.pointee.name, as: UTF8.self)
        throw .invalid(
            "tree “\(owner)” was created "
                + (name.isEmpty ? "without a reduction" : "with the reduction “\(name)”")
                + ", not with “\(wanted)”" + (name == wanted ? " of \(size ?? 0) bytes" : "")
                + ": drop it and create it anew")
    }

    /// Returns the tree with this number, as this transaction sees it.
    @inline(__always)
    func opened(_ tree: TreeID) throws(StorageError) -> OpenTreePointer {
        if let open = trees.find(tree.rawValue) { return open }
        return try openByNumber(tree)
    }

    private func openByNumber(_ tree: TreeID) throws(StorageError) -> OpenTreePointer {
        try ensureOpen()
        if let name = names.name(of: tree.rawValue), let open = try openByNumber(tree, name) { return open }
        for name in names.otherNames(of: tree.rawValue) {
            if let open = try openByNumber(tree, name) { return open }
        }
        throw .invalid("there is no tree number \(tree.rawValue) in this transaction: open it by its name")
    }

    private func openByNumber(_ tree: TreeID, _ name: [UInt8]) throws(StorageError) -> OpenTreePointer? {
        guard let record = try catalogueRecord(name), record.number == tree.rawValue else { return nil }
        return try open(record, name, isNoted: true)
    }

    /// Opens the tree of a catalogue record, unless it is open.
    /// - Parameter isNoted: whether the name comes from `names`.
    func open(
        _ record: CatalogueRecord, _ name: [UInt8], isNoted: Bool = false
    ) throws(StorageError) -> OpenTreePointer {
        guard record.number < nextTree, isNoted || names.note(record.number, name) else {
            throw .corrupt(
                Corruption(tree: "catalogue", reason: "two trees have number \(record.number), or it is out of range"))
        }
        return trees.find(record.number)
            ?? trees.insert(
                OpenTree(
                    number: record.number, name: name, stored: record,
                    reduction: names.reductions.find(record.options), reserve: view.reserve))
    }

    func catalogueRecord(_ name: [UInt8]) throws(StorageError) -> CatalogueRecord? {
        let catalogue = try catalogue()
        return try answer(catalogue) { () throws(StorageError) in
            let found = try name.withBytes { (key) throws(StorageError) in
                try catalogue.pointee.root.get(key, of: 0, in: view)
            }
            guard let found else { return nil }
            return try CatalogueRecord(found, transaction: view.transaction)
        }
    }

    private static let catalogueName = Array("catalogue".utf8)

    /// The catalogue as a tree of this transaction.
    func catalogue() throws(StorageError) -> OpenTreePointer {
        try ensureOpen()
        if let openCatalogue { return openCatalogue }
        let root = view.root
        let stored = CatalogueRecord(
            number: 0, options: StoredOptions(),
            root: TreeRoot(page: root.page, birth: root.birth, count: root.count, level: Int(root.level)),
            longValues: 0)
        guard stored.root.isPlausible(transaction: view.transaction) else {
            throw .corrupt(Corruption(page: root.page, tree: "catalogue", reason: "an impossible root"))
        }
        let open = OpenTreePointer.allocate(capacity: 1)
        open.initialize(
            to: OpenTree(
                number: 0, name: Self.catalogueName, stored: stored, reduction: nil, reserve: view.reserve))
        openCatalogue = open
        return open
    }

    /// Passes the trees that this transaction has changed to `body`.
    func forEachChangedTree<Failure: Error>(
        _ body: (OpenTreePointer) throws(Failure) -> Void
    ) throws(Failure) {
        try trees.forEach { (tree) throws(Failure) in
            if tree.pointee.place >= 0, tree.pointee.isChanged { try body(tree) }
        }
    }

    /// Computes the reduced values that changes have left stale, in all trees.
    func settleReductions() throws(StorageError) {
        guard let writer else { return }
        try trees.forEach { (tree) throws(StorageError) in
            guard tree.pointee.place >= 0, tree.pointee.isStale else { return }
            do throws(StorageError) {
                try writer.settleReductions(tree)
            } catch {
                throw named(error, tree)
            }
        }
    }

    /// The catalogue, if this transaction has read it.
    var catalogueIfOpen: OpenTreePointer? { openCatalogue }

    /// Returns the error with the tree's name.
    func named(_ error: StorageError, _ tree: OpenTreePointer) -> StorageError {
        error.inTree(String(decoding: tree.pointee.name, as: UTF8.self))
    }

    // MARK: - The end

    func ensureOpen() throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
    }

    /// Commits the transaction: it is durable as configured on return. Always ends the transaction. In a read, throws
    /// if bytes that it saw may have been zeros in place of an unreadable page.
    package func commit() throws(StorageError) { try beginCommit().wait() }

    /// The first part of `commit`: always ends the transaction, and lets the next one begin, which builds on this one.
    /// It is durable and visible once `wait` has returned.
    package func beginCommit() throws(StorageError) -> CommitInFlight {
        try ensureOpen()
        guard let writer else {
            defer { abort() }
            // The caller may have read in slices after the last call.
            try view.checkIsWhole()
            return .done
        }
        do throws(StorageError) {
            try view.checkIsWhole()
            if let failure { throw failure }
            try storeRoots()
        } catch {
            abort()
            throw error
        }
        let redo = writer.redo.bytes
        close()
        return try writer.pages.beginCommit(redo: redo, missing: writer.redo.missingSize, durability: durability)
    }

    /// Ends a read, or discards a write. Has no effect if the transaction has ended.
    package func abort() {
        guard isOpen else { return }
        close()
        guard let store else { return }
        if let writer { writer.pages.abort() } else { store.endRead(view) }
    }

    /// Ends a read whose owner keeps it for `resume`: its opened trees stay for the next read. Nothing else may refer
    /// to the transaction: no cursor, no reader of a value. Returns false if it can't begin again and has ended for
    /// good.
    package func suspend() -> Bool {
        guard store?.knowsStatesByNumber == true, !isWritable, isOpen else {
            abort()
            return false
        }
        isOpen = false
        // (A variable for the store would count a reference to it, which all threads would write.)
        store?.endRead(view)
        return true
    }

    /// Begins a suspended read again, with the newest state. If it had that state before, its trees are open already.
    package func resume() throws(StorageError) {
        #if HORNBEAM_CHECKS
            precondition(!isOpen, "a read begins again that has not ended")
        #endif
        let isSame = try store?.beginRead(again: view) ?? false
        isOpen = true
        beginnings += 1
        if isSame { return }
        trees.removeAll()
        dropCatalogue()
        nextTree = view.root.nextTree
    }

    /// Releases everything that refers to pages. The caller decides about the changes.
    func close() {
        isOpen = false
        trees.close()
        openCatalogue?.pointee.close()
    }
}

extension Transaction {
    package func get(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> Bytes? {
        try key.withBytes { (k) throws(StorageError) in try get(tree, k) }
    }
    package func put(_ tree: TreeID, _ key: [UInt8], _ value: [UInt8]) throws(StorageError) {
        try key.withBytes { (k) throws(StorageError) in
            try value.withBytes { (v) throws(StorageError) in try put(tree, k, v) }
        }
    }
    package func append(_ tree: TreeID, _ key: [UInt8], _ value: [UInt8]) throws(StorageError) {
        try key.withBytes { (k) throws(StorageError) in
            try value.withBytes { (v) throws(StorageError) in try append(tree, k, v) }
        }
    }
    package func delete(_ tree: TreeID, _ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withBytes { (k) throws(StorageError) in try delete(tree, k) }
    }
    package func deleteRange(_ tree: TreeID, from: [UInt8], to: [UInt8]) throws(StorageError) -> UInt64 {
        try from.withBytes { (a) throws(StorageError) in
            try to.withBytes { (b) throws(StorageError) in try deleteRange(tree, from: a, to: b) }
        }
    }
    package func count(_ tree: TreeID, from: [UInt8], to: [UInt8]) throws(StorageError) -> UInt64 {
        try from.withBytes { (a) throws(StorageError) in
            try to.withBytes { (b) throws(StorageError) in try count(tree, from: a, to: b) }
        }
    }
}
