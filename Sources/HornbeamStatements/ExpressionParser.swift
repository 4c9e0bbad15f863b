// SPDX-License-Identifier: Apache-2.0
// The expressions of a statement, from the operators that bind least to the operands:
//
//     expression = and {OR and}             and = not {AND not}           not = NOT not | comparison
//     comparison = concat [(= | == | != | <> | < | <= | > | >=) concat
//                          | [NOT] LIKE concat [ESCAPE concat] | [NOT] BETWEEN concat AND concat
//                          | [NOT] IN (list | [ list ] | (query) | concat)] {IS [NOT] (NULL | MISSING | VALUED)}
//     concat     = sum {|| sum}     sum = product {(+ | -) product}     product = sign {(* | / | %) sign}
//     sign       = (- | +) sign | operand [COLLATE collation]
//     collation  = BINARY | NOCASE | FOLDED | UNICODE | ( one of these {NOCASE | NODIAC} ['locale'] )
//     operand    = literal | parameter | path | function([DISTINCT] list) | function(*) | ( expression ) | [ list ]
//                | { "name" : expression, … } | CASE … END | ANY … END | EVERY … END | ARRAY … END
//                | EXISTS (query) | MATCH(path {, path}, expression) | RANK([name])
//                | META([name]).(id | updatedAt | createdAt | version)
//     path       = name {. name | [ number ]}

import FoundationEssentials

extension StatementParser {
    /// Maximum number of operators in a chain, including those in brackets: they nest when they are computed.
    private static let maxRow = 500

    mutating func expression() throws(HornbeamError) -> Expression {
        try descend()
        let expression = try disjunction()
        depth -= 1
        noteHeight()
        return expression
    }

    mutating func descend() throws(HornbeamError) {
        guard depth < Self.maxDepth else { throw failure("more than \(Self.maxDepth) levels of nesting") }
        try StackRoom.require()
        depth += 1
    }

    // MARK: Logic

    private mutating func disjunction() throws(HornbeamError) -> Expression {
        let first = try conjunction()
        guard isAt("OR") else { return first }
        return try row(.or, first, { $0.take("OR") }) { (parser) throws(HornbeamError) in try parser.conjunction() }
    }

    private mutating func conjunction() throws(HornbeamError) -> Expression {
        let first = try negation()
        guard isAt("AND") else { return first }
        return try row(.and, first, { $0.take("AND") }) { (parser) throws(HornbeamError) in try parser.negation() }
    }

    /// Reads the operands of an operator that may be computed in any grouping. They become a balanced tree, so that a
    /// condition of thousands of parts takes hardly more stack than a short one.
    private mutating func row(
        _ sign: BinaryOperator, _ first: Expression, _ goesOn: (inout StatementParser) -> Bool,
        _ operand: (inout StatementParser) throws(HornbeamError) -> Expression
    ) throws(HornbeamError) -> Expression {
        let place = place
        var parts = [first]
        var highest = height
        while goesOn(&self) {
            parts.append(try operand(&self))
            highest = max(highest, height)
        }
        try grow(to: highest + Int.bitWidth - (parts.count - 1).leadingZeroBitCount)
        return Self.balanced(sign, parts[...], place)
    }

    /// - Parameter place: the position of the first operator.
    private static func balanced(
        _ sign: BinaryOperator, _ parts: ArraySlice<Expression>, _ place: TextPlace
    ) -> Expression {
        guard parts.count > 1 else { return parts[parts.startIndex] }
        let middle = parts.startIndex + parts.count / 2
        return .binary(sign, balanced(sign, parts[..<middle], place), balanced(sign, parts[middle...], place), place)
    }

    private mutating func negation() throws(HornbeamError) -> Expression {
        let start = place
        guard take("NOT") else { return try comparison() }
        try descend()
        let inner = try negation()
        depth -= 1
        try grow(to: height + 1)
        return .unary(.not, inner, start)
    }

    // MARK: Comparisons

    private mutating func comparison() throws(HornbeamError) -> Expression {
        try compared(try concatenation())
    }

