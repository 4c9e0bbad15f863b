// SPDX-License-Identifier: Apache-2.0
// What a value index is, as the catalogue keeps it: properties in their order and a condition. All but computed
// properties can be told from the file alone, so that an index lives on without the code that has made it.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The components of a value index and its condition.
struct ValueIndexDefinition: Sendable {
    enum Component: Sendable {
        case property(String, descending: Bool)
        case computed(ComputedComponent)
    }

    static let kind = "value"
    /// Of the settings of a registered index.
    private enum Setting {
        static let properties = "properties"
        static let condition = "where"
        static let computed = "computed"
    }

    /// More are of no use: no query states so many equalities.
    static let mostComponents = 16

    let components: [Component]
    let condition: StoredCondition?

    init(_ components: [Component], condition: StoredCondition?) {
        self.components = components
        self.condition = condition
    }

    /// What the settings say; nil if only code can tell, or they are no value index's.
    init?(settings: [String: String]) {
        guard let properties = settings[Setting.properties], settings[Setting.computed] == nil else { return nil }
        components = properties.split(separator: ", ").map { text in
            let isDescending = text.hasSuffix(" desc")
            return .property(String(isDescending ? text.dropLast(5) : text), descending: isDescending)
        }
        guard let text = settings[Setting.condition] else {
            condition = nil
            return
        }
        guard let stored = try? JSONDecoder().decode(StoredCondition.self, from: Data(text.utf8)) else { return nil }
        condition = stored
    }

    var settings: [String: String] {
        var settings = [Setting.properties: components.map(\.text).joined(separator: ", ")]
        if let condition {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // A tree of texts can always be encoded.
            settings[Setting.condition] = (try? encoder.encode(condition)).map { String(decoding: $0, as: UTF8.self) }
        }
        let computed = components.compactMap { if case .computed(let component) = $0 { component.type } else { nil } }
        if !computed.isEmpty { settings[Setting.computed] = computed.map(\.description).joined(separator: ", ") }
        return settings
    }

    /// Why an entity type can't have the index; nil if it can.
    func flaw(for type: EntityDescription) -> String? {
        guard !components.isEmpty else { return "it has no properties: name one at least" }
        guard components.count <= Self.mostComponents else {
            return "it has \(components.count) properties, \(Self.mostComponents) are allowed"
        }
        var seen: Set<String> = []
        for case .property(let name, _) in components {
            guard let column = type.column(name) else {
                let names = type.columns.map(\.name)
                let nearest = NearestName.hint(name, among: names).map { " (\($0))" } ?? ""
                return "\(type.name) has no property “\(name)”\(nearest); it has \(names.joined(separator: ", "))"
            }
            guard type.columns[column].type.isOrdered else {
                return "\(type.name).\(name), a \(type.columns[column].type), has no order: an ArrayIndex has the "
                    + "elements of an array, an index over a computed property a part of a value"
            }
            guard seen.insert(name).inserted else { return "it names the property “\(name)” twice" }
        }
        return nil
    }

    /// The index in a tree.
    func index(_ name: String, _ type: EntityType, _ tree: TreeID) throws(HornbeamError) -> EntityIndex {
        if let flaw = flaw(for: type.description) {
            throw HornbeamError(.invalid, "index “\(name)” can't be kept: \(flaw)")
        }
        var parts: [EntityIndex.Component] = []
        var computed: [ComputedComponent] = []
        for component in components {
            switch component {
            case .property(let name, let isDescending):
                let column = try type.column(name)
                parts.append(
                    EntityIndex.Component(
                        column: column, type: type.description.columns[column].type, descending: isDescending))
            case .computed(let component):
                computed.append(component)
                parts.append(
                    EntityIndex.Component(column: -computed.count, type: component.type, descending: false))
            }
        }
        let description = IndexDescription(name: name, kind: .value, components: components.map(\.description))
        return EntityIndex(
            description: description, tree: tree, components: parts, computed: computed,
            condition: try condition.map { (stored) throws(HornbeamError) in try IndexCondition(stored, type) })
    }

    /// What a database registers.
    func registration(
        _ name: String, version: String, _ entity: String, model: (any EntityModelProtocol.Type)?, flaw: String? = nil
    ) -> IndexRegistration {
        IndexRegistration(
            name: name, version: version, kind: Self.kind, settings: settings, entity: entity, model: model, flaw: flaw,
            plannable: .rows { (type, tree) throws(HornbeamError) in try index(name, type, tree) },
            emitter: RowEmitter())
    }
}

extension ValueIndexDefinition.Component {
    fileprivate var text: String {
        switch self {
        case .property(let name, let isDescending): isDescending ? "\(name) desc" : name
        case .computed(let component): component.label
        }
    }

    fileprivate var description: IndexDescription.Component {
        switch self {
        case .property(let name, let isDescending): IndexDescription.Component(column: name, descending: isDescending)
        case .computed(let component): IndexDescription.Component(column: component.label)
        }
    }
}

/// Keeps indexes whose entries are those of declared indexes: from the bytes of rows, without decoding an entity where
/// no property is computed.
private struct RowEmitter: IndexEmitter {
    func follower(of indexes: [AttendedIndex]) -> any IndexFollower {
        RowFollower(
            indexes: indexes.compactMap { if case .rows(let index) = $0.planned { index } else { nil } })
    }
}

private struct RowFollower: IndexFollower {
    let indexes: [EntityIndex]

    func changes(_ rowID: RowID, from old: RowReader?, to new: RowReader?) throws -> [RegisteredChange] {
        var changes: [RegisteredChange] = []
        for index in indexes {
            if let old, let new, try index.isUntouched(old, new) { continue }
            let before = try old.map { try index.entries(rowID, $0) } ?? []
            let after = try new.map { try index.entries(rowID, $0) } ?? []
            let change = RegisteredChange(IndexTrees(first: index.tree), from: before, to: after)
            if !change.removed.isEmpty || !change.put.isEmpty { changes.append(change) }
        }
        return changes
    }

    func entries(_ rowID: RowID, _ row: RowReader, in index: Int) throws -> [IndexEntry] {
        try indexes[index].entries(rowID, row)
    }
}

extension EntityIndex {
    /// The row's entry, if it has one.
    fileprivate func entries(_ rowID: RowID, _ row: RowReader) throws -> [IndexEntry] {
        if let condition, try !condition.accepts(rowID, row) { return [] }
        let entry = entry(try key(of: row), rowID)
        return [IndexEntry(key: entry.key, value: entry.value)]
    }

    /// Whether two rows are known to have the same entry.
    fileprivate func isUntouched(_ old: RowReader, _ new: RowReader) throws -> Bool {
        guard condition == nil, computed.isEmpty else { return false }
        return try IndexChanges.isUntouched(columns, old, new)
    }
}
