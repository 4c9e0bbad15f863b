// SPDX-License-Identifier: Apache-2.0
// Moving a tree's pages below the limit of a compaction: copies nodes and long values beyond it, and the branches that
// lead to them. Keys, values, counts and reductions don't change, so the journal needs no record.

import HornbeamPages

/// The work of one step of a compaction in a tree.
protocol CompactionWork {
    /// Whether this step has done enough.
    var isSpent: Bool { get }
    /// Bytes that were moved.
    var movedBytes: Int { get }
    /// Number of sectors of pages beyond the limit that found no room below it.
    var stuckSectors: UInt64 { get }
    /// Does the permitted work in one tree, from `key` on (nil: from the start). Returns the key to continue at; nil at
    /// the tree's end.
    mutating func tree(_ tree: OpenTreePointer, from key: [UInt8]?) throws(StorageError) -> [UInt8]?
}

/// One step's work on one tree. A node below the limit with nothing to move under it is only read. A leaf below it
/// without long values isn't even read.
struct Relocation: CompactionWork {
    let writer: TreeWriter
    /// Number of pages that may still be moved, and of nodes that may still be read.
    private var budget: Int
    private var reads: Int
    private(set) var movedBytes = 0
    private(set) var stuckSectors: UInt64 = 0

    /// Whether long values that find no room below the limit move out of the way, beyond the file's end if necessary.
    private let isClearing: Bool

    init(writer: TreeWriter, budget: Int, reads: Int, isClearing: Bool) {
        self.writer = writer
        self.budget = budget
        self.reads = reads
        self.isClearing = isClearing
    }

    var isSpent: Bool { budget <= 0 || reads <= 0 }

    /// Values up to this size are moved through the transaction's memory, together with its other pages.
    private static let wholeSize: UInt64 = 1 << 20

    private var nodeSectors: UInt32 { UInt32(writer.pageSize / FileFormat.sectorSize) }

    mutating func tree(_ tree: OpenTreePointer, from key: [UInt8]?) throws(StorageError) -> [UInt8]? {
        let root = tree.pointee.root
        guard !root.isEmpty else { return nil }
        let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        let result = try node(tree, record, level: root.level, from: key)
        if result.record != record {
            tree.pointee.changes &+= 1
            tree.pointee.root.page = result.record.page
            tree.pointee.root.birth = result.record.birth
        }
        return result.resume
    }

    /// Moves pages below the node from `key` on (nil: from the start). Returns the node's new record, and the key to
    /// continue at; nil at the node's end.
    private mutating func node(
        _ tree: OpenTreePointer, _ record: ChildRecord, level: Int, from key: [UInt8]?
    ) throws(StorageError) -> (record: ChildRecord, resume: [UInt8]?) {
        reads -= 1
        let mark = writer.view.heldMark
        defer { writer.view.letGo(to: mark) }
        if level == 0 { return (try leaf(tree, record), nil) }
        var place = try moved(tree, record, level: level)
        var node = try writer.node(tree, place.page, birth: place.birth, level: level)
        var index = key.map { $0.withUnsafeBytes { node.childIndex($0) } } ?? 0
        let first = index
        var resume = key
        while index < node.count {
            // The first child is always processed, so that each step makes progress, and because its key may stand for
            // minus infinity.
            guard !isSpent || index == first else { return (place, node.keyBytes(index)) }
            let child = node.child(index)
            // If there are no long values, a leaf that may stay need not be read.
            let isSkipped = level == 1 && tree.pointee.longValues == 0 && !shouldMove(child)
            if !isSkipped {
                let result = try self.node(tree, child, level: level - 1, from: resume)
                if result.record != child {
                    let own = try writer.own(tree, place, level: level)
                    place = ChildRecord(page: own.page, birth: writer.birth, count: place.count)
                    own.editor.moveChild(index, to: result.record.page, birth: result.record.birth)
                    node = own.editor.view
                }
                if let next = result.resume { return (place, next) }
            }
            resume = nil
            index += 1
        }
        return (place, nil)
    }

    /// Moves the node below the limit if it must move. Returns its record.
    private mutating func moved(
        _ tree: OpenTreePointer, _ record: ChildRecord, level: Int
    ) throws(StorageError) -> ChildRecord {
        guard record.birth != writer.birth, shouldMove(record) else { return record }
        budget -= 1
        movedBytes += writer.pageSize
        let own = try writer.own(tree, record, level: level)
        return ChildRecord(page: own.page, birth: writer.birth, count: record.count)
    }

    private func shouldMove(_ record: ChildRecord) -> Bool {
        if PagePointer.isUnplaced(record.page) { return false }
        let stored = PagePointer.sectors(record.page)
        return writer.pages.shouldMove(PagePointer.number(record.page), sectors: stored > 0 ? stored : nodeSectors)
    }

    private mutating func leaf(
        _ tree: OpenTreePointer, _ record: ChildRecord
    ) throws(StorageError) -> ChildRecord {
        var place = try moved(tree, record, level: 0)
        guard tree.pointee.longValues > 0 else { return place }
        var leaf = try writer.node(tree, place.page, birth: place.birth, level: 0)
        for index in 0..<leaf.count where leaf.cell(index).isLong {
            let long = LongReference(leaf.cell(index).value)
            let sectors = LongValue.sectors(long.size, in: writer.pages.view)
            guard long.birth != writer.birth, writer.pages.shouldMove(long.page, sectors: sectors) else { continue }
            guard isClearing || writer.pages.hasRoomBelowLimit(sectors: sectors) else {
                stuckSectors += UInt64(sectors)
                continue
            }
            let own = try writer.own(tree, place, level: 0)
            place = ChildRecord(page: own.page, birth: writer.birth, count: place.count)
            leaf = own.editor.view
            own.editor.setLongReference(index, try copy(long))
            try LongValue.free(long, with: writer.pages)
            budget -= Swift.max(1, Int(sectors / nodeSectors))
            movedBytes += Int(sectors) * FileFormat.sectorSize
        }
        return place
    }

    /// Copies the value to a page of this transaction. A large value goes to its new place block by block, as if it
    /// were spilled there: nothing refers to the place before the next checkpoint, which syncs the file first.
    private func copy(_ long: LongReference) throws(StorageError) -> LongReference {
        guard long.size > Self.wholeSize else {
            let mark = writer.view.heldMark
            defer { writer.view.letGo(to: mark) }
            return try LongValue.write(LongValue.read(long, in: writer.view), with: writer.pages)
        }
        let value = try LongPageReader(writer.view, number: long.page, birth: long.birth, size: long.size)
        let page = try LongPageWriter(writer.pages, size: long.size)
        try value.forEachBlock { (block) throws(StorageError) in try page.append(block) }
        try page.finish()
        return LongReference(page: page.pageNumber, size: long.size, birth: page.birth)
    }
}
