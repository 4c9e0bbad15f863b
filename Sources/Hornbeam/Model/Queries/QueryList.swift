// SPDX-License-Identifier: Apache-2.0
// A query for entities of one type: a value that is built up in steps and holds no context until it is resolved. Steps
// that a single plan can answer are gathered; a step that can't join them (a filter behind a limit) starts a new query
// over the rows of the one before.

/// Where the rows of a list come from.
enum RowSource: Sendable {
    /// All of the type; nested in a query, all that an entity's links lead to.
    case all
    case own(RowListSource)
    /// What steps before have left, of all or of what is linked.
    case steps(@Sendable (TypedTransaction, NestedLevel?) throws -> [RowID])
}

/// What a list consists of, but for the type of its entities: in generic code each copy of something that has one looks
/// that up in tables, which took 2,000 instructions of a query of five steps.
package struct ListParts: Sendable {
    var source = RowSource.all
    var filter = Filter.all
    /// Terms, not keys of the entity: in generic code a list of these costs a look at tables of types.
    var order: [SortTerm] = []
    /// Whether the first filter was a full-text match, whose order is by relevance.
    var isRanked = false
    var limit: Int?
    var offset = 0
    /// `NestedSteps` of the list's own entity type: what is loaded with the entities; nil if nothing is.
    var nested: (any AnyObject & Sendable)?
    /// The one id that was asked for, while nothing else was: lets `related` leave the links to the planner.
    var singleID: Value?
    /// Where the list goes on.
    var after: (@Sendable (EntityStore) throws -> QueryPosition)?
    /// For the spelling with the context at the head.
    package var context: Context?
    /// Whether any of what is equal in the order may come first.
    var ignoresTies = false
    /// Whether it is an error to test or sort all rows of the type.
    var requiresIndex = false
    /// Nested in a query, the list is its own, not that of the links.
    var ignoresLinks = false
    /// The hand-kept index that the rows are of.
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

    /// Whether later filters would change which entities a limit leaves.
    var isCut: Bool { limit != nil || offset != 0 }

    /// Whether a later order would change which entities are left.
    var isPart: Bool { isCut || after != nil }

    /// Whether the list, nested in a query, may leave out some of the linked entities.
    var leavesOut: Bool {
        guard case .all = source, case .all = filter else { return true }
        return isPart || ignoresLinks
    }

    /// A part of what there is, which may be a part already.
    mutating func cut(_ limit: Int, offset more: Int) {
        self.limit = min(limit, self.limit.map { max(0, $0 - more) } ?? .max)
        let (sum, overflow) = offset.addingReportingOverflow(more)
        offset = overflow ? .max : sum
    }

    /// Joins a condition to those that are there.
    mutating func add(_ condition: Filter, isRanked: Bool) {
        guard case .all = filter else {
            filter = filter.and(condition)
            return
        }
        filter = condition
        if case .all = source, order.isEmpty, after == nil { self.isRanked = isRanked }
    }
}

/// Entities of one type, selected, ordered and completed.
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

    init(context: Context?, rows: @escaping @Sendable (TypedTransaction) throws -> [RowID], singleID: Value? = nil) {
        parts = ListParts(source: .own(RowListSource(rows)), singleID: singleID, context: context)
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

    /// Whether the list is just what its source gives, in the source's order.
    var isWhole: Bool {
        guard case .all = filter else { return false }
        return order.isEmpty && !parts.isPart
    }
}

// MARK: - Selecting

// Steps consume the list: one made in a chain goes from step to step without a copy. Nested in a query, all lists of
// the related type choose from the linked entities, also the lists that one is combined with.

extension QueryList {
    /// A list to combine with: `.or(.filter(\.age == 30))`.
    public static func filter(_ predicate: Predicate<Entity>) -> Self {
        Self().filter(predicate)
    }

    public static func filter(_ predicate: Predicate<Entity>, in context: Context) -> Self {
        Self(context: context).filter(predicate)
    }

    /// Those that pass the condition too. A list without an order whose first condition is a full-text match by an
    /// index comes best first; a match behind another condition, or joined to one by `&&`, only selects.
    public consuming func filter(_ predicate: Predicate<Entity>) -> Self {
        let isCut = parts.isCut
        var list = settled(if: isCut)
        list.parts.add(predicate.filter, isRanked: predicate.isRanked)
        return list
    }

