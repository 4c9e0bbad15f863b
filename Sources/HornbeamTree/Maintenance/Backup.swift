// SPDX-License-Identifier: Apache-2.0
// A consistent copy of a store, written beside its readers and its writer: the pages of one snapshot. Each page is read
// from the file with a system call and then verified, so that the new store gets the verified bytes, under a checksum
// of its own. The new store has no gaps. Nodes are copied unchanged, except for the page numbers in them, so reductions
// and counts are kept without their code. Never writes to the store that it copies.

package import HornbeamPages

/// The progress of a backup, in bytes of the source's pages.
package struct BackupProgress: Sendable {
    package var copiedBytes: UInt64 = 0
    /// An estimate: the bytes in use when the copy began. Never less than the copied bytes.
    package var totalBytes: UInt64 = 0

    package init() {}
}

extension TreeStore {
    /// Copies the newest committed state to a new file at `path`, which gets its name only once it is whole and
    /// durable. Returns false if `progress` has ended the copy by returning false. An unreadable page ends it with an
    /// error that names the tree and the keys. In both cases nothing is left behind. Throws `.exists` if there is a
    /// file at `path`.
    @discardableResult
    package func backup(
        to path: String, progress: (BackupProgress) -> Bool = { _ in true }
    ) throws(StorageError) -> Bool {
        try build(try StoreBuilder(path: path, like: pages), progress)
    }

    /// Copies the newest committed state into an empty file. Returns false if `progress` has ended it.
    package func backup(
        to file: any StoreFile, progress: (BackupProgress) -> Bool = { _ in true }
    ) throws(StorageError) -> Bool {
        try build(try StoreBuilder(file: file, like: pages), progress)
    }

    private func build(
        _ target: StoreBuilder, _ progress: (BackupProgress) -> Bool
    ) throws(StorageError) -> Bool {
        let view = try pages.beginRead()
        defer { pages.endRead(view) }
        let buffers = UnsafeMutableRawPointer.allocate(
            byteCount: BackupCopy.bufferSize(pageSize: view.pageSize), alignment: 16)
        defer { buffers.deallocate() }
        var copy = BackupCopy(pages: pages, view: view, target: target, buffers: buffers)
        return try copy.run(progress)
    }
}

private struct BackupCopy {
    /// Called after each piece. Returns false to stop the copy.
    typealias Report = (BackupProgress) -> Bool

    /// The tree that is being copied.
    private struct Source {
        var name: String
        var leafStamp: NodeStamp
        var branchStamp: NodeStamp
        var isCatalogue: Bool { leafStamp.tree == 0 }
    }

    private let pages: PageStore
    private let view: PageView
    private let target: StoreBuilder
    /// Buffers for a node of each level before it goes to the target, for the catalogue and for another tree.
    private let buffers: UnsafeMutableRawPointer
    private var figures = BackupProgress()
    private var reportedBytes: UInt64 = 0
    private var isStopped = false

    private static let reportBytes: UInt64 = 1 << 20

    init(pages: PageStore, view: PageView, target: StoreBuilder, buffers: UnsafeMutableRawPointer) {
        self.pages = pages
        self.view = view
        self.target = target
        self.buffers = buffers
        let figures = pages.statistics
        // Beside a writer in another process the size in use may be unknown.
        self.figures.totalBytes = figures.usedBytes > 0 ? figures.usedBytes : figures.fileBytes
    }

    /// Size of the buffers that a copy needs, in bytes.
    static func bufferSize(pageSize: Int) -> Int { nodeBuffers(pageSize) + 2 * PageStore.largestNode }

    /// Size of the buffers for nodes of the store's page size. After them come one buffer for a leaf of a compressed
    /// tree, and one for its copy.
    private static func nodeBuffers(_ pageSize: Int) -> Int { 2 * NodeLayout.maximumLevels * pageSize }

    mutating func run(_ report: Report) throws(StorageError) -> Bool {
        let root = view.root
        let top = TreeRoot(page: root.page, birth: root.birth, count: root.count, level: Int(root.level))
        var copied = root
        do throws(StorageError) {
            let stamp = NodeStamp(tree: 0, reductionSize: 0, reserve: view.reserve)
            let source = Source(name: "catalogue", leafStamp: stamp, branchStamp: stamp)
            copied.page = try copyTree(top, source, report)
        } catch {
            if isStopped { return false }
            throw error
        }
        // The file doesn't exist yet. From here on nothing can stop the backup.
        guard report(figures) else { return false }
        try target.finish(root: copied, transaction: view.transaction)
        return true
    }

    /// Copies a tree. Returns the page of the copied root.
    private mutating func copyTree(
        _ root: TreeRoot, _ source: Source, _ report: Report
    ) throws(StorageError) -> UInt64 {
        guard root.isPlausible(transaction: view.transaction) else {
            let number = PagePointer.number(root.page)
            throw .corrupt(Corruption(page: number, tree: source.name, reason: "an impossible root"))
        }
        guard !root.isEmpty else { return 0 }
        let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        return try copyNode(record, root.level, KeyRange(), source, report)
    }

