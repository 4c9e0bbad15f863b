// SPDX-License-Identifier: Apache-2.0
// What an index can do for a conjunction: any leftmost prefix of equalities, then a list of values or one range. The
// ranges found hold every entry that the answered conjuncts accept and no other; bounds too long for a key widen them,
// and the conjunct stays to be tested on the row.

import HornbeamKeys
import HornbeamTree

struct IndexMatcher {
    let type: EntityType
    let transaction: Transaction
    let conjuncts: [Filter]

    /// More values than this in a list are not looked up one by one.
    private static let maximumRanges = 1000

    /// Nil if the index narrows nothing.
    func match(_ index: EntityIndex) throws -> IndexMatch? {
        var key = KeyWriter()
        var answered = ConjunctSet()
        var fixed = 0
        for component in index.components {
            guard let (position, value) = try equality(on: component.column) else { break }
            if fixed == 0 { key = KeyWriter(capacity: 40) }
            try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
            guard key.bytes.count <= IndexKeyBytes.keptSize else {
                return try widened(index, key.bytes, answered, fixed)
            }
            answered.insert(position)
            fixed += 1
        }
        let prefix = key.bytes
        if fixed < index.components.count {
            let component = index.components[fixed]
            if let match = try list(index, component, prefix, answered, fixed) { return match }
            if let match = try range(index, component, prefix, answered, fixed) { return match }
        }
        guard fixed > 0 else { return nil }
        let whole = try counted(index, prefix, KeyWriter.successor(ofPrefix: prefix) ?? [])
        return IndexMatch(index: index, ranges: [whole], answered: answered, fixed: fixed, count: whole.count)
    }

    /// The whole index, for its order alone.
    func whole(_ index: EntityIndex) throws -> IndexMatch {
        let all = try counted(index, [], [])
        return IndexMatch(index: index, ranges: [all], answered: ConjunctSet(), fixed: 0, count: all.count)
    }

    private func widened(
        _ index: EntityIndex, _ key: [UInt8], _ answered: ConjunctSet, _ fixed: Int
    ) throws -> IndexMatch {
        let kept = Array(key.prefix(IndexKeyBytes.keptSize))
        let range = try counted(index, kept, KeyWriter.successor(ofPrefix: kept) ?? [])
        return IndexMatch(index: index, ranges: [range], answered: answered, fixed: fixed, count: range.count)
    }

    private func counted(_ index: EntityIndex, _ from: [UInt8], _ to: [UInt8]) throws -> KeyRange {
        let isEmpty = !to.isEmpty && !from.lexicographicallyPrecedes(to)
        let count = isEmpty ? 0 : try transaction.count(index.tree, from: from, to: to)
        return KeyRange(from: from, to: to, count: Int(clamping: count))
    }

    private func encoded(_ value: Value, _ component: EntityIndex.Component) throws -> [UInt8] {
        var key = KeyWriter(capacity: 24)
        try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
        return key.bytes
    }

    private func literal(_ value: Value, _ column: Int) throws -> Value {
        try RowFilter.literal(value, column, type)
    }

    private func equality(on column: Int) throws -> (Int, Value)? {
        for (position, conjunct) in conjuncts.enumerated() {
            switch conjunct {
            case .compare(column, .equal, let value): return (position, try literal(value, column))
            case .isNull(column): return (position, .null)
            default: continue
            }
        }
        return nil
    }

