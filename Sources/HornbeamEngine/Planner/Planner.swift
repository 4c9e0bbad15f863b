// SPDX-License-Identifier: Apache-2.0
// Chooses the access path of a query. Every candidate path is priced (see Price.swift). Counts of index ranges are
// exact, so prices are rarely far off. The choice never changes a result, only its time.

import HornbeamKeys
import HornbeamPages
import HornbeamText
import HornbeamTree

/// The plan of a query, with all data that the executor needs.
package struct QueryPlan {
    package let path: AccessPath
    /// The filter that the path leaves to be tested on rows.
    let residual: Filter
    /// The terms by which rows are sorted in memory. Empty if the path gives the order.
    package let sort: [SortTerm]
    let limit: Int?
    let offset: Int
    /// Number of results before limit and offset, nil if it isn't known exactly without reading.
    let pathCount: Int?
    /// The position after which results begin.
    let position: PlannedPosition?
    /// The order in which the path gives its candidates, if there is a position to compare with.
    let accessOrder: [SortTerm]
    let covering: Covering
    /// The terms that decide between equal scores if the path gives the best first.
    let ties: [SortTerm]
    /// The search whose scores the sort contains after another term.
    let scores: (index: EntityTextIndex, match: TextMatch)?
    /// The scan that may replace the path while it runs.
    let fallback: ScanFallback?

    /// Number of results, nil if it isn't known exactly without reading.
    var knownCount: Int? {
        pathCount.map { max(0, min(limit ?? .max, $0 - min($0, max(0, offset)))) }
    }

    /// Number of results to find, with those that the offset skips; nil for all.
    var budget: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = limit.addingReportingOverflow(offset)
        return overflow ? nil : sum
    }
}

