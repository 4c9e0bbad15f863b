// SPDX-License-Identifier: Apache-2.0
// Conditions on what is computed from a row, for indexes over expressions: `lower(name) = 'sam'` where an index holds
// `lower(name)`, and comparisons of texts by a collation, which are filters also without an index. Keys of expressions
// sort as items do; so a comparison, which is one of like with like, is a range within the keys of a kind.

import FoundationEssentials

extension FilterPush {
    /// What an index may hold that is just this expression, of the source alone: a text by a collation, or what one of
    /// its indexes is over.
    func component(_ expression: BoundExpression) -> ComputedComponent? {
        if case .slot = expression { return nil }
        guard let type = source.type, let own = ownExpression(expression) else { return nil }
        let found = ColumnExpression(entity: type.name, own: own)
        if let text = try? ComputedComponent(collated: found, of: type.description) { return text }
        guard let indexes = try? binder.session?.store(type.name).queryIndexes else { return nil }
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

    func derived(_ component: ComputedComponent, within list: [Item], _ wanted: Bool) -> PushedFilter? {
        if list.isEmpty { return exact(wanted ? .none : .all) }
        if !wanted, list.contains(where: \.isUnknown) { return exact(.none) }
        let known = list.filter { !$0.isUnknown }
        guard known.allSatisfy({ component.answers($0) }) else { return nil }
        let filters = known.map { component.filter(wanted ? .equal : .notEqual, $0) }
        if filters.isEmpty { return exact(.none) }
        return exact(filters.count == 1 ? filters[0] : wanted ? .or(filters) : .and(filters))
    }

    /// What there is no value of is null to an index, or missing: to be told apart by a look.
    func derived(_ expression: BoundExpression, _ test: StateTest, _ wanted: Bool) -> PushedFilter? {
        guard let component = component(expression) else { return nil }
        let isNull = Filter.computed(ComputedTest(component, .equal, .null, label: "\(component.label) == nil"))
        let isThere = Filter.computed(ComputedTest(component, .notEqual, .null, label: "\(component.label) != nil"))
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
    /// Whether an index's keys tell what a comparison with the value says: texts also say dates, UUIDs and data, whose
    /// keys are others.
    fileprivate func answers(_ item: Item) -> Bool {
        if subject.expression?.collated != nil { return true }
        switch item {
        case .value(.date), .value(.uuid), .value(.data): return false
        default: return true
        }
    }

    /// Where a comparison with a value that is known is true.
    fileprivate func filter(_ comparison: Comparison, _ item: Item) -> Filter {
        func test(_ comparison: Comparison, _ bytes: [UInt8]?, _ what: String) -> Filter {
            let literal = bytes.map { Value.data(Data($0)) } ?? .null
            return .computed(
                ComputedTest(self, comparison, literal, label: "\(label) \(comparison.rawValue) \(what)"))
        }
        let key: [UInt8]
        if subject.expression?.collated != nil {
            // What is no text is equal to none, and neither less nor greater.
            guard case .value(.data(let data)) = item else {
                return comparison == .notEqual ? test(.notEqual, nil, "nil") : Filter.none
            }
            key = Array(data)
        } else {
            key = item.orderedKey
        }
        let asked = test(comparison, key, subject.expression?.collated == nil ? item.node.text : "a text")
        if comparison == .notEqual { return asked.and(test(.notEqual, nil, "nil")) }
        guard subject.expression?.collated == nil else { return asked }
        switch comparison {
        case .less, .lessOrEqual: return asked.and(test(.greaterOrEqual, [item.kindPrefix], "all of its kind"))
        case .greater, .greaterOrEqual: return asked.and(test(.less, [item.kindPrefix + 1], "all of other kinds"))
        case .equal, .notEqual: return asked
        }
    }
}
