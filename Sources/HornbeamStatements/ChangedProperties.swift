// SPDX-License-Identifier: Apache-2.0
// The properties and relations that a statement sets. Converts the values of expressions to their types, and refuses
// values that don't fit, by the rules of `hornbeam import`.

import HornbeamPages

/// A property or a relation by its name.
enum ChangedProperty {
    case column(Int)
    case relation(EdgeSide)
}

/// The properties of the type that a statement changes.
struct ChangedProperties {
    let type: EntityType
    private let core: StoreTransaction
    private let text: String

    init(_ type: EntityType, _ core: StoreTransaction, _ text: String) {
        self.type = type
        self.core = core
        self.text = text
    }

    func failure(_ what: String, _ code: HornbeamError.Code = .invalid, at place: TextPlace) -> HornbeamError {
        StatementFailure.error(what, code, in: text, at: place)
    }

    func property(_ name: String, at place: TextPlace) throws -> ChangedProperty {
        if let column = type.description.column(name) {
            guard !type.description.columns[column].isHidden else {
                throw failure("\(type.name).\(name) is kept by the store, and can't be set", at: place)
            }
            return .column(column)
        }
        if let side = type.relations.first(where: { $0.name == name }) { return .relation(side) }
        let known = type.shownColumns.map(\.name) + type.relations.map(\.name)
        let hint = NearestName.hint(name, among: known) ?? "it has \(known.joined(separator: ", "))"
        throw failure("\(type.name) has neither a property nor a relation “\(name)”; \(hint)", at: place)
    }

    /// The value for a column. Null and missing values are null.
    /// - Parameter entity: the entity that is updated, for errors.
    func value(_ item: StatementValue, _ column: Int, at place: TextPlace, of entity: String? = nil) throws -> Value {
        let column = type.description.columns[column]
        if item.isUnknown, !column.type.isOptional {
            throw failure("\(Self.prefix(entity))\(type.name).\(column.name) can't be null", at: place)
        }
        return try value(item, column.name, column.type, at: place, of: entity)
    }

    /// The value for a column of JSON after a part of it was set.
    func value(_ node: JSONNode, _ column: Int, at place: TextPlace, of entity: String) throws -> Value {
        let column = type.description.columns[column]
        return try value(node, column.name, column.type, at: place, of: entity)
    }

    /// The ids that a relation will lead to. Null and missing values give no ids.
    func ids(
        _ item: StatementValue, _ side: EdgeSide, at place: TextPlace, of entity: String? = nil
    ) throws -> [Value] {
        let idType = try core.store(side.target).type.idType
        let items: [StatementValue]
        switch item {
        case .missing, .value(.null): items = []
        case .array(let elements) where side.isToMany: items = elements
        case .array:
            throw failure(
                "\(Self.prefix(entity))\(type.name).\(side.name) leads to one \(side.target): give one id", at: place)
        default: items = [item]
        }
        if items.isEmpty, side.description.required {
            throw failure(
                "\(Self.prefix(entity))\(type.name).\(side.name) is required, and can't lead to nothing",
                .missingRelation, at: place)
        }
        return try items.map { try value($0, side.name, idType, at: place, of: entity) }
    }

    private func value(
        _ item: StatementValue, _ name: String, _ columnType: ColumnType, at place: TextPlace, of entity: String?
    ) throws -> Value {
        if let value = item.stored(as: columnType) { return value }
        return try value(item.node, name, columnType, at: place, of: entity)
    }

    private func value(
        _ node: JSONNode, _ name: String, _ columnType: ColumnType, at place: TextPlace, of entity: String?
    ) throws -> Value {
        if let value = JSONRows.value(node, as: columnType) { return value }
        throw failure(
            "\(Self.prefix(entity))\(type.name).\(name), \(columnType.withArticle), can't be \(node.text.shown(60)): "
                + JSONRows.reason(node, as: columnType), at: place)
    }

    private static func prefix(_ entity: String?) -> String { entity.map { "\($0): " } ?? "" }
}

extension StatementValue {
    /// The value for a column of this type. Returns nil if the value, or the reason to refuse it, comes from the item's
    /// JSON.
    fileprivate func stored(as type: ColumnType) -> Value? {
        switch (type.unwrapped, self) {
        case (.string, .value(.string)), (.data, .value(.data)), (.bool, .value(.bool)), (.date, .value(.date)),
            (.uuid, .value(.uuid)), (.decimal, .value(.decimal)):
            // As it is, without the way through a text.
            return result
        case (.json, _): return JSONRows.value(coded.node, as: type)
        default: return nil
        }
    }

    /// The value as it is stored within a `Codable` value: dates are numbers of seconds, as `Date` encodes itself.
    private var coded: StatementValue {
        switch self {
        case .value(.date(let seconds)): .value(.double(seconds))
        case .array(let items): .array(items.map(\.coded))
        case .object(let fields): .object(fields.map { StatementField(name: $0.name, item: $0.item.coded) })
        default: self
        }
    }

    /// The JSON of the value within a `Codable` value; nil if it is missing.
    var codedNode: JSONNode? { self == .missing ? nil : coded.node }
}

extension JSONNode {
    /// Returns this JSON with a new value at the end of a path. The other parts stay as they are written, so that no
    /// number is rounded. Missing objects on the path are created. Returns nil if the path leads through a value that
    /// is neither an object nor an array, or to an element that isn't there.
    /// - Parameter node: the new value; nil removes a field, and makes an element null.
    func setting(_ steps: ArraySlice<Path.Step>, to node: JSONNode?) -> JSONNode? {
        guard let step = steps.first else { return node }
        let rest = steps.dropFirst()
        switch (step, self) {
        case (.name(let name), .object(var members)):
            let place = members.firstIndex { $0.name == name }
            var new = node
            if !rest.isEmpty {
                guard let inner = (place.map { members[$0].value } ?? .null).setting(rest, to: node) else { return nil }
                // There is nothing to remove.
                if place == nil, node == nil { return self }
                new = inner
            }
            switch (place, new) {
            case (let place?, let new?): members[place].value = new
            case (let place?, nil): members.remove(at: place)
            case (nil, let new?): members.append((name, new))
            case (nil, nil): break
            }
            return .object(members)
        case (.name, .null): return node == nil ? self : JSONNode.object([]).setting(steps, to: node)
        case (.index(let index), .array(var items)):
            let place = index < 0 ? items.count + index : index
            guard items.indices.contains(place) else { return nil }
            if rest.isEmpty {
                items[place] = node ?? .null
            } else {
                guard let new = items[place].setting(rest, to: node) else { return nil }
                items[place] = new
            }
            return .array(items)
        default: return nil
        }
    }
}
