// SPDX-License-Identifier: Apache-2.0
// Runs a statement that changes data, in four steps: everything is bound; the entities to change are found, all of them
// before the first one is changed, so that no change decides what is found; they are changed; RETURNING is read.
//
// Entities are written as `hornbeam import` writes them: without their Swift type, so no hooks run. Indexes, links, the
// change log and observers follow as with any save.

import HornbeamPages
import HornbeamTree

/// One run, within a transaction.
struct ChangeRun {
    private enum Action {
        case insert(InsertRun)
        case update(UpdateRun)
        case delete
    }

    private let statement: ChangeStatement
    private let core: StoreTransaction
    private let inputs: StatementInputs
    private let type: EntityType
    private let action: Action
    /// Finds the entities to change; nil for INSERT. Its columns are the values that are computed before the first
    /// change.
    private let found: SelectPlan?
    private let foundStatement: SelectStatement
    /// The columns of RETURNING; nil without it.
    let returning: ReturnedColumns?

    init(
        _ statement: ChangeStatement, _ text: String, _ core: StoreTransaction, _ inputs: StatementInputs
    ) throws {
        self.statement = statement
        self.core = core
        self.inputs = inputs
        let target = statement.target
        type = try Binder(text, core, inputs).type(target.type, at: target.place)
        let properties = ChangedProperties(type, core, text)
        guard !EntityDescription.isTombstone(type.name) else {
            throw properties.failure("\(type.name) are kept by the store, and can't be changed", at: target.place)
        }
        var projections: [Projection] = []
        switch statement.action {
        case .insert(let rows, let replaces):
            action = .insert(try InsertRun(rows, replaces: replaces, properties, text, core, inputs))
        case .update(let assignments):
            let update = try UpdateRun(assignments, target, properties, text, core, inputs)
            action = .update(update)
            projections = update.projections
        case .delete:
            action = .delete
            projections = statement.returning
        }
        var search = SelectStatement(projections: projections, source: target)
        search.clauses.condition = statement.condition
        if case .insert = action { found = nil } else { found = try SelectPlan(search, text, core, inputs) }
        foundStatement = search
        returning =
            statement.returning.isEmpty
            ? nil : try ReturnedColumns(statement.returning, target, properties, text, core, inputs)
        if !inputs.isForNames { try inputs.requireUse() }
    }

    // MARK: Running

    /// Changes the entities. Returns their number, and the rows of RETURNING.
    /// - Parameter keepsDeleted: whether deleted entities of a type are kept, by the type's name.
    func run(keepsDeleted: (String) -> Bool) throws -> StatementResult {
        guard inputs.isAnalysed else { return try change(keepsDeleted) }
        var analysis = StatementAnalysis()
        var result = StatementResult(count: 0, rows: [])
        let start = ContinuousClock.now
        analysis.pagesRead = try core.transaction.countingPages {
            result = try change(keepsDeleted) { analysis.steps = $0 }
        }
        analysis.duration = start.duration(to: .now)
        analysis.results = result.count
        analysis.steps += steps(count: result.count) + inputs.subqueries
        result.analysis = analysis
        return result
    }

    /// - Parameter note: in an analysed run, receives the steps that found the entities. It is called before the first
    ///   change, because plans depend on the stored data.
    private func change(
        _ keepsDeleted: (String) -> Bool, _ note: ([PlanStep]) -> Void = { _ in }
    ) throws -> StatementResult {
        let (count, rows) = try core.deferringKeys {
            switch action {
            case .insert(let insert):
                let rowIDs = try insert.run(note)
                return (rowIDs.count, try returned(rowIDs))
            case .update(let update):
                let rowIDs = try update.run(try matches(note))
                return (rowIDs.count, try returned(rowIDs))
            case .delete:
                let matches = try matches(note)
                try delete(matches.rowIDs, keepsDeleted)
                return (matches.rowIDs.count, returning?.rows(matches.values) ?? [])
            }
        }
        return StatementResult(count: count, rows: rows)
    }

    private func returned(_ rowIDs: [RowID]) throws -> [ResultRow] {
        guard let returning else { return [] }
        return try returning.rows(of: rowIDs, core, inputs.kept)
    }

    /// The entities to change, in the order of their row ids.
    private func matches(_ note: ([PlanStep]) -> Void) throws -> ChangedRows {
        var matches = ChangedRows()
        guard let found else { return matches }
        let counts = inputs.isAnalysed ? SelectCounts(found) : nil
        let run = SelectRun(found, core, counts: counts)
        try run.run { values in
            guard let rowID = run.rowID else { return true }
            try inputs.kept.add(MemoryLayout<RowID>.stride + (values.isEmpty ? 0 : StatementValue.bytes(of: values)))
            matches.add(rowID, values)
            return true
        }
        if let counts { note(try found.steps(foundStatement, core, counts)) }
        matches.sort()
        return matches
    }

