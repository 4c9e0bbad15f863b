// SPDX-License-Identifier: Apache-2.0
// Turns conditions into filters, so that the planner finds rows by indexes. A filter is two-valued, so there is one for
// the rows where a condition is true and one for those where it is false. Unknown results are in neither.

import FoundationEssentials

/// A filter for a condition.
struct PushedFilter {
    var filter: Filter
    /// Whether it holds exactly where the condition does; else the condition is to be tested too.
    var isExact: Bool
}

/// Makes filters for the rows of one source.
struct FilterPush {
    let binder: Binder
    let source: BoundSource
    /// The values of the current rows of earlier sources.
    let frame: Frame

    /// Returns the filter for the rows where a condition is true or, if `wanted` is false, those where it is false.
    /// Returns nil if no filter can express it.
    func filter(_ expression: BoundExpression, _ wanted: Bool = true) -> PushedFilter? {
        guard StackRoom.isEnough else { return nil }
        switch expression {
        case .constant(let item): return exact(item.truth == wanted ? .all : .none)
        case .not(let inner): return filter(inner, !wanted)
        case .binary(.and, let left, let right, _), .binary(.or, let left, let right, _):
            return combined(expression, left, right, wanted)
        case .binary(let sign, let left, let right, _): return compared(sign, left, right, wanted)
        case .between(let value, let low, let high):
            let (first, second) = (
                compared(.greaterOrEqual, value, low, wanted), compared(.lessOrEqual, value, high, wanted)
            )
            return wanted ? both(first, second) : either(first, second)
        case .within(let value, let list):
            let items = list.compactMap { item($0) }
            return items.count == list.count ? within(value, items, wanted) : nil
        case .withinArray(let value, let array):
            if let array = item(array) {
                guard case .array(let items) = array else { return exact(.none) }
                return within(value, items, wanted)
            }
            guard case .slot(let slot) = array else { return nil }
            return linked(slot, value, wanted) ?? (wanted ? element(slot, value) : nil)
        case .among(let value, let list): return within(value, list.items, wanted)
        case .quantified(.any, let variable, .slot(let slot), .binary(.equal, .slot(let left), let item, _))
        where wanted && left == variable:
            return element(slot, item)
        case .quantified(let quantifier, let variable, .slot(let slot), let condition)
        where wanted && quantifier != .every:
            return related(slot, variable, condition)
        case .call(let function, let arguments, _): return called(function.name, arguments, wanted)
        case .like(let text, let pattern, let escape, _) where wanted: return like(text, pattern, escape)
        case .test(.slot(let slot), let test): return tested(slot, test, wanted)
        case .test(let inner, let test): return derived(inner, test, wanted)
        case .slot(let slot): return flag(slot, wanted)
        default: return nil
        }
    }

    func exact(_ filter: Filter) -> PushedFilter { PushedFilter(filter: filter, isExact: true) }

    // MARK: Logic

    private func combined(
        _ expression: BoundExpression, _ left: BoundExpression, _ right: BoundExpression, _ wanted: Bool
    ) -> PushedFilter? {
        let (first, second) = (filter(left, wanted), filter(right, wanted))
        if case .binary(.and, _, _, _) = expression { return wanted ? both(first, second) : either(first, second) }
        return wanted ? either(first, second) : both(first, second)
    }

    /// Combines two filters that must both hold. If only one is known, it is the result, but not exact.
    private func both(_ first: PushedFilter?, _ second: PushedFilter?) -> PushedFilter? {
        guard let first, let second else {
            return (first ?? second).map { PushedFilter(filter: $0.filter, isExact: false) }
        }
        return PushedFilter(filter: first.filter.and(second.filter), isExact: first.isExact && second.isExact)
    }

    private func either(_ first: PushedFilter?, _ second: PushedFilter?) -> PushedFilter? {
        guard let first, let second else { return nil }
        return PushedFilter(filter: first.filter.or(second.filter), isExact: first.isExact && second.isExact)
    }

    // MARK: Operands

