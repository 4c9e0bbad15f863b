// SPDX-License-Identifier: Apache-2.0
// The description of an entity type in the catalogue: columns, indexes, relations. The engine needs nothing else to
// store rows, keep indexes and answer queries, so the command works on any store without its Swift types.

package import HornbeamText

/// An entity type as it is stored. Column 0 is the id.
public struct EntityDescription: Codable, Hashable, Sendable {
    public var name: String
    /// In order of their numbers. A number is never reused, so old rows stay readable: they simply end earlier.
    public var columns: [ColumnDescription]
    public var indexes: [IndexDescription]
    public var relations: [RelationDescription]

    public init(
        name: String, columns: [ColumnDescription], indexes: [IndexDescription] = [],
        relations: [RelationDescription] = []
    ) {
        self.name = name
        self.columns = columns
        self.indexes = indexes
        self.relations = relations
    }

    /// The number of the column called `name`.
    package func column(_ name: String) -> Int? {
        columns.firstIndex { $0.name == name }
    }
}

/// A stored property.
public struct ColumnDescription: Codable, Hashable, Sendable {
    public var name: String
    public var type: ColumnType

    public init(name: String, type: ColumnType) {
        self.name = name
        self.type = type
    }
}

/// An index over columns of one entity type.
public struct IndexDescription: Codable, Hashable, Sendable {
    /// The form of an index's entries.
    public enum Kind: String, Codable, Sendable {
        /// Ordered entries (key, row id).
        case value
        /// Ordered, at most one entity a key; nil components are exempt, unless `nilsDistinct` is false.
        case unique
        /// Entries by a hash of the key. They serve equality alone, and their size doesn't depend on the key's.
        case hash
        /// Ranked full text over string columns.
        case text
    }

    /// One component of a key.
    public struct Component: Codable, Hashable, Sendable {
        public var column: String
        public var descending: Bool

        public init(column: String, descending: Bool = false) {
            self.column = column
            self.descending = descending
        }
    }

    /// Unique within its entity type: the declared property's name.
    public var name: String
    public var kind: Kind
    public var components: [Component]
    /// For full-text indexes: the analyzer, as `TextAnalyzer` describes itself; nil means `words`.
    public var analyzer: String?
    /// For full-text indexes: whether they store the positions of words.
    public var positions: Bool
    /// For unique indexes: whether nil differs from nil, so that any number of entities may have it.
    public var nilsDistinct: Bool
    /// For value, unique and hash indexes: the collation of their texts; nil means the order of Swift's `String`.
    public var collation: String?
    /// The version of that collation: keys of another version are in another order.
    public var collationVersion: String?
    /// For full-text indexes: the condition on the entities that they contain; nil means all.
    package var condition: StoredCondition?
    /// The analyzer that this program declares. It may be one of several versions of a tokenizer of the program's own.
    package var declared = DeclaredAnalyzer()

    private enum CodingKeys: String, CodingKey {
        case name, kind, components, analyzer, positions, nilsDistinct, collation, collationVersion
        case condition = "where"
    }

    public init(
        name: String, kind: Kind, components: [Component], analyzer: String? = nil, positions: Bool = true,
        nilsDistinct: Bool = true, collation: String? = nil, collationVersion: String? = nil
    ) {
        self.collation = collation
        self.collationVersion = collationVersion
        self.name = name
        self.kind = kind
        self.components = components
        self.analyzer = analyzer
        self.positions = positions
        self.nilsDistinct = nilsDistinct
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try fields.decode(String.self, forKey: .name), kind: try fields.decode(Kind.self, forKey: .kind),
            components: try fields.decode([Component].self, forKey: .components),
            analyzer: try fields.decodeIfPresent(String.self, forKey: .analyzer),
            positions: try fields.decodeIfPresent(Bool.self, forKey: .positions) ?? true,
            nilsDistinct: try fields.decodeIfPresent(Bool.self, forKey: .nilsDistinct) ?? true,
            collation: try fields.decodeIfPresent(String.self, forKey: .collation),
            collationVersion: try fields.decodeIfPresent(String.self, forKey: .collationVersion))
        condition = try fields.decodeIfPresent(StoredCondition.self, forKey: .condition)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(name, forKey: .name)
        try fields.encode(kind, forKey: .kind)
        try fields.encode(components, forKey: .components)
        try fields.encodeIfPresent(analyzer, forKey: .analyzer)
        if !positions { try fields.encode(positions, forKey: .positions) }
        if !nilsDistinct { try fields.encode(nilsDistinct, forKey: .nilsDistinct) }
        try fields.encodeIfPresent(collation, forKey: .collation)
        try fields.encodeIfPresent(collationVersion, forKey: .collationVersion)
        try fields.encodeIfPresent(condition, forKey: .condition)
    }
}

