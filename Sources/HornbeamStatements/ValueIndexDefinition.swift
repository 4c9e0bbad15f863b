// SPDX-License-Identifier: Apache-2.0
// The definition of a value index in the catalogue: properties in their order and a condition. Except for computed
// properties it is complete in the file, so that an index stays maintained without the code that has made it.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The components of a value index and its condition.
package struct ValueIndexDefinition: Sendable {
    package enum Component: Sendable {
        case property(String, descending: Bool)
        case computed(ComputedComponent, descending: Bool)
        /// A component described in the file: an expression, or a text by a collation.
        case expression(IndexExpression, descending: Bool)
    }

    package static let kind = "value"
    /// Keys of the settings of a registered index.
    private enum Setting {
        static let properties = "properties"
        static let condition = "where"
        static let computed = "computed"
        /// The components as a list in JSON, if one is an expression.
        static let expressions = "expressions"
        /// The versions of the collations in use: keys of other versions sort differently.
        static let collations = "collations"
    }

    /// Maximum number of components. No query has more equalities.
    static let mostComponents = 16

    let components: [Component]
    let condition: StoredCondition?

    package init(_ components: [Component], condition: StoredCondition?) {
        self.components = components
        self.condition = condition
    }

    /// Reads the settings. Returns nil if the index needs the program's code, or if the settings aren't those of a
    /// value index.
    package init?(settings: [String: String]) {
        guard let properties = settings[Setting.properties], settings[Setting.computed] == nil else { return nil }
        if let list = settings[Setting.expressions] {
            guard let texts = try? JSONDecoder().decode([String].self, from: Data(list.utf8)),
                let found = try? texts.map(Component.init(written:))
            else { return nil }
            components = found
        } else {
            components = properties.split(separator: ", ").map { text in
                let (name, isDescending) = Self.direction(of: String(text))
                return .property(name, descending: isDescending)
            }
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
        let computed = components.compactMap { if case .computed(let made, _) = $0 { made.type } else { nil } }
        if !computed.isEmpty { settings[Setting.computed] = computed.map(\.description).joined(separator: ", ") }
        let expressions = components.compactMap { if case .expression(let made, _) = $0 { made } else { nil } }
        if !expressions.isEmpty { settings[Setting.expressions] = Self.json(components.map(\.text)) }
        let versions = expressions.compactMap(\.collationVersion)
        if !versions.isEmpty { settings[Setting.collations] = versions.joined(separator: ", ") }
        return settings
    }

    /// The versions of the collations of its texts; nil if there are none.
    static func collationVersions(in settings: [String: String]) -> String? { settings[Setting.collations] }

    /// A list of texts can always be encoded.
    private static func json(_ texts: [String]) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(texts)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The components, where each property that is a text gets the collation. Returns nil if no property is a text.
    package static func collated(
        _ components: [Component], by collation: TextCollation, _ type: EntityDescription
    ) -> [Component]? {
        if collation == .binary { return components }
        var isAny = false
        let collated = components.map { component in
            guard case .property(let name, let isDescending) = component, let column = type.column(name),
                type.columns[column].type.unwrapped == .string
            else { return component }
            isAny = true
            return .expression(IndexExpression(name, by: collation), descending: isDescending)
        }
        return isAny ? collated : nil
    }

    /// A component without the word at its end that gives its direction.
    static func direction(of text: String) -> (rest: String, isDescending: Bool) {
        for (word, isDescending) in [("desc", true), ("asc", false)] {
            let rest = text.dropLast(word.count)
            guard text.lowercased().hasSuffix(word), let space = rest.last, space.isWhitespace else { continue }
            let name = rest.reversed().drop(while: \.isWhitespace).reversed()
            if !name.isEmpty { return (String(name), isDescending) }
        }
        return (text, false)
    }

    /// Why an entity type can't have the index; nil if it can.
    package func flaw(for type: EntityDescription) -> String? {
        guard !components.isEmpty else { return "it has no properties: name one at least" }
        guard components.count <= Self.mostComponents else {
            return "it has \(components.count) properties, \(Self.mostComponents) are allowed"
        }
        var seen: Set<String> = []
        for case .expression(let expression, _) in components {
            do {
                _ = try expression.component(of: type)
            } catch {
                return error.message
            }
            guard seen.insert(expression.text).inserted else { return "it has “\(expression.text)” twice" }
        }
        for case .property(let name, _) in components {
            guard let column = type.column(name) else {
                let names = type.columns.map(\.name)
                let nearest = NearestName.hint(name, among: names).map { " (\($0))" } ?? ""
                return "\(type.name) has no property “\(name)”\(nearest); it has \(names.joined(separator: ", "))"
            }
            guard type.columns[column].type.isOrdered else {
                return "\(type.name).\(name), \(type.columns[column].type.withArticle), has no order: "
                    + "an ArrayIndex has the elements of an array, an index over a computed property a part of a value"
            }
            guard seen.insert(name).inserted else { return "it names the property “\(name)” twice" }
        }
        return nil
    }

    /// The index whose entries are in `tree`. Throws `.invalid` if the type can't have it.
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
                        column: column, type: type.description.columns[column].type.unwrapped,
                        descending: isDescending))
            case .computed(let component, let isDescending):
                computed.append(component)
                parts.append(
                    EntityIndex.Component(column: -computed.count, type: component.type, descending: isDescending))
            case .expression(let expression, let isDescending):
                computed.append(try expression.component(of: type.description))
                parts.append(
                    EntityIndex.Component(column: -computed.count, type: .data, descending: isDescending))
            }
        }
        let description = IndexDescription(name: name, kind: .value, components: components.map(\.description))
        return EntityIndex(
            description: description, tree: tree, components: parts, computed: computed,
            condition: try condition.map { (stored) throws(HornbeamError) in try IndexCondition(stored, type) })
    }

    /// Returns the registration that a database takes.
    package func registration(
        _ name: String, version: String, _ entity: String, model: ObjectIdentifier?, flaw: String? = nil
    ) -> IndexRegistration {
        IndexRegistration(
            name: name, version: version, kind: Self.kind, settings: settings, entity: entity, model: model, flaw: flaw,
            plannable: .rows { (type, tree) throws(HornbeamError) in try index(name, type, tree) },
            emitter: RowEmitter())
    }
}

