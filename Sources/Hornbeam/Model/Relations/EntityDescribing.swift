// SPDX-License-Identifier: Apache-2.0
// The output of `print`, `dump` and failed tests for entities and relations: their contents, not the wrappers around
// them. Nothing is read from the store for it.

extension EntityModelProtocol {
    /// The stored properties and the relations. Declarations of indexes have no contents and are left out.
    public var customMirror: Mirror {
        let shape = Self.entityShape
        let properties = shape.properties.map { (label: Optional($0.name), value: self[keyPath: $0.keyPath]) }
        let relations = shape.relations.map {
            (label: Optional($0.description.name), value: self[keyPath: $0.keyPath])
        }
        return Mirror(self, children: properties + relations, displayStyle: .struct)
    }
}

extension Relation: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `none`, `null`, `id(1)` or `[1, 2]` for ids, otherwise the entities. A word before them shows whether they are
    /// fragments or are added to the existing links.
    public var description: String {
        let said =
            switch content {
            case .none: "none"
            case .null: "null"
            case .ids(let ids) where Cardinality.isToMany: "\(ids)"
            case .ids(let ids): ids.first.map { "id(\(String(reflecting: $0)))" } ?? "null"
            case .entities(let entities): Self.description(of: entities)
            }
        return (isSlice ? "appending " : "") + (isFragment ? "fragment " : "") + said
    }

    private static func description(of entities: [Entity]) -> String {
        guard CodedNesting.descend() else { return "…" }
        defer { CodedNesting.ascend() }
        if Cardinality.isToMany { return "[\(entities.map { String(describing: $0) }.joined(separator: ", "))]" }
        return entities.first.map { String(describing: $0) } ?? "null"
    }

    public var debugDescription: String { description }
    /// Without children: the description is complete.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Relationship: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { projectedValue.description }
    public var debugDescription: String { projectedValue.description }
    public var customMirror: Mirror { projectedValue.customMirror }
}
