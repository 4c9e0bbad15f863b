// SPDX-License-Identifier: Apache-2.0
// A number that shows whether an entity, with its loaded relations, is unchanged: entities need not be Equatable, but
// all can be encoded. The probability that different contents have equal numbers is 2^-64.

import HornbeamPages

/// Takes in one entity after another.
final class Fingerprint {
    private let session: TypedTransaction
    private var hasher = Hasher()

    private init(_ session: TypedTransaction) { self.session = session }

    static func of<Entity: EntityModelProtocol>(_ entity: Entity, _ session: TypedTransaction) throws -> Int {
        let print = Fingerprint(session)
        session.running.fingerprint = print
        defer { session.running.fingerprint = nil }
        try print.add(entity)
        return print.hasher.finalize()
    }

    private func add<Entity: EntityModelProtocol>(_ entity: Entity) throws {
        try session.encode(entity).withUnsafeBytes { hasher.combine(bytes: $0) }
        var relations = RelationSaver<Entity>(checking: Context(session), batch: nil)
        try entity.saveRelations(with: &relations)
        // Marks the end of the entities nested in it.
        hasher.combine(-1)
    }

    /// Adds the content of an entity's relation number `number`.
    func add<Target, D, C, K>(_ relation: Relation<Target, D, C, K>, number: Int) throws {
        hasher.combine(number)
        guard let entities = relation.entities else { return hasher.combine(relation.linkedIds) }
        hasher.combine(entities.count)
        try session.descend(into: "\(Target.entityName) can't be observed")
        defer { session.running.nesting -= 1 }
        for entity in entities { try add(entity) }
    }
}
