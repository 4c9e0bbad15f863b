// SPDX-License-Identifier: Apache-2.0
// The expressions of a statement, from the operators that bind least to the operands:
//
//     expression = and {OR and}             and = not {AND not}           not = NOT not | comparison
//     comparison = concat [(= | == | != | <> | < | <= | > | >=) concat
//                          | [NOT] LIKE concat [ESCAPE concat] | [NOT] BETWEEN concat AND concat
//                          | [NOT] IN (list | [ list ] | concat)] {IS [NOT] (NULL | MISSING | VALUED)}
//     concat     = sum {|| sum}     sum = product {(+ | -) product}     product = sign {(* | / | %) sign}
//     sign       = (- | +) sign | operand [COLLATE collation]
//     collation  = BINARY | NOCASE | FOLDED | UNICODE | ( one of these {NOCASE | NODIAC} ['locale'] )
//     operand    = literal | parameter | path | function([DISTINCT] list) | function(*) | ( expression ) | [ list ]
//                | { "name" : expression, … } | CASE … END | ANY … END | EVERY … END | ARRAY … END
//                | MATCH(path {, path}, expression) | RANK([name]) | META([name]).(id | updatedAt | createdAt |
//                version)
//     path       = name {. name | [ number ]}

import FoundationEssentials

extension StatementParser {
    /// Operators in a row, with all that stand in brackets among them, at most: they nest in what is computed.
    private static let maxRow = 500

    mutating func expression() throws(HornbeamError) -> Expression {
        try deeper { (parser) throws(HornbeamError) in
            var parts = [try parser.conjunction()]
            let place = parser.place
            while parser.take("OR") { parts.append(try parser.conjunction()) }
            return Self.balanced(.or, parts[...], place)
        }
    }

    private mutating func deeper(
        _ body: (inout StatementParser) throws(HornbeamError) -> Expression
    ) throws(HornbeamError) -> Expression {
        guard depth < Self.maxDepth else { throw failure("more than \(Self.maxDepth) levels of nesting") }
        depth += 1
        let expression = try body(&self)
        depth -= 1
        return expression
    }

    /// A tree of an operator that may be computed in any grouping: its height is the logarithm of the number of parts,
    /// so that a condition of thousands of parts takes no more stack than a short one.
    /// - Parameter place: of the first operator.
    private static func balanced(
        _ sign: BinaryOperator, _ parts: ArraySlice<Expression>, _ place: TextPlace
    ) -> Expression {
        guard parts.count > 1 else { return parts[parts.startIndex] }
        let middle = parts.startIndex + parts.count / 2
        return .binary(sign, balanced(sign, parts[..<middle], place), balanced(sign, parts[middle...], place), place)
    }

    private mutating func conjunction() throws(HornbeamError) -> Expression {
        var parts = [try negation()]
        let place = place
        while take("AND") { parts.append(try negation()) }
        return Self.balanced(.and, parts[...], place)
    }

    private mutating func negation() throws(HornbeamError) -> Expression {
        let start = place
        guard take("NOT") else { return try comparison() }
        return try deeper { (parser) throws(HornbeamError) in .unary(.not, try parser.negation(), start) }
    }

    // MARK: Comparisons

    private mutating func comparison() throws(HornbeamError) -> Expression {
        let start = rowed
        var left = try concatenation()
        if let sign = comparisonSign() {
            let place = place
            next()
            left = .binary(sign, left, try concatenation(), place)
            if comparisonSign() != nil {
                throw failure("comparisons don't stand in a row: combine two with AND, or use parentheses")
            }
        } else if let test = try wordComparison(of: left) {
            left = test
        }
        while take("IS") {
            try lengthen(since: start)
            let place = place
            let isNegated = take("NOT")
            let test: StateTest
            if take("NULL") {
                test = .null
            } else if take("MISSING") {
                test = .missing
            } else {
                try expect("VALUED", "or NULL or MISSING behind IS")
                test = .valued
            }
            left = isNegated ? .unary(.not, .test(left, test), place) : .test(left, test)
        }
        return left
    }

