// SPDX-License-Identifier: Apache-2.0
// A part of the mirror as a store in memory: some rows, and along relations all their links with the rows that these
// lead to. Lists that a query nests in others, and conditions that the server leaves undecided, are answered there by
// the store's own code.

import Hornbeam
import HornbeamPages

/// Belongs to one thread.
final class MirrorExcerpt {
    let context: Context
    private let reading: MirrorReading
    /// The ids of the rows that are here, by type.
    private var present: [String: Set<Value>] = [:]
    /// Maximum number of ids in one statement.
    private static let chunk = 5_000

    fileprivate init(_ reading: MirrorReading, _ context: Context) {
        (self.reading, self.context) = (reading, context)
    }

    private func store(_ table: ModelTable) throws -> EntityStore {
        func store<Entity: EntityModelProtocol>(_: Entity.Type) throws -> EntityStore {
            try context.session.store(Entity.self)
        }
        return try store(table.model)
    }

    /// Adds rows. Returns their ids, and their row ids in this store.
    @discardableResult
    func add(_ rows: [[UInt8]], of table: ModelTable) throws -> (ids: [Value], rows: [RowID]) {
        try context.session.run { _ in
            let store = try store(table)
            var (ids, rowIDs): ([Value], [RowID]) = ([], [])
            for row in rows {
                let id = try row.withUnsafeBytes { try RowReader($0, of: store.type).value(0) }
                let rowID = try store.ensureRowID(of: id, saving: true)
                if present[table.description.name, default: []].insert(id).inserted {
                    try store.save(row, rowID, time: .given, hasNoCounterpart: true, hasLinkedIDs: true)
                }
                ids.append(id)
                rowIDs.append(rowID)
            }
            return (ids, rowIDs)
        }
    }

    /// Fetches the stored entities with these ids that aren't here yet.
    func fetch(_ ids: [Value], of table: ModelTable) throws {
        let known = present[table.description.name, default: []]
        let missing = ids.filter { !known.contains($0) }
        let decoder = RowDecoder(table)
        let named = NamedTable(table: table, alias: "t")
        for part in missing.parts(of: Self.chunk) {
            let columns = decoder.selection(named)
            let result = try reading.run(
                """
                SELECT \(columns) FROM \(named.source) WHERE \(named.id) = ANY (\(table.id.form.parameter(part))) \
                ORDER BY \(named.id)
                """)
            var rows: [[UInt8]] = []
            for number in 0..<result.count { rows.append(try decoder.row(result, number)) }
            try add(rows, of: table)
        }
    }

    /// Returns the ids of entities that are here, each once.
    func present(among ids: [Value], of table: ModelTable) -> [Value] {
        let known = present[table.description.name, default: []]
        var seen: Set<Value> = []
        return ids.filter { known.contains($0) && seen.insert($0).inserted }
    }

    // MARK: Links

    /// Fetches everything that is read along relations of some rows that are here.
    func fetch(_ dependencies: [LinkDependency], of ids: [Value], _ table: ModelTable) throws {
        for dependency in dependencies {
            // The other kinds were refused before.
            guard case .along(let name, let target) = dependency else { continue }
            let relation = try table.relation(name)
            let linked = try fetchLinks(relation, of: ids, table)
            if case .none = target.rows { continue }
            let targets = try reading.session.tables.table(relation.target)
            try fetch(linked, of: targets)
            let stored = linked.filter { present[relation.target, default: []].contains($0) }
            if !stored.isEmpty { try fetch(target.links, of: stored, targets) }
        }
    }

    /// Fetches all links of a relation and adds them. Returns the targets, each once.
    private func fetchLinks(
        _ relation: TypeLayout.Relation, of ids: [Value], _ table: ModelTable
    ) throws -> [Value] {
        var lists: [Value: [Value]] = [:]
        var targets: [Value] = []
        var seen: Set<Value> = []
        for part in ids.parts(of: Self.chunk) {
            let result = try reading.run(statement(relation, table.id.form.parameter(part), table))
            for number in 0..<result.count {
                guard let source = result.bytes(number, 0).flatMap(table.id.form.value),
                    let target = result.bytes(number, 1).flatMap(relation.form.value)
                else {
                    throw HornbeamError(
                        .server, "a link of \(table.description.name).\(relation.relation) has no id: reconcile")
                }
                lists[source, default: []].append(target)
                if seen.insert(target).inserted { targets.append(target) }
            }
        }
        try link(lists, ids, relation, table)
        return targets
    }

    private func statement(
        _ relation: TypeLayout.Relation, _ ids: SQLText, _ table: ModelTable
    ) -> SQLText {
        typealias Names = TypeLayout.Relation
        guard relation.isToMany else {
            let named = NamedTable(table: table, alias: "t")
            let place = named.place(relation.place)
            return """
                SELECT \(named.id), \(place) FROM \(named.source) WHERE \(named.id) = ANY (\(ids)) \
                AND \(place) IS NOT NULL
                """
        }
        return """
            SELECT \(name: Names.source), \(name: Names.target) FROM \(table.links(relation)) \
            WHERE \(name: Names.source) = ANY (\(ids)) ORDER BY \(name: Names.source), \(name: Names.position)
            """
    }

    private func link(
        _ lists: [Value: [Value]], _ sources: [Value], _ relation: TypeLayout.Relation, _ table: ModelTable
    ) throws {
        try context.session.run { session in
            let store = try store(table)
            let side = try store.type.relation(relation.relation)
            let targets = try session.core.store(side.target)
            for source in sources {
                guard let list = lists[source], let row = try store.rowID(of: source) else { continue }
                var rows: [RowID] = []
                for target in list { rows.append(try targets.ensureRowID(of: target)) }
                try session.core.changeLinks(of: side) { try session.core.edges.set(side, row, rows) }
            }
        }
    }

    // MARK: Testing

    /// Returns for each of some rows that are here whether it passes the conditions.
    func test(_ rows: [RowID], of table: ModelTable, by filters: [Filter]) throws -> [Bool] {
        try context.session.run { session in
            let core = try session.core
            let store = try store(table)
            try core.settleLinks()
            let filter = try RowFilter(.conjunction(filters), type: store.type, core: core)
            return try rows.map { row in try store.row(row).map { try filter.accepts(row, $0) } ?? false }
        }
    }
}

extension Array {
    /// Returns the elements in parts of a size.
    fileprivate func parts(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
    }
}

extension MirrorReading {
    private struct Undo: Error {}

    /// Runs `body` with an empty excerpt, whose content is removed afterwards. Making a store for each read would take
    /// longer than most reads.
    func withExcerpt<Result>(_ body: (MirrorExcerpt) throws -> Result) throws -> Result {
        var context = try session.memory()
        var result: Result?
        do {
            try context.transaction { context in
                result = try body(MirrorExcerpt(self, context))
                throw Undo()
            }
        } catch is Undo {}
        guard let result else { throw HornbeamError(.cancelled, "a read in memory has ended without a result") }
        return result
    }
}
