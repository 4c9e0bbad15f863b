// SPDX-License-Identifier: Apache-2.0
// Resolving the queries of programs in one state of the mirror.

import Hornbeam
import HornbeamPages

extension MirrorReading {
    func find<Entity: EntityModelProtocol>(_: Entity.Type, _ id: Value) throws -> Entity? {
        var list = QueryList<Entity>()
        list.parts.restrict(to: .compare(column: 0, .equal, id))
        return try resolve(list).first
    }

    /// Returns the stored entities with these ids, in the order of the ids.
    private func find<Entity: EntityModelProtocol>(_: Entity.Type, _ ids: [Value]) throws -> [Entity] {
        let table = try session.tables.table(Entity.entityName)
        let query = EntityQuery(type: Entity.entityName, filter: .within(column: 0, ids))
        var rows: [Value: [UInt8]] = [:]
        try RowSearch(try RowQuery(query, session.tables, isOrdered: false), columns: table.declared, self).forEach {
            row in
            rows[try row.withUnsafeBytes { try RowReader($0, of: table.type).value(0) }] = row
        }
        return try Entity._entities(rows.count) { read in
            for id in ids {
                guard let id = id.converted(to: table.id.type) else { continue }
                try rows[id]?.withBytes { (row) throws(HornbeamError) in try read(RowReader(row, of: table.type)) }
            }
        }
    }

    func resolve<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> [Entity] {
        let parts = list.parts
        let nested = try nestedDependencies(list)
        let query = try entityQuery(list)
        if case .ids(let ids) = parts.origin {
            if !parts.hasNested, query.isEverything { return try find(Entity.self, ids) }
            return try resolveHere(list, ids, nested) { try list.resolve(in: $0) }
        }
        let table = try session.tables.table(Entity.entityName)
        guard parts.hasNested else {
            let search = RowSearch(try rowQuery(query), columns: table.declared, self)
            let type = table.type
            return try Entity._entities(query.limit.map { min($0, 1000) } ?? 0) { read in
                try search.forEach { row in
                    try row.withBytes { (row) throws(HornbeamError) in try read(RowReader(row, of: type)) }
                }
            }
        }
        let rows = try RowSearch(try rowQuery(query), self).rows()
        return try withExcerpt { excerpt in
            let (ids, rows) = try excerpt.add(rows, of: table)
            try excerpt.fetch(nested, of: ids, table)
            return try list.entities(at: rows, in: excerpt.context)
        }
    }

    func ids<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> [Entity.ID] {
        if case .ids(let ids) = list.parts.origin {
            return try resolveHere(list.withoutNested, ids, []) { try list.ids(in: $0) }
        }
        let table = try session.tables.table(Entity.entityName)
        var ids: [Entity.ID] = []
        try RowSearch(try rowQuery(try entityQuery(list)), columns: [0], self).forEach { row in
            let id = try row.withUnsafeBytes { try RowReader($0, of: table.type).value(0) }
            guard let found = Entity.ID(columnValue: id) else {
                throw HornbeamError(
                    .undecodable, "the id \(id.text) of \(Entity.entityName.withArticle) is no \(Entity.ID.self)")
            }
            ids.append(found)
        }
        return ids
    }

    func count<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Int {
        if case .ids(let ids) = list.parts.origin {
            return try resolveHere(list.withoutNested, ids, []) { try list.count(in: $0) }
        }
        let query = try entityQuery(list)
        // The position to continue after is one in the order.
        return try RowSearch(try rowQuery(query, isOrdered: query.after != nil), self).count()
    }

    /// Whether a query finds nothing.
    func isEmpty<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Bool {
        try ids(list.limit(1)).isEmpty
    }

    // MARK: Aggregates

    func aggregate<Entity: EntityModelProtocol, Result: Sendable>(
        _ aggregate: Aggregate<Entity, Result>, of list: QueryList<Entity>
    ) throws -> Result {
        if aggregate.followsLinks {
            throw HornbeamError(
                .unsupported,
                "an aggregate of the ids that a relation of \(Entity.entityName) leads to can't be computed by the "
                    + "mirror: ask for the entities, or ask the store")
        }
        if aggregate.isNumber { return try aggregate.result(ofCount: count(list)) }
        if case .ids(let ids) = list.parts.origin {
            return try resolveHere(list.withoutNested, ids, []) { try list.aggregate(aggregate, in: $0) }
        }
        var query = try entityQuery(list)
        let isWhole = query.limit == nil && query.offset == 0 && query.after == nil && !aggregate.goesByOrder
        if isWhole, let term = aggregate.order, case .column(let column) = term.key {
            if column != 0 { query.filter = query.filter.and(.not(.isNull(column: column))) }
            (query.sort, query.limit) = ([term], 1)
            return try self.aggregate(aggregate, query, isWhole: false)
        }
        return try self.aggregate(aggregate, query, isWhole: isWhole)
    }

