// SPDX-License-Identifier: Apache-2.0
// The elements of live queries.

/// The present state of a list.
public struct LiveList<Entity: EntityModelProtocol>: Sendable {
    /// The whole result.
    public let entities: [Entity]
    /// The changes since the element before, nil in the first element.
    public let changes: ListChanges?
}

extension LiveList: RandomAccessCollection {
    public var startIndex: Int { entities.startIndex }
    public var endIndex: Int { entities.endIndex }
    public subscript(position: Int) -> Entity { entities[position] }
}

/// The changes of a list, without the list, for results that are too large for memory.
public struct LiveChanges<Entity: EntityModelProtocol>: Sendable {
    /// Number of entities that the list has now.
    public let count: Int
    /// The changes since the element before. Nil in the first element, which has no entities.
    public let changes: ListChanges?
    /// The entities at `changes.insertions`, in the same order.
    public let inserted: [Entity]
    /// The entities at `changes.updates`, in the same order.
    public let updated: [Entity]
}

/// The present state of one entity.
public struct LiveEntity<Entity: EntityModelProtocol>: Sendable {
    /// The entity, or its last value if it is gone. Nil if there was none since the observation began.
    public let entity: Entity?
    /// Whether the entity exists.
    public let isLive: Bool
}

/// The present state of a list of lists.
public struct LiveGroup<Entity: EntityModelProtocol>: Sendable {
    /// The whole result.
    public let sections: [[Entity]]
    /// The changes since the element before, nil in the first element.
    public let changes: GroupChanges?
}
