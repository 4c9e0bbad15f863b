// SPDX-License-Identifier: Apache-2.0
// Matches an index with a conjunction: any leftmost prefix of equalities, then a list of values or one range. The
// ranges hold exactly the entries that the answered conjuncts accept. A bound that is too long for a key widens a
// range, and then the conjunct must still be tested on the row.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

struct IndexMatcher {
    let type: EntityType
    let transaction: Transaction
    let conjuncts: [Filter]

    /// Matches an index with the conjuncts. Returns nil if the index narrows nothing, or if it lacks rows that the
    /// conjuncts accept.
    func match(_ index: EntityIndex) throws -> IndexMatch? {
        guard let condition = index.condition else { return try narrowing(index) }
        guard let implied = try condition.implied(by: conjuncts, type) else { return nil }
        return try (narrowing(index) ?? whole(index)).answering(implied)
    }

    /// A match with all entries.
    func whole(_ index: EntityIndex) throws -> IndexMatch {
        let count = Int(entries: try transaction.count(index.tree))
        return IndexMatch(index, EntryRange(from: [], to: [], count: count), answered: ConjunctSet(), fixed: 0)
    }

    private func narrowing(_ index: EntityIndex) throws -> IndexMatch? {
        if index.computed.isEmpty { return try columns(index) }
        // Conjuncts on computed components are rewritten as conjuncts on columns, so that both are matched in the same
        // way.
        let stated = conjuncts.map { index.stated($0) }
        return try IndexMatcher(type: type, transaction: transaction, conjuncts: stated).columns(index)
    }

