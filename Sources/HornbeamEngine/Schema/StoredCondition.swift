// SPDX-License-Identifier: Apache-2.0
// Conditions of partial indexes as the file stores them. They name properties, so a program that opens the file doesn't
// need the code that made the index.

/// A condition on the stored properties of one entity.
package indirect enum StoredCondition: Codable, Sendable, Hashable {
    /// `value`: base64 of the value's bytes; nil for null.
    case compare(property: String, by: String, value: String?)
    case within(property: String, values: [String?])
    case isNil(property: String)
    case string(StringCondition)
    case elements(property: String, values: [String], all: Bool)
    case and([StoredCondition])
    case or([StoredCondition])
    case not(StoredCondition)

    package struct StringCondition: Codable, Sendable, Hashable {
        var properties: [String]
        var test: String
        var text: String
        var caseSensitive: Bool
        /// Whether texts are folded. Conditions of older files lack this and compare lower-cased texts.
        var folded: Bool?
        var diacriticSensitive: Bool
        var negated: Bool
    }

    /// The properties that it tests.
    package var properties: Set<String> {
        switch self {
        case .compare(let property, _, _), .within(let property, _), .isNil(let property),
            .elements(let property, _, _):
            [property]
        case .string(let test): Set(test.properties)
        case .and(let parts), .or(let parts): parts.reduce(into: []) { $0.formUnion($1.properties) }
        case .not(let part): part.properties
        }
    }

    /// The condition with a property's new name.
    func renaming(_ old: String, to new: String) -> StoredCondition {
        func name(_ property: String) -> String { property == old ? new : property }
        switch self {
        case .compare(let property, let comparison, let value):
            return .compare(property: name(property), by: comparison, value: value)
        case .within(let property, let values): return .within(property: name(property), values: values)
        case .isNil(let property): return .isNil(property: name(property))
        case .string(var test):
            test.properties = test.properties.map(name)
            return .string(test)
        case .elements(let property, let values, let all):
            return .elements(property: name(property), values: values, all: all)
        case .and(let parts): return .and(parts.map { $0.renaming(old, to: new) })
        case .or(let parts): return .or(parts.map { $0.renaming(old, to: new) })
        case .not(let part): return .not(part.renaming(old, to: new))
        }
    }
}
