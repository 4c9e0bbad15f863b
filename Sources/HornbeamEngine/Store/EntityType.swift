// SPDX-License-Identifier: Apache-2.0
// An entity type in the engine: its description, the layout of its rows, and its trees.
//
//     e:Type             row id → row
//     i:Type             id as key → row id            (ids that can't be row ids themselves)
//     n:Type             row id → id as value bytes    (entities that are linked and not saved)
//     x:Type:index       key ‖ row id → nothing
//     u:Type:index       key → row id                  (row id appended if a component is nil or the key is cut)
//     t:Type:index:…     full text
//     l:Type             links, of all relations: see EdgeSide.swift
//
// An id stays in n: until its entity is saved or deleted, also when its last link has gone.
//
// Row ids and positions are eight bytes, big-endian in keys and little-endian in values.

package import HornbeamPages
package import HornbeamText
package import HornbeamTree

/// Immutable and shared by all transactions: tree ids stay valid for the life of the store.
package final class EntityType: Sendable {
    /// Columns by number: the declared ones in their order, then those that only the store still has.
    package let description: EntityDescription
    /// The number of columns that models know. Only the store has the others: models neither read nor write them.
    let declared: Int
    /// The column of the time of the last save, if the type has one.
    package let updatedAt: Int?
    /// The column of the time of the first save, if the type has one.
    let createdAt: Int?
    /// The column of the number of changes, if the type has one.
    let version: Int?
    /// Whether it has one of these two.
    let isCounted: Bool
    /// The rows of the type `counterpartName`; nil if the store doesn't have that type. An entity is stored or deleted,
    /// never both.
    let counterpart: TreeID?
    package let layout: RowLayout
    /// The names of the columns as names of JSON members, with the colon.
    let memberNames: [[UInt8]]
    package let rows: TreeID
    package let ids: TreeID
    package let unsaved: TreeID
    package let links: TreeID
    /// The indexes that follow each row.
    package let indexes: [EntityIndex]
    /// The indexes among these that queries may use.
    let queriedIndexes: [EntityIndex]
    package let textIndexes: [EntityTextIndex]
    /// Whether it has an index of either kind.
    let hasIndexes: Bool
    /// Whether its ids are integers of 64 bits, which mostly are row ids as they are.
    let hasIntegerIDs: Bool
    package let relations: [EdgeSide]
    /// The columns that hold the ids of related entities.
    package let linkedIDs: [LinkedID]
    /// Whether links from its entities may change unique keys of other entities.
    package let linksUniqueKeys: Bool
    /// Whether one of the relations is required.
    let hasRequired: Bool
    /// Whether deleting an entity affects the entities that one of its relations leads to.
    package let reaches: Bool

    package var name: String { description.name }
    package var idType: ColumnType { description.columns[0].type }

    package init(
        description: EntityDescription, declared: Int, layout: RowLayout, rows: TreeID, ids: TreeID,
        unsaved: TreeID, links: TreeID, indexes: [EntityIndex], textIndexes: [EntityTextIndex], relations: [EdgeSide],
        counterpart: TreeID?
    ) {
        self.counterpart = counterpart
        updatedAt = description.column(ColumnDescription.updatedAt.name)
        createdAt = description.column(ColumnDescription.createdAt.name)
        version = description.column(ColumnDescription.version.name)
        isCounted = createdAt != nil || version != nil
        self.description = description
        self.declared = declared
        self.layout = layout
        memberNames = layout.fields.map { JSONBytes.name($0.name) }
        self.rows = rows
        self.ids = ids
        self.unsaved = unsaved
        self.links = links
        self.indexes = indexes
        queriedIndexes = indexes.allSatisfy { $0.flaw == nil } ? indexes : indexes.filter { $0.flaw == nil }
        self.textIndexes = textIndexes
        hasIndexes = !indexes.isEmpty || !textIndexes.isEmpty
        hasIntegerIDs = description.columns.first?.type == .int64
        self.relations = relations
        linkedIDs = relations.compactMap { side in side.linkedID.map { LinkedID(column: $0, side: side) } }
        linksUniqueKeys = relations.contains { $0.other?.isUniqueByID == true }
        hasRequired = relations.contains(where: \.description.required)
        reaches = relations.contains { $0.description.deleteRule.reaches }
    }

    /// A type without storage, for looking up names and column types.
    package convenience init(named description: EntityDescription) {
        let none = TreeID(rawValue: 0)
        self.init(
            description: description, declared: description.columns.count,
            layout: RowLayout(columns: description.columns, type: description.name), rows: none, ids: none,
            unsaved: none, links: none, indexes: [], textIndexes: [], relations: [], counterpart: nil)
    }

    /// Whether its rows are deleted entities of another type.
    var isTombstone: Bool { EntityDescription.isTombstone(name) }

    /// The name of the type of its deleted entities; for such a type, the name of the original one.
    var counterpartName: String { EntityDescription.counterpartName(of: name) }

    /// The full-text index over exactly these columns, in this order, and with this name if one is given. Prefers an
    /// index that has all entities, then the first one.
    package func textIndex(over columns: [Int], named name: String? = nil) -> EntityTextIndex? {
        let found = textIndexes.filter { $0.columns == columns && (name == nil || $0.description.name == name) }
        return found.first { !$0.isPartial } ?? found.first
    }

    /// The full-text index that answers a `matches` condition, whether or not it has all entities.
    package func textIndex(for match: TextMatch) -> EntityTextIndex? { textIndexes.answering(match) }

    /// The full-text index that answers it together with other conjuncts of a query; nil if no index has all entities
    /// that they accept.
    package func textIndex(for match: TextMatch, among conjuncts: [Filter]) throws -> EntityTextIndex? {
        try textIndexes.answering(match) { try $0.implied(by: conjuncts, self) != nil }
    }

    /// The full-text index whose analyzer a `matches` condition uses.
    package func wording(of match: TextMatch) -> EntityTextIndex? { textIndexes.wording(of: match) }

    /// The number of a column. Throws `.invalid` if there is none.
    package func column(_ name: String) throws(HornbeamError) -> Int {
        guard let column = description.column(name) else {
            let known = description.columns.map(\.name).joined(separator: ", ")
            throw HornbeamError(.invalid, "\(self.name) has no property “\(name)”; it has \(known)")
        }
        return column
    }

    package func relation(_ name: String) throws(HornbeamError) -> EdgeSide {
        guard let side = relations.first(where: { $0.name == name }) else {
            let known = relations.map(\.name).joined(separator: ", ")
            throw HornbeamError(
                .invalid, "\(self.name) has no relation “\(name)”; it has \(known.isEmpty ? "none" : known)")
        }
        return side
    }
}

