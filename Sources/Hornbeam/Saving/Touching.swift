// SPDX-License-Identifier: Apache-2.0
// Marking entities as changed without another value.

extension EntityModelProtocol {
    /// Saves the stored entity as it is: it counts as changed for views, live queries, what a write tells of its
    /// changes, and `updatedAt`, though no property and no index has another value. So lists that show it show it anew.
    /// Counts and aggregates stay as they are. No hook is called. False if no entity is stored under the id.
    @discardableResult
    public static func touch(_ id: ID, in context: inout Context) throws -> Bool {
        try context.session.change("touched", of: "\(entityName) \(id)") { session in
            guard let entity = try session.entity(id, Self.self) else { return false }
            let row = try session.save(entity, time: .touched)
            try session.store(Self.self).noteTouch(row)
            return true
        }
    }
}
