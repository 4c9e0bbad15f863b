// SPDX-License-Identifier: Apache-2.0
// A query for entities of one type: a value that is built in steps and needs no context until it is resolved. Steps
// that a single plan can answer are combined. Any other step (such as a filter after a limit) starts a new query over
// the rows of the one before.

/// The source of a list's rows.
enum RowSource: Sendable {
    /// All rows of the type. In a list nested in a query, all rows that an entity's links lead to.
    case all
    case own(RowListSource)
    /// The rows that earlier steps have selected, from all rows or from the linked ones.
    case steps(@Sendable (TypedTransaction, NestedLevel?) throws -> [RowID])
}

/// The contents of a list, without the type of its entities. In generic code each copy of a value with such a type
/// looks the type up in tables, which took 2,000 instructions in a query of five steps.
package struct ListParts: Sendable {
    var source = RowSource.all
    var filter = Filter.all
    /// Terms without the entity's type: in generic code a list of typed keys costs a look-up of types.
    var order: [SortTerm] = []
    /// Whether the first filter was a full-text match, whose order is by relevance.
    var isRanked = false
    var limit: Int?
    var offset = 0
    /// The `NestedSteps` of the list's entity type: the relations loaded with the entities. Nil if there are none.
    var nested: (any AnyObject & Sendable)?
    /// The id, if the query asks for one id and nothing else. `related` then leaves the links to the planner.
    var singleID: Value?
    /// The position after which the list continues.
    var after: (@Sendable (EntityStore) throws -> QueryPosition)?
    /// The context of a query that begins with it.
    package var context: Context?
    /// Whether entities that are equal in the order may come in any order.
    var ignoresTies = false
    /// Whether testing or sorting all rows of the type is an error.
    var requiresIndex = false
    /// Whether the list, nested in a query, has its own rows instead of the linked ones.
    var ignoresLinks = false
    /// The name of the hand-kept index that the rows come from.
    var list: String?
    /// The number of levels of lists within this one: lists that its steps work on, and nested ones.
    private(set) var depth = 0

    /// Maximum depth of lists within one another. Resolving a list resolves the lists within it, and a thread's stack
    /// may be as small as 512 KiB.
    static let maximumDepth = 32

    /// Notes that this list contains others with `depth` levels of lists in them. If there are too many levels, the
    /// others are released, and resolving this list throws `.tooLarge`.
    mutating func hold(_ depth: Int) {
        self.depth = max(self.depth, depth + 1)
        guard self.depth > Self.maximumDepth else { return }
        self = ListParts(
            source: .steps { _, _ in
                throw HornbeamError(
                    .tooLarge,
                    "a query nests more than \(Self.maximumDepth) lists (steps after a limit, `or`, `and`, relations, "
                        + "nested lists): join conditions to one filter, or resolve a part and continue "
                        + "from its ids")
            }, context: context)
        self.depth = Self.maximumDepth + 1
    }

    /// Whether a limit or offset cuts the list, so that a later filter must apply after it.
    var isCut: Bool { limit != nil || offset != 0 }

    /// Whether the list is a part of the selected entities, so that a later sort must apply after it.
    var isPart: Bool { isCut || after != nil }

    /// Whether the list, nested in a query, may leave out some of the linked entities.
    var leavesOut: Bool {
        guard case .all = source, case .all = filter else { return true }
        return isPart || ignoresLinks
    }

    /// Cuts the list, which may be cut already.
    mutating func cut(_ limit: Int, offset more: Int) {
        self.limit = min(limit, self.limit.map { max(0, $0 - more) } ?? .max)
        let (sum, overflow) = offset.addingReportingOverflow(more)
        offset = overflow ? .max : sum
    }

    /// Joins a condition to the present ones.
    mutating func add(_ condition: Filter, isRanked: Bool) {
        guard case .all = filter else {
            filter = filter.and(condition)
            return
        }
        filter = condition
        if case .all = source, order.isEmpty, after == nil { self.isRanked = isRanked }
    }
}

/// A query for a list of entities of one type, which selects and orders them and loads their relations.
///
/// Without `sorted`, entities come in the order of their row ids, of the ids in the query, or of linking.
public struct QueryList<Entity: EntityModelProtocol>: Sendable {
    package var parts: ListParts

    /// Makes a query for all entities of the type. With a context it can be resolved without an argument.
    public init(context: Context? = nil) {
        parts = ListParts(context: context)
    }

    init(_ parts: ListParts) {
        self.parts = parts
    }

