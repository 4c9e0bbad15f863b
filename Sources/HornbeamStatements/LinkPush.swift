// SPDX-License-Identifier: Apache-2.0
// Conditions on related entities, `ANY b IN books SATISFIES b.year > 2000 END`, as a filter of the related type, which
// one of its indexes may answer. Inexact filters are tested again.

extension FilterPush {
    /// The filter for `ANY variable IN relation SATISFIES condition END`; nil if no part of the condition can be a
    /// filter.
    /// - Parameter variable: the slot that holds an entity of the relation in `slot`.
    func related(_ slot: Int, _ variable: Int, _ condition: BoundExpression) -> PushedFilter? {
        guard let (owner, content) = binder.content(of: slot), owner === source,
            case .linkedObjects(let name) = content,
            let side = source.type?.relations.first(where: { $0.name == name }),
            let target = binder.schema.types[side.target]
        else { return nil }
        let filters = condition.conjuncts.compactMap { related(target, variable, $0) }
        guard !filters.isEmpty else { return nil }
        let test = LinkTest(.any, name, of: target.description, Filter.conjunction(filters))
        return PushedFilter(filter: .links(test), isExact: false)
    }

    private func related(_ target: EntityType, _ variable: Int, _ condition: BoundExpression) -> Filter? {
        func column(_ expression: BoundExpression) -> Int? {
            guard case .field(.slot(variable), let name) = expression else { return nil }
            return target.shownColumns.first { $0.name == name }?.number
        }
        func compared(_ comparison: Comparison, _ left: BoundExpression, _ right: BoundExpression) -> Filter? {
            guard let number = column(left), let item = item(right) else { return nil }
            return item.filter(number, target.description.columns[number].type, comparison)
        }
        func within(_ number: Int, _ items: [StatementValue]) -> Filter? {
            let type = target.description.columns[number].type
            return type.isOrdered ? StatementValue.literals(items, type).map { .within(column: number, $0) } : nil
        }
        switch condition {
        case .binary(let sign, let left, let right, _):
            guard let comparison = Comparison(sign), comparison != .notEqual else { return nil }
            return compared(comparison, left, right) ?? compared(comparison.mirrored, right, left)
        case .between(let value, let low, let high):
            let filters = [compared(.greaterOrEqual, value, low), compared(.lessOrEqual, value, high)].compactMap { $0 }
            return filters.isEmpty ? nil : Filter.conjunction(filters)
        case .within(let value, let list):
            guard let number = column(value) else { return nil }
            let items = list.compactMap { item($0) }
            return items.count == list.count ? within(number, items) : nil
        case .among(let value, let list): return column(value).flatMap { within($0, list.items) }
        default: return nil
        }
    }
}
