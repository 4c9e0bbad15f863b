// SPDX-License-Identifier: Apache-2.0
// Conditions on entities. A key path of a stored property becomes a comparison of columns that the planner can answer
// from an index. Any other key path (computed, nested) becomes a test of the decoded entity. Both give the same
// results.

/// A condition on entities of one type: `\.age > 18 && \.status == .active`. In files that import Foundation, which has
/// a type of this name too, write `Hornbeam.Predicate`.
///
/// NaN equals NaN and is greater than every number, whether the property is stored, computed or an element of an array,
/// so that indexes can hold it. Only your own closures treat it as Swift's operators do.
///
/// A computed property in a filter or a sort must not use a context: while a query runs, its rows lie in pages that a
/// write may move.
public struct Predicate<Entity: EntityModelProtocol>: Sendable {
    let filter: Filter

    init(_ filter: Filter) {
        self.filter = filter
    }

    /// Whether it is a full-text match by an index, whose hits have scores.
    var isRanked: Bool {
        guard case .matches(let match) = filter else { return false }
        return Entity.entityShape.isSearched(by: match)
    }
}

/// Selects entities that pass both conditions.
public func && <Entity>(left: Predicate<Entity>, right: Predicate<Entity>) -> Predicate<Entity> {
    Predicate(left.filter.and(right.filter))
}

/// Selects entities that pass either condition, or both.
public func || <Entity>(left: Predicate<Entity>, right: Predicate<Entity>) -> Predicate<Entity> {
    Predicate(left.filter.or(right.filter))
}

/// Selects entities that don't pass. A condition that is false because a property is nil becomes true.
public prefix func ! <Entity>(predicate: Predicate<Entity>) -> Predicate<Entity> {
    Predicate(.not(predicate.filter.asPart))
}

// MARK: - Equality

public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .equal, value, { $0 == value })
}

public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .notEqual, value, { $0 != value })
}

public func == <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property?
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .equal, value, { $0 == value })
}

public func != <Entity: EntityModelProtocol, Property: Equatable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property?
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .notEqual, value, { $0 != value })
}

// MARK: - Order. A nil property is neither less nor greater than anything.

public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .less, value, { $0 < value })
}

public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .lessOrEqual, value, { $0 <= value })
}

public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .greater, value, { $0 > value })
}

public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property>, value: Property
) -> Predicate<Entity> {
    .comparing(keyPath, .greaterOrEqual, value, { $0 >= value })
}

public func < <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .less, value, { $0.map { $0 < value } ?? false })
}

public func <= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .lessOrEqual, value, { $0.map { $0 <= value } ?? false })
}

public func > <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .greater, value, { $0.map { $0 > value } ?? false })
}

public func >= <Entity: EntityModelProtocol, Property: Comparable & Sendable>(
    keyPath: KeyPath<Entity, Property?>, value: Property
) -> Predicate<Entity> {
    .comparing(optional: keyPath, .greaterOrEqual, value, { $0.map { $0 >= value } ?? false })
}

// MARK: - From key paths to columns

extension PartialKeyPath {
    /// The property's name, for `explain`. Computed properties have no name at run time, only an address, which says
    /// nothing to a person.
    var label: String {
        let text = "\(self)"
        return text.contains("<computed") ? "computed \(Self.valueType) of \(Root.self)" : text
    }
}

extension Predicate {
    /// Returns the column to compare, or nil if stored values don't have the property's order and equality.
    static func column<Property, Stored>(
        _ keyPath: KeyPath<Entity, Stored>, _ comparison: Comparison, _: Property.Type
    ) -> Int? {
        let shape = Entity.entityShape
        guard let place = shape.column(keyPath), !place.descending, shape.comparesStored(place.number, comparison),
            comparison.holdsForColumns(of: Property.self)
        else { return nil }
        return place.number
    }

