// SPDX-License-Identifier: Apache-2.0
// The macro's knowledge of an entity type, as a value: the description that the store gets, and the tables from key
// paths to columns and relations. Built once for each type, then shared by all threads.

import FoundationEssentials
import HornbeamText

/// A stored property: its column, and the key paths that mean it.
public struct DeclaredColumn<Entity> {
    let description: ColumnDescription
    let keyPath: PartialKeyPath<Entity>
    /// The key path followed by `.asc`, where the property has it.
    let ascending: PartialKeyPath<Entity>?
    /// The key path followed by `.desc`, where the property has it.
    let descending: PartialKeyPath<Entity>?

    private init(
        _ description: ColumnDescription, _ keyPath: PartialKeyPath<Entity>, ascending: PartialKeyPath<Entity>?,
        descending: PartialKeyPath<Entity>?
    ) {
        self.description = description
        self.keyPath = keyPath
        self.ascending = ascending
        self.descending = descending
    }

    @_disfavoredOverload
    public init<Property>(_ description: ColumnDescription, _ keyPath: KeyPath<Entity, Property>) {
        self.init(description, keyPath, ascending: nil, descending: nil)
    }

    public init<Property: Comparable & Sendable>(
        _ description: ColumnDescription, _ keyPath: KeyPath<Entity, Property>
    ) {
        self.init(
            description, keyPath, ascending: keyPath.appending(path: \Property.asc),
            descending: keyPath.appending(path: \Property.desc))
    }

    public init<Property: Comparable & Sendable>(
        _ description: ColumnDescription, _ keyPath: KeyPath<Entity, Property?>
    ) {
        self.init(
            description, keyPath, ascending: keyPath.appending(path: \Property?.asc),
            descending: keyPath.appending(path: \Property?.desc))
    }

    public init(_ description: ColumnDescription, _ keyPath: KeyPath<Entity, Bool>) {
        self.init(
            description, keyPath, ascending: keyPath.appending(path: \Bool.asc),
            descending: keyPath.appending(path: \Bool.desc))
    }
}

/// An index as declared, with the rule for collisions if it is unique.
public struct DeclaredIndex<Entity: EntityModelProtocol> {
    let description: IndexDescription
    let collisions: CollisionResolver<Entity>?
    /// Makes the condition on its entities. Nil if the index has all of them. A function, because the condition uses
    /// the shape that this index is a part of.
    var condition: (@Sendable () -> Predicate<Entity>)?

    /// An ordered index.
    public static func value(
        _ name: String, _ components: [IndexDescription.Component], collation: TextCollation = .binary
    ) -> Self {
        plain(name, .value, components, collation)
    }

    public static func hash(
        _ name: String, _ components: [IndexDescription.Component], collation: TextCollation = .binary
    ) -> Self {
        plain(name, .hash, components, collation)
    }

    private static func plain(
        _ name: String, _ kind: IndexDescription.Kind, _ components: [IndexDescription.Component],
        _ collation: TextCollation
    ) -> Self {
        var description = IndexDescription(name: name, kind: kind, components: components)
        description.go(by: collation)
        return Self(description: description, collisions: nil)
    }

    /// A unique index. If the resolver is custom, it is an ordinary index in which saving looks for collisions, because
    /// such a resolver may let two entities keep one key.
    public static func unique(
        _ name: String, _ components: [IndexDescription.Component], nilsDistinct: Bool = true,
        collation: TextCollation = .binary, collisions: CollisionResolver<Entity> = .throw
    ) -> Self {
        let kind: IndexDescription.Kind
        if case .custom = collisions.rule { kind = .value } else { kind = .unique }
        var description = IndexDescription(
            name: name, kind: kind, components: components, nilsDistinct: nilsDistinct)
        description.go(by: collation)
        return Self(description: description, collisions: collisions)
    }

    public static func text(
        _ name: String, _ components: [IndexDescription.Component], analyzer: TextAnalyzer? = nil,
        positions: Bool = true
    ) -> Self {
        var description = IndexDescription(
            name: name, kind: .text, components: components, analyzer: analyzer?.declaration, positions: positions)
        if let analyzer {
            description.declared.analyzer = analyzer.analyzer
        } else {
            description.nameNoAnalyzer()
        }
        return Self(description: description, collisions: nil)
    }

    public static func text(
        _ name: String, _ components: [IndexDescription.Component], analyzer: TextAnalyzer? = nil,
        positions: Bool = true, where condition: @autoclosure @escaping @Sendable () -> Predicate<Entity>
    ) -> Self {
        var index = text(name, components, analyzer: analyzer, positions: positions)
        index.condition = condition
        return index
    }

