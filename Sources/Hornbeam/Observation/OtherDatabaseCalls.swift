// SPDX-License-Identifier: Apache-2.0
// Calls as in other stores, each with a message that names the right one. Calls on other types than the database are in
// Compatibility/OtherSpellings.swift.

extension Database {
    @available(*, unavailable, message: "write 'read { try query.resolve(in: $0) }'")
    public func read<Entity>(_ query: QueryList<Entity>) throws -> [Entity] { [] }

    @available(*, unavailable, message: "write 'read { try query.resolve(in: $0) }'")
    public func read<Entity>(_ query: Query<Entity>) throws -> Entity? { nil }

    @available(*, unavailable, message: "write 'for try await books in database.observe(query) { … }'")
    public func observe<Entity>(_ query: QueryList<Entity>, onChange: ([Entity]) -> Void) {}
}

extension QueryList {
    @available(*, unavailable, message: "write 'for try await books in database.observe(query) { … }'")
    public func values(in database: Database) -> LiveQuery<LiveList<Entity>> { database.observe(self) }
}

extension Query {
    @available(*, unavailable, message: "write 'for try await book in database.observe(query) { … }'")
    public func values(in database: Database) -> LiveQuery<LiveEntity<Entity>> { database.observe(self) }
}