    /// The value of an expression that depends on earlier sources only; nil for any other expression, and on errors.
    func item(_ expression: BoundExpression) -> StatementValue? {
        if case .constant(let item) = expression { return item }
        for slot in expression.slots {
            guard let owner = binder.owners[slot], owner < source.number else { return nil }
        }
        return try? expression.evaluate(frame)
    }

    /// A column of the source, or of an entity that a relation leads to from it.
    private struct Column {
        let type: EntityType
        let number: Int
        /// The side from the source to the owner; nil for the source's own columns.
        var side: EdgeSide?
        /// Whether a condition on the column is true or false for a whole row of the source. After a join it may be
        /// true for only some of the rows that are joined to that row.
        var isExact = true

        var columnType: ColumnType { type.description.columns[number].type }
    }

    private func column(_ slot: Int) -> Column? {
        guard let (owner, content) = binder.content(of: slot), let type = owner.type else { return nil }
        // The value of a to-one relation is the id of the entity that it leads to.
        if case .link(let name) = content, owner === source, let (side, target) = relation(name) {
            return Column(type: target, number: 0, side: side)
        }
        guard case .column(let number) = content else { return nil }
        if owner === source { return Column(type: type, number: number) }
        guard case .link(source.number, let side) = owner.rows, owner.isImplicit || !owner.isOuter else { return nil }
        // Each joined entity makes a row of its own, and the condition may hold for only some of these rows.
        return Column(type: type, number: number, side: side, isExact: owner.isImplicit)
    }

    /// The relation of the source with this name, and the type that it leads to.
    private func relation(_ name: String) -> (side: EdgeSide, target: EntityType)? {
        guard let side = source.type?.relations.first(where: { $0.name == name }),
            let target = binder.schema.types[side.target]
        else { return nil }
        return (side, target)
    }

    /// Turns a filter on the column's owner into one on the source. The filter must not hold for null, which is the
    /// value of a path whose relation leads nowhere.
    private func lifted(_ filter: Filter, _ column: Column) -> PushedFilter {
        guard let side = column.side else { return exact(filter) }
        let test = LinkTest(.any, side.name, of: column.type.description, filter)
        return PushedFilter(filter: .links(test), isExact: column.isExact)
    }

    // MARK: Comparisons

    private func compared(
        _ sign: BinaryOperator, _ left: BoundExpression, _ right: BoundExpression, _ wanted: Bool
    ) -> PushedFilter? {
        guard var comparison = Comparison(sign) else { return nil }
        let slot: Int
        let other: BoundExpression
        if case .slot(let number) = left, isOwn(number) {
            (slot, other) = (number, right)
        } else if case .slot(let number) = right, isOwn(number) {
            (slot, other) = (number, left)
            comparison = comparison.mirrored
        } else {
            return derived(comparison, left, right, wanted) ?? derived(comparison.mirrored, right, left, wanted)
        }
        guard let item = item(other) else { return nil }
        if item.isUnknown { return exact(.none) }
        if !wanted { comparison = comparison.opposite }
        guard let column = column(slot) else { return unnested(slot, comparison, other) }
        return item.filter(column.number, column.columnType, comparison).map { lifted($0, column) }
    }

    private func isOwn(_ slot: Int) -> Bool {
        guard let owner = binder.owners[slot] else { return false }
        return owner >= source.number
    }

    /// `UNNEST message.tags AS tag … tag = 'a'`: only entities with such an element have such a row.
    private func unnested(_ slot: Int, _ comparison: Comparison, _ item: BoundExpression) -> PushedFilter? {
        guard comparison == .equal, let owner = binder.owners[slot], binder.sources[owner].elementSlot == slot,
            !binder.sources[owner].isOuter, case .elements(.slot(let array)) = binder.sources[owner].rows,
            let found = element(array, item)
        else { return nil }
        return PushedFilter(filter: found.filter, isExact: false)
    }

