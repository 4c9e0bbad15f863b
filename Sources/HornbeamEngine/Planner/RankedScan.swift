// SPDX-License-Identifier: Apache-2.0
// Walks the hits of a full-text search from the best score down: tests the rest of the query's filter, begins after a
// position, and orders equal scores.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// A ranked search of one plan.
struct RankedScan {
    let plan: QueryPlan
    let search: IndexSearch
    let filter: RowFilter
    let store: EntityStore
    /// Counts rows for `explain(.analyze)`; nearly always nil.
    let tally: PlanTally?

    /// - Parameter rows: the rows to search in; nil for all.
    func run(
        among rows: RowSelection?, _ needsRows: Bool, _ body: (RowID, RowReader?, Double?) throws -> Bool
    ) throws {
        // The search can only throw storage errors. Others are kept and thrown after it.
        var failure: (any Error)?
        func accepts(_ row: UInt64) -> Bool {
            guard failure == nil else { return false }
            do {
                let rowID = RowID(rawValue: row)
                let row = try hitRow(rowID)
                tally?.rows += 1
                let passes = try filter.accepts(rowID, row)
                if passes { tally?.passed += 1 }
                return passes
            } catch {
                failure = error
                return false
            }
        }
        let test: TextFilter.Test? = filter.acceptsAll ? nil : { accepts($0) }
        let hits = try search.search(
            limit: plan.budget ?? .max, after: try last(),
            filter: rows.map { .selection($0, passing: test) } ?? test.map { .matching($0) } ?? .all,
            tieBreak: try tieBreak { failure = $0 })
        if let failure { throw failure }
        for hit in hits.dropFirst(plan.offset) {
            let rowID = RowID(rawValue: hit.row)
            let row = needsRows ? try store.row(rowID) : nil
            if filter.acceptsAll, row != nil {
                tally?.rows += 1
                tally?.passed += 1
            }
            guard try body(rowID, row, hit.score) else { return }
        }
    }

    private func hitRow(_ rowID: RowID) throws -> RowReader {
        if let row = try store.row(rowID) { return row }
        throw store.corrupt("e:\(store.type.name)", "full text names \(rowID), which has no row")
    }

    /// The hit after which a ranked list continues, with its present score.
    private func last() throws -> TextHit? {
        guard let position = plan.position else { return nil }
        if let hit = position.position.hit { return TextHit(row: hit.row.rawValue, score: hit.score) }
        guard let rowID = position.rowID, let score = try search.explain(rowID)?.value else {
            throw HornbeamError(
                .invalid,
                "\(store.type.name) \(position.position.id.text) isn't found by the search any more, so the list has "
                    + "no place after it: use an offset")
        }
        return TextHit(row: rowID.rawValue, score: score)
    }

    /// The order of equal scores: by the other terms of the query's sort, or else by ascending ids. Integer ids that
    /// are their own row ids need no look-up.
    private func tieBreak(_ fail: @escaping (any Error) -> Void) throws -> TextTieBreak? {
        plan.ties.isEmpty ? try idTieBreak(fail) : try tieBreak(by: plan.ties, fail)
    }

    private func tieBreak(by ties: [SortTerm], _ fail: @escaping (any Error) -> Void) throws -> TextTieBreak {
        let order = try RowOrder(ties, type: store.type, core: store.core)
        let start = try plan.position?.place(order, store)
        // Each hit is compared with several others. Not all places are remembered if there is a limit.
        var places: [UInt64: RowOrder.Place] = [:]
        let remembered = plan.budget.map { $0 < 1 << 40 ? 2 * $0 + 1 << 16 : .max } ?? .max
        func place(_ row: UInt64) throws -> RowOrder.Place {
            if let known = places[row] { return known }
            let rowID = RowID(rawValue: row)
            // The position's own entity may be gone; its former place is used.
            if let start, start.rowID == rowID { return start }
            let place = try order.place(rowID, try hitRow(rowID))
            if places.count >= remembered { places.removeAll(keepingCapacity: true) }
            places[row] = place
            return place
        }
        return { left, right in
            do {
                return order.precedes(try place(left), try place(right))
            } catch {
                fail(error)
                return left < right
            }
        }
    }

    /// A comparison of ids that breaks ties. Returns nil if ids have the order of rows, by which a search breaks ties
    /// itself.
    private func idTieBreak(_ fail: @escaping (any Error) -> Void) throws -> TextTieBreak? {
        // The position's hit may be gone, and its row id then leads to no id. The id of the position is used for it.
        let gone = plan.position.flatMap { $0.position.hit == nil ? nil : $0 }
        let isRow = gone.flatMap(\.rowID).map { $0 < .firstAssigned } ?? true
        if isRow, store.type.hasIntegerIDs, try store.transaction.count(store.type.ids) == 0 { return nil }
        let goneKey = try gone.map { try store.idKey($0.position.id) }
        return { left, right in
            if left < RowID.firstAssigned.rawValue, right < RowID.firstAssigned.rawValue { return left < right }
            do {
                let (first, second) = (RowID(rawValue: left), RowID(rawValue: right))
                guard let goneKey, let row = gone?.rowID, row == first || row == second else {
                    return try store.idPrecedes(first, second)
                }
                let other = try store.id(of: row == first ? second : first)
                guard let key = try other.map({ try store.idKey($0) }) else { return left < right }
                return row == first ? goneKey.lexicographicallyPrecedes(key) : key.lexicographicallyPrecedes(goneKey)
            } catch {
                fail(error)
                return left < right
            }
        }
    }
}
