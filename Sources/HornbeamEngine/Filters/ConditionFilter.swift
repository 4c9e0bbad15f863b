// SPDX-License-Identifier: Apache-2.0
// Stored conditions as filters, and filters as stored conditions. Conditions that are read are validated against the
// entity type.

import FoundationEssentials

extension StoredCondition {
    /// Makes the stored form of a filter. Returns nil for a condition that only code can evaluate, or that needs more
    /// than the entity itself.
    package init?(_ filter: Filter, _ type: EntityDescription) {
        func name(_ column: Int) -> String? {
            type.columns.indices.contains(column) ? type.columns[column].name : nil
        }
        func bytes(_ value: Value, _ type: ColumnType) -> String? {
            guard let converted = value.converted(to: type) else { return nil }
            var bytes: [UInt8] = []
            return ValueBytes.append(converted, as: type, to: &bytes) ? Data(bytes).base64EncodedString() : nil
        }
        func all<Part>(_ parts: [Part?]) -> [Part]? {
            let found = parts.compactMap(\.self)
            return found.count == parts.count ? found : nil
        }
        switch filter {
        case .compare(let column, let comparison, let value):
            guard let property = name(column) else { return nil }
            let stored = bytes(value, type.columns[column].type.unwrapped)
            guard value == .null || stored != nil else { return nil }
            self = .compare(property: property, by: comparison.rawValue, value: stored)
        case .within(let column, let values):
            guard let property = name(column) else { return nil }
            let stored = values.map { bytes($0, type.columns[column].type.unwrapped) }
            guard zip(values, stored).allSatisfy({ $0 == .null || $1 != nil }) else { return nil }
            self = .within(property: property, values: stored)
        case .isNull(let column):
            guard let property = name(column) else { return nil }
            self = .isNil(property: property)
        case .string(let test):
            guard let properties = all(test.columns.map(name)) else { return nil }
            self = .string(
                StringCondition(
                    properties: properties, test: test.kind.rawValue, text: test.text,
                    caseSensitive: test.isCaseSensitive, folded: test.letterCase == .folded ? true : nil,
                    diacriticSensitive: test.isDiacriticSensitive, negated: test.isNegated))
        case .elements(let test):
            guard let property = name(test.column),
                case .array(let element) = type.columns[test.column].type.unwrapped,
                let values = all(test.values.map { bytes($0, element.unwrapped) })
            else { return nil }
            self = .elements(property: property, values: values, all: test.wantsAll)
        case .and(let parts):
            guard let parts = all(parts.map { StoredCondition($0, type) }) else { return nil }
            self = .and(parts)
        case .or(let parts):
            guard let parts = all(parts.map { StoredCondition($0, type) }) else { return nil }
            self = .or(parts)
        case .not(let part):
            guard let part = StoredCondition(part, type) else { return nil }
            self = .not(part)
        default: return nil
        }
    }

    /// The condition as a filter of columns. Throws `.invalid` if the type lacks the properties, or they can't have the
    /// values.
    package func filter(_ type: EntityDescription) throws(HornbeamError) -> Filter {
        switch self {
        case .compare(let property, let name, let value):
            let column = try column(property, type)
            guard let comparison = Comparison(rawValue: name) else { throw Self.unreadable(property) }
            let literal = try value.map { (text) throws(HornbeamError) in
                try self.value(text, type.columns[column].type.unwrapped, property)
            }
            return .compare(column: column, comparison, literal ?? .null)
        case .within(let property, let values):
            let column = try column(property, type)
            var literals: [Value] = []
            for value in values {
                guard let value else {
                    literals.append(.null)
                    continue
                }
                literals.append(try self.value(value, type.columns[column].type.unwrapped, property))
            }
            return .within(column: column, literals)
        case .isNil(let property): return .isNull(column: try column(property, type))
        case .string(let test): return .string(try stringTest(test, type))
        case .elements(let property, let values, let all):
            let column = try column(property, type)
            guard case .array(let element) = type.columns[column].type.unwrapped else {
                throw Self.unreadable(property)
            }
            var literals: [Value] = []
            for text in values { literals.append(try value(text, element.unwrapped, property)) }
            return .elements(ElementTest(column: column, values: literals, wantsAll: all))
        case .and(let parts): return .and(try filters(parts, type))
        case .or(let parts): return .or(try filters(parts, type))
        case .not(let part): return .not(try part.filter(type))
        }
    }

    /// The condition as text for people.
    package func text(_ type: EntityDescription) throws(HornbeamError) -> String { try filter(type).text(type) }

    private func filters(_ parts: [StoredCondition], _ type: EntityDescription) throws(HornbeamError) -> [Filter] {
        var filters: [Filter] = []
        for part in parts { filters.append(try part.filter(type)) }
        return filters
    }

    private func stringTest(
        _ test: StringCondition, _ type: EntityDescription
    ) throws(HornbeamError) -> StringTest {
        var columns: [Int] = []
        for property in test.properties {
            let column = try column(property, type)
            guard [.string, .url].contains(type.columns[column].type.unwrapped) else { throw Self.unreadable(property) }
            columns.append(column)
        }
        guard let kind = StringTest.Kind(rawValue: test.test) else { throw Self.unreadable(test.test) }
        var found = StringTest(
            kind, columns: columns, test.text, caseSensitive: test.caseSensitive,
            diacriticSensitive: test.diacriticSensitive, negated: test.negated)
        if !test.caseSensitive, test.folded != true { found.letterCase = .lowered }
        return found
    }

    private func column(_ property: String, _ type: EntityDescription) throws(HornbeamError) -> Int {
        guard let column = type.column(property) else {
            throw HornbeamError(
                .invalid, "the condition of an index uses \(type.name).\(property), which doesn't exist")
        }
        return column
    }

    private func value(_ text: String, _ type: ColumnType, _ property: String) throws(HornbeamError) -> Value {
        guard let data = Data(base64Encoded: text),
            let value = data.withUnsafeBytes({ ValueBytes.decode($0, as: type) })
        else { throw Self.unreadable(property) }
        return value
    }

    private static func unreadable(_ what: String) -> HornbeamError {
        HornbeamError(.invalid, "the condition of an index on “\(what)” can't be read")
    }
}
