// SPDX-License-Identifier: Apache-2.0
// Metadata that the store keeps of each entity: the time of the last save and, for types that ask for it, the time of
// the first save and the number of changes. They are hidden columns after the declared ones, so that filters, sorts and
// indexes treat them like any property. The Swift values don't contain them.

public import FoundationEssentials

/// Metadata that the store keeps of each entity beside its properties: `sorted(by: .updatedAt.desc)`.
public struct Metadata: Hashable, Sendable {
    let column: String
    let isDescending: Bool

    /// The time when the entity was last saved with a change, or touched. Nil for entities that were stored before the
    /// store kept it.
    public static let updatedAt = Metadata(column: ColumnDescription.updatedAt.name, isDescending: false)

    /// The time when the entity was stored under its id, kept for types that name it in `storedMetadata`. Always nil
    /// for entities that were stored before their type named it.
    public static let createdAt = Metadata(column: ColumnDescription.createdAt.name, isDescending: false)

    /// The number of times the entity's properties were changed, the first save included. It only grows while the
    /// entity is stored. It is kept for types that name it in `storedMetadata`. Entities that were stored before their
    /// type named it have none, which counts as 0.
    public static let version = Metadata(column: ColumnDescription.version.name, isDescending: false)

    /// Ascending order: the earliest first.
    public var asc: Metadata { Metadata(column: column, isDescending: false) }
    /// Descending order: the latest first.
    public var desc: Metadata { Metadata(column: column, isDescending: true) }
}

/// A condition on the store's metadata of entities of any type: `.updated(within: start...end)`.
public enum MetadataPredicate: Hashable, Sendable {
    /// Selects entities that were last saved in this time, its ends included.
    case updated(within: ClosedRange<Date>)

    /// The condition on entities of one type.
    func predicate<Entity>(for _: Entity.Type) -> Predicate<Entity> {
        switch self {
        case .updated(let range): .updated(within: range)
        }
    }
}

extension ColumnDescription {
    /// The hidden columns of a type, in their order.
    static func hidden(_ wanted: [Metadata]) -> [ColumnDescription] {
        let names = Set(wanted.map(\.column))
        return [.updatedAt] + [.createdAt, .version].filter { names.contains($0.name) }
    }
}

extension IndexDescription.Component {
    /// The time of the last save.
    public static func updatedAt(descending: Bool = false) -> Self {
        Self(column: ColumnDescription.updatedAt.name, descending: descending)
    }

    /// The time of the first save, of a type that keeps it.
    public static func createdAt(descending: Bool = false) -> Self {
        Self(column: ColumnDescription.createdAt.name, descending: descending)
    }

    /// The number of changes, of a type that keeps it.
    public static func version(descending: Bool = false) -> Self {
        Self(column: ColumnDescription.version.name, descending: descending)
    }
}

// MARK: - Asking

extension EntityModelProtocol {
    /// Returns the time when the stored entity with this one's id was last saved. Returns nil if none is stored, or if
    /// it was last saved before the store kept the time.
    public func updatedAt(in context: Context) throws -> Date? {
        try Self.updatedAt(id: id, in: context)
    }

    /// Returns the time when the stored entity with this id was last saved. Returns nil if none is stored, or if it was
    /// last saved before the store kept the time.
    public static func updatedAt(id: ID, in context: Context) throws -> Date? {
        try context.session.run { try $0.updatedAt(id.columnValue, Self.self) }
    }

    /// Returns the time when the entity with this one's id was first stored. Returns nil if none is stored, or if it
    /// was stored before its type kept the time. Throws `.invalid` if the type doesn't keep it.
    public func createdAt(in context: Context) throws -> Date? { try Self.createdAt(id: id, in: context) }

    /// Returns the time when the entity with this id was first stored. Returns nil if none is stored, or if it was
    /// stored before its type kept the time. Throws `.invalid` if the type doesn't keep it.
    public static func createdAt(id: ID, in context: Context) throws -> Date? {
        try context.session.run { session in
            try session.metadata(.createdAt, id.columnValue, Self.self) { row, column in
                try row.double(column).map { Date(timeIntervalSinceReferenceDate: $0) }
            }
        }.flatMap(\.self)
    }

    /// Returns the number of times that the stored entity with this one's id was changed, its first save included, or
    /// nil if none is stored. Throws `.invalid` if the type doesn't keep it.
    public func version(in context: Context) throws -> Int? { try Self.version(id: id, in: context) }

    /// Returns the number of times that the stored entity with this id was changed, its first save included, or nil if
    /// none is stored. Throws `.invalid` if the type doesn't keep it.
    public static func version(id: ID, in context: Context) throws -> Int? {
        try context.session.run { session in
            try session.metadata(.version, id.columnValue, Self.self) { row, column in
                Int(clamping: try row.int(column) ?? 0)
            }
        }
    }

    /// Returns the latest time at which this entity or one in its relations was saved. Only relations that are loaded
    /// in this value count, as entities or as ids. Each element of `nested` stands for one level of relations.
    public func updatedAt(in context: Context, withNested nested: Nested...) throws -> Date? {
        try updatedAt(in: context, levels: nested.count)
    }

    /// Returns the latest time at which this entity or one in its loaded relations was saved. Each element of `nested`
    /// stands for one level of relations.
    public func updatedAt(in context: Context, withNested nested: [Nested]) throws -> Date? {
        try updatedAt(in: context, levels: nested.count)
    }