    /// Reads the comparison that follows an operand. Returns the operand if none does.
    private mutating func compared(_ operand: Expression) throws(HornbeamError) -> Expression {
        var (left, signs) = (operand, 0)
        if let sign = comparisonSign() {
            let (place, before) = (place, height)
            next()
            left = .binary(sign, left, try concatenation(), place)
            try grow(to: max(before, height) + 1)
            if comparisonSign() != nil {
                if case .binary(_, _, .binary(.concatenate, _, _, let place), _) = left {
                    throw failure(SwiftSpelling.concatenation, at: place)
                }
                throw failure("comparisons don't stand in a row: combine two with AND, or use parentheses")
            }
        } else if let test = try wordComparison(of: left) {
            left = test
        }
        while take("IS") {
            try lengthen(&signs)
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
            try grow(to: height + (isNegated ? 2 : 1))
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
        if case .name(let word) = peek, case .string = token(after: 1),
            let correction = SwiftSpelling.correction(test: word)
        {
            throw failure(correction)
        }
        if isNegated { next() }
        var test: Expression
        var highest = height
        if take("LIKE") {
            let pattern = try concatenation()
            highest = max(highest, height)
            test = .like(left, pattern, escape: take("ESCAPE") ? try concatenation() : nil)
        } else if take("BETWEEN") {
            let low = try concatenation()
            highest = max(highest, height)
            try expect("AND", "between the bounds of BETWEEN")
            test = .between(left, low: low, high: try concatenation())
        } else if take("IN") {
            test = try membership(of: left)
        } else {
            return nil
        }
        try grow(to: max(highest, height) + (isNegated ? 2 : 1))
        if isNegated { test = .unary(.not, test, place) }
        return test
    }

    private mutating func membership(of left: Expression) throws(HornbeamError) -> Expression {
        if take(sign: "(") {
            guard beginsQuery else { return .within(left, try list(until: ")")) }
            let place = place
            return .withinArray(left, .subquery(try subquery(), place))
        }
        guard take(sign: "[") else { return .withinArray(left, try concatenation()) }
        let list = try list(until: "]")
        // A parameter alone in parentheses may be the list itself; in brackets it is the only element.
        if list.count == 1, case .parameter(let parameter) = list[0] {
            return .withinArray(left, .array(list, parameter.place))
        }
        return .within(left, list)
    }

    /// Expressions with commas between, up to a bracket.
    private mutating func list(until bracket: String) throws(HornbeamError) -> [Expression] {
        var list: [Expression] = []
        var highest = 0
        if !isAt(sign: bracket) {
            repeat {
                list.append(try expression())
                highest = max(highest, height)
            } while take(sign: ",")
        }
        try expect(sign: bracket, "or a comma")
        level(highest)
        return list
    }

    // MARK: Arithmetic

    private mutating func concatenation() throws(HornbeamError) -> Expression {
        let first = try sum()
        guard isAt(sign: "||") else { return first }
        try requireValue(first, at: place)
        return try row(.concatenate, first, { $0.take(sign: "||") }) { (parser) throws(HornbeamError) in
            let start = parser.place
            let part = try parser.sum()
            try parser.requireValue(part, at: start)
            return part
        }
    }

    /// Refuses a condition beside `||`, which is meant as OR.
    private func requireValue(_ part: Expression, at place: TextPlace) throws(HornbeamError) {
        if part.isCondition { throw failure(SwiftSpelling.concatenation, at: place) }
    }

    private mutating func sum() throws(HornbeamError) -> Expression {
        var (left, signs) = (try product(), 0)
        while let (sign, place) = arithmeticSign(["+", "-"]) {
            try lengthen(&signs)
            let before = height
            left = .binary(sign, left, try product(), place)
            try grow(to: max(before, height) + 1)
        }
        return left
    }

    private mutating func product() throws(HornbeamError) -> Expression {
        var (left, signs) = (try signed(), 0)
        while let (sign, place) = arithmeticSign(["*", "/", "%"]) {
            try lengthen(&signs)
            let before = height
            left = .binary(sign, left, try signed(), place)
            try grow(to: max(before, height) + 1)
        }
        return left
    }

    /// Counts one more operator in a row. Throws if there are too many.
    private func lengthen(_ signs: inout Int) throws(HornbeamError) {
        signs += 1
        guard signs <= Self.maxRow else {
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
        guard isAt(sign: "-") || isAt(sign: "+") else { return try collated(try operand()) }
        return try sign()
    }

    private mutating func sign() throws(HornbeamError) -> Expression {
        let start = place
        let isMinus = next() == .sign("-")
        // The least integer has no positive counterpart.
        if isMinus, case .number(let digits) = peek {
            let digitsPlace = place
            next()
            level(1)
            return try .literal(number("-" + digits, digitsPlace), start)
        }
        try descend()
        let inner = try signed()
        depth -= 1
        try grow(to: height + 1)
        return .unary(isMinus ? .minus : .plus, inner, start)
    }

    private func number(_ digits: String, _ place: TextPlace) throws(HornbeamError) -> Value {
        guard let number = StatementValue.written(digits) else { throw failure("not a number", at: place) }
        return number
    }

    // MARK: Operands

    /// Parentheses and calls have functions of their own, with small frames: deep expressions mostly consist of them.
    private mutating func operand() throws(HornbeamError) -> Expression {
        if isAt(sign: "(") { return try parenthesized() }
        return beginsCall ? try call() : try simple(place)
    }

    private mutating func parenthesized() throws(HornbeamError) -> Expression {
        next()
        let inner = try expression()
        try expect(sign: ")", "to end what “(” began")
        return inner
    }

    private static let beginnings: Set<String> = [
        "ANY", "ARRAY", "CASE", "EVERY", "FALSE", "MISSING", "NULL", "SELECT", "SOME", "TRUE",
    ]

    private var beginsCall: Bool {
        guard case .name(let word) = peek, token(after: 1) == .sign("(") else { return false }
        return !Self.beginnings.contains(word.uppercased())
    }

    private mutating func simple(_ start: TextPlace) throws(HornbeamError) -> Expression {
        level(1)
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
        case .sign("["):
            next()
            let list = try list(until: "]")
            try grow(to: height + 1)
            return .array(list, start)
        case .sign("{"):
            next()
            return try object(start)
        case .quotedName: return .path(try path("a name"))
        case .name(let word): return try named(word, start)
        case .sign, .end: throw failure("expected a value, a name or a function")
        }
    }

    /// Parses the expression that begins with a word that isn't in quotes.
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
        case "ARRAY" where beginsComprehension:
            next()
            return try comprehension(start)
        case "SELECT":
            throw failure(OtherStatements.subquery)
        default: return .path(try path("a value, a name or a function"))
        }
    }

    /// Words that continue an expression or end it.
    private static let endings: Set<String> = [
        "AND", "AS", "ASC", "BETWEEN", "COLLATE", "DESC", "ELSE", "END", "ESCAPE", "EXCEPT", "FOR", "FROM", "GROUP",
        "HAVING", "IN", "INNER", "INTERSECT", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "NULLS", "OFFSET", "OR", "ORDER",
        "RETURNING", "SATISFIES", "THEN", "UNION", "UNNEST", "WHEN", "WHERE",
    ]

    /// Whether an expression for the elements follows the word ARRAY. Otherwise the word is a name.
    private var beginsComprehension: Bool {
        switch token(after: 1) {
        case .string, .number, .parameter, .quotedName, .sign("("), .sign("{"): true
        case .sign("["): !isSubscripted
        case .sign: isSigned
        case .name(let word): !Self.endings.contains(word.uppercased()) && !isNegated
        case .end: false
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

    /// Reads the name behind a dot, where no word is a keyword.
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
        var highest = 0
        repeat {
            guard case .string(let name) = peek else { throw failure("expected the name of a field, in quotes") }
            next()
            try expect(sign: ":", "behind the name of a field")
            fields.append(ObjectField(name: name, value: try expression()))
            highest = max(highest, height)
        } while take(sign: ",")
        try expect(sign: "}", "or a comma")
        try grow(to: highest + 1)
        return .object(fields, start)
    }

    /// Reads the next part of an expression. `highest` is the greatest height of the parts so far.
    private mutating func part(_ highest: inout Int) throws(HornbeamError) -> Expression {
        let part = try expression()
        highest = max(highest, height)
        return part
    }

    private mutating func choice() throws(HornbeamError) -> Expression {
        var highest = 0
        let subject = isAt("WHEN") ? nil : try part(&highest)
        var cases: [Choice] = []
        while take("WHEN") {
            let condition = try part(&highest)
            try expect("THEN", "behind the condition of WHEN")
            cases.append(Choice(condition: condition, value: try part(&highest)))
        }
        guard !cases.isEmpty else { throw failure("expected WHEN") }
        let otherwise = take("ELSE") ? try part(&highest) : nil
        try expect("END", "to end CASE")
        try grow(to: highest + 1)
        return .choice(subject: subject, cases: cases, otherwise: otherwise)
    }

    private mutating func quantified(_ first: Quantifier) throws(HornbeamError) -> Expression {
        var quantifier = first
        if first == .any, isAt("AND"), Self.isKeyword(token(after: 1), "EVERY") {
            next()
            next()
            quantifier = .anyAndEvery
        }
        var highest = 0
        let variable = try expectName("a name for the elements")
        try expect("IN", "and an array")
        let array = try part(&highest)
        try expect("SATISFIES", "and a condition")
        let condition = try part(&highest)
        try expect("END", "to end \(quantifier.rawValue)")
        try grow(to: highest + 1)
        return .quantified(quantifier, variable: variable, array: array, condition: condition)
    }

    private mutating func comprehension(_ start: TextPlace) throws(HornbeamError) -> Expression {
        var highest = 0
        let value = try part(&highest)
        try expect("FOR", "and a name for the elements")
        let variable = try expectName("a name for the elements")
        try expect("IN", "and an array")
        let array = try part(&highest)
        let condition = take("WHEN") ? try part(&highest) : nil
        try expect("END", "to end ARRAY")
        try grow(to: highest + 1)
        return .comprehension(value: value, variable: variable, array: array, condition: condition, start)
    }

    // MARK: Functions

    private mutating func call() throws(HornbeamError) -> Expression {
        let start = place
        guard case .name(let word) = next() else { throw failure("expected a function") }
        next()
        switch word.lowercased() {
        case "exists" where beginsQuery: return .exists(try subquery(), start)
        case "match": return try matching(start)
        case "rank": return try rank(start)
        case "meta": return try meta(start)
        case let name: return try call(name, start)
        }
    }

    /// Reads a call after its opening bracket. The functions below begin there too.
    private mutating func call(_ name: String, _ start: TextPlace) throws(HornbeamError) -> Expression {
        let star = place
        if take(sign: "*") {
            try expect(sign: ")", "behind “*”")
            try grow(to: 2)
            return .call(FunctionCall(name: name, arguments: [.star(alias: nil, star)], place: start))
        }
        let isDistinct = take("DISTINCT")
        if isDistinct, isAt(sign: ")") { throw failure("expected what is to be distinct") }
        let arguments = try list(until: ")")
        try grow(to: height + 1)
        return .call(FunctionCall(name: name, arguments: arguments, isDistinct: isDistinct, place: start))
    }

    private mutating func rank(_ start: TextPlace) throws(HornbeamError) -> Expression {
        if name() != nil { _ = try path("the name of an index") }
        try expect(sign: ")", "behind RANK(")
        level(1)
        return .rank(start)
    }

    private mutating func meta(_ start: TextPlace) throws(HornbeamError) -> Expression {
        let alias = name()
        if alias != nil { next() }
        try expect(sign: ")", "behind META(")
        try expect(sign: ".", "and id or updatedAt: META().id")
        guard let field = MetaField(rawValue: try memberName()) else {
            throw failure("META() has an id, updatedAt, createdAt and version, and nothing else", at: start)
        }
        level(1)
        return .meta(field, alias: alias, start)
    }

    private mutating func matching(_ start: TextPlace) throws(HornbeamError) -> Expression {
        let places = place
        var arguments = try list(until: ")")
        try grow(to: height + 1)
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
