// SPDX-License-Identifier: Apache-2.0
// Gathers the changes of a write transaction if there are observers or the log has consumers: the changed rows with
// their former state, and the rows whose links changed. Rows are kept as they were when the transaction began. A
// comparison with the present row then shows whether it has changed, however often it was saved. So a rollback to a
// savepoint has little to undo here: a row that is as before is no change. Only the order of the changes, the touches
// and the changed links are shortened. For observers a limited number of rows is kept: if there are more, only the
// trees are known. For the log every change that its consumers want is gathered, without a limit.

import HornbeamPages
package import HornbeamTree

/// Changed rows with their former state; nil where there was no row.
package typealias FormerRows = [RowID: [UInt8]?]

/// The changes of one commit.
package struct CommitChanges: Sendable {
    /// The number of the state that the commit made.
    package let number: UInt64
    /// The number of the state before it.
    package let base: UInt64
    package let trees: Set<TreeID>
    /// The changed rows by their trees, nil if they were too many.
    package let rows: [TreeID: FormerRows]?
    /// By the number of a list of links, the rows whose links were added, removed or moved in it; nil if they were too
    /// many.
    package let links: [UInt16: Set<RowID>]?
    /// The trees whose changes are contained here.
    package let treesTold: Set<TreeID>
    /// Rows that were touched. They count as changed if they existed before and were saved, even with the same values.
    package let touched: [TreeID: Set<RowID>]
    /// The size of this data in memory.
    package let size: RowCapture.Size
}