    public func and(_ predicate: Predicate<Entity>) -> Self {
        filter(predicate)
    }

    /// Those that are in both lists, in the order of this one.
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

    /// Those that are in this list or pass the condition: as `or` of a list that is this filter.
    public func or(_ predicate: Predicate<Entity>) -> Self {
        or(.filter(predicate))
    }

    /// Those that are in either list. Two that are filters and nothing else, without order or limit, are joined to one
    /// filter, which is planned, counted and followed as a whole; what it finds comes in the order of the rows,
    /// wherever it is from. Otherwise those of this list come first, in its order, then those of the other that aren't
    /// in it.
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

    /// Each entity once, where it comes first.
    public func distinct() -> Self {
        if case .all = source { return self }
        return combined { session, level in
            var seen: Set<RowID> = []
            return try rows(session, in: level).filter { seen.insert($0).inserted }
        }
    }

    /// At most so many, after skipping `offset`; of a part of a list a part of that. None if one of the two is
    /// negative.
    public consuming func limit(_ limit: Int, offset: Int = 0) -> Self {
        var list = self
        list.parts.cut(offset < 0 ? 0 : Swift.max(0, limit), offset: Swift.max(0, offset))
        return list
    }

    /// The first entity.
    public func first() -> Query<Entity> {
        Query(limit(1))
    }

    /// The last entity. Where an index gives the order, in O(log n) and for those before it that are equal in the
    /// order; where a condition is tested on rows, those behind the last one that passes are read. Without a sort and
    /// with such a condition all that pass are gone through.
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

    /// The list, or a new one over its rows if the next step would change which ones these are.
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

    /// This list, which never looks at every entity of a type, of its own or of one that a condition on related
    /// entities comes from: where neither an index nor ids, a relation or a search narrow what is read or give its
    /// order, resolving it is `.needsIndex`, with the plan that it would have. An index is taken even where reading all
    /// is cheaper, so that what is tested with few entities holds for many. All of a type in the order of its rows is
    /// no such look. Write it before a `limit` that other steps follow: it is for the steps that the planner sees
    /// together, and for those behind them. An order by id is one that needs no index.
    public func requiringIndex() -> Self {
        var list = self
        list.parts.requiresIndex = true
        return list
    }
}

// MARK: - Ordering

extension QueryList {
    /// In the order of one property, or of several, each ascending or `.desc`. Equal ones come in the order of their
    /// row ids. A computed property must not use a context: while a query runs, its rows lie in pages that a write may
    /// move.
    public consuming func sorted<each Property: Comparable & Sendable>(
        by keyPath: repeat KeyPath<Entity, each Property>
    ) -> Self {
        var terms: [SortTerm] = []
        for path in repeat each keyPath { terms.append(SortKey<Entity>(path).term) }
        return sorted(terms)
    }

    /// In the order of an optional property: nil comes first. As above, a computed one must not use a context.
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

