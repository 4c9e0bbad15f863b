// SPDX-License-Identifier: Apache-2.0
// Entities that expire at a time in one of their properties. A condition excludes expired ones, and a purge deletes
// them. Other reads have no cost.

public import FoundationEssentials

extension Predicate {
    /// Selects entities that have not expired at `now`: the property has a later time.
    public static func unexpired(_ until: KeyPath<Entity, Date>, at now: Date = .now) -> Self {
        until > now
    }

    /// Selects entities that have not expired at `now`: the property has a later time, or is nil, which never expires.
    public static func unexpired(_ until: KeyPath<Entity, Date?>, at now: Date = .now) -> Self {
        until > now || until == nil
    }
}

extension EntityModelProtocol {
    /// Deletes the expired entities for good, with their index entries and links. Returns their number. Delete rules
    /// and hooks work as in any deletion, but no `Deleted` is left. All are deleted, or none if something throws.
    ///
    /// With an index over the property, the time depends only on the number of expired entities. `limit` is the maximum
    /// number to delete, in no particular order, so that a program can purge many entities in several writes.
    @discardableResult
    public static func purgeExpired(
        _ until: KeyPath<Self, Date>, at now: Date = .now, limit: Int? = nil,
        from context: inout Context
    ) throws -> Int {
        try purge(filter(until <= now), limit, &context)
    }

    /// Deletes the expired entities for good, and returns their number. Nil never expires.
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