extension ValueIndexDefinition.Component {
    /// Reads a component of a configuration: `name`, `name desc`, `lower(name)`. Throws `.invalid` if it can't be read.
    package init(written: String) throws(HornbeamError) {
        let (text, isDescending) = ValueIndexDefinition.direction(of: written)
        let isName = text.utf8.allSatisfy { byte in
            byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
                || Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
        }
        if isName {
            self = .property(text, descending: isDescending)
            return
        }
        let expression = try IndexExpression(text)
        self =
            expression.property.map { .property($0, descending: isDescending) }
            ?? .expression(expression, descending: isDescending)
    }

    fileprivate var text: String {
        switch self {
        case .property(let name, let isDescending): isDescending ? "\(name) desc" : name
        case .expression(let expression, let isDescending):
            isDescending ? "\(expression.text) desc" : expression.text
        case .computed(let component, let isDescending): isDescending ? "\(component.label) desc" : component.label
        }
    }

    fileprivate var description: IndexDescription.Component {
        switch self {
        case .property(let name, let isDescending): IndexDescription.Component(column: name, descending: isDescending)
        case .computed(let component, let isDescending):
            IndexDescription.Component(column: component.label, descending: isDescending)
        case .expression(let expression, let isDescending):
            IndexDescription.Component(column: expression.text, descending: isDescending)
        }
    }
}

/// Maintains indexes with the entries of declared indexes: from the bytes of rows, without decoding an entity unless a
/// property is computed.
private struct RowEmitter: IndexEmitter {
    func follower(of indexes: [MaintainedIndex]) -> any IndexFollower {
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
        if let condition, try !condition.accepts(row) { return [] }
        let entry = entry(try key(of: row), rowID)
        return [IndexEntry(key: entry.key, value: entry.value)]
    }

    /// Whether two rows are known to have the same entry.
    fileprivate func isUntouched(_ old: RowReader, _ new: RowReader) throws -> Bool {
        guard condition == nil, !isOfCode else { return false }
        return try IndexChanges.isUntouched(sources, old, new)
    }
}