    /// Only what comes after `entity` in the order that the query has here, whose limit counts from there: a later
    /// `sorted` orders what is left, a later `after` takes the place of this one. `query.after(last)` is the page after
    /// the one that ended with `last`, whatever was inserted or deleted meanwhile. By an index over just the order's
    /// properties, or in the order of linking, going there takes O(log n), however far it is. A list in the order of
    /// relevance goes on behind the score that the entity has now, and is `.invalid` if it isn't found any more.
    ///
    /// The place is that of the values in `entity`, which need not be stored any more. Ties go by rows, which integer
    /// ids from zero on tell, and others only while the entity is stored: if it isn't, and some that the query selects
    /// are equal to it in the order, that is `.invalid`. Sort by the id as well, and nothing is equal. `.invalid` too
    /// if only the stored entity could tell its place: without a sort, or in a sort by the last save or by numbers of
    /// related entities. In these the place is that of now, not that of when the entity was read; so is the row of one
    /// that was deleted and saved again.
    public consuming func after(_ entity: Entity) -> Self {
        var list = self
        list.parts.after = { store in
            let id = entity.id.columnValue
            var writer = store.makeRow()
            entity.write(to: &writer)
            // What the store keeps beside the properties, only the stored row has.
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
    /// Only what comes after a hit of the same search, as the hit was then: its score, and where the list is sorted by
    /// the score and by properties, the values that it had. Whatever became of the entity since, that is where the list
    /// goes on; the entity itself doesn't come again while it keeps its row. For lists that have scores, as
    /// `ranked(in:)` says; `.invalid` for others, and for a hit of a list without the sort that this one has.
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
    /// The entities. Ids that aren't stored are left out.
    public func resolve(in context: Context) throws -> [Entity] {
        try context.session.run { try parts.load(Entity.self, $0) }
    }

    /// The entities, in the context that the query began with.
    public func resolve() throws -> [Entity] {
        try resolve(in: try boundContext())
    }

    /// How many `resolve` would give. Where an index range covers the whole query nothing is read but counts.
    public func count(in context: Context) throws -> Int {
        try context.session.run { try count($0) }
    }

    func count(_ session: TypedTransaction) throws -> Int {
        try listed(session)?.count() ?? session.core(for: Entity.self).count(coreQuery)
    }

    public func count() throws -> Int {
        try count(in: try boundContext())
    }

    /// The first entity, if there is one.
    public func first(in context: Context) throws -> Entity? {
        try first().resolve(in: context)
    }

    /// The last entity, if there is one: see `last()` for what it costs.
    public func last(in context: Context) throws -> Entity? {
        try last().resolve(in: context)
    }

    /// The ids alone.
    public func ids(in context: Context) throws -> [Entity.ID] {
        try context.session.run { session in
            try rows(session).compactMap { try session.id(of: $0, Entity.self) }
        }
    }

    /// How the store would answer: access path, index, exact counts of index ranges. A query over the rows of another
    /// one (behind a limit, along the relation of several entities) resolves that one first; the plan is its own.
    public func explain(in context: Context) throws -> Plan {
        var plan = try context.session.run { session in try self.plan(session) }
        plan.list = parts.list
        if let remark = unrankedRemark { plan.remarks.append(remark) }
        return plan
    }

    /// The plan, and what came of it: the query is run as by `resolve`, but for what is nested in it, and what each
    /// step had to do with is counted. A query over the rows of another one resolves that one first; the counts are its
    /// own.
    /// - Parameter run: `.analyze`, to tell it from `explain(in:)`, which runs nothing.
    public func explain(_ run: PlanRun.Kind, in context: Context) throws -> PlanRun {
        let clock = ContinuousClock()
        let start = clock.now
        var found = try context.session.run { session in try self.analysis(session) }
        found.duration = clock.now - start
        found.plan.list = parts.list
        if let remark = unrankedRemark { found.plan.remarks.append(remark) }
        return found
    }

    /// Best first, with scores; entities are read when asked for. For queries that begin with a full-text match by an
    /// index and aren't sorted, or are sorted by the score first: `sorted(by: .score, .by(\.title))`. Any other is
    /// `.invalid`, and the error says what to do: `filter(match && \.language == "en")` and
    /// `filter(\.language == "en").filter(match)` find the same entities in another order than that of relevance.
    public func ranked(in context: Context) throws -> [Ranked<Entity>] {
        // What is wrong with its rows comes first.
        _ = try context.session.run { try parts.base($0, in: nil, of: Entity.self) }
        let match = try rankedMatch()
        return try context.session.run { session in
            let found = try session.core(for: Entity.self).ranked(coreQuery)
            var hits: [Ranked<Entity>] = []
            hits.reserveCapacity(found.count)
            // What decides between equal scores, `after` has to know.
            let hasTies = order.count > 1
            let search = RankedSearch(match, in: context)
            let store = try session.store(Entity.self)
            // A loop: what maps in generic code goes through tables of functions.
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

    /// The full-text match whose scores the list is in the order of.
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

    /// What there is to say of a search in a list that isn't in the order of its scores, though nothing gives another.
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

    /// How the score of an entity comes about: the numbers that the search adds up, as a tree. Nil if the search
    /// doesn't find it; conditions beside the full-text match don't count. For queries that have scores: as for
    /// `ranked(in:)`, the match comes first, or the list is sorted by the score.
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
