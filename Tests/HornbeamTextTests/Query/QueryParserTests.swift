// SPDX-License-Identifier: Apache-2.0
// The query language: the meaning of each form, the positions of errors, and that printed queries are read as the
// same tree.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("queries as text")
struct QueryParserTests {
    private let syntax = QuerySyntax(fields: ["title", "content"])

    @Test(
        "Each form has its tree",
        arguments: [
            ("", .words("")), ("  ()  ", .words("")), ("copy on write", .words("copy on write")),
            ("a OR b", .any([.words("a"), .words("b")])), ("a b OR c", .any([.words("a b"), .words("c")])),
            ("a AND b AND c", .all([.words("a"), .words("b"), .words("c")])),
            ("a b AND c", .any([.words("a"), .all([.words("b"), .words("c")])])),
            ("(a b) AND c", .all([.words("a b"), .words("c")])),
            ("a -b", .without(.words("a"), .words("b"))), ("a NOT b", .without(.words("a"), .words("b"))),
            ("a -b c -d", .without(.words("a c"), .words("b d"))), ("-a", .without(.everything, .words("a"))),
            ("a AND NOT b", .without(.all([.words("a")]), .words("b"))),
            ("a AND -b AND c", .without(.all([.words("a"), .words("c")]), .words("b"))),
            ("+wi-fi", .all([.words("wi-fi")])), ("+\"a b\"", .phrase("a b", slop: 0)), ("+a*", .prefix("a")),
            ("+(a b^2)", .all([.any([.words("a"), .boost(2, .words("b"))])])), ("+(+a)", .all([.words("a")])),
            ("+a +b", .all([.words("a"), .words("b")])),
            ("+a AND b c", .all([.all([.words("a"), .words("b")]), .any([.everything, .words("c")])])),
            ("a AND +b c", .all([.all([.words("a"), .words("b")]), .any([.everything, .words("c")])])),
            ("-title:a b", .without(.words("b"), .field([0], .words("a")))),
            (#"title:\-a"#, .field([0], .words("-a"))), ("title:a-b", .field([0], .words("a-b"))),
            ("a +b c", .all([.words("b"), .any([.everything, .words("a c")])])),
            ("\"the who\"", .phrase("the who", slop: 0)), ("\"a b\"~3", .phrase("a b", slop: 3)),
            (#""say \"hi\" \\""#, .phrase(#"say "hi" \"#, slop: 0)),
            ("a NEAR b", .near([.words("a"), .words("b")], within: 10)),
            ("a NEAR/2 \"b c\" NEAR/2 d*", .near([.words("a"), .phrase("b c", slop: 0), .prefix("d")], within: 2)),
            ("x a NEAR/2 b", .any([.words("x"), .near([.words("a"), .words("b")], within: 2)])),
            ("pre*", .prefix("pre")), ("\"copy on wr\"*", .prefix("copy on wr")),
            ("w?ld*", .wildcard("w?ld*")), ("*ing", .wildcard("*ing")), ("pre**", .wildcard("pre*")),
            (#"*"a (b?""#, .wildcard("a (b?")), ("*", .everything),
            ("word~", .fuzzy("word", distance: nil, prefixLength: 1)),
            ("word~2", .fuzzy("word", distance: 2, prefixLength: 1)),
            ("word~1/0", .fuzzy("word", distance: 1, prefixLength: 0)),
            ("title:a", .field([0], .words("a"))), ("a title: b", .any([.words("a"), .field([0], .words("b"))])),
            ("title,content:(a b)", .field([0, 1], .words("a b"))),
            ("content:\"a b\"^2.5", .boost(2.5, .field([1], .phrase("a b", slop: 0)))),
            ("a^2 b", .any([.boost(2, .words("a")), .words("b")])), ("(a b)^1e-3", .boost(0.001, .words("a b"))),
            (#"\AND \(x\) \-y"#, .words("AND (x) -y")), ("don't C++ a-b AND/OR", .words("don't C++ a-b AND/OR")),
            ("- + a - b", .words("- + a - b")), ("and or not near", .words("and or not near")),
            ("東京 NOT 大阪", .without(.words("東京"), .words("大阪"))),
        ] as [(String, TextQuery)])
    func forms(_ text: String, _ tree: TextQuery) throws {
        #expect(try syntax.parse(text) == tree)
        #expect(syntax.parse(lenient: text) == tree)
        #expect(try syntax.parse(tree.text(fields: syntax.fields)) == tree, "\(tree.text(fields: syntax.fields))")
    }

    @Test(
        "Errors name the mistake, its position, and the remedy",
        arguments: [
            ("a )", 2, "this ) closes nothing"), ("x (a b", 2, "this ( has no end"), ("a \"b", 2, "no end"),
            ("AND b", 0, "AND needs something"), ("a AND", 2, "AND needs something"), ("a OR", 2, "OR needs"),
            ("OR a", 0, "OR needs"), ("a OR OR b", 5, "OR needs"), ("a NEAR/3", 2, "NEAR needs"),
            ("a NEAR/x b", 2, "NEAR/ needs a number"), ("a NEAR/2 b NEAR/3 c", 11, "distances of NEAR differ"),
            ("(a AND b) NEAR c", 0, "NEAR can't be combined"), ("a NOT", 2, "nothing follows NOT"),
            ("a^", 1, "^ needs a number"), ("^2", 0, "^ needs a word"), ("~", 0, "~ needs a word"),
            ("a* b*~", 5, "can't follow a pattern"), ("word~3", 4, "more than 2 edits"),
            ("\"a b\"~", 5, "needs a number"), ("w~1/", 3, "/ needs a number"), ("ab^1e308", 2, "more than 1e9"),
            ("((ab)^1e5)^1e5", 0, "multiply to more than 1e9"), ("names:a", 0, "no field “names”"),
            ("title:-foo", 6, "- is after the name of a field"), ("b title,content: +foo", 17, "+ is after the name"),
            (#"a \*b?"#, 3, "can't search for the characters"),
            ("title:", 0, "nothing follows the field"), (":a", 0, ": needs the name"), ("a\\", 1, "backslash"),
            (String(repeating: "(", count: 99), 50, "more than 50 levels"),
            (String(repeating: "title:", count: 99), 300, "more than 50 levels"),
        ])
    func errors(_ text: String, _ offset: Int, _ problem: String) throws {
        let error = try #require(throws: QuerySyntaxError.self) { try syntax.parse(text) }
        #expect(error.offset == offset && error.problem.contains(problem), "\(error)")
        #expect(!error.advice.isEmpty)
        let lines = "\(error)".split(separator: "\n")
        #expect(lines.count == 3 && lines[2].count == offset + 3 && lines[2].hasSuffix("^"))
        _ = syntax.parse(lenient: text)
    }

    @Test("An error about a sign after the name of a field says where the sign belongs")
    func signBehindField() throws {
        let error = try #require(throws: QuerySyntaxError.self) { try syntax.parse("title:-foo") }
        #expect(error.advice == #"write it before the name, -title:, or \- for the character"#)
    }

    @Test("An unknown field is named together with the known ones")
    func unknownField() throws {
        let error = try #require(throws: QuerySyntaxError.self) { try syntax.parse("see http://x.org") }
        #expect("\(error)".contains("“http”") && "\(error)".contains("title, content"))
        #expect(error.offset == 4)
    }

    @Test(
        "A lenient reading treats unreadable parts as words, and keeps the rest",
        arguments: [
            ("see http://x.org", .words("see http //x.org")), ("\"copy on wr", .phrase("copy on wr", slop: 0)),
            ("AND then", .words("AND then")), ("a AND", .words("a AND")), ("what is this?", .words("what is this")),
            ("(a OR b", .any([.words("a"), .words("b")])), ("a ) -b", .without(.words("a"), .words("b"))),
            ("b title:-foo", .without(.words("b"), .field([0], .words("foo")))),
            ("title:-foo^2", .without(.everything, .boost(2, .field([0], .words("foo"))))),
            ("b title:+foo", .all([.field([0], .words("foo")), .any([.everything, .words("b")])])),
            ("+title:-(a b)", .without(.everything, .field([0], .words("a b")))),
            ("title:- a", .any([.field([0], .words("-")), .words("a")])),
            ("content:title:-a", .without(.everything, .field([1], .field([0], .words("a"))))),
            ("\"new york\" :-)", .any([.phrase("new york", slop: 0), .words("-")])),
            ("\"my report\" (+) x^2", .any([.phrase("my report", slop: 0), .words("+"), .boost(2, .words("x"))])),
            (#"a \*b?c"#, .words("a *b?c")), ("^ ~ : a^", .words("a")),
            ("swift (5.9) OR", .any([.words("swift"), .words("5.9"), .words("OR")])),
            (String(repeating: "x ^ ", count: 40), .words(Array(repeating: "x", count: 40).joined(separator: " "))),
        ] as [(String, TextQuery)])
    func lenient(_ text: String, _ tree: TextQuery) {
        #expect(syntax.parse(lenient: text) == tree)
    }

    @Test("During typing, the last word is a prefix")
    func typing() throws {
        let typing = QuerySyntax(fields: ["title"], isTyping: true)
        #expect(typing.parse(lenient: "full te") == .any([.words("full"), .prefix("te")]))
        #expect(typing.parse(lenient: "full text ") == .words("full text"))
        #expect(typing.parse(lenient: "title:da") == .field([0], .prefix("da")))
        #expect(typing.parse(lenient: "\"full te") == .prefix("full te"))
        #expect(typing.parse(lenient: "\"full text\"") == .phrase("full text", slop: 0))
        let all = QuerySyntax(matchesAll: true, isTyping: true)
        #expect(all.parse(lenient: "full te") == .all([.words("full"), .prefix("te")]))
        #expect(all.parse(lenient: "wi-fi ") == .all([.words("wi-fi")]))
        #expect(try all.parse("a b -c ") == .without(.all([.words("a"), .words("b")]), .words("c")))
    }

    @Test("Random trees in normal form are printed and read back unchanged", arguments: SeededGenerator.seeds(4))
    func roundTrips(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_500 {
            let tree = tree(&random, depth: 0).normalized
            let text = tree.text(fields: syntax.fields)
            #expect(try syntax.parse(text) == tree, "\(text)")
            #expect(tree.normalized == tree && tree.problem(fieldCount: 2) == nil)
        }
    }

    private func tree(_ random: inout SeededGenerator, depth: Int) -> TextQuery {
        var parts: [TextQuery] { (0..<random.below(4)).map { _ in tree(&random, depth: depth + 1) } }
        switch random.below(depth < 4 ? 12 : 6) {
        case 0: return .words(text(&random))
        case 1: return .phrase(text(&random), slop: number(&random))
        case 2: return .prefix(text(&random))
        case 3: return .wildcard(text(&random))
        case 4:
            let distance = random.oneIn(2) ? nil : random.below(5) - 1
            return .fuzzy(text(&random), distance: distance, prefixLength: number(&random))
        case 5: return .everything
        case 6: return .any(parts)
        case 7: return .all(parts)
        case 8: return .without(tree(&random, depth: depth + 1), tree(&random, depth: depth + 1))
        case 9: return .near((0..<random.below(4)).map { _ in .words(text(&random)) }, within: number(&random))
        case 10: return .field((0..<random.below(3)).map { _ in random.below(2) }, tree(&random, depth: depth + 1))
        default: return .boost(Double.random(in: 0...9, using: &random), tree(&random, depth: depth + 1))
        }
    }

    private func number(_ random: inout SeededGenerator) -> Int {
        [random.below(9) - 1, 999_999, 1_000_000, .max, .min][random.oneIn(2) ? 0 : random.below(5)]
    }

    @Test("Numbers that are too large are read as the largest one")
    func largeNumbers() throws {
        let number = String(repeating: "9", count: 40)
        #expect(try syntax.parse("\"a b\"~\(number)") == .phrase("a b", slop: .max))
        #expect(try syntax.parse("a NEAR/\(number) b") == .near([.words("a"), .words("b")], within: .max))
        #expect(try syntax.parse("a~1/\(number)") == .fuzzy("a", distance: 1, prefixLength: .max))
        #expect(throws: QuerySyntaxError.self) { try syntax.parse("a~\(number)") }
    }

    @Test("Trees within the reader's depth are printed, deeper ones are not")
    func depth() throws {
        for innermost in [TextQuery.words("a b"), .phrase("a", slop: 2), .any([.words("a"), .words("b c")])] {
            let join: [(TextQuery) -> TextQuery] = [
                { .boost(2, $0) }, { .field([0, 1], $0) }, { .without($0, .words("x y")) },
                { .all([.words("x"), $0]) },
            ]
            for join in join {
                var tree = innermost
                while case let next = join(tree), next.largestBoost <= TextQuery.maximumBoost, next.isWithin(50) {
                    tree = next
                }
                let text = try #require(tree.writtenOut(fields: syntax.fields))
                #expect(try syntax.parse(text) == tree)
                #expect(TextQuery.field([0], tree).isWithin(50) || join(tree).writtenOut(fields: []) == nil)
            }
        }
    }

    @Test("Queries in queries are resolved and written out once each, however deep", .timeLimit(.minutes(1)))
    func nested() throws {
        func nested(_ head: String, _ levels: Int) throws -> TextQuery {
            try syntax.parse(String(repeating: head, count: levels) + "x" + String(repeating: ")", count: levels))
        }
        for levels in [2, 24] {
            let resolved = try nested("+& (", levels).resolved(.words)
            #expect(resolved.normalized == .words("x"), "\(resolved)")
            let left = try nested("+the +(", levels).leavingOut(StopWordList(["the"]))
            #expect(left.normalized == .all([.words("x")]), "\(left)")
        }
        var deep = TextQuery.words("x")
        for _ in 0..<90 { deep = .all([deep]) }
        #expect(deep.writtenOut(fields: []) == "+x")
    }

    @Test("Names of fields may have any characters")
    func names() throws {
        let odd = QuerySyntax(fields: ["a,b", "a", "b", #"\,"#, "-x y:", "AND", ",\u{301}", "e\u{301}"])
        for fields in [[0], [1, 2], [3, 0], [6], [4, 5, 7]] {
            let tree = TextQuery.field(fields, .words("w"))
            let text = tree.text(fields: odd.fields)
            #expect(try odd.parse(text) == tree, "\(text)")
        }
    }

    private func text(_ random: inout SeededGenerator) -> String {
        let pieces = [
            "a", "word", "AND", "NEAR", "NEAR/3", "OR", "NOT", " ", "  ", "\n", "(", ")", "\"", "\\", ":", "^", "~",
            "*",
            "?", "+", "-", "/", ",", "é", "東京", "e\u{301}", "👩‍👩‍👧", "2", ".", "'",
        ]
        return (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined()
    }

    @Test("Unsuitable trees are refused with the reason")
    func problems() {
        var deep = TextQuery.words("a")
        for _ in 0..<300 { deep = .boost(1, deep) }
        let wrong: [TextQuery] = [
            deep, .boost(-1, .words("a")), .boost(.nan, .words("a")), .boost(.infinity, .words("a")),
            .phrase("a", slop: -1), .near([.everything], within: 1), .near([], within: -1), .field([2], .words("a")),
            .field([], .words("a")), .any([.all([.fuzzy("a", distance: 3, prefixLength: 0)])]),
            .without(.everything, .fuzzy("a", distance: nil, prefixLength: -1)), .boost(1.1e9, .words("a")),
            .any([.words("a"), .boost(1e5, .all([.boost(1e5, .words("a")), .words("b")]))]),
        ]
        for tree in wrong { #expect(tree.problem(fieldCount: 2) != nil) }
        #expect(TextQuery.near([.any([.words("a"), .prefix("b")])], within: 0).problem(fieldCount: 1) == nil)
    }
}
