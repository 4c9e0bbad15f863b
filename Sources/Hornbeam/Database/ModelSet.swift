// SPDX-License-Identifier: Apache-2.0
// The entity types of a database: those it was opened with and all that their relations lead to.

/// Entity types by name; no two may share one.
struct ModelSet: Sendable {
    private var types: [String: any EntityModelProtocol.Type] = [:]

    init() {}

    init(_ models: [any EntityModelProtocol.Type]) throws(HornbeamError) {
        for model in models { try insert(model) }
    }

    /// Adds a type and those it is related to.
    mutating func insert(_ model: any EntityModelProtocol.Type) throws(HornbeamError) {
        let name = model.entityName
        if let known = types[name] {
            guard known == model else {
                throw HornbeamError(.invalid, "two entity types are called \(name): rename one of them")
            }
            return
        }
        types[name] = model
        for target in model.relatedTypes { try insert(target) }
    }

    func contains(_ model: any EntityModelProtocol.Type) -> Bool {
        guard let known = types[model.entityName] else { return false }
        return known == model
    }

    /// Sorted by name.
    var descriptions: [EntityDescription] {
        types.values.map { $0.storedDescription }.sorted { $0.name < $1.name }
    }
}

extension EntityModelProtocol {
    fileprivate static var relatedTypes: [any EntityModelProtocol.Type] {
        entityShape.relations.map(\.target)
    }

    fileprivate static var storedDescription: EntityDescription {
        entityShape.description
    }
}
