// SPDX-License-Identifier: Apache-2.0
// INSERT and UPSERT: entities from objects, from rows of values, and from the rows of a query.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// The entities that one INSERT saves.
struct InsertRun {
    private struct Field {
        var property: ChangedProperty
        var name: String
        var item: StatementValue
        var place: TextPlace
    }

    private enum Rows {
        case objects([BoundExpression], [Expression])
        case values([InsertedName], [[BoundExpression]], [[Expression]])
        case query([InsertedName], QueryPlan, SelectStatement)
    }

    private let rows: Rows
    private let replaces: Bool
    private let properties: ChangedProperties
    private let core: StoreTransaction
    private let inputs: StatementInputs
    private let frame: Frame

    private var type: EntityType { properties.type }

    init(
        _ rows: InsertedRows, replaces: Bool, _ properties: ChangedProperties, _ text: String,
        _ core: StoreTransaction, _ inputs: StatementInputs
    ) throws {
        self.replaces = replaces
        self.properties = properties
        self.core = core
        self.inputs = inputs
        var binder = Binder(text, core, inputs)
        switch rows {
        case .objects(let objects):
            self.rows = .objects(try objects.map { try binder.bind($0) }, objects)
        case .values(let names, let values):
            let bound = try values.map { row in try row.map { try binder.bind($0) } }
            self.rows = .values(names, bound, values)
        case .query(let names, let query):
            let plan = try QueryPlan(query, text, core, inputs)
            if !names.isEmpty, plan.names.count != names.count {
                let count = Spelling.counted(plan.names.count, "column")
                throw properties.failure(
                    "there are \(Spelling.counted(names.count, "name")), and the SELECT has \(count)",
                    at: names[0].place)
            }
            self.rows = .query(names, plan, query)
        }
        frame = Frame(slots: binder.slotCount, text: text)
        if case .values(let names, _, _) = self.rows { try check(names) }
        if case .query(let names, _, _) = self.rows { try check(names) }
    }

    /// Refuses names that the type doesn't have.
    private func check(_ names: [InsertedName]) throws {
        _ = try fields(names.map { ($0.name, .null, $0.place) })
    }

    // MARK: Running

    /// Saves the entities, and returns their rows.
    /// - Parameter note: takes the steps of the query that they come from, in an analysed run.
    func run(_ note: ([PlanStep]) -> Void) throws -> [RowID] {
        let writer = try JSONRows(type.name, core: core)
        var rowIDs: [RowID] = []
        func save(_ named: [(name: String, item: StatementValue, place: TextPlace)], at place: TextPlace) throws {
            try core.transaction.checkGoesOn()
            rowIDs.append(try self.save(try fields(named), writer, at: place))
        }
        switch rows {
        case .objects(let bound, let objects):
            for (bound, object) in zip(bound, objects) {
                (frame.steps, frame.held) = (0, 0)
                try save(try named(try bound.evaluate(frame), object), at: object.place)
            }
        case .values(let names, let bound, let rows):
            for (bound, row) in zip(bound, rows) {
                (frame.steps, frame.held) = (0, 0)
                let items = try bound.map { try $0.evaluate(frame) }
                let values = zip(names, zip(items, row)).map { ($0.name, $1.0, $1.1.place) }
                try save(values, at: row[0].place)
            }
        case .query(let names, let plan, let query):
            // All rows first: the query may read what is inserted.
            for row in try read(plan, query, note) {
                if plan.first.isValue, names.isEmpty {
                    try save(try self.named(row[0], query.projections[0].value), at: query.source.place)
                    continue
                }
                let columns = names.isEmpty ? plan.names : names.map(\.name)
                let places = names.isEmpty ? columns.map { _ in query.source.place } : names.map(\.place)
                try save(zip(columns, zip(row, places)).map { ($0, $1.0, $1.1) }, at: places[0])
            }
        }
        return rowIDs
    }

    private func read(
        _ plan: QueryPlan, _ query: SelectStatement, _ note: ([PlanStep]) -> Void
    ) throws -> [[StatementValue]] {
        var rows: [[StatementValue]] = []
        let counts = inputs.isAnalysed ? plan.counts : nil
        try plan.run(core, counts: counts) { row in
            try inputs.kept.add(StatementValue.bytes(of: row))
            rows.append(row)
            return true
        }
        if let counts { note(try plan.steps(query, core, counts)) }
        return rows
    }