    init(context: Context?, rows: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        parts = ListParts(source: .own(RowListSource(rows)), context: context)
    }

    /// A list of the entities of a hand-kept index.
    package init(listed name: String, rows: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        parts = ListParts(source: .own(RowListSource(rows)), list: name)
    }

    /// A list over a hand-kept index with positional access.
    package init(
        context: Context? = nil, list: String, rows: @escaping @Sendable (TypedTransaction) throws -> any RowList
    ) {
        parts = ListParts(source: .own(RowListSource(list: rows)), context: context, list: list)
    }

    /// A list of the entities that one entity's relation leads to, in the order of linking.
    init(context: Context?, linked: RelationSource) {
        parts = ListParts(filter: .related(linked), context: context)
    }

    var source: RowSource { parts.source }
    var filter: Filter { parts.filter }
    var order: [SortTerm] { parts.order }
    var isRanked: Bool { parts.isRanked }
    var limit: Int? { parts.limit }
    var offset: Int { parts.offset }
    var singleID: Value? { parts.singleID }
    var context: Context? { parts.context }

    var nested: NestedSteps<Entity>? {
        get { parts.nested.map { unsafeDowncast($0, to: NestedSteps<Entity>.self) } }
        set { parts.nested = newValue }
    }

    /// Whether the list is exactly the rows of its source, in the source's order.
    var isWhole: Bool {
        guard case .all = filter else { return false }
        return order.isEmpty && !parts.isPart
    }
}

// MARK: - Selecting

// Steps consume the list, so that a chain of steps makes no copies. In a nested query, all lists of the related type
// select from the linked entities, including the lists that they are combined with.

extension QueryList {
    /// Returns a list of the entities that pass the condition, to combine with another: `.or(.filter(\.age == 30))`.
    public static func filter(_ predicate: Predicate<Entity>) -> Self {
        Self().filter(predicate)
    }

    public static func filter(_ predicate: Predicate<Entity>, in context: Context) -> Self {
        Self(context: context).filter(predicate)
    }

    /// Keeps only the entities that pass the condition. If the first condition is a full-text match by an index, a list
    /// without a sort has the best hits first. A match after another condition, or joined to one by `&&`, only selects.
    public consuming func filter(_ predicate: Predicate<Entity>) -> Self {
        let isCut = parts.isCut
        var list = settled(if: isCut)
        list.parts.add(predicate.filter, isRanked: predicate.isRanked)
        return list
    }

    /// Keeps only the entities that pass the condition, like `filter`.
    public func and(_ predicate: Predicate<Entity>) -> Self {
        filter(predicate)
    }

    /// Returns the entities that are in both lists, in the order of this one.
    public func and(_ other: Self) -> Self {
        if isPlain, other.isPlain {
            var list = self
            list.parts.filter = filter.and(other.filter)
            return list
        }
        return combined(with: other) { session, level in
            let right = Set(try other.rows(session, in: level))
            return try rows(session, in: level).filter(right.contains)
        }
    }

    /// Returns the entities that are in this list or pass the condition, like `or` with a list of that filter.
    public func or(_ predicate: Predicate<Entity>) -> Self {
        or(.filter(predicate))
    }

    /// Returns the entities that are in either list. Two lists with only filters, without order or limit, become one
    /// filter, which is planned, counted and observed as a whole; its entities come in the order of their row ids.
    /// Otherwise the entities of this list come first, in its order, then those of the other that aren't in it.
    public func or(_ other: Self) -> Self {
        if isPlain, other.isPlain {
            var list = self
            list.parts.filter = filter.or(other.filter)
            return list
        }
        return combined(with: other) { session, level in
            let left = try rows(session, in: level)
            let known = Set(left)
            return left + (try other.rows(session, in: level)).filter { !known.contains($0) }
        }
    }

    /// Keeps each entity once, at its first position.
    public func distinct() -> Self {
        if case .all = source { return self }
        return combined { session, level in
            var seen: Set<RowID> = []
            return try rows(session, in: level).filter { seen.insert($0).inserted }
        }
    }

    /// Limits the number of entities, after skipping `offset` of them. A second limit applies to the result of the
    /// first. The list is empty if one of the two is negative.
    public consuming func limit(_ limit: Int, offset: Int = 0) -> Self {
        var list = self
        list.parts.cut(offset < 0 ? 0 : Swift.max(0, limit), offset: Swift.max(0, offset))
        return list
    }

