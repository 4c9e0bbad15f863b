// SPDX-License-Identifier: Apache-2.0
// Optimistic concurrency: who read an entity in one transaction and saves it in a later one says which state he read,
// and the save happens only if it is stored still.

import FoundationEssentials

/// What was stored of an entity when somebody looked: its properties and the time of its last save, as a hash of 128
/// bits. Two tokens of one entity are equal if nothing was saved in between. Links are no part of it.
///
/// Good beyond the transaction, the process and the file's closing, but not beyond a migration that changes the type:
/// then it is that of another state.
public struct StateToken: Hashable, Sendable, Codable, CustomStringConvertible {
    private let hash: Data

    /// - Parameter type: the row's.
    init(_ row: RowReader, of type: EntityType) throws {
        var row = Array(row.bytes)
        if !type.linkedIDs.isEmpty { row = try type.withoutLinkedIDs(row) }
        hash = Data(IndexKeyBytes.hashed(row))
    }

    /// Its first eight digits.
    public var description: String {
        hash.prefix(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension EntityModelProtocol {
    /// The state that is stored under an id; nil if there is none.
    public static func stateToken(id: ID, in context: Context) throws -> StateToken? {
        try context.session.run { session in
            let store = try session.store(Self.self)
            return try store.rowID(ofAny: id.columnValue).flatMap { try store.row($0) }
                .map { try StateToken($0, of: store.type) }
        }
    }

    /// The state that is stored under the id of this value, which need not be this value.
    public func stateToken(in context: Context) throws -> StateToken? {
        try Self.stateToken(id: id, in: context)
    }

    /// Saves the entity if what is stored is what is expected, as by `stateToken`; nil expects that nothing is.
    /// Otherwise `.conflict`, with nothing changed.
    ///
    /// What it says about relations is saved with it, and not what is expected of these. Where `willSave` changes the
    /// id, the same is expected of the other one.
    public func save(to context: inout Context, expecting token: StateToken?) throws {
        try expect(token, "saved", in: context)
        let named = id
        try save(to: &context, options: Self.defaultMergeStrategy) { entity, context in
            if entity.id != named { try entity.expect(token, "saved", in: context) }
        }
    }

    /// Saves the entity; one that was changed meanwhile is merged with the new one. `.conflict` is left where one was
    /// to be stored and isn't, or the other way round.
    public func save(
        to context: inout Context, expecting token: StateToken?, onConflict strategy: MergeStrategy<Self>
    ) throws {
        if let token, let stored = try stateToken(in: context), stored != token {
            return try save(to: &context, options: strategy)
        }
        try save(to: &context, expecting: token)
    }

    /// Deletes the entity if what is stored is what is expected. Otherwise `.conflict`, with nothing changed.
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
            // As the store writes dates: a file may hold any, also such as Foundation can't.
            let date = try updatedAt(in: context).map { ", last saved at \($0.columnValue.text)" } ?? ""
            found = "is stored in the state \(stored)\(date)"
        }
        throw HornbeamError(
            .conflict,
            "\(Self.entityName) \(id) can't be \(verb): \(expected), and \(found); read it anew and decide again")
    }
}