/// A declared analyzer. It is neither stored nor compared; `IndexDescription.analyzer`, its description, is.
package struct DeclaredAnalyzer: Hashable, Sendable {
    package var analyzer: Analyzer?
    /// Whether the declaration names no analyzer; the description then has the default one.
    var isDefault = false
    package static func == (left: Self, right: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension IndexDescription {
    /// The properties that its entries depend on.
    var properties: Set<String> { Set(components.map(\.column)).union(condition?.properties ?? []) }

    /// The analyzer of a full-text index, nil if it isn't a known one.
    package var knownAnalyzer: Analyzer? {
        guard let analyzer else { return .words }
        if let declared = declared.analyzer, declared.specification == analyzer { return declared }
        return Analyzer(specification: analyzer)
    }

    /// Gives a full-text index without a named analyzer the default one, `Analyzer.standard`. An index that the file
    /// has with `words`, the former default, keeps that (`SchemaComparison.keepingWords`).
    package mutating func nameNoAnalyzer() {
        analyzer = Analyzer.standard.specification
        declared.isDefault = true
    }
}

/// One side of a relation.
public struct RelationDescription: Codable, Hashable, Sendable {
    /// The effect that deleting an entity has on its relation and the related entities.
    public enum DeleteRule: String, Codable, CaseIterable, Sendable {
        /// The links go, the related entities stay.
        case nullify
        /// The related entities are deleted too.
        case cascade
        /// The entity can't be deleted while the relation leads to stored entities, unless the same deletion takes
        /// them too.
        case deny
        /// Each related entity is deleted too if no link of this relation leads to it any more, except from itself.
        /// Links that a save or `detach` removes delete nothing.
        case whenOrphaned
        /// The links are removed; each related entity is notified by `didLoseLink`, and may change itself.
        case notify
    }

    public var name: String
    /// The related entity type.
    public var target: String
    public var toMany: Bool
    /// A required relation can't be set to null.
    public var required: Bool
    /// The other side's property in the target type, if the relation is mutual.
    public var inverse: String?
    public var deleteRule: DeleteRule

    public init(
        name: String, target: String, toMany: Bool, required: Bool = false, inverse: String? = nil,
        deleteRule: DeleteRule = .nullify
    ) {
        self.name = name
        self.target = target
        self.toMany = toMany
        self.required = required
        self.inverse = inverse
        self.deleteRule = deleteRule
    }
}

extension RelationDescription.DeleteRule {
    /// Whether the rule changes, deletes or notifies the entities that the relation leads to.
    package var reaches: Bool {
        switch self {
        case .nullify, .deny: false
        case .cascade, .whenOrphaned, .notify: true
        }
    }
}

extension EntityDescription {
    /// The name of the type of the deleted entities of a type.
    package static func tombstoneName(of name: String) -> String { "Deleted<\(name)>" }

    package static func isTombstone(_ name: String) -> Bool { counterpartName(of: name) != tombstoneName(of: name) }

    /// The name of the type of a type's deleted entities; for a type of deleted entities, the name of the original
    /// type.
    static func counterpartName(of name: String) -> String {
        guard name.hasPrefix("Deleted<"), name.hasSuffix(">") else { return tombstoneName(of: name) }
        return String(name.dropFirst("Deleted<".count).dropLast())
    }
}
