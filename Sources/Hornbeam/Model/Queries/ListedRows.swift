// SPDX-License-Identifier: Apache-2.0
// Queries over a list of rows that avoid reading all of it. They take rows by their positions, or test a filter row by
// row until the limit is reached, or look up in the list the rows that an index finds for the filter or the order.

import HornbeamPages
import HornbeamTree

/// Rows in an order of their own. A row has one or more positions. Rows are found by position, and positions by row.
package protocol RowList {
    /// Whether all rows are stored entities.
    var isStored: Bool { get }
    func count() throws -> Int
    /// Returns the number of different rows if it is known, otherwise `count`.
    func distinctCount() throws -> Int
    /// Calls `body` with the rows from a position on, until it returns false.
    func forEach(from place: Int, _ body: (RowID) throws -> Bool) throws
    /// Returns the positions of a row, ascending, at most `limit` of them.
    func indices(of row: RowID, limit: Int) throws -> [Int]
}

extension RowList {
    package var isStored: Bool { true }
    package func distinctCount() throws -> Int { try count() }
}

/// The rows that ids, links or another query lead to. Links may lead to entities that aren't stored.
package final class RowArray: RowList {
    let rows: [RowID]
    private lazy var places: [RowID: [Int]] = {
        var places: [RowID: [Int]] = [:]
        for (place, row) in rows.enumerated() { places[row, default: []].append(place) }
        return places
    }()

    package init(_ rows: [RowID]) { self.rows = rows }

    package var isStored: Bool { rows.isEmpty }

    package func count() -> Int { rows.count }

    package func distinctCount() -> Int { places.count }

    package func forEach(from place: Int, _ body: (RowID) throws -> Bool) rethrows {
        for row in rows.dropFirst(place) { guard try body(row) else { return } }
    }

    package func indices(of row: RowID, limit: Int) -> [Int] { Array((places[row] ?? []).prefix(limit)) }
}

/// One query for the rows of a list.
struct ListedRows {
    let parts: ListParts
    let list: any RowList
    let store: EntityStore

    /// The ways to find the rows.
    private enum Way {
        /// Takes rows by their positions: nothing is tested, and nothing sorted.
        case places
        /// Walks the positions, tests each row, and sorts the rows if the query is sorted.
        case walk
        /// Runs a plan for all entities, and looks for its results in the list.
        case plan(EntityQuery)
    }

    /// The price of a row that is looked up by its position in the list.
    private static var rowCost: Double { Price.entry + Price.row }

    private var isFiltered: Bool { if case .all = parts.filter { false } else { true } }
    /// Number of results that are enough, or nil if all are needed.
    private var needed: Int? { parts.limit.map { $0.addingSaturating(parts.offset) } }

    /// Returns the rows, in the list's order unless the query has one. A row with several positions is returned several
    /// times.
    func rows(_ tally: PlanTally? = nil) throws -> [RowID] {
        if let limit = parts.limit, limit <= 0 { return [] }
        try store.core.settleLinks()
        let count = try list.count()
        // Checked before `after` is looked up, because some of the lists of several owners may be empty.
        if count == 0 { return [] }
        switch try way(count) {
        case .places: return try rows(from: try start(), count, tally)
        case .walk: return try walked(tally)
        case .plan(let query): return try found(query, tally) ?? walked(tally)
        }
    }

    /// Returns the number of rows that `rows` would give.
    func count() throws -> Int {
        if !isFiltered, parts.after == nil, list.isStored { return cut(try list.count()) }
        var unsorted = parts
        if parts.after == nil { unsorted.order = [] }
        return try ListedRows(parts: unsorted, list: list, store: store).rows().count
    }

    /// Returns the last of `rows`.
    func last() throws -> RowID? {
        guard !isFiltered, parts.order.isEmpty, !parts.isPart, list.isStored else { return try rows().last }
        var last = parts
        last.limit = 1
        last.offset = max(0, try list.count() - 1)
        return try ListedRows(parts: last, list: list, store: store).rows().last
    }

    private func cut(_ count: Int) -> Int { max(0, min(parts.limit ?? .max, count - min(count, parts.offset))) }

    // MARK: Choosing