    private func comparisonSign() -> BinaryOperator? {
        guard case .sign(let sign) = peek else { return nil }
        switch sign {
        case "=", "==": return .equal
        case "!=", "<>": return .notEqual
        case "<": return .less
        case "<=": return .lessOrEqual
        case ">": return .greater
        case ">=": return .greaterOrEqual
        default: return nil
        }
    }

    /// `[NOT] LIKE`, `BETWEEN`, `IN`.
    private mutating func wordComparison(of left: Expression) throws(HornbeamError) -> Expression? {
        let words = ["LIKE", "BETWEEN", "IN"]
        let place = place
        let isNegated = isAt("NOT") && words.contains { Self.isKeyword(token(after: 1), $0) }
        if isNegated { next() }
        var test: Expression
        if take("LIKE") {
            let pattern = try concatenation()
            test = .like(left, pattern, escape: take("ESCAPE") ? try concatenation() : nil)
        } else if take("BETWEEN") {
            let low = try concatenation()
            try expect("AND", "between the bounds of BETWEEN")
            test = .between(left, low: low, high: try concatenation())
        } else if take("IN") {
            test = try membership(of: left)
        } else {
            return nil
        }
        if isNegated { test = .unary(.not, test, place) }
        return test
    }

    private mutating func membership(of left: Expression) throws(HornbeamError) -> Expression {
        if take(sign: "(") { return .within(left, try list(until: ")")) }
        if take(sign: "[") { return .within(left, try list(until: "]")) }
        return .withinArray(left, try concatenation())
    }

    /// Expressions with commas between, up to a bracket.
    private mutating func list(until bracket: String) throws(HornbeamError) -> [Expression] {
        var list: [Expression] = []
        if take(sign: bracket) { return list }
        repeat { list.append(try expression()) } while take(sign: ",")
        try expect(sign: bracket, "or a comma")
        return list
    }

    // MARK: Arithmetic

    private mutating func concatenation() throws(HornbeamError) -> Expression {
        var parts = [try sum()]
        let place = place
        while take(sign: "||") { parts.append(try sum()) }
        return Self.balanced(.concatenate, parts[...], place)
    }

    private mutating func sum() throws(HornbeamError) -> Expression {
        let start = rowed
        var left = try product()
        while let (sign, place) = arithmeticSign(["+", "-"]) {
            try lengthen(since: start)
            left = .binary(sign, left, try product(), place)
        }
        return left
    }

    private mutating func product() throws(HornbeamError) -> Expression {
        let start = rowed
        var left = try signed()
        while let (sign, place) = arithmeticSign(["*", "/", "%"]) {
            try lengthen(since: start)
            left = .binary(sign, left, try signed(), place)
        }
        return left
    }

    /// - Parameter start: how many there were where the expression began that this one is part of.
    private mutating func lengthen(since start: Int) throws(HornbeamError) {
        rowed += 1
        guard rowed - start <= Self.maxRow else {
            throw failure("more than \(Self.maxRow) operators in a row: group them by parentheses")
        }
    }

    private mutating func arithmeticSign(_ signs: [String]) -> (sign: BinaryOperator, place: TextPlace)? {
        guard case .sign(let sign) = peek, signs.contains(sign), let found = BinaryOperator(rawValue: sign) else {
            return nil
        }
        let place = place
        next()
        return (found, place)
    }

    private mutating func signed() throws(HornbeamError) -> Expression {
        let start = place
        if take(sign: "-") {
            // The least integer has no positive counterpart.
            if case .number(let digits) = peek {
                let digitsPlace = place
                next()
                return try .literal(number("-" + digits, digitsPlace), start)
            }
            return try deeper { (parser) throws(HornbeamError) in .unary(.minus, try parser.signed(), start) }
        }
        if take(sign: "+") {
            return try deeper { (parser) throws(HornbeamError) in .unary(.plus, try parser.signed(), start) }
        }
        return try collated(try operand(start))
    }

