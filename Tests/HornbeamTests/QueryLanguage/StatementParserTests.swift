// SPDX-License-Identifier: Apache-2.0
// The parsed forms of statements, and the positions of mistakes in wrong ones.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@Suite("Statements as trees")
struct StatementParserTests {
    private func path(_ names: String...) -> Expression { .path(Path(steps: names.map { .name($0) }, place: 0)) }

    /// Returns an expression with brackets and signs, without positions.
    private func show(_ expression: Expression) -> String {
        switch expression {
        case .literal(.string(let text), _): "'\(text)'"
        case .literal(.int(let int), _): "\(int)"
        case .literal(.uint(let uint), _): "\(uint)u"
        case .literal(.double(let double), _): "\(double)"
        case .literal(.bool(let flag), _): "\(flag)"
        case .literal(let value, _): "\(value)"
        case .missing: "missing"
        case .parameter(let parameter):
            switch parameter.name {
            case .position(let position): "?\(position)"
            case .name(let name): "$\(name)"
            }
        case .path(let path): path.text
        case .array(let parts, _): "[" + parts.map(show).joined(separator: ", ") + "]"
        case .object(let fields, _): "{" + fields.map { "\($0.name): \(show($0.value))" }.joined(separator: ", ") + "}"
        case .unary(let sign, let part, _): "(\(sign.rawValue) \(show(part)))"
        case .binary(let sign, let left, let right, _): "(\(show(left)) \(sign.rawValue) \(show(right)))"
        case .like(let left, let pattern, let escape):
            "(\(show(left)) LIKE \(show(pattern))\(escape.map { " ESCAPE " + show($0) } ?? ""))"
        case .between(let left, let low, let high): "(\(show(left)) BETWEEN \(show(low)) AND \(show(high)))"
        case .within(let left, let list): "(\(show(left)) IN (\(list.map(show).joined(separator: ", "))))"
        case .withinArray(let left, let array): "(\(show(left)) IN \(show(array)))"
        case .collate(let part, let collation, _): "(\(show(part)) COLLATE \(collation))"
        case .test(let part, let test): "(\(show(part)) IS \(test.rawValue))"
        case .choice(let subject, let cases, let otherwise):
            "(CASE \(subject.map(show) ?? "") "
                + cases.map { "\(show($0.condition)): \(show($0.value))" }.joined(separator: ", ")
                + (otherwise.map { " ELSE \(show($0))" } ?? "") + ")"
        case .quantified(let quantifier, let variable, let array, let condition):
            "(\(quantifier.rawValue) \(variable) IN \(show(array)) SATISFIES \(show(condition)))"
        case .comprehension(let value, let variable, let array, let condition, _):
            "(ARRAY \(show(value)) FOR \(variable) IN \(show(array))\(condition.map { " WHEN " + show($0) } ?? ""))"
        case .call(let call):
            "\(call.name)(\(call.isDistinct ? "DISTINCT " : "")\(call.arguments.map(show).joined(separator: ", ")))"
        case .match(let match): "match(\(match.targets.map(\.text).joined(separator: ", ")); \(show(match.query)))"
        case .rank: "rank()"
        case .meta(let field, let alias, _): "\(field.rawValue)(\(alias ?? ""))"
        case .star(let alias, _): alias.map { "\($0).*" } ?? "*"
        case .subquery(let statement, _): "(SELECT FROM \(statement.source.type))"
        case .exists(let statement, _): "(EXISTS SELECT FROM \(statement.source.type))"
        }
    }

    private func select(_ text: String) throws -> SelectStatement {
        try #require(try QueryLanguage.statement(text).select)
    }

    private func change(_ text: String) throws -> ChangeStatement {
        guard case .change(let statement) = try QueryLanguage.statement(text) else {
            throw HornbeamError(.invalid, "\(text) changes nothing")
        }
        return statement
    }