    private func delete(_ rowIDs: [RowID], _ keepsDeleted: (String) -> Bool) throws {
        guard type.reaches || core.schema.denying.contains(type.name) else {
            for rowID in rowIDs { try delete(EntityRow(type: type.name, rowID: rowID), keepsDeleted) }
            return
        }
        var deletion = DeletionDenials(core)
        // Each row is kept twice, in a list and in a set.
        var counted = 0
        func count() throws {
            try inputs.kept.add(
                (deletion.taken.count - counted) * (2 * MemoryLayout<EntityRow>.stride + KeptBytes.entry))
            counted = deletion.taken.count
        }
        for rowID in rowIDs {
            try deletion.take(EntityRow(type: type.name, rowID: rowID))
            try count()
        }
        try deletion.takeOrphans()
        try count()
        try deletion.refuse()
        for row in deletion.taken { try delete(row, keepsDeleted) }
    }

    private func delete(_ row: EntityRow, _ keepsDeleted: (String) -> Bool) throws {
        try core.transaction.checkGoesOn()
        let store = try core.store(row.type)
        let tombstones = EntityDescription.tombstoneName(of: row.type)
        guard keepsDeleted(row.type), core.schema.types[tombstones] != nil else {
            try store.delete(row.rowID)
            return
        }
        let kept = try core.store(tombstones)
        let copy = try store.tombstone(of: row.rowID, in: kept)
        try store.delete(row.rowID)
        if let copy { try kept.saveTombstone(copy) }
    }

    // MARK: Explaining

    func explanation() throws -> String {
        var steps: [PlanStep] = []
        if let found { steps = try found.steps(foundStatement, core) }
        if case .insert(let insert) = action { steps = try insert.querySteps() }
        return (steps + self.steps()).lines.joined(separator: "\n")
    }

    /// The steps that follow the search for the entities.
    /// - Parameter count: number of entities that were changed.
    private func steps(count: Int? = nil) -> [PlanStep] {
        let change =
            switch action {
            case .insert(let insert): insert.step
            case .update(let update): PlanStep("set " + update.assignments.map(\.text).joined(separator: ", "))
            case .delete: PlanStep("delete" + (type.reaches ? ", with what delete rules take along" : ""))
            }
        let returned = statement.returning.map(\.text).joined(separator: ", ")
        return ([change] + (returned.isEmpty ? [] : [PlanStep("return " + returned)])).map { step in
            var step = step
            step.rows = count
            return step
        }
    }
}

/// Rows to change, and for each the values that were computed before the first change, if there are any.
struct ChangedRows {
    private(set) var rowIDs: [RowID] = []
    private(set) var values: [[StatementValue]] = []

    mutating func add(_ rowID: RowID, _ rowValues: [StatementValue]) {
        rowIDs.append(rowID)
        if !rowValues.isEmpty { values.append(rowValues) }
    }

    /// Sorts the rows by row id, the order of their tree.
    mutating func sort() {
        guard !values.isEmpty else { return rowIDs.sort() }
        let order = rowIDs.indices.sorted { rowIDs[$0] < rowIDs[$1] }
        (rowIDs, values) = (order.map { rowIDs[$0] }, order.map { values[$0] })
    }
}

/// The columns of RETURNING.
struct ReturnedColumns {
    private let plan: SelectPlan
    private let columns: ResultColumns

    var names: [String] { columns.names }

    init(
        _ projections: [Projection], _ target: Source, _ properties: ChangedProperties, _ text: String,
        _ core: StoreTransaction, _ inputs: StatementInputs
    ) throws {
        try projections.map(\.value).refuseAggregates("RETURNING", properties)
        plan = try SelectPlan(SelectStatement(projections: projections, source: target), text, core, inputs)
        columns = ResultColumns(plan.columns.map(\.name))
    }

    func rows(_ values: [[StatementValue]]) -> [ResultRow] { values.map { ResultRow(columns, $0) } }

    /// The entities of some rows as they are stored now.
    func rows(of rowIDs: [RowID], _ core: StoreTransaction, _ kept: KeptBytes) throws -> [ResultRow] {
        try core.flush()
        let run = SelectRun(plan, core)
        return try rowIDs.compactMap { (rowID) -> ResultRow? in
            // Read again for each row, because reading relations may write gathered changes.
            guard let row = try core.store(plan.query.type).row(rowID) else { return nil }
            let values = try run.values(of: rowID, row)
            try kept.add(StatementValue.bytes(of: values))
            return ResultRow(columns, values)
        }
    }
}

extension [Expression] {
    /// Throws at the first aggregate.
    func refuseAggregates(_ clause: String, _ properties: ChangedProperties) throws {
        for expression in self where expression.hasAggregate {
            throw properties.failure(
                "an aggregate has no place in \(clause), which is of one entity", at: expression.place)
        }
    }
}
