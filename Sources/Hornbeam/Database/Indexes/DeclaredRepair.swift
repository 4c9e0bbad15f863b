// SPDX-License-Identifier: Apache-2.0
// Rebuilding of damaged indexes that the models declare.

import HornbeamPages
import HornbeamTree

extension Database {
    /// Rebuilds an index that a model declares from all entities, and drops its old entries without reading them. Use
    /// it for an index that `check`, a search or a commit reports as damaged.
    ///
    ///     try database.repair(index: "search", of: Page.self)
    ///
    /// Runs in one transaction, which takes as long as building the index. Readers continue. Throws `.invalid` if the
    /// model declares no index of this name, `.uniqueViolation` if two entities have equal keys in a unique index, and
    /// `.corrupt` if rows, or the pages that lead to the old entries, can't be read. Use `hornbeam salvage` for such a
    /// file.
    ///
    /// The name of an index is the name of the property that declares it. `progress` is called from time to time during
    /// the build. It may throw to cancel.
    public func repair<Entity: EntityModelProtocol>(
        index name: String, of _: Entity.Type, progress: MigrationProgress.Handler? = nil
    ) throws {
        try write { context in
            try context.session.run { session in
                let store = try session.store(Entity.self)
                let (type, transaction) = (store.type, store.transaction)
                guard let index = type.description.indexes.first(where: { $0.name == name }) else {
                    let names = type.description.indexes.map(\.name).joined(separator: ", ")
                    throw HornbeamError(
                        .invalid,
                        "\(type.name) declares no index “\(name)”; "
                            + (names.isEmpty ? "it declares none" : "those it declares are \(names)"))
                }
                if index.kind == .text {
                    try SchemaCatalogue.drop(index, type.name, transaction)
                } else if let tree = type.indexes.first(where: { $0.description.name == name })?.tree {
                    let open = Bytes(start: nil, count: 0)
                    _ = try transaction.deleteRange(tree, from: open, to: open)
                }
                try IndexBuilder(type: type, transaction: transaction, progress: progress).build([name])
            }
        }
    }
}
