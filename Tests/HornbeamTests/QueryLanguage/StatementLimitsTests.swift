// SPDX-License-Identifier: Apache-2.0
// The limits of statements: memory, stack and time; and the position shown for an error of a run.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@EntityModel
private struct Scrap {
    let id: Int
    var name: String
    var number: UInt64
    var list: [String]
}

@Suite("Limits of statements")
struct StatementLimitsTests {
    private func rows(_ text: String, _ parameters: any ColumnValue...) throws -> [ResultRow] {
        var context = Context()
        for id in 1...2 {
            try Scrap(id: id, name: "a", number: .max, list: ["a", "b"]).save(to: &context)
        }
        return try Statement(text).resolve(in: context, parameters)
    }

    private func error(_ text: String, _ parameters: any ColumnValue...) -> HornbeamError? {
        var context = Context()
        #expect(throws: Never.self) {
            for id in 1...2 {
                try Scrap(id: id, name: "a", number: .max, list: ["a", "b"]).save(to: &context)
            }
        }
        return #expect(throws: HornbeamError.self, "\(text.prefix(100))") {
            try Statement(text).resolve(in: context, parameters)
        }
    }

    /// Returns `inner` within `count` levels of the text around `·`.
    private func nested(_ around: String, _ inner: String, _ count: Int) -> String {
        let parts = around.components(separatedBy: "·")
        return String(repeating: parts[0], count: count) + inner + String(repeating: parts[1], count: count)
    }

    private static let letters = String(repeating: "a", count: 1024)

    @Test(
        "a few letters doubled ninety times are refused, with the position, before they fill the memory",
        arguments: [
            ("REPLACE(·, 'a', '\(letters)')", "'a'"), ("REPLACE(·, 'a', '\(letters)')", "name"),
            ("CONCAT(REPLACE(·, 'a', '\(letters)'), 'a')", "name"),
            ("REGEXP_REPLACE(·, 'a', '\(letters)')", "name"), ("REPLACE(·, 'a', '\(letters)') || name", "name"),
            ("ARRAY ([x, x]) FOR x IN · END", "list"), (#"ARRAY {"a": x, "b": x} FOR x IN · END"#, "[1, 2]"),
        ])
    func doubling(around: String, inner: String) throws {
        let text = nested(around, inner, around.hasPrefix("CONCAT") ? 45 : 90)
        for statement in ["SELECT \(text) AS v FROM Scrap", "SELECT id FROM Scrap WHERE \(text) = 'x'"] {
            let error = error(statement)
            #expect(error?.code == .tooLarge, "\(error?.message ?? "")")
            #expect(error?.message.contains("more than 16777216 bytes, at line 1, character") == true)
        }
        // It is no error as long as no row evaluates it.
        #expect(try rows("SELECT id FROM Scrap WHERE id > 5 AND \(text) = 'x'").isEmpty)
    }

    /// Returns an expression of 4 MiB.
    private func large(_ name: String) -> String {
        let (first, second) = (String(repeating: "a", count: 4096), String(repeating: "a", count: 1024))
        return "REPLACE(REPLACE(\(name), 'a', '\(first)'), 'a', '\(second)')"
    }

    @Test("many large values are too large together, whether arguments, parts of a text, or columns")
    func together() {
        let eight = Array(repeating: large("name"), count: 8)
        let texts = [
            "COALESCE(\(eight.joined(separator: ", ")))", eight.joined(separator: " || "),
            "[\(eight.joined(separator: ", "))]",
        ]
        for text in texts {
            let error = error("SELECT \(text) AS v FROM Scrap")
            #expect(error?.code == .tooLarge)
        }
        let columns = eight.enumerated().map { "\($1) AS v\($0)" }.joined(separator: ", ")
        let ofColumns = error("SELECT \(columns) FROM Scrap")
        #expect(ofColumns?.code == .tooLarge)
        let commas = String(repeating: ",", count: 2_000_000)
        let ofParts = error("SELECT ARRAY_LENGTH(SPLIT(?, ',')) AS n FROM Scrap", commas)
        #expect(ofParts?.code == .tooLarge)
    }

    @Test("values computed for successive rows aren't added up")
    func rowByRow() throws {
        // Each value has 4 MiB; the join has four rows.
        let large = large("a.name")
        let text = "SELECT LENGTH(\(large)) AS n FROM Scrap a JOIN Scrap b ON TRUE UNNEST SPLIT(\(large), 'x') AS t"
        #expect(try rows(text).map(\.json) == Array(repeating: #"{"n":4194304}"#, count: 4))
        #expect(try rows("SELECT COUNT(\(large)) AS n FROM Scrap a JOIN Scrap b ON TRUE").map(\.json) == [#"{"n":4}"#])
    }

    @Test("conditions that don't name the element are computed before the loop")
    func constantQuantifiers() throws {
        for text in [
            "ANY x IN [1] SATISFIES TRUE END", "EVERY x IN [1, 2] SATISFIES 1 = 1 END",
            "ARRAY_LENGTH(ARRAY 1 FOR x IN [1, 2] END) = 2",
            "id = 1 OR 1 = (ANY x IN [1] SATISFIES 18446744073709551615 * 2 > 1 END)",
        ] {
            let found = try? rows("SELECT id FROM Scrap WHERE \(text)")
            #expect(found?.count == 2 || text.hasPrefix("id"), "\(text)")
        }
        #expect(
            try rows("SELECT COUNT(*) AS n, ANY x IN [1] SATISFIES TRUE END AS t FROM Scrap").map(\.json)
                == [#"{"n":2,"t":true}"#])
    }

    @Test("regular expressions are bounded before they are read, on a small stack too")
    func expressions() async {
        let classes = { (count: Int) in
            String(repeating: "[", count: count) + "a" + String(repeating: "]", count: count)
        }
        let refused = [
            classes(100_000 / 2), classes(21), "[" + Array(repeating: "a", count: 1_000).joined(separator: "&&") + "]",
            String(repeating: "[]", count: 500), String(repeating: "[\\Q]\\E", count: 500),
            String(repeating: "[\\c]", count: 500), String(repeating: "[^]", count: 500),
            String(repeating: "[ ]", count: 500), String(repeating: "(", count: 100_000),
            String(repeating: "a", count: 10_001), String(repeating: "(", count: 99),
            String(repeating: "[\\N{]}", count: 100), "(?xx)" + String(repeating: "[#]\n", count: 100),
        ]
        let read = [
            classes(20), "[a-z]+(?:[0-9][0-9]?){2}", String(repeating: "[a-z0-9]", count: 200), "[\\]\\[]+|\\[",
            String(repeating: "(?:", count: 50) + classes(20) + String(repeating: ")", count: 50),
            String(repeating: "(?:", count: 50) + "[a--b--c]" + String(repeating: ")", count: 50),
        ]
        let wrong = await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
            let thread = Thread {
                var wrong: [String] = []
                let cache = PatternCache()
                for pattern in refused where (try? cache.expression(pattern)) != nil { wrong.append(pattern) }
                for pattern in read where (try? cache.expression(pattern)) == nil { wrong.append(pattern) }
                continuation.resume(returning: wrong)
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(wrong.isEmpty)
        let error = error("SELECT id FROM Scrap WHERE REGEXP_LIKE(name, ?)", classes(50))
        #expect(error?.message.contains("at line 1, character 28:") == true, "\(error?.message ?? "")")
    }

    @Test(
        "the rows kept by a statement have a size limit",
        arguments: [
            ("SELECT name || TOSTRING(id) AS x FROM Scrap ORDER BY x", false),
            ("SELECT name || TOSTRING(id) AS x FROM Scrap ORDER BY x LIMIT 5", true),
            ("SELECT DISTINCT name || TOSTRING(id) AS x FROM Scrap", false),
            ("SELECT DISTINCT name AS x FROM Scrap ORDER BY id + 0", true),
            ("SELECT DISTINCT name || TOSTRING(id) AS x FROM Scrap ORDER BY x LIMIT 5", true),
            ("SELECT ARRAY_AGG(name || TOSTRING(id)) AS x FROM Scrap", false),
            ("SELECT MAX(name || TOSTRING(id)) AS x FROM Scrap", true),
            ("SELECT COUNT(DISTINCT name || TOSTRING(id)) AS x FROM Scrap", false),
            ("SELECT name || TOSTRING(id) AS x, COUNT(*) AS n FROM Scrap GROUP BY name || TOSTRING(id)", false),
            ("SELECT DISTINCT id AS x FROM Scrap LIMIT 3", true),
            ("SELECT STRING_AGG(number, '\(String(repeating: ",", count: 900_000))') AS x FROM Scrap", false),
        ])
    func kept(text: String, isEnough: Bool) throws {
        var context = Context()
        let letters = String(repeating: Self.letters, count: 4)
        for id in 1...400 { try Scrap(id: id, name: letters, number: 1, list: []).save(to: &context) }
        let core = try context.session.core
        let statement = try Statement(text)
        let plan = try SelectPlan(try #require(statement.tree.select), text, core, StatementInputs())
        var count = 0
        func run() throws {
            try SelectRun(plan, core, keptLimit: 1 << 20).run { _ in
                count += 1
                return true
            }
        }
        if isEnough {
            try run()
            #expect(count > 0)
        } else {
            let error = #expect(throws: HornbeamError.self) { try run() }
            #expect(error?.code == .tooLarge && count < 400)
        }
    }

    @Test("the steps for one row are limited, including those of LIKE")
    func steps() throws {
        struct Enough: Error {}
        let pattern = try LikePattern("%\(Self.letters)b", escape: nil)
        #expect(throws: Enough.self) { try pattern.matches(Self.letters + Self.letters) { _ in throw Enough() } }
        let frame = Frame(slots: 0)
        try frame.work(Frame.maxSteps)
        let error = #expect(throws: HornbeamError.self) { try frame.work(on: .array([.null])) }
        #expect(error?.code == .tooLarge)
        // Evaluated for each row.
        let words = Array(repeating: "a", count: 100)
        let condition = "ANY a IN ? SATISFIES a = name AND a IN list END"
        #expect(try rows("SELECT id FROM Scrap WHERE \(condition)", words).count == 2)
    }

    @Test("a statement of many columns is read in little time, and one of too many refused")
    func columns() throws {
        let most = SelectPlan.maxColumns
        let text = { (count: Int) in
            "SELECT " + (0..<count).map { "id AS a\($0)" }.joined(separator: ", ") + " FROM Scrap"
        }
        #expect(try rows(text(most))[0].names.count == most)
        // A million characters take a second; it used to take hours.
        let start = ContinuousClock.now
        #expect(try QueryLanguage.statement(text(70_000)).select?.projections.last?.text == "id")
        #expect(ContinuousClock.now - start < .seconds(20))
        let long = "SELECT " + (0..<150_000).map { _ in "id" }.joined(separator: ",") + " FROM Scrap"
        #expect(try QueryLanguage.statement(long).select?.projections.count == 150_000)
        for statement in [
            text(most + 1),
            "SELECT id FROM Scrap ORDER BY " + Array(repeating: "id", count: most + 1).joined(separator: ","),
            "SELECT 1 AS a FROM Scrap GROUP BY " + Array(repeating: "id", count: most + 1).joined(separator: ","),
            "SELECT [" + (0...most).map { "SUM(id + \($0))" }.joined(separator: ",") + "] AS a FROM Scrap",
        ] {
            #expect(error(statement)?.message.contains("more than \(most)") == true)
        }
        #expect(error("SELECT *, * FROM Scrap")?.message.contains("two columns of the result are called “id”") == true)
    }

    @Test(
        "an error of a run, and of counting rows, shows the position",
        arguments: [
            ("SELECT id FROM Scrap LIMIT -1 OFFSET 3", 28, "LIMIT takes"),
            ("SELECT id FROM Scrap LIMIT 'a'", 28, "LIMIT takes"),
            ("SELECT id FROM Scrap OFFSET -id LIMIT 2", 29, "OFFSET takes"),
            ("SELECT id FROM Scrap LIMIT 1 OFFSET [1]", 37, "OFFSET takes"),
            ("SELECT id FROM Scrap LIMIT NULL", 28, "LIMIT takes"),
            ("SELECT id FROM Scrap LIMIT 'a' || 'b'", 28, "LIMIT takes"),
            ("SELECT id FROM Scrap LIMIT (CASE WHEN TRUE THEN 'x' END)", 39, "LIMIT takes"),
            ("SELECT id, number * 2 AS n FROM Scrap", 19, "beyond the integers"),
            ("SELECT id FROM Scrap WHERE 1 + -number < 0", 32, "beyond the integers"),
            ("SELECT id FROM Scrap WHERE id = 1 AND number - -number > 1", 48, "beyond the integers"),
            ("SELECT name LIKE 'a!' ESCAPE '!' AS m FROM Scrap", 30, "ends with the sign"),
            ("SELECT name LIKE 'a' ESCAPE 'xy' AS m FROM Scrap", 29, "ESCAPE takes one"),
            ("SELECT id,\n  date_part('2024-01-01', 'yaer') AS y FROM Scrap", 3, "no part “yaer”"),
            ("SELECT id FROM Scrap WHERE regexp_like(name, '(')", 28, "can't be read"),
            ("SELECT 1 AS a, SUM(number) AS s FROM Scrap", 16, "the sum is"),
            ("SELECT id FROM Scrap ORDER BY number + number", 38, "beyond the integers"),
            ("SELECT GROUP_CONCAT(name, 1) AS t FROM Scrap", 27, "puts between"),
        ])
    func places(text: String, character: Int, problem: String) {
        let error = error(text)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
        let line = text.contains("\n") ? 2 : 1
        #expect(
            error?.message.contains("at line \(line), character \(character):") == true, "\(error?.message ?? "")")
    }

    @Test("equal expressions are one group wherever they stand")
    func sameMeaning() throws {
        let found = try rows("SELECT   id + 1 AS a, lower(name) AS n FROM Scrap GROUP BY id + 1, lower(name)")
        #expect(found.map(\.json) == [#"{"a":2,"n":"a"}"#, #"{"a":3,"n":"a"}"#])
        #expect(try rows("SELECT COUNT(name) AS a, COUNT(name) + 1 AS b FROM Scrap").map(\.json) == [#"{"a":2,"b":3}"#])
    }
}

@Suite("The order of numbers")
struct NumberOrderTests {
    private static func number(_ generator: inout SeededGenerator) -> Value {
        let bases: [Double] = [
            0, 0.1, 0.5, 1, 0x1p53, 0x1p63, 0x1p64, 0x1p100, 1e23, 1e30, 1e38, 1e120, 1e165, .leastNonzeroMagnitude,
            1e-128, .infinity,
            .nan, 1.7e308,
        ]
        let base = bases[generator.below(bases.count)]
        let sign: Double = generator.oneIn(3) ? -1 : 1
        switch generator.below(5) {
        case 0:
            return .int(
                Int64(clamping: Int128(base.isFinite && base < 0x1p100 ? base * sign : 0)) &+ Int64(generator.below(5))
                    &- 2)
        case 1:
            return .uint(
                UInt64(clamping: Int128(base.isFinite && base < 0x1p100 ? base : 0)) &- UInt64(generator.below(60)))
        case 2:
            var double = base * sign
            for _ in 0..<generator.below(3) { double = generator.oneIn(2) ? double.nextUp : double.nextDown }
            return .double(double)
        case 3:
            // The decimal of a double, or a little more.
            let written = Decimal(string: "\(base.isFinite ? base * sign : 3)") ?? 0
            return .decimal(
                generator.oneIn(2)
                    ? written : written + Decimal(sign: .plus, exponent: -generator.below(12), significand: 1))
        default:
            let texts = [
                "9223372036854775900", "9223372036854775808", "18446744073709551615.5", "0.1",
                "1267650600228229401496703205376", "0.10000000000000000000000000001", "-9223372036854775808", "NaN",
            ]
            return .decimal(Decimal(string: texts[generator.below(texts.count)]) ?? .nan)
        }
    }

    @Test("numbers of all types have one order, and equal ones one key", arguments: SeededGenerator.seeds(4))
    func total(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let items = (0..<40).map { _ in StatementValue.value(Self.number(&generator)) }
        func sign(_ number: Int) -> Int { number.signum() }
        for a in items {
            #expect(a.order(a) == 0)
            for b in items {
                let order = sign(a.order(b))
                #expect(order == -sign(b.order(a)), "\(a), \(b)")
                #expect((order == 0) == (StatementValue.key([a]) == StatementValue.key([b])), "\(a), \(b)")
                for c in items where order <= 0 && b.order(c) <= 0 {
                    let isStrict = order < 0 || b.order(c) < 0
                    #expect(isStrict ? a.order(c) < 0 : a.order(c) == 0, "\(a), \(b), \(c)")
                }
            }
        }
    }

    @Test("numbers are compared by value")
    func examples() {
        let uint = StatementValue.value(.uint(9_223_372_036_854_775_850))
        let power = StatementValue.double(0x1p63)
        let decimal = StatementValue.value(.decimal(Decimal(string: "9223372036854775830") ?? 0))
        #expect(power.order(decimal) < 0 && decimal.order(uint) < 0 && power.order(uint) < 0)
        #expect(StatementValue.double(0.1).equals(.value(.decimal(Decimal(string: "0.1") ?? 0))))
        #expect(StatementValue.double(0x1p63).equals(.value(.uint(1 << 63))))
        #expect(StatementValue.double(1e300).order(.value(.decimal(Decimal(string: "1e160") ?? 0))) > 0)
        #expect(
            StatementValue.double(Double.leastNonzeroMagnitude).order(.value(.decimal(Decimal(string: "1e-120") ?? 0)))
                < 0)
    }
}
