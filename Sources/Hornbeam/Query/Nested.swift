// SPDX-License-Identifier: Apache-2.0
// Nested queries: steps that load relations into entities that were just read. Each step works on all entities of its
// level at once and reads each related entity once, however many share it.

/// What `with(.entities, .ids)` loads, one element a level.
public struct Nested: Sendable {
    enum Mode: Sendable {
        case entities
        case fragments
        case ids
    }

    let mode: Mode

    /// The related entities' ids.
    public static let ids = Nested(mode: .ids)
    /// The related entities.
    public static let entities = Nested(mode: .entities)
    /// The related entities, marked as incomplete: saving them merges.
    public static let fragments = Nested(mode: .fragments)
}

/// The steps of one level. A class, so that a list without any is one without knowing their type, which in generic code
/// is looked up in tables.
final class NestedSteps<Entity: EntityModelProtocol>: Sendable {
    let steps: [NestedStep<Entity>]

    init(_ steps: [NestedStep<Entity>]) {
        self.steps = steps
    }
}

/// Loads one relation into the entities of a level.
struct NestedStep<Entity: EntityModelProtocol>: Sendable {
    /// Entities with their row ids, in the same order.
    let load: @Sendable (_ entities: inout [Entity], _ rows: [RowID], _ session: Session) throws -> Void

    /// Ids alone, of entities that aren't stored too.
    init<Target, D, C, K>(ids path: RelationPath<Entity, Target, D, C, K>, isSlice: Bool) {
        load = { entities, rows, session in
            let relation = try Entity.entityShape.relation(path.keyPath)
            for place in entities.indices {
                let ids = try session.linkedIds(of: rows[place], relation, as: Target.self)
                // A to-one relation without a link says nothing, so that saving the value again changes nothing.
                let isSilent = ids.isEmpty && !C.isToMany
                entities[place][keyPath: path.keyPath] = isSilent ? .none : Relation(.ids(ids), isSlice: isSlice)
            }
        }
    }

    /// Whole entities, as `query` selects, orders and completes them.
    init<Target, D, C, K>(
        entities path: RelationPath<Entity, Target, D, C, K>, _ query: QueryList<Target>, isSlice: Bool,
        isFragment: Bool
    ) {
        load = { entities, rows, session in
            let relation = try Entity.entityShape.relation(path.keyPath)
            let targets = try session.linkedRows(ofEach: rows, relation)
            let isUnshared = try session.isUnshared(relation) && !rows.sorted().hasEqualNeighbours
            let found = try query.load(eachOf: targets, isUnshared: isUnshared, session)
            // By number: what iterates in generic code goes through tables of functions, and makes their types anew.
            for place in 0..<min(entities.count, found.count) {
                let related = found[place]
                let isSilent = related.isEmpty && !C.isToMany
                entities[place][keyPath: path.keyPath] =
                    isSilent ? .none : Relation(.entities(related), isSlice: isSlice, isFragment: isFragment)
            }
        }
    }
}