    /// `7 IN books`, where `books` is a to-many relation.
    private func linked(_ slot: Int, _ expression: BoundExpression, _ wanted: Bool) -> PushedFilter? {
        guard let (owner, content) = binder.content(of: slot), owner === source, case .links(let name) = content,
            let (side, target) = relation(name), let item = item(expression)
        else { return nil }
        func links(_ quantifier: LinkTest.Quantifier, _ filter: Filter) -> PushedFilter {
            exact(.links(LinkTest(quantifier, side.name, of: target.description, filter)))
        }
        // An unknown value is in no list. Only an empty list makes the answer certain.
        if item.isUnknown { return wanted ? exact(.none) : links(.none, .all) }
        return item.filter(0, target.idType, .equal).map { links(wanted ? .any : .none, $0) }
    }

    private func within(_ value: BoundExpression, _ list: [StatementValue], _ wanted: Bool) -> PushedFilter? {
        if let component = component(value) { return derived(component, within: list, wanted) }
        guard case .slot(let slot) = value, let column = column(slot), column.columnType.isOrdered else { return nil }
        if list.isEmpty { return exact(wanted ? .none : .all) }
        if !wanted, list.contains(where: \.isUnknown) { return exact(.none) }
        guard let values = StatementValue.literals(list, column.columnType) else { return nil }
        let test = Filter.within(column: column.number, values)
        return lifted(wanted ? test : Filter.not(test).and(.not(.isNull(column: column.number))), column)
    }

    private func element(_ slot: Int, _ expression: BoundExpression) -> PushedFilter? {
        guard let column = column(slot), case .array(let type) = column.columnType.unwrapped,
            let item = item(expression)
        else { return nil }
        guard let values = StatementValue.literals([item], type) else { return nil }
        if values.isEmpty { return exact(.none) }
        return lifted(.elements(ElementTest(column: column.number, values: values, wantsAll: false)), column)
    }

    /// Functions with a filter of their own, such as `CONTAINS(title, 'x')`, also of `FOLD(title)` and `LOWER(title)`.
    private func called(_ name: String, _ arguments: [BoundExpression], _ wanted: Bool) -> PushedFilter? {
        if name == "array_contains" {
            guard wanted, case .slot(let slot) = arguments[0] else { return nil }
            return element(slot, arguments[1])
        }
        let kinds = ["contains": StringTest.Kind.contains, "starts_with": .hasPrefix, "ends_with": .hasSuffix]
        guard let kind = kinds[name], let part = item(arguments[1])?.text, !part.isEmpty else { return nil }
        var subject = arguments[0]
        var letterCase = StringTest.LetterCase.exact
        if case .call(let function, let inner, _) = subject {
            switch function.name {
            case "fold": letterCase = .folded
            case "lower": letterCase = .lowered
            default: return nil
            }
            subject = inner[0]
        }
        guard case .slot(let slot) = subject, let column = column(slot), case .string = column.columnType.unwrapped
        else { return nil }
        var test = StringTest(kind, columns: [column.number], part, negated: !wanted)
        test.letterCase = letterCase
        // If the part isn't in the same form as the texts, the function is evaluated row by row.
        guard test.folded(part) == part else { return nil }
        let filter = Filter.string(test)
        return lifted(wanted ? filter : filter.and(.not(.isNull(column: column.number))), column)
    }

    private func like(
        _ text: BoundExpression, _ pattern: BoundExpression, _ escape: BoundExpression?
    ) -> PushedFilter? {
        guard case .slot(let slot) = text, let column = column(slot), case .string = column.columnType.unwrapped,
            let pattern = item(pattern)?.text, escape == nil, let like = try? LikePattern(pattern, escape: nil)
        else { return nil }
        if like.prefix.isEmpty {
            // A text that matches contains the text between two `%`.
            guard let part = like.longestPart else { return nil }
            let test = Filter.string(StringTest(.contains, columns: [column.number], part, caseSensitive: true))
            return PushedFilter(filter: lifted(test, column).filter, isExact: false)
        }
        var filter = Filter.string(
            StringTest(.hasPrefix, columns: [column.number], like.prefix, caseSensitive: true))
        if let (from, to) = Self.range(of: like.prefix) {
            let start = Filter.compare(column: column.number, .greaterOrEqual, .string(from))
            filter = start.and(.compare(column: column.number, .less, .string(to))).and(filter)
        }
        return PushedFilter(filter: lifted(filter, column).filter, isExact: false)
    }

