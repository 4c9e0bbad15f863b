// SPDX-License-Identifier: Apache-2.0
// Integer ids that the store chooses.

extension EntityModelProtocol where ID: FixedWidthInteger {
    /// Returns an id for a new entity: one more than the largest id that is stored, linked, kept as a `Deleted` or was
    /// ever returned here. The first is 1. An id is never returned again, even if its entity is deleted, unless the
    /// write that returned it fails.
    ///
    /// ```swift
    /// try database.write { context in
    ///     try Note(id: Note.nextID(in: &context), text: "Buy milk").save(to: &context)
    /// }
    /// ```
    ///
    /// Ids of 2^40 and more, which a program may have chosen itself, don't count. Throws `.invalid` if the type of the
    /// ids has no larger one, and `.readOnly` in a read. O(log n).
    public static func nextID(in context: inout Context) throws -> ID { try nextID(as: ID.self, in: context) }
}

extension EntityModelProtocol {
    /// Returns a typed id for a new entity: `Book(id: Book.nextID(in: &context), …)`.
    public static func nextID<Owner, Number: FixedWidthInteger>(in context: inout Context) throws -> ID
    where ID == TypedID<Owner, Number> { ID(try nextID(as: Number.self, in: context)) }

    private static func nextID<Number: FixedWidthInteger>(as _: Number.Type, in context: Context) throws -> Number {
        try context.session.change("given", of: "an id of \(entityName)") { session in
            try session.requireWrite("an id of \(entityName) can't be given")
            let next = try session.store(Self.self).nextID(through: UInt64(clamping: Number.max))
            guard let next else {
                throw HornbeamError(
                    .invalid, "\(entityName) has no more ids: the largest \(Number.self) is taken; choose a larger type"
                )
            }
            return Number(next)
        }
    }
}