    private func number(_ digits: String, _ place: TextPlace) throws(HornbeamError) -> Value {
        if !digits.contains(where: { ".eE".contains($0) }) {
            if let int = Int64(digits) { return .int(int) }
            if let uint = UInt64(digits) { return .uint(uint) }
        }
        guard let double = Double(digits), double.isFinite else { throw failure("not a number", at: place) }
        return .double(double)
    }

    // MARK: Operands

    private mutating func operand(_ start: TextPlace) throws(HornbeamError) -> Expression {
        switch peek {
        case .string(let text):
            next()
            return .literal(.string(text), start)
        case .number(let digits):
            next()
            return .literal(try number(digits, start), start)
        case .parameter(let name):
            next()
            return .parameter(Parameter(name: name ?? .position(nextParameter()), place: start))
        case .sign("("):
            next()
            let inner = try expression()
            try expect(sign: ")", "to end what “(” began")
            return inner
        case .sign("["):
            next()
            return .array(try list(until: "]"), start)
        case .sign("{"):
            next()
            return try object(start)
        case .quotedName: return .path(try path("a name"))
        case .name(let word): return try named(word, start)
        case .sign, .end: throw failure("expected a value, a name or a function")
        }
    }

    /// What a word that isn't in quotes begins.
    private mutating func named(_ word: String, _ start: TextPlace) throws(HornbeamError) -> Expression {
        switch word.uppercased() {
        case "NULL":
            next()
            return .literal(.null, start)
        case "MISSING":
            next()
            return .missing(start)
        case "TRUE", "FALSE":
            next()
            return .literal(.bool(word.uppercased() == "TRUE"), start)
        case "CASE":
            next()
            return try choice()
        case "ANY", "SOME", "EVERY":
            next()
            return try quantified(word.uppercased() == "EVERY" ? .every : .any)
        case "ARRAY" where beginsOperand(token(after: 1)):
            next()
            return try comprehension(start)
        default:
            if token(after: 1) == .sign("(") {
                next()
                next()
                return try call(word, start)
            }
            return .path(try path("a value, a name or a function"))
        }
    }

    private func beginsOperand(_ token: StatementToken) -> Bool {
        switch token {
        case .string, .number, .parameter, .quotedName, .sign("("), .sign("{"): true
        case .name(let word):
            !["AND", "AS", "ASC", "BETWEEN", "DESC", "FROM", "GROUP", "HAVING", "IN", "IS", "LIKE", "LIMIT", "OFFSET"]
                .contains(word.uppercased())
                && !["OR", "ORDER", "SATISFIES", "THEN", "WHEN"].contains(word.uppercased())
                && !["ELSE", "END", "NOT", "UNNEST", "JOIN", "WHERE"].contains(word.uppercased())
        case .sign, .end: false
        }
    }

    mutating func path(_ what: String) throws(HornbeamError) -> Path {
        let start = place
        var steps: [Path.Step] = [.name(try expectName(what))]
        while true {
            if isAt(sign: "."), token(after: 1) != .sign("*") {
                next()
                steps.append(.name(try memberName()))
            } else if take(sign: "[") {
                let isNegative = take(sign: "-")
                guard case .number(let digits) = peek, let index = Int(digits) else {
                    throw failure("expected the position of an element, a whole number")
                }
                next()
                try expect(sign: "]", "behind the position")
                steps.append(.index(isNegative ? -index : index))
            } else {
                return Path(steps: steps, place: start)
            }
            guard steps.count <= Self.maxDepth else {
                throw failure("a path of more than \(Self.maxDepth) steps")
            }
        }
    }

    /// Behind a point no word is a keyword.
    private mutating func memberName() throws(HornbeamError) -> String {
        switch peek {
        case .name(let name), .quotedName(let name):
            next()
            return name
        default: throw failure("expected a name behind “.”")
        }
    }

