// SPDX-License-Identifier: Apache-2.0
// What the store writes into a row of its own: when it is saved, and, where its type keeps that, when it was first
// saved and how often it was changed.

import FoundationEssentials
import HornbeamPages

/// Where the time in a row that is saved is from, which says whether it makes the row another one.
package enum SavedTime {
    /// Of the save itself: a row that differs in nothing else is stored already.
    case stamped
    /// Given by who saves it.
    case given
    /// Of the save, which is to count as a change.
    case touched
}

extension EntityStore {
    /// Whether nothing is to be written for a row that is saved, because it is the stored one.
    func isLeft(
        _ row: [UInt8], _ rowID: RowID, as old: RowReader, _ time: SavedTime
    ) throws(HornbeamError) -> Bool {
        guard time != .touched, row.count == old.bytes.count else { return false }
        let isSame = try row.withBytes { (bytes) throws(HornbeamError) in
            let new = try RowReader(bytes, of: type)
            return new.isSame(as: old, ignoring: time == .stamped ? type.updatedAt : nil)
        }
        guard isSame else { return false }
        // It counts as saved all the same for who asks within the write.
        session.saves += 1
        if type.hasRequired { session.required?.touch(type.name, rowID) }
        return true
    }

    /// Writes the time of the save that is under way into a row.
    package func stamp(_ row: inout RowWriter) {
        guard let column = type.updatedAt else { return }
        row.setDouble(Date().timeIntervalSinceReferenceDate, column)
    }

    /// The row with when it was first saved and how often it was changed, where its type keeps that. What a new row
    /// says of itself, which came from elsewhere, stays.
    func counted(_ row: [UInt8], after old: RowReader?) throws -> [UInt8] {
        try row.withUnsafeBytes { bytes in
            let new = try RowReader(bytes, of: type)
            var writer = makeRow()
            for column in type.layout.columns where column != type.createdAt && column != type.version {
                writer.setRaw(try new.rawBytes(column), column)
            }
            if let column = type.createdAt {
                if let kept = try (old ?? new).rawBytes(column) {
                    writer.setRaw(kept, column)
                } else if old == nil {
                    writer.setDouble(Date().timeIntervalSinceReferenceDate, column)
                }
            }
            if let column = type.version {
                let before = try (old ?? new).int(column) ?? 0
                let isCounted = try old.map { try hasChanged(from: $0, to: new) } ?? (before == 0)
                writer.setInt(isCounted ? before &+ 1 : before, column)
            }
            return try writer.finish()
        }
    }

    /// Whether a property that models know is another.
    private func hasChanged(from old: RowReader, to new: RowReader) throws -> Bool {
        let columns = (0..<type.declared).filter { !type.description.columns[$0].isHidden }
        return try !IndexChanges.isUntouched(columns, old, new)
    }

    /// Removes the entity with the id of `row` from its type's counterpart.
    func remove(_ row: [UInt8], from counterpart: EntityStore) throws {
        let id = try row.withUnsafeBytes { try RowReader($0, of: type).value(0) }
        guard let rowID = try counterpart.rowID(ofAny: id), try counterpart.isSaved(rowID) else { return }
        try counterpart.delete(rowID)
    }

    /// The new row with the old one's columns that are not declared, where it has none itself; nil if it needs none.
    func keeping(_ old: RowReader, _ row: [UInt8]) throws -> [UInt8]? {
        if type.declared == type.layout.count { return nil }
        return try row.withUnsafeBytes { bytes in
            let new = try RowReader(bytes, of: type)
            let kept = try (type.declared..<type.layout.count).filter { column in
                try !old.isNull(column: column) && new.isNull(column: column)
            }
            if kept.isEmpty { return nil }
            var whole = makeRow()
            for column in type.layout.columns {
                whole.setRaw(try (kept.contains(column) ? old : new).rawBytes(column), column)
            }
            return try whole.finish()
        }
    }
}
