// SPDX-License-Identifier: Apache-2.0
// Entities that expire at a time in one of their properties. A condition leaves out the expired ones, and a purge
// deletes them. Reads that don't ask pay nothing for it.

public import FoundationEssentials

extension Predicate {
    /// Holds for entities that have not expired at `now`: the property has a later time.
    public static func unexpired(_ until: KeyPath<Entity, Date>, at now: Date = .now) -> Self {
        until > now
    }

    /// Holds for entities that have not expired at `now`: the property has a later time, or nil, which never expires.
    public static func unexpired(_ until: KeyPath<Entity, Date?>, at now: Date = .now) -> Self {
        until > now || until == nil
    }
}

extension EntityModelProtocol {
    /// Deletes the expired entities for good, with their index entries and links. Returns their number. Delete rules
    /// and hooks are as for any deletion, but no `Deleted` is left of them. All are deleted or none.
    ///
    /// With an index on the property, the time depends only on the number of expired entities. With a limit it deletes
    /// that many at most, in no particular order: a program with many of them does it in several writes.
    @discardableResult
    public static func purgeExpired(
        _ until: KeyPath<Self, Date>, at now: Date = .now, limit: Int? = nil,
        from context: inout Context
    ) throws -> Int {
        try purge(filter(until <= now), limit, &context)
    }

    /// Purges entities whose optional date has come. Nil never comes.
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
