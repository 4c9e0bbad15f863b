// SPDX-License-Identifier: Apache-2.0
// Aggregates of a whole query. The least and the greatest value of a property with an index are read at its ends;
// everything else goes over the rows that the plan gives, columns read without decoding entities.

extension QueryList {
    /// Several aggregates at once: `let (count, total) = try query.aggregate(.count, .sum(\.size), in: context)`.
    public func aggregate<each Result: Sendable>(
        _ aggregates: repeat Aggregate<Entity, each Result>, in context: Context? = nil
    ) throws -> (repeat each Result) {
        let group = Accumulators(repeat each aggregates)
        try forEachRow(in: context) { try group.add(&$0) }
        return try group.results()
    }

    /// The sum; 0 if there is nothing to add. A sum of integers that doesn't fit the property's type throws `.invalid`.
    public func sum<Property: SummableNumber>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, in context: Context? = nil
    ) throws -> Property { try aggregate(.sum(keyPath), in: context) }

    public func sum<Property: SummableNumber>(
        _ keyPath: any KeyPath<Entity, Property?> & Sendable, in context: Context? = nil
    ) throws -> Property { try aggregate(.sum(keyPath), in: context) }

    /// The mean; nil of nothing. A `Double`, of decimals a `Decimal`.
    public func average<Property: SummableNumber>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, in context: Context? = nil
    ) throws -> Property.Average? { try aggregate(.average(keyPath), in: context) }

    public func average<Property: SummableNumber>(
        _ keyPath: any KeyPath<Entity, Property?> & Sendable, in context: Context? = nil
    ) throws -> Property.Average? { try aggregate(.average(keyPath), in: context) }

    /// The least value; nil if there is none. Read at the beginning of an index over just this property, behind what
    /// the filter fixes; of an optional one behind its nils.
    public func min<Property: Comparable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, in context: Context? = nil
    ) throws -> Property? {
        guard let first = extreme(SortKey(keyPath).term, isGreatest: false) else {
            return try aggregate(.min(keyPath), in: context)
        }
        return try first.aggregate(.min(keyPath), in: context)
    }

    public func min<Property: Comparable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property?> & Sendable, in context: Context? = nil
    ) throws -> Property? {
        guard let first = extreme(SortKey(optional: keyPath).term, isGreatest: false) else {
            return try aggregate(.min(keyPath), in: context)
        }
        return try first.aggregate(.min(keyPath), in: context)
    }

    /// The greatest value; nil if there is none. Read at the end of an index over just this property, behind what the
    /// filter fixes.
    public func max<Property: Comparable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, in context: Context? = nil
    ) throws -> Property? {
        guard let last = extreme(SortKey(keyPath).term, isGreatest: true) else {
            return try aggregate(.max(keyPath), in: context)
        }
        return try last.aggregate(.max(keyPath), in: context)
    }

    public func max<Property: Comparable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property?> & Sendable, in context: Context? = nil
    ) throws -> Property? {
        guard let last = extreme(SortKey(optional: keyPath).term, isGreatest: true) else {
            return try aggregate(.max(keyPath), in: context)
        }
        return try last.aggregate(.max(keyPath), in: context)
    }

    /// The different values of a property, ascending; nil is none of them.
    public func distinct<Property: Hashable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, in context: Context? = nil
    ) throws -> [Property] { try keys(keyPath, in: context) }

    public func distinct<Property: Hashable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property?> & Sendable, in context: Context? = nil
    ) throws -> [Property] { try keys(keyPath, in: context).compactMap { $0 } }

    private func keys<Key: Hashable & Sendable>(
        _ keyPath: any KeyPath<Entity, Key> & Sendable, in context: Context?
    ) throws -> [Key] {
        let groups: GroupedQuery<Entity, Key, ()> = grouped(by: keyPath).aggregate()
        return try groups.resolve(in: context).map { group in group.key }
    }

    /// The texts of a property one after the other, in the order of the query; nil is left out.
    public func groupConcat(
        _ keyPath: any KeyPath<Entity, String> & Sendable, separator: String = ",", in context: Context? = nil
    ) throws -> String { try aggregate(.groupConcat(keyPath, separator: separator), in: context) }

    public func groupConcat(
        _ keyPath: any KeyPath<Entity, String?> & Sendable, separator: String = ",", in context: Context? = nil
    ) throws -> String { try aggregate(.groupConcat(keyPath, separator: separator), in: context) }

    /// Whether there is any entity. Stops at the first.
    public func exists(in context: Context? = nil) throws -> Bool {
        try limit(1).count(in: context ?? boundContext()) > 0
    }

    /// The one entity at an end of a column's order, without those that have no value; nil where rows must be read
    /// anyway.
    private func extreme(_ term: SortTerm, isGreatest: Bool) -> Self? {
        guard case .all = source, !isWindow, case .column(let column) = term.key, !term.descending else { return nil }
        var list = self
        list.parts.add(.not(.isNull(column: column)), isRanked: false)
        return list.sorted([.column(column, descending: isGreatest)]).limit(1)
    }

    /// Whether the list is all that its filter selects, in whatever order.
    var isSelection: Bool {
        guard case .all = source else { return false }
        return !isWindow
    }

    /// Whether the list is a part of what its filter selects.
    private var isWindow: Bool { limit != nil || offset != 0 || parts.after != nil }

    /// Every row of the query, in its order.
    func forEachRow(in context: Context?, _ body: (inout AggregatedRow<Entity>) throws -> Void) throws {
        try (context ?? boundContext()).session.run { session in
            let store = try session.store(Entity.self)
            func take(_ reader: RowReader?) throws -> Bool {
                guard let reader else { return true }
                var row = AggregatedRow<Entity>(reader)
                try body(&row)
                return true
            }
            if case .all = source {
                try Executor(coreQuery, store).run(needsRows: true) { _, row, _ in try take(row) }
                return
            }
            var waiting = RowLookups()
            for rowID in try rows(session) {
                waiting.add(rowID)
                if waiting.isFull { _ = try waiting.finish(in: store) { try take($1) } }
            }
            _ = try waiting.finish(in: store) { try take($1) }
        }
    }
}