    public static func text(
        _ name: String, _ components: [IndexDescription.Component], analyzer: TextAnalyzer? = nil,
        positions: Bool = true, where property: any KeyPath<Entity, Bool> & Sendable
    ) -> Self {
        text(name, components, analyzer: analyzer, positions: positions, where: property == true)
    }
}

extension IndexDescription.Component {
    /// A field of a full-text index.
    public static func text<Entity>(_ name: String, _: KeyPath<Entity, String>) -> Self { Self(column: name) }
    public static func text<Entity>(_ name: String, _: KeyPath<Entity, String?>) -> Self { Self(column: name) }
    public static func text<Entity>(_ name: String, _: KeyPath<Entity, [String]>) -> Self { Self(column: name) }
    public static func text<Entity>(_ name: String, _: KeyPath<Entity, [String]?>) -> Self { Self(column: name) }

    @available(*, unavailable, message: "a full-text index is over String properties, or arrays of them")
    public static func text<Entity, Property>(_ name: String, _: KeyPath<Entity, Property>) -> Self {
        Self(column: name)
    }
}

/// A declared full-text index and its columns. A class, because each search uses it, and copying a description is slow.
final class SearchedColumns: SearchedIndex, Sendable {
    let description: IndexDescription
    let columns: [Int]
    let isPartial: Bool

    init(_ index: IndexDescription, _ columns: [Int], isPartial: Bool) {
        (description, self.columns, self.isPartial) = (index, columns, isPartial)
    }

    var analyzer: Analyzer { description.knownAnalyzer ?? .words }
    var storesPositions: Bool { description.positions }

    func answers(_ match: TextMatch) -> Bool { description.answers(match) }
}

/// The relation whose number of entities a key path names, and the direction.
struct LinkCountPlace {
    let relation: String
    let descending: Bool
}

/// Columns, indexes and relations of an entity type. Made by the macro. A class, so that looking at it copies nothing.
///
/// `@unchecked Sendable`: nothing in it ever changes but `orders`, which guards itself, and its key paths are literals
/// of plain properties.
public final class EntityShape<Entity: EntityModelProtocol>: @unchecked Sendable {
    package let description: EntityDescription
    let relations: [DeclaredRelation<Entity>]
    /// Unique indexes with their rules, in order of declaration.
    let resolvers: [(index: IndexDescription, resolver: CollisionResolver<Entity>)]
    /// Whether there are unique indexes. A property of its own, because generic code must look up the type of the list
    /// to use it.
    let hasResolvers: Bool
    /// Names and values of the stored properties, for mirrors.
    let properties: [(name: String, keyPath: PartialKeyPath<Entity>)]
    /// Whether a unique index has a custom resolver.
    let hasCustomResolvers: Bool
    /// Whether the rule of a unique index saves an entity under the id of another.
    let hasUpdatingResolvers: Bool
    private let columns: [AnyKeyPath: ColumnPlace]
    /// Columns by the offsets of their properties in a value. A key path's offset takes a third of the time of its
    /// hash.
    private let places: [(offset: Int, type: Any.Type, place: ColumnPlace)]
    /// Indexed columns whose types have no order. They compare by their stored form, as in the index.
    private let keyedColumns: Set<Int>
    /// The columns that sorts have used.
    let orders = SortColumnCache()
    private let relationNumbers: [AnyKeyPath: Int]
    private let linkCounts: [AnyKeyPath: LinkCountPlace]
    private let linkIds: [AnyKeyPath: Int]
    private let shownRelations: ShownRelations
    private let linkedIDs: [AnyKeyPath: ColumnPlace]
    /// The full-text indexes with their columns, as they are declared.
    let searched: [SearchedColumns]
    /// The conditions of the indexes that have one, with the positions of these indexes in the description.
    private let conditions: [(place: Int, make: @Sendable () -> Predicate<Entity>)]