    private func way(_ count: Int) throws -> Way {
        if !isFiltered, parts.order.isEmpty { return .places }
        var query = EntityQuery(type: store.type.name, filter: parts.filter, sort: parts.order)
        if query.sort.contains(where: \.isBestScore) {
            // Only the index of a search knows scores, and it gives them for the list's rows alone.
            query.filter = .and([.ids(try ids()), query.filter])
            query.after = parts.after
            return .plan(query)
        }
        if Self.rowCost * Double(count) < Price.plan { return .walk }
        let total = try store.count()
        if parts.order.isEmpty {
            let plan = try Planner(query, store).plan()
            let candidates = try estimate(plan.path, total)
            // The estimate assumes that as large a part of the list passes as of all entities.
            let walked = min(count, needed.map { Self.scaled($0, by: total, over: max(1, candidates)) } ?? count)
            return plan.isNarrow && cost(of: candidates) < Self.rowCost * Double(walked) ? .plan(query) : .walk
        }
        if !isFiltered, needed == nil { return .walk }
        query.after = parts.after
        query.limit = needed.map { Self.scaled($0, by: total, over: max(1, count)).addingSaturating($0) }
        let plan = try Planner(query, store).plan()
        let candidates = try estimate(plan.path, total)
        let looked = plan.sort.isEmpty ? min(candidates, query.limit ?? .max) : candidates
        guard plan.sort.isEmpty ? query.limit != nil || plan.isNarrow : plan.isNarrow else { return .walk }
        return cost(of: looked) < Self.rowCost * Double(count) ? .plan(query) : .walk
    }

    /// The ids of the list's rows, each once.
    private func ids() throws -> [Value] {
        var seen: Set<RowID> = []
        var ids: [Value] = []
        try list.forEach(from: 0) { row in
            if seen.insert(row).inserted, let id = try store.id(of: row) { ids.append(id) }
            return true
        }
        return ids
    }

    /// Estimates the number of candidates of a path. For a search the index counts them, which is much cheaper than
    /// testing rows for words.
    private func estimate(_ path: AccessPath, _ total: Int) throws -> Int {
        switch path {
        case .text(let index, let match, _): try IndexSearch(index, match, store).count()
        case .intersection(let parts): try parts.map { try estimate($0, total) }.min() ?? 0
        case .union(let parts): min(total, try parts.reduce(0) { $0 + min(total, try estimate($1, total)) })
        default: path.candidates(rows: total)
        }
    }

    /// The price of rows that a plan finds, each with a look-up of its positions in the list.
    private func cost(of candidates: Int) -> Double { (Self.rowCost + Price.link) * Double(candidates) }

    private static func scaled(_ number: Int, by factor: Int, over divisor: Int) -> Int {
        Int(min(Double(number) * Double(factor) / Double(divisor), 1e12))
    }

    // MARK: Finding

    /// Returns the entity after which the query continues, or nil if it begins at the start.
    private func position() throws -> PlannedPosition? {
        guard let after = parts.after else { return nil }
        let position = try PlannedPosition(try after(store), store)
        try position.requireOrder(parts.order, store.type)
        return position
    }

    /// Returns the position at which the query continues in the list's order.
    private func start() throws -> Int {
        guard let position = try position() else { return 0 }
        guard let row = position.rowID, let place = try list.indices(of: row, limit: 1).first else {
            throw position.missing(store.type)
        }
        return place + 1
    }

    /// Returns the stored rows from a position on, in the list's order, within offset and limit. Rows that aren't
    /// stored don't count for the offset.
    private func rows(from start: Int, _ count: Int, _ tally: PlanTally?) throws -> [RowID] {
        var found: [RowID] = []
        let left = parts.limit ?? .max
        let first = list.isStored ? start.addingSaturating(parts.offset) : start
        var skipped = list.isStored ? 0 : parts.offset
        guard first < count else { return [] }
        try list.forEach(from: first) { row in
            guard try store.isSaved(row) else { return true }
            if skipped > 0 {
                skipped -= 1
                return true
            }
            found.append(row)
            return found.count < left
        }
        tally?.rows += found.count
        tally?.passed += found.count
        return found
    }

