// SPDX-License-Identifier: Apache-2.0
// Ids of to-one relations' targets as columns, so that indexes can cover them: `@Index(\.$podcast.id)`. The links are
// authoritative; such a column repeats the id in each row, and follows the links whichever side changes them.
//
// A save writes the ids with the row, from its value or from the links, so that unique keys are checked before anything
// is changed. Other changes of links note the rows at both ends, which get the ids when the change is complete.
// Following links doesn't count as a save: such a row keeps the time of its last save.

import HornbeamPages
import HornbeamTree

/// A column with the id of a to-one relation's target.
package struct LinkedID: Sendable {
    package let column: Int
    package let side: EdgeSide
}

/// A link from an owner to an entity that is saved in its relation. The entity's unique keys are over the owner's id.
package struct PendingLink {
    package let type: String
    let column: Int
    let owner: Value
    /// The entity that is saved.
    package var entity = Value.null
}

extension EntityStore {
    /// The link that a row's relation makes to entities in it; nil if these have no unique key over the row's id.
    package func pendingLink(_ side: EdgeSide, from rowID: RowID) throws -> PendingLink? {
        guard let other = side.other, other.isUniqueByID, let column = other.linkedID, let id = try id(of: rowID) else {
            return nil
        }
        return PendingLink(type: side.target, column: column, owner: id)
    }
}

extension EntityDescription {
    /// Whether a unique index is over the id that a relation leads to.
    func isUniqueByID(of relation: RelationDescription) -> Bool {
        let column = ColumnDescription.linkedIDName(of: relation.name)
        return indexes.contains { $0.kind == .unique && $0.components.contains { $0.column == column } }
    }
}

extension EntityStore {
    /// Writes the ids of related entities into a row that is about to be saved.
    /// - Parameters:
    ///   - rowID: nil for an entity that has none yet.
    ///   - pending: the link that another entity makes once the row is saved. Until then the row has no other one.
    ///   - said: the id that the save will link, `.null` for none; nil if it leaves the relation's links as they are.
    package func setLinkedIDs(
        _ row: inout RowWriter, _ rowID: RowID?, pending: PendingLink? = nil, said: (EdgeSide) -> Value? = { _ in nil }
    ) throws {
        for linked in type.linkedIDs {
            if let pending, pending.column == linked.column {
                let id = try rowID.map { try linkedID(linked, of: $0) }
                if id == pending.owner { row.set(pending.owner, linked.column) } else { row.setNull(linked.column) }
            } else if let id = said(linked.side) {
                // Throws the error that the link would throw, before anything is stored.
                if id != .null { _ = try core.store(linked.side.target).rowID(of: id) }
                row.set(id, linked.column)
            } else if let rowID {
                row.set(try linkedID(linked, of: rowID), linked.column)
            } else {
                row.setNull(linked.column)
            }
        }
    }

    /// The id in a row, or, if the row isn't stored yet, the id that its links lead to.
    private func linkedID(_ linked: LinkedID, of rowID: RowID) throws -> Value {
        if let row = try row(rowID) { return try row.value(linked.column) }
        return try mayMiss() ? idByLinks(linked, of: rowID) : .null
    }

    /// The id of the entity that the links lead to; `.null` if there is none.
    func idByLinks(_ linked: LinkedID, of rowID: RowID) throws -> Value {
        var found: RowID?
        try core.edges.forEachTarget(linked.side, of: rowID) { target in
            found = target
            return false
        }
        return try found.flatMap { try core.store(linked.side.target).id(of: $0) } ?? .null
    }

    /// Sets a row's columns of related ids to the ids that its links lead to.
    package func followLinks(of rowID: RowID) throws {
        try core.followingLinks {
            for linked in type.linkedIDs { try setLinkedID(rowID, linked.column, try idByLinks(linked, of: rowID)) }
        }
    }

    /// A row from another store with the related ids that its links have here.
    func withLinkedIDs(_ row: [UInt8], _ rowID: RowID) throws -> [UInt8] {
        try row.withUnsafeBytes { bytes in
            try type.rewriting(try RowReader(bytes, of: type), then: { try setLinkedIDs(&$0, rowID) })
        }
    }

    /// The stored row with the related ids of a new one, if the new one differs in nothing else except the time of the
    /// save. It keeps the stored time. Returns nil for other rows.
    func relinked(_ row: [UInt8], _ old: RowReader) throws -> [UInt8]? {
        try row.withUnsafeBytes { bytes in
            let new = try RowReader(bytes, of: type)
            let ids = type.linkedIDs.map(\.column)
            guard try !IndexChanges.isUntouched(ids, old, new) else { return nil }
            let relinked = try type.rewriting(old) { writer, column in
                if ids.contains(column) { writer.setRaw(try new.rawBytes(column), column) }
                return ids.contains(column)
            }
            return try isLeft(relinked, as: new, .stamped) ? relinked : nil
        }
    }

    /// Whether two rows are equal except for one column and, if the type has such columns, for related ids.
    func isSame(_ new: RowReader, _ old: RowReader, ignoring ignored: Int?) throws -> Bool {
        if new.isSame(as: old, ignoring: ignored) { return true }
        guard let ignored, !type.linkedIDs.isEmpty else { return false }
        let ids = type.linkedIDs.map(\.column)
        let others = type.layout.columns.filter { $0 != ignored && !ids.contains($0) }
        return try IndexChanges.isUntouched(others, old, new)
    }

