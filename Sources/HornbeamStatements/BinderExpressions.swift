// SPDX-License-Identifier: Apache-2.0
// Binds expressions. Expressions without columns are computed at once. After a GROUP BY an expression may consist of
// grouping expressions and aggregates only.

import FoundationEssentials

/// The known values of a group of rows: its grouping expressions, then aggregates, each with a slot in the frame of the
/// group.
struct GroupScope {
    var keys: [BoundExpression]
    private(set) var aggregates: [(aggregate: BoundAggregate, slot: Int)] = []
    private(set) var slotCount: Int
    private var variableSlots: [Int] = []

    init(_ keys: [BoundExpression]) {
        self.keys = keys
        slotCount = keys.count
    }

    mutating func slot(_ aggregate: BoundAggregate) -> Int {
        if let known = aggregates.first(where: { $0.aggregate == aggregate }) { return known.slot }
        slotCount += 1
        aggregates.append((aggregate, slotCount - 1))
        return slotCount - 1
    }

    mutating func variableSlot(_ depth: Int) -> Int {
        while variableSlots.count <= depth {
            variableSlots.append(slotCount)
            slotCount += 1
        }
        return variableSlots[depth]
    }
}

extension Binder {
    /// Binds an expression. Throws `.tooLarge` if it is nested too deep for the thread's stack.
    mutating func bind(_ expression: Expression) throws -> BoundExpression {
        try StackRoom.require()
        if let named = try bindAlias(expression) { return named }
        guard grouping != nil else { return fold(try structure(expression)) }
        return try grouped(expression)
    }

    /// Binds the expression that an alias of the result stands for. Returns nil if this is no alias.
    private mutating func bindAlias(_ expression: Expression) throws -> BoundExpression? {
        guard let aliased = aliased(expression) else { return nil }
        let all = aliases
        aliases = [:]
        defer { aliases = all }
        return try bind(aliased)
    }

    private func aliased(_ expression: Expression) -> Expression? {
        guard !hasVariables, case .path(let path) = expression, path.steps.count == 1 else { return nil }
        return aliases[path.head]
    }

    private mutating func grouped(_ expression: Expression) throws -> BoundExpression {
        if case .call(let call) = expression, BoundAggregate.Function(rawValue: call.name) != nil {
            return try aggregate(call)
        }
        if hasVariables {
            // A variable has a slot of the group, so it isn't compared with the grouping expressions.
            if case .path(let path) = expression, isVariable(path) { return try bind(path) }
        } else if !hasAggregate(expression), let scope = grouping {
            grouping = nil
            let raw: BoundExpression
            do {
                defer { grouping = scope }
                raw = try bind(expression)
            }
            if case .constant = raw { return raw }
            if let key = scope.keys.firstIndex(of: raw) { return .slot(key) }
        }
        switch expression {
        case .call(let call) where call.name == "snippet":
            throw failure("this is neither grouped by nor in an aggregate", at: call.place)
        case .path(let path):
            throw failure("“\(path.text)” is neither grouped by nor in an aggregate", at: path.place)
        case .match, .rank, .meta, .star:
            throw failure("this is neither grouped by nor in an aggregate", at: expression.place)
        default: return fold(try structure(expression))
        }
    }

    /// Whether it contains an aggregate, directly or through an alias.
    func hasAggregate(_ expression: Expression) -> Bool {
        expression.contains { $0.isAggregate || aliased($0)?.hasAggregate == true }
    }