    /// Returns the latest time at which this entity was saved. If `nested` is true, the entities in its loaded
    /// relations count too, on all levels.
    public func updatedAt(in context: Context, withNested nested: Bool) throws -> Date? {
        try updatedAt(in: context, levels: nested ? .max : 0)
    }

    /// Returns the time of the last save of any stored entity of the type, or nil if none is stored. Reads all
    /// entities, unless an index over `.updatedAt` gives the order.
    public static func lastUpdatedAt(in context: Context) throws -> Date? {
        try QueryList<Self>().sorted(by: .updatedAt.desc).limit(1).ids(in: context).first
            .flatMap { try updatedAt(id: $0, in: context) }
    }

    private func updatedAt(in context: Context, levels: Int) throws -> Date? {
        try context.session.run { try latestUpdate(levels: levels, $0) }
    }

    func latestUpdate(levels: Int, _ session: TypedTransaction) throws -> Date? {
        var latest = try session.updatedAt(id.columnValue, Self.self)
        guard levels > 0 else { return latest }
        for relation in Self.entityShape.relations {
            guard let date = try relation.access.latestUpdate(self, levels - 1, session) else { continue }
            latest = Swift.max(latest ?? date, date)
        }
        return latest
    }
}

extension TypedTransaction {
    func updatedAt<Entity: EntityModelProtocol>(_ id: Value, _: Entity.Type) throws -> Date? {
        let store = try store(Entity.self)
        guard let column = store.type.updatedAt, let rowID = try store.rowID(ofAny: id), let row = try store.row(rowID)
        else { return nil }
        return try row.double(column).map { Date(timeIntervalSinceReferenceDate: $0) }
    }
}

extension TypedTransaction {
    /// Returns the result of `read` for a stored entity's row, or nil if there is none. Throws `.invalid` if its type
    /// doesn't keep the metadata.
    fileprivate func metadata<Entity: EntityModelProtocol, Found>(
        _ metadata: Metadata, _ id: Value, _: Entity.Type, _ read: (RowReader, Int) throws -> Found
    ) throws -> Found? {
        let column = try Entity.entityShape.column(of: metadata)
        let store = try store(Entity.self)
        guard let rowID = try store.rowID(ofAny: id), let row = try store.row(rowID) else { return nil }
        return try read(row, column)
    }
}

extension EntityShape {
    /// Returns the hidden column. Throws `.invalid` if the type doesn't keep the metadata.
    func column(of metadata: Metadata) throws(HornbeamError) -> Int {
        if let column = description.column(metadata.column) { return column }
        let name = ColumnDescription.label(metadata.column)
        throw HornbeamError(
            .invalid,
            "\(Entity.entityName) doesn't store \(name): declare in it "
                + "static let storedMetadata: [Metadata] = [.\(name)]")
    }
}

extension SortTerm {
    /// Makes a sort by metadata. If the type doesn't keep it, a query with this sort throws at its first entity.
    init<Entity: EntityModelProtocol>(_ metadata: Metadata, of _: Entity.Type) {
        do {
            self = .column(try Entity.entityShape.column(of: metadata), descending: metadata.isDescending)
        } catch {
            self.init(.opaque(label: metadata.column, key: { _ in throw error }, order: { _, _ in 0 }))
        }
    }
}

// MARK: - Selecting and ordering

extension Predicate {
    /// Selects entities that were last saved in this time, its ends included.
    public static func updated(within range: ClosedRange<Date>) -> Self {
        let column = Entity.entityShape.updatedAtColumn
        return Self(
            .and([
                .compare(column: column, .greaterOrEqual, range.lowerBound.columnValue),
                .compare(column: column, .lessOrEqual, range.upperBound.columnValue),
            ]))
    }
}

extension Predicate {
    /// Selects entities that were first saved in this time, its ends included. The type must keep `createdAt`.
    public static func created(within range: ClosedRange<Date>) -> Self {
        metadata(.createdAt, range.lowerBound.columnValue, range.upperBound.columnValue)
    }

    /// Selects entities whose number of changes is in this range. The type must keep `version`.
    public static func version(in range: ClosedRange<Int>) -> Self {
        let isAny = range.lowerBound <= 0
        let counted = metadata(.version, .int(Int64(range.lowerBound)), .int(Int64(range.upperBound)))
        // Entities that were stored before their type kept the version count as version 0.
        guard isAny, range.upperBound >= 0, let column = try? Entity.entityShape.column(of: .version) else {
            return counted
        }
        return Self(counted.filter.or(.isNull(column: column)))
    }

    private static func metadata(_ metadata: Metadata, _ low: Value, _ high: Value) -> Self {
        do {
            let column = try Entity.entityShape.column(of: metadata)
            return Self(
                .and([.compare(column: column, .greaterOrEqual, low), .compare(column: column, .lessOrEqual, high)]))
        } catch {
            return Self(.opaque(label: metadata.column) { _ in throw error })
        }
    }
}

extension QueryList {
    /// Sorts by metadata that the store keeps of each entity, ascending or `.desc`: `sorted(by: .updatedAt.desc)`.
    public consuming func sorted(by metadata: Metadata) -> Self {
        sorted([SortTerm(metadata, of: Entity.self)])
    }
}
