// SPDX-License-Identifier: Apache-2.0
// Runs queries for one id or one whole unique key, which find at most one entity, and queries for a whole key of an
// index by hashes, if one entity has it. They do the look-up that any plan would do, without a plan. `explain` shows
// the planner's equivalent: a range of the same index.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The result of a query for one key.
package enum PointLookup {
    case none
    /// The only row. It is stored.
    case row(RowID, RowReader)
}

extension EntityStore {
    /// The result of a query whose only condition is equality with one key. Returns nil if the query must be planned.
    func soleRow(_ query: borrowing EntityQuery) throws -> PointLookup? {
        guard query.sort.isEmpty, query.offset == 0, query.after == nil, query.limit.map({ $0 > 0 }) ?? true else {
            return nil
        }
        return try soleRow(query.filter)
    }

    /// The result of a query with this condition, and without order, offset or position. Returns nil if the query must
    /// be planned.
    package func soleRow(_ filter: Filter) throws -> PointLookup? {
        switch filter {
        case .compare(0, .equal, let value): return try sole(id: value)
        case .compare(let column, .equal, let value):
            for index in type.queriedIndexes where index.findsFew && index.columns.count == 1 {
                guard index.columns[0] == column else { continue }
                return try sole(index) { _ in value }
            }
        case .and(let parts):
            for index in type.queriedIndexes where index.findsFew && index.columns.count == parts.count {
                guard parts.equalEach(of: index.columns) else { continue }
                return try sole(index) { parts.equal($0) }
            }
        default: break
        }
        return nil
    }

    private func sole(id: Value) throws -> PointLookup? {
        let id = try RowFilter.literal(id, 0, type)
        guard id != .null, let rowID = try rowID(ofAny: id), let row = try row(rowID) else { return PointLookup.none }
        return .row(rowID, row)
    }

    /// Looks up one whole key. Returns nil if several entries have the key, or may have it because it has a nil or is
    /// too long for the tree.
    private func sole(_ index: EntityIndex, _ value: (Int) -> Value?) throws -> PointLookup? {
        var key = KeyWriter(capacity: 40)
        for component in index.components {
            guard let value = value(component.column) else { return nil }
            let literal = try RowFilter.literal(value, component.column, type)
            if case .null = literal { return nil }
            try KeyCoding.appendComponent(literal, as: component.type, descending: component.descending, to: &key)
        }
        if index.isHashed { return try sole(hashed: index, key.bytes) }
        guard key.bytes.count < IndexKeyBytes.cutSize else { return nil }
        guard let entry = try transaction.get(index.tree, key.bytes) else { return PointLookup.none }
        let (rowID, row) = try row(RowID(stored: entry), of: index)
        return .row(rowID, row)
    }

    /// Looks up one whole key in an index by hashes. Returns nil if several entries have the key's hash.
    private func sole(hashed index: EntityIndex, _ key: [UInt8]) throws -> PointLookup? {
        let hash = IndexKeyBytes.hashed(key)
        var cursor = try transaction.cursor(index.tree)
        guard try cursor.seek(hash), let entry = try cursor.entry(), entry.key.starts(with: hash) else {
            return PointLookup.none
        }
        let named = index.rowID(key: entry.key, value: entry.value)
        if try cursor.next(), let next = try cursor.entry(), next.key.starts(with: hash) { return nil }
        let (rowID, row) = try row(named, of: index)
        // Another key may have the same hash.
        return try index.fullKey(of: row).key == key ? .row(rowID, row) : PointLookup.none
    }

    /// The row that an entry names.
    private func row(_ named: RowID?, of index: EntityIndex) throws -> (RowID, RowReader) {
        guard let named else { throw corrupt("index \(index.description.name)", "an entry names no row") }
        guard let row = try row(named) else {
            throw corrupt("e:\(type.name)", "an index names \(named), which has no row")
        }
        return (named, row)
    }
}

extension EntityIndex {
    /// Whether a whole key may lead to one entity.
    fileprivate var findsFew: Bool { isUnique || isHashed }
}

extension [Filter] {
    /// Whether they are one equality for each of the columns, and nothing else.
    fileprivate func equalEach(of columns: [Int]) -> Bool {
        for place in indices {
            guard case .compare(let column, .equal, _) = self[place], columns.contains(column) else { return false }
            for other in indices where other != place {
                if case .compare(column, _, _) = self[other] { return false }
            }
        }
        return columns.allSatisfy { equal($0) != nil }
    }

    /// The value that a column must equal; nil if no part requires one.
    fileprivate func equal(_ column: Int) -> Value? {
        for place in indices { if case .compare(column, .equal, let value) = self[place] { return value } }
        return nil
    }
}
