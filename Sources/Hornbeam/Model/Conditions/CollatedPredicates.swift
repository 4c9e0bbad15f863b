// SPDX-License-Identifier: Apache-2.0
// Comparisons and orders of texts by a collation: `\.name == "straße".collated(.caseInsensitive)`. An index with the
// same collation answers them.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

/// Selects entities whose text is equal under the collation.
public func == <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .equal, value)
}

public func != <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .notEqual, value)
}

/// Selects entities whose text comes before `value` in the order of the collation. A nil property is neither less nor
/// greater.
public func < <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .less, value)
}

public func <= <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .lessOrEqual, value)
}

public func > <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .greater, value)
}

public func >= <Entity: EntityModelProtocol, Text: TextValue>(
    keyPath: KeyPath<Entity, Text>, value: CollatedText
) -> Predicate<Entity> {
    .comparing(keyPath, .greaterOrEqual, value)
}

extension Predicate {
    fileprivate static func comparing<Text: TextValue>(
        _ keyPath: KeyPath<Entity, Text>, _ comparison: Comparison, _ value: CollatedText
    ) -> Self {
        let property = TextProperty<Entity>(keyPath)
        if value.collation == .binary, let column = property.column {
            return Self(.compare(column: column, comparison, .string(value.text)))
        }
        let label =
            "\(property.label) COLLATE \(value.collation.words) \(comparison.rawValue) \(Value.string(value.text).text)"
        do {
            let collator = try value.collation.collator
            let key = try collator.key(of: value.text)
            if let column = property.column {
                let place = try ComputedComponent(
                    column: column, of: Entity.entityShape.description, by: value.collation)
                return Self(.computed(ComputedTest(place, comparison, .data(Data(key)), label: label)))
            }
            return testing(keyPath, label: label) { text in
                // A text that can't be compared is not one of the wanted texts.
                guard let text = text.textValue, let place = try? collator.key(of: text) else {
                    return comparison == .notEqual
                }
                return comparison.holds(place.withUnsafeBytes { place in key.withUnsafeBytes { place.order($0) } })
            }
        } catch {
            return Self(.opaque(label: label) { _ in throw error })
        }
    }
}

extension Sorting {
    /// Sorts by a text in the order of a collation, nil first. An index with the same collation gives the order.
    public static func by<Text: TextValue>(
        _ keyPath: KeyPath<Entity, Text>, collation: TextCollation, descending: Bool = false
    ) -> Self {
        let property = TextProperty<Entity>(keyPath)
        if collation == .binary, let column = property.column {
            return Self(term: .column(column, descending: descending))
        }
        let type = Entity.entityShape.description
        if let column = property.column,
            let place = try? ComputedComponent(column: column, of: type, by: collation)
        {
            return Self(term: SortTerm(.derived(place), descending: descending))
        }
        let read = property.read
        let label = "\(property.label) COLLATE \(collation.words)"
        return Self(
            term: SortTerm(
                .opaque(
                    label: label,
                    key: { row in
                        let collator = try collation.collator
                        let text = try RelationReads.refusing(label, Entity.self) { read(try Entity(row: row)) }
                        return try text.map { try collator.key(of: $0) }
                    },
                    order: { left, right in
                        switch (left as? [UInt8], right as? [UInt8]) {
                        case (nil, nil): 0
                        case (nil, _): -1
                        case (_, nil): 1
                        case (let left?, let right?):
                            left.withUnsafeBytes { left in right.withUnsafeBytes { left.order($0) } }
                        }
                    }), descending: descending))
    }
}
