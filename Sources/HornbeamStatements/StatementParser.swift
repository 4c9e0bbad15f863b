// SPDX-License-Identifier: Apache-2.0
// Reads statements, by recursive descent. This file has the words and the clauses of SELECT, `ExpressionParser.swift`
// the expressions, `ChangeParser.swift` the statements that change data.
//
//     statement  = [EXPLAIN [ANALYZE]] (query | change) [;]
//     query      = [WITH name AS (query) {, name AS (query)}] select {UNION [ALL] select}
//     select     = SELECT [DISTINCT | ALL] [VALUE | RAW] projection {, projection} FROM source {join} clauses
//     projection = * | alias.* | expression [[AS] name]
//     source     = name [[AS] name] | (query) [AS] name
//     join       = [INNER | LEFT [OUTER]] JOIN (source ON expression | path [[AS] name])
//                | [INNER | LEFT [OUTER]] UNNEST expression [AS] name
//     clauses    = [WHERE expression] [GROUP BY expression {, expression}] [HAVING expression]
//                  [ORDER BY term {, term}] [LIMIT expression] [OFFSET expression]
//     term       = expression [ASC | DESC] [NULLS (FIRST | LAST)]

/// One reading of one text.
struct StatementParser {
    /// Maximum depth of nested expressions. It bounds the stack for reading or computing one.
    static let maxDepth = 100
    /// Maximum number of levels of a whole expression. `maxDepth` doesn't bound them: each level of nesting may have a
    /// row of operators, which is a tree of many levels.
    static let maxHeight = 600
    /// Maximum length of a text, in bytes.
    static let maxLength = 1_000_000

    /// Words that are never names, unless in backquotes. Others are keywords where the grammar has them: `like` names a
    /// column where an operand is expected.
    static let reserved: Set<String> = [
        "ALL", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "END", "EVERY", "EXPLAIN", "FALSE",
        "FROM", "GROUP", "HAVING", "IN", "INNER", "IS", "JOIN", "LEFT", "LIMIT", "MISSING", "NOT", "NULL", "OFFSET",
        "ON", "OR", "ORDER", "SATISFIES", "SELECT", "SOME", "THEN", "TRUE", "UNNEST", "WHEN", "WHERE",
    ]
    /// Words that can't be an alias without AS either.
    private static let noAlias: Set<String> = [
        "ASC", "CROSS", "DESC", "ESCAPE", "EXCEPT", "FOR", "INTERSECT", "LIKE", "NULLS", "OUTER", "RETURNING", "SET",
        "UNION",
    ]

    let text: String
    private let scalars: [Unicode.Scalar]
    private let tokens: [(token: StatementToken, place: TextPlace, end: TextPlace)]
    private var position = 0
    var depth = 0
    /// Number of levels of the expression that was read last.
    private(set) var height = 0
    private var parameters = 0
    /// The queries of WITH that the current query can use, each with its number of levels.
    private var named: [String: (query: Expression, height: Int)] = [:]
    /// Greatest number of levels of an expression in the current query.
    private var highest = 0

    init(_ text: String) throws(HornbeamError) {
        guard text.utf8.count <= Self.maxLength else {
            throw HornbeamError(
                .tooLarge,
                "the statement has \(text.utf8.count) bytes, more than \(Self.maxLength): give long values as "
                    + "parameters")
        }
        self.text = text
        var lexer = StatementLexer(text)
        tokens = try lexer.tokens()
        scalars = lexer.scalars
    }

    /// A statement, with nothing after it except a semicolon.
    mutating func wholeStatement() throws(HornbeamError) -> StatementTree {
        let isExplained = take("EXPLAIN")
        let isAnalysed = isExplained && take("ANALYZE")
        let tree: StatementTree
        let start = place
        if var change = try changeStatement() {
            guard !isAnalysed else {
                throw failure(
                    "EXPLAIN ANALYZE runs the statement, and this one changes data: EXPLAIN shows its plan", at: start)
            }
            change.isExplained = isExplained
            tree = .change(change)
        } else {
            guard beginsQuery else { throw noStatement(isExplained) }
            var statement = try query()
            (statement.isExplained, statement.isAnalysed) = (isExplained, isAnalysed)
            tree = .select(statement)
        }
        _ = take(sign: ";")
        try end()
        return tree
    }

    private func noStatement(_ isExplained: Bool) -> HornbeamError {
        let correction: String? = if case .name(let word) = peek { OtherStatements.correction(word) } else { nil }
        return failure(
            correction ?? "expected SELECT, INSERT, UPSERT, UPDATE or DELETE" + (isExplained ? "" : ", or EXPLAIN"))
    }

    mutating func wholeClauses() throws(HornbeamError) -> QueryClauses {
        let clauses = try clauses()
        try end()
        return clauses
    }

