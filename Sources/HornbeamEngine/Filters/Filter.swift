// SPDX-License-Identifier: Apache-2.0
// Conditions and orders as data for the planner. Columns are numbers, values are literals; only conditions that can't
// be expressed in this way are closures.
//
// Meaning: values compare as their keys do, so −0.0 equals 0.0 and NaN equals itself, after everything else. An
// ordering comparison with null is false. `==` null holds for null; `!=` is the opposite of `==`, true for null against
// a value. `not` is plain negation. In sorting null comes first, last in descending order; ties are ordered by row id,
// always ascending.

import FoundationEssentials

/// A comparison of two values.
package enum Comparison: String, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
}

/// A condition on the entities of one type.
package indirect enum Filter: Sendable {
    case all
    case none
    /// A condition that can't be tested, such as one that is nested too deep. A query with it throws the error.
    case refused(HornbeamError)
    case compare(column: Int, Comparison, Value)
    case isNull(column: Int)
    case within(column: Int, [Value])
    case string(StringTest)
    case text(TextTest)
    case elements(ElementTest)
    case links(LinkTest)
    /// The number of stored entities that a relation leads to, compared with a number.
    case linkCount(relation: String, Comparison, Int)
    /// A full-text query matches the columns. The full-text index over exactly these columns answers it, if there is
    /// one.
    case matches(TextMatch)
    /// The entities with these ids. Without a sort, the result is in this order.
    case ids([Value])
    /// The entities that a relation leads to. Without a sort, the result is in the order of linking.
    case related(RelationSource)
    /// A condition that only the typed layer can evaluate. The label is for `explain`.
    case opaque(label: String, @Sendable (RowReader) throws -> Bool)
    /// One comparison that only the typed layer can evaluate. An index over the compared value may answer it.
    case computed(ComputedTest)
    /// Any element of an array passes a test. An index of the elements may answer it.
    case anyElement(AnyElementTest)
    case and([Filter])
    case or([Filter])
    case not(Filter)
}

extension Filter {
    /// The parts of a conjunction, all of which must hold; empty for `all`. Nested `and`s are flattened.
    package var conjuncts: [Filter] {
        switch self {
        case .all: return []
        case .and(let parts) where parts.allSatisfy({ $0.isConjunct }): return parts
        case .and, .not:
            var parts: [Filter] = []
            addConjuncts(to: &parts)
            return parts
        default: return [self]
        }
    }

    /// The conjuncts, with alternatives as lists of values.
    /// - Throws: the error of a refused condition; `.tooLarge` if conditions are nested deeper than `maximumDepth`.
    func plannedConjuncts() throws(HornbeamError) -> [Filter] {
        if isSingle { return [self] }
        // Nearly all conditions are single ones or a list of these: they need neither of the walks below.
        if case .and(let parts) = self, parts.allSatisfy(\.isSingle) { return parts }
        guard isWithin(Self.maximumDepth) else { throw refusal }
        return conjuncts.listingAlternatives
    }

    /// Whether it is one conjunct with no other condition in it.
    private var isSingle: Bool {
        switch self {
        case .all, .refused, .links, .and, .or, .not: false
        default: true
        }
    }

    /// Whether it is one conjunct that needs no flattening.
    private var isConjunct: Bool {
        switch self {
        case .all, .and, .not: false
        default: true
        }
    }

    /// The conjunction of both filters. If the other filter is an `and`, its parts are reused.
    package func and(_ other: Filter) -> Filter {
        guard case .and(let more) = other else {
            let part = other.asPart
            return if case .and(let parts) = self { .and(parts + [part]) } else { .and([asPart, part]) }
        }
        return if case .and(let parts) = self { .and(parts + more) } else { .and([asPart] + more) }
    }

    /// The disjunction of both filters. Chains stay flat, however long they are.
    package func or(_ other: Filter) -> Filter {
        var parts: [Filter] = if case .or(let parts) = self { parts } else { [asPart] }
        if case .or(let more) = other { parts += more } else { parts.append(other.asPart) }
        return .or(parts)
    }

    /// Maximum nesting depth of conditions. Functions that walk through conditions recurse once a level, as does their
    /// release, and the stack of a thread may be as small as 512 KiB.
    package static var maximumDepth: Int { 128 }

    /// The number of levels that a condition on related entities counts as, because testing it takes as much stack.
    static var linkDepth: Int { 5 }

    /// Maximum depth at which the planner looks for indexes and for the other ends of links. Deeper conditions are
    /// tested on rows, because planning takes more stack than testing.
    static var plannedDepth: Int { 24 }

    /// The filter as a part of another one, `.refused` if the whole would be nested too deep. Typed conditions consist
    /// of such parts, so none of them is nested deeper.
    package var asPart: Filter { isWithin(Self.maximumDepth - 1) ? self : .refused(refusal) }

    /// The filter as a condition on related entities, `.refused` if the whole would be nested too deep.
    package var asLinked: Filter { isWithin(Self.maximumDepth - Self.linkDepth) ? self : .refused(refusal) }

    package static var tooDeep: Filter { .refused(depthError) }

    package static var depthError: HornbeamError {
        HornbeamError(
            .tooLarge,
            "conditions are nested more than \(maximumDepth) deep: join a long list of conditions by "
                + "one operator, or use .value(_:in:)")
    }

    /// The error of the first refused condition in it; `depthError` if there is none.
    private var refusal: HornbeamError { firstRefusal ?? Self.depthError }

    private var firstRefusal: HornbeamError? {
        switch self {
        case .refused(let error): return error
        case .and(let parts), .or(let parts):
            for part in parts {
                if let error = part.firstRefusal { return error }
            }
            return nil
        case .not(let part): return part.firstRefusal
        case .links(let test): return test.filter.firstRefusal
        default: return nil
        }
    }