    /// Makes a comparison. `test` is evaluated only if no column can be compared, so most queries make no closure.
    fileprivate static func comparing<Property: Sendable>(
        _ keyPath: KeyPath<Entity, Property>, _ comparison: Comparison, _ value: Property,
        _ test: @autoclosure () -> @Sendable (Property) -> Bool
    ) -> Self {
        if let column = column(keyPath, comparison, Property.self),
            let literal = Entity.entityShape.literal(value, column)
        {
            return Self(.compare(column: column, comparison, literal))
        }
        if let count = Entity.entityShape.linkCount(keyPath), !count.descending, let value = value as? Int {
            return Self(.linkCount(relation: count.relation, comparison, value))
        }
        if let relation = Entity.entityShape.linkID(keyPath) {
            return comparing(idOf: relation, comparison, literal(value) ?? .null)
        }
        return computed(
            keyPath, comparison, literal(value), of: Property.self,
            label: "\(keyPath.label) \(comparison.rawValue) \(String(shown: value))", test())
    }

    fileprivate static func comparing<Property: Sendable>(
        optional keyPath: KeyPath<Entity, Property?>, _ comparison: Comparison, _ value: Property?,
        _ test: @autoclosure () -> @Sendable (Property?) -> Bool
    ) -> Self {
        if let column = column(keyPath, comparison, Property.self) {
            guard let value else {
                let isNull = Filter.isNull(column: column)
                return Self(comparison == .equal ? isNull : .not(isNull))
            }
            if let literal = Entity.entityShape.literal(value, column) {
                return Self(.compare(column: column, comparison, literal))
            }
        }
        if let relation = Entity.entityShape.linkID(keyPath) {
            return comparing(idOf: relation, comparison, value.map { Hornbeam.literal($0) ?? .null })
        }
        let text = value.map { String(shown: $0) } ?? "nil"
        return computed(
            keyPath, comparison, value.map { Hornbeam.literal($0) } ?? .null, of: Property.self,
            label: "\(keyPath.label) \(comparison.rawValue) \(text)", test())
    }

    /// A condition on the id of the related entity, for `\.$one.id`. A link to an entity that isn't stored counts as
    /// none.
    static func comparing(
        idOf relation: DeclaredRelation<Entity>, _ comparison: Comparison, _ value: Value?
    ) -> Self {
        switch (comparison, value) {
        case (.notEqual, _): !comparing(idOf: relation, .equal, value)
        case (_, nil): Self(relation.linkTest(.none, .all))
        case (_, let value?): Self(relation.linkTest(.any, .compare(column: 0, comparison, value)))
        }
    }

    /// A test of the decoded entity. The property must not use a context: the rows of the query are borrowed.
    static func testing<Property>(
        _ keyPath: KeyPath<Entity, Property>, label: String,
        _ test: @escaping @Sendable (Property) -> Bool
    ) -> Self {
        if let refusal = Entity.entityShape.refusal(of: keyPath) { return Self(.refused(refusal)) }
        return Self(.opaque(label: label, accepting(keyPath, label, test)))
    }

    /// A comparison of a property that is no column. An index over the property may answer it.
    /// - Parameter ordered: the type that is compared.
    private static func computed<Property: Sendable, Ordered>(
        _ keyPath: KeyPath<Entity, Property>, _ comparison: Comparison, _ literal: Value?,
        of ordered: Ordered.Type, label: String, _ test: @escaping @Sendable (Property) -> Bool
    ) -> Self {
        // A type with an order of its own is compared by that order, whatever its stored form.
        guard comparison.holdsForColumns(of: ordered) else { return testing(keyPath, label: label, test) }
        let test = StoredOrder<Property>()?.test(comparison, literal ?? .null) ?? test
        guard let literal else { return testing(keyPath, label: label, test) }
        if let refusal = Entity.entityShape.refusal(of: keyPath) { return Self(.refused(refusal)) }
        let subject = ComputedSubject(keyPath)
        return Self(
            .computed(
                ComputedTest(subject, comparison, literal, label: label, accepts: accepting(keyPath, label, test))))
    }

    private static func accepting<Property>(
        _ keyPath: KeyPath<Entity, Property>, _ label: String,
        _ test: @escaping @Sendable (Property) -> Bool
    ) -> @Sendable (RowReader) throws -> Bool {
        { [keyPath = keyPath.shared] row in
            let entity = try Entity(row: row)
            // The test is included, because it may be an operator of relations.
            return try RelationReads.refusing(label, Entity.self) { test(entity[keyPath: keyPath]) }
        }
    }
}
