// SPDX-License-Identifier: Apache-2.0
// A query for entities of one type: a value that is built up in steps and holds no context until it is resolved. Steps
// that a single plan can answer are combined. Any other step (such as a filter after a limit) starts a new query over
// the rows of the one before.

/// The source of a list's rows.
enum RowSource: Sendable {
    /// All rows of the type. In a list nested in a query, all rows that an entity's links lead to.
    case all
    case own(RowListSource)
    /// The rows that earlier steps have left, of all rows or of the linked ones.
    case steps(@Sendable (TypedTransaction, NestedLevel?) throws -> [RowID])
}

/// The contents of a list, without the type of its entities. In generic code each copy of a value that has this type
/// looks it up in tables, which took 2,000 instructions of a query of five steps.
package struct ListParts: Sendable {
    var source = RowSource.all
    var filter = Filter.all
    /// Terms, not keys of the entity: in generic code a list of these costs a look at tables of types.
    var order: [SortTerm] = []
    /// Whether the first filter was a full-text match, whose order is by relevance.
    var isRanked = false
    var limit: Int?
    var offset = 0
    /// `NestedSteps` of the list's own entity type: the relations loaded with the entities, nil if there are none.
    var nested: (any AnyObject & Sendable)?
    /// The id, if the query asks for one id and nothing else. It lets `related` leave the links to the planner.
    var singleID: Value?
    /// The position after which the list continues.
    var after: (@Sendable (EntityStore) throws -> QueryPosition)?
    /// The context of a query that begins with it.
    package var context: Context?
    /// Whether entities that are equal in the order may come in any order.
    var ignoresTies = false
    /// Whether it is an error to test or sort all rows of the type.
    var requiresIndex = false
    /// Whether the list, nested in a query, has its own rows, not the linked ones.
    var ignoresLinks = false
    /// The name of the hand-kept index that the rows come from.
    var list: String?
    /// The number of levels of lists within this one: lists that its steps work on, and nested ones.
    private(set) var depth = 0

    /// The greatest depth of lists within one another. Resolving a list resolves the lists within it, and the stack of
    /// a thread may be as small as 512 KiB.
    static let maximumDepth = 32

    /// Notes that this list has others in it, with `depth` levels of lists within those. Beyond the bound they are
    /// released, and resolving this list fails.
    mutating func hold(_ depth: Int) {
        self.depth = max(self.depth, depth + 1)
        guard self.depth > Self.maximumDepth else { return }
        self = ListParts(
            source: .steps { _, _ in
                throw HornbeamError(
                    .tooLarge,
                    "more than \(Self.maximumDepth) lists lie within one another in a query, by steps behind a limit, "
                        + "by or and and, along relations or nested: join conditions to one filter, or resolve a part "
                        + "and go on from its ids")
            }, context: context)
        self.depth = Self.maximumDepth + 1
    }

    /// Whether later filters would change the entities that a limit leaves.
    var isCut: Bool { limit != nil || offset != 0 }

    /// Whether a later order would change the entities that are left.
    var isPart: Bool { isCut || after != nil }

    /// Whether the list, nested in a query, may leave out some of the linked entities.
    var leavesOut: Bool {
        guard case .all = source, case .all = filter else { return true }
        return isPart || ignoresLinks
    }

    /// Takes a part of the list, which may already be a part.
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

/// A list of entities of one type, selected, ordered and completed.
///
/// Without `sorted`, entities come in the order of their row ids, of the ids that were asked for, or of linking.
public struct QueryList<Entity: EntityModelProtocol>: Sendable {
    package var parts: ListParts

    public init(context: Context? = nil) {
        parts = ListParts(context: context)
    }

    init(_ parts: ListParts) {
        self.parts = parts
    }

    init(context: Context?, rows: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        parts = ListParts(source: .own(RowListSource(rows)), context: context)
    }

    /// The entities of a hand-kept index.
    package init(listed name: String, rows: @escaping @Sendable (TypedTransaction) throws -> [RowID]) {
        parts = ListParts(source: .own(RowListSource(rows)), list: name)
    }

    /// A list over a hand-kept index with positional access.
    package init(
        context: Context? = nil, list: String, rows: @escaping @Sendable (TypedTransaction) throws -> any RowList
    ) {
        parts = ListParts(source: .own(RowListSource(list: rows)), context: context, list: list)
    }

    /// The entities that one entity's relation leads to, in the order of linking.
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

// Steps consume the list, so that a list made in a chain goes from step to step without a copy. Nested in a query, all
// lists of the related type choose from the linked entities, including the lists that one is combined with.

extension QueryList {
    /// A list to combine with: `.or(.filter(\.age == 30))`.
    public static func filter(_ predicate: Predicate<Entity>) -> Self {
        Self().filter(predicate)
    }

    public static func filter(_ predicate: Predicate<Entity>, in context: Context) -> Self {
        Self(context: context).filter(predicate)
    }

    /// Keeps the entities that pass the condition too. A list without an order whose first condition is a full-text
    /// match by an index comes best first. A match behind another condition, or joined to one by `&&`, only selects.
    public consuming func filter(_ predicate: Predicate<Entity>) -> Self {
        let isCut = parts.isCut
        var list = settled(if: isCut)
        list.parts.add(predicate.filter, isRanked: predicate.isRanked)
        return list
    }

    public func and(_ predicate: Predicate<Entity>) -> Self {
        filter(predicate)
    }

    /// The entities that are in both lists, in the order of this one.
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

    /// The entities that are in this list or pass the condition, as `or` with a list that is this filter.
    public func or(_ predicate: Predicate<Entity>) -> Self {
        or(.filter(predicate))
    }

    /// The entities that are in either list. Two lists that are only filters, without order or limit, are joined to one
    /// filter, which is planned, counted and followed as a whole. Its entities come in the order of the rows. Otherwise
    /// the entities of this list come first, in its order, then those of the other that aren't in it.
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

    /// Limits the number of entities, after skipping `offset` of them. On a part of a list it takes a part of that
    /// part. There are none if one of the two is negative.
    public consuming func limit(_ limit: Int, offset: Int = 0) -> Self {
        var list = self
        list.parts.cut(offset < 0 ? 0 : Swift.max(0, limit), offset: Swift.max(0, offset))
        return list
    }

    /// The first entity.
    public func first() -> Query<Entity> {
        Query(limit(1))
    }

    /// The last entity. If an index gives the order, this takes O(log n), plus the time for the entities before it that
    /// are equal in the order. If a condition is tested on rows, the rows behind the last one that passes are read.
    /// Without a sort and with such a condition, all entities that pass are read.
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

    /// Whether the list is a filter and nothing else, without an order of its own.
    private var isPlain: Bool {
        guard case .all = source else { return false }
        if case .related = filter.conjuncts.first { return false }
        return order.isEmpty && !isRanked && !parts.isPart
    }

    /// Returns the list, or a new one over its rows if the next step would change which rows these are.
    private consuming func settled(if isChanged: Bool) -> Self {
        guard isChanged else { return self }
        let list = self
        return list.combined { session, level in try list.rows(session, in: level) }
    }

    /// A new list over other rows, with this one's context and nested steps.
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

    /// Returns this list with the requirement that it never reads every entity of a type, of its own or of one that a
    /// condition on related entities comes from. If neither an index nor ids, a relation or a search narrow the rows
    /// that are read or give their order, resolving throws `.needsIndex`, with the plan that it would have. An index is
    /// taken even where reading all rows is cheaper, so that a test with few entities holds for many. Reading all
    /// entities of a type in the order of its rows is allowed. An order by id needs no index. Write this before a
    /// `limit` that other steps follow: it applies to the steps that the planner sees together, and to those behind
    /// them.
    public func requiringIndex() -> Self {
        var list = self
        list.parts.requiresIndex = true
        return list
    }
}

// MARK: - Ordering

extension QueryList {
    /// Sorts by one property, or by several, each ascending or `.desc`. Entities that are equal in the order come in
    /// the order of their row ids. A computed property must not use a context: while a query runs, its rows lie in
    /// pages that a write may move.
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

    /// Keeps only the entities after `entity` in the order that the query has at this step. The limit counts from
    /// there. A later `sorted` orders the rest, and a later `after` replaces this one. `query.after(last)` is the page
    /// after the one that ended with `last`, even if entities were inserted or deleted meanwhile. By an index over just
    /// the order's properties, or in the order of linking, going there takes O(log n), however far it is. A list in the
    /// order of relevance goes on behind the entity's present score, and throws `.invalid` if the search doesn't find
    /// the entity any more.
    ///
    /// The place is that of the values in `entity`, which need not be stored any more. Entities that are equal in the
    /// order are ordered by their rows. Integer ids from zero on determine the row. Other ids do so only while the
    /// entity is stored: if it isn't, and the query selects entities that are equal to it in the order, this throws
    /// `.invalid`. To avoid that, sort by the id as well. It also throws `.invalid` if only the stored entity could
    /// determine its place: without a sort, or in a sort by the last save or by numbers of related entities. In these
    /// orders the present place counts, not that of when the entity was read. The present row also counts for an entity
    /// that was deleted and saved again.
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
    /// Keeps only the entities after a hit of the same search. The place is that of the hit when it was found: its
    /// score and, if the list is sorted by the score and by properties, the values that it had. Later changes of the
    /// entity don't move this place. The entity itself doesn't come again while it keeps its row. This is for lists
    /// that have scores, as described at `ranked(in:)`. It throws `.invalid` for other lists, and for a hit of a list
    /// with another sort than this one.
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

    /// Returns the entities, read in the context that the query began with.
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

    /// Returns the ids alone.
    public func ids(in context: Context) throws -> [Entity.ID] {
        try context.session.run { session in
            try rows(session).compactMap { try session.id(of: $0, Entity.self) }
        }
    }

    /// Returns the plan of the query: access path, index, exact counts of index ranges. A query over the rows of
    /// another one (behind a limit, along the relation of several entities) resolves that one first, and the plan is
    /// its own.
    public func explain(in context: Context) throws -> Plan {
        var plan = try context.session.run { session in try self.plan(session) }
        plan.list = parts.list
        if let remark = unrankedRemark { plan.remarks.append(remark) }
        return plan
    }

    /// Runs the query and returns the plan with its results. The query runs as by `resolve`, but without loading nested
    /// relations, and the work of each step is counted. A query over the rows of another one resolves that one first,
    /// and the counts are its own.
    /// - Parameters:
    ///   - run: `.analyze`, to tell it from `explain(in:)`, which runs nothing.
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

    /// Returns the hits with scores, best first. Entities are read when asked for. This is for queries that begin with
    /// a full-text match by an index and aren't sorted, or are sorted by the score first:
    /// `sorted(by: .score, .by(\.title))`. Any other query throws `.invalid`, with an error that says what to do. For
    /// example, `filter(match && \.language == "en")` and `filter(\.language == "en").filter(match)` find the same
    /// entities, but not in the order of relevance.
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
                    + "their order. Phrases, words near each other, fields and weights of fields have scores in an "
                    + "index with positions only")
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

    /// The remark on a search in a list that isn't in the order of its scores, though it has no other order.
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
    /// doesn't find the entity. Conditions beside the full-text match don't count. This is for queries that have
    /// scores: as for `ranked(in:)`, the match comes first, or the list is sorted by the score.
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
