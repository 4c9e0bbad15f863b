// SPDX-License-Identifier: Apache-2.0
// The values of expressions: logic with unknown values, numbers, texts, arrays, functions.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

@EntityModel
private struct AnyDocument {
    let id: Int
    var data: AnyJSON
}

private struct AnyJSON: Codable, Sendable {
    var a: Int
    var list: [Int?]
}

@Suite("Expressions")
struct EvaluationTests {
    /// Returns the JSON of an expression's value, or `missing` if there is none.
    private func value(_ expression: String, _ parameters: any ColumnValue...) throws -> String {
        var context = Context()
        try AnyDocument(id: 1, data: AnyJSON(a: 1, list: [1, nil, 3])).save(to: &context)
        let rows = try Statement("SELECT (\(expression)) AS v FROM AnyDocument").resolve(in: context, parameters)
        return rows[0]["v"] == nil ? "missing" : String(rows[0].json.dropFirst(#"{"v":"#.count).dropLast())
    }

    @Test(
        "an unknown operand makes the result unknown",
        arguments: [
            ("NULL = NULL", "null"), ("NULL != 1", "null"), ("NOT NULL", "null"), ("NOT (NULL > 18)", "null"),
            ("NULL AND FALSE", "false"), ("NULL AND TRUE", "null"), ("NULL OR TRUE", "true"), ("NULL OR FALSE", "null"),
            ("MISSING = 1", "missing"), ("MISSING AND NULL", "missing"), ("MISSING OR NULL", "null"),
            ("MISSING AND FALSE", "false"), ("MISSING OR TRUE", "true"), ("NOT MISSING", "missing"),
            ("NULL IS NULL", "true"), ("MISSING IS NULL", "missing"), ("MISSING IS MISSING", "true"),
            ("NULL IS MISSING", "false"), ("NULL IS VALUED", "false"), ("1 IS VALUED", "true"),
            ("1 IS NOT NULL", "true"), ("NULL IS NOT NULL", "false"), ("MISSING IS NOT VALUED", "true"),
            ("NULL + 1", "null"), ("MISSING + NULL", "missing"), ("'a' || NULL", "null"), ("data.b", "missing"),
            ("data.b.c", "missing"), ("data.list[1]", "null"), ("data.list[9]", "missing"), ("data.list[-1]", "3"),
            ("1 IN ()", "false"), ("NULL IN ()", "false"), ("1 IN (2, NULL)", "null"), ("1 IN (1, NULL)", "true"),
            ("1 NOT IN (2, NULL)", "null"), ("NULL IN (1)", "null"), ("1 IN NULL", "null"), ("3 IN data.list", "true"),
            ("5 BETWEEN NULL AND 3", "false"), ("2 BETWEEN NULL AND 3", "null"), ("2 BETWEEN 1 AND 2", "true"),
        ])
    func logic(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test(
        "values are compared with their own kind, numbers by value",
        arguments: [
            ("1 = 1.0", "true"), ("1 = 'a'", "false"), ("1 != 'a'", "true"), ("1 < 'a'", "null"),
            ("9007199254740993 > 9007199254740992.0", "true"), ("18446744073709551615 > 9223372036854775807", "true"),
            ("-0.0 = 0", "true"), ("'a' < 'b'", "true"), ("'Z' < 'a'", "true"), ("'é' = 'e\u{301}'", "true"),
            ("false < true", "true"), ("[1, 2] < [1, 3]", "true"), ("[1] = [1.0]", "true"),
            (#"{"a": 1, "b": 2} = {"b": 2, "a": 1}"#, "true"), ("date('2024-01-01') < '2024-06-01'", "true"),
            ("date('2024-01-01') = '2024-01-01T00:00:00Z'", "true"), ("date('2024-01-01') = 'x'", "false"),
        ])
    func comparisons(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test(
        "arithmetic keeps integers, and gives null for other operands and for a division by zero",
        arguments: [
            ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("7 / 2", "3.5"), ("6 / 2", "3"), ("-7 % 3", "-1"),
            ("1 / 0", "null"),
            ("1.5 + 1", "2.5"), ("-(-3)", "3"), ("+'a'", "null"), ("1 + 'a'", "null"), ("1 % 0", "null"),
            ("9223372036854775807 + 1", "9223372036854775808"), ("5.5 % 2", "1.5"), ("2 - 3 - 4", "-5"),
        ])
    func arithmetic(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test("an integer beyond 64 bits is an error, not another number")
    func overflow() throws {
        for expression in [
            "18446744073709551615 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 9223372036854775807",
        ] {
            let error = #expect(throws: HornbeamError.self) { try value(expression) }
            #expect(error?.message.contains("beyond the integers of 64 bits") == true)
        }
    }

    @Test(
        "LIKE",
        arguments: [
            ("'abc' LIKE 'a%'", "true"), ("'abc' LIKE 'A%'", "false"), ("'abc' LIKE '_b_'", "true"),
            ("'' LIKE '%'", "true"),
            ("'abc' LIKE 'abc'", "true"), ("'abc' LIKE 'ab'", "false"), ("'aXbXc' LIKE '%X%c'", "true"),
            ("'a%c' LIKE 'a!%c' ESCAPE '!'", "true"), ("'abc' LIKE 'a!%c' ESCAPE '!'", "false"),
            ("'👩‍👩‍👧x' LIKE '_x'", "true"), ("1 LIKE 'a'", "null"), ("NULL LIKE 'a'", "null"),
            ("'ab' NOT LIKE 'a%'", "false"),
            ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' LIKE '%a%a%a%a%a%a%a%a%c'", "false"),
        ])
    func like(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test(
        "ANY, EVERY and ANY AND EVERY, also over empty arrays",
        arguments: [
            ("ANY x IN [] SATISFIES x = 1 END", "false"), ("EVERY x IN [] SATISFIES x = 1 END", "true"),
            ("ANY AND EVERY x IN [] SATISFIES x = 1 END", "false"), ("ANY x IN [1, 2] SATISFIES x = 2 END", "true"),
            ("EVERY x IN [1, 2] SATISFIES x = 2 END", "false"), ("EVERY x IN [1, 2] SATISFIES x < 3 END", "true"),
            ("ANY AND EVERY x IN [1, 2] SATISFIES x < 3 END", "true"), ("ANY x IN NULL SATISFIES TRUE END", "null"),
            ("ANY x IN data.list SATISFIES x IS NULL END", "true"), ("ANY x IN MISSING SATISFIES TRUE END", "missing"),
            ("ANY x IN [[1], [2]] SATISFIES ANY y IN x SATISFIES y = 2 END END", "true"),
            ("ARRAY x * 2 FOR x IN data.list WHEN x IS VALUED END", "[2,6]"), ("ARRAY x FOR x IN [1] END", "[1]"),
        ])
    func quantifiers(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test(
        "functions",
        arguments: [
            ("lower('ÄB') || upper('c')", #""äbC""#), ("length('e\u{301}a')", "2"), ("trim('  a ')", #""a""#),
            ("ltrim('xxa', 'x')", #""a""#), ("rtrim('a  ')", #""a""#), ("substr('hello', 1, 3)", #""ell""#),
            ("substr('hello', -2)", #""lo""#), ("substr('a', 5)", "null"), ("contains('hello', 'ell')", "true"),
            ("starts_with('ab', 'a') AND ends_with('ab', 'b')", "true"), ("position('hello', 'l')", "2"),
            ("replace('aXbX', 'X', '-')", #""a-b-""#), ("split('a,b', ',')", #"["a","b"]"#),
            ("regexp_contains('abc123', '[0-9]+')", "true"), ("regexp_like('abc', '[0-9]+')", "false"),
            ("regexp_replace('a1b22', '[0-9]+', '#')", ##""a#b#""##), ("regexp_position('ab1', '[0-9]')", "2"),
            ("abs(-3)", "3"), ("abs(-1.5)", "1.5"), ("sign(-2.5)", "-1"), ("ceil(1.2)", "2"), ("floor(-1.2)", "-2"),
            ("round(2.5)", "3"), ("round_even(2.5)", "2"), ("round(1.256, 2)", "1.26"), ("trunc(-1.9)", "-1"),
            ("sqrt(9)", "3.0"), ("sqrt(-1)", "null"), ("power(2, 10)", "1024.0"), ("idiv(7, 2)", "3"),
            ("idiv(7, 0)", "null"),
            ("array_length([1, 2])", "2"), ("array_count([1, null])", "1"), ("array_sum([1, 2, 'x'])", "3"),
            ("array_avg([1, 2])", "1.5"), ("array_min([3, 1])", "1"), ("array_max([3, 'a'])", #""a""#),
            ("array_contains([1, 2], 2.0)", "true"), ("array_distinct([1, 1.0, 2])", "[1,2]"),
            ("coalesce(NULL, MISSING, 5)", "5"), ("ifnull(NULL, 1)", "1"), ("ifmissing(MISSING, NULL)", "null"),
            ("nullif(1, 1)", "null"), ("missingif(1, 1)", "missing"), ("greatest(1, 3, 2)", "3"),
            ("least(2, 'a')", "2"),
            ("type(data)", #""object""#), ("type(data.list)", #""array""#), ("type(1)", #""number""#),
            ("isstring('a')", "true"),
            ("is_number('a')", "false"), ("tostring(1.5)", #""1.5""#), ("tonumber('12')", "12"),
            ("toboolean(0)", "false"),
            ("date_part('2024-02-29T10:30:00Z', 'month')", "2"), ("date_part('1999-12-31', 'year')", "1999"),
            ("date_part('2024-02-29', 'day_of_week')", "4"), ("millis_to_str(0)", #""1970-01-01T00:00:00Z""#),
            ("str_to_millis('1970-01-02')", "86400000"), ("CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", #""b""#),
            ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", #""b""#), ("CASE WHEN NULL THEN 1 END", "null"),
            ("object_names(data)", #"["a","list"]"#), ("lower(5)", "null"), ("lower(NULL)", "null"),
            ("lower(MISSING)", "missing"),
        ])
    func functions(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    @Test("parameters are values, with any content")
    func parameters() throws {
        for text in ["O'Hara", "", "a\0b", "👩‍👩‍👧", "? $x :y"] {
            #expect(try value("?", text) == Value.string(text).json)
            #expect(try value("? = 'x'", text) == "false")
        }
        #expect(try value("?2 - ?1", 1, 5) == "4")
        #expect(try value("2 IN ?", [1, 2]) == "true")
        #expect(try value("2 IN ?", [Int]()) == "false")
        let context = Context()
        let statement = try Statement("SELECT $a + :b AS v FROM AnyDocument")
        var filled = context
        try AnyDocument(id: 1, data: AnyJSON(a: 1, list: [])).save(to: &filled)
        #expect(try statement.resolve(in: filled, named: ["a": 1, "b": 2])[0]["v"] == .int(3))
    }

    @Test("expressions nested up to the limit are computed, and deeper ones are refused")
    func deep() throws {
        #expect(try value(Array(repeating: "1", count: 501).joined(separator: " + ")) == "501")
        #expect(try value(String(repeating: "abs(", count: 98) + "id" + String(repeating: ")", count: 98)) == "1")
        let row = Array(repeating: "id", count: 400).joined(separator: " + ")
        #expect(throws: HornbeamError.self) { try value("(\(row)) * 1" + String(repeating: " + 1", count: 200)) }
        #expect(throws: HornbeamError.self) { try value("1" + String(repeating: " IS NULL", count: 10_000)) }
        // Ninety nested conditions of many parts.
        var condition = "id = 1"
        for _ in 0..<90 {
            let parts = Array(repeating: "a", count: 300).joined(separator: " AND ")
            condition = "NOT (\(condition) OR (\(parts)))"
        }
        #expect(throws: HornbeamError.self) { try value(condition) }
        let many = (0..<5_000).map { "id = \($0)" }.joined(separator: " OR ")
        #expect(try value(many) == "true")
    }

    @Test("a parameter without a value, and a value without a parameter, are errors")
    func lacking() throws {
        #expect(throws: HornbeamError.self) { try value("?") }
        #expect(throws: HornbeamError.self) { try value("1", 5) }
        var context = Context()
        try AnyDocument(id: 1, data: AnyJSON(a: 1, list: [])).save(to: &context)
        let statement = try Statement("SELECT $a AS v FROM AnyDocument")
        #expect(throws: HornbeamError.self) { try statement.resolve(in: context) }
        #expect(throws: HornbeamError.self) { try statement.resolve(in: context, named: ["a": 1, "b": 2]) }
    }

    @Test(
        "an error shows the place",
        arguments: [
            ("lowr('a')", 9, "did you mean lower?"), ("1 + lower('a', 'b')", 13, "takes 1 argument, not 2"),
            ("nothing", 9, "has no “nothing”"), ("id.x", 9, "which has no “x”"), ("COUNT(COUNT(*))", 15, "aggregate"),
            ("MATCH(id, 'x')", 15, "no text"), ("RANK()", 9, "there is none"), ("META(x).id", 9, "no entity"),
        ])
    func places(expression: String, character: Int, problem: String) throws {
        let error = #expect(throws: HornbeamError.self) { try value(expression) }
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("line 1, character \(character):") == true, "\(error?.message ?? "")")
    }
}
