// SPDX-License-Identifier: Apache-2.0
// The plan for answering a statement: the sources in their order, each with the conditions that can be tested once it
// has a row; the part of these conditions that the planner handles as a filter of the first source; and the grouping,
// order and columns of the result.

/// A statement bound to a schema and to values, made for each run: so it never outlives an index that it uses.
struct SelectPlan {
    struct Column {
        var name: String
        var value: BoundExpression
    }

    struct Order {
        var value: BoundExpression
        var isDescending: Bool
        var nullsFirst: Bool
        /// For `explain`.
        var text: String

        init(_ term: Ordering, _ value: BoundExpression, text: String) {
            self.value = value
            isDescending = term.isDescending
            nullsFirst = term.nulls.map { $0 == .first } ?? !term.isDescending
            self.text = text + (term.isDescending ? " DESC" : "")
        }
    }

    /// Maximum number of columns of a result. It also bounds the parts of GROUP BY and ORDER BY, and the aggregates.
    static let maxColumns = 2_000

    let binder: Binder
    let isValue: Bool
    let isDistinct: Bool
    /// The query of the first source.
    private(set) var query: EntityQuery
    /// The conditions, by the number of the source after whose row they are tested.
    private(set) var conditions: [[BoundExpression]]
    private(set) var columns: [Column] = []
    /// The grouping, nil unless there is GROUP BY or an aggregate.
    private(set) var grouping: GroupScope?
    private(set) var having: BoundExpression?
    /// The terms of ORDER BY.
    let terms: [Order]
    /// `terms`, or nothing if the first source's rows come in this order.
    private(set) var order: [Order] = []
    /// Whether the first source is the only one, apart from sources that paths have created.
    let isAlone: Bool
    private(set) var limit: Int?
    private(set) var offset = 0
    /// Whether the query itself has the limit and the offset.
    private(set) var isCut = false

    var sources: [BoundSource] { binder.sources }

    /// Whether the first source is an entity type, which `query` reads, and no subquery.
    var isOfEntities: Bool { sources[0].type != nil }

