// SPDX-License-Identifier: Apache-2.0
// Resolves the names of a statement against the schema: sources first, in their order, then the expressions. A column
// that is read gets a slot in the frame. A path through a to-one relation adds a source for the related entity.

/// The content of a slot.
enum SlotContent: Equatable {
    case column(Int)
    /// The id that a to-one relation leads to, or null. Links to entities that aren't stored count neither here nor
    /// below.
    case link(String)
    /// The ids that a to-many relation leads to.
    case links(String)
    /// The entities that a to-many relation leads to, as objects with all their columns.
    case linkedObjects(String)
    /// All columns, as an object.
    case whole
    /// Whether the match of this number finds the row.
    case match(Int)
    /// The score of that match.
    case score(Int)
    /// A passage of the row with the found words.
    case snippet(SnippetForm)
}

/// A source of a statement's rows. A class, because expressions that are bound later add the columns they need.
final class BoundSource {
    enum Rows {
        /// All entities of the type: the first source.
        case scan
        /// The entities that a relation leads to from the row of an earlier source.
        case link(from: Int, EdgeSide)
        /// All entities of the type for which the conditions hold.
        case join([BoundExpression])
        /// The elements of an array.
        case elements(BoundExpression)
    }

    let number: Int
    let alias: String
    /// The entity type, nil for elements of an array.
    let type: EntityType?
    var rows: Rows
    /// Whether rows without a match in this source stay, with nulls.
    let isOuter: Bool
    /// Whether a path has created it. No name leads to such a source.
    let isImplicit: Bool
    var contents: [(slot: Int, content: SlotContent)] = []
    /// The slot of the element of an array.
    var elementSlot: Int?
    /// The names of the columns, if the elements are the rows of a subquery.
    var fields: [String]?
    /// The conditions of ON, if the elements are the rows of a subquery.
    var on: [BoundExpression] = []

    init(_ number: Int, _ alias: String, _ type: EntityType?, _ rows: Rows, isOuter: Bool, isImplicit: Bool = false) {
        self.number = number
        self.alias = alias
        self.type = type
        self.rows = rows
        self.isOuter = isOuter
        self.isImplicit = isImplicit
    }
}

extension BoundSource {
    /// Whether this is the name of the source, or of a column or relation that it has.
    func isNamed(_ name: String) -> Bool { !isImplicit && (alias == name || has(name)) }

    /// Whether it has a column or a relation of this name.
    func has(_ name: String) -> Bool {
        if let fields { return fields.contains(name) }
        guard let type else { return false }
        return type.description.column(name) != nil || type.relations.contains { $0.name == name }
    }

    /// The names that may follow the source in a path.
    var names: [String] { fields ?? type?.names ?? [] }

    /// The conditions of ON.
    var joinConditions: [BoundExpression] { if case .join(let conditions) = rows { conditions } else { on } }
}

/// A full-text condition of a statement.
struct BoundMatch {
    var source: Int
    /// The search, nil if the text to look for is null.
    var match: TextMatch?
}

/// Binds one statement, once.
struct Binder {
    let text: String
    let schema: Schema
    /// The transaction, nil if only names are resolved.
    let core: StoreTransaction?
    let inputs: StatementInputs
    /// The sources of the statement around a subquery, which it can't use.
    var outer: [BoundSource] = []
    var sources: [BoundSource] = []
    var matches: [BoundMatch] = []
    /// The source that owns each slot, nil for variables.
    private(set) var owners: [Int?] = []
    /// The variables of the quantifiers around the expression that is bound.
    private var variables: [(name: String, slot: Int)] = []
    /// The slots of variables by depth, so that equal expressions have equal slots.
    private var variableSlots: [Int] = []
    /// The size of the constant values that were computed while expressions were bound.
    var folded = 0
    /// Set while clauses after a grouping are bound.
    var grouping: GroupScope?
    /// The expressions of the result's columns by their aliases, for later clauses.
    var aliases: [String: Expression] = [:]
    /// The aliases of all columns of the result, for errors.
    var resultNames: [String] = []

    init(_ text: String, _ core: StoreTransaction, _ inputs: StatementInputs) {
        self.text = text
        self.core = core
        schema = core.schema
        self.inputs = inputs
    }

    /// Makes a binder for expressions on one type. It resolves names only, without a transaction.
    init(_ text: String, to type: EntityDescription) throws {
        self.text = text
        core = nil
        schema = Schema(types: [EntityType(named: type)])
        inputs = StatementInputs()
        try bindSources(SelectStatement(projections: [], source: Source(type: type.name, place: 0)))
    }

