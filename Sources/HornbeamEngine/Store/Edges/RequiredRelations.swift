// SPDX-License-Identifier: Apache-2.0
// Checks required relations, for databases that are opened with this option: every entity that a write has saved, or
// that has lost a link in it, must have all its required relations when the write ends. In between it may lack them, so
// that entities can be saved in any order.

/// The entities that a write must leave with all their required relations. A transaction that isn't strict has none.
package final class RequiredRelations {
    /// The rows touched, by type.
    private var touched: [String: Set<RowID>] = [:]
    /// `touched` in the order of the first touches. An inner transaction appends to it, so undoing it costs only its
    /// own entries, and beginning one costs nothing: a copy of `touched` would copy all of them.
    private var log: [(type: String, rowID: RowID)] = []

    func touch(_ type: String, _ rowID: RowID) {
        guard touched[type, default: []].insert(rowID).inserted else { return }
        log.append((type, rowID))
    }

    /// Number of entities touched so far. An inner transaction that begins here goes back to it.
    var count: Int { log.count }

    /// Forgets later touches, after the transaction went back to a state with this `count`. Returns the number of
    /// entities that no longer count as touched.
    @discardableResult
    func forget(downTo count: Int) -> Int {
        let forgotten = log.count - count
        for (type, rowID) in log[count...] { touched[type]?.remove(rowID) }
        log.removeSubrange(count...)
        return forgotten
    }

    /// Throws `.missingRelation` for the first entity, by type and row id, that lacks a required relation.
    func check(_ core: StoreTransaction) throws {
        for (type, rows) in touched.sorted(by: { $0.key < $1.key }) {
            let store = try core.store(type)
            let sides = store.type.relations.filter(\.description.required)
            for rowID in rows.sorted() where try store.isSaved(rowID) {
                for side in sides {
                    guard let lack = try lack(side, rowID, core) else { continue }
                    throw HornbeamError(
                        .missingRelation,
                        "\(type) \(try store.id(of: rowID)?.text ?? "?") lacks its required relation “\(side.name)”"
                            + "\(lack): link it to a stored \(side.target) before the write ends, or delete it in the "
                            + "same write")
                }
            }
        }
    }

    /// Returns nil if the relation has a stored target. Otherwise returns a remark for the error, which names a target
    /// that isn't stored, if there is one.
    private func lack(_ side: EdgeSide, _ rowID: RowID, _ core: StoreTransaction) throws -> String? {
        let targets = try core.store(side.target)
        var isLinked = false
        var unstored: RowID?
        try core.edges.forEachTarget(side, of: rowID) { target in
            isLinked = try targets.isSaved(target)
            unstored = unstored ?? target
            return !isLinked
        }
        if isLinked { return nil }
        guard let unstored, let id = try targets.id(of: unstored) else { return "" }
        return " (it leads to \(side.target) \(id.text), which isn't stored)"
    }
}