    /// Returns a query for the first entity.
    public func first() -> Query<Entity> {
        Query(limit(1))
    }

    /// Returns a query for the last entity. If an index gives the order, it takes O(log n), plus the time for entities
    /// that are equal to the last in the order. If a condition is tested on rows, the rows after the last one that
    /// passes are read too. With such a condition and without a sort, all entities that pass are read.
    public func last() -> Query<Entity> {
        Query(
            combined { session, level in
                guard case .all = source, level == nil, !isCut else {
                    guard let listed = try listed(session, in: level) else { return try rows(session).suffix(1) }
                    return try listed.last().map { [$0] } ?? []
                }
                return try session.core(for: Entity.self).lastRow(coreQuery).map { [$0] } ?? []
            })
    }

    private var isCut: Bool { parts.isCut }

    /// Whether the list is only a filter, without an order of its own.
    private var isPlain: Bool {
        guard case .all = source else { return false }
        if case .related = filter.conjuncts.first { return false }
        return order.isEmpty && !isRanked && !parts.isPart
    }

    /// Returns the list, or a new one over its rows if the next step would change the selection of these rows.
    private consuming func settled(if isChanged: Bool) -> Self {
        guard isChanged else { return self }
        let list = self
        return list.combined { session, level in try list.rows(session, in: level) }
    }

    /// Returns a new list over other rows, with this one's context and nested steps.
    /// - Parameter other: a second list that the rows come from.
    func combined(
        with other: Self? = nil, _ rows: @escaping @Sendable (TypedTransaction, NestedLevel?) throws -> [RowID]
    ) -> Self {
        var list = Self(ListParts(source: .steps(rows), context: context))
        list.nested = nested
        list.parts.ignoresLinks = parts.ignoresLinks
        list.parts.requiresIndex = parts.requiresIndex
        list.parts.hold(Swift.max(parts.depth, other?.parts.depth ?? 0))
        return list
    }

    /// Returns this list with the requirement that it never tests or sorts all entities of a type, neither its own nor
    /// a related one in a condition. Resolving throws `.needsIndex`, with the plan, unless an index, ids, a relation or
    /// a search narrow the rows or give their order. An index is used even if reading all rows is cheaper, so that the
    /// result of a test with few entities is valid for many. Reading all entities of a type in the order of their row
    /// ids is allowed, and a sort by id needs no index. If other steps follow a `limit`, write this before the `limit`:
    /// it applies to the steps that are planned together with it, and to later ones.
    public func requiringIndex() -> Self {
        var list = self
        list.parts.requiresIndex = true
        return list
    }
}

// MARK: - Ordering

extension QueryList {
    /// Sorts by one or more properties, each ascending or `.desc`. Entities that are equal in the order come in the
    /// order of their row ids. A computed property must not use a context: while a query runs, its rows lie in pages
    /// that a write may move.
    public consuming func sorted<each Property: Comparable & Sendable>(
        by keyPath: repeat KeyPath<Entity, each Property>
    ) -> Self {
        var terms: [SortTerm] = []
        for path in repeat each keyPath { terms.append(SortKey<Entity>(path).term) }
        return sorted(terms)
    }

    /// Sorts by an optional property, nil first. As above, a computed one must not use a context.
    public consuming func sorted<Property: Comparable & Sendable>(
        by keyPath: KeyPath<Entity, Property?>
    ) -> Self {
        sorted([SortKey<Entity>(optional: keyPath).term])
    }

    /// Makes the compiler explain a sort by an enum that isn't `Comparable`.
    @available(
        *, unavailable,
        message:
            "a sort needs properties with an order: make the type Comparable; a Bool is sorted by '.asc' or '.desc'"
    )
    public consuming func sorted<each Property>(by keyPath: repeat KeyPath<Entity, each Property>) -> Self { self }

    consuming func sorted(_ terms: [SortTerm]) -> Self {
        let isPart = parts.isPart
        var list = settled(if: isPart)
        list.parts.order = terms
        list.parts.isRanked = false
        for term in terms {
            if case .refused(let error) = term.key { list.parts.add(.refused(error), isRanked: false) }
        }
        return list
    }

