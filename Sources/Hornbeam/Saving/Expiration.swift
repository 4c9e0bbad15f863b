// SPDX-License-Identifier: Apache-2.0
// Entities that are good up to a time which one of their properties says. A condition leaves out those beyond it, and a
// purge deletes them. Reads that don't ask pay nothing for it.

public import FoundationEssentials

extension Predicate {
    /// Good at a time: the property says a later one.
    public static func unexpired(_ until: KeyPath<Entity, Date>, at now: Date = .now) -> Self {
        until > now
    }

    /// Good at a time: the property says a later one, or nil, which never comes.
    public static func unexpired(_ until: KeyPath<Entity, Date?>, at now: Date = .now) -> Self {
        until > now || until == nil
    }
}

extension EntityModelProtocol {
    /// Deletes for good the entities whose time has come, with their index entries and links; gives how many. Delete
    /// rules and hooks are as for any deletion, but nothing is left of them as a `Deleted`. All of it or nothing.
    ///
    /// With an index on the property it takes the time of those that go. With a limit it deletes that many at most: a
    /// program with many of them does it in several writes.
    @discardableResult
    public static func purgeExpired(
        _ until: KeyPath<Self, Date>, at now: Date = .now, limit: Int? = nil,
        from context: inout Context
    ) throws -> Int {
        try purge(filter(until <= now), limit, &context)
    }

    /// Purges entities whose optional date has come; nil never comes.
    @discardableResult
    public static func purgeExpired(
        _ until: KeyPath<Self, Date?>, at now: Date = .now, limit: Int? = nil,
        from context: inout Context
    ) throws -> Int {
        try purge(filter(until <= now), limit, &context)
    }

    private static func purge(_ expired: QueryList<Self>, _ limit: Int?, _ context: inout Context) throws -> Int {
        let expired = limit.map { expired.limit($0) } ?? expired
        return try expired.delete(from: &context, leavingNothing: true)
    }
}