    func failure(_ what: String, at place: TextPlace) -> HornbeamError {
        StatementFailure.error(what, in: text, at: place)
    }

    // MARK: Slots

    var slotCount: Int { owners.count }

    private mutating func makeSlot(of source: Int?) -> Int {
        owners.append(source)
        return owners.count - 1
    }

    /// The slot of a source's content, made if there is none yet.
    mutating func slot(_ content: SlotContent, of source: BoundSource) -> BoundExpression {
        if let known = source.contents.first(where: { $0.content == content }) { return .slot(known.slot) }
        let slot = makeSlot(of: source.number)
        source.contents.append((slot, content))
        return .slot(slot)
    }

    /// Returns the content of a slot and its source, or nil for elements and variables.
    func content(of slot: Int) -> (source: BoundSource, content: SlotContent)? {
        guard let owner = owners[slot], let found = sources[owner].contents.first(where: { $0.slot == slot }) else {
            return nil
        }
        return (sources[owner], found.content)
    }

    /// The last source that an expression needs; -1 for a constant.
    func lastSource(of expression: BoundExpression) -> Int {
        expression.slots.reduce(-1) { max($0, owners[$1] ?? -1) }
    }

    // MARK: Sources

    /// Entity types that a statement can name.
    private var typeNames: [String] {
        schema.typeNames.filter { !EntityDescription.isTombstone($0) }
    }

    func type(_ name: String, at place: TextPlace) throws -> EntityType {
        if name == "_" {
            guard typeNames.count == 1 else {
                throw failure(
                    "“_” stands for the only entity type, and there are \(typeNames.count): name one of "
                        + typeNames.joined(separator: ", "), at: place)
            }
            return try schema.type(typeNames[0])
        }
        guard let type = schema.types[name] else {
            throw failure("there is no entity type “\(name)”" + hint(name, typeNames), at: place)
        }
        return type
    }

    /// “; did you mean …?”, or the list of names.
    func hint(_ name: String, _ names: [String]) -> String {
        if let hint = NearestName.hint(name, among: names) { return "; \(hint)" }
        return names.isEmpty ? "" : "; there are \(names.joined(separator: ", "))"
    }

    private mutating func add(
        _ alias: String, _ type: EntityType?, _ rows: BoundSource.Rows, isOuter: Bool, isImplicit: Bool = false,
        at place: TextPlace
    ) throws -> BoundSource {
        if !isImplicit, let other = sources.first(where: { !$0.isImplicit && $0.alias == alias }) {
            throw failure("two sources are called “\(other.alias)”: give one another name with AS", at: place)
        }
        // Each source is a level of nested loops, on the stack.
        guard sources.count < 64 else { throw failure("more than 64 sources and relations", at: place) }
        let source = BoundSource(sources.count, alias, type, rows, isOuter: isOuter, isImplicit: isImplicit)
        sources.append(source)
        return source
    }

    mutating func bindSources(_ statement: SelectStatement) throws {
        let source = statement.source
        let alias = source.alias ?? source.type
        if let query = source.query {
            _ = try addRows(of: query, alias, isOuter: false, at: source.place)
        } else {
            let type = try type(source.type, at: source.place)
            _ = try add(alias, type, .scan, isOuter: false, at: source.place)
        }
        for join in statement.joins { try bind(join) }
    }

    private mutating func bind(_ join: SourceJoin) throws {
        let isOuter = join.kind == .leftOuter
        switch join.target {
        case .type(let name, let on):
            let type = try type(name, at: join.place)
            let source = try add(join.alias ?? name, type, .scan, isOuter: isOuter, at: join.place)
            let condition = try bind(on)
            source.rows = .join(condition.conjuncts)
            if isOuter { try requireNoLater(source, at: join.place) }
        case .query(let query, let on):
            let source = try addRows(of: query, join.alias ?? "", isOuter: isOuter, at: join.place)
            source.on = try bind(on).conjuncts
            if isOuter { try requireNoLater(source, at: join.place) }
        case .relation(let path):
            guard let (from, side) = try relation(path) else {
                throw failure("\(path.text) is no relation", at: path.place)
            }
            try follow(side, from, join)
        case .elements(let array):
            if case .path(let path) = array, let (from, side) = try relation(path) {
                return try follow(side, from, join)
            }
            let bound = try bind(array)
            let name: String? =
                if case .path(let path) = array, case .name(let name)? = path.steps.last { name } else { nil }
            guard let alias = join.alias ?? name else {
                throw failure("elements need a name: UNNEST … AS name", at: join.place)
            }
            let source = try add(alias, nil, .elements(bound), isOuter: isOuter, at: join.place)
            source.elementSlot = makeSlot(of: source.number)
        }
    }

