// SPDX-License-Identifier: Apache-2.0
// What the store itself keeps of each entity: when it was last saved, and, of types that ask for it, when it was first
// saved and how often it was changed. It lies in hidden columns behind the declared ones, so that filters, sorts and
// indexes treat it as any property; the Swift value never has it.

public import FoundationEssentials

/// What the store keeps of each entity beside its properties: `sorted(by: .updatedAt.desc)`.
public struct Metadata: Hashable, Sendable {
    let column: String
    let isDescending: Bool

    /// When the entity was last touched, or saved with a change. Nil for entities that were stored before the store
    /// kept it.
    public static let updatedAt = Metadata(column: ColumnDescription.updatedAt.name, isDescending: false)

    /// When the entity was stored under its id; kept of types that name it in `storedMetadata`. Nil for entities that
    /// were stored before their type did, for ever.
    public static let createdAt = Metadata(column: ColumnDescription.createdAt.name, isDescending: false)

    /// How often the entity's properties were changed, the first save counted: it only grows while the entity is
    /// stored. Kept of types that name it in `storedMetadata`. What was stored before their type did has none, which
    /// counts as 0.
    public static let version = Metadata(column: ColumnDescription.version.name, isDescending: false)

    /// As it is: the earliest first.
    public var asc: Metadata { Metadata(column: column, isDescending: false) }
    /// The latest first.
    public var desc: Metadata { Metadata(column: column, isDescending: true) }
}

/// A condition on what the store keeps of entities of any type: `.updated(within: start...end)`.
public enum MetadataPredicate: Hashable, Sendable {
    /// Last saved in this time, its ends included.
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
    /// When the stored entity with this one's id was last saved; nil if none is stored, or since before the store kept
    /// it.
    public func updatedAt(in context: Context) throws -> Date? {
        try Self.updatedAt(id: id, in: context)
    }

    public static func updatedAt(id: ID, in context: Context) throws -> Date? {
        try context.session.run { try $0.updatedAt(id.columnValue, Self.self) }
    }

    /// When the entity with this one's id was first stored; nil if none is, or since before its type kept it.
    public func createdAt(in context: Context) throws -> Date? { try Self.createdAt(id: id, in: context) }

    public static func createdAt(id: ID, in context: Context) throws -> Date? {
        try context.session.run { session in
            try session.metadata(.createdAt, id.columnValue, Self.self) { row, column in
                try row.double(column).map { Date(timeIntervalSinceReferenceDate: $0) }
            }
        }.flatMap(\.self)
    }

    /// How often the stored entity with this one's id was changed, its first save counted; nil if none is stored.
    public func version(in context: Context) throws -> Int? { try Self.version(id: id, in: context) }

    public static func version(id: ID, in context: Context) throws -> Int? {
        try context.session.run { session in
            try session.metadata(.version, id.columnValue, Self.self) { row, column in
                Int(clamping: try row.int(column) ?? 0)
            }
        }
    }

    /// The latest time at which this entity or one in its relations was saved, as far as the relations of this value
    /// have been loaded, as entities or as ids; one element of `nested` a level.
    public func updatedAt(in context: Context, withNested nested: Nested...) throws -> Date? {
        try updatedAt(in: context, levels: nested.count)
    }

    public func updatedAt(in context: Context, withNested nested: [Nested]) throws -> Date? {
        try updatedAt(in: context, levels: nested.count)
    }

    /// The latest time at which this entity was saved, or, if `nested` is true, one in its relations, in theirs, and so
    /// on, as far as this value has them.
    public func updatedAt(in context: Context, withNested nested: Bool) throws -> Date? {
        try updatedAt(in: context, levels: nested ? .max : 0)
    }

    /// When an entity of the type was last saved, of those that are stored. Returns nil if there is none.
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
    /// What `read` makes of a stored entity's row; nil if there is none. `.invalid` if its type doesn't keep it.
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
    /// The hidden column. `.invalid` if the type doesn't keep it.
    func column(of metadata: Metadata) throws(HornbeamError) -> Int {
        if let column = description.column(metadata.column) { return column }
        let name = ColumnDescription.label(metadata.column)
        throw HornbeamError(
            .invalid,
            "\(Entity.entityName) keeps no \(name): have it declare "
                + "static let storedMetadata: [Metadata] = [.\(name)]")
    }
}

extension SortTerm {
    /// By what the store keeps of each entity; a query that sorts so fails at its first entity if the type doesn't keep
    /// it.
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

extension Predicate {
    /// First saved in this time, its ends included. Of a type that keeps it.
    public static func created(within range: ClosedRange<Date>) -> Self {
        metadata(.createdAt, range.lowerBound.columnValue, range.upperBound.columnValue)
    }

    /// Changed so often. Of a type that keeps it.
    public static func version(in range: ClosedRange<Int>) -> Self {
        let isAny = range.lowerBound <= 0
        let counted = metadata(.version, .int(Int64(range.lowerBound)), .int(Int64(range.upperBound)))
        // What was stored before its type kept it has been changed 0 times.
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
    /// In the order in which the entities were last saved, or the latest first: `sorted(by: .updatedAt.desc)`.
    public consuming func sorted(by metadata: Metadata) -> Self {
        sorted([SortTerm(metadata, of: Entity.self)])
    }
}
