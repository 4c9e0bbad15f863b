// SPDX-License-Identifier: Apache-2.0
// Marking entities as changed without another value.

extension EntityModelProtocol {
    /// Saves the stored entity as it is: it counts as changed for views, long-lived reads and `updatedAt`, though no
    /// property and no index has another value. No hook is called. False if no entity is stored under the id.
    @discardableResult
    public static func touch(_ id: ID, in context: inout Context) throws -> Bool {
        try context.session.change("touched", of: "\(entityName) \(id)") { session in
            guard let entity = try session.entity(id, Self.self) else { return false }
            _ = try session.save(entity)
            return true
        }
    }
}