    private mutating func aggregate(_ call: FunctionCall) throws -> BoundExpression {
        guard let function = BoundAggregate.Function(rawValue: call.name), var scope = grouping else {
            throw failure("\(call.name.uppercased()) has no place here", at: call.place)
        }
        try check(call, function.arity)
        if hasVariables { throw failure("an aggregate has no place in what is asked of elements", at: call.place) }
        grouping = nil
        defer { grouping = scope }
        let names = aliases
        aliases = [:]
        defer { aliases = names }
        var aggregate = BoundAggregate(
            function: function, argument: nil, isDistinct: call.isDistinct, mark: SourcePosition(call.place))
        if case .star(nil, let place)? = call.arguments.first {
            guard function == .count, !call.isDistinct else {
                throw failure("only COUNT takes *", at: place)
            }
        } else {
            let argument = try bind(call.arguments[0])
            try requireNumbers(argument, call, function)
            aggregate.argument = argument
        }
        if call.arguments.count == 2 {
            guard case .constant(let item) = try bind(call.arguments[1]), let text = item.text else {
                throw failure(
                    "what \(call.name.uppercased()) puts between is a text", at: call.arguments[1].place)
            }
            aggregate.separator = text
        }
        let slot = scope.slot(aggregate)
        guard scope.aggregates.count <= SelectPlan.maxColumns else {
            throw failure("more than \(SelectPlan.maxColumns) different aggregates", at: call.place)
        }
        return .slot(slot)
    }

    /// Refuses the sum or average of a column without numbers: it is a mistake, which null as the result would hide.
    private func requireNumbers(
        _ argument: BoundExpression, _ call: FunctionCall, _ function: BoundAggregate.Function
    ) throws(HornbeamError) {
        guard function == .sum || function == .avg, case .slot(let slot) = argument,
            let (source, content) = content(of: slot), case .column(let number) = content, let type = source.type
        else { return }
        let column = type.description.columns[number]
        switch column.type.unwrapped {
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal, .json: return
        default:
            throw failure(
                "\(call.name.uppercased()) takes numbers, \(type.name).\(column.name) is \(column.type.withArticle)",
                at: call.place)
        }
    }

    private func check(_ call: FunctionCall, _ arity: ClosedRange<Int>) throws(HornbeamError) {
        let count = call.arguments.count
        guard !arity.contains(count) else { return }
        let wanted =
            arity == 1...1
            ? "1 argument"
            : (arity.lowerBound == arity.upperBound ? "" : "\(arity.lowerBound) to ") + "\(arity.upperBound) arguments"
        throw failure("\(call.name.uppercased()) takes \(wanted), not \(count)", at: call.place)
    }

    // MARK: Structure

    /// The expression with its parts bound.
    private mutating func structure(_ expression: Expression) throws -> BoundExpression {
        switch expression {
        case .literal(let value, _): return .constant(StatementValue(value))
        case .missing: return .constant(.missing)
        case .parameter(let parameter): return .constant(StatementValue(try value(of: parameter)))
        case .path(let path): return try bind(path)
        case .array(let parts, let place): return .array(try bindAll(parts), SourcePosition(place))
        case .object(let fields, let place):
            var bound: [BoundField] = []
            for field in fields { bound.append(BoundField(name: field.name, value: try bind(field.value))) }
            return .object(bound, SourcePosition(place))
        case .unary(let sign, let inner, let place):
            let inner = try bind(inner)
            switch sign {
            case .not: return .not(inner)
            case .minus: return .minus(inner, SourcePosition(place))
            case .plus: return .plus(inner)
            }
        case .binary(let sign, _, _, _) where sign.isArithmetic && grouping == nil: return try bindRow(expression)
        case .binary(let sign, let left, let right, let place):
            let sides = Comparison(sign) == nil ? try bindAll([left, right]) : try bindCompared([left, right])
            return .binary(sign, sides[0], sides[1], SourcePosition(place))
        case .like(let text, let pattern, let escape):
            let mark = SourcePosition((escape ?? pattern).place)
            return .like(try bind(text), try bind(pattern), escape: try bindIfAny(escape), mark)
        case .between(let value, let low, let high):
            let parts = try bindCompared([value, low, high])
            return .between(parts[0], parts[1], parts[2])
        case .within(let value, let list): return try bindMembership(of: value, in: list)
        case .withinArray(let value, .array(let list, _)): return try bindCompared(value, list)
        case .withinArray(let value, let list): return try bindMembership(of: value, in: list)
        case .test(let inner, let test): return .test(try bind(inner), test)
        case .collate(_, _, let place):
            throw failure(
                "COLLATE says how an operand of a comparison, of BETWEEN, of a list behind IN or of ORDER BY compares, "
                    + "and has no place elsewhere", at: place)
        case .choice(let subject, let cases, let otherwise):
            let subject = try bindIfAny(subject)
            var bound: [BoundChoice] = []
            for choice in cases {
                bound.append(BoundChoice(condition: try bind(choice.condition), value: try bind(choice.value)))
            }
            return .choice(subject: subject, bound, otherwise: try bindIfAny(otherwise))
        case .quantified(let quantifier, let variable, let array, let condition):
            let array = try bindArray(array, asObjects: true)
            let (slot, bound) = try binding(variable) { try $0.bind(condition) }
            return .quantified(quantifier, slot: slot, array, bound)
        case .comprehension(let value, let variable, let array, let condition, let place):
            let array = try bindArray(array, asObjects: true)
            let (slot, (bound, test)) = try binding(variable) { binder in
                (try binder.bind(value), try binder.bindIfAny(condition))
            }
            return .comprehension(slot: slot, value: bound, array, condition: test, SourcePosition(place))
        case .call(let call): return try bind(call)
        case .match(let matching): return try bind(matching)
        case .rank(let place): return try bindRank(at: place)
        case .meta(let field, let alias, let place): return try bindMeta(field, alias, at: place)
        case .star(_, let place): throw failure("* is a result, or what COUNT counts, and no value", at: place)
        case .subquery(let statement, let place): return .constant(.array(try values(of: statement, at: place)))
        case .exists(let statement, let place): return .constant(.bool(try hasRows(statement, at: place)))
        }
    }