    mutating func wholeExpression() throws(HornbeamError) -> Expression {
        let expression = try expression()
        try end()
        return expression
    }

    private func end() throws(HornbeamError) {
        guard peek == .end else {
            let correction: String? =
                if case .name(let word) = peek { OtherStatements.correction(end: word) } else { nil }
            throw failure(correction ?? "expected the end, or what goes on from here")
        }
    }

    // MARK: Words

    var peek: StatementToken { tokens[position].token }
    var place: TextPlace { tokens[position].place }

    func token(after count: Int) -> StatementToken { tokens[min(position + count, tokens.count - 1)].token }

    @discardableResult
    mutating func next() -> StatementToken {
        let token = tokens[position].token
        if position < tokens.count - 1 { position += 1 }
        return token
    }

    func failure(_ what: String, at place: TextPlace? = nil) -> HornbeamError {
        StatementFailure.error(what, in: text, at: place ?? self.place)
    }

    /// Sets the height of the expression that is being read. Throws before a tree is too high: its release takes stack
    /// for each level, even if the statement is refused later.
    mutating func grow(to levels: Int) throws(HornbeamError) {
        guard levels <= Self.maxHeight else {
            throw failure(
                "an expression has more than \(Self.maxHeight) levels: make it simpler, or give long lists as "
                    + "parameters")
        }
        height = levels
    }

    /// Notes the levels of an expression in the current query.
    mutating func noteHeight() { highest = max(highest, height) }

    /// Sets the height of an expression without parts, or the greatest one in a list, which can't be too high.
    mutating func level(_ levels: Int) { height = levels }

    /// Whether the sign after this word belongs to an operand and is no operator: such a sign is directly before the
    /// operand, and not directly after the word. So `VALUE -a` is a value, and `value - a` a difference.
    var isSigned: Bool {
        guard position + 2 < tokens.count, case .sign(let sign) = tokens[position + 1].token else { return false }
        return ["-", "+"].contains(sign) && tokens[position].end < tokens[position + 1].place
            && tokens[position + 1].end == tokens[position + 2].place
    }

    /// Whether the position of an element follows this word: `[0]`, `[-1]`.
    var isSubscripted: Bool {
        guard token(after: 1) == .sign("[") else { return false }
        let digits = token(after: 2) == .sign("-") ? 3 : 2
        guard case .number = token(after: digits) else { return false }
        return token(after: digits + 1) == .sign("]")
    }

    /// Whether NOT LIKE, NOT BETWEEN or NOT IN follows: then this word is a name that is compared.
    var isNegated: Bool {
        Self.isKeyword(token(after: 1), "NOT")
            && ["LIKE", "BETWEEN", "IN"].contains { Self.isKeyword(token(after: 2), $0) }
    }

    static func isKeyword(_ token: StatementToken, _ keyword: String) -> Bool {
        guard case .name(let name) = token else { return false }
        return name.utf8.count == keyword.utf8.count && name.uppercased() == keyword
    }

    func isAt(_ keyword: String) -> Bool { Self.isKeyword(peek, keyword) }

    mutating func take(_ keyword: String) -> Bool {
        guard isAt(keyword) else { return false }
        next()
        return true
    }

    func isAt(sign: String) -> Bool { peek == .sign(sign) }

    mutating func take(sign: String) -> Bool {
        guard isAt(sign: sign) else { return false }
        next()
        return true
    }

    mutating func expect(_ keyword: String, _ context: String) throws(HornbeamError) {
        guard take(keyword) else { throw failure("expected \(keyword)" + (context.isEmpty ? "" : " \(context)")) }
    }

    mutating func expect(sign: String, _ context: String) throws(HornbeamError) {
        guard take(sign: sign) else { throw failure("expected “\(sign)” \(context)") }
    }

    /// The next word, if it is a name.
    func name() -> String? {
        switch peek {
        case .quotedName(let name): name
        case .name(let name): Self.reserved.contains(name.uppercased()) ? nil : name
        default: nil
        }
    }

    mutating func expectName(_ what: String) throws(HornbeamError) -> String {
        if let name = name() {
            next()
            return name
        }
        if case .name(let word) = peek {
            throw failure("expected \(what); “\(word)” is a keyword, and a name only in backquotes: `\(word)`")
        }
        throw failure("expected \(what)")
    }

    /// `[AS] name`
    mutating func alias() throws(HornbeamError) -> String? {
        if take("AS") { return try expectName("a name behind AS") }
        if case .name(let word) = peek, Self.noAlias.contains(word.uppercased()) { return nil }
        guard let name = name() else { return nil }
        next()
        return name
    }

    /// The number of the next `?`.
    mutating func nextParameter() -> Int {
        parameters += 1
        return parameters
    }

    // MARK: Statements

    var beginsQuery: Bool { isAt("SELECT") || isAtWith }