    /// - Parameters:
    ///   - columns: the stored properties, the id first.
    ///   - indexes: the indexes that the model declares.
    ///   - relations: the relations that the model declares.
    ///   - shown: the properties that show the loaded entities of relations, in the order of `relations`.
    public init(
        columns: [DeclaredColumn<Entity>], indexes: [DeclaredIndex<Entity>], relations: [DeclaredRelation<Entity>],
        shown: [PartialKeyPath<Entity>] = []
    ) {
        description = EntityDescription(
            name: Entity.entityName,
            columns: columns.map(\.description) + ColumnDescription.hidden(Entity.storedMetadata)
                + Self.linkedIDs(indexes, relations),
            indexes: indexes.map(\.description), relations: relations.map(\.description))
        self.relations = relations
        shownRelations = ShownRelations(
            shown, values: relations.map(\.keyPath), idTexts: relations.map(\.access.idText))
        updatedAtColumn = columns.count
        properties = columns.map { ($0.description.name, $0.keyPath) }
        resolvers = indexes.compactMap { index in index.collisions.map { (index.description, $0) } }
        hasResolvers = !resolvers.isEmpty
        hasCustomResolvers = resolvers.contains { if case .custom = $0.resolver.rule { true } else { false } }
        hasUpdatingResolvers = resolvers.contains { $0.resolver.updates }
        var places: [AnyKeyPath: ColumnPlace] = [:]
        for (number, column) in columns.enumerated() {
            places[column.keyPath] = ColumnPlace(number: number, descending: false)
            if let ascending = column.ascending { places[ascending] = ColumnPlace(number: number, descending: false) }
            if let descending = column.descending {
                places[descending] = ColumnPlace(number: number, descending: true)
            }
        }
        self.columns = places
        self.places = columns.enumerated().compactMap { number, column in
            guard let offset = MemoryLayout<Entity>.offset(of: column.keyPath) else { return nil }
            return (offset, type(of: column.keyPath).valueType, ColumnPlace(number: number, descending: false))
        }
        var numbers: [AnyKeyPath: Int] = [:]
        var counts: [AnyKeyPath: LinkCountPlace] = [:]
        var ids: [AnyKeyPath: Int] = [:]
        var orders: [AnyKeyPath: ColumnPlace] = [:]
        for (number, relation) in relations.enumerated() {
            numbers[relation.keyPath] = number
            let name = relation.description.name
            if let id = relation.id {
                ids[id.plain] = number
                if let column = description.column(ColumnDescription.linkedIDName(of: name)) {
                    if let ascending = id.ascending {
                        orders[ascending] = ColumnPlace(number: column, descending: false)
                    }
                    if let descending = id.descending {
                        orders[descending] = ColumnPlace(number: column, descending: true)
                    }
                }
            }
            counts[relation.count.ascending] = LinkCountPlace(relation: name, descending: false)
            counts[relation.count.explicit] = LinkCountPlace(relation: name, descending: false)
            counts[relation.count.descending] = LinkCountPlace(relation: name, descending: true)
        }
        relationNumbers = numbers
        linkCounts = counts
        linkIds = ids
        linkedIDs = orders
        let description = description
        let indexed = description.indexes.filter { $0.kind != .text }.flatMap(\.components)
        keyedColumns = Set(
            indexed.compactMap { description.column($0.column) }.filter { !description.columns[$0].type.isOrdered })
        searched = indexes.filter { $0.description.kind == .text }
            .map { index in
                SearchedColumns(
                    index.description, index.description.components.compactMap { description.column($0.column) },
                    isPartial: index.condition != nil)
            }
        conditions = indexes.enumerated().compactMap { place, index in index.condition.map { (place, $0) } }
    }

    /// Returns the description for a store, with the conditions of its indexes. Throws `.invalid` if a file can't keep
    /// one.
    func storedDescription() throws(HornbeamError) -> EntityDescription {
        var stored = description
        for (place, make) in conditions {
            let filter = make().filter
            guard let condition = StoredCondition(filter, description) else {
                throw HornbeamError(
                    .invalid,
                    "the condition “\(filter.text(description))” of the full-text index "
                        + "“\(description.indexes[place].name)” of \(description.name) can't be stored: "
                        + "compare stored properties with values, and join such conditions by &&, || and !")
            }
            stored.indexes[place].condition = condition
        }
        return stored
    }

    /// The columns of related ids that indexes are over.
    private static func linkedIDs(
        _ indexes: [DeclaredIndex<Entity>], _ relations: [DeclaredRelation<Entity>]
    ) -> [ColumnDescription] {
        let indexed = Set(indexes.flatMap { $0.description.components.map(\.column) })
        return relations.map { .linkedID(of: $0.description.name, $0.access.idType) }
            .filter { indexed.contains($0.name) }
    }

    /// Whether there is a full-text index over exactly these columns, in this order, and of this name.
    func isSearched(_ columns: [Int], using name: String?) -> Bool {
        searched.contains { $0.columns == columns && (name == nil || $0.description.name == name) }
    }

    /// Whether a declared full-text index answers a `matches` condition.
    func isSearched(by match: TextMatch) -> Bool { searched.answering(match) != nil }

    /// The index whose words a `matches` condition means. Throws `.invalid` if it names an index that doesn't exist.
    func wording(of match: TextMatch) throws(HornbeamError) -> SearchedColumns? {
        let index = searched.wording(of: match)
        guard index == nil, let name = match.index else { return index }
        let names = searched.map(\.description.name).joined(separator: ", ")
        throw HornbeamError(
            .invalid,
            "\(Entity.entityName) has no full-text index “\(name)” over all searched properties; "
                + (names.isEmpty ? "it has none" : "those it has are \(names)"))
    }

