// SPDX-License-Identifier: Apache-2.0
// Conditions on the elements of arrays as data, which an index of elements can answer.

/// A comparison of an element that an index of elements may answer.
package struct ElementTerm: Sendable {
    package enum Test: Sendable {
        case compare(Comparison, Value)
        case within([Value])
    }

    /// The property of the element that is tested, nil for the element itself.
    package let subject: ComputedSubject?
    package let test: Test

    package init(subject: ComputedSubject?, _ test: Test) {
        self.subject = subject
        self.test = test
    }

    /// The comparison as a condition on a column.
    package func filter(column: Int) -> Filter {
        switch test {
        case .compare(.equal, .null): .isNull(column: column)
        case .compare(let comparison, let value): .compare(column: column, comparison, value)
        case .within(let values): .within(column: column, values)
        }
    }

    /// The values that it may equal, if it is an equality.
    var values: [Value]? {
        switch test {
        case .compare(.equal, let value): [value]
        case .compare: nil
        case .within(let values): values
        }
    }

    /// The disjunction of two equalities of the same subject. Returns nil for other terms.
    package func or(_ other: ElementTerm) -> ElementTerm? {
        guard subject == other.subject, let values, let more = other.values else { return nil }
        return ElementTerm(subject: subject, .within(values + more))
    }
}

/// Tests whether any element of an array passes. A class, so that a filter stays small.
package final class AnyElementTest: Sendable {
    package let steps: [ComputedSubject]
    package let terms: [ElementTerm]
    package let isComplete: Bool
    /// For `explain`.
    package let label: String
    let accepts: @Sendable (RowReader) throws -> Bool

    package init(
        steps: [ComputedSubject], _ terms: [ElementTerm], isComplete: Bool, label: String,
        accepts: @escaping @Sendable (RowReader) throws -> Bool
    ) {
        self.steps = steps
        self.terms = terms
        self.isComplete = isComplete
        self.label = label
        self.accepts = accepts
    }
}