    /// The fields of an object, each with its place in the text.
    private func named(
        _ item: StatementValue, _ expression: Expression
    ) throws -> [(name: String, item: StatementValue, place: TextPlace)] {
        guard case .object(let fields) = item else {
            throw properties.failure(
                "an entity is an object, such as {\"name\": 'value'}, and this is \(item.node.text.shown(60))",
                at: expression.place)
        }
        var places: [String: TextPlace] = [:]
        if case .object(let written, _) = expression {
            for field in written { places[field.name] = field.value.place }
        }
        return fields.map { ($0.name, $0.item, places[$0.name] ?? expression.place) }
    }

    private func fields(_ named: [(name: String, item: StatementValue, place: TextPlace)]) throws -> [Field] {
        var names: Set<String> = []
        return try named.map { name, item, place in
            guard names.insert(name).inserted else { throw properties.failure("“\(name)” is there twice", at: place) }
            return Field(property: try properties.property(name, at: place), name: name, item: item, place: place)
        }
    }

    private func save(_ fields: [Field], _ writer: JSONRows, at place: TextPlace) throws -> RowID {
        var values = [Value](repeating: .null, count: type.description.columns.count)
        var links: [(side: EdgeSide, ids: [Value])] = []
        for field in fields {
            switch field.property {
            case .column(0) where field.item.isUnknown: continue
            case .column(let column): values[column] = try properties.value(field.item, column, at: field.place)
            case .relation(let side): links.append((side, try properties.ids(field.item, side, at: field.place)))
            }
        }
        if values[0] == .null { values[0] = try newID(at: place) }
        for (number, column) in type.description.columns.enumerated()
        where values[number] == .null && !column.type.isOptional {
            throw properties.failure("\(type.name).\(column.name) is missing, and can't be null", at: place)
        }
        if !replaces, let rowID = try core.store(type.name).rowID(ofAny: values[0]),
            try core.store(type.name).isSaved(rowID)
        {
            throw properties.failure(
                "\(type.name) \(values[0].text.shown()) is stored already: UPSERT replaces it, UPDATE changes it",
                .alreadyStored, at: place)
        }
        return try writer.save(values, links)
    }

    /// The id of an entity without one: the next integer, or a new UUID.
    private func newID(at place: TextPlace) throws -> Value {
        let idType = type.idType
        if case .uuid = idType { return .uuid(UUID()) }
        guard let greatest = idType.greatest else {
            throw properties.failure(
                "\(type.name).\(type.description.columns[0].name) is missing: only ids that are integers or UUIDs are "
                    + "made by the store", at: place)
        }
        guard let id = try core.store(type.name).nextID(through: greatest) else {
            throw properties.failure(
                "\(type.name) has no more ids: the largest \(idType) is taken; give an id that is free", at: place)
        }
        return .uint(id).converted(to: idType) ?? .null
    }

    // MARK: Explaining

    /// The steps of the query that the entities come from.
    func querySteps() throws -> [PlanStep] {
        guard case .query(_, let plan, let query) = rows else { return [] }
        return try plan.steps(query, core)
    }

    var step: PlanStep {
        let verb = replaces ? "insert or replace" : "insert"
        let count =
            switch rows {
            case .objects(let objects, _): objects.count
            case .values(_, let values, _): values.count
            case .query: nil as Int?
            }
        guard let count else { return PlanStep("\(verb) each as \(type.name.withArticle)") }
        return PlanStep("\(verb) \(Spelling.counted(count, "entity", "entities")) of \(type.name)", depth: 0)
    }
}

extension ColumnType {
    /// The greatest integer that it holds; nil for other types.
    fileprivate var greatest: UInt64? {
        switch self {
        case .int8: UInt64(Int8.max)
        case .int16: UInt64(Int16.max)
        case .int32: UInt64(Int32.max)
        case .int64: UInt64(Int64.max)
        case .uint8: UInt64(UInt8.max)
        case .uint16: UInt64(UInt16.max)
        case .uint32: UInt64(UInt32.max)
        case .uint64: .max
        default: nil
        }
    }
}