    /// Binds arithmetic operators in a row, such as `a + b - c`, in a loop: they nest to the left, up to 500 levels.
    private mutating func bindRow(_ expression: Expression) throws -> BoundExpression {
        var row: [(sign: BinaryOperator, right: Expression, place: TextPlace)] = []
        var first = expression
        while case .binary(let sign, let left, let right, let place) = first, sign.isArithmetic {
            row.append((sign, right, place))
            first = left
        }
        var bound = try bind(first)
        for (sign, right, place) in row.reversed() {
            bound = fold(.binary(sign, bound, try bind(right), SourcePosition(place)))
        }
        return bound
    }

    // MARK: Comparisons

    /// Binds expressions that are compared with each other, or put in order. If one of them names a collation, all
    /// texts use it.
    mutating func bindCompared(_ parts: [Expression]) throws -> [BoundExpression] {
        let collating = try collating(parts)
        var bound: [BoundExpression] = []
        for part in parts { bound.append(collated(try bind(part.withoutCollation), collating)) }
        return bound
    }

    private typealias Collating = (function: ScalarFunction, mark: SourcePosition)

    /// The collation that some of the parts name; nil if none does.
    private func collating(_ parts: [Expression]) throws -> Collating? {
        var chosen: (collation: TextCollation, place: TextPlace)?
        for case .collate(_, let collation, let place) in parts {
            if let chosen, chosen.collation != collation {
                throw failure(
                    "one is compared by \(chosen.collation.words), the other by \(collation.words)", at: place)
            }
            chosen = (collation, place)
        }
        guard let (collation, place) = chosen, collation != .binary else { return nil }
        do {
            return (try ScalarFunction.collating(by: collation), SourcePosition(place))
        } catch {
            throw failure(error.message, at: place)
        }
    }

    private mutating func collated(_ bound: BoundExpression, _ collating: Collating?) -> BoundExpression {
        guard let (function, mark) = collating else { return bound }
        return fold(.call(function, [bound], mark))
    }

    /// Applies the collation that `expression` names, if it names one.
    mutating func collated(_ bound: BoundExpression, as expression: Expression) throws -> BoundExpression {
        collated(bound, try collating([expression]))
    }

    // MARK: IN

    /// `x IN (a, b)`. If the only part in parentheses is a parameter with a list as its value, it is the list itself.
    private mutating func bindMembership(of value: Expression, in list: [Expression]) throws -> BoundExpression {
        if list.count == 1, case .parameter(let parameter) = list[0], case .array = try self.value(of: parameter) {
            return try bindMembership(of: value, in: list[0])
        }
        return try bindCompared(value, list)
    }

