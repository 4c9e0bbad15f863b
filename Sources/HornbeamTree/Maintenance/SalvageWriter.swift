// SPDX-License-Identifier: Apache-2.0
// Writes the results of a salvage to its new store: entries of leaves, their long values, and then the journal's
// operations. Uses transactions of a bounded size; the store has no name before all is done.

import HornbeamPages

struct SalvageWriter {
    private let file: DamagedFile
    private var transaction: Transaction
    private var report = SalvageReport()
    /// The report of each tree, by name.
    private var entries: [String: SalvageReport.Tree] = [:]
    /// Names by the number in the damaged store. Trees that may be outdated are not among them.
    private var trees: [UInt32: String] = [:]
    /// Number of the journal's operations that could not be replayed, and the first reason.
    private var refused: (operations: UInt64, reason: StorageError)?
    private var pendingBytes = 0
    private var found: UInt64 = 0

    private static let batchBytes = 16 << 20

    init(file: DamagedFile, transaction: Transaction) {
        self.file = file
        self.transaction = transaction
    }

    /// Writes the entries of a tree.
    mutating func add(_ tree: SalvagedTree, _ store: TreeStore, _ progress: (UInt64) -> Void) throws(StorageError) {
        let id = try create(tree.name, tree.options)
        note(tree.name) { (entry) in
            entry.isDoubtful = entry.isDoubtful || tree.isDoubtful
            entry.lost += tree.lost.map(\.keys)
            entry.lostEntries &+= tree.lostEntries
        }
        if !tree.isDoubtful { trees[tree.number] = tree.name }
        for page in tree.leaves {
            guard let bytes = file.leaf(page) else { continue }
            let lost = try bytes.withBytes { (bytes) throws(StorageError) in try addLeaf(bytes, to: id) }
            if !lost.isEmpty { note(tree.name) { $0.lostValues += lost } }
            guard pendingBytes >= Self.batchBytes else { continue }
            try transaction.commit()
            transaction = try store.beginWrite()
            pendingBytes = 0
            progress(found)
        }
    }

    private mutating func note(_ name: String, _ change: (inout SalvageReport.Tree) -> Void) {
        change(&entries[name, default: SalvageReport.Tree(name: name)])
    }

    /// Makes a tree with all its options that can be kept: of a reduction that is not built in only the name is known.
    private mutating func create(_ name: String, _ options: StoredOptions) throws(StorageError) -> TreeID {
        if let tree = try transaction.tree(name) { return tree }
        let kept = options.keptReduction
        if options.reductionSize > 0, kept == nil {
            note(name) { $0.lostReduction = String(decoding: options.reduction, as: UTF8.self) }
        }
        let kind = TreeOptions(reduction: kept, isCompressed: options.isCompressed)
        guard let tree = try transaction.tree(name, create: true, options: kind) else {
            throw .invalid("a tree is missing after it was created")
        }
        return tree
    }

    /// Adds the entries of a leaf. Returns the keys of values that can't be read.
    private mutating func addLeaf(_ bytes: Bytes, to tree: TreeID) throws(StorageError) -> [String] {
        guard let base = bytes.baseAddress else { return [] }
        let leaf = NodeView(base, size: bytes.count)
        var lost: [String] = []
        for index in 0..<leaf.count {
            let key = leaf.keyBytes(index)
            let cell = leaf.cell(index)
            if cell.isLong {
                let long = LongReference(cell.value)
                guard let page = longPage(long) else {
                    lost.append(KeyRange.words(key))
                    continue
                }
                try page.withBytes { (page) throws(StorageError) in
                    let start = LongPage.dataOffset(long.size, isSealed: file.isSealed)
                    try put(tree, key, Bytes(rebasing: page[start..<start + Int(long.size)]))
                }
            } else {
                try put(tree, key, cell.valueBytes)
            }
        }
        return lost
    }

    private func longPage(_ long: LongReference) -> [UInt8]? {
        guard long.size < UInt64(NodeLayout.maximumValue),
            let page = file.page(
                long.page, kind: .longValue, sectors: LongPage.sectors(long.size, isSealed: file.isSealed))
        else { return nil }
        let isRight = page.withBytes { (bytes) in
            LongPage.valueSize(bytes) == long.size && bytes.baseAddress?.read64(PageLayout.birth) == long.birth
        }
        return isRight ? page : nil
    }

    private mutating func put(_ tree: TreeID, _ key: [UInt8], _ value: Bytes) throws(StorageError) {
        try key.withBytes { (key) throws(StorageError) in try transaction.put(tree, key, value) }
        pendingBytes += key.count + value.count
        found += 1
    }

    // MARK: The journal

    /// Replays the changes of one commit, except those that no store can take: the record is as it was written, but its
    /// content may come from another program.
    mutating func replay(_ payload: Bytes) throws(StorageError) {
        var reader = RedoReader(payload)
        do throws(StorageError) {
            while let operation = try reader.next() {
                do throws(StorageError) { try apply(operation) } catch { try refuse(error) }
            }
        } catch {
            try refuse(error)
        }
        report.commits += 1
    }

    /// Continues after an error that comes from the operation, not from the new store.
    private mutating func refuse(_ error: StorageError) throws(StorageError) {
        switch error {
        case .corrupt, .invalid, .tooLarge: refused = ((refused?.operations ?? 0) + 1, refused?.reason ?? error)
        default: throw error
        }
    }

    private mutating func apply(_ operation: RedoOperation) throws(StorageError) {
        switch operation.kind {
        case .create:
            let name = SalvagedTree.name(Array(operation.a), operation.tree, pageSize: file.pageSize)
            _ = try create(name, try StoredOptions(journal: operation.b))
            trees[operation.tree] = name
            note(name) { _ in }
        case .drop:
            guard let name = trees.removeValue(forKey: operation.tree) else { return }
            _ = try transaction.dropTree(name)
            entries[name] = nil
        case .put: try transaction.put(try tree(operation.tree), operation.a, operation.b)
        case .delete: _ = try transaction.delete(try tree(operation.tree), operation.a)
        case .deleteRange:
            _ = try transaction.deleteRange(try tree(operation.tree), from: operation.a, to: operation.b)
        }
    }

    /// Returns the tree with a number in the damaged store. If nothing else of it was found, it gets a name made from
    /// that.
    private mutating func tree(_ number: UInt32) throws(StorageError) -> TreeID {
        let known = trees[number]
        var name = known ?? SalvagedTree.name(of: number)
        if known == nil {
            while entries[name] != nil { name += "-new" }
            trees[number] = name
            note(name) { $0.lost = [KeyRange()] }
        }
        guard let id = try transaction.tree(name, create: true) else { throw .invalid("a tree has no name") }
        return id
    }

    // MARK: The end

    /// Commits, and counts the entries that are there now.
    mutating func finish() throws(StorageError) -> SalvageReport {
        report.trees = entries.values.sorted { $0.name < $1.name }
        for place in report.trees.indices {
            guard let tree = try transaction.tree(report.trees[place].name) else { continue }
            report.trees[place].found = try transaction.count(tree)
        }
        if let refused {
            report.notes.append("\(refused.operations) changes in the journal can't be applied: \(refused.reason)")
        }
        try transaction.commit()
        return report
    }
}
