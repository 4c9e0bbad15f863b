// SPDX-License-Identifier: Apache-2.0
// Notes which rows of a type are saved or removed while a bulk change goes through them: hooks, cascades and the
// change itself may write to entities whose turn is still to come.

import HornbeamTree

/// Belongs to one write transaction, and with it to one thread at a time.
final class RowWatch {
    private let tree: TreeID
    private var changed: Set<RowID> = []
    /// The watch of the bulk change in which this one happens.
    let outer: RowWatch?

    init(_ tree: TreeID, within outer: RowWatch?) {
        self.tree = tree
        self.outer = outer
    }

    /// To be called when a row was put or removed.
    func note(_ row: RowID, in tree: TreeID) {
        if tree == self.tree { changed.insert(row) }
        outer?.note(row, in: tree)
    }

    /// Whether a row was noted since it was asked for the last time.
    func takeChange(of row: RowID) -> Bool {
        // Nearly always nothing was.
        if changed.isEmpty { return false }
        return changed.remove(row) != nil
    }

    /// Forgets what was noted: all rows of interest are read anew.
    func forget() { changed.removeAll(keepingCapacity: true) }
}

extension Session {
    /// Runs `body` with a watch over the rows of a type.
    func watching<Entity: EntityModelProtocol, Result>(
        _: Entity.Type, _ body: (RowWatch) throws -> Result
    ) throws -> Result {
        let core = try entities()
        let watch = RowWatch(try store(Entity.self).type.rows, within: core.watch)
        core.watch = watch
        defer { core.watch = watch.outer }
        return try body(watch)
    }
}
