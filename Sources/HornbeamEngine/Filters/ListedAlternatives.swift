// SPDX-License-Identifier: Apache-2.0
// Combines several comparisons of one property into one list of values. An index then looks up all values at once, and
// a row is tested with one look-up in a set.

extension Filter {
    /// A filter that holds if any of the parts does. The values that parts want one column to have become one list.
    package static func any(of parts: [Filter]) -> Filter {
        if parts.count > 1, !parts.canBeListed(\.isAlternative) { return .or(parts) }
        var found: [Filter] = []
        var lists = ValueLists()
        func add(_ part: Filter) {
            switch part {
            case .or(let inner): for part in inner { add(part) }
            case .compare(let column, .equal, let value): list(part, column, [value])
            case .isNull(let column): list(part, column, [.null])
            case .within(let column, let values): list(part, column, values)
            default: found.append(part)
            }
        }
        func list(_ part: Filter, _ column: Int, _ values: [Value]) {
            if lists.add(values, of: column, at: found.count) { found.append(part) }
        }
        for part in parts { add(part) }
        lists.forEach { place, column, values in found[place] = .within(column: column, values) }
        // Any other single part stays an alternative: `ids` by itself would give the result its order.
        if found.count == 1, case .within = found[0] { return found[0] }
        return .or(found)
    }

    /// Parts that together hold where all of `parts` do. Values that several parts exclude from one column become one
    /// list.
    package static func listingExclusions(_ parts: [Filter]) -> [Filter] {
        guard parts.canBeListed(\.isExclusion) else { return parts }
        var found: [Filter] = []
        var lists = ValueLists()
        for part in parts {
            let isNew =
                switch part {
                case .compare(let column, .notEqual, let value): lists.add([value], of: column, at: found.count)
                case .not(.within(let column, let values)): lists.add(values, of: column, at: found.count)
                default: true
                }
            if isNew { found.append(part) }
        }
        lists.forEach { place, column, values in found[place] = .not(.within(column: column, values)) }
        return found
    }

    /// The value that a column must have; nil if the filter doesn't require one.
    func value(of column: Int) -> Value? {
        switch self {
        case .compare(column, .equal, let value): return value == .null ? nil : value
        case .and(let parts):
            for case .compare(column, .equal, let value) in parts where value != .null { return value }
            return nil
        default: return nil
        }
    }

    /// Whether it wants one column to have one of some values, or has alternatives that may do so.
    fileprivate var isAlternative: Bool {
        switch self {
        case .compare(_, .equal, _), .isNull, .within, .or: true
        default: false
        }
    }

    /// Whether it excludes values from one column.
    fileprivate var isExclusion: Bool {
        switch self {
        case .compare(_, .notEqual, _), .not(.within): true
        default: false
        }
    }
}

extension [Filter] {
    /// Whether there may be two parts for one list.
    fileprivate func canBeListed(_ isListed: (Filter) -> Bool) -> Bool {
        var isFirst = true
        for part in self where isListed(part) {
            if case .or = part { return true }
            if !isFirst { return true }
            isFirst = false
        }
        return false
    }

    /// The conjuncts, with alternatives of one column as lists of values.
    var listingAlternatives: [Filter] {
        guard contains(where: { if case .or = $0 { true } else { false } }) else { return self }
        return map { if case .or(let parts) = $0 { .any(of: parts) } else { $0 } }
    }
}

/// For each column, the values that parts want it to have, and the place of the first of these parts.
private struct ValueLists {
    private var lists: [Int: (place: Int, parts: Int, values: [Value])] = [:]

    /// Returns whether these are the first values of the column.
    mutating func add(_ values: [Value], of column: Int, at place: Int) -> Bool {
        let isNew = lists[column] == nil
        lists[column, default: (place, 0, [])].values += values
        lists[column, default: (place, 0, [])].parts += 1
        return isNew
    }

    /// Calls `body` for each column that more than one part tests.
    func forEach(_ body: (_ place: Int, _ column: Int, _ values: [Value]) -> Void) {
        for (column, list) in lists where list.parts > 1 { body(list.place, column, list.values) }
    }
}
