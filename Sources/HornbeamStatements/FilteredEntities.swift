// SPDX-License-Identifier: Apache-2.0
// A query for entities with a WHERE in text, as `hornbeam query --where` has it. It is answered as a statement is: the
// planner gets the conditions that it can answer as a filter, and the others are tested on each row.

/// The entities that a query finds and for which a condition of the query language is true. Belongs to one transaction.
package struct FilteredEntities {
    private let statement: SelectStatement
    private let plan: SelectPlan
    private let core: StoreTransaction
    private let counts: SelectCounts?

    /// - Parameters:
    ///   - condition: the WHERE clause of `SELECT … FROM Type WHERE …`; nil for all entities of the query.
    ///   - isAnalysed: whether the steps are counted, for `explanation`.
    /// - Throws: `.invalid` or `.tooLarge` with the line, the character and a mark below it, if the text is no
    ///   condition.
    package init(
        _ query: EntityQuery, where condition: String?, in core: StoreTransaction,
        _ parameters: StatementParameters = StatementParameters(), isAnalysed: Bool = false
    ) throws {
        var statement = SelectStatement(projections: [], source: Source(type: query.type, place: 0))
        statement.clauses.condition = try condition.map { (text) throws(HornbeamError) in
            try QueryLanguage.expression(text)
        }
        self.statement = statement
        self.core = core
        plan = try SelectPlan(query, statement, condition ?? "", core, StatementInputs(parameters))
        counts = isAnalysed ? SelectCounts(plan) : nil
    }

    /// Calls `body` with each entity, in the order of the query, until it returns false. The score is nil unless the
    /// query has a search.
    package func forEach(_ body: (RowID, RowReader, Double?) throws -> Bool) throws {
        try SelectRun(plan, core, counts: counts).forEachEntity(body)
    }

    /// The number of entities. Reads none if the planner knows it.
    package func count() throws -> Int {
        var count = 0
        if plan.isCut {
            count = try core.count(plan.query, counting: counts?.query)
            counts?.results = count
            return count
        }
        try forEach { _, _, _ in
            count += 1
            return true
        }
        return count
    }

    /// Explains for people how the entities are found. Has counts if the run is analysed and the entities were found
    /// before.
    package func explanation() throws -> String {
        // No relation is followed for a condition that the planner answers.
        let steps =
            plan.isCut
            ? try core.explain(plan.query).steps(counts?.query, results: counts?.results)
            : try plan.steps(statement, core, counts)
        return steps.lines.joined(separator: "\n")
    }

    /// The number of rows that the planner expects to look at.
    package func candidates() throws -> Int { try core.explain(plan.query).candidates }
}
