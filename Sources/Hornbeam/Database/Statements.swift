// SPDX-License-Identifier: Apache-2.0
// Statements of the query language in the transactions of a database.

extension Statement {
    /// Returns all rows of the result. Throws `.invalid` for wrong names and values, with the position in the text.
    /// - Parameters:
    ///   - context: the transaction to read in.
    ///   - parameters: values of `?` and `?2`, in order.
    ///   - named: values of `$name` and `:name`.
    public func resolve(
        in context: Context, _ parameters: any ColumnValue..., named: [String: any ColumnValue] = [:]
    ) throws -> [ResultRow] {
        try resolve(in: context, parameters, named: named)
    }

    /// Returns all rows of the result, with the parameters as an array.
    public func resolve(
        in context: Context, _ parameters: [any ColumnValue], named: [String: any ColumnValue] = [:]
    ) throws -> [ResultRow] {
        let values = StatementParameters(parameters, named)
        var rows: [ResultRow] = []
        try context.session.run { session in
            try run(in: try session.core, values) { row in
                rows.append(row)
                return true
            }
        }
        return rows
    }

    /// Calls `body` with each row of the result until it returns false. Later rows are then not read, unless they must
    /// be sorted. `body` must not change the store.
    public func forEach(
        in context: Context, _ parameters: [any ColumnValue] = [], named: [String: any ColumnValue] = [:],
        _ body: (ResultRow) throws -> Bool
    ) throws {
        let values = StatementParameters(parameters, named)
        try context.session.run { try run(in: try $0.core, values, mayStop: true, body) }
    }

    /// Runs a statement that changes data. If it throws, it has changed nothing, and the write can go on. Throws
    /// `.invalid` for wrong names and values, with the position in the text; `.alreadyStored` for an INSERT of a stored
    /// id; `.uniqueViolation` and `.deleteDenied` like a save or a deletion; `.readOnly` in a read.
    ///
    /// No hooks run and no `CollisionResolver` is called, because entities are written without their Swift types.
    /// Delete rules, unique keys, indexes, observers and the change log work as with any save.
    /// - Parameters:
    ///   - context: the write transaction.
    ///   - parameters: values of `?` and `?2`, in order.
    ///   - named: values of `$name` and `:name`.
    @discardableResult
    public func execute(
        in context: inout Context, _ parameters: any ColumnValue..., named: [String: any ColumnValue] = [:]
    ) throws -> StatementResult {
        try execute(in: &context, parameters, named: named)
    }

    /// Runs a statement that changes data, with the parameters as an array.
    @discardableResult
    public func execute(
        in context: inout Context, _ parameters: [any ColumnValue], named: [String: any ColumnValue] = [:]
    ) throws -> StatementResult {
        let values = StatementParameters(parameters, named)
        return try context.session.run { session in
            try execute(in: try session.core, values) { session.keepsDeleted(ofType: $0) }
        }
    }

    /// Runs the statement, and returns its plan with counts of each step. Throws `.invalid` if it changes data.
    ///
    ///     print(try statement.explain(.analyze, in: context))
    public func explain(
        _: PlanRun.Kind, in context: Context, _ parameters: [any ColumnValue] = [],
        named: [String: any ColumnValue] = [:]
    ) throws -> StatementAnalysis {
        let values = StatementParameters(parameters, named)
        return try context.session.run { try analysis(in: try $0.core, values) }
    }

    /// Returns the plan of the statement as text, like `EXPLAIN`.
    public func explain(
        in context: Context, _ parameters: [any ColumnValue] = [], named: [String: any ColumnValue] = [:]
    ) throws -> String {
        let values = StatementParameters(parameters, named)
        return try context.session.run { try explanation(in: try $0.core, values) }
    }
}

extension Database {
    /// Runs a statement in a read of its own, and returns its rows: see `Statement`.
    ///
    ///     try database.query("SELECT name FROM Person WHERE age >= ?", 18)
    public func query(
        _ text: String, _ parameters: any ColumnValue..., named: [String: any ColumnValue] = [:]
    ) throws -> [ResultRow] {
        let statement = try Statement(text)
        return try read { try statement.resolve(in: $0, parameters, named: named) }
    }

    /// Runs a statement that changes data as one write: see `Statement.execute`.
    ///
    ///     try database.execute("UPDATE Person SET age = age + 1 WHERE id = ?", 7).count
    @discardableResult
    public func execute(
        _ text: String, _ parameters: any ColumnValue..., named: [String: any ColumnValue] = [:]
    ) throws -> StatementResult {
        let statement = try Statement(text)
        return try write { try statement.execute(in: &$0, parameters, named: named) }
    }
}
