// SPDX-License-Identifier: Apache-2.0
// Filling up a tree's half-empty leaves, one step at a time.

import HornbeamPages

/// One step's work on one tree.
struct Packing: CompactionWork {
    let writer: TreeWriter
    private let aim: PackingAim
    /// Number of leaves that may still be written, and read.
    private var budget: Int
    private var reads: Int
    /// Bytes of the leaves that were written.
    private(set) var movedBytes = 0
    /// Always 0, because there is no limit to stay below.
    let stuckSectors: UInt64 = 0

    /// Number of leaves that are considered together.
    private let window: Int
    /// A budget for which a full disk has room.
    static let least = 12

    init(writer: TreeWriter, aim: PackingAim, budget: Int, reads: Int) {
        self.writer = writer
        self.aim = aim
        self.budget = budget
        self.reads = reads
        window = min(64, budget)
    }

    var isSpent: Bool { budget < window || reads <= 0 }

    mutating func tree(_ tree: OpenTreePointer, from key: [UInt8]?) throws(StorageError) -> [UInt8]? {
        reads -= 1
        guard try isWorthALook(tree, isStart: key == nil) else { return nil }
        let removed = writer.memory.removed
        let number = tree.pointee.number
        var place = key ?? (aim.isAsked ? [] : removed.place(in: number))
        do throws(StorageError) {
            while !isSpent {
                let mark = writer.view.heldMark
                defer { writer.view.letGo(to: mark) }
                let packed = try writer.packLeaves(tree, from: place, most: window, aim)
                reads -= packed.read
                budget -= packed.written
                movedBytes += packed.written * writer.pageSize
                guard let next = packed.next else {
                    removed.forget(number)
                    return nil
                }
                place = next
            }
        } catch {
            // No further attempt before the tree has lost as many entries again.
            if !aim.isAsked { removed.forget(number) }
            throw error
        }
        if !aim.isAsked { removed.note(place: place, in: number) }
        return place
    }

    private mutating func isWorthALook(_ tree: OpenTreePointer, isStart: Bool) throws(StorageError) -> Bool {
        guard Self.mayChange(tree), tree.pointee.root.level > 0 else { return false }
        guard aim.isAsked else {
            return writer.memory.removed.isMany(in: tree.pointee.number, of: tree.pointee.root.count)
        }
        guard isStart else { return true }
        reads -= TreeWriter.packingSamples
        return try writer.hasEmptyLeaves(tree, aim)
    }

    /// The reduced values of another program's reduction can't be recomputed.
    private static func mayChange(_ tree: OpenTreePointer) -> Bool {
        guard tree.pointee.reductionSize > 0 else { return true }
        return tree.pointee.reduction.map { !$0.isOptional || $0.makeFolder != nil } ?? false
    }
}
