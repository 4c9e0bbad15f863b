// SPDX-License-Identifier: Apache-2.0
// Orders by id need no declared index. Integers that are their own row ids order the rows themselves. All other ids are
// keys of the tree of ids, which leads from each id to its row as a unique index does. So the entities of a type have
// at most three parts in the order of ids: ids below zero, rows, ids from 2^40 on.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The meaning of an order by id for a query.
struct IDOrder {
    /// Whether the query is sorted by id, maybe after other terms, and rows are stored in the order of ids.
    let isThatOfRows: Bool
    /// Whether the id alone is the order.
    let isAll: Bool
    /// Number of terms of the sort that matter.
    let terms: Int

    /// The order by id of a query without a sort.
    static let none = IDOrder(isThatOfRows: false, isAll: false, terms: 0)

    /// The order by id of a query. Terms after the id don't matter, because no two entities share an id. An ascending
    /// id doesn't matter either if rows are stored in its order, because ties are ordered by row ids.
    static func of(
        _ sort: [SortTerm], _ conjuncts: [Filter], _ position: PlannedPosition?, _ store: EntityStore
    ) throws -> IDOrder {
        guard let place = sort.indices.first(where: { sort[$0].isID }) else {
            return IDOrder(isThatOfRows: false, isAll: false, terms: sort.count)
        }
        let isThatOfRows = try store.rowsLieByID
        var counts = !isThatOfRows || sort[place].descending
        // If an id isn't a row id, its position isn't known from rows. An unsorted list has another order.
        if let position, position.rowID == nil { counts = true }
        if place == 0, conjuncts.contains(where: \.hasOwnOrder) { counts = true }
        return IDOrder(isThatOfRows: isThatOfRows, isAll: place == 0 && counts, terms: counts ? place + 1 : place)
    }
}

/// Entities whose ids are in a range.
package struct IDRange {
    /// A part of the range.
    enum Part {
        /// A range of integer ids that are row ids.
        case rows(EntryRange)
        /// A range of other ids.
        case ids(EntryRange)

        var range: EntryRange {
            switch self {
            case .rows(let range), .ids(let range): range
            }
        }
    }

    /// The parts, ascending; none is empty.
    let parts: [Part]
    /// Whether each id has a stored row.
    let isWhole: Bool

    var count: Int { parts.reduce(0) { $0 > .max - $1.range.count ? .max : $0 + $1.range.count } }

    /// The parts, if all are of rows.
    var rows: [EntryRange]? {
        let rows = parts.compactMap { if case .rows(let range) = $0 { range } else { nil } }
        return rows.count == parts.count ? rows : nil
    }
}

/// The bounds that conditions set for ids, as a range of their keys.
private struct IDKeyBounds {
    private(set) var from: [UInt8] = []
    /// The excluded upper bound; empty for an open end.
    private(set) var to: [UInt8] = []
    /// The conditions that the range answers completely.
    private(set) var answered = ConjunctSet()
    private(set) var isNarrowed = false
    /// The comparisons that set the range.
    private(set) var comparisons: [Filter] = []

    init(_ conjuncts: [Filter], _ type: EntityType) throws {
        for (place, conjunct) in conjuncts.enumerated() {
            switch conjunct {
            case .compare(0, let comparison, let value):
                if try narrow(comparison, value, type) { answered.insert(place) }
            case .string(let test) where type.idType == .string && test.isPlainPrefix && test.columns == [0]:
                var key = KeyWriter()
                key.append(prefix: test.text)
                guard key.bytes.count <= EntityStore.maximumIDSize else { continue }
                raise(key.bytes)
                KeyWriter.successor(ofPrefix: key.bytes).map { lower($0) }
                isNarrowed = true
            default: continue
            }
        }
    }

    /// Narrows the range by a comparison. Returns whether the range answers it completely.
    mutating func narrow(_ comparison: Comparison, _ value: Value, _ type: EntityType) throws -> Bool {
        let literal = try RowFilter.literal(value, 0, type)
        if comparison == .notEqual || literal == .null { return false }
        var key = KeyWriter(capacity: 24)
        try KeyCoding.append(literal, as: type.idType, to: &key)
        // No id has a longer key.
        guard key.bytes.count <= EntityStore.maximumIDSize else { return false }
        // No key is a prefix of another one, so the bound after a key is the key and a zero.
        let next = key.bytes + [0]
        switch comparison {
        case .greater: raise(next)
        case .greaterOrEqual: raise(key.bytes)
        case .less: lower(key.bytes)
        case .lessOrEqual: lower(next)
        case .equal, .notEqual:
            raise(key.bytes)
            lower(next)
        }
        comparisons.append(.compare(column: 0, comparison, value))
        isNarrowed = true
        return true
    }

