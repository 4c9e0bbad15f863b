// SPDX-License-Identifier: Apache-2.0
// What must hold among entity types that come from a file: the compiler proves it for Swift types, here it is checked.

import Hornbeam

enum SchemaRules {
    /// What is wrong first, or nil.
    static func firstProblem(_ entities: [EntityDescription]) -> String? {
        if let name = firstRepeated(entities.map(\.name)) { return "two entity types are called “\(name)”" }
        let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
        for entity in entities {
            if let problem = problem(entity) ?? indexProblem(entity) ?? relationProblem(entity, byName) {
                return "\(entity.name): \(problem)"
            }
        }
        return nil
    }

    private static func problem(_ entity: EntityDescription) -> String? {
        let names = [entity.name] + entity.columns.map(\.name) + entity.indexes.map(\.name)
        for name in names + entity.relations.map(\.name) where !isName(name) {
            return "“\(name)” is no name: letters, digits, _ and dots, and no digit first"
        }
        guard let id = entity.columns.first else { return "it has no columns; the first one is the id" }
        if id.type.isOptional || !id.type.isOrdered {
            return "the id (the first column, “\(id.name)”) can't be of type \(id.type)"
        }
        if let name = firstRepeated(entity.columns.map(\.name) + entity.relations.map(\.name)) {
            return "two columns or relations are called “\(name)”"
        }
        if let name = firstRepeated(entity.indexes.map(\.name)) { return "two indexes are called “\(name)”" }
        return nil
    }

    private static func indexProblem(_ entity: EntityDescription) -> String? {
        for index in entity.indexes {
            if index.components.isEmpty { return "index “\(index.name)” has no components" }
            for component in index.components {
                guard let number = entity.column(component.column) else {
                    let hint = NearestName.hint(component.column, among: entity.columns.map(\.name))
                    return "index “\(index.name)”: there is no column “\(component.column)”"
                        + (hint.map { "; \($0)" } ?? "")
                }
                let type = entity.columns[number].type
                if index.kind == .text, type.unwrapped != .string {
                    return "index “\(index.name)”: full text needs string columns, “\(component.column)” is \(type)"
                }
                if !type.isOrdered { return "index “\(index.name)”: a column of type \(type) has no order" }
            }
        }
        return nil
    }

    private static func relationProblem(
        _ entity: EntityDescription, _ byName: [String: EntityDescription]
    ) -> String? {
        for relation in entity.relations {
            guard let target = byName[relation.target] else {
                let hint = NearestName.hint(relation.target, among: byName.keys.sorted())
                return "relation “\(relation.name)”: there is no entity type “\(relation.target)”"
                    + (hint.map { "; \($0)" } ?? "")
            }
            guard let inverse = relation.inverse else { continue }
            guard let other = target.relations.first(where: { $0.name == inverse }) else {
                return "relation “\(relation.name)”: \(target.name) has no relation “\(inverse)”"
            }
            if other.inverse != relation.name || other.target != entity.name {
                return "relation “\(relation.name)”: its inverse \(target.name).\(inverse) must name it in turn"
            }
        }
        return nil
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.first, first.isLetter || first == "_" else { return false }
        return name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
    }

    private static func firstRepeated(_ names: [String]) -> String? {
        var seen: Set<String> = []
        return names.first { !seen.insert($0).inserted }
    }
}