    private func requireNoLater(_ source: BoundSource, at place: TextPlace) throws {
        guard source.joinConditions.contains(where: { lastSource(of: $0) > source.number }) else { return }
        throw failure(
            "the condition of a LEFT JOIN can't go through a relation of \(source.alias): join along the relation "
                + "instead", at: place)
    }

    /// Adds the rows of a subquery, which are the elements of an array.
    private mutating func addRows(
        of query: Expression, _ alias: String, isOuter: Bool, at place: TextPlace
    ) throws -> BoundSource {
        let rows = try rows(of: query)
        let source = try add(alias, nil, .elements(.constant(.array(rows.items))), isOuter: isOuter, at: place)
        source.elementSlot = makeSlot(of: source.number)
        source.fields = rows.fields
        return source
    }

    private mutating func follow(_ side: EdgeSide, _ from: Int, _ join: SourceJoin) throws {
        _ = try add(
            join.alias ?? side.name, try schema.type(side.target), .link(from: from, side),
            isOuter: join.kind == .leftOuter, at: join.place)
    }

    /// The relation that a path leads to, and the source that has it; nil if it is something else.
    private mutating func relation(_ path: Path) throws -> (from: Int, side: EdgeSide)? {
        var names: [String] = []
        for step in path.steps {
            guard case .name(let name) = step else { return nil }
            names.append(name)
        }
        var source: BoundSource
        if names.count > 1, let named = sources.first(where: { !$0.isImplicit && $0.alias == names[0] }) {
            source = named
            names.removeFirst()
        } else if let owner = try owner(of: names[0], at: path.place) {
            source = owner
        } else {
            return nil
        }
        while let name = names.first {
            guard let side = source.type?.relations.first(where: { $0.name == name }) else { return nil }
            names.removeFirst()
            if names.isEmpty { return (source.number, side) }
            guard !side.isToMany else { return nil }
            source = try linked(side, from: source, at: path.place)
        }
        return nil
    }

    /// The source that follows a to-one relation for paths.
    private mutating func linked(_ side: EdgeSide, from source: BoundSource, at place: TextPlace) throws -> BoundSource
    {
        for known in sources where known.isImplicit {
            if case .link(source.number, let other) = known.rows, other.name == side.name { return known }
        }
        return try add(
            "\(source.alias).\(side.name)", try schema.type(side.target), .link(from: source.number, side),
            isOuter: true, isImplicit: true, at: place)
    }

    // MARK: Names

    /// The only source that has a column or relation of this name.
    func owner(of name: String, at place: TextPlace) throws -> BoundSource? {
        let owners = sources.filter { !$0.isImplicit && $0.has(name) }
        guard owners.count < 2 else {
            let names = owners.map { "\($0.alias).\(name)" }
            throw failure("“\(name)” may be \(names.joined(separator: " or ")): write which", at: place)
        }
        return owners.first
    }

    /// Binds the expression that a path leads to.
    /// - Parameter asObjects: whether a to-many relation gives objects, not ids.
    mutating func bind(_ path: Path, asObjects: Bool = false) throws -> BoundExpression {
        if let variable = variables.last(where: { $0.name == path.head }) {
            return follow(path.steps.dropFirst(), of: .slot(variable.slot))
        }
        if let source = sources.first(where: { !$0.isImplicit && $0.alias == path.head }) {
            if let slot = source.elementSlot {
                let steps = path.steps.dropFirst()
                if source.fields != nil, case .name(let name)? = steps.first, !source.has(name) {
                    throw failure("\(source.alias) has no “\(name)”" + hint(name, source.names), at: path.place)
                }
                return follow(steps, of: .slot(slot))
            }
            return try bind(path.steps.dropFirst(), of: source, path, asObjects)
        }
        if let source = try owner(of: path.head, at: path.place) {
            if let slot = source.elementSlot { return follow(path.steps[...], of: .slot(slot)) }
            return try bind(path.steps[...], of: source, path, asObjects)
        }
        let types = sources.filter { !$0.isImplicit }
        if resultNames.contains(path.head) {
            throw failure(
                "“\(path.head)” is a column of the result, which isn't known yet here: write what it stands for",
                at: path.place)
        }
        if outer.contains(where: { $0.isNamed(path.head) }) {
            throw failure(
                "“\(path.head)” belongs to the statement around this subquery, which can't use its rows: JOIN the "
                    + "types, or write ANY x IN relation SATISFIES … END", at: path.place)
        }
        let names = types.flatMap { [$0.alias] + $0.names }
        let only = types.count == 1 ? types[0].type?.name ?? types[0].fields.map { _ in types[0].alias } : nil
        let owner = only.map { "\($0) has no “\(path.head)”" }
        let hint = SwiftSpelling.hint(name: path.head) ?? hint(path.head, names)
        throw failure((owner ?? "nothing is called “\(path.head)”") + hint, at: path.place)
    }

