// SPDX-License-Identifier: Apache-2.0
// The values that a query has loaded for one relation of the entities of a level. The macro's code puts them into the
// entities, because it is compiled for the entity's type: setting a relation through its key path took 1,700
// instructions for each entity.

/// Entities or ids for one relation of the entities of a level. Used by `setRelation`, which the macro writes.
public struct LoadedRelation {
    /// The number of the relation in its type, in order of declaration.
    public let number: Int
    /// `[[Target]]` or `[[Target.ID]]`.
    @usableFromInline let lists: any Sendable
    @usableFromInline let areIds: Bool
    /// The index of each entity's list, -1 for none. Nil if lists and entities are in the same order.
    @usableFromInline let places: [Int]?
    @usableFromInline let isSlice: Bool
    /// The entities whose lists are slices although `isSlice` is false for the level.
    @usableFromInline let lacking: Set<Int>?
    @usableFromInline let isFragment: Bool

    init<Target: EntityModelProtocol>(
        _ number: Int, entities: LoadedLists<Target>, isSlice: Bool, lacking: Set<Int>?, isFragment: Bool
    ) {
        self.number = number
        lists = entities.lists
        areIds = false
        places = entities.places
        self.isSlice = isSlice
        self.lacking = lacking
        self.isFragment = isFragment
    }

    init<ID: IndexKey>(_ number: Int, ids: LoadedLists<ID>, isSlice: Bool) {
        self.number = number
        lists = ids.lists
        areIds = true
        places = ids.places
        self.isSlice = isSlice
        lacking = nil
        isFragment = false
    }

    /// Calls `set` with each entity and the new value of its relation.
    @inlinable
    public func put<Entity, Target, D, C, K>(
        into entities: inout [[Entity]], _ set: (inout Entity, Relation<Target, D, C, K>) -> Void
    ) {
        // Empty lists of one type pass the cast to any other.
        if !areIds, let lists = lists as? [[Target]] { put(lists, into: &entities, { .entities($0) }, set) }
        if areIds, let lists = lists as? [[Target.ID]] { put(lists, into: &entities, { .ids($0) }, set) }
    }

    @inlinable @inline(__always)
    func put<Element, Entity, Target, D, C, K>(
        _ lists: [[Element]], into entities: inout [[Entity]],
        _ content: ([Element]) -> Relation<Target, D, C, K>.Content,
        _ set: (inout Entity, Relation<Target, D, C, K>) -> Void
    ) {
        var next = 0
        for list in entities.indices {
            entities[list].withUnsafeMutableBufferPointer { list in
                for index in list.indices {
                    let place = places.map { next < $0.count ? $0[next] : -1 } ?? next
                    next += 1
                    // A to-one relation without a link becomes `.none`, so that saving the value again doesn't change
                    // it.
                    guard place >= 0, place < lists.count, C.isToMany || !lists[place].isEmpty else {
                        set(&list[index], .none)
                        continue
                    }
                    let isSlice = isSlice || lacking?.contains(next - 1) ?? false
                    set(&list[index], Relation(content(lists[place]), isSlice: isSlice, isFragment: isFragment))
                }
            }
        }
    }
}