    /// Keeps only the entities after `entity` in the order that the query has at this step: `query.after(last)` is the
    /// page after the one that ended with `last`, even if entities were inserted or deleted meanwhile. The limit counts
    /// from there. A later `sorted` orders the rest, and a later `after` replaces this one. Finding the place takes
    /// O(log n) if an index is over just the order's properties, or in the order of linking. A list in the order of
    /// relevance continues after the entity's present score, and throws `.invalid` if the search doesn't find the
    /// entity any more.
    ///
    /// The values in `entity` determine the place, so it need not be stored any more. Entities that are equal in the
    /// order come in the order of their row ids. An integer id from zero on is the row id. Other ids have a row id only
    /// while the entity is stored: if it isn't, and the query selects entities that are equal to it in the order,
    /// resolving throws `.invalid`. To avoid that, sort by the id as well. Resolving also throws `.invalid` if the
    /// entity isn't stored and only the stored one could determine the place: without a sort, or in a sort by the last
    /// save or by numbers of related entities. In these orders the present place counts, not the place when the entity
    /// was read. If the entity was deleted and saved again, its present row counts.
    public consuming func after(_ entity: Entity) -> Self {
        var list = self
        list.parts.after = { store in
            let id = entity.id.columnValue
            var writer = store.makeRow()
            entity.write(to: &writer)
            // Only the stored row has the metadata that the store keeps beside the properties.
            if let rowID = try store.rowID(ofAny: id), let row = try store.row(rowID) {
                for (column, description) in store.type.description.columns.enumerated() where description.isHidden {
                    writer.setRaw(try row.rawBytes(column), column)
                }
            }
            return QueryPosition(id: id, row: try writer.finish())
        }
        return list
    }
}

extension QueryList {
    /// Keeps only the entities after a hit of this search. The place is that of the hit when it was found: its score
    /// and, if the list is sorted by the score and by properties, its values then. Later changes of the entity don't
    /// move this place, and the list doesn't return the entity again while it keeps its row. Resolving throws
    /// `.invalid` if the list has no scores (see `ranked(in:)`), or if the hit is from a list with another sort.
    public consuming func after(_ hit: Ranked<Entity>) -> Self {
        let place = HitPlace(row: hit.row, score: hit.score)
        let (id, values) = (hit.id, hit.values)
        var list = self
        list.parts.after = { _ in QueryPosition(id: id.columnValue, row: values ?? [], hit: place) }
        return list
    }
}

// MARK: - Resolving

extension QueryList {
    /// Returns the entities. Ids that aren't stored are left out.
    public func resolve(in context: Context) throws -> [Entity] {
        try context.session.run { try parts.load(Entity.self, $0) }
    }

    /// Returns the entities, read in the context that the query began with. Throws `.invalid` without one.
    public func resolve() throws -> [Entity] {
        try resolve(in: try boundContext())
    }

    /// Returns the number of entities that `resolve` would give. If an index range covers the whole query, only counts
    /// are read.
    public func count(in context: Context) throws -> Int {
        try context.session.run { try count($0) }
    }

    func count(_ session: TypedTransaction) throws -> Int {
        try listed(session)?.count() ?? session.core(for: Entity.self).count(coreQuery)
    }

    /// Returns the number of entities, counted in the context that the query began with. Throws `.invalid` without one.
    public func count() throws -> Int {
        try count(in: try boundContext())
    }

    /// Returns the first entity, or nil if there is none.
    public func first(in context: Context) throws -> Entity? {
        try first().resolve(in: context)
    }

    /// Returns the last entity, or nil if there is none. For the cost see `last()`.
    public func last(in context: Context) throws -> Entity? {
        try last().resolve(in: context)
    }

    /// Returns the ids of the entities.
    public func ids(in context: Context) throws -> [Entity.ID] {
        try context.session.run { session in
            try rows(session).compactMap { try session.id(of: $0, Entity.self) }
        }
    }

    /// Returns the plan of the query: access path, index, exact counts of index ranges. A query over the rows of
    /// another one (after a limit, along the relation of several entities) resolves that one first, and the plan
    /// doesn't include it.
    public func explain(in context: Context) throws -> Plan {
        var plan = try context.session.run { session in try self.plan(session) }
        plan.list = parts.list
        if let remark = unrankedRemark { plan.remarks.append(remark) }
        return plan
    }

    /// Runs the query and returns the plan with its results. It runs like `resolve`, but loads no nested relations, and
    /// counts the work of each step. A query over the rows of another one resolves that one first, and the counts don't
    /// include it.
    /// - Parameters:
    ///   - run: `.analyze`, which distinguishes it from `explain(in:)`, which doesn't run the query.
    ///   - context: the transaction to read in.
    public func explain(_ run: PlanRun.Kind, in context: Context) throws -> PlanRun {
        let clock = ContinuousClock()
        let start = clock.now
        var found = try context.session.run { session in try self.analysis(session) }
        found.duration = clock.now - start
        found.plan.list = parts.list
        if let remark = unrankedRemark { found.plan.remarks.append(remark) }
        return found
    }