    private mutating func object(_ start: TextPlace) throws(HornbeamError) -> Expression {
        var fields: [ObjectField] = []
        if take(sign: "}") { return .object(fields, start) }
        repeat {
            guard case .string(let name) = peek else { throw failure("expected the name of a field, in quotes") }
            next()
            try expect(sign: ":", "behind the name of a field")
            fields.append(ObjectField(name: name, value: try expression()))
        } while take(sign: ",")
        try expect(sign: "}", "or a comma")
        return .object(fields, start)
    }

    private mutating func choice() throws(HornbeamError) -> Expression {
        let subject = isAt("WHEN") ? nil : try expression()
        var cases: [Choice] = []
        while take("WHEN") {
            let condition = try expression()
            try expect("THEN", "behind the condition of WHEN")
            cases.append(Choice(condition: condition, value: try expression()))
        }
        guard !cases.isEmpty else { throw failure("expected WHEN") }
        let otherwise = take("ELSE") ? try expression() : nil
        try expect("END", "to end CASE")
        return .choice(subject: subject, cases: cases, otherwise: otherwise)
    }

    private mutating func quantified(_ first: Quantifier) throws(HornbeamError) -> Expression {
        var quantifier = first
        if first == .any, isAt("AND"), Self.isKeyword(token(after: 1), "EVERY") {
            next()
            next()
            quantifier = .anyAndEvery
        }
        let variable = try expectName("a name for the elements")
        try expect("IN", "and an array")
        let array = try expression()
        try expect("SATISFIES", "and a condition")
        let condition = try expression()
        try expect("END", "to end \(quantifier.rawValue)")
        return .quantified(quantifier, variable: variable, array: array, condition: condition)
    }

    private mutating func comprehension(_ start: TextPlace) throws(HornbeamError) -> Expression {
        let value = try expression()
        try expect("FOR", "and a name for the elements")
        let variable = try expectName("a name for the elements")
        try expect("IN", "and an array")
        let array = try expression()
        let condition = take("WHEN") ? try expression() : nil
        try expect("END", "to end ARRAY")
        return .comprehension(value: value, variable: variable, array: array, condition: condition, start)
    }

    // MARK: Functions

    /// Behind the opening bracket.
    private mutating func call(_ word: String, _ start: TextPlace) throws(HornbeamError) -> Expression {
        switch word.lowercased() {
        case "match": return try matching(start)
        case "rank":
            if name() != nil { _ = try path("the name of an index") }
            try expect(sign: ")", "behind RANK(")
            return .rank(start)
        case "meta":
            let alias = name()
            if alias != nil { next() }
            try expect(sign: ")", "behind META(")
            try expect(sign: ".", "and id or updatedAt: META().id")
            guard let field = MetaField(rawValue: try memberName()) else {
                throw failure("META() has an id, updatedAt, createdAt and version, and nothing else", at: start)
            }
            return .meta(field, alias: alias, start)
        default: break
        }
        var call = FunctionCall(name: word.lowercased(), arguments: [], place: start)
        let star = place
        if take(sign: "*") {
            call.arguments = [.star(alias: nil, star)]
            try expect(sign: ")", "behind “*”")
        } else {
            call.isDistinct = take("DISTINCT")
            if call.isDistinct, isAt(sign: ")") { throw failure("expected what is to be distinct") }
            call.arguments = try list(until: ")")
        }
        return .call(call)
    }

    private mutating func matching(_ start: TextPlace) throws(HornbeamError) -> Expression {
        let places = place
        var arguments = try list(until: ")")
        guard let query = arguments.popLast(), !arguments.isEmpty else {
            throw failure("MATCH needs columns, or an index, and the text to look for", at: places)
        }
        var targets: [Path] = []
        for argument in arguments {
            guard case .path(let path) = argument else {
                throw failure("all but the last argument of MATCH are names", at: places)
            }
            targets.append(path)
        }
        return .match(TextMatching(targets: targets, query: query, place: start))
    }
}