    /// Returns the rows that pass, found by walking the positions.
    private func walked(_ tally: PlanTally?) throws -> [RowID] {
        let filter = try RowFilter(parts.filter, type: store.type, core: store.core)
        if parts.order.isEmpty {
            var found: [RowID] = []
            let needed = needed ?? .max
            try forEachRow(from: try start(), filter, tally) { rowID, _ in
                found.append(rowID)
                return found.count < needed
            }
            return cut(found)
        }
        let order = try RowOrder(parts.order, type: store.type, core: store.core)
        let position = try position()?.place(order, store)
        var best = SortedRows(order, limit: needed, after: position, needsRows: false)
        try forEachRow(from: 0, filter, tally) { rowID, row in
            try best.insert(rowID, row)
            return true
        }
        return cut(best.finish())
    }

    private func forEachRow(
        from start: Int, _ filter: RowFilter, _ tally: PlanTally?, _ body: (RowID, RowReader) throws -> Bool
    ) throws {
        var waiting = RowLookups()
        func visit(_ rowID: RowID, _ row: RowReader?) throws -> Bool {
            guard let row else { return true }
            tally?.rows += 1
            guard try filter.accepts(rowID, row) else { return true }
            tally?.passed += 1
            return try body(rowID, row)
        }
        var goesOn = true
        try list.forEach(from: start) { row in
            waiting.add(row)
            if waiting.isFull { goesOn = try waiting.finish(in: store, visit) }
            return goesOn
        }
        if goesOn { _ = try waiting.finish(in: store, visit) }
    }

    /// Returns those rows of a plan for all entities that are in the list. Returns nil if the plan reached its limit
    /// before it found enough of them.
    private func found(_ query: EntityQuery, _ tally: PlanTally?) throws -> [RowID]? {
        let executor = try Executor(try Planner(query, store), store, tally: tally)
        if parts.order.isEmpty {
            let start = try start()
            var found: [(place: Int, row: RowID)] = []
            try executor.run(needsRows: tally != nil) { rowID, _, _ in
                for place in try list.indices(of: rowID, limit: .max) where place >= start {
                    found.append((place, rowID))
                }
                return true
            }
            return cut(found.sorted { $0.place < $1.place }.map(\.row))
        }
        var found: [RowID] = []
        var looked = 0
        let needed = needed ?? .max
        try executor.run(needsRows: tally != nil) { rowID, _, _ in
            looked += 1
            found += repeatElement(rowID, count: try list.indices(of: rowID, limit: .max).count)
            return found.count < needed
        }
        return found.count >= needed || looked < query.limit ?? .max ? cut(found) : nil
    }

    private func cut(_ rows: [RowID]) -> [RowID] { Array(rows.dropFirst(parts.offset).prefix(parts.limit ?? .max)) }

    // MARK: Telling

    /// Returns the plan for finding the rows.
    func plan() throws -> Plan {
        let count = try list.distinctCount()
        var described = Plan(
            entity: store.type.name, access: .ids(count: count),
            filter: isFiltered ? parts.filter.text(store.type.description) : nil,
            order: parts.order.isEmpty ? .byAccess : .inMemory(parts.order.map { $0.text(store.type.description) }),
            limit: parts.limit, offset: parts.offset, candidates: count, isCovering: false,
            isCountKnown: !isFiltered && parts.after == nil && list.isStored)
        if let limit = parts.limit, limit <= 0 {
            described.access = .nothing
            return described
        }
        guard case .plan(let query) = try way(try list.count()) else { return described }
        described = try Planner(query, store).explanation()
        (described.limit, described.offset, described.isCountKnown) = (parts.limit, parts.offset, false)
        return described
    }

    /// Runs the query, and returns its plan with actual counts.
    func analysis() throws -> PlanRun {
        var run = PlanRun(plan: try plan())
        let tally = PlanTally()
        run.pagesRead = try store.transaction.countingPages { run.results = try rows(tally).count }
        run.take(tally)
        return run
    }
}

extension QueryPlan {
    /// Whether it reads only some of the entities.
    fileprivate var isNarrow: Bool { if case .rowScan = path { false } else { true } }
}

extension Int {
    fileprivate func addingSaturating(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
