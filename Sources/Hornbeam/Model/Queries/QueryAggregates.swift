// SPDX-License-Identifier: Apache-2.0
// Aggregates of a whole query. The least and the greatest value of an indexed property are read at the ends of the
// index. If an index covers the needed columns, its entries are read instead of rows: each different value once, with
// its number of rows. Otherwise the plan's rows are read, without decoding entities if columns are enough.

extension QueryList {
    /// Returns several aggregates at once:
    /// `let (count, total) = try query.aggregate(.count, .sum(\.size), in: context)`.
    public func aggregate<each Result: Sendable>(
        _ aggregates: repeat Aggregate<Entity, each Result>, in context: Context? = nil
    ) throws -> (repeat each Result) {
        try results(AggregateMaker<Entity, repeat each Result>(repeat each aggregates), in: context)
    }

    /// Returns one aggregate.
    public func aggregate<Result: Sendable>(
        _ aggregate: Aggregate<Entity, Result>, in context: Context? = nil
    ) throws -> Result { try results(aggregate, in: context) }

    private func results<Maker: GroupMaker>(_ maker: Maker, in context: Context?) throws -> Maker.Values
    where Maker.Entity == Entity {
        let state = maker.begin()
        if maker.isCount {
            state.add(rows: try count(in: try context ?? boundContext()))
        } else {
            try forEachRow(in: context, needs: needs(maker)) { row, equal in try state.add(&row, times: equal.count) }
        }
        return try state.results()
    }

    /// Returns the plan for these aggregates. A covering plan reads an index alone. A plan by value reads each
    /// different value once.
    public func explain<each Result: Sendable>(
        _ aggregates: repeat Aggregate<Entity, each Result>, in context: Context
    ) throws -> Plan {
        try explain(needs: needs(AggregateMaker<Entity, repeat each Result>(repeat each aggregates)), in: context)
    }

    func explain(needs: RowNeeds?, in context: Context) throws -> Plan {
        guard case .all = source else { return try explain(in: context) }
        return try context.session.run { try $0.plan(query(needs: needs), of: Entity.self, asOne: true) }
    }

    private func needs(_ maker: some GroupMaker) -> RowNeeds? {
        var needs = maker.needs
        if maker.isOfDistinct { needs?.wantsTextOfOne = true }
        return needs
    }

