// SPDX-License-Identifier: Apache-2.0
// Comparisons of one property with many values are one list of values, however they are written: an index is then asked
// for all of them at once, and a row is tested by one look into a set.

extension Filter {
    /// Whether any of the parts holds; what they ask of one column is one list of values.
    static func any(of parts: [Filter]) -> Filter {
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
        // Anything else alone stays an alternative: by itself it could mean more, as ids mean their own order.
        if found.count == 1, case .within = found[0] { return found[0] }
        return .or(found)
    }

    /// Parts that hold where all of these do; what they exclude of one column is one list of values.
    static func listingExclusions(_ parts: [Filter]) -> [Filter] {
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
}

extension [Filter] {
    /// The same conjuncts, with alternatives as lists of values where they are of one column.
    var listingAlternatives: [Filter] {
        guard contains(where: { if case .or = $0 { true } else { false } }) else { return self }
        return map { if case .or(let parts) = $0 { .any(of: parts) } else { $0 } }
    }
}

/// Values that several parts ask one column for, and where the first of these parts stands.
private struct ValueLists {
    private var lists: [Int: (place: Int, parts: Int, values: [Value])] = [:]

    /// Whether they are the first of the column.
    mutating func add(_ values: [Value], of column: Int, at place: Int) -> Bool {
        let isNew = lists[column] == nil
        lists[column, default: (place, 0, [])].values += values
        lists[column, default: (place, 0, [])].parts += 1
        return isNew
    }

    /// Calls `body` with what more than one part asks for.
    func forEach(_ body: (_ place: Int, _ column: Int, _ values: [Value]) -> Void) {
        for (column, list) in lists where list.parts > 1 { body(list.place, column, list.values) }
    }
}