    mutating func raise(_ bound: [UInt8]) {
        if from.lexicographicallyPrecedes(bound) { from = bound }
    }

    mutating func lower(_ bound: [UInt8]) {
        if to.isEmpty || bound.lexicographicallyPrecedes(to) { to = bound }
    }
}

extension Planner {
    /// The entities that conditions on ids leave, in the order of ids, without a sort in memory.
    func orderByID() throws -> Candidate? {
        let isReversed = sort[0].descending
        var bounds = try IDKeyBounds(conjuncts, type)
        if query.requiresIndex, !bounds.isNarrowed, !conjuncts.isEmpty, query.limit == nil { return nil }
        let comparison: Comparison = isReversed ? .less : .greater
        let isBehind = try position.map { try bounds.narrow(comparison, $0.position.id, type) } ?? false
        let range = try idRange(bounds)
        return Candidate(
            path: .byID(range, reversed: isReversed), answered: bounds.answered, isOrdered: true,
            cost: range.rows == nil
                ? cost(range.count, bounds.answered, isOrdered: true, entry: Price.entry, row: Price.scatteredRow)
                : cost(range.count, bounds.answered, isOrdered: true, entry: Price.scannedRow),
            isBehind: isBehind)
    }

    /// The rows of a range of ids that aren't integers, in the order of rows.
    func idKeys() throws -> Candidate? {
        guard let (range, answered) = try idKeys(of: conjuncts) else { return nil }
        return Candidate(
            path: .byID(range, reversed: nil), answered: answered, isOrdered: false,
            cost: cost(range.count, answered, isOrdered: false, row: Price.row))
    }

    /// The range that conditions leave of ids that aren't integers, and the conditions that it answers. Returns nil if
    /// no condition restricts such ids.
    func idKeys(of conditions: [Filter]) throws -> (range: IDRange, answered: ConjunctSet)? {
        guard !type.hasIntegralIDs else { return nil }
        let bounds = try IDKeyBounds(conditions, type)
        return bounds.isNarrowed ? (try idRange(bounds), bounds.answered) : nil
    }

    /// The entities with ids within bounds.
    private func idRange(_ bounds: IDKeyBounds) throws -> IDRange {
        var parts: [IDRange.Part] = []
        func add(from low: [UInt8], to high: [UInt8]) throws {
            var part = bounds
            part.raise(low)
            if !high.isEmpty { part.lower(high) }
            let (from, to) = (part.from, part.to)
            if !to.isEmpty, !from.lexicographicallyPrecedes(to) { return }
            let count = Int(entries: try store.transaction.count(type.ids, from: from, to: to))
            if count > 0 { parts.append(.ids(EntryRange(from: from, to: to, count: count))) }
        }
        if type.hasIntegralIDs {
            let isInRows = try store.rowsLieByID
            if !isInRows { try add(from: [], to: try store.idKey(Value.int(0).converted(to: type.idType) ?? .null)) }
            let numbers = try IDBounds(bounds.comparisons, type)?.range ?? 0..<RowID.firstAssigned.rawValue
            let rows = try counted(numbers.lowerBound, numbers.upperBound)
            if rows.count > 0 { parts.append(.rows(rows)) }
            // Small integer types have no such ids.
            if !isInRows, let first = Value.uint(RowID.firstAssigned.rawValue).converted(to: type.idType) {
                try add(from: try store.idKey(first), to: [])
            }
        } else {
            try add(from: [], to: [])
        }
        let isOfRows = parts.allSatisfy { if case .rows = $0 { true } else { false } }
        return IDRange(parts: parts, isWhole: try isOfRows || !store.isTable && !store.mayMiss())
    }

    /// Returns the number of entries of a range that are equal to the first entry of a walk.
    func firstGroup(_ match: IndexMatch, _ walk: IndexWalk) throws -> Int {
        guard let range = match.range, let leading = walk.leading, range.count > 0 else { return 0 }
        var cursor = try store.transaction.cursor(match.index.tree)
        let isThere =
            walk.isReversed
            ? try range.to.isEmpty ? cursor.last() : cursor.seek(range.to) ? cursor.previous() : cursor.last()
            : try range.from.isEmpty ? cursor.first() : cursor.seek(range.from)
        if !isThere { return 0 }
        let size = match.index.leadingSize(cursor.key, leading) ?? min(cursor.key.count, IndexKeyBytes.keptSize)
        let group = Array(cursor.key.prefix(size))
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: [])
        return try matcher.counted(match.index, group, KeyWriter.successor(ofPrefix: group) ?? []).count
    }
}

// MARK: - Walking

extension EntityStore {
    /// Whether all rows are stored in the order of their ids.
    var rowsLieByID: Bool {
        get throws { try type.hasIntegralIDs && transaction.count(type.ids) == 0 }
    }

