// SPDX-License-Identifier: Apache-2.0
// Runs a plan: streams candidates in order, tests the conditions that the access path left open, and stops at the
// limit. Rows are borrowed from their pages: a caller must not change the store while it uses one.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// Runs one plan. A class, because each step's closure keeps it: copies of a struct would retain each part.
package final class Executor {
    private let plan: QueryPlan
    private let store: EntityStore
    private let filter: RowFilter
    /// Whether candidates may not be stored: a list of ids, or the targets of links, may contain entities that were
    /// never saved.
    private let isList: Bool
    /// The position after which results begin, if the path may begin before it: rows up to it are skipped.
    private var start: (order: RowOrder, place: RowOrder.Place)?
    /// Number of rows that must still be read in any case. A property, because accesses to a variable that closures
    /// share would be checked for exclusivity.
    @exclusivity(unchecked) private var needed = Int.max
    /// Number of candidates that the path itself skips.
    private var skipped = 0
    /// Makes rows of the path's entries, if these hold all data that the query reads.
    private let covered: CoveredRow?
    /// Counts the work of each step; nearly always nil.
    private let tally: PlanTally?
    /// The watched query, which ends with the executor; nearly always nil.
    private let watched: WatchedQuery?

    package convenience init(_ query: consuming EntityQuery, _ store: EntityStore) throws {
        guard let watched = store.watched(query) else {
            try self.init(try Planner(query, store), store)
            return
        }
        let tally = PlanTally()
        watched.report.rows = { (tally.rows, tally.passed) }
        try self.init(try Planner(query, store), store, tally: tally, watched: watched)
    }

    /// Makes an executor of the planner's plan. It takes the planner, because passing a plan would copy it.
    package init(
        _ planner: consuming Planner, _ store: EntityStore, tally: PlanTally? = nil, watched: WatchedQuery? = nil
    ) throws {
        plan = try planner.plan()
        planner.texts?.noteTests(in: store)
        self.store = store
        self.tally = tally
        self.watched = watched
        if plan.covering != .no, case .index(let match, _) = plan.path {
            covered = CoveredRow(match.index, store.type, plan.covering)
        } else {
            covered = nil
        }
        filter = try RowFilter(plan.residual, type: store.type, core: store.core)
        isList = plan.path.mayMiss
        guard let position = plan.position, !position.isReached, plan.sort.isEmpty else { return }
        let order = try RowOrder(plan.accessOrder, type: store.type, core: store.core)
        start = (order, try position.place(order, store))
    }

    /// Whether all rows are read before the first result.
    package var sortsInMemory: Bool { !plan.sort.isEmpty }

    /// Number of results; nil if it isn't known without reading.
    package var knownCount: Int? { plan.knownCount }

    /// A scan of the plan's index by runs of rows that are equal in the needed columns. Returns nil if the index
    /// doesn't hold these columns, or if the order matters.
    func groupScan(_ needs: RowNeeds) -> GroupScan? {
        guard covered != nil, needs.isOrderFree, plan.sort.isEmpty, plan.limit == nil, plan.offset == 0,
            plan.position == nil, case .index(let match, _) = plan.path
        else { return nil }
        return GroupScan(match, needs, leaving: plan.residual, store)
    }

    /// The row ids of all results in order, if reading all rows in stored order costs less than looking up each row in
    /// this order. Otherwise nil.
    package func order() throws -> [RowID]? {
        // The count comes before the path, because nearly all lists are short.
        guard let count = plan.pathCount, try store.places(count), plan.limit == nil, plan.offset == 0,
            plan.position == nil, filter.acceptsAll, covered == nil
        else { return nil }
        switch plan.path {
        case .rowScan where !plan.sort.isEmpty: break
        case .index(let match, let walk?) where plan.sort.isEmpty:
            if let order = try orderAsItLies(match, walk) { return order }
        default: return nil
        }
        var order: [RowID] = []
        try run(needsRows: false) { rowID, _, _ in
            order.append(rowID)
            return true
        }
        return order
    }

    /// The row ids of an index's range, if its entries are in the order of the query. Many are read at once.
    private func orderAsItLies(_ match: IndexMatch, _ walk: IndexWalk) throws -> [RowID]? {
        guard let range = match.range, walk.isAsItLies, !walk.isReversed,
            match.index.components.allSatisfy({ $0.type.fixedWidth != nil })
        else { return nil }
        var found: [UInt64] = []
        found.reserveCapacity(min(range.count, 1 << 16))
        try IndexScan(match.index, range, store).addRowIDs(to: &found)
        return found.map { RowID(rawValue: $0) }
    }

    /// The number of results, if the path alone tells it, without looking up a row; otherwise nil.
    func countOfPath() throws -> Int? {
        guard filter.acceptsAll, plan.sort.isEmpty, plan.limit == nil, start == nil else { return nil }
        var count = try countOfLinks()
        if case .text(let index, let match, false) = plan.path {
            count = try IndexSearch(index, match, store).count()
        }
        return count.map { max(0, $0 - plan.offset) }
    }

    /// The number of stored entities that the links of the path lead to. Returns nil for other paths.
    private func countOfLinks() throws -> Int? {
        guard case .linked(let links) = plan.path, filter.acceptsAll else { return nil }
        guard let source = links.source else { return 0 }
        return try store.core.edges.storedCount(links.side, of: source, behind: links.last)
    }

    /// Number of results to reserve room for: at most 1,000, because a count may be damaged.
    package var expectedCount: Int { min(plan.knownCount ?? 0, 1000) }

    package func forEach(_ body: (RowID, RowReader, Double?) throws -> Bool) throws {
        try run(needsRows: true) { rowID, row, score in
            guard let row else { return true }
            return try body(rowID, row, score)
        }
    }

    /// Calls `body` with each result and its score, if the plan ranks them, until it returns false. `dynamic`, here and
    /// at `candidates`, only hides the function from the optimizer, which would copy all scans below it for each
    /// closure that callers pass: 1.5 MB of code that isn't faster.
    /// - Parameter needsRows: whether `body` needs the rows; otherwise it may get nil.
    package dynamic func run(needsRows: Bool, _ body: (RowID, RowReader?, Double?) throws -> Bool) throws {
        if let (index, match, among) = plan.path.ranked {
            let search = try IndexSearch(index, match, store)
            return try RankedScan(plan: plan, search: search, filter: filter, store: store, tally: tally)
                .run(among: try among.map { try selection($0) }, needsRows, body)
        }
        if plan.sort.isEmpty {
            let passed = plan.offset > 0 ? try candidates(before: plan.offset) : 0
            skipped = passed ?? 0
            var skip = passed == nil ? plan.offset : 0
            var left = plan.limit ?? .max
            try matching(needsRows: needsRows) { rowID, row in
                if skip > 0 {
                    skip -= 1
                    return true
                }
                left -= 1
                return try body(rowID, row, nil) && left > 0
            }
        } else {
            try sorted(needsRows, body)
        }
    }

    /// The last result. If the counted trees give its position, only that result is read. The plan must have no offset
    /// and a limit of 1, so that it has a path in the query's order.
    /// - Returns: nil if there is no result; `isKnown` is false if all results have to be read.
    func last() throws -> (isKnown: Bool, rowID: RowID?) {
        if case .nothing = plan.path { return (true, nil) }
        guard plan.sort.isEmpty, let count = try plan.pathCount ?? countOfLinks() else { return (false, nil) }
        guard count > 0 else { return (true, nil) }
        guard let passed = try candidates(before: count - 1) else { return (false, nil) }
        skipped = passed
        var found: RowID?
        try matching(needsRows: false) { rowID, _ in
            found = rowID
            return false
        }
        return (true, found)
    }

    /// The number of candidates before the result with this number, if counted trees give it. Returns nil if the
    /// candidates must be read.
    private func candidates(before number: Int) throws -> Int? {
        guard filter.acceptsAll, start == nil else { return nil }
        if case .linked(let links) = plan.path {
            guard let source = links.source else { return number }
            return try store.core.edges.links(before: number, links.side, of: source, behind: links.last)
        }
        return !isList && plan.path.canSkip ? number : nil
    }

    // MARK: Candidates

    /// Calls `body` with the candidates that pass the residual filter, until it returns false.
    private func matching(needsRows: Bool, _ body: (RowID, RowReader?) throws -> Bool) throws {
        guard needsRows || isList || !filter.acceptsAll || start != nil else {
            guard let tally else { return try candidates(plan.path) { rowID, _ in try body(rowID, nil) } }
            return try candidates(plan.path) { rowID, _ in
                tally.rows += 1
                tally.passed += 1
                return try body(rowID, nil)
            }
        }
        if let covered { return try matching(covered, body) }
        // Rows are looked up together only as far as they must be read in any case.
        needed = plan.sort.isEmpty ? plan.budget.map { $0 - skipped } ?? .max : .max
        if let fallback = plan.fallback { return try matching(fallback, body) }
        if try candidateRows(plan.path, { try take($0, $1, body) }) { return }
        var waiting = RowLookups()
        do {
            try entries { rowID, _ in
                waiting.add(rowID)
                guard waiting.isFull || waiting.count >= needed else { return true }
                return try waiting.finish(in: store) { try take($0, $1, body) }
            }
        } catch {
            // The rows before the damage come first, and may be enough.
            if try !waiting.finish(in: store, { try take($0, $1, body) }) { return }
            throw error
        }
        _ = try waiting.finish(in: store) { try take($0, $1, body) }
    }

    /// Calls `body` with the matching rows of a walk that may be abandoned, and then with those of the scan that
    /// replaces it.
    private func matching(_ fallback: ScanFallback, _ body: (RowID, RowReader?) throws -> Bool) throws {
        let order = try RowOrder(fallback.sort, type: store.type, core: store.core)
        var progress = WalkProgress(wanted: needed)
        var isEnough = false
        var place: RowOrder.Place?
        var waiting = RowLookups()
        func visit(_ rowID: RowID, _ row: RowReader?) throws -> Bool {
            let before = needed
            isEnough = try !take(rowID, row, body)
            if progress.count(isPassing: needed < before, fallback), !isEnough, let row {
                place = try order.place(rowID, row)
            }
            return !isEnough && place == nil
        }
        do {
            try entries { rowID, _ in
                waiting.add(rowID)
                guard waiting.isFull || waiting.count >= needed else { return true }
                return try waiting.finish(in: store, visit)
            }
        } catch {
            // The rows before the damage come first, and may be enough.
            if try !waiting.finish(in: store, visit), isEnough { return }
            throw error
        }
        if !isEnough, place == nil { _ = try waiting.finish(in: store, visit) }
        guard !isEnough, let place else { return }
        try scan(fallback, order, behind: start?.place ?? (fallback.ignoresTies ? nil : place), body)
    }

    /// Calls `body` with the rows that follow those of an abandoned walk, in the order of the query.
    private func scan(
        _ fallback: ScanFallback, _ order: RowOrder, behind place: RowOrder.Place?,
        _ body: (RowID, RowReader?) throws -> Bool
    ) throws {
        let filter = try RowFilter(fallback.filter, type: store.type, core: store.core)
        var best = SortedRows(order, limit: needed, after: place, needsRows: true)
        var read = 0
        try store.forEachRow { rowID, row in
            read += 1
            tally?.rows += 1
            guard try filter.accepts(rowID, row) else { return true }
            tally?.passed += 1
            try best.insert(rowID, row)
            return true
        }
        tally?.note(.rowScan(rows: read), read)
        tally?.entries += read
        try best.finish(in: store, body)
    }

    /// Calls `body` with the rows that pass the residual filter, made of the index's entries.
    private func matching(_ covered: CoveredRow, _ body: (RowID, RowReader?) throws -> Bool) throws {
        func take(_ rowID: RowID, _ key: Bytes?) throws -> Bool {
            if let key, let row = try covered.row(of: key) { return try self.take(rowID, row, body) }
            return try self.take(rowID, try store.row(rowID), body)
        }
        guard case .index(let match, nil) = plan.path else { return try entries(take) }
        // Any order is right, so this is that of the entries.
        if match.wanted != nil {
            return try match.forEachEntry(in: store) { rowID, key in try take(rowID, key) }
        }
        var goesOn = true
        for range in match.ranges where goesOn && range.count > 0 {
            try IndexScan(match.index, range, store).entries { rowID, key in
                goesOn = try take(rowID, key)
                return goesOn
            }
        }
    }

    /// Calls `body` with a candidate if it passes the filter. Returns false if no more are wanted.
    @inline(__always)
    private func take(
        _ rowID: RowID, _ row: RowReader?, _ body: (RowID, RowReader?) throws -> Bool
    ) throws -> Bool {
        guard let row else {
            if isList { return true }
            throw store.corrupt("e:\(store.type.name)", "an index names \(rowID), which has no row")
        }
        tally?.rows += 1
        guard try filter.acceptsAll || filter.accepts(rowID, row) else { return true }
        tally?.passed += 1
        if let start {
            guard try start.order.isBehind(start.place, try start.order.place(rowID, row)) else { return true }
            // All later rows follow it.
            self.start = nil
        }
        needed -= 1
        return try body(rowID, row)
    }

    /// Calls `body` with the candidates of a path that reads rows directly. Returns false for any other path.
    private func candidateRows(_ path: AccessPath, _ body: (RowID, RowReader) throws -> Bool) throws -> Bool {
        switch path {
        case .rowScan: try store.forEachRow(skipping: skipped, body)
        case .rows(let ranges):
            var goesOn = true
            var skip = skipped
            for range in ranges where goesOn {
                if skip >= range.count {
                    skip -= range.count
                    continue
                }
                try store.forEachRow(from: range.from, to: range.to, skipping: skip) { rowID, row in
                    goesOn = try body(rowID, row)
                    return goesOn
                }
                skip = 0
            }
        case .byID(let range, let isReversed?):
            return try store.forEachRow(in: range, isReversed: isReversed, skipping: skipped, body)
        default: return false
        }
        return true
    }

    /// Calls `body` with the candidates of the plan's path as `candidates` does. An analysed run counts them.
    private func entries(_ body: (RowID, Bytes?) throws -> Bool) throws {
        guard let tally else { return try candidates(plan.path, body) }
        try candidates(plan.path) { rowID, key in
            tally.entries += 1
            return try body(rowID, key)
        }
    }

    /// Calls `body` with the row ids of a path's candidates, and with the entries' keys if the path has them, until it
    /// returns false.
    private dynamic func candidates(_ path: AccessPath, _ body: (RowID, Bytes?) throws -> Bool) throws {
        switch path {
        case .nothing: return
        case .rowScan, .rows: _ = try candidateRows(path) { rowID, _ in try body(rowID, nil) }
        case .byID(let range, let isReversed?):
            try store.forEachRowID(in: range, isReversed: isReversed, skipping: skipped) { try body($0, nil) }
        case .list(let rowIDs, _):
            for rowID in rowIDs where try !body(rowID, nil) { return }
        case .linked(let links):
            guard let source = links.source else { return }
            try store.core.edges.forEachTarget(links.side, of: source, offset: skipped, behind: links.last) {
                try body($0, nil)
            }
        case .among(let links, let path):
            guard let source = links.source else { return }
            let edges = store.core.edges
            let found = try edges.targets(links.side, of: source, among: try rowIDs(path), behind: links.last)
            for rowID in found where try !body(rowID, nil) { return }
        case .index(let match, let walk):
            guard let range = match.range, walk != nil || match.isInRowOrder else {
                for rowID in try rowIDs(path) where try !body(RowID(rawValue: rowID), nil) { return }
                return
            }
            let scan = IndexScan(match.index, range, store)
            guard let walk else { return try scan.entries(body) }
            if let leading = walk.leading {
                try LeadingScan(scan, leading: leading, isReversed: walk.isReversed, ties: walk.ties)
                    .run(skipping: skipped, body)
            } else if walk.ties == .rows(descending: true) {
                try DescendingTies(scan: scan, isReversed: walk.isReversed, last: match.last)
                    .run(skipping: skipped, body)
            } else if walk.isReversed, let last = match.last {
                try scan.backward(behind: last, body)
            } else if walk.isReversed {
                try scan.backward(skipping: skipped, body)
            } else {
                try scan.forward(skipping: skipped, body)
            }
        case .text, .union, .intersection, .join, .elements, .byID(_, nil):
            for rowID in try rowIDs(path) where try !body(RowID(rawValue: rowID), nil) { return }
        }
    }

    /// All row ids of a path, ascending, each once.
    private func rowIDs(_ path: AccessPath) throws -> [UInt64] {
        let found = try gathered(path)
        tally?.note(path.described(rows: 0), found.count)
        return found
    }

    private func gathered(_ path: AccessPath) throws -> [UInt64] {
        switch path {
        case .index(let match, _):
            var found: [UInt64] = []
            // Bounded, because a count may be damaged.
            found.reserveCapacity(min(match.count, 1 << 16))
            try match.forEachEntry(in: store) { rowID, _ in
                found.append(rowID.rawValue)
                return true
            }
            for range in match.ranges where range.count > 0 {
                try IndexScan(match.index, range, store).addRowIDs(to: &found)
            }
            if !match.isInRowOrder { KeySort.sort(&found) }
            return found
        case .elements(let found): return try found.rowIDs(store)
        case .text(let index, let match, _): return try IndexSearch(index, match, store).matches()
        case .union(let parts):
            var found: [UInt64] = []
            for part in parts { found += try rowIDs(part) }
            KeySort.sort(&found)
            var last: UInt64?
            return found.filter { rowID in
                defer { last = rowID }
                return rowID != last
            }
        case .intersection(let parts):
            var found: RowSelection?
            // Searches come last: a search is restricted to the rows found before.
            for part in parts.filter({ !$0.isSearch }) + parts.filter(\.isSearch) {
                if case .text(let index, let match, _) = part {
                    found = RowSelection(try IndexSearch(index, match, store).matches(among: found))
                    tally?.note(part.described(rows: 0), found?.rows.count ?? 0)
                } else {
                    let more = try selection(part)
                    found = found.map { RowSelection(Self.intersection($0.rows, more.rows)) } ?? more
                }
            }
            return found?.rows ?? []
        case .join(let join):
            return Array(Set(try sources(join))).sorted()
        case .byID(let range, _):
            var found: [UInt64] = []
            try store.forEachRowID(in: range, isReversed: false, skipping: 0) {
                found.append($0.rawValue)
                return true
            }
            return found.sorted()
        case .rowScan, .rows, .list, .linked, .among, .nothing:
            var found: [UInt64] = []
            try candidates(path) { rowID, _ in
                found.append(rowID.rawValue)
                return true
            }
            return Set(found).sorted()
        }
    }

    /// The rows of a path to which a search is restricted.
    private func selection(_ path: AccessPath) throws -> RowSelection {
        guard case .index(let match, _) = path, RowSelectionCache.keeps(match) else {
            return RowSelection(try rowIDs(path))
        }
        let entries = try store.transaction.identity(of: match.index.tree)
        return try store.selections.rows(match, of: entries) { try rowIDs(path) }
    }

    /// Rows that are linked to the rows of the join's query, in any order, possibly with repeats.
    private func sources(_ join: Join) throws -> [UInt64] {
        let edges = store.core.edges
        var found: [UInt64] = []
        for target in try store.core.rowIDs(join.query) {
            try edges.forEachSource(join.side, of: target) {
                found.append($0.rawValue)
                return true
            }
        }
        return found
    }

    private static func intersection(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        var found: [UInt64] = []
        var at = 0
        for value in left {
            while at < right.count, right[at] < value { at += 1 }
            if at < right.count, right[at] == value { found.append(value) }
        }
        return found
    }

    // MARK: Orders that no path gives

    private func sorted(_ needsRows: Bool, _ body: (RowID, RowReader?, Double?) throws -> Bool) throws {
        let order = try RowOrder(plan.sort, type: store.type, core: store.core, scores: try scores())
        var best = SortedRows(
            order, limit: plan.budget, after: try plan.position?.place(order, store), needsRows: needsRows)
        try matching(needsRows: true) { rowID, row in
            if let row { try best.insert(rowID, row) }
            return true
        }
        if needsRows { return try best.finish(skipping: plan.offset, in: store) { try body($0, $1, nil) } }
        for rowID in best.finish().dropFirst(plan.offset) where try !body(rowID, nil, nil) { return }
    }

    /// The scores, for a sort whose first term isn't the score.
    private func scores() throws -> [RowID: Double] {
        guard let (index, match) = plan.scores else { return [:] }
        var filter = TextFilter.all
        if case .intersection(let parts) = plan.path, let others = parts.first(where: { !$0.isSearch }) {
            filter = .selection(try selection(others))
        }
        let hits = try IndexSearch(index, match, store).search(limit: .max, filter: filter)
        return Dictionary(hits.map { (RowID(rawValue: $0.row), $0.score) }) { first, _ in first }
    }
}