/// Plans one query. Noncopyable, because a copy would retain each of its parts.
package struct Planner: ~Copyable {
    struct Candidate {
        var path: AccessPath
        var answered: ConjunctSet
        var isOrdered: Bool
        var cost: Double
        /// Whether the path begins exactly after the position, if there is one.
        var isBehind = false
        var covering = Covering.no
    }

    /// Kinds of conjuncts that a path other than an index range may answer. The planner doesn't look for paths of
    /// absent kinds.
    struct Kinds: OptionSet {
        let rawValue: UInt8
        static let nothing = Kinds(rawValue: 1)
        /// Names entities: ids, or a relation's.
        static let list = Kinds(rawValue: 2)
        /// Compares the id.
        static let id = Kinds(rawValue: 4)
        static let within = Kinds(rawValue: 8)
        static let or = Kinds(rawValue: 16)
        static let text = Kinds(rawValue: 32)
        static let links = Kinds(rawValue: 64)
        static let elements = Kinds(rawValue: 128)
    }

    let store: EntityStore
    let query: EntityQuery
    /// The terms of the query's sort that matter.
    let sort: [SortTerm]
    let conjuncts: [Filter]
    let kinds: Kinds
    let rows: Int
    let matches: [IndexMatch]
    let position: PlannedPosition?
    /// The effect of an order by id on paths.
    let idOrder: IDOrder
    /// The paths through full-text indexes, nil if no conjunct can use them.
    let texts: TextPaths?
    /// The unions that answer an `or`; nil if there is no `or`.
    let unions: UnionPaths?

    var type: EntityType { store.type }
    private var core: StoreTransaction { store.core }

    package init(_ query: consuming EntityQuery, _ store: EntityStore) throws {
        var conjuncts = try query.filter.plannedConjuncts()
        try store.core.settleLinks()
        if !store.type.linkedIDs.isEmpty { conjuncts = try store.byLinkedIDs(conjuncts).listingAlternatives }
        let matcher = IndexMatcher(type: store.type, transaction: store.transaction, conjuncts: conjuncts)
        var matches: [IndexMatch] = []
        // Without conditions there is nothing for an index to answer.
        for index in try store.queryIndexes where !conjuncts.isEmpty {
            guard let match = try matcher.match(index) else { continue }
            // There is nearly always one match. Growing a list for it takes three times as long.
            if matches.isEmpty { matches = [match] } else { matches.append(match) }
        }
        let position = try query.after.map { try PlannedPosition(try $0(store), store) }
        try position?.requireOrder(query.sort, store.type)
        let idOrder = try query.sort.isEmpty ? IDOrder.none : IDOrder.of(query.sort, conjuncts, position, store)
        self.init(query, store, conjuncts, rows: try store.count(), matches, position, idOrder)
    }

    /// A separate initialiser, because one that can throw copies all that it has made.
    private init(
        _ query: consuming EntityQuery, _ store: EntityStore, _ conjuncts: consuming [Filter], rows: Int,
        _ matches: consuming [IndexMatch], _ position: PlannedPosition?, _ idOrder: IDOrder
    ) {
        var kinds: Kinds = []
        for place in conjuncts.indices {
            switch conjuncts[place] {
            case .none: kinds.insert(.nothing)
            case .ids, .related: kinds.insert(.list)
            case .compare(0, _, _): kinds.insert(.id)
            case .within: kinds.insert(.within)
            case .or: kinds.insert(.or)
            case .matches: kinds.insert(.text)
            case .string(let test):
                kinds.insert(.text)
                if test.columns == [0] { kinds.insert(.id) }
            case .links: kinds.insert(.links)
            case .elements, .anyElement: kinds.insert(.elements)
            default: break
            }
        }
        self.kinds = kinds
        texts = kinds.contains(.text) && !store.type.textIndexes.isEmpty ? TextPaths() : nil
        unions = kinds.contains(.or) ? UnionPaths() : nil
        self.store = store
        sort = idOrder.terms == query.sort.count ? query.sort : Array(query.sort[..<idOrder.terms])
        self.query = consume query
        self.conjuncts = conjuncts
        self.rows = rows
        self.matches = matches
        self.position = position
        self.idOrder = idOrder
    }

    package func plan() throws -> QueryPlan {
        try finish(try choice())
    }

    /// The plan as a value for display. It isn't made with each plan, because its texts take longer than a short query.
    /// - Parameter asOne: whether rows that are equal in the needed columns may be read as one.
    package func explanation(asOne: Bool = false) throws -> Plan {
        var choice = try choice()
        var scan = asOne ? try groupScan() : nil
        if let scan { choice = counted(scan) } else if asOne { scan = groupScan(of: choice) }
        let rest = rest(of: choice)
        let terms = sort.map { $0.text(type.description) }
        return Plan(
            entity: type.name, access: choice.path.described(rows: rows),
            filter: rest.isEmpty ? nil : Filter.conjunction(rest).text(type.description),
            order: choice.isOrdered || terms.isEmpty ? .byAccess : .inMemory(terms), limit: query.limit,
            offset: query.offset, candidates: choice.path.candidates(rows: rows),
            isCovering: choice.covering != .no, isCountKnown: try finish(choice).knownCount != nil,
            remarks: try collationRemarks(), isByValue: scan != nil)
    }

    /// The conditions that a choice leaves to be tested on rows.
    func rest(of choice: Candidate) -> [Filter] {
        if choice.answered.count == conjuncts.count { return [] }
        var rest: [Filter] = []
        for position in conjuncts.indices where !choice.answered.contains(position) { rest.append(conjuncts[position]) }
        return rest
    }

    private func choice() throws -> Candidate {
        if kinds.contains(.nothing) || query.offset < 0 || (query.limit.map { $0 <= 0 } ?? false) {
            return Candidate(
                path: .nothing, answered: ConjunctSet(below: conjuncts.count), isOrdered: true, cost: 0)
        }
        if hasScore { return try ranked() }
        if sort.isEmpty, let list = try list() { return try narrowed(list) }
        if kinds.contains(.id) || matches.contains(where: { $0.count <= 1 }), let sole = try sole() { return sole }
        // These come before the first price, because prices depend on how many rows they find.
        try texts?.look(conjuncts, store, rows: rows, wantsIndex: query.requiresIndex)
        try findUnions()
        var best = try scan()
        if isRefused(best) { best.cost = .infinity }
        func consider(_ candidate: Candidate?) {
            guard var candidate else { return }
            if query.wanted == .count, knownCount(candidate) != nil { candidate.cost = 0 }
            if candidate.cost < best.cost { best = candidate }
        }
        if kinds.contains(.id) { consider(try idRange()) }
        if idOrder.isAll { consider(try orderByID()) }
        consider(try list())
        for match in matches { consider(try candidate(match)) }
        if kinds.contains(.within) { consider(try idList(below: best.cost)) }
        if query.needs != nil { consider(try wholeCovering()) }
        if !sort.isEmpty { for index in try store.queryIndexes { consider(try order(index)) } }
        if matches.count > 1 { consider(intersection()) }
        for candidate in unionCandidates() { consider(candidate) }
        if let texts {
            for text in texts.found {
                consider(candidate(text))
                consider(intersection(text))
            }
        }
        if kinds.contains(.links) { for candidate in try joins() { consider(candidate) } }
        if kinds.contains(.elements) { for candidate in try elements() { consider(candidate) } }
        if isRefused(best), best.cost == .infinity { throw try needsIndex() }
        return best
    }

    /// Whether the scan reads all rows to find some of them although the query requires an index.
    private func isRefused(_ scan: Candidate) -> Bool {
        guard query.requiresIndex else { return false }
        return !scan.isOrdered || !conjuncts.isEmpty && !(idOrder.isThatOfRows && query.limit != nil)
    }

    private func needsIndex() throws -> HornbeamError {
        var free = query
        free.requiresIndex = false
        let plan = try Planner(free, store).explanation()
        var looked = "all \(rows) \(type.name) entities"
        if case .join(let relation, _) = plan.access {
            looked = "all entities that its relation “\(relation)” may lead to"
        }
        return HornbeamError(
            .needsIndex,
            "a query that requires an index would look at \(looked): declare an index over the "
                + "properties that it tests or sorts by, or leave out requiringIndex(). Its plan: \(plan)")
    }

    private var hasScore: Bool { sort.contains { if case .score = $0.key { true } else { false } } }

    /// Whether the order is that of a ranked search, with any other terms for equal scores.
    var hasBestFirst: Bool { sort.first?.isBestScore ?? false }

    private func finish(_ choice: Candidate) throws -> QueryPlan {
        let rest = rest(of: choice)
        return QueryPlan(
            path: choice.path, residual: Filter.conjunction(rest), sort: choice.isOrdered ? [] : sort,
            limit: query.limit, offset: query.offset, pathCount: knownCount(choice),
            position: position.map { $0.reached(choice.isBehind) },
            accessOrder: position == nil || !choice.isOrdered ? [] : sort, covering: choice.covering,
            ties: choice.isOrdered && hasBestFirst ? Array(sort.dropFirst()) : [],
            scores: choice.isOrdered ? nil : try searched(),
            fallback: rest.isEmpty && !query.mayStop ? nil : fallback(choice))
    }

    /// The number of results before limit and offset; nil if counted trees don't give it.
    private func knownCount(_ choice: Candidate) -> Int? {
        guard choice.answered.count == conjuncts.count, position == nil || choice.isBehind else { return nil }
        return switch choice.path {
        case .rowScan: rows
        case .rows(let ranges): ranges.reduce(0) { $0 + $1.count }
        case .linked(let links): links.isWhole ? links.count : nil
        case .byID(let range, _): range.isWhole ? range.count : nil
        case .index(let match, _): match.isCounted ? match.count : nil
        case .nothing: 0
        default: nil
        }
    }

    /// The search whose scores the query is sorted by.
    private func searched() throws -> (index: EntityTextIndex, match: TextMatch)? {
        guard hasScore else { return nil }
        for case .matches(let match) in conjuncts {
            if let (index, _) = try scored(match) { return (index, match) }
        }
        return nil
    }

    // MARK: Candidates

    private func scan() throws -> Candidate {
        if sort.isEmpty, let position {
            let range = try counted(position.nextRow(type), nil)
            return Candidate(
                path: .rows([range]), answered: ConjunctSet(), isOrdered: true,
                cost: cost(range.count, ConjunctSet(), isOrdered: true, entry: Price.scannedRow), isBehind: true)
        }
        let cost = cost(rows, ConjunctSet(), isOrdered: sort.isEmpty, entry: Price.scannedRow)
        return Candidate(path: .rowScan, answered: ConjunctSet(), isOrdered: sort.isEmpty, cost: cost)
    }

    /// The rows of a range of integer ids. Rows whose ids are no row ids (negative, or of 2^40 and more) come after all
    /// others and are tested one by one.
    func idRange() throws -> Candidate? {
        guard let bounds = try IDBounds(conjuncts, type) else { return try idKeys() }
        let isOrdered = sort.isEmpty
        let start = try isOrdered ? position?.nextRow(type) ?? 0 : 0
        let low = max(bounds.range.lowerBound, start)
        let main = try counted(min(low, bounds.range.upperBound), bounds.range.upperBound)
        let others = try counted(max(RowID.firstAssigned.rawValue, start), nil)
        let answered = others.count == 0 ? bounds.answered : ConjunctSet()
        let ranges = [main, others].filter { $0.count > 0 }
        return Candidate(
            path: .rows(ranges), answered: answered, isOrdered: isOrdered,
            cost: cost(main.count + others.count, answered, isOrdered: isOrdered, entry: Price.scannedRow),
            isBehind: isOrdered)
    }

    /// A candidate that finds at most one row, so that no other one is considered. Queries for a whole unique key or an
    /// id run without a plan (see PointLookup.swift); this describes them.
    func sole() throws -> Candidate? {
        for match in matches where match.count <= 1 { return try candidate(match) }
        return kinds.contains(.id) ? try soleID() : nil
    }

    /// The row of a wanted id, without regard to the query's position.
    func soleID() throws -> Candidate? {
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .compare(0, .equal, let value) = conjunct, value != .null else { continue }
            let id = try RowFilter.literal(value, 0, type)
            let path: AccessPath
            if let rowID = RowID(integerID: id) {
                path = .rows([try counted(rowID.rawValue, rowID.rawValue + 1)])
            } else {
                let rowIDs = try store.rowID(ofAny: id).map { [$0] } ?? []
                path = .list(rowIDs, name: .ids(count: rowIDs.count))
            }
            return Candidate(
                path: path, answered: ConjunctSet(position), isOrdered: sort.isEmpty, cost: 0)
        }
        return nil
    }

    /// The rows of a list of wanted ids, in the order of their row ids. Returns nil if looking them up would take
    /// longer than a known path.
    func idList(below bound: Double) throws -> Candidate? {
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .within(0, let ids) = conjunct, Double(ids.count) * Price.row < bound,
                let rowIDs = try rowIDs(within: ids)
            else { continue }
            let isOrdered = sort.isEmpty
            return Candidate(
                path: .list(rowIDs, name: .ids(count: rowIDs.count)), answered: ConjunctSet(position),
                isOrdered: isOrdered,
                cost: cost(rowIDs.count, ConjunctSet(position), isOrdered: isOrdered, entry: Price.row))
        }
        return nil
    }

    /// The rows of wanted ids, ascending. This looks up each id, so it returns nil if a scan is cheaper, unless the
    /// query requires an index.
    func rowIDs(within ids: [Value]) throws -> [RowID]? {
        guard ids.count <= rows / 4 || query.requiresIndex else { return nil }
        let literals = try ids.map { try RowFilter.literal($0, 0, type) }.filter { $0 != .null }
        return Set(try store.rowIDs(ofAny: literals)).sorted()
    }

    /// The range of row ids from `low` to before `high`, with its number of rows. Nil is an open end.
    func counted(_ low: UInt64, _ high: UInt64?) throws -> EntryRange {
        let (from, to) = (RowID(rawValue: low).key, high.map { RowID(rawValue: $0).key } ?? [])
        let count = high == low ? 0 : try store.transaction.count(type.rows, from: from, to: to)
        return EntryRange(from: from, to: to, count: Int(entries: count))
    }

    /// A candidate for a list of ids or a relation.
    func list() throws -> Candidate? {
        guard kinds.contains(.list) else { return nil }
        // A list in its own order begins after the position.
        let last = sort.isEmpty ? position?.rowID : nil
        for (position, conjunct) in conjuncts.enumerated() {
            let path: AccessPath
            let count: Int
            switch conjunct {
            case .ids(let ids):
                var seen: Set<RowID> = []
                var rowIDs = try ids.compactMap { try store.rowID(ofAny: $0) }.filter { seen.insert($0).inserted }
                if let position = self.position, sort.isEmpty {
                    guard let last, let place = rowIDs.firstIndex(of: last) else { throw position.missing(type) }
                    rowIDs.removeFirst(place + 1)
                }
                path = .list(rowIDs, name: .ids(count: rowIDs.count))
                count = rowIDs.count
            case .related(let source):
                let links = try linked(source, behind: last)
                path = .linked(links)
                count = links.count
            default: continue
            }
            let cost = cost(count, ConjunctSet(position), isOrdered: sort.isEmpty, entry: Price.row)
            return Candidate(
                path: path, answered: ConjunctSet(position), isOrdered: sort.isEmpty, cost: cost,
                isBehind: sort.isEmpty)
        }
        return nil
    }

    private func linked(_ source: RelationSource, behind last: RowID?) throws -> LinkedRows {
        let (side, rowID) = try RowFilter.bind(source, type, core)
        let edges = core.edges
        if sort.isEmpty, let position {
            guard let rowID, let last, try edges.contains(side, rowID, last) else { throw position.missing(type) }
        }
        return try linked(side, rowID, behind: last)
    }

    func linked(_ side: EdgeSide, _ rowID: RowID?, behind last: RowID?) throws -> LinkedRows {
        let edges = core.edges
        var count = 0
        if let rowID {
            count = try last.map { try edges.count(side, of: rowID, behind: $0) } ?? edges.count(side, of: rowID)
        }
        return LinkedRows(side: side, source: rowID, last: last, count: count, isWhole: try edges.isWhole(side))
    }

    private func candidate(_ match: IndexMatch) throws -> Candidate {
        let direction = match.range != nil ? walk(of: match.index, fixed: match.fixed) : nil
        guard let walk = direction else {
            if isOrderFree, case let covering = covering(match.index, match.answered, inOrder: false), covering != .no {
                return Candidate(
                    path: .index(match, nil), answered: match.answered, isOrdered: true,
                    cost: cost(match.count, match.answered, isOrdered: true, entry: Price.coveredRow) + match.seekCost,
                    covering: covering)
            }
            let cost = cost(
                match.count, match.answered, narrowed: hashed(by: match), isOrdered: false, row: Price.row)
            return Candidate(
                path: .index(match, nil), answered: match.answered, isOrdered: false,
                cost: cost + match.seekCost)
        }
        let (match, isBehind) = try narrowed(match, walk)
        return try walked(match, walk, isBehind: isBehind)
    }

    /// The conjuncts whose values are part of the hash that the match looks up.
    private func hashed(by match: IndexMatch) -> ConjunctSet {
        var hashed = ConjunctSet()
        guard match.index.isHashed, match.range.map({ !$0.from.isEmpty }) ?? true else { return hashed }
        for place in conjuncts.indices {
            switch conjuncts[place] {
            case .compare(let column, .equal, _), .isNull(let column), .within(let column, _):
                if match.index.columns.contains(column) { hashed.insert(place) }
            default: break
            }
        }
        return hashed
    }

    /// A range of an index in the query's order.
    @inline(__always)
    private func walked(_ match: IndexMatch, _ walk: IndexWalk, isBehind: Bool) throws -> Candidate {
        let covering = walk.leading == nil ? covering(match.index, match.answered, inOrder: true) : .no
        let tie = walk.leading == nil ? 0 : Price.tiedEntry
        var row = match.isInRowOrder ? Price.row : Price.scatteredRow
        if query.placesRows, query.isWhole, match.answered.count == conjuncts.count {
            row = min(row, Price.placedRow * Double(rows) / Double(max(1, match.count)))
        }
        var cost =
            covering == .no
            ? cost(
                match.count, match.answered, narrowed: hashed(by: match), isOrdered: true, entry: Price.entry + tie,
                row: row)
            : cost(match.count, match.answered, isOrdered: true, entry: Price.coveredRow)
        // The first result is known only when all entries that are equal to it have been read.
        if case .ids = walk.ties {
            cost += Double(try firstGroup(match, walk)) * (Price.entry + tie + Price.scatteredRow)
        }
        return Candidate(
            path: .index(match, walk), answered: match.answered, isOrdered: true, cost: cost, isBehind: isBehind,
            covering: covering)
    }

    /// The part of an ordered range from the position on, and whether it begins exactly after the position.
    private func narrowed(_ match: IndexMatch, _ walk: IndexWalk) throws -> (IndexMatch, Bool) {
        guard let position, let range = match.range else { return (match, false) }
        var key = try position.position.row.withBytes { bytes in
            try match.index.leadingKey(of: try RowReader(bytes, of: type), walk.leading)
        }
        // A position outside of the range is before or after all of it. Then rows are compared with the position.
        guard key.starts(with: match.prefix) else { return (match, false) }
        let isWhole = key.count < IndexKeyBytes.keptSize
        if !isWhole { key.removeLast(key.count - IndexKeyBytes.keptSize) }
        var (from, to) = (range.from, range.to)
        var isBehind = false
        if walk.isReversed {
            var end = KeyWriter.successor(ofPrefix: key) ?? []
            if isWhole, walk.isAsItLies, !match.index.isUnique, let rowID = position.rowID {
                end = key + rowID.key
                isBehind = true
            }
            if to.isEmpty || !end.isEmpty && end.lexicographicallyPrecedes(to) { to = end }
        } else {
            var start = key
            // The range begins after the row itself, if entries end with their row id.
            if isWhole, walk.isAsItLies, !match.index.isUnique, let next = position.rowID?.next {
                start += next.key
                isBehind = true
            }
            if from.lexicographicallyPrecedes(start) { from = start }
        }
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: [])
        let narrowed = IndexMatch(
            match.index, try matcher.counted(match.index, from, to), answered: match.answered, fixed: match.fixed,
            prefix: match.prefix, last: position.rowID.map { IndexPlace(key: key, rowID: $0) })
        return (narrowed, isBehind)
    }

    /// An index that narrows nothing but gives the order.
    private func order(_ index: EntityIndex) throws -> Candidate? {
        guard let walk = walk(of: index, fixed: 0), let all = try whole(index) else { return nil }
        let (whole, isBehind) = try narrowed(all, walk)
        return try walked(whole, walk, isBehind: isBehind)
    }

    /// A match with all entries of an index. Returns nil if the index may lack rows that the query asks for.
    func whole(_ index: EntityIndex) throws -> IndexMatch? {
        guard let condition = index.condition else {
            return IndexMatch(index, EntryRange(from: [], to: [], count: rows), answered: ConjunctSet(), fixed: 0)
        }
        guard let implied = try condition.implied(by: conjuncts, type) else { return nil }
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: conjuncts)
        return try matcher.whole(index).answering(implied)
    }

    /// The walk by which one range of the index gives the query's order: the sort's columns follow the fixed
    /// components. Returns nil if it doesn't. If more components follow, entries that are equal in the components
    /// before them must be sorted by their rows.
    private func walk(of index: EntityIndex, fixed: Int) -> IndexWalk? {
        if index.isHashed, !sort.isEmpty { return nil }
        let components = index.components
        var place = fixed
        var reversed: Bool?
        for term in sort.indices {
            guard let column = index.column(of: sort[term]) else { return nil }
            // A term that occurred earlier, fixed or already named, changes nothing.
            if components[..<place].contains(where: { $0.column == column }) { continue }
            guard place < components.count, components[place].column == column else {
                return column == 0 ? tied(index, place, reversed, idsDescend: sort[term].descending) : nil
            }
            let isReversed = components[place].descending != sort[term].descending
            guard reversed == nil || reversed == isReversed else { return nil }
            reversed = isReversed
            place += 1
        }
        if place == components.count { return IndexWalk(isReversed: reversed ?? false) }
        // If no component is a term of the sort, the index gives no order.
        return reversed.map { IndexWalk(isReversed: $0, leading: query.ignoresTies ? nil : place) }
    }

    /// The walk if the id comes next in the sort, after `place` components. The id orders entries that are equal in
    /// these components; later terms have no effect.
    private func tied(_ index: EntityIndex, _ place: Int, _ reversed: Bool?, idsDescend: Bool) -> IndexWalk? {
        if place == index.components.count, idOrder.isThatOfRows {
            // If the id is the whole order, either direction is right.
            return IndexWalk(isReversed: reversed ?? idsDescend, ties: .rows(descending: idsDescend))
        }
        let ties: IndexWalk.Ties = idOrder.isThatOfRows ? .rows(descending: idsDescend) : .ids(descending: idsDescend)
        return reversed.map { IndexWalk(isReversed: $0, leading: place, ties: ties) }
    }

    /// Estimated number of rows that two independent paths have in common. Counts may be damaged.
    func common(_ first: Int, _ second: Int) -> Int {
        Int(min(Double(rows), Double(first) * Double(second) / Double(max(1, rows)))) + 1
    }

    /// Two ranges whose row ids are intersected before a row is read.
    private func intersection() -> Candidate? {
        let sorted = matches.sorted { $0.count < $1.count }
        guard let first = sorted.first,
            let second = sorted.dropFirst().first(where: { !$0.answered.isSubset(of: first.answered) }),
            rows > 0
        else { return nil }
        let answered = first.answered.union(second.answered)
        let both = common(first.count, second.count)
        let reading = (Double(first.count) + Double(second.count)) * Price.gathered
        let path = AccessPath.intersection([
            .index(first, nil), .index(second, nil),
        ])
        return Candidate(
            path: path, answered: answered, isOrdered: false,
            cost: reading + first.seekCost + second.seekCost
                + cost(both, answered, isOrdered: false, row: Price.row))
    }
}
