// SPDX-License-Identifier: Apache-2.0
// Chooses the access path of a query. Every candidate path is priced in row reads: a row in a scan costs 1, a row
// looked up 4, an index entry a half. Counts of index ranges are exact, so the prices are rarely far off; the choice
// never changes a result, only its time.

import HornbeamText
import HornbeamTree

/// A query with everything the executor needs.
struct QueryPlan {
    let path: AccessPath
    /// What the path leaves to be tested on rows.
    let residual: Filter
    /// Empty if the path gives the order.
    let sort: [SortTerm]
    let limit: Int?
    let offset: Int
    /// Exact, if it is known without reading.
    let knownCount: Int?

    /// Results that have to be found before the rest may be left unread.
    var budget: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = limit.addingReportingOverflow(offset)
        return overflow ? nil : sum
    }
}

/// Plans one query. Noncopyable, because a copy would be a retain for each of its parts.
struct Planner: ~Copyable {
    private struct Candidate {
        var path: AccessPath
        var answered: ConjunctSet
        var isOrdered: Bool
        var cost: Double
    }

    /// Kinds of conjuncts that something else than an index range may answer: what isn't there is not looked for.
    private struct Kinds: OptionSet {
        let rawValue: UInt8
        static let nothing = Kinds(rawValue: 1)
        /// Names entities: ids, or a relation's.
        static let list = Kinds(rawValue: 2)
        /// Compares the id.
        static let id = Kinds(rawValue: 4)
        static let within = Kinds(rawValue: 8)
        static let or = Kinds(rawValue: 16)
        static let text = Kinds(rawValue: 32)
    }

    /// More ids than this in a condition are not looked up one by one.
    private static let maximumIDs = 1000

    private let store: EntityStore
    private let query: EntityQuery
    private let conjuncts: [Filter]
    private let kinds: Kinds
    private let rows: Int
    private let matches: [IndexMatch]

    private var type: EntityType { store.type }
    private var session: EntitySession { store.session }

    init(_ query: consuming EntityQuery, _ store: EntityStore) throws {
        let conjuncts = query.filter.conjuncts
        let matcher = IndexMatcher(type: store.type, transaction: store.transaction, conjuncts: conjuncts)
        var matches: [IndexMatch] = []
        for index in store.type.indexes {
            guard let match = try matcher.match(index) else { continue }
            // Nearly always one: to grow a list for it takes three times as long.
            if matches.isEmpty { matches = [match] } else { matches.append(match) }
        }
        self.init(query, store, conjuncts, rows: try store.count(), matches)
    }