    /// Returns the reason why a query can't be sorted by a property, or nil if the key path doesn't show one.
    func refusal<Property>(ofSortBy keyPath: KeyPath<Entity, Property>) -> HornbeamError? {
        guard let name = linkID(keyPath)?.description.name else { return refusal(of: keyPath) }
        return HornbeamError(
            .invalid,
            "\(Entity.entityName) can't be sorted by the id that \(name) leads to, because no index is over it: "
                + "declare @Index<Self>(\\.$\(name).id)")
    }

    /// The hidden column of the time of the last save: the first one after the declared ones.
    let updatedAtColumn: Int

    /// Returns the column that a key path names, or nil for computed and nested properties.
    func column<Property>(_ keyPath: KeyPath<Entity, Property>) -> ColumnPlace? {
        // A property with this offset and this type is the property of the key path, unless it takes no space.
        if MemoryLayout<Property>.size > 0, let offset = MemoryLayout<Entity>.offset(of: keyPath) {
            for place in places where place.offset == offset && place.type == Property.self { return place.place }
        }
        return columns[keyPath]
    }

    /// The column of a stored property.
    func column(of keyPath: AnyKeyPath) -> Int? { columns[keyPath].flatMap { $0.descending ? nil : $0.number } }

    /// Whether values of the column are compared by their stored form.
    func comparesStored(_ column: Int, _ comparison: Comparison) -> Bool {
        if description.columns[column].type.isOrdered { return true }
        return (comparison == .equal || comparison == .notEqual) && keyedColumns.contains(column)
    }

    /// The stored form of a value that the column is compared with. Returns nil if there is none.
    func literal<Property>(_ value: Property, _ column: Int) -> Value? {
        let type = description.columns[column].type
        if type.isOrdered { return Hornbeam.literal(value) }
        guard let stored = try? StoredForm<Property>.find(in: type)?.encode(value) else { return nil }
        // An optional that encodes as null is stored as none.
        return stored == .json("null") ? nil : stored
    }

    /// The relation whose number of entities `\.$property.count` names, with or without `.desc`.
    func linkCount<Property>(_ keyPath: KeyPath<Entity, Property>) -> LinkCountPlace? {
        guard Property.self == Int.self || Property.self == Descending<Int>.self else { return nil }
        return linkCounts[keyPath]
    }

    /// The to-one relation whose related id `\.$property.id`, `\.property?.id` or `\.property!.id` names.
    func linkID<Property>(_ keyPath: KeyPath<Entity, Property>) -> DeclaredRelation<Entity>? {
        guard !linkIds.isEmpty else { return nil }
        return (linkIds[keyPath] ?? shownRelations.place(ofIDAt: keyPath)).map { relations[$0] }
    }

    /// The relation whose entity or entities a key path shows: `\.property`.
    func shownRelation(_ keyPath: AnyKeyPath) -> DeclaredRelation<Entity>? {
        shownRelations.place(of: keyPath).map { relations[$0] }
    }

    /// Returns the reason why a property can't be used in queries of stored entities, or nil if the key path doesn't
    /// show one.
    func refusal(of keyPath: AnyKeyPath) -> HornbeamError? {
        shownRelations.place(on: keyPath).map { place in
            let (name, toMany) = (relations[place].description.name, relations[place].description.toMany)
            let remedy =
                toMany
                ? "write .any(\\.$\(name), where: …), .none(\\.$\(name)) or \\.$\(name).count"
                : "write .has(\\.$\(name), …) for a condition on its properties, \\.$\(name).id for its id"
            return HornbeamError(
                .invalid,
                "\(Entity.entityName).\(name) reads a relation, and relations aren't loaded where conditions, "
                    + "sorts and groups are computed: \(remedy)")
        }
    }

    /// The column with the ids of related entities that `\.$property.id` orders by, with or without `.desc`. Nil if no
    /// index is over them.
    func linkedIDColumn<Property>(_ keyPath: KeyPath<Entity, Property>) -> ColumnPlace? {
        if linkedIDs.isEmpty { return nil }
        if let place = linkedIDs[keyPath] { return place }
        return linkID(keyPath).flatMap { description.column(ColumnDescription.linkedIDName(of: $0.description.name)) }
            .map { ColumnPlace(number: $0, descending: false) }
    }

    /// The relation that `\.$property` names.
    func relation(_ keyPath: AnyKeyPath) throws(HornbeamError) -> DeclaredRelation<Entity> {
        relations[try relationNumber(keyPath)]
    }

    func relationNumber(_ keyPath: AnyKeyPath) throws(HornbeamError) -> Int {
        guard let number = relationNumbers[keyPath] else {
            throw HornbeamError(
                .invalid, "\(keyPath) is no relation of \(Entity.entityName): write '\\.$' and a @Relationship property"
            )
        }
        return number
    }
}
