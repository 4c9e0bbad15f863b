// SPDX-License-Identifier: Apache-2.0
// Optimistic concurrency: code that reads an entity in one transaction and saves it in a later one passes a token of
// the state that it read. The entity is saved only if that state is still stored.

import FoundationEssentials

/// The stored state of an entity at one time: its properties and the time of its last save, as a hash of 128 bits. Two
/// tokens of one entity are equal if nothing was saved in between. Links don't count.
///
/// A token stays valid after the transaction, the process and the closing of the file, but not after a migration that
/// changes the type, which makes other states.
public struct StateToken: Hashable, Sendable, Codable, CustomStringConvertible {
    private let hash: Data

    /// - Parameter type: the type of the row's entity.
    init(_ row: RowReader, of type: EntityType) throws {
        var row = Array(row.bytes)
        if !type.linkedIDs.isEmpty { row = try type.withoutLinkedIDs(row) }
        hash = Data(IndexKeyBytes.hashed(row))
    }

    /// The first eight digits of the hash.
    public var description: String {
        hash.prefix(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension EntityModelProtocol {
    /// Returns the state that is stored under an id, or nil if there is none.
    public static func stateToken(id: ID, in context: Context) throws -> StateToken? {
        try context.session.run { session in
            let store = try session.store(Self.self)
            return try store.rowID(ofAny: id.columnValue).flatMap { try store.row($0) }
                .map { try StateToken($0, of: store.type) }
        }
    }

    /// Returns the state that is stored under the id of this value, which may differ from this value.
    public func stateToken(in context: Context) throws -> StateToken? {
        try Self.stateToken(id: id, in: context)
    }

    /// Saves the entity if the stored state is the expected one, as returned by `stateToken`. Nil expects that none is
    /// stored. Throws `.conflict`, with nothing changed, if another state is stored.
    ///
    /// The value's relations are saved with it, without a check of their stored state. If `willSave` changes the id,
    /// the expected state must be stored under the new id too.
    public func save(to context: inout Context, expecting token: StateToken?) throws {
        try expect(token, "saved", in: context)
        let named = id
        try save(to: &context, options: Self.defaultMergeStrategy) { entity, context in
            if entity.id != named { try entity.expect(token, "saved", in: context) }
        }
    }

    /// Saves the entity. If the stored entity was changed meanwhile, the new one is merged with it by `strategy`.
    /// Throws `.conflict` if an entity is expected to be stored and none is, or none is expected and one is.
    public func save(
        to context: inout Context, expecting token: StateToken?, onConflict strategy: MergeStrategy<Self>
    ) throws {
        if let token, let stored = try stateToken(in: context), stored != token {
            return try save(to: &context, options: strategy)
        }
        try save(to: &context, expecting: token)
    }

    /// Deletes the entity if the stored state is the expected one. Throws `.conflict`, with nothing changed, if another
    /// state is stored.
    public func delete(from context: inout Context, expecting token: StateToken) throws {
        try expect(token, "deleted", in: context)
        try delete(from: &context)
    }

    private func expect(_ token: StateToken?, _ verb: String, in context: Context) throws {
        let stored = try stateToken(in: context)
        if stored == token { return }
        let expected = token.map { "it is expected in the state \($0)" } ?? "it is expected not to be stored"
        var found = "isn't stored any more"
        if let stored {
            // In the store's form of dates, because a file may contain dates that Foundation can't show.
            let date = try updatedAt(in: context).map { ", last saved at \($0.columnValue.text)" } ?? ""
            found = "is stored in the state \(stored)\(date)"
        }
        throw HornbeamError(
            .conflict,
            "\(Self.entityName) \(id) can't be \(verb): \(expected), and \(found); read it anew and decide again")
    }
}
