// SPDX-License-Identifier: Apache-2.0
// Gathers the changes of a write transaction while somebody observes or the log has consumers: which rows were changed,
// what each was before, and of which rows links changed. Rows are kept as they were when the transaction began, so that
// a row changed twice, or back again, is told by a comparison with what it has become. For the same reason going back
// to a savepoint needs none of these undone: a row that was changed since and is as before is no change. Only the order
// of the changes goes back with it. Too many rows are not kept for observers: then only the trees are known. For the
// log only what its consumers want is gathered, however much it is.

import HornbeamPages
package import HornbeamTree

/// Rows that were changed, with what they were; nil where there was none.
package typealias FormerRows = [RowID: [UInt8]?]

/// The changes of one commit.
package struct CommitChanges: Sendable {
    /// The number of the state that it made, and of the one that it was built on.
    package let number: UInt64
    package let base: UInt64
    package let trees: Set<TreeID>
    /// The changed rows by the tree that they lie in, nil if they were too many.
    package let rows: [TreeID: FormerRows]?
    /// By the number of a list of links: the rows of which links came or went there, or got another place. Nil if it
    /// was too much.
    package let links: [UInt16: Set<RowID>]?
    /// The trees of which something is told here.
    package let treesTold: Set<TreeID>
    /// Rows that were touched: they count as changed if they were there before and were saved, though as they are.
    package let touched: [TreeID: Set<RowID>]
    /// The size of what is kept here.
    package let size: RowCapture.Size
}

/// Belongs to one write transaction, and with it to one thread at a time.
package final class RowCapture {
    /// Amount of what is kept, of one transaction or of all commits together.
    package struct Size: Sendable {
        package var rows = 0
        package var bytes = 0

        static let limit = Size(rows: 10_000, bytes: 8 << 20)

        package init(rows: Int = 0, bytes: Int = 0) { (self.rows, self.bytes) = (rows, bytes) }

        package var isTooMuch: Bool { rows > Self.limit.rows || bytes > Self.limit.bytes }
    }

    private(set) var rows: [TreeID: FormerRows] = [:]
    private(set) var links: [UInt16: (tree: TreeID, rows: Set<RowID>)] = [:]
    /// The rows in the order of their changes, each as often as it was changed: for who asks within the transaction.
    private var order: [(tree: TreeID, row: RowID)] = []
    private var touches: [(tree: TreeID, row: RowID)] = []
    /// The rows of `links` in the order in which they were noted.
    private var linked: [(list: UInt16, row: RowID)] = []
    private var size = Size()
    private var isOverfull = false
    /// Whether none is let go of, however many they are: for who asks within the transaction.
    private let keepsAll: Bool
    /// Whether all trees are of interest, not those alone that are logged.
    private let isObserved: Bool
    /// The changes that the commit adds to the log, none of which may be let go of. Nil if nobody wants any.
    private(set) var logged: LoggedTrees?

    package init(isObserved: Bool = false, keepsAll: Bool = false, logging logged: LoggedTrees? = nil) {
        self.isObserved = isObserved || keepsAll
        self.keepsAll = keepsAll
        self.logged = logged
    }

    /// Must be called when types have come or got other trees.
    func follow(_ logged: LoggedTrees?) { self.logged = logged }

    private var isForObservers: Bool { isObserved && !isOverfull }

    /// Whether there may be anything for the log: most writes change nothing that its consumers want.
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

    /// Must be called for a row that was noted, and that counts as changed whatever it is now.
    func noteTouch(_ row: RowID, in tree: TreeID) {
        if isForObservers || isLogged(tree) { touches.append((tree, row)) }
    }

    /// Numbers of changes, touches and rows with changed links so far, to go back to.
    var place: (changes: Int, touches: Int, links: Int) { (order.count, touches.count, linked.count) }

    /// Forgets the order of the changes, the touches, and the changed links that are undone.
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

    /// Must be called when a link of the row comes or goes in a list, or gets another place.
    func note(_ list: LinkList, _ row: RowID) {
        guard isForObservers || logged?.links.contains(list.tree) ?? false,
            links[list.number, default: (list.tree, [])].rows.insert(row).inserted
        else { return }
        linked.append((list.number, row))
        size.bytes += Self.bytesOfLink
        letGoIfTooMuch()
    }

    /// About what it takes to remember a row with changed links.
    private static var bytesOfLink: Int { 32 }

    /// `linked` and `touches` stay: places to go back to are counted in them.
    private func letGoIfTooMuch() {
        guard size.isTooMuch, isForObservers, !keepsAll else { return }
        isOverfull = true
        rows = rows.filter { isLogged($0.key) }
        links = links.filter { logged?.links.contains($0.value.tree) ?? false }
        size = Size()
    }

    /// Returns the changes. Must be called when nothing is gathered above the trees any more. Returns nil in a read.
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
    /// Whether a row that was touched was saved, and that not undone.
    fileprivate func isTouched(_ new: RowReader, since old: RowReader) -> Bool {
        type.updatedAt == nil || !new.isSame(as: old, ignoring: nil)
    }

    /// Whether a touched row was saved, and that not undone. False for a row that was inserted or deleted.
    package func isTouched(_ row: RowID, since old: [UInt8]?) throws -> Bool {
        guard let old, let new = try self.row(row) else { return false }
        return try old.withUnsafeBytes { isTouched(new, since: try RowReader($0, of: type)) }
    }

    /// Calls `body` with each of these rows that is another than it was, or was touched, as it was and as it is.
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