    /// Writes the id that a link leads to into its stored row. If another row has the same unique key, that row
    /// releases it, because its own link may change too; `followingLinks` checks that it did.
    fileprivate func setLinkedID(_ rowID: RowID, _ column: Int, _ id: Value) throws {
        // In each turn the holder of one index releases its key. Only a damaged index needs more turns.
        for _ in 0...type.indexes.count {
            guard let old = try row(rowID), try old.value(column) != id else { return }
            let row = try type.rewriting(old) { writer, other in
                if other == column { writer.set(id, column) }
                return other == column
            }
            guard let held = try put(row, rowID, over: old) else { return }
            try yield(held.index, held.rowID, toLink: true)
        }
        throw corrupt("u:\(type.name)", "a unique index has entries that its rows don't have: repair it")
    }
}

extension EntityType {
    /// A copy of a row with some columns changed.
    /// - Parameters:
    ///   - change: writes a column, or leaves it null, and returns true; returns false for columns that stay.
    ///   - end: writes further columns.
    package func rewriting(
        _ row: RowReader, _ change: (inout RowWriter, Int) throws -> Bool = { _, _ in false },
        then end: (inout RowWriter) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var writer = RowWriter(layout: layout)
        // The row may be older than some of its columns.
        for column in layout.columns where row.contains(column: column) {
            if try !change(&writer, column) { writer.setRaw(try row.rawBytes(column), column) }
        }
        try end(&writer)
        return try writer.finish()
    }

    /// A row without the ids of related entities.
    package func withoutLinkedIDs(_ row: [UInt8]) throws -> [UInt8] {
        let ids = linkedIDs.map(\.column)
        return try row.withUnsafeBytes { bytes in
            try rewriting(try RowReader(bytes, of: self)) { _, column in ids.contains(column) }
        }
    }
}

/// Rows whose links have changed, with the rows that they lead to now.
struct MovedIDs {
    private struct Place: Hashable {
        let row: RowID
        let column: Int
    }

    /// The rows by their types, each with the row that it leads to now.
    private var moved: [String: [Place: RowID?]] = [:]
    var isEmpty: Bool { moved.isEmpty }

    mutating func note(_ type: String, _ row: RowID, _ column: Int, _ linked: RowID?) {
        moved[type, default: [:]].updateValue(linked, forKey: Place(row: row, column: column))
    }

    /// Calls `body` with each row. Rows that lead nowhere now come first, because others may get their unique keys.
    func forEach(
        _ body: (_ type: String, _ row: RowID, _ column: Int, _ linked: RowID?) throws -> Void
    ) rethrows {
        for isLinked in [false, true] {
            for (type, rows) in moved.sorted(by: { $0.key < $1.key }) {
                let places = rows.filter { ($0.value != nil) == isLinked }.keys
                for place in places.sorted(by: { ($0.row, $0.column) < ($1.row, $1.column) }) {
                    if let linked = rows[place] { try body(type, place.row, place.column, linked) }
                }
            }
        }
    }
}

extension EdgeTrees {
    /// Must be called for each link that is added or removed.
    @inline(__always)
    func noteMoved(_ side: EdgeSide, _ source: RowID, _ target: RowID, isLinked: Bool) {
        if side.movesIDs { noteMovedIDs(side, source, target, isLinked) }
    }

    @inline(never)
    private func noteMovedIDs(_ side: EdgeSide, _ source: RowID, _ target: RowID, _ isLinked: Bool) {
        core.hasMovedIDs = true
        if let column = side.linkedID {
            moved.note(side.type, source, column, isLinked ? target : nil)
        }
        if let column = side.other?.linkedID {
            moved.note(side.target, target, column, isLinked ? source : nil)
        }
    }

    /// Updates the related ids of rows whose links were changed. Throws `.uniqueViolation` if two rows would have one
    /// key in the end; then the change must be undone, or the write fails.
    package func followLinks() throws {
        guard !moved.isEmpty else { return }
        let rows = moved
        moved = MovedIDs()
        core.hasMovedIDs = false
        try core.followingLinks {
            try rows.forEach { type, row, column, linked in
                let store = try core.store(type)
                guard let side = store.type.linkedIDs.first(where: { $0.column == column })?.side else { return }
                let id = try linked.flatMap { try core.store(side.target).id(of: $0) } ?? .null
                try store.setLinkedID(row, column, id)
            }
        }
    }
}

extension StoreTransaction {
    /// Runs `body`, which changes links of a side, and updates the related ids of the rows at their ends.
    @inline(__always)
    package func changeLinks(of side: EdgeSide, _ body: () throws -> Void) throws {
        try body()
        if side.movesIDs { try edges.followLinks() }
    }

    /// Runs `body`, which updates related ids, and checks that no two rows have one unique key afterwards. In a save of
    /// several entities later links may still change the keys: that save checks at its end. If it throws, the change
    /// must be undone, or the write fails.
    fileprivate func followingLinks(_ body: () throws -> Void) throws {
        let before = counts.yields
        do {
            try body()
            if !defersKeys, counts.yields != before { try checkNothingYielded(since: before) }
        } catch {
            transaction.fail(error as? StorageError ?? .invalid("\(error)"))
            throw error
        }
    }

    /// Runs `body`, a save of several entities, whose end decides which rows have which unique keys. Throws if two rows
    /// have one then.
    package func deferringKeys<Result>(_ body: () throws -> Result) throws -> Result {
        let before = counts.yields
        let result = try withDeferredKeys(body)
        if counts.yields != before { try checkNothingYielded(since: before) }
        return result
    }

    private func withDeferredKeys<Result>(_ body: () throws -> Result) rethrows -> Result {
        let former = defersKeys
        defersKeys = true
        defer { defersKeys = former }
        return try body()
    }
}