    /// WITH is a name too: it is the keyword before a name and AS.
    private var isAtWith: Bool {
        isAt("WITH") && (Self.isKeyword(token(after: 2), "AS") || Self.isKeyword(token(after: 1), "RECURSIVE"))
    }

    /// One SELECT, or several with UNION between.
    mutating func query() throws(HornbeamError) -> SelectStatement {
        let former = (named, highest)
        highest = 0
        defer { (named, highest) = former }
        if isAtWith { try with() }
        let query = try unitedSelects()
        level(highest)
        return query
    }

    private mutating func unitedSelects() throws(HornbeamError) -> SelectStatement {
        var first = try selectStatement()
        var others: [SelectStatement] = []
        var isAll: Bool?
        while isAt("UNION") {
            let last = others.last ?? first
            if last.clauses.isOfWhole {
                throw failure(
                    "ORDER BY, LIMIT and OFFSET stand behind the last SELECT of a UNION, and are of the whole")
            }
            next()
            let isNextAll = take("ALL")
            if !isNextAll { _ = take("DISTINCT") }
            if let isAll, isAll != isNextAll {
                throw failure("UNION and UNION ALL aren't mixed: use one of them, or run two statements")
            }
            isAll = isNextAll
            others.append(try selectStatement())
        }
        guard let isAll, var last = others.popLast() else { return first }
        let whole = last.clauses.takeWhole()
        first.union = Union(others: others + [last], isAll: isAll, clauses: whole)
        return first
    }

    /// `WITH name AS (query), …`
    private mutating func with() throws(HornbeamError) {
        next()
        if isAt("RECURSIVE"), !Self.isKeyword(token(after: 1), "AS") { throw failure(OtherStatements.recursive) }
        repeat {
            let name = try expectName("a name for a query")
            try expect("AS", "and a SELECT in parentheses")
            let start = place
            try expect(sign: "(", "before the SELECT")
            named[name] = (.subquery(try subquery(), start), height)
        } while take(sign: ",")
    }

    /// Reads a query up to the bracket that ends it.
    mutating func subquery() throws(HornbeamError) -> SelectStatement {
        try descend()
        let statement = try query()
        depth -= 1
        try expect(sign: ")", "to end the subquery")
        try grow(to: height + 1)
        return statement
    }

    private mutating func selectStatement() throws(HornbeamError) -> SelectStatement {
        try expect("SELECT", "")
        let isDistinct = take("DISTINCT")
        if !isDistinct { _ = take("ALL") }
        let isValue = takesValue()
        var projections: [Projection] = []
        repeat { projections.append(try projection()) } while take(sign: ",")
        if isValue, let second = projections.dropFirst().first {
            throw failure("SELECT VALUE gives one value a row", at: second.place)
        }
        try expect("FROM", "and an entity type")
        let source = try rows()
        var joins: [SourceJoin] = []
        while let join = try join() { joins.append(join) }
        if isAt(sign: ",") {
            throw failure("types aren't joined by commas: write JOIN … ON … or JOIN along a relation")
        }
        return SelectStatement(
            isDistinct: isDistinct, isValue: isValue, projections: projections,
            source: source, joins: joins, clauses: try clauses())
    }

    /// VALUE and RAW are names too: they are the keyword where an operand follows.
    private mutating func takesValue() -> Bool {
        guard isAt("VALUE") || isAt("RAW") else { return false }
        switch token(after: 1) {
        case .string, .number, .parameter, .quotedName: break
        case .sign("["): if isSubscripted, tokens[position].end == tokens[position + 1].place { return false }
        case .sign(let sign):
            guard ["(", "{"].contains(sign) || isSigned else { return false }
        case .name(let word):
            guard !["FROM", "AS", "IS", "IN", "AND", "OR", "BETWEEN", "LIKE"].contains(word.uppercased()), !isNegated
            else { return false }
        case .end: return false
        }
        next()
        return true
    }

    mutating func projection() throws(HornbeamError) -> Projection {
        let start = place
        if take(sign: "*") {
            return Projection(value: .star(alias: nil, start), alias: nil, place: start, text: "*")
        }
        if let owner = name(), token(after: 1) == .sign("."), token(after: 2) == .sign("*") {
            for _ in 0..<3 { next() }
            return Projection(value: .star(alias: owner, start), alias: nil, place: start, text: "\(owner).*")
        }
        let value = try expression()
        let text = words(from: start)
        return Projection(value: value, alias: try alias(), place: start, text: text)
    }

    /// The text from a position to the end of the word before this one.
    private func words(from start: TextPlace) -> String {
        let end = position > 0 ? tokens[position - 1].end : start
        return String(String.UnicodeScalarView(scalars[start..<max(start, end)]))
    }