extension EntityType {
    /// The role of a list of links in the type's tree.
    enum ListRole {
        case links(EdgeSide)
        /// The reverse list of a one-way relation that leads here.
        case reverse(EdgeSide)
        /// Pairs whose keys begin with the entities of this side.
        case pairs(EdgeSide)
    }

    /// The role of one of the type's own lists.
    func role(of list: UInt16) -> ListRole? {
        for side in relations {
            if side.list.number == list { return .links(side) }
            if side.beginsPairs, side.pairs?.number == list { return .pairs(side) }
        }
        return nil
    }

    func damagedLinks(_ reason: String) -> StorageError {
        .corrupt(Corruption(tree: "l:\(name)", reason: reason))
    }
}

/// A value or unique index with its columns resolved. A class, because plans and scans copy it all the time.
package final class EntityIndex: Sendable {
    package struct Component: Sendable {
        /// Negative for components that aren't stored: −1 for the first computed component, and so on.
        package let column: Int
        package let type: ColumnType
        package let descending: Bool

        package init(column: Int, type: ColumnType, descending: Bool) {
            self.column = column
            self.type = type
            self.descending = descending
        }
    }

    package let description: IndexDescription
    package let tree: TreeID
    let components: [Component]
    /// The columns of the components.
    let columns: [Int]
    let isUnique: Bool
    /// Whether entries have the hash of their key: two keys may share one, and there is no order.
    let isHashed: Bool
    /// Components that are no columns, by their numbers.
    package let computed: [ComputedComponent]
    /// The condition on rows that have an entry, nil if all have one.
    package let condition: IndexCondition?
    /// The columns that the key is made of, directly or by a computed component.
    package let sources: [Int]
    /// Whether a component is computed by the program's code.
    package let isOfCode: Bool
    /// The reason why its keys differ from those that this program would make, so that it can't be queried; nil if they
    /// don't.
    package let flaw: String?

    package init(
        description: IndexDescription, tree: TreeID, components: [Component], computed: [ComputedComponent] = [],
        condition: IndexCondition? = nil, flaw: String? = nil
    ) {
        self.flaw = flaw
        self.description = description
        self.tree = tree
        self.components = components
        self.computed = computed
        self.condition = condition
        columns = components.map(\.column)
        isUnique = description.kind == .unique
        isHashed = description.kind == .hash
        isOfCode = computed.contains { $0.sources == nil }
        sources = components.map(\.column).filter { $0 >= 0 } + computed.flatMap { $0.sources ?? [] }
    }
}

/// A full-text index with its columns resolved. A class, because plans have room for one even if they don't use it.
package final class EntityTextIndex: SearchedIndex, Sendable {
    package let description: IndexDescription
    package let index: TextIndex
    package let columns: [Int]
    /// Its position among the type's full-text indexes.
    let place: Int
    /// The condition on rows that are documents of it, nil if all are.
    let condition: IndexCondition?
    /// The columns of the index, and those of its condition.
    let sources: [Int]

    init(
        description: IndexDescription, index: TextIndex, columns: [Int], place: Int, condition: IndexCondition?
    ) {
        self.description = description
        self.index = index
        self.columns = columns
        self.place = place
        self.condition = condition
        sources = columns + (condition?.columns ?? []).filter { !columns.contains($0) }
    }

    /// Whether a row, if there is one, is a document of it.
    func has(_ row: RowReader?) throws(HornbeamError) -> Bool {
        guard let row else { return false }
        return try condition?.accepts(row) ?? true
    }

    package var analyzer: Analyzer { index.analyzer }
    package var storesPositions: Bool { index.storesPositions }
    package var isPartial: Bool { condition != nil }

    package func answers(_ match: TextMatch) -> Bool { storesPositions || !match.needsPositions(analyzer) }
}

extension RowReader {
    /// A row of `type`, which must outlive the reader.
    @inline(__always)
    package init(_ bytes: Bytes, of type: __shared EntityType) throws(HornbeamError) {
        try self.init(bytes, layout: type.layout)
    }
}
