// SPDX-License-Identifier: Apache-2.0
// Groups without reading each row. Results that depend only on distinct values and their numbers of rows are counted in
// an index. The least and the greatest value are at the index's ends. The results equal those from the rows, in the
// same order: that of the groups' keys.

import HornbeamTree

extension SelectPlan {
    /// Whether the rows are those of the query, and no others.
    var isOfQuery: Bool { isAlone && isOfEntities && conditions.allSatisfy(\.isEmpty) }

    /// The number of an ordered column of the first source, if that is all that an expression is.
    func column(_ expression: BoundExpression) -> Int? {
        guard case .slot(let slot) = expression, let (source, content) = binder.content(of: slot), source.number == 0,
            case .column(let column) = content, source.type?.description.columns[column].type.isOrdered == true
        else { return nil }
        return column
    }

    private func columns(_ expressions: [BoundExpression]) -> [Int]? {
        let columns = expressions.compactMap { column($0) }
        return columns.count == expressions.count ? columns : nil
    }

    /// The columns of GROUP BY, if the result needs only their combinations and the number of rows of each.
    var countedColumns: [Int]? {
        guard isOfQuery, let grouping, !grouping.keys.isEmpty,
            grouping.aggregates.allSatisfy({ $0.aggregate.isOfRows })
        else { return nil }
        return columns(grouping.keys)
    }

    /// The columns of keys and of aggregate arguments (nil for the number of rows), if equal rows may come as one.
    var valueColumns: (keys: [Int], arguments: [Int?])? {
        guard isOfQuery, let grouping, query.needs != nil, grouping.aggregates.allSatisfy(\.aggregate.isOrderFree),
            let keys = columns(grouping.keys),
            let found = columns(grouping.aggregates.compactMap(\.aggregate.argument))
        else { return nil }
        var left = found.makeIterator()
        return (keys, grouping.aggregates.map { $0.aggregate.argument == nil ? nil : left.next() })
    }

    /// The columns whose distinct combinations are the result.
    var distinctColumns: [Int]? {
        guard isDistinct, grouping == nil, isOfQuery, !columns.isEmpty, let found = columns(columns.map(\.value)) else {
            return nil
        }
        // The order may only use these columns. Another column would order rows, unless all columns of the result come
        // before it.
        var left = Set(found)
        for term in terms where !left.isEmpty {
            guard let column = column(term.value), found.contains(column) else { return nil }
            left.remove(column)
        }
        return terms.isEmpty || left.isEmpty ? found : nil
    }

    /// The column of `COUNT(DISTINCT column)`, if that is the whole result.
    var distinctCount: Int? {
        guard isOfQuery, let grouping, grouping.keys.isEmpty, grouping.aggregates.count == 1,
            let aggregate = grouping.aggregates.first?.aggregate, aggregate.function == .count, aggregate.isDistinct
        else { return nil }
        return aggregate.argument.flatMap { column($0) }
    }

    /// Queries for the rows with the values of MIN and MAX, and nil in the place of each `COUNT(*)`. Returns nil if
    /// there are other aggregates, if there is no MIN or MAX, or if no index has these rows at its ends.
    func ends(_ core: StoreTransaction) throws -> [EntityQuery?]? {
        guard isOfQuery, let grouping, grouping.keys.isEmpty else { return nil }
        var queries: [EntityQuery?] = []
        for (aggregate, _) in grouping.aggregates {
            if aggregate.isOfRows {
                queries.append(nil)
                continue
            }
            guard aggregate.function == .min || aggregate.function == .max,
                let column = aggregate.argument.flatMap({ column($0) })
            else { return nil }
            var end = query
            end.needs = nil
            end.sort = [.column(column, descending: aggregate.function == .max)]
            end.filter = end.filter.and(.not(.isNull(column: column)))
            end.limit = 1
            end.ignoresTies = true
            guard try core.explain(end).order == .byAccess else { return nil }
            queries.append(end)
        }
        return queries.contains { $0 != nil } ? queries : nil
    }

    /// The index that counts groups by these columns.
    func counting(_ columns: [Int]?, _ core: StoreTransaction) throws -> String? {
        guard let columns else { return nil }
        return try byValue(Self.read(query, columns), core)
    }

    /// The index that has equal rows of a query, and their number.
    func byValue(_ query: EntityQuery, _ core: StoreTransaction) throws -> String? {
        let plan = try Planner(query, try core.store(query.type)).explanation(asOne: true)
        guard plan.isByValue, case .index(let name, _, _, _) = plan.access else { return nil }
        return name
    }

    /// The query, but reading only some columns of its rows.
    static func read(_ query: EntityQuery, _ columns: [Int]) -> EntityQuery {
        var query = query
        query.needs = RowNeeds(columns: Set(columns), wantsExactText: true)
        query.sort = []
        return query
    }
}

extension BoundAggregate {
    /// Whether it is `COUNT(*)`.
    fileprivate var isOfRows: Bool { function == .count && argument == nil }

    /// Whether the result is the same in any order of the rows.
    var isOrderFree: Bool {
        switch function {
        case .count, .sum, .avg, .min, .max: true
        case .arrayAgg, .groupConcat, .stringAgg: false
        }
    }
}

/// Combinations of column values, each with its number of rows, in order.
struct CountedGroups {
    typealias Group = (keys: [StatementValue], count: Int)

    private(set) var groups: [Group] = []
    private var places: [[UInt8]: Int] = [:]
    private let kept: KeptBytes
    /// Number of groups to keep when later ones are dropped.
    private let most: Int

    /// - Parameter atMost: number of groups needed, the first ones in order.
    init(
        _ query: EntityQuery, by columns: [Int], _ core: StoreTransaction, _ kept: KeptBytes, atMost: Int? = nil,
        counting tally: PlanTally? = nil
    ) throws {
        self.kept = kept
        most = atMost ?? .max
        func keys(_ row: RowReader) throws -> [StatementValue] { try columns.map { StatementValue(try row.value($0)) } }
        let query = SelectPlan.read(query, columns)
        try core.store(query.type).forEach(query, atMost: atMost, by: columns, counting: tally) { row, equal in
            let keys = try keys(row)
            guard equal.isAll else { return try add(keys, equal.count) }
            try kept.add(StatementValue.bytes(of: keys))
            groups.append((keys, equal.count))
        }
        places = [:]
        sort()
    }

    private mutating func add(_ keys: [StatementValue], _ count: Int) throws {
        let bytes = StatementValue.key(keys)
        if let place = places[bytes] {
            groups[place].count += count
            return
        }
        try kept.add(Self.bytes(keys, bytes))
        places[bytes] = groups.count
        groups.append((keys, count))
        if most < .max / 4, groups.count > 2 * most + 1000 { leaveOut() }
    }

    private static func bytes(_ keys: [StatementValue], _ key: [UInt8]) -> Int {
        StatementValue.bytes(of: keys) + key.count + KeptBytes.entry
    }

    /// Drops groups after the first `most`. A dropped group that occurs again gets a wrong count, but is never among
    /// the first.
    private mutating func leaveOut() {
        sort()
        for group in groups[most...] { kept.note(-Self.bytes(group.keys, StatementValue.key(group.keys))) }
        groups.removeLast(groups.count - most)
        places = Dictionary(
            groups.enumerated().map { (StatementValue.key($1.keys), $0) }, uniquingKeysWith: { first, _ in first })
    }

    private mutating func sort() {
        groups = groups.sorted(byKey: { StatementValue.appendOrdered($0.keys, to: &$1) })
    }
}