    /// Number of rows that LIMIT and OFFSET need, nil for all.
    var rowsNeeded: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = limit.addingReportingOverflow(offset)
        return overflow ? nil : sum
    }

    /// Plans one SELECT, without those that UNION adds.
    /// - Parameters:
    ///   - outer: the sources of the enclosing statement, if this is a subquery.
    ///   - mayStop: whether the caller may stop before the last row of the result.
    init(
        _ statement: SelectStatement, _ text: String, _ core: StoreTransaction, _ inputs: StatementInputs,
        outer: [BoundSource] = [], mayStop: Bool = false
    ) throws {
        var binder = Binder(text, core, inputs)
        binder.outer = outer
        isValue = statement.isValue
        isDistinct = statement.isDistinct
        binder.resultNames = statement.projections.compactMap(\.alias)
        try binder.bindSources(statement)
        let clauses = statement.clauses
        let condition = try clauses.condition.map { try binder.bind($0) }
        let rows = try SelectBinding(&binder, statement)
        limit = try Self.count(clauses.limit, "LIMIT", &binder)
        offset = try Self.count(clauses.offset, "OFFSET", &binder) ?? 0
        (columns, grouping, having) = (rows.columns, rows.grouping, rows.having)
        terms = rows.order
        isAlone = binder.sources.allSatisfy { $0.number == 0 || $0.isImplicit }
        self.binder = binder
        query = EntityQuery(type: binder.sources[0].type?.name ?? "")
        conditions = Array(repeating: [], count: binder.sources.count)
        try place((condition?.conjuncts ?? []) + binder.sources.flatMap { Self.late(in: $0, binder) })
        if !pushes(rows.order) { order = rows.order }
        dropUnused()
        query.needs = needs
        let isWhole = isAlone && isOfEntities && order.isEmpty && grouping == nil && !isDistinct
        if isWhole, conditions.allSatisfy(\.isEmpty) {
            query.limit = limit
            query.offset = offset
            isCut = true
        }
        // Rows that are handed on as they come also end at the statement's limit.
        query.mayStop = order.isEmpty && grouping == nil && (mayStop || limit != nil && !isCut)
    }

    /// Plans a query for entities with one more condition. The query's limit and offset count the entities for which
    /// the condition is true.
    /// - Parameter statement: has only the query's type and WHERE.
    init(
        _ query: EntityQuery, _ statement: SelectStatement, _ text: String, _ core: StoreTransaction,
        _ inputs: StatementInputs
    ) throws {
        var binder = Binder(text, core, inputs)
        try binder.bindSources(statement)
        let condition = try statement.clauses.condition.map { try binder.bind($0) }
        try inputs.requireUse()
        (isValue, isDistinct, isAlone, terms) = (false, false, true, [])
        self.binder = binder
        self.query = query
        conditions = Array(repeating: [], count: binder.sources.count)
        try place(condition?.conjuncts ?? [])
        dropUnused()
        isCut = conditions.allSatisfy(\.isEmpty)
        if isCut { return }
        (limit, offset) = (query.limit, query.offset)
        (self.query.limit, self.query.offset) = (nil, 0)
        self.query.mayStop = limit != nil
    }

    static func count(
        _ expression: Expression?, _ clause: String, _ binder: inout Binder
    ) throws -> Int? {
        guard let expression else { return nil }
        guard case .constant(let item) = try binder.bind(expression), let count = item.integer, count >= 0 else {
            throw binder.failure("\(clause) takes a number from 0", at: expression.place)
        }
        return Int(exactly: count) ?? .max
    }

    /// Conditions of a join that go through relations of the joined type, which are followed after it.
    private static func late(in source: BoundSource, _ binder: Binder) -> [BoundExpression] {
        source.joinConditions.filter { binder.lastSource(of: $0) > source.number }
    }

    /// Removes columns that are only used by conditions of the query.
    private func dropUnused() {
        var used: Set<Int> = []
        func use(_ expressions: [BoundExpression]) {
            for expression in expressions { used.formUnion(expression.slots) }
        }
        for conditions in conditions { use(conditions) }
        for source in binder.sources {
            switch source.rows {
            case .join(let conditions): use(conditions)
            case .elements(let array): use([array] + source.on)
            case .scan, .link: break
            }
        }
        if let grouping {
            use(grouping.keys + grouping.aggregates.compactMap(\.aggregate.argument))
        } else {
            use(columns.map(\.value) + order.map(\.value))
        }
        for source in binder.sources { source.contents.removeAll { !used.contains($0.slot) } }
    }

    /// The parts of rows that groups need, if rows are read for nothing else.
    private var needs: RowNeeds? {
        guard let grouping, isAlone, isOfEntities, binder.sources.count == 1 else { return nil }
        var columns: Set<Int> = []
        for (_, content) in binder.sources[0].contents {
            guard case .column(let column) = content else { return nil }
            columns.insert(column)
        }
        let isOrderFree = grouping.aggregates.allSatisfy(\.aggregate.isOrderFree)
        return RowNeeds(columns: columns, isOrderFree: isOrderFree, wantsExactText: true)
    }

    /// Makes filters of the query from conditions. A condition without an exact filter is tested after the last source
    /// that it needs.
    private mutating func place(_ conjuncts: [BoundExpression]) throws {
        guard isOfEntities else {
            for conjunct in conjuncts { conditions[max(0, binder.lastSource(of: conjunct))].append(conjunct) }
            return
        }
        let push = FilterPush(binder: binder, source: binder.sources[0], frame: Frame(slots: binder.slotCount))
        var filters: [Filter] = []
        for conjunct in conjuncts {
            let pushed = push.filter(conjunct)
            if let pushed { filters.append(pushed.filter) }
            if pushed?.isExact != true { conditions[max(0, binder.lastSource(of: conjunct))].append(conjunct) }
        }
        query.filter = Filter.conjunction(query.filter.conjuncts + filters + (try push.elementFilters(conjuncts)))
    }

    /// Has the query sort its rows in this order. Returns false, and changes nothing, if the planner can't do that.
    private mutating func pushes(_ terms: [Order]) -> Bool {
        guard grouping == nil, let type = binder.sources[0].type else { return false }
        let push = FilterPush(binder: binder, source: binder.sources[0], frame: Frame(slots: binder.slotCount))
        var sort: [SortTerm] = []
        for term in terms {
            if let component = push.component(term.value), term.nullsFirst != term.isDescending,
                !term.value.mayBeMissing
            {
                sort.append(SortTerm(.derived(component), descending: term.isDescending))
                continue
            }
            guard case .slot(let slot) = term.value, let (source, content) = binder.content(of: slot),
                source.number == 0
            else { return false }
            switch content {
            case .column(let column):
                guard type.description.columns[column].type.isOrdered, term.nullsFirst != term.isDescending else {
                    return false
                }
                sort.append(.column(column, descending: term.isDescending))
            case .score(let number):
                guard term.isDescending, terms.count == 1, isPushed(number) else { return false }
                sort.append(.bestScore)
            default: return false
            }
        }
        query.sort = sort
        return true
    }

    /// Whether the query itself finds the rows by the match.
    func isPushed(_ number: Int) -> Bool {
        guard let match = binder.matches[number].match else { return false }
        return query.filter.conjuncts.contains { if case .matches(let other) = $0 { other === match } else { false } }
    }

    /// Whether the statement only counts the rows of the query, by `COUNT(*)`.
    var countsRows: Bool {
        guard let grouping, grouping.keys.isEmpty, isOfQuery else { return false }
        return grouping.aggregates.allSatisfy { $0.aggregate.function == .count && $0.aggregate.argument == nil }
    }
}

