// SPDX-License-Identifier: Apache-2.0
// Queries for one whole unique key, or for one id, which find one entity at most: the look-up that any plan would come
// to, without making one. What `explain` says of them is what the planner would do: the range of the same index.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// What a query for one key finds.
enum SoleRow {
    case none
    /// The only row, which is there.
    case row(RowID, RowReader)
}

extension EntityStore {
    /// What the query finds, if it asks for nothing but equality with one key; nil if it has to be planned.
    func soleRow(_ query: borrowing EntityQuery) throws -> SoleRow? {
        guard query.sort.isEmpty, query.offset == 0, query.after == nil, query.limit.map({ $0 > 0 }) ?? true else {
            return nil
        }
        switch query.filter {
        case .compare(0, .equal, let value): return try sole(id: value)
        case .compare(let column, .equal, let value):
            for index in type.indexes where index.isUnique && index.columns.count == 1 && index.columns[0] == column {
                return try sole(index) { _ in value }
            }
        case .and(let parts):
            for index in type.indexes where index.isUnique && index.columns.count == parts.count {
                guard parts.equalEach(of: index.columns) else { continue }
                return try sole(index) { parts.equal($0) }
            }
        default: break
        }
        return nil
    }

    private func sole(id: Value) throws -> SoleRow? {
        let id = try RowFilter.literal(id, 0, type)
        guard id != .null, let rowID = try rowID(ofAny: id), let row = try row(rowID) else { return SoleRow.none }
        return .row(rowID, row)
    }

    /// Nil if several entries may have the key: one with a nil, or one that is too long for the tree.
    private func sole(_ index: EntityIndex, _ value: (Int) -> Value?) throws -> SoleRow? {
        var key = KeyWriter(capacity: 40)
        for component in index.components {
            guard let value = value(component.column) else { return nil }
            let literal = try RowFilter.literal(value, component.column, type)
            if case .null = literal { return nil }
            try KeyCoding.appendComponent(literal, as: component.type, descending: component.descending, to: &key)
        }
        guard key.bytes.count < IndexKeyBytes.cutSize else { return nil }
        guard let entry = try transaction.get(index.tree, key.bytes) else { return SoleRow.none }
        guard let rowID = RowID(stored: entry) else {
            throw corrupt("index \(index.description.name)", "an entry names no row")
        }
        guard let row = try row(rowID) else {
            throw corrupt("e:\(type.name)", "an index names \(rowID), which has no row")
        }
        return .row(rowID, row)
    }
}

extension [Filter] {
    /// Whether they are an equality with each of the columns, and nothing else.
    fileprivate func equalEach(of columns: [Int]) -> Bool {
        for place in indices {
            guard case .compare(let column, .equal, _) = self[place], columns.contains(column) else { return false }
            for other in indices where other != place {
                if case .compare(column, _, _) = self[other] { return false }
            }
        }
        return columns.allSatisfy { equal($0) != nil }
    }

    /// What a column must equal, if one of the parts says so.
    fileprivate func equal(_ column: Int) -> Value? {
        for place in indices { if case .compare(column, .equal, let value) = self[place] { return value } }
        return nil
    }
}
