// SPDX-License-Identifier: Apache-2.0
// The entity types of a database: those it was opened with and all that their relations lead to.

/// Entity types by name; no two may share one.
package struct ModelSet: Sendable {
    private var types: [String: any EntityModelProtocol.Type] = [:]
    /// Whether one of them has a unique index.
    private(set) var hasResolvers = false
    /// Identities of the types.
    private var identities: [ObjectIdentifier] = []
    private var declared: [EntityDescription] = []

    init() {}

    package init(_ models: [any EntityModelProtocol.Type]) throws(HornbeamError) {
        for model in models { try add(model) }
        // Added after the models, which are looked up most.
        for tombstone in types.values.compactMap({ $0.tombstone }) { try add(tombstone) }
    }

    /// Adds a type and those it is related to: all of them, or none.
    mutating func insert(_ model: any EntityModelProtocol.Type) throws(HornbeamError) {
        var larger = self
        try larger.add(model)
        self = larger
    }

    private mutating func add(_ model: any EntityModelProtocol.Type) throws(HornbeamError) {
        let name = model.entityName
        if let known = types[name] {
            guard known == model else {
                throw HornbeamError(
                    .invalid, "two models are called \(name): rename one of them, or nest it in another type")
            }
            return
        }
        declared.append(try model.storedDescription())
        types[name] = model
        identities.append(ObjectIdentifier(model))
        hasResolvers = hasResolvers || model.hasResolvers
        for target in model.relatedTypes { try add(target) }
    }

    package func contains(_ model: any EntityModelProtocol.Type) -> Bool {
        // Comparing with a few types takes less time than the hash of a name.
        if identities.count <= 32 { return identities.contains(ObjectIdentifier(model)) }
        guard let known = types[model.entityName] else { return false }
        return known == model
    }

    func contains(_ model: ObjectIdentifier) -> Bool { identities.contains(model) }

    /// Returns the type with a name.
    package func model(_ name: String) -> (any EntityModelProtocol.Type)? { types[name] }

    /// Returns a row as its model writes it after reading it, with defaults where the row has no value.
    func rewritten(_ type: EntityType, _ row: RowReader) throws -> [UInt8] {
        guard let model = types[type.name] else {
            throw HornbeamError(
                .unregisteredEntity,
                "stored entities of \(type.name) must be rewritten, which needs their model: name it among the "
                    + "models when opening")
        }
        return try model.rewritten(row)
    }

    /// Sorted by name.
    package var descriptions: [EntityDescription] { declared.sorted { $0.name < $1.name } }
}

extension EntityModelProtocol {
    fileprivate static var hasResolvers: Bool { entityShape.hasResolvers }

    fileprivate static var relatedTypes: [any EntityModelProtocol.Type] {
        entityShape.relations.map(\.target)
    }

    fileprivate static func rewritten(_ row: RowReader) throws(HornbeamError) -> [UInt8] {
        var writer = RowWriter(layout: row.layout)
        try Self(row: row).write(to: &writer)
        return try writer.finish()
    }

    fileprivate static func storedDescription() throws(HornbeamError) -> EntityDescription {
        try entityShape.storedDescription()
    }
}