    @Test(
        "Operators have SQL's precedence",
        arguments: [
            ("a OR b AND NOT c = 1", "(a OR (b AND (NOT (c = 1))))"),
            ("a = 1 AND b == 2 AND c <> 3", "((a = 1) AND ((b = 2) AND (c != 3)))"),
            ("1 + 2 * 3 - 4 % 5", "((1 + (2 * 3)) - (4 % 5))"),
            ("-a * -2", "((- a) * -2)"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551615", "18446744073709551615u"),
            ("1.5e3 + .5", "(1500.0 + 0.5)"),
            ("a || b || 'c' = d + 1", "((a || (b || 'c')) = (d + 1))"),
            ("(a OR b) AND c", "((a OR b) AND c)"),
            ("a BETWEEN 1 AND 2 AND b", "((a BETWEEN 1 AND 2) AND b)"),
            ("a NOT BETWEEN -1 AND +b", "(NOT (a BETWEEN -1 AND (+ b)))"),
            ("a NOT LIKE 'x!%' ESCAPE '!'", "(NOT (a LIKE 'x!%' ESCAPE '!'))"),
            ("a IN (1, 'b') OR a not in [] OR a IN tags", "((a IN (1, 'b')) OR ((NOT (a IN ())) OR (a IN tags)))"),
            ("a.b IS NOT MISSING AND a IS VALUED", "((NOT (a.b IS MISSING)) AND (a IS VALUED))"),
            ("a = 1 IS NULL", "((a = 1) IS NULL)"),
            ("NOT a IS NULL", "(NOT (a IS NULL))"),
        ])
    func precedence(_ text: String, _ expected: String) throws {
        #expect(show(try QueryLanguage.expression(text)) == expected)
    }

    @Test(
        "Operands",
        arguments: [
            ("contacts[0].phones[-1].type", "contacts[0].phones[-1].type"),
            ("`order`.`a``b`.select", "order.a`b.select"),
            ("'it''s' || \"a \"\"b\"\"\"", "('it's' || 'a \"b\"')"),
            ("? + ?2 + $name + :other + ? + $1", "(((((?1 + ?2) + $name) + $other) + ?2) + ?1)"),
            ("COUNT(*) + count(DISTINCT a)", "(count(*) + count(DISTINCT a))"),
            ("Lower(a)", "lower(a)"),
            ("[1, [], {\"a\":b, 'c' : :d}]", "[1, [], {a: b, c: $d}]"),
            ("CASE WHEN a THEN 1 ELSE 2 END", "(CASE  a: 1 ELSE 2)"),
            ("CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END", "(CASE a 1: 'x', 2: 'y')"),
            ("ANY t IN tags SATISFIES t = 'x' END", "(ANY t IN tags SATISFIES (t = 'x'))"),
            ("SOME t IN tags SATISFIES t = 'x' END", "(ANY t IN tags SATISFIES (t = 'x'))"),
            ("any and every t in tags satisfies t end", "(ANY AND EVERY t IN tags SATISFIES t)"),
            ("EVERY t IN a.b SATISFIES t.c > 1 END", "(EVERY t IN a.b SATISFIES (t.c > 1))"),
            ("ARRAY x.n FOR x IN list WHEN x.n > 1 END", "(ARRAY x.n FOR x IN list WHEN (x.n > 1))"),
            ("array[0] + array", "(array[0] + array)"),
            ("MATCH(title, body, 'a b') AND RANK(search) > 1", "(match(title, body; 'a b') AND (rank() > 1))"),
            ("META(p).id = META().updatedAt", "(id(p) = updatedAt())"),
            ("like = 'travel' AND value LIKE 'x' AND desc", "((like = 'travel') AND ((value LIKE 'x') AND desc))"),
            ("a -- the rest\n + /* b */ 1", "(a + 1)"),
            ("NULL", "null"), ("missing", "missing"), ("True", "true"),
            ("a NOT IN (SELECT b FROM c)", "(NOT (a IN (SELECT FROM c)))"),
            ("NOT EXISTS (SELECT b FROM c) AND exists", "((NOT (EXISTS SELECT FROM c)) AND exists)"),
        ])
    func operands(_ text: String, _ expected: String) throws {
        #expect(show(try QueryLanguage.expression(text)) == expected)
    }

    @Test("The document's statement, part by part")
    func documentStatement() throws {
        let statement = try select(
            """
            SELECT name, contact.type, phone.number AS n
            FROM profiles
            UNNEST contacts as contact
            LEFT UNNEST contact.phones phone
            WHERE phone.type = "mobile" GROUP BY a, b HAVING COUNT(*) > 1
            ORDER BY name DESC NULLS LAST, n LIMIT 5 OFFSET ?;
            """)
        #expect(statement.projections.map { show($0.value) } == ["name", "contact.type", "phone.number"])
        #expect(statement.projections.map(\.alias) == [nil, nil, "n"])
        #expect(statement.projections.map(\.text) == ["name", "contact.type", "phone.number"])
        #expect(statement.source.type == "profiles" && statement.source.alias == nil)
        #expect(statement.joins.map(\.alias) == ["contact", "phone"])
        #expect(statement.joins.map(\.kind) == [.inner, .leftOuter])
        #expect(statement.clauses.condition.map(show) == "(phone.type = 'mobile')")
        #expect(statement.clauses.groups.map(show) == ["a", "b"])
        #expect(statement.clauses.having.map(show) == "(count(*) > 1)")
        #expect(statement.clauses.order.map { show($0.value) } == ["name", "n"])
        #expect(statement.clauses.order.map(\.isDescending) == [true, false])
        #expect(statement.clauses.order.map(\.nulls) == [.last, nil])
        #expect(statement.clauses.limit.map(show) == "5" && statement.clauses.offset.map(show) == "?1")
    }

    @Test("Forms of statements")
    func forms() throws {
        let stars = try select("EXPLAIN SELECT DISTINCT *, m.*, 1 one FROM Message AS m")
        #expect(stars.isExplained && stars.isDistinct && !stars.isValue)
        #expect(stars.projections.map { show($0.value) } == ["*", "m.*", "1"])
        #expect(stars.projections.map(\.alias) == [nil, nil, "one"])
        #expect(stars.source.alias == "m")
        #expect(try select("SELECT VALUE x.a FROM _ AS x").isValue)
        #expect(try select("SELECT RAW {\"a\": 1} FROM _").isValue)
        let named = try select("SELECT value, raw AS r FROM _")
        #expect(!named.isValue && named.projections.map { show($0.value) } == ["value", "raw"])
        let joined = try select(
            "SELECT 1 FROM Chat c JOIN c.messages m LEFT OUTER JOIN User u ON META(u).id = m.author INNER JOIN X ON 1"
        )
        #expect(joined.joins.count == 3)
        guard case .relation(let path) = joined.joins[0].target, case .type("User", let on) = joined.joins[1].target
        else {
            Issue.record("other targets: \(joined.joins)")
            return
        }
        #expect(path.text == "c.messages" && show(on) == "(id(u) = m.author)")
        let clauses = try QueryLanguage.clauses("OFFSET 2 LIMIT 1")
        #expect(clauses.limit.map(show) == "1" && clauses.offset.map(show) == "2")
        #expect(try QueryLanguage.clauses("") == QueryClauses())
    }

    @Test("Statements that change data")
    func changes() throws {
        let insert = try change("EXPLAIN insert into T (a, b) values (1, ?), (c, NULL) returning *, a AS x;")
        #expect(insert.isExplained && insert.target.type == "T" && insert.returning.map(\.text) == ["*", "a"])
        guard case .insert(.values(let names, let rows), replaces: false) = insert.action else {
            Issue.record("\(insert.action)")
            return
        }
        #expect(names.map(\.name) == ["a", "b"] && rows.map { $0.map(show) } == [["1", "?1"], ["c", "null"]])
        let upsert = try change("UPSERT INTO T {\"a\": 1}, ?")
        guard case .insert(.objects(let objects), replaces: true) = upsert.action else {
            Issue.record("\(upsert.action)")
            return
        }
        #expect(objects.map(show) == ["{a: 1}", "?1"])
        let update = try change("UPDATE T AS t SET t.a.b = a + 1, c[-1] = 2 WHERE a = 1 RETURNING a")
        guard case .update(let assignments) = update.action else {
            Issue.record("\(update.action)")
            return
        }
        #expect(assignments.map(\.path.text) == ["t.a.b", "c[-1]"])
        #expect(assignments.map { show($0.value) } == ["(a + 1)", "2"])
        #expect(update.target.alias == "t" && update.condition.map(show) == "(a = 1)")
        let delete = try change("DELETE FROM T t")
        #expect(delete.action == .delete && delete.target.alias == "t" && delete.condition == nil)
    }

    @Test("The last clauses of a UNION apply to the whole")
    func unions() throws {
        let statement = try select("SELECT a FROM b WHERE c UNION ALL SELECT d FROM e WHERE f ORDER BY 1 LIMIT 2")
        #expect(statement.clauses.condition.map(show) == "c" && statement.clauses.order.isEmpty)
        let union = try #require(statement.union)
        #expect(union.isAll && union.clauses.limit.map(show) == "2" && union.clauses.order.count == 1)
        #expect(union.others.map(\.source.type) == ["e"])
        #expect(union.others[0].clauses == QueryClauses(condition: union.others[0].clauses.condition))
    }

    @Test(
        "A failure names the error and its position",
        arguments: [
            ("SELECT a FORM b", "expected FROM and an entity type", 1, 15),
            ("SELECT a,\n  FROM b", "“FROM” is a keyword", 2, 3),
            ("SELECT a FROM b, c", "commas", 1, 16),
            ("SELECT a FROM b WHERE", "expected a value", 1, 22),
            ("SELECT a FROM b WHERE a = = 1", "expected a value", 1, 27),
            ("SELECT a FROM b WHERE a < b < c", "in a row", 1, 29),
            ("SELECT a FROM b WHERE 'x", "the string has no end", 1, 23),
            ("SELECT a FROM b WHERE a ~ 1", "unexpected “~”", 1, 25),
            ("SELECT a FROM b /* x", "the comment has no end", 1, 17),
            ("SELECT a FROM b UNNEST [1, 2] AS x", "array literals", 1, 24),
            ("SELECT a FROM b JOIN c", "expected ON", 1, 23),
            ("SELECT a FROM b JOIN b.c ON 1", "relation", 1, 26),
            ("SELECT a FROM b ORDER a", "expected BY", 1, 23),
            ("SELECT (a FROM b", "expected “)”", 1, 11),
            ("SELECT a[x] FROM b", "position of an element", 1, 10),
            ("SELECT META().rev FROM b", "META() has an id", 1, 8),
            ("SELECT MATCH('x') FROM b", "MATCH needs", 1, 14),
            ("SELECT MATCH(1, 'x') FROM b", "names", 1, 14),
            ("SELECT CASE a END FROM b", "expected WHEN", 1, 15),
            ("SELECT 12a FROM b", "a number is followed", 1, 8),
            ("SELECT ?0 FROM b", "1 to 1000", 1, 8),
            ("SELECT VALUE 1, 2 FROM b", "one value a row", 1, 17),
            ("SELECT 1e999 FROM b", "not a number", 1, 8),
            ("UPDATE b", "expected SET", 1, 9), ("b", "expected SELECT, INSERT", 1, 1),
            ("SELECT a FROM b LIMIT 1 LIMIT 2", "expected the end", 1, 25),
        ])
    func failures(_ text: String, _ words: String, _ line: Int, _ character: Int) {
        do {
            _ = try QueryLanguage.statement(text)
            Issue.record("read without an error: \(text)")
        } catch {
            #expect(error.code == .invalid)
            #expect(error.message.contains(words), "\(error.message)")
            #expect(error.message.contains("at line \(line), character \(character):"), "\(error.message)")
            #expect(error.message.hasSuffix("^"))
        }
    }

    @Test("The caret is below the position, in any line and however long it is")
    func caret() throws {
        let text = "SELECT a FROM b\nWHERE " + String(repeating: "x + ", count: 50) + "§"
        let error = #expect(throws: HornbeamError.self) { _ = try QueryLanguage.statement(text) }
        let lines = (error?.message ?? "").split(separator: "\n")
        #expect(lines.count == 3)
        guard lines.count == 3 else { return }
        #expect(lines[1].count <= 130)
        let caret = lines[2].distance(
            from: lines[2].startIndex, to: lines[2].firstIndex(of: "^") ?? lines[2].startIndex)
        #expect(Array(lines[1])[caret] == "§")
    }

    @Test("Nesting, chains of operators and length have limits; conditions of many parts don't")
    func limits() throws {
        for (open, close) in [("(", ")"), ("[", "]"), ("NOT ", ""), ("- ", ""), ("f(", ")")] {
            let deep = { (count: Int) in
                String(repeating: open, count: count) + "a" + String(repeating: close, count: count)
            }
            #expect(throws: Never.self) { _ = try QueryLanguage.expression(deep(90)) }
            #expect(throws: HornbeamError.self) { _ = try QueryLanguage.expression(deep(5_000)) }
        }
        let many = (0..<20_000).map { "a = \($0)" }.joined(separator: " OR ")
        #expect(throws: Never.self) { _ = try QueryLanguage.expression(many) }
        let row = Array(repeating: "a", count: 1_000).joined(separator: " + ")
        #expect(throws: HornbeamError.self) { _ = try QueryLanguage.expression(row) }
        let long = "'" + String(repeating: "a", count: StatementParser.maxLength) + "'"
        let error = #expect(throws: HornbeamError.self) { _ = try QueryLanguage.expression(long) }
        #expect(error?.code == .tooLarge)
        let path = Array(repeating: "a", count: 1_000).joined(separator: ".")
        #expect(throws: HornbeamError.self) { _ = try QueryLanguage.expression(path) }
    }

    @Test("Random words are read or refused, never a trap", .seeded)
    func randomWords() {
        let words = [
            "SELECT", "FROM", "WHERE", "a", "b.c", "(", ")", "[", "]", "{", "}", ",", ".", "*", "1", "-", "'s'",
            "\"t\"",
            ":", "?", "$p", "NOT", "AND", "OR", "IN", "LIKE", "BETWEEN", "IS", "NULL", "CASE", "WHEN", "THEN", "END",
            "ANY", "EVERY", "SATISFIES", "UNNEST", "JOIN", "ON", "GROUP", "BY", "ORDER", "LIMIT", "MATCH(", "META(",
            "ARRAY", "FOR", "`x`", "=", "<", "||", "+", "/", "%", "count(", "DISTINCT", "AS", "--", "/*", "*/", "\n",
        ]
        var random = SeededGenerator()
        var readings = 0
        for _ in 0..<3_000 {
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in words.randomElement(using: &random) ?? ""
            }
            .joined(separator: " ")
            if (try? QueryLanguage.expression(text)) != nil { readings += 1 }
            _ = try? QueryLanguage.statement("SELECT " + text)
            _ = try? QueryLanguage.clauses("WHERE " + text)
        }
        #expect(readings > 0)
    }
}

extension StatementTree {
    /// Returns nil for a statement that changes data.
    var select: SelectStatement? { if case .select(let statement) = self { statement } else { nil } }
}