    /// - Parameter isWhole: whether all rows of the condition count, in any order.
    private func aggregate<Entity: EntityModelProtocol, Result: Sendable>(
        _ aggregate: Aggregate<Entity, Result>, _ query: EntityQuery, isWhole: Bool
    ) throws -> Result {
        let rows = try rowQuery(query, isOrdered: !isWhole)
        let search = RowSearch(rows, columns: aggregate.columns, self)
        let type = rows.table.type
        return try aggregate.result { add in
            func take(_ row: [UInt8], _ count: Int) throws {
                try row.withUnsafeBytes { try add(RowReader($0, of: type), count) }
            }
            guard isWhole, rows.condition.isExact, let columns = aggregate.columns, rows.table.areGroups(columns) else {
                return try search.forEach { try take($0, 1) }
            }
            if aggregate.isOfSumAlone, columns.count == 1, let column = columns.first, rows.table.isInteger(column) {
                try search.forEachMean(of: column, take)
            } else {
                try search.forEachValue(of: columns, take)
            }
        }
    }

    // MARK: Queries

    private func entityQuery<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> EntityQuery {
        switch list.parts.origin {
        case .all, .ids: return list.parts.entityQuery(of: Entity.entityName)
        case .list(let name):
            throw HornbeamError(
                .unsupported,
                "the list “\(name)” of \(Entity.entityName) is an index that the program keeps, which the mirror "
                    + "doesn't have: query the type itself")
        case .steps:
            throw HornbeamError(
                .unsupported,
                "a list of \(Entity.entityName) that continues from the rows of another one (after a limit, along a "
                    + "relation of several entities, last(), distinct() or lists joined by `and` and `or`) can't be "
                    + "read from the mirror: ask for the first part, and continue from its ids")
        }
    }

    /// Returns the parts of the statement. The position to continue after becomes a condition.
    private func rowQuery(_ query: EntityQuery, isOrdered: Bool = true) throws -> RowQuery {
        var rows = try RowQuery(query, session.tables, isOrdered: isOrdered)
        if let after = query.after { try rows.goOn(after: position(after, rows), self) }
        return rows
    }

    private func position(
        _ after: (EntityStore) throws -> QueryPosition, _ rows: RowQuery
    ) throws -> QueryPosition {
        let context = try session.memory()
        func store<Entity: EntityModelProtocol>(_: Entity.Type) throws -> EntityStore {
            try context.session.store(Entity.self)
        }
        return try context.session.run { _ in try after(try store(rows.table.model)) }
    }

    private func nestedDependencies<Entity: EntityModelProtocol>(
        _ list: QueryList<Entity>
    ) throws(HornbeamError) -> [LinkDependency] {
        if let known = list.parts.nestedDependencies {
            try known.requireAlong("a list that the query of \(Entity.entityName) nests")
            return known
        }
        throw HornbeamError(
            .unsupported,
            "a list that the query of \(Entity.entityName) nests can't be read from the mirror: it continues after an "
                + "entity, is in the order of relevance, or has rows that its relation doesn't lead to")
    }

    /// Resolves a list of ids in memory, in a store that has only the entities with these ids and what is read from
    /// them.
    private func resolveHere<Entity: EntityModelProtocol, Result>(
        _ list: QueryList<Entity>, _ ids: [Value], _ nested: [LinkDependency], _ body: (Context) throws -> Result
    ) throws -> Result {
        let table = try session.tables.table(Entity.entityName)
        var links = nested
        let query = list.parts.entityQuery(of: Entity.entityName)
        query.filter.addLinks(to: &links)
        for term in query.sort {
            guard case .linkCount(let relation) = term.key else { continue }
            Filter.linkCount(relation: relation, .equal, 0).addLinks(to: &links)
        }
        try links.requireAlong("a condition on a list of ids of \(Entity.entityName)")
        let wanted = ids.compactMap { $0.converted(to: table.id.type) }.filter { $0 != .null }
        return try withExcerpt { excerpt in
            try excerpt.fetch(wanted, of: table)
            try excerpt.fetch(links, of: excerpt.present(among: wanted, of: table), table)
            return try body(excerpt.context)
        }
    }
}

extension EntityQuery {
    /// Whether the query has no condition, order or limit.
    fileprivate var isEverything: Bool {
        guard case .all = filter else { return false }
        return sort.isEmpty && limit == nil && offset == 0 && after == nil
    }
}

extension ModelTable {
    /// Whether a column holds integers.
    fileprivate func isInteger(_ column: Int) -> Bool {
        switch columns[column].type {
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
        default: false
        }
    }

    /// Whether the server's groups of equal values are the store's groups, and the columns hold all values exactly.
    fileprivate func areGroups(_ columns: Set<Int>) -> Bool {
        !columns.isEmpty
            && columns.allSatisfy { number in
                guard self.columns.indices.contains(number), self.columns[number].name != nil else { return false }
                switch self.columns[number].type {
                case .bool, .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal,
                    .uuid:
                    return true
                default: return false
                }
            }
    }
}
