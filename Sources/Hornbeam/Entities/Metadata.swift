// SPDX-License-Identifier: Apache-2.0
// What the store itself keeps of each entity: when it was last saved. It lies in a hidden column behind the declared
// ones, so that filters, sorts and indexes treat it as any property; the Swift value never has it.

public import FoundationEssentials

/// What the store keeps of each entity beside its properties: `sorted(by: .updatedAt.desc)`.
public struct Metadata: Hashable, Sendable {
    let column: String
    let isDescending: Bool

    /// When the entity was last saved. Nil for entities that were stored before the store kept it.
    public static let updatedAt = Metadata(column: ColumnDescription.updatedAt.name, isDescending: false)

    /// The latest first.
    public var desc: Metadata { Metadata(column: column, isDescending: true) }
}

/// A condition on what the store keeps of entities of any type: `.updated(within: start...end)`.
public struct MetadataPredicate: Hashable, Sendable {
    let range: ClosedRange<Date>

    /// Last saved in this time, its ends included.
    public static func updated(within range: ClosedRange<Date>) -> Self { Self(range: range) }

    /// The condition on entities of one type.
    func predicate<Entity>(for _: Entity.Type) -> Predicate<Entity> { .updated(within: range) }
}

extension ColumnDescription {
    /// The names of hidden columns begin with a sign that no property's name can have.
    private static let hiddenSign = "$"

    /// When a row was last saved.
    package static let updatedAt = ColumnDescription(name: "$updatedAt", type: .optional(.date))

    /// The name for people.
    var label: String { Self.label(name) }

    static func label(_ name: String) -> String {
        name.hasPrefix(hiddenSign) ? String(name.dropFirst(hiddenSign.count)) : name
    }
}

extension IndexDescription.Component {
    /// The time of the last save.
    public static func updatedAt(descending: Bool = false) -> Self {
        Self(column: ColumnDescription.updatedAt.name, descending: descending)
    }
}

// MARK: - Asking

extension EntityModelProtocol {
    /// When the stored entity with this one's id was last saved; nil if none is stored, or since before the store kept
    /// it.
    public func updatedAt(in context: Context) throws -> Date? {
        try Self.updatedAt(id: id, in: context)
    }

    public static func updatedAt(id: ID, in context: Context) throws -> Date? {
        try context.session.run { try $0.updatedAt(id.columnValue, Self.self) }
    }

    /// The latest time at which this entity or one in its relations was saved, as far as the relations of this value
    /// have been loaded, as entities or as ids; one element of `nested` a level.
    public func updatedAt(in context: Context, withNested nested: Nested...) throws -> Date? {
        try context.session.run { try latestUpdate(levels: nested.count, $0) }
    }

    func latestUpdate(levels: Int, _ session: Session) throws -> Date? {
        var latest = try session.updatedAt(id.columnValue, Self.self)
        guard levels > 0 else { return latest }
        for relation in Self.entityShape.relations {
            guard let date = try relation.access.latestUpdate(self, levels - 1, session) else { continue }
            latest = Swift.max(latest ?? date, date)
        }
        return latest
    }
}

extension Session {
    func updatedAt<Entity: EntityModelProtocol>(_ id: Value, _: Entity.Type) throws -> Date? {
        let store = try store(Entity.self)
        guard let column = store.type.updatedAt, let rowID = try store.rowID(ofAny: id), let row = try store.row(rowID)
        else { return nil }
        return try row.double(column).map { Date(timeIntervalSinceReferenceDate: $0) }
    }
}

// MARK: - Selecting and ordering

extension Predicate {
    /// Last saved in this time, its ends included.
    public static func updated(within range: ClosedRange<Date>) -> Self {
        let column = Entity.entityShape.updatedAtColumn
        return Self(
            .and([
                .compare(column: column, .greaterOrEqual, range.lowerBound.columnValue),
                .compare(column: column, .lessOrEqual, range.upperBound.columnValue),
            ]))
    }
}

extension QueryList {
    /// In the order in which the entities were last saved, or the latest first: `sorted(by: .updatedAt.desc)`.
    public consuming func sorted(by metadata: Metadata) -> Self {
        sorted([.column(Entity.entityShape.updatedAtColumn, descending: metadata.isDescending)])
    }
}
