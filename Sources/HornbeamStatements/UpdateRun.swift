// SPDX-License-Identifier: Apache-2.0
// UPDATE: new values for some properties and relations of entities that are stored.

import HornbeamPages
import HornbeamTree

/// A path behind SET, bound.
struct BoundAssignment {
    let property: ChangedProperty
    /// The path into the property's value; empty for the whole value.
    let steps: ArraySlice<Path.Step>
    /// The path as it is written.
    let text: String
    let place: TextPlace
    /// The position of the value.
    let valuePlace: TextPlace
}

/// The changes that one UPDATE makes to each of its entities.
struct UpdateRun {
    let assignments: [BoundAssignment]
    /// The new values as columns of the query that finds the entities, if they depend on more than the entity itself.
    /// Otherwise there are none: values are computed when their entity's turn comes, and take no memory.
    let projections: [Projection]
    private let values: SelectPlan
    private let properties: ChangedProperties
    private let core: StoreTransaction
    /// The columns that are set, in their order.
    private let columns: [Int]
    /// Their names, and those of the columns with the ids of the relations that are set.
    private let names: Set<String>
    /// Relations that the new values are computed from.
    private let relationsRead: Set<String>

    private var type: EntityType { properties.type }

    init(
        _ assignments: [Assignment], _ target: Source, _ properties: ChangedProperties, _ text: String,
        _ core: StoreTransaction, _ inputs: StatementInputs
    ) throws {
        self.properties = properties
        self.core = core
        self.assignments = try assignments.map { try Self.bind($0, target, properties) }
        try Self.refuseRepeated(self.assignments, properties)
        try assignments.map(\.value).refuseAggregates("SET", properties)
        let type = properties.type
        columns = Set(
            self.assignments.compactMap { if case .column(let column) = $0.property { column } else { nil } }
        ).sorted()
        names = Set(
            self.assignments.map {
                switch $0.property {
                case .column(let column): type.description.columns[column].name
                case .relation(let side): ColumnDescription.linkedIDName(of: side.name)
                }
            })
        let projections = assignments.enumerated().map { number, assignment in
            Projection(
                value: assignment.value, alias: "\(number)", place: assignment.value.place,
                text: assignment.value.text)
        }
        let values = try SelectPlan(
            SelectStatement(projections: projections, source: target), text, core, inputs)
        let isOwn =
            values.sources.count == 1
            && values.sources[0].contents.allSatisfy { if case .column = $0.content { true } else { false } }
        self.values = values
        relationsRead = Set(
            values.sources[0].contents.compactMap {
                switch $0.content {
                case .link(let name), .links(let name): name
                default: nil
                }
            })
        self.projections = isOwn ? [] : projections
    }

    private static func bind(
        _ assignment: Assignment, _ target: Source, _ properties: ChangedProperties
    ) throws -> BoundAssignment {
        let (path, type) = (assignment.path, properties.type)
        var steps = path.steps[...]
        if steps.count > 1, path.head == target.alias ?? target.type, type.description.column(path.head) == nil {
            steps = steps.dropFirst()
        }
        guard case .name(let name)? = steps.popFirst() else {
            throw properties.failure("\(path.text) is no property", at: path.place)
        }
        let property = try properties.property(name, at: path.place)
        switch property {
        case .column(0):
            throw properties.failure(
                "an entity keeps its id: insert another one, and delete this one", .identityChanged, at: path.place)
        case .column(let number):
            let column = type.description.columns[number]
            switch (column.type.unwrapped, steps.first) {
            case (_, nil), (.json, _): break
            case (.array, .index) where steps.count == 1: break
            default:
                throw properties.failure(
                    "\(type.name).\(name) is \(column.type.withArticle), so nothing in it can be set by itself",
                    at: path.place)
            }
        case .relation(let side):
            guard steps.isEmpty else {
                throw properties.failure(
                    "\(path.text) is of \(side.target): UPDATE \(side.target), or set \(name) to other ids",
                    at: path.place)
            }
        }
        return BoundAssignment(
            property: property, steps: steps, text: path.text, place: path.place, valuePlace: assignment.value.place)
    }

    /// Refuses a whole property that is set twice.
    private static func refuseRepeated(_ assignments: [BoundAssignment], _ properties: ChangedProperties) throws {
        var whole: [String: Bool] = [:]
        for assignment in assignments {
            let key =
                switch assignment.property {
                case .column(let column): "\(column)"
                case .relation(let side): side.name
                }
            let isWhole = assignment.steps.isEmpty
            if let former = whole[key], former || isWhole {
                throw properties.failure("\(assignment.text) is set twice", at: assignment.place)
            }
            whole[key] = isWhole
        }
    }

    // MARK: Running