    mutating func source() throws(HornbeamError) -> Source {
        let start = place
        let type = try expectName("the name of an entity type")
        return Source(type: type, alias: try alias(), place: start)
    }

    /// A type, or a query.
    private mutating func rows() throws(HornbeamError) -> Source {
        if let query = try derived() { return query }
        var source = try source()
        source.query = known(source.type)
        return source
    }

    /// The query that WITH has given this name.
    private mutating func known(_ name: String) -> Expression? {
        guard let known = named[name] else { return nil }
        highest = max(highest, known.height)
        return known.query
    }

    /// `(SELECT …) AS name`; nil if none is here.
    private mutating func derived() throws(HornbeamError) -> Source? {
        let first = token(after: 1)
        guard isAt(sign: "("), Self.isKeyword(first, "SELECT") || Self.isKeyword(first, "WITH") else { return nil }
        let start = place
        next()
        let query = Expression.subquery(try subquery(), start)
        highest = max(highest, height)
        guard let alias = try alias() else { throw failure("a subquery needs a name: (SELECT …) AS name") }
        return Source(type: alias, alias: alias, place: start, query: query)
    }

    private mutating func join() throws(HornbeamError) -> SourceJoin? {
        let start = place
        var kind = SourceJoin.Kind.inner
        if take("LEFT") {
            _ = take("OUTER")
            kind = .leftOuter
        } else if take("INNER") {
            // This is the default.
        } else if !isAt("JOIN"), !isAt("UNNEST") {
            return nil
        }
        if take("UNNEST") { return try elements(kind, start) }
        guard take("JOIN") else { throw failure("expected JOIN or UNNEST") }
        if let derived = try derived(), let query = derived.query {
            guard take("ON") else { throw failure("expected ON and what joins \(derived.type)") }
            return SourceJoin(
                kind: kind, target: .query(query, on: try expression()), alias: derived.alias, place: start)
        }
        let path = try self.path("a type, or a relation as alias.relation")
        let alias = try alias()
        guard path.steps.count > 1 else {
            guard take("ON") else { throw failure("expected ON and what joins \(path.head)") }
            let on = try expression()
            guard let query = known(path.head) else {
                return SourceJoin(kind: kind, target: .type(path.head, on: on), alias: alias, place: start)
            }
            return SourceJoin(kind: kind, target: .query(query, on: on), alias: alias ?? path.head, place: start)
        }
        if isAt("ON") { throw failure("a join along a relation says all by itself: ON is for types") }
        return SourceJoin(kind: kind, target: .relation(path), alias: alias, place: start)
    }

    private mutating func elements(_ kind: SourceJoin.Kind, _ start: TextPlace) throws(HornbeamError) -> SourceJoin {
        let place = place
        let array = try expression()
        switch array {
        case .path, .call, .comprehension, .parameter: break
        case .array: throw failure("UNNEST takes the path of an array; array literals are not supported", at: place)
        default: throw failure("UNNEST takes the path of an array", at: place)
        }
        return SourceJoin(kind: kind, target: .elements(array), alias: try alias(), place: start)
    }

    private mutating func clauses() throws(HornbeamError) -> QueryClauses {
        var clauses = QueryClauses()
        if take("WHERE") { clauses.condition = try expression() }
        if take("GROUP") {
            try expect("BY", "behind GROUP")
            repeat { clauses.groups.append(try expression()) } while take(sign: ",")
        }
        if take("HAVING") { clauses.having = try expression() }
        if take("ORDER") {
            try expect("BY", "behind ORDER")
            repeat { clauses.order.append(try ordering()) } while take(sign: ",")
        }
        // LIMIT and OFFSET may be in either order.
        while isAt("LIMIT") && clauses.limit == nil || isAt("OFFSET") && clauses.offset == nil {
            if take("LIMIT") { clauses.limit = try expression() }
            if take("OFFSET") { clauses.offset = try expression() }
        }
        return clauses
    }

    private mutating func ordering() throws(HornbeamError) -> Ordering {
        let start = place
        var ordering = Ordering(value: try expression(), place: start)
        ordering.isDescending = take("DESC")
        if !ordering.isDescending { _ = take("ASC") }
        if take("NULLS") {
            if take("FIRST") {
                ordering.nulls = .first
            } else {
                try expect("LAST", "or FIRST behind NULLS")
                ordering.nulls = .last
            }
        }
        return ordering
    }
}

extension QueryClauses {
    /// Whether it has clauses that belong to the whole UNION.
    fileprivate var isOfWhole: Bool { !order.isEmpty || limit != nil || offset != nil }

    /// Takes out ORDER BY, LIMIT and OFFSET.
    fileprivate mutating func takeWhole() -> QueryClauses {
        let whole = QueryClauses(order: order, limit: limit, offset: offset)
        (order, limit, offset) = ([], nil, nil)
        return whole
    }
}