    /// Returns the sum, 0 if there are no values. Throws `.invalid` if a sum of integers doesn't fit the property's
    /// type.
    public func sum<Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property>, in context: Context? = nil
    ) throws -> Property { try aggregate(.sum(keyPath), in: context) }

    public func sum<Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property?>, in context: Context? = nil
    ) throws -> Property { try aggregate(.sum(keyPath), in: context) }

    /// Returns the mean, or nil if there are no values. It is a `Double`, or a `Decimal` for decimals.
    public func average<Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property>, in context: Context? = nil
    ) throws -> Property.Average? { try aggregate(.average(keyPath), in: context) }

    public func average<Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property?>, in context: Context? = nil
    ) throws -> Property.Average? { try aggregate(.average(keyPath), in: context) }

    /// Returns the least value, or nil if there is none. If an index is over this property, after properties that the
    /// filter fixes, only one entry is read.
    public func min<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in context: Context? = nil
    ) throws -> Property? {
        guard let first = extreme(SortKey(keyPath).term, isGreatest: false) else {
            return try aggregate(.min(keyPath), in: context)
        }
        return try first.aggregate(.min(keyPath), in: context)
    }

    public func min<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in context: Context? = nil
    ) throws -> Property? {
        guard let first = extreme(SortKey(optional: keyPath).term, isGreatest: false) else {
            return try aggregate(.min(keyPath), in: context)
        }
        return try first.aggregate(.min(keyPath), in: context)
    }

    /// Returns the greatest value, or nil if there is none. If an index is over this property, after properties that
    /// the filter fixes, only one entry is read.
    public func max<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in context: Context? = nil
    ) throws -> Property? {
        guard let last = extreme(SortKey(keyPath).term, isGreatest: true) else {
            return try aggregate(.max(keyPath), in: context)
        }
        return try last.aggregate(.max(keyPath), in: context)
    }

    public func max<Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in context: Context? = nil
    ) throws -> Property? {
        guard let last = extreme(SortKey(optional: keyPath).term, isGreatest: true) else {
            return try aggregate(.max(keyPath), in: context)
        }
        return try last.aggregate(.max(keyPath), in: context)
    }

    /// Returns the different values of a property, ascending, without nil.
    public func distinct<Property: Hashable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, in context: Context? = nil
    ) throws -> [Property] {
        let keys = try keys(keyPath, in: context)
        guard Property.self is any OptionalValue.Type else { return keys }
        return keys.filter { !(($0 as? any OptionalValue)?.isNil ?? false) }
    }

    public func distinct<Property: Hashable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, in context: Context? = nil
    ) throws -> [Property] { try keys(keyPath, in: context).compactMap { $0 } }

    private func keys<Key: Hashable & Sendable>(
        _ keyPath: KeyPath<Entity, Key>, in context: Context?
    ) throws -> [Key] {
        let groups: GroupedQuery<Entity, Key, ()> = grouped(by: keyPath).aggregate()
        return try groups.resolve(in: context).map { group in group.key }
    }

    /// Returns the texts of a property joined in the order of the query, without nil. Returns "" if there are none.
    public func groupConcat(
        _ keyPath: KeyPath<Entity, String>, separator: String = ",", in context: Context? = nil
    ) throws -> String { try aggregate(.groupConcat(keyPath, separator: separator), in: context) }

    public func groupConcat(
        _ keyPath: KeyPath<Entity, String?>, separator: String = ",", in context: Context? = nil
    ) throws -> String { try aggregate(.groupConcat(keyPath, separator: separator), in: context) }

    /// Returns whether there is any entity. Stops at the first.
    public func exists(in context: Context? = nil) throws -> Bool {
        try limit(1).count(in: context ?? boundContext()) > 0
    }

    /// Returns whether there is no entity. Stops at the first.
    public func isEmpty(in context: Context? = nil) throws -> Bool { try !exists(in: context) }

    /// Returns a query for the entity at one end of a column's order, without entities that have no value there.
    /// Returns nil if rows must be read anyway.
    func extreme(_ term: SortTerm, isGreatest: Bool) -> Self? {
        guard case .all = source, !isWindow, case .column(let column) = term.key, !term.descending,
            // The column of a related id also has ids of entities that aren't stored.
            Entity.entityShape.description.columns[column].linkedRelation == nil
        else { return nil }
        var list = self
        // An id is never nil.
        if column != 0 { list.parts.add(.not(.isNull(column: column)), isRanked: false) }
        list.parts.ignoresTies = true
        return list.sorted([.column(column, descending: isGreatest)]).limit(1)
    }

    /// Whether the list has all entities that its filter selects, in any order.
    var isSelection: Bool {
        guard case .all = source else { return false }
        return !isWindow
    }

    /// Whether the list is only a part of the entities that its filter selects.
    private var isWindow: Bool { limit != nil || offset != 0 || parts.after != nil }

    /// The planner's query for a read that uses only the needed parts of rows.
    private func query(needs: RowNeeds?) -> EntityQuery {
        var query = coreQuery
        query.needs = needs
        if let needs, needs.isOrderFree, isSelection, query.sort.allSatisfy(\.isColumn) { query.sort = [] }
        return query
    }

    /// Calls `body` with every row of the query, in its order if the needs depend on it. Rows that are equal in the
    /// needed parts may be given as one: see `EntityStore.forEach`.
    func forEachRow(
        in context: Context?, needs: RowNeeds?, _ body: (inout AggregatedRow<Entity>, EqualRows) throws -> Void
    ) throws {
        try (context ?? boundContext()).session.run { session in
            let store = try session.store(Entity.self)
            func take(_ reader: RowReader, _ equal: EqualRows) throws {
                var row = AggregatedRow<Entity>(reader, in: session)
                try body(&row, equal)
            }
            if case .all = source { return try store.forEach(query(needs: needs)) { try take($0, $1) } }
            func takeFound(_ rowID: RowID, _ reader: RowReader?) throws -> Bool {
                if let reader { try take(reader, .one) }
                return true
            }
            var waiting = RowLookups()
            for rowID in try rows(session) {
                waiting.add(rowID)
                if waiting.isFull { _ = try waiting.finish(in: store, takeFound) }
            }
            _ = try waiting.finish(in: store, takeFound)
        }
    }
}

extension SortTerm {
    fileprivate var isColumn: Bool { if case .column = key { true } else { false } }

    /// Returns a sort by this column in the given direction. Returns nil if it is no column, or if the term is
    /// descending.
    func ofColumn(descending: Bool) -> SortTerm? {
        guard case .column(let column) = key, !self.descending else { return nil }
        return .column(column, descending: descending)
    }
}
