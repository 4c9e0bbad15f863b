// SPDX-License-Identifier: Apache-2.0
// The elements of live queries.

/// A list as it is now.
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

/// The changes of a list, without the list: for results too large to be held.
public struct LiveChanges<Entity: EntityModelProtocol>: Sendable {
    /// Number of entities that the list has now.
    public let count: Int
    /// The changes since the element before, nil in the first element, which has no entities.
    public let changes: ListChanges?
    /// The entities at `changes.insertions`, in the same order.
    public let inserted: [Entity]
    /// The entities at `changes.updates`, in the same order.
    public let updated: [Entity]
}

/// The present state of one entity.
public struct LiveEntity<Entity: EntityModelProtocol>: Sendable {
    /// The value of the entity. It is the last one if the entity is gone, nil if there was none since the observation
    /// began.
    public let entity: Entity?
    /// Whether the entity is there.
    public let isLive: Bool
}

/// A list of lists as it is now.
public struct LiveGroup<Entity: EntityModelProtocol>: Sendable {
    /// The whole result.
    public let sections: [[Entity]]
    /// The changes since the element before, nil in the first element.
    public let changes: GroupChanges?
}