    /// Returns the hits with scores, best first. A hit's entity is read only when it is used. The query must begin with
    /// a full-text match by an index, and must not be sorted, or be sorted by the score first:
    /// `sorted(by: .score, .by(\.title))`. Any other query throws `.invalid`. For example,
    /// `filter(match && \.language == "en")` and `filter(\.language == "en").filter(match)` find the same entities, but
    /// not in the order of relevance.
    public func ranked(in context: Context) throws -> [Ranked<Entity>] {
        // Errors of its rows are reported first.
        _ = try context.session.run { try parts.base($0, in: nil, of: Entity.self) }
        let match = try rankedMatch()
        return try context.session.run { session in
            let found = try session.core(for: Entity.self).ranked(coreQuery)
            var hits: [Ranked<Entity>] = []
            hits.reserveCapacity(found.count)
            // `after` needs the values that decide between equal scores.
            let hasTies = order.count > 1
            let search = RankedSearch(match, in: context)
            let store = try session.store(Entity.self)
            // A loop, because `map` in generic code goes through tables of functions.
            for (row, score) in found {
                guard let id = try session.id(of: row, in: store, Entity.self) else { continue }
                let values = hasTies ? try session.store(Entity.self).row(row).map { Array($0.bytes) } : nil
                hits.append(Ranked(id: id, score: score, row: row, values: values, of: search))
            }
            return hits
        }
    }

    /// Whether the list is in the order of its search's scores, if it has one.
    private var isByScore: Bool { isRanked || order.first?.isBestScore ?? false }

    /// Returns the full-text match whose scores give the list's order.
    private func rankedMatch() throws(HornbeamError) -> TextMatch {
        var found: TextMatch?
        for case .matches(let match) in filter.conjuncts {
            if let problem = match.problem { throw problem }
            if found == nil, Entity.entityShape.isSearched(by: match) { found = match }
        }
        guard case .all = source, let found else {
            throw HornbeamError(
                .invalid,
                "only a query that begins with a match in a full-text index, and isn't sorted by something else, has "
                    + "scores: write filter(.string(…, matches: …)) over exactly the properties of the index first, in "
                    + "their order. Phrases, words near each other, fields and weights of fields need an "
                    + "index with positions")
        }
        if isByScore { return found }
        throw HornbeamError(
            .invalid,
            order.isEmpty
                ? "this query of \(Entity.entityName) isn't in the order of relevance, and so has no scores, because "
                    + "its match doesn't come first: put that first, as filter(.string(…, matches: …)).filter(…), or "
                    + "sort by it, sorted(by: .score)"
                : "this query of \(Entity.entityName) is sorted by something else than the score, and so has no "
                    + "scores: leave the sort out, or write sorted(by: .score, …)")
    }

    /// The remark for a search whose list has no order, neither by score nor another. Nil for other lists.
    private var unrankedRemark: String? {
        guard case .all = source, !isRanked, order.isEmpty else { return nil }
        var isSearch = false
        for part in filter.conjuncts {
            switch part {
            case .ids, .related: return nil
            case .matches(let match): isSearch = isSearch || Entity.entityShape.isSearched(by: match)
            default: continue
            }
        }
        return isSearch ? "not in the order of relevance: put the match first, or sort by the score" : nil
    }

    /// Explains the score of an entity: the numbers that the search adds up, as a tree. Returns nil if the search
    /// doesn't find the entity. Conditions beside the full-text match don't count. Throws `.invalid` for queries
    /// without scores: see `ranked(in:)`.
    public func explainScore(of id: Entity.ID, in context: Context) throws -> ScoreExplanation? {
        let match = try rankedMatch()
        return try context.session.run { session in
            let store = try session.store(Entity.self)
            guard let index = try store.type.textIndex(for: match, among: filter.conjuncts),
                let rowID = try store.rowID(ofAny: id.columnValue)
            else { return nil }
            try match.requireSense(store.type)
            return try IndexSearch(index, match, store).explain(rowID).map { ScoreExplanation($0) }
        }
    }

    func boundContext() throws -> Context {
        guard let context else {
            throw HornbeamError(.invalid, "this query has no context: write resolve(in: context)")
        }
        return context
    }
}
