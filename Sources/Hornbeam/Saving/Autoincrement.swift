// SPDX-License-Identifier: Apache-2.0
// Integer ids that the store chooses.

extension EntityModelProtocol where ID: FixedWidthInteger {
    /// Returns an id for a new entity: one more than the largest that is stored, linked or was ever returned here. The
    /// first is 1. An id that was returned never comes again, also when its entity is deleted; a write that fails gives
    /// back what was returned in it.
    ///
    /// ```swift
    /// try database.write { context in
    ///     try Note(id: Note.nextID(in: &context), text: "Buy milk").save(to: &context)
    /// }
    /// ```
    ///
    /// Ids of 2^40 and more, which a program may have chosen itself, don't count. `.invalid` if the type of the ids has
    /// no larger one; `.readOnly` in a read. O(log n).
    public static func nextID(in context: inout Context) throws -> ID {
        try context.session.change("given", of: "an id of \(entityName)") { session in
            try session.requireWrite("an id of \(entityName) can't be given")
            guard let next = try session.store(Self.self).nextID(), let id = ID(exactly: next) else {
                throw HornbeamError(
                    .invalid, "\(entityName) has no more ids: the largest \(ID.self) is taken; choose a larger type")
            }
            return id
        }
    }
}
