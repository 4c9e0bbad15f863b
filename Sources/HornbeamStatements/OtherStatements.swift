// SPDX-License-Identifier: Apache-2.0
// Statements and clauses of SQL that the query language doesn't have: errors say what to write instead.

enum OtherStatements {
    static let subquery =
        "a subquery stands in parentheses behind FROM, JOIN, IN and EXISTS, and nowhere else: join the other type, or "
        + "give the value as a parameter"

    static let recursive = "there is no WITH RECURSIVE: follow a relation by JOIN, once for each step"

    /// Returns advice on what to write instead of a statement that begins with this word, or nil for any other word.
    static func correction(_ word: String) -> String? {
        switch word.uppercased() {
        case "MERGE", "REPLACE":
            "there is no \(word.uppercased()): UPSERT INTO replaces the entity with the same id, or inserts it"
        case "TRUNCATE": "there is no TRUNCATE: DELETE FROM Type deletes all entities of a type"
        case "ALTER", "CREATE", "DROP":
            "there is no \(word.uppercased()): types and indexes come from the models of a program, or from a schema "
                + "that 'hornbeam schema apply' reads"
        case "BEGIN", "COMMIT", "ROLLBACK", "START":
            "\(word.uppercased()) is no statement of the query language: the statements in one database.write are one "
                + "transaction, and so are those between BEGIN and COMMIT in 'hornbeam shell'"
        case "SAVEPOINT", "RELEASE":
            "there are no savepoints: a statement that fails has changed nothing, and its transaction goes on"
        case "WITH": "WITH needs a name and a query: WITH name AS (SELECT …) SELECT … FROM name"
        case "VALUES": "VALUES belong to INSERT INTO Type (name, …) VALUES (value, …)"
        default: nil
        }
    }

    /// Returns advice on what to write instead of a clause, behind a whole statement, that begins with this word, or
    /// nil for any other word.
    static func correction(end word: String) -> String? {
        switch word.uppercased() {
        case "INTERSECT": "there is no INTERSECT: write WHERE … IN (SELECT …)"
        case "EXCEPT": "there is no EXCEPT: write WHERE … NOT IN (SELECT …)"
        case "FETCH": "there is no FETCH FIRST: write LIMIT"
        case "WINDOW", "QUALIFY": "there are no windows: group by the columns, or compute them from the rows"
        default: nil
        }
    }
}
