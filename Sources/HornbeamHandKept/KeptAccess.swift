// SPDX-License-Identifier: Apache-2.0
// Common parts of all hand-kept indexes at the border to the typed API: conversion between ids and rows, and of the
// engine's errors to typed ones.

import HornbeamPages
import HornbeamTree

/// A hand-kept index over entities of a type, in a context.
struct KeptAccess<Entity: EntityModelProtocol>: Sendable {
    let context: Context
    let name: String

    /// Calls `body` in the transaction. Throws an error if the transaction is no longer open.
    func read<Result>(_ body: (TypedTransaction) throws -> Result) throws -> Result {
        try context.session.run { session in
            _ = try session.core
            return try body(session)
        }
    }

    /// Calls `body`, which changes the index, in the write transaction.
    func change<Result>(_ body: (TypedTransaction) throws -> Result) throws -> Result {
        try context.session.change("changed", of: "index “\(name)”") { session in
            guard try session.isWritable else {
                throw StorageError.readOnly("changing an index needs a write transaction")
            }
            return try body(session)
        }
    }

    /// Returns the row of an id, or nil if no such entity is stored. Then the id is in no index either.
    func row(_ id: Entity.ID, _ session: TypedTransaction) throws -> RowID? {
        try session.storedRow(of: id.columnValue, Entity.self)
    }

    /// Returns the row of an id that is to be added. Throws `.notStored` if no such entity is stored.
    func storedRow(_ id: Entity.ID, _ session: TypedTransaction) throws -> RowID {
        guard let row = try row(id, session) else { throw HornbeamError.notStored(Entity.self, id, in: name) }
        return row
    }

    func rows(_ ids: some Sequence<Entity.ID>, _ session: TypedTransaction) throws -> [RowID] {
        try ids.map { try storedRow($0, session) }
    }

    func id(_ row: RowID, _ session: TypedTransaction) throws -> Entity.ID {
        guard let id = try session.id(of: row, Entity.self) else {
            throw StorageError.corrupt(Corruption(reason: "index “\(name)” has \(row), which has no id"))
        }
        return id
    }

    func ids(_ rows: [RowID], _ session: TypedTransaction) throws -> [Entity.ID] {
        try rows.map { try id($0, session) }
    }

    func entities(_ rows: [RowID], _ session: TypedTransaction) throws -> [Entity] {
        var none: [RowID]?
        return try session.entities(at: rows, stored: &none)
    }

    /// Calls `body` with the ids of these rows. Rows of entities that `body` deletes meanwhile are skipped.
    func forEach(_ rows: [RowID], _ body: (Entity.ID) throws -> Void) throws {
        try read { session in
            for row in rows {
                if try session.store(Entity.self).isSaved(row) { try body(try id(row, session)) }
            }
        }
    }

    func outOfRange(_ what: String, count: Int) -> HornbeamError {
        HornbeamError(.invalid, "index “\(name)” has \(count) ids, and no \(what)")
    }
}

extension HornbeamError {
    static func notStored<Entity: EntityModelProtocol>(
        _: Entity.Type, _ id: Entity.ID, in index: String
    ) -> HornbeamError {
        HornbeamError(
            .notStored,
            "\(Entity.entityName) \("\(id)".shown()) isn't stored, and indexes hold stored entities alone: save it "
                + "before it is put into index “\(index)”")
    }
}