    private mutating func bindCompared(_ value: Expression, _ list: [Expression]) throws -> BoundExpression {
        let parts = try bindCompared([value] + list)
        let items = parts.dropFirst().compactMap { if case .constant(let item) = $0 { item } else { nil } }
        guard items.count == list.count else { return .within(parts[0], Array(parts.dropFirst())) }
        return .among(parts[0], StatementValueList(items))
    }

    /// `x IN array`
    private mutating func bindMembership(of value: Expression, in list: Expression) throws -> BoundExpression {
        let collating = try collating([value, list])
        let subject = collated(try bind(value.withoutCollation), collating)
        let bound = try bindArray(list.withoutCollation, asObjects: false)
        if case .constant(.array(let items)) = bound {
            guard collating != nil else { return .among(subject, StatementValueList(items)) }
            let places = items.compactMap { item in
                if case .constant(let place) = collated(.constant(item), collating) { place } else { nil }
            }
            if places.count == items.count { return .among(subject, StatementValueList(places)) }
        }
        if let (_, mark) = collating {
            throw failure("COLLATE goes with a list behind IN that is the same for all rows", at: mark.place)
        }
        return .withinArray(subject, bound)
    }

    private mutating func bindAll(_ expressions: [Expression]) throws -> [BoundExpression] {
        var bound: [BoundExpression] = []
        for expression in expressions { bound.append(try bind(expression)) }
        return bound
    }

    private mutating func bindIfAny(_ expression: Expression?) throws -> BoundExpression? {
        guard let expression else { return nil }
        return try bind(expression)
    }

    /// Binds an expression that is used as an array. A to-many relation gives ids, or whole entities if `asObjects`.
    private mutating func bindArray(_ expression: Expression, asObjects: Bool) throws -> BoundExpression {
        guard case .path(let path) = expression, grouping == nil, aliased(expression) == nil else {
            return try bind(expression)
        }
        let bound = try bind(path, asObjects: asObjects)
        if case .slot(let slot) = bound, let (source, content) = content(of: slot), case .link(let name) = content {
            throw failure(
                "\(source.type?.name ?? source.alias).\(name) leads to one entity, and is no array: compare it with =, "
                    + "or go on with a path, \(path.text).…", at: path.place)
        }
        return bound
    }

    private mutating func bind(_ call: FunctionCall) throws -> BoundExpression {
        if BoundAggregate.Function(rawValue: call.name) != nil {
            throw failure(
                "\(call.name.uppercased()) is an aggregate: it may stand in SELECT, HAVING and ORDER BY, not in "
                    + "another one", at: call.place)
        }
        if call.name == "now" {
            try check(call, 0...0)
            return .constant(.value(.date(inputs.moment)))
        }
        if call.name == "snippet" {
            try check(call, 0...4)
            if call.isDistinct { throw failure("DISTINCT is for aggregates", at: call.place) }
            return try bindSnippet(call)
        }
        guard let function = ScalarFunction.all[call.name] else {
            let known = QueryLanguage.functions.map { $0.lowercased() }
            let hint = NearestName.hint(call.name, among: known).map { "; \($0)" } ?? ""
            throw failure("there is no function “\(call.name)”" + hint, at: call.place)
        }
        try check(call, function.arity)
        if call.isDistinct { throw failure("DISTINCT is for aggregates", at: call.place) }
        let arguments = try bindAll(call.arguments)
        if call.name == "array_contains", case .constant(.array(let items)) = arguments[0] {
            // This is IN, except that unknown values in the list don't make the answer unknown: they are left out.
            let known = items.filter { !$0.isUnknown }
            if !known.isEmpty { return .among(arguments[1], StatementValueList(known)) }
        }
        return .call(function, arguments, SourcePosition(call.place))
    }