/// The clauses of a statement after WHERE, bound.
private struct SelectBinding {
    var columns: [SelectPlan.Column] = []
    var grouping: GroupScope?
    var having: BoundExpression?
    var order: [SelectPlan.Order] = []

    init(_ binder: inout Binder, _ statement: SelectStatement) throws {
        let clauses = statement.clauses
        var named: [String: Expression] = [:]
        for projection in statement.projections {
            if let alias = projection.alias { named[alias] = projection.value }
        }
        // Except in ORDER BY, a name means a column rather than an alias of the result.
        var hidden = named
        for name in named.keys where binder.isName(name) { hidden[name] = nil }
        binder.aliases = hidden
        for (clause, parts) in [("GROUP BY", clauses.groups), ("ORDER BY", clauses.order.map(\.value))]
        where parts.count > SelectPlan.maxColumns {
            throw binder.failure(
                "\(clause) has more than \(SelectPlan.maxColumns) parts", at: parts[SelectPlan.maxColumns].place)
        }
        var keys: [BoundExpression] = []
        for group in clauses.groups { keys.append(try binder.bindGroup(group, of: statement)) }
        let asked =
            statement.projections.map(\.value) + clauses.order.map(\.value) + (clauses.having.map { [$0] } ?? [])
        binder.aliases = named
        if !clauses.groups.isEmpty || clauses.having != nil || asked.contains(where: { binder.hasAggregate($0) }) {
            binder.grouping = GroupScope(keys)
        }
        binder.aliases = [:]
        columns = try binder.columns(of: statement)
        binder.aliases = hidden
        having = try clauses.having.map { try binder.bind($0) }
        binder.aliases = named
        for term in clauses.order {
            let (value, text) = try binder.bindOrder(term.value, columns)
            order.append(SelectPlan.Order(term, value, text: text))
        }
        binder.aliases = [:]
        grouping = binder.grouping
        binder.grouping = nil
        // A constant doesn't order rows.
        order.removeAll { if case .constant = $0.value { true } else { false } }
    }
}

extension Binder {
    /// Whether this is the name of a source, or of a column or relation of one.
    func isName(_ name: String) -> Bool { sources.contains { $0.isNamed(name) } }

    /// The result column for a clause that is a number, counted from 1: `ORDER BY 2`. Returns its index; nil for an
    /// expression.
    func column(_ expression: Expression, _ clause: String, of count: Int) throws(HornbeamError) -> Int? {
        switch expression {
        case .literal(.int(let number), let place):
            guard let column = Int(exactly: number), column >= 1, column <= count else {
                throw failure(
                    "\(clause) \(number) is the column of the result with this number, and there "
                        + (count == 1 ? "is 1" : "are \(count)"), at: place)
            }
            return column - 1
        case .literal(.null, _): return nil
        case .literal, .parameter:
            throw failure(
                "\(clause) takes expressions and numbers of columns, and this is the same for all rows: a name in "
                    + "quotes is a text, one in backquotes is a name", at: expression.place)
        default: return nil
        }
    }

