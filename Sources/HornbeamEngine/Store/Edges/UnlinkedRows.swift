// SPDX-License-Identifier: Apache-2.0
// Ids that are linked and not stored have row ids, too. The store knows these only while a link has them as an end.
// Removing a link notes its ends; at the end of a change the ids without links are forgotten.

import HornbeamPages
import HornbeamTree

/// The rows of one type that aren't stored and have lost a link, which may have been their last one, in a transaction.
struct UnlinkedRows {
    fileprivate(set) var rows: Set<RowID> = []
    /// Whether any entity of the type is linked and not stored; nil before that was first needed.
    fileprivate var hasUnsaved: Bool?
}

extension EdgeTrees {
    /// Must be called for each link that is removed. An entity that isn't stored is known only while it is linked.
    @inline(__always)
    func noteUnlinked(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        let number = Int(side.list.number)
        if number < storedEnds.count, storedEnds[number] { return }
        try lookUpUnlinked(side, source, target)
    }

    @inline(never)
    private func lookUpUnlinked(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        let (sources, targets) = (try core.store(side.type), try core.store(side.target))
        try sources.noteUnlinked(source)
        try targets.noteUnlinked(target)
        guard sources.unlinked.hasUnsaved == false, targets.unlinked.hasUnsaved == false else { return }
        let number = Int(side.list.number)
        if number >= storedEnds.count {
            storedEnds.append(contentsOf: repeatElement(false, count: number + 1 - storedEnds.count))
        }
        storedEnds[number] = true
    }
}

extension EntityStore {
    /// The row id of an id that will be linked, whether or not it is stored.
    /// - Parameter others: rows that will be linked together with it. They won't be linked if this fails.
    package func rowToLink(_ id: Value, after others: [RowID]) throws -> RowID {
        do {
            return try ensureRowID(of: id)
        } catch {
            for row in others { try noteUnlinked(row) }
            throw error
        }
    }

    /// Must be called when an id gets a row id without being stored.
    func noteUnsaved() {
        unlinked.hasUnsaved = true
        core.edges.storedEnds = []
    }

    /// Must be called for a row that loses a link, or that doesn't get an expected one and may have none. Has no effect
    /// on stored rows.
    package func noteUnlinked(_ rowID: RowID) throws {
        if unlinked.hasUnsaved == nil {
            // This is looked up once in a transaction: most stores have no such ids.
            unlinked.hasUnsaved = try mayMiss()
        }
        if unlinked.hasUnsaved == false { return }
        guard try transaction.get(type.unsaved, rowID) != nil else { return }
        unlinked.rows.insert(rowID)
        core.hasUnlinked = true
    }

    /// Forgets ids that aren't stored and have lost their last link. Must be called only between whole changes: an id
    /// that is about to be linked must not be forgotten.
    func forgetUnlinked() throws {
        guard !unlinked.rows.isEmpty else { return }
        // Sorted as in the trees.
        let rows = unlinked.rows.sorted()
        unlinked.rows = []
        for rowID in rows {
            guard try transaction.get(type.unsaved, rowID) != nil, try !core.edges.isLinked(type, rowID) else {
                continue
            }
            if rowID >= RowID.firstAssigned, let id = try id(of: rowID) {
                _ = try transaction.delete(type.ids, try idKey(id))
            }
            _ = try transaction.delete(type.unsaved, RowKey(rowID))
            core.counts.removals += 1
        }
    }
}