    /// The range of texts that an index reads for a prefix; nil if there is none. It uses the prefix's leading ASCII
    /// characters only, because their bytes are those of the key.
    static func range(of prefix: String) -> (from: String, to: String)? {
        let ascii = prefix.prefix { $0.unicodeScalars.count == 1 && $0.isASCII }
        guard let last = ascii.utf8.last, last < 0x7F else { return nil }
        return (String(ascii), ascii.dropLast() + String(UnicodeScalar(last + 1)))
    }

    private func tested(_ slot: Int, _ test: StateTest, _ wanted: Bool) -> PushedFilter? {
        guard let column = column(slot) else { return nil }
        let isNull = Filter.isNull(column: column.number)
        switch (test, wanted) {
        // A column is never missing.
        case (.missing, _): return exact(wanted ? .none : .all)
        case (.null, false), (.valued, true): return lifted(.not(isNull), column)
        case (.null, true), (.valued, false):
            guard let side = column.side else { return exact(isNull) }
            guard column.isExact else { return nil }
            // The path leads to no entity, or to one where the column is null.
            let isThere = column.number == 0 ? Filter.all : .not(isNull)
            return exact(.links(LinkTest(.none, side.name, of: column.type.description, isThere)))
        }
    }

    /// A condition that is a column of type `bool`, or a MATCH.
    private func flag(_ slot: Int, _ wanted: Bool) -> PushedFilter? {
        if let column = column(slot) {
            guard case .bool = column.columnType.unwrapped else { return nil }
            return lifted(.compare(column: column.number, .equal, .bool(wanted)), column)
        }
        guard let (owner, content) = binder.content(of: slot), owner === source, case .match(let number) = content,
            let match = binder.matches[number].match
        else { return nil }
        return exact(wanted ? .matches(match) : .not(.matches(match)))
    }
}

extension StatementValue {
    /// Returns the value's bound among the values of a column, in the order of the operators `=` and `<`. Returns nil
    /// if that can't be determined, which doesn't mean that no value is equal.
    func place(in type: ColumnType) -> ValueBound? {
        guard case .value(let value) = self else { return nil }
        let type = type.unwrapped
        let equal: Value?
        switch (type, value) {
        case (.date, .string(let text)): equal = ISODate.seconds(text).map { .date($0) }
        case (.uuid, .string(let text)): equal = UUID(uuidString: text).map { .uuid($0) }
        case (.data, .string(let text)): equal = Data(base64Encoded: text).map { .data($0) }
        case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.data, .data), (.string, .string), (.url, .string):
            equal = value.converted(to: type)
        // A date is no number here.
        case (.date, _): equal = nil
        // Several texts spell the same date or UUID.
        default: return ValueBound(number: value, in: type, .asStored)
        }
        return equal.map { .at($0) }
    }

    /// The value of a column of `type` that is equal to this one; nil if there is none, or if that can't be determined.
    func literal(_ type: ColumnType) -> Value? {
        guard case .at(let value)? = place(in: type) else { return nil }
        return value
    }

    /// Returns the values of a column of `type` that are equal to one of these, or nil if that can't be determined.
    static func literals(_ items: [StatementValue], _ type: ColumnType) -> [Value]? {
        var values: [Value] = []
        for item in items where !item.isUnknown && !item.isApart(from: type) {
            switch item.place(in: type) {
            case .at(let value): values.append(value)
            case .behind, .aboveAll, .belowAll: break
            case nil: return nil
            }
        }
        return values
    }

    /// Returns a filter for the rows where a comparison of a column of `type` with it is true, or nil if that can't be
    /// determined.
    func filter(_ column: Int, _ type: ColumnType, _ comparison: Comparison) -> Filter? {
        if isUnknown { return Filter.none }
        let found: Filter? =
            isApart(from: type)
            ? (comparison == .notEqual ? .all : Filter.none) : place(in: type)?.filter(column, comparison)
        return comparison == .notEqual ? found?.and(.not(.isNull(column: column))) : found
    }
}