    private mutating func bind(
        _ steps: ArraySlice<Path.Step>, of source: BoundSource, _ path: Path, _ asObjects: Bool
    ) throws -> BoundExpression {
        guard let type = source.type, let first = steps.first else { return slot(.whole, of: source) }
        guard case .name(let name) = first else {
            throw failure("\(source.alias) is an entity, and no array", at: path.place)
        }
        let rest = steps.dropFirst()
        if let column = type.description.column(name) {
            if let next = rest.first { try check(next, of: type.description.columns[column], type, path) }
            return follow(rest, of: slot(.column(column), of: source))
        }
        guard let side = type.relations.first(where: { $0.name == name }) else {
            throw failure("\(type.name) has no “\(name)”" + hint(name, type.names), at: path.place)
        }
        if side.isToMany {
            if case .name(let next)? = rest.first {
                throw failure(
                    "\(type.name).\(name) leads to many, so it has no “\(next)”: JOIN \(source.alias).\(name) AS …, or "
                        + "ask with ANY", at: path.place)
            }
            return follow(rest, of: slot(asObjects ? .linkedObjects(name) : .links(name), of: source))
        }
        if rest.isEmpty { return slot(.link(name), of: source) }
        return try bind(rest, of: try linked(side, from: source, at: path.place), path, asObjects)
    }

    /// Refuses a step into a value without parts.
    private func check(
        _ step: Path.Step, of column: ColumnDescription, _ type: EntityType, _ path: Path
    ) throws(HornbeamError) {
        switch (column.type.unwrapped, step) {
        case (.json, _), (.array, .index): return
        case (_, .name(let name)):
            throw failure(
                "\(type.name).\(column.name) is \(column.type.withArticle), which has no “\(name)”", at: path.place)
        case (_, .index):
            throw failure("\(type.name).\(column.name) is \(column.type.withArticle), and no array", at: path.place)
        }
    }

    private func follow(_ steps: ArraySlice<Path.Step>, of base: BoundExpression) -> BoundExpression {
        steps.reduce(base) { base, step in
            switch step {
            case .name(let name): .field(base, name)
            case .index(let index): .element(base, index)
            }
        }
    }

    // MARK: Variables

    /// Binds expressions in which a variable is known.
    mutating func binding<Result>(
        _ name: String, _ body: (inout Binder) throws -> Result
    ) throws -> (slot: Int, result: Result) {
        if grouping != nil {
            let slot = grouping?.variableSlot(variables.count) ?? 0
            variables.append((name, slot))
            defer { variables.removeLast() }
            return (slot, try body(&self))
        }
        while variableSlots.count <= variables.count { variableSlots.append(makeSlot(of: nil)) }
        let slot = variableSlots[variables.count]
        variables.append((name, slot))
        defer { variables.removeLast() }
        return (slot, try body(&self))
    }

    var hasVariables: Bool { !variables.isEmpty }

    func isVariable(_ path: Path) -> Bool { variables.contains { $0.name == path.head } }

    // MARK: Parameters

    /// The value that is given for a parameter.
    func value(of parameter: Parameter) throws(HornbeamError) -> Value {
        if let value = inputs.value(of: parameter.name) { return value }
        switch parameter.name {
        case .position(let position): throw failure("no value is given for parameter \(position)", at: parameter.place)
        case .name(let name): throw failure("no value is given for parameter $\(name)", at: parameter.place)
        }
    }
}

extension EntityType {
    /// The columns and relations that a path may name.
    fileprivate var names: [String] { shownColumns.map(\.name) + relations.map(\.name) }
}
