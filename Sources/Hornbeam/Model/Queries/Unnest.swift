// SPDX-License-Identifier: Apache-2.0
// Queries over the elements of arrays: each element is a row of its own, with its entity and the elements around it (an
// inner join of an entity with its own arrays; UNNEST in SQL). Rows come in the order of the entities, then of the
// elements.

import HornbeamTree

/// An element of an array, with its entity and its parent.
public struct Unnested<Entity: Sendable, Parent: Sendable, Element: Sendable>: Sendable {
    /// The entity that the array belongs to.
    public let entity: Entity
    /// The owner of the array: the entity, or the row of the element that contains the array.
    public let parent: Parent
    public let element: Element
    /// The element's position in its array.
    public let index: Int
}

/// A query for the elements of arrays of some entities.
///
///     let mobiles = Person.filter(\.name == "Sam").unnest(\.contacts).unnest(\.phones).filter { $0.type == "mobile" }
///     for row in try mobiles.resolve(in: context) {
///         print(row.entity.name, row.parent.element.type, row.element.number)
///     }
///
/// Entities without elements have no rows; equal elements have one row each. An array index over the path and the
/// compared value answers a condition on elements; `explain` shows it.
public struct UnnestQuery<Entity: EntityModelProtocol, Parent: Sendable, Element: Sendable>: Sendable {
    public typealias Row = Unnested<Entity, Parent, Element>

    private let base: QueryList<Entity>
    private let path: ArrayPath<Entity, Element>
    /// An entity has rows only if it has an element for each of these conditions.
    private let tests: [AnyElementTest]
    /// Whether the rows are all elements of the path, or all that pass the only test.
    private let isOfPath: Bool
    private let rows: @Sendable (Entity) -> [Row]
    private var limit: Int?
    private var offset = 0

    fileprivate init(
        _ base: QueryList<Entity>, _ path: ArrayPath<Entity, Element>, _ tests: [AnyElementTest], isOfPath: Bool,
        limit: Int? = nil, offset: Int = 0, _ rows: @escaping @Sendable (Entity) -> [Row]
    ) {
        self.base = base
        self.path = path
        self.tests = tests
        self.isOfPath = isOfPath
        self.limit = limit
        self.offset = offset
        self.rows = rows
    }

    // MARK: Building

    /// Continues with the elements of an array in each element.
    public func unnest<Next: Sendable>(
        _ keyPath: KeyPath<Element, [Next]>
    ) -> UnnestQuery<Entity, Row, Next> {
        nested(path.each(keyPath)) { [keyPath = keyPath.shared] in $0[keyPath: keyPath] }
    }

    public func unnest<Next: Sendable>(
        _ keyPath: KeyPath<Element, [Next]?>
    ) -> UnnestQuery<Entity, Row, Next> {
        nested(path.each(keyPath)) { [keyPath = keyPath.shared] in $0[keyPath: keyPath] ?? [] }
    }

    private func nested<Next: Sendable>(
        _ path: ArrayPath<Entity, Next>, _ array: @escaping @Sendable (Element) -> [Next]
    ) -> UnnestQuery<Entity, Row, Next> {
        let rows = rows
        return UnnestQuery<Entity, Row, Next>(
            base, path, tests, isOfPath: tests.isEmpty, limit: limit, offset: offset
        ) { entity in
            rows(entity).flatMap { row in
                array(row.element).enumerated().map { index, element in
                    Unnested(entity: entity, parent: row, element: element, index: index)
                }
            }
        }
    }

    /// Keeps the rows whose elements pass. Write a condition on outer elements before the next `unnest`.
    public func filter(_ condition: (ElementProxy<Element>) -> ElementPredicate<Element>) -> Self {
        let predicate = condition(ElementProxy())
        // The test of each step calls the test of the step before.
        guard !predicate.isTooDeep, tests.count < Filter.maximumDepth else {
            let refused = base.filter(Predicate(.tooDeep))
            return Self(refused, path, [], isOfPath: false, limit: limit, offset: offset) { _ in [] }
        }
        let (rows, test) = (rows, predicate.test)
        return Self(
            base, path, tests + [AnyElementTest(path, predicate)], isOfPath: isOfPath && tests.isEmpty, limit: limit,
            offset: offset
        ) { rows($0).filter { test($0.element) } }
    }

    /// Limits the rows of the whole query, at whichever step it is called, after skipping `offset` rows. There are no
    /// rows if one of the two is negative.
    public func limit(_ limit: Int, offset: Int = 0) -> Self {
        var query = self
        query.limit = offset < 0 ? 0 : Swift.max(0, limit)
        query.offset = Swift.max(0, offset)
        return query
    }

    // MARK: Resolving

    /// Returns the rows.
    public func resolve(in context: Context) throws -> [Row] {
        var found: [Row] = []
        try forEach(in: context) { row in
            found.append(row)
            return true
        }
        return found
    }