    /// Calls `body` with the rows of a range in the order of ids, until it returns false. Returns false, without a
    /// call, if the range has parts that aren't rows.
    func forEachRow(
        in range: IDRange, isReversed: Bool, skipping skipped: Int, _ body: (RowID, RowReader) throws -> Bool
    ) throws -> Bool {
        guard let rows = range.rows else { return false }
        var skip = skipped
        var goesOn = true
        for part in isReversed ? rows.reversed() : rows where goesOn {
            if skip >= part.count {
                skip -= part.count
                continue
            }
            try forEachRow(part, isReversed: isReversed, skipping: skip) { rowID, row in
                goesOn = try body(rowID, row)
                return goesOn
            }
            skip = 0
        }
        return true
    }

    /// Calls `body` with the row ids of a range in the order of ids, until it returns false. They include entities that
    /// aren't stored.
    func forEachRowID(
        in range: IDRange, isReversed: Bool, skipping skipped: Int, _ body: (RowID) throws -> Bool
    ) throws {
        var skip = skipped
        var goesOn = true
        for part in isReversed ? range.parts.reversed() : range.parts where goesOn {
            if skip >= part.range.count {
                skip -= part.range.count
                continue
            }
            func take(_ rowID: RowID) throws -> Bool {
                goesOn = try body(rowID)
                return goesOn
            }
            switch part {
            case .rows(let rows):
                try forEachRow(rows, isReversed: isReversed, skipping: skip) { rowID, _ in try take(rowID) }
            case .ids(let ids): try forEachID(ids, isReversed: isReversed, skipping: skip, take)
            }
            skip = 0
        }
    }

    private func forEachRow(
        _ range: EntryRange, isReversed: Bool, skipping skipped: Int, _ body: (RowID, RowReader) throws -> Bool
    ) throws {
        guard isReversed else { return try forEachRow(from: range.from, to: range.to, skipping: skipped, body) }
        try forEachEntry(of: type.rows, range, isReversed: true, skipping: skipped) { key, value in
            guard key.count == 8, let rowID = RowID(key: key) else {
                throw corrupt("e:\(type.name)", "a key is no row id")
            }
            return try body(rowID, try RowReader(value, of: type))
        }
    }

    private func forEachID(
        _ range: EntryRange, isReversed: Bool, skipping skipped: Int, _ body: (RowID) throws -> Bool
    ) throws {
        try forEachEntry(of: type.ids, range, isReversed: isReversed, skipping: skipped) { _, value in
            guard let rowID = RowID(stored: value) else { throw corrupt("i:\(type.name)", "an entry holds no row id") }
            return try body(rowID)
        }
    }

    /// Calls `body` with the entries of a range of a tree, until it returns false. Skipped entries aren't read.
    private func forEachEntry(
        of tree: TreeID, _ range: EntryRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: Bytes, _ value: Bytes) throws -> Bool
    ) throws {
        var cursor = try transaction.cursor(tree)
        var isValid: Bool
        if skipped > 0 {
            let begin = range.from.isEmpty ? 0 : try transaction.count(tree, from: [], to: range.from)
            let end = try range.to.isEmpty ? transaction.count(tree) : transaction.count(tree, from: [], to: range.to)
            guard begin < end, UInt64(skipped) < end - begin else { return }
            isValid = try cursor.seek(index: isReversed ? end - 1 - UInt64(skipped) : begin + UInt64(skipped))
        } else if isReversed {
            isValid = try range.to.isEmpty ? cursor.last() : cursor.seek(range.to) ? cursor.previous() : cursor.last()
        } else {
            isValid = try range.from.isEmpty ? cursor.first() : cursor.seek(range.from)
        }
        try range.from.withUnsafeBytes { from in
            try range.to.withUnsafeBytes { to in
                while isValid, let entry = try cursor.entry(),
                    isReversed ? entry.key.order(from) >= 0 : to.isEmpty || entry.key.order(to) < 0
                {
                    guard try body(entry.key, entry.value) else { return }
                    isValid = isReversed ? try cursor.previous() : try cursor.next()
                }
            }
        }
    }
}

extension EntityType {
    /// Whether its ids are integers of any width.
    fileprivate var hasIntegralIDs: Bool {
        switch idType.unwrapped {
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
        default: false
        }
    }
}

extension SortTerm {
    fileprivate var isID: Bool { if case .column(0) = key { true } else { false } }
}

extension Filter {
    /// Whether its results have an order of their own.
    fileprivate var hasOwnOrder: Bool {
        switch self {
        case .ids, .related: true
        default: false
        }
    }
}

extension StringTest {
    /// Whether it tests one column for a prefix by exact characters, which a range of keys can answer.
    fileprivate var isPlainPrefix: Bool {
        kind == .hasPrefix && !isNegated && isCaseSensitive && isDiacriticSensitive && columns.count == 1
    }
}