    /// Copies the node and all below it. Returns the copy's page.
    private mutating func copyNode(
        _ record: ChildRecord, _ level: Int, _ keys: KeyRange, _ source: Source, _ report: Report
    ) throws(StorageError) -> UInt64 {
        let node: NodeEditor
        do throws(StorageError) {
            node = try read(record, level, source)
        } catch {
            throw error.inTree(source.name).withKeys(keys.description)
        }
        for index in 0..<node.view.count {
            if level > 0 {
                let child = node.view.child(index)
                let page = try copyNode(child, level - 1, keys.child(index, of: node.view), source, report)
                node.moveChild(index, to: page, birth: child.birth)
            } else if source.isCatalogue {
                try copyEntryTree(index, of: node, report)
            } else if node.view.cell(index).isLong {
                try copyLong(index, of: node, source, report)
            }
        }
        let isCompressed = Self.isCompressed(record, level, source)
        let page =
            isCompressed ? try addLeaf(node, to: target) : try target.addNode(UnsafeRawPointer(node.base))
        // Its size in the file, which may be less than its content.
        let sectors = Int(PagePointer.sectors(record.page))
        try note(isCompressed ? sectors * FileFormat.sectorSize : node.view.size, report)
        return page
    }

    /// Returns the node, verified, in the buffer of its level.
    private func read(
        _ record: ChildRecord, _ level: Int, _ source: Source
    ) throws(StorageError) -> NodeEditor {
        let number = PagePointer.number(record.page)
        // Without this a hostile file could refer to a few pages so often that the copy never ends.
        guard figures.copiedBytes <= pages.statistics.fileBytes else {
            throw .corrupt(
                Corruption(
                    page: number, reason: "the trees have more pages than the file: some pages are in two places"))
        }
        let node =
            Self.isCompressed(record, level, source)
            ? try readLeaf(record) : try readNode(record, level, isCatalogue: source.isCatalogue)
        guard node.view.stamp == (level == 0 ? source.leafStamp : source.branchStamp) else {
            throw .corrupt(
                Corruption(page: number, reason: "it is marked as a node of tree number \(node.view.stamp.tree)"))
        }
        let count = level == 0 ? UInt64(node.view.count) : node.view.childEntries
        guard count == record.count else {
            throw .corrupt(
                Corruption(page: number, reason: "\(count) entries below it, its parent says \(record.count)"))
        }
        return node
    }

    private func addLeaf(_ leaf: NodeEditor, to target: StoreBuilder) throws(StorageError) -> UInt64 {
        let page = buffers + Self.nodeBuffers(view.pageSize) + PageStore.largestNode
        let parts = leaf.divide(into: page)
        return try target.addLeaf(UnsafeMutableRawBufferPointer(start: page, count: leaf.size), parts)
    }

    /// Whether it is a leaf of a compressed tree: its pointer has the number of its sectors.
    private static func isCompressed(_ record: ChildRecord, _ level: Int, _ source: Source) -> Bool {
        level == 0 && !source.isCatalogue && PagePointer.sectors(record.page) > 0
    }

    private func readNode(
        _ record: ChildRecord, _ level: Int, isCatalogue: Bool
    ) throws(StorageError) -> NodeEditor {
        let place = level + (isCatalogue ? NodeLayout.maximumLevels : 0)
        let node = NodeEditor(buffers + place * view.pageSize, size: view.pageSize)
        try pages.copyWholePage(
            record.page, birth: record.birth, kind: level == 0 ? PageKind.leaf : PageKind.branch,
            level: UInt8(truncatingIfNeeded: level),
            into: UnsafeMutableRawBufferPointer(start: node.base, count: node.size))
        return node
    }

    /// Only one leaf at a time is being copied.
    private func readLeaf(_ record: ChildRecord) throws(StorageError) -> NodeEditor {
        let place = buffers + Self.nodeBuffers(view.pageSize)
        let buffer = UnsafeMutableRawBufferPointer(start: place, count: PageStore.largestNode)
        let size = try pages.copyWholeLeaf(record.page, birth: record.birth, into: buffer)
        return NodeEditor(place, size: size)
    }

    /// Copies the tree of a catalogue entry, and writes its new place to the entry.
    private mutating func copyEntryTree(
        _ index: Int, of node: NodeEditor, _ report: Report
    ) throws(StorageError) {
        let name = String(decoding: node.view.keyBytes(index), as: UTF8.self)
        var record: CatalogueRecord
        do throws(StorageError) {
            let cell = node.view.cell(index)
            guard !cell.isLong else { throw .corrupt(Corruption(reason: "a catalogue record is a long value")) }
            record = try CatalogueRecord(cell.valueBytes, transaction: view.transaction)
        } catch {
            throw error.inTree(name)
        }
        let size = record.options.reductionSize
        let source = Source(
            name: name, leafStamp: NodeStamp(tree: record.number, reductionSize: 0, reserve: view.reserve),
            branchStamp: NodeStamp(tree: record.number, reductionSize: size, reserve: view.reserve))
        record.root.page = try copyTree(record.root, source, report)
        node.overwriteValue(index) { record.write(to: $0) }
    }

    private mutating func copyLong(
        _ index: Int, of node: NodeEditor, _ source: Source, _ report: Report
    ) throws(StorageError) {
        var long = LongReference(node.view.cell(index).value)
        let sectors = LongValue.sectors(long.size, in: view)
        do throws(StorageError) {
            let value = try LongPageReader(view, number: long.page, birth: long.birth, size: long.size)
            long.page = try target.addLong(value, birth: long.birth)
        } catch {
            throw error.inTree(source.name).withKeys("the value of \(KeyRange.words(node.view.keyBytes(index)))")
        }
        node.setLongReference(index, long)
        try note(Int(sectors) * FileFormat.sectorSize, report)
    }

    private mutating func note(_ bytes: Int, _ report: Report) throws(StorageError) {
        figures.copiedBytes += UInt64(bytes)
        figures.totalBytes = max(figures.totalBytes, figures.copiedBytes)
        guard figures.copiedBytes - reportedBytes >= Self.reportBytes else { return }
        reportedBytes = figures.copiedBytes
        guard report(figures) else {
            isStopped = true
            throw .busy("the backup was stopped")
        }
    }
}
