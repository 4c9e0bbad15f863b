// SPDX-License-Identifier: Apache-2.0
// All entity types of a store with their relations and trees resolved. Every transaction works with it.

/// The schema of a store. It is immutable, and made by `SchemaCatalogue`.
package final class Schema: Sendable {
    package let types: [String: EntityType]
    /// The types as a list, if they are few: a search in it takes less time than hashing a name.
    private let few: [EntityType]
    /// One-way relations by the type they lead to.
    let incoming: [String: [EdgeSide]]
    /// Types with a relation that can deny a deletion.
    package let denying: Set<String>
    /// The registered indexes that the store has; nil if it has none. They have no code.
    package let registered: RegisteredIndexes?

    package init(types: [EntityType], registered: [StoredIndex] = []) {
        self.registered = registered.isEmpty ? nil : RegisteredIndexes(stored: registered)
        self.types = Dictionary(types.map { ($0.name, $0) }) { _, last in last }
        // Types of deleted entities come last, because they are seldom used.
        few = self.types.count <= 32 ? types.filter { !$0.isTombstone } + types.filter(\.isTombstone) : []
        denying = Set(types.filter { $0.relations.contains { $0.description.deleteRule == .deny } }.map(\.name))
        incoming = Dictionary(grouping: types.flatMap(\.relations).filter { $0.other?.form == .reverse }, by: \.target)
    }

    /// Names of all types, sorted.
    package var typeNames: [String] { types.keys.sorted() }

    /// Returns the role of a list of links in a type's tree, or nil if there is no list of that number.
    func role(of list: UInt16, in type: EntityType) -> EntityType.ListRole? {
        if let own = type.role(of: list) { return own }
        for side in incoming[type.name] ?? [] where side.other?.list.number == list { return .reverse(side) }
        return nil
    }

    package func type(_ name: String) throws(HornbeamError) -> EntityType {
        for type in few where type.name == name { return type }
        guard let type = types[name] else {
            throw HornbeamError(
                .unregisteredEntity,
                "the database knows no entity type “\(name)” (it knows \(typeNames.joined(separator: ", "))): "
                    + "name it among the models when opening")
        }
        return type
    }
}