    private func list(
        _ index: EntityIndex, _ component: EntityIndex.Component, _ prefix: [UInt8], _ answered: ConjunctSet,
        _ fixed: Int
    ) throws -> IndexMatch? {
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .within(component.column, let values) = conjunct, values.count <= Self.maximumRanges else {
                continue
            }
            var starts: Set<[UInt8]> = []
            for value in values { starts.insert(prefix + (try encoded(literal(value, component.column), component))) }
            guard starts.allSatisfy({ $0.count <= IndexKeyBytes.keptSize }) else { continue }
            let ranges = try starts.sorted { $0.lexicographicallyPrecedes($1) }.map {
                try counted(index, $0, KeyWriter.successor(ofPrefix: $0) ?? [])
            }
            let count = ranges.map(\.count).reduce(0, +)
            return IndexMatch(
                index: index, ranges: ranges, answered: answered.inserting(position), fixed: fixed, count: count)
        }
        return nil
    }

    // MARK: Ranges

    /// Bounds of one component's bytes.
    private struct Bounds {
        var from: [UInt8]
        var to: [UInt8]

        mutating func raise(_ bound: [UInt8]?) {
            guard let bound else { return }
            if from.lexicographicallyPrecedes(bound) { from = bound }
        }

        mutating func lower(_ bound: [UInt8]?) {
            guard let bound else { return }
            if bound.lexicographicallyPrecedes(to) { to = bound }
        }
    }

    private func range(
        _ index: EntityIndex, _ component: EntityIndex.Component, _ prefix: [UInt8], _ answered: ConjunctSet,
        _ fixed: Int
    ) throws -> IndexMatch? {
        // Everything but null: the marker of a present value, inverted where the order is.
        var bounds = component.descending ? Bounds(from: [0xFE], to: [0xFF]) : Bounds(from: [1], to: [2])
        var answered = answered
        var isNarrowed = false
        for (position, conjunct) in conjuncts.enumerated() {
            switch conjunct {
            case .compare(component.column, let comparison, let value):
                let literal = try literal(value, component.column)
                guard comparison != .notEqual, literal != .null else { continue }
                var bytes = try encoded(literal, component)
                let isWhole = prefix.count + bytes.count <= IndexKeyBytes.keptSize
                if !isWhole { bytes = Array(bytes.prefix(IndexKeyBytes.keptSize - prefix.count)) }
                narrow(&bounds, comparison, bytes, component.descending, isWhole: isWhole)
                if isWhole { answered.insert(position) }
                isNarrowed = true
            case .string(let test) where isPrefix(test, component):
                var key = KeyWriter()
                key.appendPresent()
                key.append(prefix: test.text)
                if component.descending { key.invert(from: 0) }
                let bytes = Array(key.bytes.prefix(IndexKeyBytes.keptSize - prefix.count))
                bounds.raise(bytes)
                bounds.lower(KeyWriter.successor(ofPrefix: bytes))
                isNarrowed = true
            default: continue
            }
        }
        guard isNarrowed else { return nil }
        let range = try counted(index, prefix + bounds.from, prefix + bounds.to)
        return IndexMatch(index: index, ranges: [range], answered: answered, fixed: fixed, count: range.count)
    }

    private func isPrefix(_ test: StringTest, _ component: EntityIndex.Component) -> Bool {
        test.kind == .hasPrefix && !test.isNegated && test.isCaseSensitive && test.columns == [component.column]
            && component.type == .string
    }

    /// `bytes` is the encoded literal, inverted already if descending; or its beginning, if the whole is too long: then
    /// both bounds include all that begins so.
    private func narrow(
        _ bounds: inout Bounds, _ comparison: Comparison, _ bytes: [UInt8], _ descending: Bool, isWhole: Bool
    ) {
        let after = KeyWriter.successor(ofPrefix: bytes)
        switch (comparison, descending) {
        case (.greater, false): bounds.raise(isWhole ? after : bytes)
        case (.greaterOrEqual, false): bounds.raise(bytes)
        case (.less, false): bounds.lower(isWhole ? bytes : after)
        case (.lessOrEqual, false): bounds.lower(after)
        case (.greater, true): bounds.lower(isWhole ? bytes : after)
        case (.greaterOrEqual, true): bounds.lower(after)
        case (.less, true): bounds.raise(isWhole ? after : bytes)
        case (.lessOrEqual, true): bounds.raise(bytes)
        case (.equal, _):
            bounds.raise(bytes)
            bounds.lower(after)
        case (.notEqual, _): break
        }
    }
}
