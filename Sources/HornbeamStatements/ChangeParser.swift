// SPDX-License-Identifier: Apache-2.0
// Reads the statements that change data.
//
//     change     = (INSERT | UPSERT) INTO type inserted returning
//                | UPDATE type [[AS] name] SET path = expression {, path = expression} [WHERE expression] returning
//                | DELETE FROM type [[AS] name] [WHERE expression] returning
//     inserted   = expression {, expression} | [( name {, name} )] query
//                | ( name {, name} ) VALUES row {, row}
//     row        = ( expression {, expression} )
//     returning  = [RETURNING projection {, projection}]
//
// INSERT, UPSERT, UPDATE and DELETE are keywords only where a statement begins.

extension StatementParser {
    /// Returns nil, and reads nothing, if no such statement begins here.
    mutating func changeStatement() throws(HornbeamError) -> ChangeStatement? {
        for replaces in [false, true] where take(replaces ? "UPSERT" : "INSERT") { return try insertion(replaces) }
        if take("UPDATE") { return try update() }
        if take("DELETE") { return try deletion() }
        return nil
    }

    // MARK: INSERT

    private mutating func insertion(_ replaces: Bool) throws(HornbeamError) -> ChangeStatement {
        if isAt("OR") { throw failure("there is no INSERT OR …: UPSERT INTO replaces the entity with the same id") }
        try expect("INTO", "and an entity type")
        let start = place
        let target = Source(type: try expectName("the name of an entity type"), place: start)
        let rows = try insertedRows()
        if isAt("ON") { throw failure("there is no ON CONFLICT: UPSERT INTO replaces the entity with the same id") }
        return ChangeStatement(
            action: .insert(rows, replaces: replaces), target: target, returning: try returning("INSERT"))
    }

    private mutating func insertedRows() throws(HornbeamError) -> InsertedRows {
        if beginsQuery { return .query([], try query()) }
        if isAt("VALUES") { throw failure("VALUES need names before them: (name, …) VALUES (value, …)") }
        guard isAt(sign: "(") else {
            var objects: [Expression] = []
            repeat { objects.append(try expression()) } while take(sign: ",")
            return .objects(objects)
        }
        if Self.isKeyword(token(after: 1), "SELECT") {
            throw failure("the SELECT of an INSERT has no parentheses around it")
        }
        let names = try insertedNames()
        if beginsQuery { return .query(names, try query()) }
        try expect("VALUES", "or SELECT behind the names")
        var rows: [[Expression]] = []
        repeat { rows.append(try insertedValues(names.count)) } while take(sign: ",")
        return .values(names, rows)
    }

    /// `(name, …)`
    private mutating func insertedNames() throws(HornbeamError) -> [InsertedName] {
        next()
        var names: [InsertedName] = []
        repeat {
            let start = place
            names.append(InsertedName(name: try expectName("the name of a property or a relation"), place: start))
        } while take(sign: ",")
        try expect(sign: ")", "or a comma behind the names")
        return names
    }

    private mutating func insertedValues(_ count: Int) throws(HornbeamError) -> [Expression] {
        let start = place
        try expect(sign: "(", "and a value for each name")
        var values: [Expression] = []
        repeat { values.append(try expression()) } while take(sign: ",")
        try expect(sign: ")", "or a comma behind the values")
        guard values.count == count else {
            throw failure(
                "there are \(Spelling.counted(count, "name")), and \(Spelling.counted(values.count, "value"))",
                at: start)
        }
        return values
    }

    // MARK: UPDATE and DELETE

    private mutating func update() throws(HornbeamError) -> ChangeStatement {
        let target = try source()
        try expect("SET", "and path = value")
        var assignments: [Assignment] = []
        repeat {
            let path = try path("a property or a relation")
            try expect(sign: "=", "and the value of \(path.text)")
            assignments.append(Assignment(path: path, value: try expression()))
        } while take(sign: ",")
        return try changed(.update(assignments), target, "UPDATE")
    }

    private mutating func deletion() throws(HornbeamError) -> ChangeStatement {
        try expect("FROM", "and an entity type")
        return try changed(.delete, try source(), "DELETE")
    }

    /// The clauses of UPDATE and DELETE.
    private mutating func changed(
        _ action: ChangeStatement.Action, _ target: Source, _ word: String
    ) throws(HornbeamError) -> ChangeStatement {
        if ["FROM", "INNER", "JOIN", "LEFT", "UNNEST", "USING"].contains(where: { isAt($0) }) {
            throw failure("\(word) is of one type: name others by paths along relations, or WHERE … IN (SELECT …)")
        }
        let condition = take("WHERE") ? try expression() : nil
        return ChangeStatement(action: action, target: target, condition: condition, returning: try returning(word))
    }

    private mutating func returning(_ word: String) throws(HornbeamError) -> [Projection] {
        if ["LIMIT", "OFFSET", "ORDER"].contains(where: { isAt($0) }), word != "INSERT" {
            throw failure(
                "\(word) has no ORDER BY, LIMIT or OFFSET: WHERE id IN (SELECT id FROM … ORDER BY … LIMIT …) finds the "
                    + "entities")
        }
        guard take("RETURNING") else { return [] }
        var projections: [Projection] = []
        repeat { projections.append(try projection()) } while take(sign: ",")
        return projections
    }
}
