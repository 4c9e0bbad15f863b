// SPDX-License-Identifier: Apache-2.0
// The stamps that the store itself writes into a row: the time when it is saved, and, if its type keeps that, when it
// was first saved and how often it was changed.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// The source of a saved row's time. It decides whether a new time alone is a change.
package enum SavedTime {
    /// The save's own time. A row that differs in nothing else counts as unchanged.
    case stamped
    /// A time that the caller gives. It is compared like all other columns.
    case given
    /// The save's own time. The row counts as changed.
    case touched
}

extension EntityStore {
    /// Whether a save has nothing to write because the stored row is the same.
    func isLeft(_ row: [UInt8], as old: RowReader, _ time: SavedTime) throws(HornbeamError) -> Bool {
        guard time != .touched, row.count == old.bytes.count else { return false }
        return try row.withBytes { (bytes) throws(HornbeamError) in
            let new = try RowReader(bytes, of: type)
            return new.isSame(as: old, ignoring: time == .stamped ? type.updatedAt : nil)
        }
    }

    /// The last step of each save, whether or not the row had to be written.
    func endSave(_ row: [UInt8], _ rowID: RowID, _ hasNoCounterpart: Bool) throws {
        if type.hasRequired { core.required?.touch(type.name, rowID) }
        if hasNoCounterpart { return }
        core.counts.saves += 1
        if let counterpart = type.counterpart, try transaction.count(counterpart) != 0 {
            try remove(row, from: try core.store(type.counterpartName))
        }
    }

    /// Removes rows that were last saved before `end`, in seconds since the reference date, among the next `looks` rows
    /// from `first` on. Subtracts the number of visited rows from `looks`. Returns the row to continue with, or nil if
    /// there are no more, and the time of the oldest save of the rows that stay, or infinity if none stays.
    package func purge(
        before end: Double, from first: RowID?, looks: inout Int
    ) throws -> (next: RowID?, oldest: Double) {
        guard let column = type.updatedAt else { return (nil, .infinity) }
        var (next, oldest) = (nil as RowID?, Double.infinity)
        var old: [RowID] = []
        try forEachRow(from: first.map { Array($0.key) } ?? [], to: []) { rowID, row in
            guard looks > 0 else {
                next = rowID
                return false
            }
            looks -= 1
            guard let saved = try row.double(column) else { return true }
            if saved < end { old.append(rowID) } else { oldest = min(oldest, saved) }
            return true
        }
        for rowID in old { try delete(rowID) }
        return (next, oldest)
    }

    /// Writes the time of the save that is under way into a row.
    package func stamp(_ row: inout RowWriter) {
        guard let column = type.updatedAt else { return }
        row.setDouble(Self.now, column)
    }

    /// The present time in whole microseconds, because other systems have no finer times; rounded up, so that a save is
    /// never before a time that the program has looked at before it.
    private static var now: Double { (Date().timeIntervalSinceReferenceDate * 1e6).rounded(.up) / 1e6 }

    /// The row with the time of its first save and the number of its changes, if its type keeps these. A new row from
    /// another store keeps its own.
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
                    writer.setDouble(Self.now, column)
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

    /// Whether a property that models know has another value.
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

    /// The new row with the old one's values of undeclared columns, where it has none itself. Returns nil if it needs
    /// none.
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