    /// Matches an index with conjuncts on its columns, regardless of its condition.
    func columns(_ index: EntityIndex) throws -> IndexMatch? {
        guard let leading = index.columns.first, conjuncts.contains(where: { $0.mentions(leading) }) else { return nil }
        if index.isHashed { return try hashed(index) }
        var key = KeyWriter(capacity: 40)
        var answered = ConjunctSet()
        var fixed = 0
        for component in index.components {
            guard let (position, value) = try equality(on: component) else { break }
            try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
            guard key.bytes.count <= IndexKeyBytes.keptSize else {
                let kept = Array(key.bytes.prefix(IndexKeyBytes.keptSize))
                let range = try counted(index, startingWith: kept)
                return IndexMatch(index, range, answered: answered, fixed: fixed, prefix: kept)
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
        let range = try counted(index, startingWith: prefix)
        return IndexMatch(index, range, answered: answered, fixed: fixed, prefix: prefix)
    }

    /// Matches an index by hashes, if the whole key is given. Two keys may share a hash, so no conjunct is answered:
    /// they are tested on the rows.
    private func hashed(_ index: EntityIndex) throws -> IndexMatch? {
        if let only = index.components.first, index.components.count == 1 {
            for case .within(only.column, let values) in conjuncts {
                if values.count > Self.countedValues {
                    return try estimated(index, WantedValues(prefix: [], values: values), ConjunctSet(), 0)
                }
                return try ranges(
                    index, Set(try values.map { try start(of: $0, [], only, in: index) }), ConjunctSet(), 0)
            }
        }
        var key = KeyWriter(capacity: 40)
        for component in index.components {
            guard let (_, value) = try equality(on: component) else { return nil }
            try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
        }
        let hash = IndexKeyBytes.hashed(key.bytes)
        let range = try counted(index, startingWith: hash)
        return IndexMatch(index, range, answered: ConjunctSet(), fixed: index.components.count, prefix: hash)
    }

    private func counted(_ index: EntityIndex, startingWith prefix: [UInt8]) throws -> EntryRange {
        try counted(index, prefix, KeyWriter.successor(ofPrefix: prefix) ?? [])
    }

    func counted(_ index: EntityIndex, _ from: [UInt8], _ to: [UInt8]) throws -> EntryRange {
        let count = try from.withBytes { (from) throws(StorageError) in
            try to.withBytes { (to) throws(StorageError) in
                !to.isEmpty && from.order(to) >= 0 ? 0 : try transaction.count(index.tree, from: from, to: to)
            }
        }
        return EntryRange(from: from, to: to, count: Int(entries: count))
    }

    /// The key `prefix` with one more component.
    private func encoded(
        _ prefix: [UInt8], _ value: Value, _ component: EntityIndex.Component
    ) throws -> [UInt8] {
        var key = KeyWriter(capacity: prefix.count + 24)
        key.bytes.append(contentsOf: prefix)
        try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
        return key.bytes
    }

    private func literal(_ value: Value, _ component: EntityIndex.Component) throws -> Value {
        guard component.column < 0 else { return try RowFilter.literal(value, component.column, type) }
        guard let converted = value.converted(to: .optional(component.type)) else {
            throw HornbeamError(.invalid, "\(value.text) can't be compared with a computed \(component.type)")
        }
        return converted
    }

    private func equality(on component: EntityIndex.Component) throws -> (Int, Value)? {
        for (position, conjunct) in conjuncts.enumerated() {
            switch conjunct {
            case .compare(component.column, .equal, let value): return (position, try literal(value, component))
            case .isNull(component.column): return (position, .null)
            default: continue
            }
        }
        return nil
    }

    // MARK: Lists

    /// Maximum number of values whose entries are counted. In longer lists this many values are counted as a sample.
    private static let countedValues = 64

    private func list(
        _ index: EntityIndex, _ component: EntityIndex.Component, _ prefix: [UInt8], _ answered: ConjunctSet,
        _ fixed: Int
    ) throws -> IndexMatch? {
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .within(component.column, let values) = conjunct else { continue }
            // An entry may begin with the kept part of a cut key and have another value.
            let isWhole = try values.allSatisfy { try isKeptWhole($0, prefix, component) }
            let answered = isWhole ? answered.inserting(position) : answered
            if values.count > Self.countedValues {
                return try estimated(index, WantedValues(prefix: prefix, values: values), answered, fixed)
            }
            let starts = Set(try values.map { try start(of: $0, prefix, component, in: index) })
            if let only = starts.first, starts.count == 1 {
                let range = try counted(index, startingWith: only)
                return IndexMatch(index, range, answered: answered, fixed: fixed, prefix: prefix)
            }
            return try ranges(index, starts, answered, fixed)
        }
        return nil
    }

    /// Whether the key of the prefix and a value is short enough to be stored as it is.
    private func isKeptWhole(_ value: Value, _ prefix: [UInt8], _ component: EntityIndex.Component) throws -> Bool {
        if prefix.count <= IndexKeyBytes.keptSize / 2 {
            if component.type.fixedWidth != nil { return true }
            // A byte of text takes at most three bytes of a key.
            if component.column >= 0, case .string(let text) = value, text.utf8.count <= 100 { return true }
        }
        return try encoded(prefix, literal(value, component), component).count <= IndexKeyBytes.keptSize
    }

    /// The bytes with which the entries of a value begin.
    private func start(
        of value: Value, _ prefix: [UInt8], _ component: EntityIndex.Component, in index: EntityIndex
    ) throws -> [UInt8] {
        let key = try encoded(prefix, literal(value, component), component)
        if index.isHashed { return IndexKeyBytes.hashed(key) }
        return key.count <= IndexKeyBytes.keptSize ? key : Array(key.prefix(IndexKeyBytes.keptSize))
    }

    /// A match with a range for each of `starts`.
    private func ranges(
        _ index: EntityIndex, _ starts: Set<[UInt8]>, _ answered: ConjunctSet, _ fixed: Int
    ) throws -> IndexMatch {
        let ascending = starts.sorted { $0.lexicographicallyPrecedes($1) }
        return IndexMatch(
            index, try ascending.map { try counted(index, startingWith: $0) }, answered: answered, fixed: fixed)
    }

    /// A match with the values of a long list and the estimated number of their entries.
    private func estimated(
        _ index: EntityIndex, _ wanted: WantedValues, _ answered: ConjunctSet, _ fixed: Int
    ) throws -> IndexMatch {
        let values = wanted.values
        var found = 0.0
        for sample in 0..<Self.countedValues {
            let value = values[sample * values.count / Self.countedValues]
            let start = try start(of: value, wanted.prefix, index.components[fixed], in: index)
            found += Double(try counted(index, startingWith: start).count)
        }
        let all = Double(try transaction.count(index.tree))
        // The list may repeat values.
        let estimate = min(all, found / Double(Self.countedValues) * Double(values.count), Double(1 << 60))
        // With a count of one or less, no other path would be considered.
        return IndexMatch(index, wanted: wanted, count: max(2, Int(estimate)), answered: answered, fixed: fixed)
    }

    /// The keys of a match's wanted values, ascending. Each is the beginning of its entries, and no key begins with
    /// another.
    func points(_ match: IndexMatch) throws -> [[UInt8]] {
        guard let wanted = match.wanted else { return [] }
        let component = match.index.components[match.fixed]
        let starts = Set(try wanted.values.map { try start(of: $0, wanted.prefix, component, in: match.index) })
        return starts.sorted { $0.lexicographicallyPrecedes($1) }
    }

    // MARK: Ranges

    /// Bounds of keys. Nil is the bound of all values of the component except null.
    private struct Bounds {
        var from: [UInt8]?
        var to: [UInt8]?

        mutating func raise(_ bound: [UInt8]?) {
            guard let bound else { return }
            if from?.lexicographicallyPrecedes(bound) ?? true { from = bound }
        }

        mutating func lower(_ bound: [UInt8]?) {
            guard let bound else { return }
            if to.map({ bound.lexicographicallyPrecedes($0) }) ?? true { to = bound }
        }
    }

    private func range(
        _ index: EntityIndex, _ component: EntityIndex.Component, _ prefix: [UInt8], _ answered: ConjunctSet,
        _ fixed: Int
    ) throws -> IndexMatch? {
        var bounds = Bounds()
        var answered = answered
        var isNarrowed = false
        for (position, conjunct) in conjuncts.enumerated() {
            switch conjunct {
            case .compare(component.column, let comparison, let value):
                let literal = try literal(value, component)
                guard comparison != .notEqual, literal != .null else { continue }
                var bytes = try encoded(prefix, literal, component)
                let isWhole = bytes.count <= IndexKeyBytes.keptSize
                if !isWhole { bytes = Array(bytes.prefix(IndexKeyBytes.keptSize)) }
                narrow(&bounds, comparison, bytes, component.descending, isWhole: isWhole)
                if isWhole { answered.insert(position) }
                isNarrowed = true
            case .string(let test) where isPrefix(test, component):
                var key = KeyWriter()
                key.bytes = prefix
                key.appendPresent()
                key.append(prefix: test.text)
                if component.descending { key.invert(from: prefix.count) }
                let bytes = Array(key.bytes.prefix(IndexKeyBytes.keptSize))
                bounds.raise(bytes)
                bounds.lower(KeyWriter.successor(ofPrefix: bytes))
                isNarrowed = true
            case .not(.isNull(component.column)):
                if prefix.count < IndexKeyBytes.keptSize { answered.insert(position) }
                isNarrowed = true
            default: continue
            }
        }
        guard isNarrowed else { return nil }
        // The default bounds exclude null: they are those of the marker of a present value, which is inverted for a
        // descending component. A prefix that is as long as the kept part of a cut key may be followed by that key's
        // hash instead of a marker: then the range has all entries with the prefix.
        let isCut = prefix.count >= IndexKeyBytes.keptSize
        let marker: UInt8 = component.descending ? 0xFE : 1
        let from = bounds.from ?? (isCut ? prefix : prefix + [marker])
        let to = bounds.to ?? (isCut ? KeyWriter.successor(ofPrefix: prefix) ?? [] : prefix + [marker + 1])
        let range = try counted(index, from, to)
        return IndexMatch(index, range, answered: answered, fixed: fixed, prefix: prefix)
    }

    private func isPrefix(_ test: StringTest, _ component: EntityIndex.Component) -> Bool {
        test.kind == .hasPrefix && !test.isNegated && test.isCaseSensitive && test.isDiacriticSensitive
            && test.columns == [component.column]
            && component.type == .string
    }

    /// Narrows the bounds by a comparison with a literal.
    /// - Parameter bytes: the literal's key, inverted if it is descending. If the key is too long, this is its kept
    ///   part, and both bounds include all keys that begin with it.
    private func narrow(
        _ bounds: inout Bounds, _ comparison: Comparison, _ bytes: [UInt8], _ descending: Bool, isWhole: Bool
    ) {
        func after() -> [UInt8]? { KeyWriter.successor(ofPrefix: bytes) }
        switch (comparison, descending) {
        case (.greater, false): bounds.raise(isWhole ? after() : bytes)
        case (.greaterOrEqual, false): bounds.raise(bytes)
        case (.less, false): bounds.lower(isWhole ? bytes : after())
        case (.lessOrEqual, false): bounds.lower(after())
        case (.greater, true): bounds.lower(isWhole ? bytes : after())
        case (.greaterOrEqual, true): bounds.lower(after())
        case (.less, true): bounds.raise(isWhole ? after() : bytes)
        case (.lessOrEqual, true): bounds.raise(bytes)
        case (.equal, _):
            bounds.raise(bytes)
            bounds.lower(after())
        case (.notEqual, _): break
        }
    }
}

extension Filter {
    /// Whether it is a condition on this column alone that an index over it may answer.
    fileprivate func mentions(_ column: Int) -> Bool {
        switch self {
        case .compare(column, _, _), .isNull(column), .within(column, _): true
        case .string(let test): test.columns == [column]
        case .not(.isNull(column)): true
        default: false
        }
    }
}

extension EntityIndex {
    /// Returns the number of the index component that a sort term uses, or nil if there is none: a column's number, or
    /// a negative number for a computed component.
    @inline(__always)
    func column(of term: SortTerm) -> Int? {
        switch term.key {
        case .column(let column): column
        case .derived(let wanted): computed.firstIndex { $0.subject == wanted.subject }.map { -1 - $0 }
        case .linkCount, .score, .opaque, .refused: nil
        }
    }

    /// Rewrites a comparison of a computed component as one of a column. Returns other conditions unchanged.
    func stated(_ conjunct: Filter) -> Filter {
        guard case .computed(let test) = conjunct,
            let place = computed.firstIndex(where: { $0.subject == test.subject })
        else { return conjunct }
        let column = -1 - place
        if let list = test.list { return .within(column: column, list) }
        switch (test.literal, test.comparison) {
        case (.null, .equal): return .isNull(column: column)
        case (.null, .notEqual): return .not(.isNull(column: column))
        default: return .compare(column: column, test.comparison, test.literal)
        }
    }
}