    private mutating func bindMeta(
        _ field: MetaField, _ alias: String?, at place: TextPlace
    ) throws -> BoundExpression {
        let entities = sources.filter { !$0.isImplicit && $0.type != nil }
        guard let source = alias == nil ? entities.first : entities.first(where: { $0.alias == alias }),
            let type = source.type
        else { throw failure("no entity is called “\(alias ?? "")”", at: place) }
        if field == .id { return slot(.column(0), of: source) }
        let wanted: ColumnDescription =
            switch field {
            case .createdAt: .createdAt
            case .version: .version
            case .updatedAt, .id: .updatedAt
            }
        guard let column = type.description.column(wanted.name) else {
            throw failure("the store doesn't keep \(wanted.label) of \(type.name)", at: place)
        }
        return slot(.column(column), of: source)
    }

    /// Computes an expression that needs no row. If that fails, the expression is left, because it may never be
    /// evaluated. It is also left if all computed values together would exceed the limit for values of a row.
    private mutating func fold(_ expression: BoundExpression) -> BoundExpression {
        var slots = 0
        switch expression {
        case .constant, .slot: return expression
        case .quantified(_, let slot, _, _), .comprehension(let slot, _, _, _, _): slots = slot + 1
        default: break
        }
        guard expression.children.allSatisfy({ if case .constant = $0 { true } else { false } }) else {
            return expression
        }
        let frame = Frame(slots: slots)
        frame.held = folded
        guard let item = try? expression.evaluate(frame) else { return expression }
        folded = frame.held
        return .constant(item)
    }
}

extension Expression: ExpressionTree {
    /// The parts that it is made of.
    var children: [Expression] {
        switch self {
        // A subquery's expressions are its own.
        case .literal, .missing, .parameter, .path, .rank, .meta, .star, .subquery, .exists: []
        case .array(let parts, _): parts
        case .object(let fields, _): fields.map(\.value)
        case .unary(_, let inner, _), .test(let inner, _), .collate(let inner, _, _): [inner]
        case .binary(_, let left, let right, _), .withinArray(let left, let right): [left, right]
        case .like(let text, let pattern, let escape): [text, pattern] + (escape.map { [$0] } ?? [])
        case .between(let value, let low, let high): [value, low, high]
        case .within(let value, let list): [value] + list
        case .choice(let subject, let cases, let otherwise):
            (subject.map { [$0] } ?? []) + cases.flatMap { [$0.condition, $0.value] } + (otherwise.map { [$0] } ?? [])
        case .quantified(_, _, let array, let condition): [array, condition]
        case .comprehension(let value, _, let array, let condition, _): [value, array] + (condition.map { [$0] } ?? [])
        case .call(let call): call.arguments
        case .match(let matching): [matching.query]
        }
    }

    var isAggregate: Bool {
        if case .call(let call) = self { BoundAggregate.Function(rawValue: call.name) != nil } else { false }
    }

    var hasAggregate: Bool { contains(where: \.isAggregate) }

    /// Whether its value depends on the time of the run.
    var isOfTime: Bool { contains { if case .call(let call) = $0 { call.name == "now" } else { false } } }

    /// The position where it begins. CASE and quantifiers have the position of the first expression in them.
    package var place: TextPlace {
        var first = self
        while true {
            switch first {
            case .literal(_, let place), .missing(let place), .array(_, let place), .object(_, let place),
                .unary(_, _, let place), .comprehension(_, _, _, _, let place), .rank(let place),
                .meta(_, _, let place), .star(_, let place), .subquery(_, let place), .exists(_, let place):
                return place
            case .parameter(let parameter): return parameter.place
            case .path(let path): return path.place
            case .call(let call): return call.place
            case .match(let matching): return matching.place
            case .binary(_, let left, _, _), .like(let left, _, _), .between(let left, _, _), .within(let left, _),
                .withinArray(let left, _), .test(let left, _), .collate(let left, _, _):
                first = left
            case .choice(let subject, let cases, _):
                guard let condition = subject ?? cases.first?.condition else { return 0 }
                first = condition
            case .quantified(_, _, let array, _): first = array
            }
        }
    }
}