    /// Whether no condition in it is refused or nested deeper than `levels`.
    func isWithin(_ levels: Int) -> Bool {
        switch self {
        case .refused: false
        case .and(let parts), .or(let parts): levels > 0 && parts.allSatisfy { $0.isWithin(levels - 1) }
        case .not(let part): levels > 0 && part.isWithin(levels - 1)
        case .links(let test): levels >= Self.linkDepth && test.filter.isWithin(levels - Self.linkDepth)
        default: true
        }
    }

    private func addConjuncts(to parts: inout [Filter]) {
        switch self {
        case .all: break
        case .and(let inner): for part in inner { part.addConjuncts(to: &parts) }
        case .not(.not(let inner)): inner.addConjuncts(to: &parts)
        default: parts.append(self)
        }
    }

    package static func conjunction(_ parts: [Filter]) -> Filter {
        switch parts.count {
        case 0: .all
        case 1: parts[0]
        default: .and(parts)
        }
    }

    /// The filter as text for people and `explain`. The recursive cases have a function of their own, so that a level
    /// takes little stack.
    package func text(_ type: EntityDescription) -> String {
        switch self {
        case .and(let parts): return Self.text(parts, " && ", type)
        case .or(let parts): return Self.text(parts, " || ", type)
        case .not(let part): return Self.text([part], "", type, before: "!")
        case .links(let test): return test.describe()
        default: return textOfOne(type)
        }
    }

    private static func text(
        _ parts: [Filter], _ sign: String, _ type: EntityDescription, before: String = ""
    ) -> String {
        var text = before
        text += "("
        for place in parts.indices {
            if place > 0 { text += sign }
            text += parts[place].text(type)
        }
        text += ")"
        return text
    }

    private func textOfOne(_ type: EntityDescription) -> String {
        func name(_ column: Int) -> String {
            type.columns.indices.contains(column) ? type.columns[column].label : "#\(column)"
        }
        func names(_ columns: [Int]) -> String { columns.map(name).joined(separator: ", ") }
        switch self {
        case .all: return "true"
        case .none: return "false"
        case .refused: return "(…)"
        case .compare(let column, let comparison, let value):
            return "\(name(column)) \(comparison.rawValue) \(value.text)"
        case .isNull(let column): return "\(name(column)) == nil"
        case .within(let column, let values):
            return "\(name(column)) in [\(values.map(\.text).joined(separator: ", "))]"
        case .string(let test): return test.describe(names(test.columns))
        case .text(let test): return "\(names(test.columns)) \(test.isNegated ? "not " : "")\(test.label)"
        case .elements(let test):
            let values = test.values.map(\.text).joined(separator: ", ")
            return "\(name(test.column)) contains \(test.wantsAll ? "all" : "any") of [\(values)]"
        case .linkCount(let relation, let comparison, let count):
            return "count of \(relation) \(comparison.rawValue) \(count)"
        case .matches(let match): return "\(names(match.columns)) matches \(match.described(type))"
        case .ids(let ids):
            return "id in [\(ids.prefix(5).map(\.text).joined(separator: ", "))\(ids.count > 5 ? ", …" : "")]"
        case .related(let source): return "in \(source.type) \(source.source.text).\(source.relation)"
        case .opaque(let label, _): return label
        case .computed(let test): return test.label
        case .anyElement(let test): return test.label
        case .links, .and, .or, .not: return text(type)
        }
    }
}

extension Value {
    /// The value as messages and `explain` show it: strings in quotes, dates in ISO 8601.
    package var text: String {
        switch self {
        case .null: "nil"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .uint(let number): String(number)
        case .double(let number): String(number)
        case .date(let seconds): "\"\(ISODate.text(seconds) ?? String(seconds))\""
        case .uuid(let id): "\"\(id.uuidString)\""
        case .string(let text): "\"" + text.escaping("\\\"", with: UInt8(ascii: "\\")) + "\""
        case .data(let data): "<\(data.count) bytes>"
        case .decimal(let number): number.description
        case .json(let text): text
        case .array(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        }
    }
}

/// One term of a sort. Small, because planning copies it.
package struct SortTerm: Sendable {
    package enum Key: Sendable {
        case column(Int)
        /// The number of stored entities that a relation leads to.
        case linkCount(String)
        /// Best score of the `matches` filter first (descending) or last. Ties are ordered by id.
        case score
        /// A value that is computed from the row, and that an index may hold.
        indirect case derived(ComputedComponent)
        /// An order that only the typed layer can evaluate: a key of a row, and the order of two keys as a number like
        /// that of `memcmp`.
        indirect case opaque(
            label: String, key: @Sendable (RowReader) throws -> any Sendable,
            order: @Sendable (any Sendable, any Sendable) -> Int)
        /// An order that isn't possible. A query with it throws the error.
        indirect case refused(HornbeamError)
    }

    package var key: Key
    package var descending: Bool

    package init(_ key: Key, descending: Bool = false) {
        self.key = key
        self.descending = descending
    }

    package static func column(_ column: Int, descending: Bool = false) -> SortTerm {
        SortTerm(.column(column), descending: descending)
    }

    package static let bestScore = SortTerm(.score, descending: true)

    /// Whether the term sorts by descending score.
    package var isBestScore: Bool {
        if case .score = key { descending } else { false }
    }

    package func text(_ type: EntityDescription) -> String {
        let name =
            switch key {
            case .column(let column): type.columns.indices.contains(column) ? type.columns[column].label : "#\(column)"
            case .linkCount(let relation): "count of \(relation)"
            case .score: "score"
            case .derived(let component): component.label
            case .opaque(let label, _, _): label
            case .refused: "(…)"
            }
        return descending ? name + " desc" : name
    }
}