    /// Calls `body` with each row until it returns false. `body` must not change the store.
    public func forEach(in context: Context, _ body: (Row) throws -> Bool) throws {
        guard limit != 0 else { return }
        var (skip, left) = (offset, limit ?? .max)
        try forEachEntity(in: context) { entity in
            for row in rows(entity) {
                if skip > 0 {
                    skip -= 1
                    continue
                }
                left -= 1
                guard try body(row), left > 0 else { return false }
            }
            return true
        }
    }

    /// Returns the number of rows. If an array index has exactly these rows, only the counts in its tree are read.
    public func count(in context: Context) throws -> Int {
        if let known = try context.session.run({ try knownCount($0) }) {
            return Swift.min(limit ?? .max, Swift.max(0, known - offset))
        }
        var count = 0
        try forEach(in: context) { _ in
            count += 1
            return true
        }
        return count
    }

    /// Returns the entities that have rows, each once, in their order. The query's limit and offset count entities
    /// here.
    public func distinctParents(in context: Context) throws -> [Entity] {
        guard limit != 0 else { return [] }
        var found: [Entity] = []
        var skip = offset
        try forEachEntity(in: context) { entity in
            if rows(entity).isEmpty { return true }
            if skip > 0 {
                skip -= 1
                return true
            }
            found.append(entity)
            return found.count < limit ?? .max
        }
        return found
    }

    /// Returns the number of rows for each value of a property of the element (GROUP BY), in the order of the values.
    public func counts<Key: Hashable & Comparable>(
        by keyPath: KeyPath<Element, Key>, in context: Context
    ) throws -> [(key: Key, count: Int)] {
        var counts: [Key: Int] = [:]
        // NaN isn't equal to itself. Here it counts as one value, which comes last.
        var unequal: (key: Key, count: Int)?
        try forEach(in: context) { row in
            let key = row.element[keyPath: keyPath]
            if key == key {
                counts[key, default: 0] += 1
            } else {
                unequal = (key, (unequal?.count ?? 0) + 1)
            }
            return true
        }
        let sorted = counts.map { (key: $0.key, count: $0.value) }.sorted { ValueOrder.precedes($0.key, $1.key) }
        return sorted + (unequal.map { [$0] } ?? [])
    }

    /// Returns the plan for finding the entities whose elements are read.
    public func explain(in context: Context) throws -> Plan {
        try narrowed(context).explain(in: context)
    }

    // MARK: Entities

    /// Returns the entities that may have rows, narrowed by array indexes.
    private func narrowed(_ context: Context) throws -> QueryList<Entity> {
        guard !base.parts.isCut else { return base }
        return try context.session.run { session in
            let indexes = try session.store(Entity.self).elementIndexes
            return tests.reduce(base) { list, test in
                indexes.contains { $0.serves(test) } ? list.filter(Predicate(.anyElement(test))) : list
            }
        }
    }

    private func forEachEntity(in context: Context, _ body: (Entity) throws -> Bool) throws {
        let list = try narrowed(context)
        try context.session.run { session in
            guard case .all = list.source, list.nested == nil else {
                for entity in try list.resolve(in: context) where try !body(entity) { return }
                return
            }
            var query = list.coreQuery
            query.mayStop = true
            try session.core(for: Entity.self).forEach(query) { _, row, _ in try body(try Entity(row: row)) }
        }
    }

    /// Returns the number of rows if ranges of an array index give it, otherwise nil.
    private func knownCount(_ session: TypedTransaction) throws -> Int? {
        guard isOfPath, tests.count <= 1, base.isWhole, case .all = base.source else { return nil }
        let store = try session.store(Entity.self)
        for index in try store.elementIndexes where index.steps == path.steps {
            guard let test = tests.first else { return Int(entries: try store.transaction.count(index.tree)) }
            guard let found = try index.match(test, store.type, store.transaction), found.isExact,
                found.match.isCounted
            else { continue }
            return found.match.count
        }
        return nil
    }
}

extension QueryList {
    /// Returns a query for the elements of an array in these entities. Each element is a row of its own.
    public func unnest<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]>
    ) -> UnnestQuery<Entity, Entity, Element> { unnest(ArrayPath(keyPath)) }

    /// Returns a query for the elements of an optional array. Nil has no elements.
    public func unnest<Element: Sendable>(
        _ keyPath: KeyPath<Entity, [Element]?>
    ) -> UnnestQuery<Entity, Entity, Element> { unnest(ArrayPath(keyPath)) }

    private func unnest<Element>(_ path: ArrayPath<Entity, Element>) -> UnnestQuery<Entity, Entity, Element> {
        let elements = path.elements
        return UnnestQuery(self, path, [], isOfPath: true) { entity in
            elements(entity).enumerated().map { index, element in
                Unnested(entity: entity, parent: entity, element: element, index: index)
            }
        }
    }
}