    /// Apart, because an initialiser that can throw copies all it has made.
    private init(
        _ query: consuming EntityQuery, _ store: EntityStore, _ conjuncts: consuming [Filter], rows: Int,
        _ matches: consuming [IndexMatch]
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
            default: break
            }
        }
        self.kinds = kinds
        self.store = store
        self.query = query
        self.conjuncts = conjuncts
        self.rows = rows
        self.matches = matches
    }

    func plan() throws -> QueryPlan {
        finish(try choice())
    }

    /// The plan as a value to look at. Not made with each plan: its texts take longer than a short query.
    func explanation() throws -> Plan {
        let choice = try choice()
        let rest = rest(of: choice)
        let terms = query.sort.map { $0.text(type.description) }
        return Plan(
            entity: type.name, access: choice.path.described(rows: rows),
            filter: rest.isEmpty ? nil : Filter.conjunction(rest).text(type.description),
            order: choice.isOrdered || terms.isEmpty ? .byAccess : .inMemory(terms), limit: query.limit,
            offset: query.offset, candidates: choice.path.candidates(rows: rows),
            isCountKnown: finish(choice).knownCount != nil)
    }

    /// What a choice leaves to be tested on rows.
    private func rest(of choice: Candidate) -> [Filter] {
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
        if query.sort.contains(where: { if case .score = $0.key { true } else { false } }) { return try ranked() }
        if query.sort.isEmpty, let list = try list() { return list }
        var best = scan()
        func consider(_ candidate: Candidate?) {
            if let candidate, candidate.cost < best.cost { best = candidate }
        }
        if kinds.contains(.id) { consider(try idRange()) }
        if kinds.contains(.within) { consider(try idList()) }
        consider(try list())
        for match in matches { consider(candidate(match)) }
        if !query.sort.isEmpty { for candidate in try orders() { consider(candidate) } }
        if matches.count > 1 { consider(intersection()) }
        if kinds.contains(.or) { for candidate in try unions() { consider(candidate) } }
        if kinds.contains(.text) { for candidate in try texts() { consider(candidate) } }
        return best
    }

    private func finish(_ choice: Candidate) -> QueryPlan {
        let rest = rest(of: choice)
        var known: Int?
        if rest.isEmpty {
            switch choice.path {
            case .rowScan: known = rows
            case .rows(let ranges): known = ranges.reduce(0) { $0 + $1.count }
            case .index(let match, _, _): known = match.count
            case .nothing: known = 0
            default: break
            }
        }
        let known2 = known.map { count in
            max(0, min(query.limit ?? .max, count - min(count, max(0, query.offset))))
        }
        return QueryPlan(
            path: choice.path, residual: Filter.conjunction(rest), sort: choice.isOrdered ? [] : query.sort,
            limit: query.limit, offset: query.offset, knownCount: known2)
    }

    // MARK: Prices

    private var budget: Double? {
        query.limit.map { Double($0) + Double(query.offset) }
    }

    /// The share of candidates that pass what a path leaves to be tested.
    private func selectivity(without answered: ConjunctSet) -> Double {
        var share = 1.0
        for position in conjuncts.indices where !answered.contains(position) {
            let known = matches.filter { $0.answered.contains(position) }.map(\.count).min()
            share = min(share, known.map { Double($0) / Double(max(1, rows)) } ?? 0.3)
        }
        return max(share, 1 / Double(max(1, rows)))
    }

    /// - Parameter rowCost: of reading one candidate's row.
    private func cost(_ count: Int, _ answered: ConjunctSet, isOrdered: Bool, rowCost: Double) -> Double {
        let count = Double(count)
        let inOrder = isOrdered || query.sort.isEmpty
        let collecting = isOrdered ? 0 : count * 0.6
        guard inOrder, let budget else { return collecting + count * (rowCost + (inOrder ? 0 : 0.5)) + 4 }
        let needed = budget / (answered.count == conjuncts.count ? 1 : selectivity(without: answered))
        return collecting + min(count, needed) * rowCost + 4
    }

    // MARK: Candidates

    private func scan() -> Candidate {
        let cost = cost(rows, ConjunctSet(), isOrdered: query.sort.isEmpty, rowCost: 1)
        return Candidate(path: .rowScan, answered: ConjunctSet(), isOrdered: query.sort.isEmpty, cost: cost)
    }

    /// The rows of a range of integer ids. Those whose ids are no row ids (negative, or of 2^40 and more) lie behind
    /// all others, and are tested one by one.
    private func idRange() throws -> Candidate? {
        guard let bounds = try IDBounds(conjuncts, type) else { return nil }
        let main = try counted(bounds.range.lowerBound, bounds.range.upperBound)
        let others = try counted(RowID.firstAssigned.rawValue, nil)
        let answered = others.count == 0 ? bounds.answered : ConjunctSet()
        let ranges = [main, others].filter { $0.count > 0 }
        let isOrdered = query.sort.isEmpty
        return Candidate(
            path: .rows(ranges), answered: answered, isOrdered: isOrdered,
            cost: cost(main.count + others.count, answered, isOrdered: isOrdered, rowCost: 1))
    }

    /// The rows that a list of wanted ids names, in the order of their row ids.
    private func idList() throws -> Candidate? {
        for (position, conjunct) in conjuncts.enumerated() {
            // Each is looked up here already: not where a scan is cheaper.
            guard case .within(0, let ids) = conjunct, ids.count <= min(Self.maximumIDs, rows / 4) else { continue }
            let literals = try ids.map { try RowFilter.literal($0, 0, type) }.filter { $0 != .null }
            let rowIDs = Set(try literals.compactMap { try store.rowID(ofAny: $0) }).sorted()
            let isOrdered = query.sort.isEmpty
            return Candidate(
                path: .list(rowIDs, name: .ids(count: rowIDs.count)), answered: ConjunctSet(position),
                isOrdered: isOrdered, cost: cost(rowIDs.count, ConjunctSet(position), isOrdered: isOrdered, rowCost: 4))
        }
        return nil
    }

    /// Row ids from `low` up to, and without, `high`; nil is an open end.
    private func counted(_ low: UInt64, _ high: UInt64?) throws -> KeyRange {
        let (from, to) = (RowID(rawValue: low).key, high.map { RowID(rawValue: $0).key } ?? [])
        let count = high == low ? 0 : try store.transaction.count(type.rows, from: from, to: to)
        return KeyRange(from: from, to: to, count: Int(clamping: count))
    }

    /// The candidates that a list of ids or a relation names.
    private func list() throws -> Candidate? {
        guard kinds.contains(.list) else { return nil }
        for (position, conjunct) in conjuncts.enumerated() {
            let path: AccessPath
            let count: Int
            switch conjunct {
            case .ids(let ids):
                var seen: Set<RowID> = []
                let rowIDs = try ids.compactMap { try store.rowID(of: $0) }.filter { seen.insert($0).inserted }
                path = .list(rowIDs, name: .ids(count: rowIDs.count))
                count = rowIDs.count
            case .related(let source):
                let (side, rowID) = try RowFilter.bind(source, type, session)
                let targets = try rowID.map { try session.edges.targets(side, of: $0) } ?? []
                path = .list(
                    targets, name: .relation(name: "\(source.type).\(source.relation)", targets: targets.count))
                count = targets.count
            default: continue
            }
            let cost = cost(count, ConjunctSet(position), isOrdered: query.sort.isEmpty, rowCost: 4)
            return Candidate(path: path, answered: ConjunctSet(position), isOrdered: query.sort.isEmpty, cost: cost)
        }
        return nil
    }

    private func candidate(_ match: IndexMatch) -> Candidate {
        let direction = match.range != nil ? direction(of: match.index, fixed: match.fixed) : nil
        let isOrdered = direction != nil
        return Candidate(
            path: .index(match, ordered: isOrdered, reversed: direction ?? false), answered: match.answered,
            isOrdered: isOrdered, cost: cost(match.count, match.answered, isOrdered: isOrdered, rowCost: 4.5))
    }

    /// Indexes that narrow nothing but give the order.
    private func orders() throws -> [Candidate] {
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: [])
        return try type.indexes.compactMap { index in
            guard let reversed = direction(of: index, fixed: 0) else { return nil }
            let whole = try matcher.whole(index)
            return Candidate(
                path: .index(whole, ordered: true, reversed: reversed), answered: ConjunctSet(), isOrdered: true,
                cost: cost(whole.count, ConjunctSet(), isOrdered: true, rowCost: 4.5))
        }
    }

    /// Whether one range of the index gives the query's order, and then whether backwards. The order must be the whole
    /// order: after the fixed components exactly the sort's columns, so that ties are left to the row ids.
    private func direction(of index: EntityIndex, fixed: Int) -> Bool? {
        let components = index.components
        var place = fixed
        var reversed: Bool?
        for term in query.sort {
            guard case .column(let column) = term.key else { return nil }
            // One that stands before, fixed or already named, changes nothing.
            if components[..<place].contains(where: { $0.column == column }) { continue }
            guard place < components.count, components[place].column == column else { return nil }
            let isReversed = components[place].descending != term.descending
            guard reversed == nil || reversed == isReversed else { return nil }
            reversed = isReversed
            place += 1
        }
        return place == components.count ? reversed ?? false : nil
    }

    /// Two ranges whose row ids are intersected before a row is read.
    private func intersection() -> Candidate? {
        let sorted = matches.sorted { $0.count < $1.count }
        guard let first = sorted.first,
            let second = sorted.dropFirst().first(where: { !$0.answered.isSubset(of: first.answered) }),
            rows > 0
        else { return nil }
        let answered = first.answered.union(second.answered)
        let both = Int(Double(first.count) * Double(second.count) / Double(rows)) + 1
        let reading = Double(first.count + second.count) * 0.6
        let path = AccessPath.intersection([
            .index(first, ordered: false, reversed: false), .index(second, ordered: false, reversed: false),
        ])
        return Candidate(
            path: path, answered: answered, isOrdered: false,
            cost: reading + cost(both, answered, isOrdered: false, rowCost: 4))
    }

    /// For an `or` whose every branch has a path of its own.
    private func unions() throws -> [Candidate] {
        var candidates: [Candidate] = []
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .or(let branches) = conjunct, !branches.isEmpty else { continue }
            var parts: [AccessPath] = []
            var isExact = true
            for branch in Self.flattened(branches) {
                guard let (path, answersAll) = try branchPath(branch) else {
                    parts = []
                    break
                }
                parts.append(path)
                isExact = isExact && answersAll
            }
            guard !parts.isEmpty else { continue }
            let path = AccessPath.union(parts)
            let answered = isExact ? ConjunctSet(position) : ConjunctSet()
            candidates.append(
                Candidate(
                    path: path, answered: answered, isOrdered: false,
                    cost: cost(path.candidates(rows: rows), answered, isOrdered: false, rowCost: 4)))
        }
        return candidates
    }

    private static func flattened(_ branches: [Filter]) -> [Filter] {
        branches.flatMap { branch -> [Filter] in
            if case .or(let inner) = branch { flattened(inner) } else { [branch] }
        }
    }

    private func branchPath(_ branch: Filter) throws -> (AccessPath, answersAll: Bool)? {
        let parts = branch.conjuncts
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: parts)
        let found = try type.indexes.compactMap { try matcher.match($0) }
        if let match = found.min(by: { $0.count < $1.count }) {
            return (.index(match, ordered: false, reversed: false), match.answered.count == parts.count)
        }
        guard parts.count == 1, let (path, _) = try textPath(parts[0], ranked: false) else { return nil }
        return (path, true)
    }

    // MARK: Full text

    private func texts() throws -> [Candidate] {
        try conjuncts.indices.compactMap { position in
            guard let (path, count) = try textPath(conjuncts[position], ranked: false) else { return nil }
            return Candidate(
                path: path, answered: ConjunctSet(position), isOrdered: false,
                cost: cost(count, ConjunctSet(position), isOrdered: false, rowCost: 4))
        }
    }

    /// The search for a `matches` condition, if an index is over exactly its columns, and about how much it finds.
    private func textPath(_ filter: Filter, ranked: Bool) throws -> (AccessPath, count: Int)? {
        guard case .matches(let columns, let text) = filter,
            let index = type.textIndexes.first(where: { $0.columns == columns })
        else { return nil }
        var count = rows
        if !ranked {
            try store.flushText()
            let searcher = try TextSearcher(index.index, in: store.transaction)
            var sum: UInt64 = 0
            for token in Set(Analyzer.words.tokens(of: text)) {
                sum += try searcher.documentFrequency(of: String(decoding: token, as: UTF8.self))
            }
            count = min(rows, Int(clamping: sum))
        }
        return (.text(index, query: text, ranked: ranked), count)
    }

    private func ranked() throws -> Candidate {
        guard query.sort.count == 1, query.sort[0].descending else {
            throw HornbeamError(.invalid, "a sort by score can only be descending, and the only term of the sort")
        }
        for position in conjuncts.indices {
            guard let (path, _) = try textPath(conjuncts[position], ranked: true) else { continue }
            return Candidate(path: path, answered: ConjunctSet(position), isOrdered: true, cost: 0)
        }
        throw HornbeamError(
            .invalid,
            "a sort by score needs a `matches` condition over exactly the properties of a full-text index of "
                + "\(type.name): declare one, or sort by something else")
    }
}
