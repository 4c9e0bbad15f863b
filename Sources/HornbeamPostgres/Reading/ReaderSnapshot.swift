// SPDX-License-Identifier: Apache-2.0
// One state of the mirror for several reads.

public import Hornbeam

extension PostgresReader {
    /// One state of the mirror. It is valid only within the closure of `read`, in that closure's thread.
    public final class Snapshot {
        private var reading: MirrorReading?

        init(_ reading: MirrorReading) { self.reading = reading }

        func end() { reading = nil }

        private func open() throws(HornbeamError) -> MirrorReading {
            guard let reading else {
                throw HornbeamError(.invalid, "the read has ended: a snapshot is valid only inside its closure")
            }
            return reading
        }

        /// Returns the entities of a query.
        public func resolve<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> [Entity] {
            try open().resolve(list)
        }

        /// Returns the entity of a query, or nil if there is none.
        public func resolve<Entity: EntityModelProtocol>(_ query: Query<Entity>) throws -> Entity? {
            try open().resolve(query.asList).first
        }

        /// Returns the first entity of a query, or nil if there is none.
        public func first<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Entity? {
            try open().resolve(list.limit(1)).first
        }

        /// Returns the entity with an id, or nil if there is none.
        public func find<Entity: EntityModelProtocol>(_: Entity.Type, _ id: Entity.ID) throws -> Entity? {
            try open().find(Entity.self, id.columnValue)
        }

        /// Returns the ids of a query's entities.
        public func ids<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> [Entity.ID] {
            try open().ids(list)
        }

        /// Returns the number of entities that `resolve` would give.
        public func count<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Int {
            try open().count(list)
        }

        /// Returns whether there is any entity.
        public func exists<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Bool {
            try !open().isEmpty(list)
        }

        /// Returns whether there is no entity.
        public func isEmpty<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) throws -> Bool {
            try open().isEmpty(list)
        }

        /// Returns one aggregate: `aggregate(.sum(\.size), of: …)`.
        public func aggregate<Entity: EntityModelProtocol, Result: Sendable>(
            _ aggregate: Aggregate<Entity, Result>, of list: QueryList<Entity> = QueryList()
        ) throws -> Result { try open().aggregate(aggregate, of: list) }
    }
}