    fileprivate mutating func bindGroup(_ group: Expression, of statement: SelectStatement) throws -> BoundExpression {
        guard let number = try column(group, "GROUP BY", of: statement.projections.count) else {
            return try bind(group)
        }
        let names = aliases
        aliases = [:]
        defer { aliases = names }
        return try bind(statement.projections[number].value)
    }

    fileprivate mutating func bindOrder(
        _ term: Expression, _ columns: [SelectPlan.Column]
    ) throws -> (BoundExpression, text: String) {
        guard let number = try column(term.withoutCollation, "ORDER BY", of: columns.count) else {
            return (try bindCompared([term])[0], term.text)
        }
        return (try collated(columns[number].value, as: term), columns[number].name)
    }

    fileprivate mutating func columns(of statement: SelectStatement) throws -> [SelectPlan.Column] {
        var columns: [SelectPlan.Column] = []
        var names: Set<String> = []
        for projection in statement.projections {
            let added: [SelectPlan.Column]
            if case .star(let alias, let place) = projection.value {
                added = try star(alias, at: place)
            } else {
                let value = try bind(projection.value)
                let name = projection.alias ?? projection.value.lastName ?? projection.text
                added = [SelectPlan.Column(name: name, value: value)]
            }
            if let other = added.first(where: { !names.insert($0.name).inserted }) {
                throw failure(
                    "two columns of the result are called “\(other.name)”: give one another name with AS",
                    at: projection.place)
            }
            columns += added
            guard columns.count <= SelectPlan.maxColumns else {
                throw failure("more than \(SelectPlan.maxColumns) columns of the result", at: projection.place)
            }
        }
        return columns
    }

    /// All columns of a source, or of all sources. Columns whose names are ambiguous are prefixed with their source's
    /// name.
    private mutating func star(_ alias: String?, at place: TextPlace) throws -> [SelectPlan.Column] {
        if grouping != nil { throw failure("* has no place in groups: name what is grouped by", at: place) }
        let chosen = sources.filter { !$0.isImplicit && (alias == nil || $0.alias == alias) }
        if let alias, chosen.isEmpty { throw failure("no source is called “\(alias)”", at: place) }
        let names = chosen.flatMap { $0.type?.shownColumns.map(\.name) ?? $0.fields ?? [$0.alias] }
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        var columns: [SelectPlan.Column] = []
        for source in chosen {
            guard let type = source.type else {
                if let slot = source.elementSlot, let fields = source.fields {
                    for field in fields {
                        let name = counts[field] == 1 ? field : "\(source.alias).\(field)"
                        columns.append(SelectPlan.Column(name: name, value: .field(.slot(slot), field)))
                    }
                } else if let slot = source.elementSlot {
                    let name = counts[source.alias] == 1 ? source.alias : "\(source.alias)[]"
                    columns.append(SelectPlan.Column(name: name, value: .slot(slot)))
                }
                continue
            }
            for (number, column) in type.shownColumns {
                let name = counts[column] == 1 ? column : "\(source.alias).\(column)"
                columns.append(SelectPlan.Column(name: name, value: slot(.column(number), of: source)))
            }
        }
        return columns
    }
}

extension EntityType {
    /// The columns that `*` means, without the store's own ones, whose names begin with a dollar sign.
    var shownColumns: [(number: Int, name: String)] {
        description.columns.enumerated().filter { !$1.name.hasPrefix("$") }.map { ($0, $1.name) }
    }
}

extension Expression {
    /// The name of a column without an alias: the last name of a path.
    fileprivate var lastName: String? {
        switch self {
        case .path(let path):
            for case .name(let name) in path.steps.reversed() { return name }
            return nil
        case .meta(let field, _, _): return field.rawValue
        default: return nil
        }
    }
}