/// Gathers the changes of one write transaction. It belongs to one thread at a time, as the transaction does.
package final class RowCapture {
    /// The amount of data kept for one transaction, or for all commits together.
    package struct Size: Sendable {
        package var rows = 0
        package var bytes = 0

        static let limit = Size(rows: 10_000, bytes: 8 << 20)

        package init(rows: Int = 0, bytes: Int = 0) { (self.rows, self.bytes) = (rows, bytes) }

        package var isTooMuch: Bool { rows > Self.limit.rows || bytes > Self.limit.bytes }
    }

    private(set) var rows: [TreeID: FormerRows] = [:]
    private(set) var links: [UInt16: (tree: TreeID, rows: Set<RowID>)] = [:]
    /// The rows in the order of their changes, once for each change: for queries within the transaction.
    private var order: [(tree: TreeID, row: RowID)] = []
    private var touches: [(tree: TreeID, row: RowID)] = []
    /// The rows of `links` in the order in which they were noted.
    private var linked: [(list: UInt16, row: RowID)] = []
    private var size = Size()
    private var isOverfull = false
    /// Whether everything is kept without a limit, for queries within the transaction.
    private let keepsAll: Bool
    /// Whether changes of all trees are gathered, not only of logged ones.
    private let isObserved: Bool
    /// The trees whose changes the commit adds to the log; these changes are never dropped. It is nil if the log has no
    /// consumers.
    private(set) var logged: LoggedTrees?

    package init(isObserved: Bool = false, keepsAll: Bool = false, logging logged: LoggedTrees? = nil) {
        self.isObserved = isObserved || keepsAll
        self.keepsAll = keepsAll
        self.logged = logged
    }

    /// Must be called when types were added or have got other trees.
    func follow(_ logged: LoggedTrees?) { self.logged = logged }

    private var isForObservers: Bool { isObserved && !isOverfull }

    /// Whether there may be changes for the log. Most writes have none that its consumers want.
    var hasLogged: Bool {
        guard let logged else { return false }
        return rows.keys.contains(where: logged.rows.contains)
            || links.values.contains { logged.links.contains($0.tree) }
    }

    private func isLogged(_ tree: TreeID) -> Bool { logged?.rows.contains(tree) ?? false }

    /// Must be called before the row changes.
    /// - Parameter old: the row as it is, nil if there is none.
    func note(_ row: RowID, in tree: TreeID, old: RowReader?) {
        if keepsAll { order.append((tree, row)) }
        guard isForObservers || isLogged(tree), rows[tree]?[row] == nil else { return }
        let former = old.map { Array($0.bytes) }
        rows[tree, default: [:]].updateValue(former, forKey: row)
        size.rows += 1
        size.bytes += former?.count ?? 0
        letGoIfTooMuch()
    }

    /// Must be called for a row that was noted and that counts as changed in any case.
    func noteTouch(_ row: RowID, in tree: TreeID) {
        if isForObservers || isLogged(tree) { touches.append((tree, row)) }
    }

    /// The present numbers of changes, touches and rows with changed links, for `goBack(to:)`.
    var place: (changes: Int, touches: Int, links: Int) { (order.count, touches.count, linked.count) }

    /// Forgets the changes' order, the touches and the changed links after a place, because they were undone.
    func goBack(to place: (changes: Int, touches: Int, links: Int)) {
        order.removeLast(max(0, order.count - place.changes))
        touches.removeLast(max(0, touches.count - place.touches))
        let kept = min(place.links, linked.count)
        for (list, row) in linked[kept...] { links[list]?.rows.remove(row) }
        linked.removeLast(linked.count - kept)
    }

    /// The rows of each tree that were touched.
    var touched: [TreeID: Set<RowID>] {
        touches.reduce(into: [:]) { $0[$1.tree, default: []].insert($1.row) }
    }

    /// Returns the number of the last change of each row of a tree. The numbers grow.
    func turns(of tree: TreeID) -> [RowID: Int] {
        var turns: [RowID: Int] = [:]
        for (turn, change) in order.enumerated() where change.tree == tree { turns[change.row] = turn }
        return turns
    }

    /// Must be called when a link of the row is added to a list, removed from it or moved in it.
    func note(_ list: LinkList, _ row: RowID) {
        guard isForObservers || logged?.links.contains(list.tree) ?? false,
            links[list.number, default: (list.tree, [])].rows.insert(row).inserted
        else { return }
        linked.append((list.number, row))
        size.bytes += Self.bytesOfLink
        letGoIfTooMuch()
    }

    /// Estimated number of bytes to remember a row with changed links.
    private static var bytesOfLink: Int { 32 }

    /// Drops the changes for observers if they are too many. `linked` and `touches` stay, because `place` counts their
    /// elements.
    private func letGoIfTooMuch() {
        guard size.isTooMuch, isForObservers, !keepsAll else { return }
        isOverfull = true
        rows = rows.filter { isLogged($0.key) }
        links = links.filter { logged?.links.contains($0.value.tree) ?? false }
        size = Size()
    }

    /// Returns the changes. Must be called after the flush. Returns nil in a read.
    func changes(of transaction: Transaction) -> CommitChanges? {
        guard let number = transaction.number else { return nil }
        let isWhole = isForObservers && !size.isTooMuch
        return CommitChanges(
            number: number, base: transaction.version, trees: transaction.treesChanged, rows: isWhole ? rows : nil,
            links: isWhole ? links.mapValues(\.rows) : nil,
            treesTold: isWhole ? Set(rows.keys).union(links.values.map(\.tree)) : [],
            touched: isWhole ? touched : [:], size: isWhole ? size : Size())
    }
}

extension EntityStore {
    /// Whether a touched row was saved, and the save wasn't undone.
    fileprivate func isTouched(_ new: RowReader, since old: RowReader) -> Bool {
        type.updatedAt == nil || !new.isSame(as: old, ignoring: nil)
    }

    /// Whether a touched row was saved, and the save wasn't undone. False for a row that was inserted or deleted.
    package func isTouched(_ row: RowID, since old: [UInt8]?) throws -> Bool {
        guard let old, let new = try self.row(row) else { return false }
        return try old.withUnsafeBytes { isTouched(new, since: try RowReader($0, of: type)) }
    }

    /// Calls `body` with each row that differs from its former state, or was touched: with its former and its present
    /// state.
    package func forEachChange(
        since former: FormerRows, touched: Set<RowID> = [], ignoring ignored: Int?,
        _ body: (RowID, RowReader?, RowReader?) throws -> Void
    ) throws {
        for (row, old) in former {
            let new = try self.row(row)
            guard let old else {
                if let new { try body(row, nil, new) }
                continue
            }
            try old.withUnsafeBytes { bytes in
                let old = try RowReader(bytes, of: type)
                if let new, try isSame(new, old, ignoring: ignored) {
                    guard touched.contains(row), isTouched(new, since: old) else { return }
                }
                try body(row, old, new)
            }
        }
    }
}
