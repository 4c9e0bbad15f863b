// SPDX-License-Identifier: Apache-2.0
// A copy of a store under another key, or under none. Pages of encrypted stores leave bytes empty that others may fill,
// so entries are copied, not pages. The copy is checked and compared before it gets its name.

package import HornbeamPages

/// The result of a conversion.
package struct ConversionReport: Equatable, Sendable {
    package var entries: UInt64 = 0
    /// Trees whose reduction this program doesn't know. The copy has their entries, and the program that registers the
    /// index computes its reduced values again.
    package var lostReductions: [String] = []
}

extension TreeStore {
    /// Copies the newest committed state into a new file, encrypted with `encryption`, or not encrypted if that is nil.
    /// The file gets its name once it is whole, verified and durable. Throws `.exists` if there is a file.
    ///
    /// - Parameter progress: gets the number of entries copied so far.
    package func convert(
        to path: String, encryption: (any StoreEncryption)?, progress: (UInt64) -> Void = { _ in }
    ) throws(StorageError) -> ConversionReport {
        let file = try LinuxFile.createNew(path: path)
        file.isNameless = true
        return try convert(to: file, encryption: encryption, progress: progress) { () throws(StorageError) in
            file.isNameless = false
            try file.giveName()
        }
    }

    /// Copies into the empty file `file`. Calls `name` once the copy is whole, verified and durable.
    package func convert(
        to file: any StoreFile, encryption: (any StoreEncryption)?, progress: (UInt64) -> Void,
        name: () throws(StorageError) -> Void
    ) throws(StorageError) -> ConversionReport {
        let read = try beginRead()
        defer { read.abort() }
        var options = StoreOptions()
        options.pageSize = pages.pageSize
        options.encryption = encryption
        options.durability = .none
        let names = try read.treeNames()
        var kept: [String: TreeOptions] = [:]
        var report = ConversionReport()
        for name in names {
            let (options, isWhole) = try Self.keptOptions(of: name, in: read)
            kept[name] = options
            if !isWhole { report.lostReductions.append(name) }
        }
        let target = try TreeStore.open(
            file: file, options: options, reductions: kept.values.compactMap(\.reduction).uniqueByName)
        var copy = EntryCopy(target: target, write: try target.beginWrite())
        for name in names { try copy.add(name, kept[name] ?? TreeOptions(), from: read, progress) }
        report.entries = try copy.finish()
        try target.checkpoint()
        try verify(target, read, names)
        try name()
        try target.close()
        return report
    }

    /// Returns the options of a tree that a copy can have, and whether these are all of them: of a reduction that is
    /// not built in only the name is known.
    private static func keptOptions(
        of name: String, in read: Transaction
    ) throws(StorageError) -> (options: TreeOptions, isWhole: Bool) {
        guard let stored = try read.catalogueRecord(Array(name.utf8))?.options else { return (TreeOptions(), true) }
        let reduction = stored.keptReduction
        return (
            TreeOptions(reduction: reduction, isCompressed: stored.isCompressed),
            reduction != nil || stored.reductionSize == 0
        )
    }

    /// Checks the copy's pages, and compares its entries.
    private func verify(_ target: TreeStore, _ read: Transaction, _ names: [String]) throws(StorageError) {
        var problem: String?
        _ = try target.check { problem = problem ?? $0 }
        if let problem { throw .corrupt(Corruption(reason: "the copy: \(problem)")) }
        let copied = try target.beginRead()
        defer { copied.abort() }
        for name in names {
            guard let tree = try read.tree(name), let other = try copied.tree(name) else {
                throw .corrupt(Corruption(tree: name, reason: "the copy lacks this tree"))
            }
            var cursor = try read.cursor(tree)
            var otherCursor = try copied.cursor(other)
            while try cursor.next() {
                guard try otherCursor.next(), cursor.key.order(otherCursor.key) == 0,
                    cursor.value.order(otherCursor.value) == 0
                else { throw .corrupt(Corruption(tree: name, reason: "the copy has other entries")) }
            }
            if try otherCursor.next() { throw .corrupt(Corruption(tree: name, reason: "the copy has other entries")) }
        }
    }
}

/// Copies entries to a new store, in transactions of a bounded size.
private struct EntryCopy {
    let target: TreeStore
    var write: Transaction
    private var entries: UInt64 = 0
    private var pendingBytes = 0

    private static let batchBytes = 16 << 20

    init(target: TreeStore, write: Transaction) {
        self.target = target
        self.write = write
    }

    mutating func add(
        _ name: String, _ options: TreeOptions, from read: Transaction, _ progress: (UInt64) -> Void
    ) throws(StorageError) {
        guard let source = try read.tree(name) else { return }
        var tree = try made(name, options)
        var cursor = try read.cursor(source)
        while try cursor.next() {
            try write.put(tree, cursor.key, cursor.value)
            entries += 1
            pendingBytes += cursor.key.count + cursor.value.count
            guard pendingBytes >= Self.batchBytes else { continue }
            try write.commit()
            write = try target.beginWrite()
            tree = try made(name, options)
            pendingBytes = 0
            progress(entries)
        }
    }

    private func made(_ name: String, _ options: TreeOptions) throws(StorageError) -> TreeID {
        guard let tree = try write.tree(name, create: true, options: options) else {
            throw .invalid("a tree is missing after it was created")
        }
        return tree
    }

    mutating func finish() throws(StorageError) -> UInt64 {
        try write.commit()
        return entries
    }
}

extension [Reduction] {
    fileprivate var uniqueByName: [Reduction] {
        var names: Set<String> = []
        return filter { names.insert($0.name).inserted }
    }
}
