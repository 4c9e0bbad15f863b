// SPDX-License-Identifier: Apache-2.0
// The parts of the larger terms of a filter: tests of strings, of arrays, and of related entities.

extension Filter {
    /// The columns that the filter reads besides the row's id. Returns nil if it may read the whole row.
    var needs: RowNeeds? {
        switch self {
        case .all, .none, .refused, .links, .linkCount, .ids, .related: RowNeeds()
        case .compare(let column, _, _), .isNull(let column), .within(let column, _): RowNeeds(columns: [column])
        case .string(let test): RowNeeds(columns: Set(test.columns), wantsExactText: true)
        case .text(let test): RowNeeds(columns: Set(test.columns), wantsExactText: true)
        case .matches(let match): RowNeeds(columns: Set(match.columns), wantsExactText: true)
        case .elements(let test): RowNeeds(columns: [test.column])
        case .computed(let test): test.sources.map { RowNeeds(columns: Set($0), wantsExactText: true) }
        case .opaque, .anyElement: nil
        case .not(let part): part.needs
        case .and(let parts), .or(let parts):
            parts.reduce(RowNeeds() as RowNeeds?) { needs, part in part.needs.flatMap { needs?.union($0) } }
        }
    }

    /// Whether the filter depends on columns alone, and not on a row's id.
    var isOfColumns: Bool {
        switch self {
        case .links, .linkCount, .ids, .related, .opaque, .anyElement: false
        case .all, .none, .refused, .compare, .isNull, .within, .string, .text, .matches, .elements, .computed: true
        case .not(let part): part.isOfColumns
        case .and(let parts), .or(let parts): parts.allSatisfy(\.isOfColumns)
        }
    }
}

/// A test of string columns. With several columns any of them may pass; a negated test passes if none does.
package struct StringTest: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case contains
        case hasPrefix
        case hasSuffix
    }

    /// The way in which the test compares letters of different case.
    package enum LetterCase: Sendable {
        /// They are different.
        case exact
        /// They are equal if `CaseFolding` makes them equal.
        case folded
        /// They are equal if their lower case is, as `LOWER` in statements. `ß` isn't equal to `ss`.
        case lowered
    }

    package var kind: Kind
    package var columns: [Int]
    package var text: String
    package var letterCase: LetterCase
    /// Whether accents count. Otherwise they are removed before the comparison, so that é equals e.
    package var isDiacriticSensitive: Bool
    package var isNegated: Bool

    package init(
        _ kind: Kind, columns: [Int], _ text: String, caseSensitive: Bool = false, diacriticSensitive: Bool = true,
        negated: Bool = false
    ) {
        self.kind = kind
        self.columns = columns
        self.text = text
        letterCase = caseSensitive ? .exact : .folded
        isDiacriticSensitive = diacriticSensitive
        isNegated = negated
    }

    package var isCaseSensitive: Bool { letterCase == .exact }

    package func describe(_ names: String) -> String {
        let rule =
            switch letterCase {
            case .exact: "caseSensitive"
            case .folded: ""
            case .lowered: "lowered"
            }
        let how = [rule, isDiacriticSensitive ? "" : "diacriticInsensitive"]
        let words = [names, isNegated ? "not" : "", kind.rawValue, Value.string(text).text] + how
        return words.filter { !$0.isEmpty }.joined(separator: " ")
    }
}

/// A test of strings that only the typed layer can evaluate, such as a regular expression. Several columns have the
/// same meaning as in `StringTest`.
package struct TextTest: Sendable {
    package var columns: [Int]
    /// For `explain`.
    package var label: String
    package var isNegated: Bool
    package var accepts: @Sendable (String) throws -> Bool

    package init(columns: [Int], label: String, isNegated: Bool, accepts: @escaping @Sendable (String) throws -> Bool) {
        self.columns = columns
        self.label = label
        self.isNegated = isNegated
        self.accepts = accepts
    }
}

/// A test of an array column: whether it has any of some values, or all of them.
package struct ElementTest: Sendable, Equatable {
    package var column: Int
    package var values: [Value]
    /// Whether the array must have all of the values instead of any. Without values, “all” holds and “any” doesn't.
    package var wantsAll: Bool

    package init(column: Int, values: [Value], wantsAll: Bool) {
        self.column = column
        self.values = values
        self.wantsAll = wantsAll
    }
}

/// A test of the stored entities that a relation leads to. A class, so that a filter stays small.
package final class LinkTest: Sendable {
    package enum Quantifier: String, Sendable {
        case any
        /// Also holds if the relation leads to no stored entity.
        case all
        case none
    }

    package let quantifier: Quantifier
    package let relation: String
    /// The filter on the related type. `describe` needs that type for the names of its columns.
    package let filter: Filter
    let target: EntityDescription

    package init(_ quantifier: Quantifier, _ relation: String, of target: EntityDescription, _ filter: Filter) {
        self.quantifier = quantifier
        self.relation = relation
        self.target = target
        self.filter = filter
    }

    func describe() -> String {
        let condition = if case .all = filter { "" } else { " where \(filter.text(target))" }
        return "\(quantifier.rawValue) of \(relation)\(condition)"
    }
}

/// The entities that one entity's relation leads to.
package struct RelationSource: Sendable {
    package var type: String
    package var relation: String
    package var source: Value

    package init(type: String, relation: String, source: Value) {
        self.type = type
        self.relation = relation
        self.source = source
    }
}
