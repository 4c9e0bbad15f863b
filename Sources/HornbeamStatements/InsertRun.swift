// SPDX-License-Identifier: Apache-2.0
// INSERT and UPSERT: entities from objects, from rows of values, and from the rows of a query.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// The entities that one INSERT saves.
struct InsertRun {
    private struct Field {
        var property: ChangedProperty
        var item: StatementValue
        var place: TextPlace
    }

    private enum Rows {
        case objects([BoundExpression], [Expression])
        case values([ChangedProperty], [[BoundExpression]], [[Expression]])
        /// The properties are nil if each row is an object.
        case query([ChangedProperty]?, QueryPlan, SelectStatement, places: [TextPlace])
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
            self.rows = .values(try Self.resolve(names.map { ($0.name, $0.place) }, properties), bound, values)
        case .query(let names, let query):
            let plan = try QueryPlan(query, text, core, inputs)
            if !names.isEmpty, plan.names.count != names.count {
                let count = Spelling.counted(plan.names.count, "column")
                throw properties.failure(
                    "there are \(Spelling.counted(names.count, "name")), and the SELECT has \(count)",
                    at: names[0].place)
            }
            // Without names, the columns' own names are those of the properties.
            let places = names.isEmpty ? plan.names.map { _ in query.source.place } : names.map(\.place)
            let targets = zip(names.isEmpty ? plan.names : names.map(\.name), places)
            let resolved =
                plan.first.isValue && names.isEmpty ? nil : try Self.resolve(targets.map { ($0, $1) }, properties)
            self.rows = .query(resolved, plan, query, places: places)
        }
        frame = Frame(slots: binder.slotCount, text: text)
    }

    /// The properties of these names; refuses names that the type doesn't have, or that are there twice.
    private static func resolve(
        _ names: [(name: String, place: TextPlace)], _ properties: ChangedProperties
    ) throws -> [ChangedProperty] {
        var seen: Set<String> = []
        return try names.map { name, place in
            guard seen.insert(name).inserted else { throw properties.failure("“\(name)” is there twice", at: place) }
            return try properties.property(name, at: place)
        }
    }

    // MARK: Running

    /// Saves the entities, and returns their row ids.
    /// - Parameter note: in an analysed run, receives the steps of the query that the entities come from.
    func run(_ note: ([PlanStep]) -> Void) throws -> [RowID] {
        let writer = try JSONRows(type.name, core: core)
        var rowIDs: [RowID] = []
        func save(_ fields: [Field], at place: TextPlace) throws {
            try core.transaction.checkGoesOn()
            rowIDs.append(try self.save(fields, writer, at: place))
        }
        func fields(_ properties: [ChangedProperty], _ items: [StatementValue], _ places: [TextPlace]) -> [Field] {
            zip(properties, zip(items, places)).map { Field(property: $0, item: $1.0, place: $1.1) }
        }
        switch rows {
        case .objects(let bound, let objects):
            for (bound, object) in zip(bound, objects) {
                (frame.steps, frame.held) = (0, 0)
                try save(try self.fields(try bound.evaluate(frame), object), at: object.place)
            }
        case .values(let properties, let bound, let rows):
            for (bound, row) in zip(bound, rows) {
                (frame.steps, frame.held) = (0, 0)
                let items = try bound.map { try $0.evaluate(frame) }
                try save(fields(properties, items, row.map(\.place)), at: row[0].place)
            }
        case .query(let properties, let plan, let query, let places):
            // All rows first: the query may read what is inserted.
            for row in try read(plan, query, note) {
                if let properties {
                    try save(fields(properties, row, places), at: places[0])
                } else {
                    try save(try self.fields(row[0], query.projections[0].value), at: query.source.place)
                }
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
    private func fields(_ item: StatementValue, _ expression: Expression) throws -> [Field] {
        guard case .object(let fields) = item else {
            throw properties.failure(
                "an entity is an object, such as {\"name\": 'value'}, and this is \(item.node.text.shown(60))",
                at: expression.place)
        }
        var places: [String: TextPlace] = [:]
        if case .object(let written, _) = expression {
            for field in written { places[field.name] = field.value.place }
        }
        let named = fields.map { ($0.name, places[$0.name] ?? expression.place) }
        return zip(try Self.resolve(named, properties), zip(fields, named)).map { property, field in
            Field(property: property, item: field.0.item, place: field.1.1)
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
        guard let greatest = idType.integers?.upperBound else {
            throw properties.failure(
                "\(type.name).\(type.description.columns[0].name) is missing: only ids that are integers or UUIDs are "
                    + "made by the store", at: place)
        }
        guard let id = try core.store(type.name).nextID(through: UInt64(greatest)) else {
            throw properties.failure(
                "\(type.name) has no more ids: the largest \(idType) is taken; give an id that is free", at: place)
        }
        return .uint(id).converted(to: idType) ?? .null
    }

    // MARK: Explaining

    /// The steps of the query that the entities come from.
    func querySteps() throws -> [PlanStep] {
        guard case .query(_, let plan, let query, _) = rows else { return [] }
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