    /// Updates the entities, and returns their row ids.
    func run(_ rows: ChangedRows) throws -> [RowID] {
        let store = try core.store(type.name)
        let own = SelectRun(values, core)
        // Made when an entity takes another one's unique key, which is rare.
        var left: Set<RowID>?
        for (place, rowID) in rows.rowIDs.enumerated() {
            try core.transaction.checkGoesOn()
            // A copy, because reading links while the new row is made may move rows.
            guard let old = try store.row(rowID).map({ Array($0.bytes) }) else { continue }
            let (row, links) = try old.withUnsafeBytes { bytes in
                let old = try RowReader(bytes, of: type)
                let items = try projections.isEmpty ? own.values(of: rowID, old) : rows.values[place]
                return try changed(old, rowID, items, store)
            }
            var targets: [[RowID]] = []
            for (side, ids, _) in links {
                let target = try core.store(side.target)
                targets.append(try ids.map { try target.ensureRowID(of: $0) })
            }
            var turns = 0
            while let held = try store.saveUnlessHeld(row, rowID, .stamped, false, hasLinkedIDs: true) {
                let waiting = left ?? Set(rows.rowIDs[place...])
                left = waiting
                guard held.rowID > rowID, waiting.contains(held.rowID), changes(held.index) else {
                    throw try violation(held.index, row, by: held.rowID, store)
                }
                // In each turn the holder releases its key in one index. Only a damaged index needs more turns.
                turns += 1
                guard turns <= type.indexes.count else {
                    throw store.corrupt(
                        "u:\(type.name)", "a unique index has entries that its rows don't have: repair it")
                }
                // The holder gets another key when its turn comes.
                try store.yield(held.index, held.rowID)
            }
            for (link, targets) in zip(links, targets) {
                let all = targets + link.unsaved.filter { !targets.contains($0) }
                try core.changeLinks(of: link.side) { try core.edges.set(link.side, rowID, all) }
            }
        }
        return rows.rowIDs
    }

    /// The entities that a relation leads to but that aren't stored, if a new value is computed from the relation.
    /// Reading leaves them out, so the new value doesn't have them, but their links stay.
    private func unsavedTargets(_ side: EdgeSide, _ rowID: RowID) throws -> [RowID] {
        guard relationsRead.contains(side.name) else { return [] }
        let store = try core.store(side.target)
        return try core.edges.targets(side, of: rowID).filter { try !store.isSaved($0) }
    }

    private func changes(_ index: IndexDescription) -> Bool {
        index.components.contains { names.contains($0.column) }
    }

    private func violation(
        _ index: IndexDescription, _ row: [UInt8], by other: RowID, _ store: EntityStore
    ) throws -> HornbeamError {
        try row.withUnsafeBytes { bytes in
            try index.violation(of: try RowReader(bytes, of: type), type, by: try store.id(of: other) ?? .null)
        }
    }

    /// The new row of an entity, and the ids that its relations will lead to.
    private func changed(
        _ old: RowReader, _ rowID: RowID, _ items: [StatementValue], _ store: EntityStore
    ) throws -> (row: [UInt8], links: [(side: EdgeSide, ids: [Value], unsaved: [RowID])]) {
        var values: [Int: Value] = [:]
        var links: [(side: EdgeSide, ids: [Value], unsaved: [RowID])] = []
        let entity = "\(type.name) \(try old.value(0).text.shown())"
        for (assignment, item) in zip(assignments, items) {
            switch assignment.property {
            case .column(let column):
                guard !assignment.steps.isEmpty else {
                    values[column] = try properties.value(item, column, at: assignment.valuePlace, of: entity)
                    continue
                }
                let former = try values[column] ?? old.value(column)
                values[column] = try self.value(former, column, assignment, item, entity)
            case .relation(let side):
                let unsaved = try unsavedTargets(side, rowID)
                if !side.isToMany, !unsaved.isEmpty, item.isUnknown { continue }
                links.append((side, try properties.ids(item, side, at: assignment.valuePlace, of: entity), unsaved))
            }
        }
        let row = try type.rewriting(
            old, { _, column in values[column] != nil },
            then: { writer in
                for column in columns { if let value = values[column] { writer.set(value, column) } }
                if !type.linkedIDs.isEmpty {
                    try store.setLinkedIDs(&writer, rowID) { side in
                        links.first { $0.side === side }.map { $0.ids.first ?? .null }
                    }
                }
                store.stamp(&writer)
            })
        return (row, links)
    }

    /// The value of a column after a part of it is set.
    private func value(
        _ former: Value, _ column: Int, _ assignment: BoundAssignment, _ item: StatementValue, _ entity: String
    ) throws -> Value {
        let (steps, place) = (assignment.steps, assignment.valuePlace)
        if case .array(var elements) = former {
            if case .index(let index)? = steps.first {
                let position = index < 0 ? elements.count + index : index
                if elements.indices.contains(position) {
                    elements[position] = item.result ?? .null
                    return try properties.value(StatementValue(.array(elements)), column, at: place, of: entity)
                }
            }
        } else if let new = JSONRows.node(former).setting(steps, to: item.codedNode) {
            return try properties.value(new, column, at: place, of: entity)
        }
        throw properties.failure(
            "\(entity): \(assignment.text) leads through a value that is no object, or to no element of an array",
            at: assignment.place)
    }
}
