// SPDX-License-Identifier: Apache-2.0
// The elements of live queries.

/// A list as it is now.
public struct LiveList<Entity: EntityModelProtocol>: Sendable {
    /// The whole result.
    public let entities: [Entity]
    /// What has changed since the element before; nil in the first one.
    public let changes: ListChanges?
}

extension LiveList: RandomAccessCollection {
    public var startIndex: Int { entities.startIndex }
    public var endIndex: Int { entities.endIndex }
    public subscript(position: Int) -> Entity { entities[position] }
}

/// What has changed in a list, without the list: for results too large to be held.
public struct LiveChanges<Entity: EntityModelProtocol>: Sendable {
    /// How many entities the list has now.
    public let count: Int
    /// Since the element before; nil in the first one, which has no entities.
    public let changes: ListChanges?
    /// The entities at `changes.insertions`, in the same order.
    public let inserted: [Entity]
    /// The entities at `changes.updates`, in the same order.
    public let updated: [Entity]
}

/// One entity as it is now.
public struct LiveEntity<Entity: EntityModelProtocol>: Sendable {
    /// Its value; the last one if it is no more, nil if it never was since the observation began.
    public let entity: Entity?
    /// Whether it is there.
    public let isLive: Bool
}

/// A list of lists as it is now.
public struct LiveGroup<Entity: EntityModelProtocol>: Sendable {
    /// The whole result.
    public let sections: [[Entity]]
    /// What has changed since the element before; nil in the first one.
    public let changes: GroupChanges?
}
