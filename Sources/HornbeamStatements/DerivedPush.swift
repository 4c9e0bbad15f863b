// SPDX-License-Identifier: Apache-2.0
// Conditions on values computed from a row, for indexes over expressions: `lower(name) = 'sam'` with an index over
// `lower(name)`, and comparisons of texts by a collation, which are filters even without an index. Keys of expressions
// sort as items do. A comparison, which only holds between values of one kind, is a range within the keys of the kind.

import FoundationEssentials

extension FilterPush {
    /// Returns the index component that equals this expression, if it uses this source alone: a text by a collation, or
    /// the expression of one of the source's indexes.
    func component(_ expression: BoundExpression) -> ComputedComponent? {
        if case .slot = expression { return nil }
        guard let type = source.type, let own = ownExpression(expression) else { return nil }
        let found = ColumnExpression(entity: type.name, own: own)
        if let text = try? ComputedComponent(collated: found, of: type.description) { return text }
        guard let indexes = try? binder.core?.store(type.name).queryIndexes else { return nil }
        let subject = ComputedSubject(found)
        for index in indexes {
            if let component = index.computed.first(where: { $0.subject == subject }) { return component }
        }
        return nil
    }

    /// The expression with the numbers of columns for slots; nil if it needs more than a row of the source.
    private func ownExpression(_ expression: BoundExpression) -> BoundExpression? {
        expression.mappingSlots { slot in
            guard let (owner, content) = binder.content(of: slot), owner === source,
                case .column(let number) = content
            else { return nil }
            return number
        }
    }

    func derived(
        _ comparison: Comparison, _ left: BoundExpression, _ right: BoundExpression, _ wanted: Bool
    ) -> PushedFilter? {
        guard let component = component(left), let item = item(right) else { return nil }
        if item.isUnknown { return exact(.none) }
        guard component.answers(item) else { return nil }
        return exact(component.filter(wanted ? comparison : comparison.opposite, item))
    }

    func derived(_ component: ComputedComponent, within list: [StatementValue], _ wanted: Bool) -> PushedFilter? {
        if list.isEmpty { return exact(wanted ? .none : .all) }
        if !wanted, list.contains(where: \.isUnknown) { return exact(.none) }
        let known = list.filter { !$0.isUnknown }
        guard known.allSatisfy({ component.answers($0) }) else { return nil }
        return exact(known.isEmpty ? .none : component.filter(within: known, wanted))
    }

    /// An index holds null for both null and missing values. If the difference matters, rows are tested again.
    func derived(_ expression: BoundExpression, _ test: StateTest, _ wanted: Bool) -> PushedFilter? {
        guard let component = component(expression) else { return nil }
        let isNull = component.test(.equal, nil, "nil")
        let isThere = component.isThere
        let isExact = !expression.mayBeMissing
        switch (test, wanted) {
        case (.valued, true): return exact(isThere)
        case (.valued, false): return exact(isNull)
        case (.null, true): return PushedFilter(filter: isNull, isExact: isExact)
        case (.null, false): return exact(isThere)
        case (.missing, true): return isExact ? exact(.none) : PushedFilter(filter: isNull, isExact: false)
        case (.missing, false): return isExact ? exact(.all) : nil
        }
    }
}

extension ComputedComponent {
    /// Whether an index's keys decide a comparison with the value. Texts may also spell dates, UUIDs and data, whose
    /// keys differ.
    fileprivate func answers(_ item: StatementValue) -> Bool {
        if subject.collated != nil { return true }
        switch item {
        case .value(.date), .value(.uuid), .value(.data): return false
        default: return true
        }
    }

    /// Returns a filter for the rows where a comparison with a value that is known is true.
    fileprivate func filter(_ comparison: Comparison, _ item: StatementValue) -> Filter {
        // A value that is no text is equal to no text, and neither less nor greater.
        guard let key = key(of: item) else { return comparison == .notEqual ? isThere : Filter.none }
        let isCollated = subject.collated != nil
        let asked = test(comparison, key, isCollated ? "a text" : item.node.text)
        if comparison == .notEqual { return asked.and(isThere) }
        if isCollated { return asked }
        switch comparison {
        case .less, .lessOrEqual: return asked.and(test(.greaterOrEqual, [item.kindPrefix], "all of its kind"))
        case .greater, .greaterOrEqual: return asked.and(test(.less, [item.kindPrefix + 1], "all of other kinds"))
        case .equal, .notEqual: return asked
        }
    }

    /// Returns a filter for the rows where the component is one of these known values. If `wanted` is false, the filter
    /// is for the rows where it is known, and none of them.
    fileprivate func filter(within list: [StatementValue], _ wanted: Bool) -> Filter {
        if list.count == 1 { return filter(wanted ? .equal : .notEqual, list[0]) }
        let keys = list.compactMap { key(of: $0) }
        let texts = list.prefix(3).map { subject.collated == nil ? $0.node.text : "a text" }
        let more = list.count > 3 ? ", …" : ""
        let found = ComputedTest(self, within: keys, label: "\(label) in [\(texts.joined(separator: ", "))\(more)]")
        if wanted { return keys.isEmpty ? Filter.none : .computed(found) }
        return Filter.not(.computed(found)).and(isThere)
    }

    fileprivate var isThere: Filter { test(.notEqual, nil, "nil") }

    fileprivate func test(_ comparison: Comparison, _ bytes: [UInt8]?, _ what: String) -> Filter {
        let literal = bytes.map { Value.data(Data($0)) } ?? .null
        return .computed(ComputedTest(self, comparison, literal, label: "\(label) \(comparison.rawValue) \(what)"))
    }

    /// The bytes of the value's key; nil for a value other than a text's sort key if the component has a collation.
    private func key(of item: StatementValue) -> [UInt8]? {
        guard subject.collated != nil else { return item.orderedKey }
        guard case .value(.data(let data)) = item else { return nil }
        return Array(data)
    }
}
