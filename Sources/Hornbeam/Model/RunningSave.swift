// SPDX-License-Identifier: Apache-2.0
// The saves and deletions that are running in a transaction. Hooks and collision resolvers save and delete within the
// save that called them, so code that sets something here sets it back when it returns or throws.

/// The state that nested saves and deletions of one transaction share.
struct RunningSave {
    /// Number of saves and deletions that are running inside one another: each was called by a hook or a resolver of
    /// the one before. Nested entities and cascades don't count: they are part of the save or deletion of their owner.
    var depth = 0
    /// The depth of the save or deletion that is undone as a whole if it throws; -1 if there is none.
    fileprivate var undoneDepth = -1
    /// Nesting depth of the values that are being saved or examined. The values that a hook saves are deeper than the
    /// value of the hook.
    var nesting = 0
    /// The entities of the innermost save, if they exchange unique keys among them.
    var batch: UniqueBatch?
    /// The link to the entity that is being saved in a relation, if its unique keys depend on it.
    var pendingLink: PendingLink?
    /// The entities that the innermost deletion deletes, if delete rules may deny it.
    var deleting = EntityRows()
    /// The entities that the innermost deletion deletes without leaving a `Deleted`.
    var purging = EntityRows()
    /// Gets the relations of the entity whose fingerprint is being computed. Nil at any other time.
    var fingerprint: Fingerprint?
}

extension TypedTransaction {
    /// Maximum number of saves and deletions inside one another, so that no chain of hooks and resolvers overflows a
    /// thread's stack, which may be as small as 512 KiB.
    static let maximumDepth = 32

    /// Counts a save or deletion. The caller takes one from `running.depth` when it is done. Throws `.invalid` if there
    /// are too many. All of them are undone then: the write can't be committed, unless a nested transaction around them
    /// rolls back.
    @inline(__always)
    func descend(_ what: String, of entity: @autoclosure () -> String) throws(HornbeamError) {
        guard running.depth < Self.maximumDepth else { throw tooDeep("\(entity()) can't be \(what)") }
        running.depth += 1
    }

    @inline(never)
    private func tooDeep(_ what: String) -> HornbeamError {
        refused(
            "\(what): it lies within \(Self.maximumDepth) saves and deletions, each made by a hook or a collision "
                + "resolver of the one before; look for a hook or resolver that leads back to its start, or that moves "
                + "entities one by one", failsWrite: true)
    }

    /// Goes down one level in a value that is saved or examined. The caller takes one from `running.nesting` when it is
    /// done. Throws `.invalid` if there are too many levels.
    /// - Parameter failsWrite: whether something of the value has been stored already. Then the write can't be
    ///   committed, unless a nested transaction around it rolls back.
    @inline(__always)
    func descend(into what: @autoclosure () -> String, failsWrite: Bool = false) throws(HornbeamError) {
        guard running.nesting < Nesting.most else { throw refused(Nesting.tooDeep(what()), failsWrite: failsWrite) }
        running.nesting += 1
    }

    /// Runs `body` within the running save or deletion, and undoes all of it if it throws. Only hooks and resolvers can
    /// catch its errors, and their own saves and deletions are deeper. So it needs no savepoint if the save or deletion
    /// has one.
    func whole<Result>(_ body: () throws -> Result) throws -> Result {
        if running.undoneDepth == running.depth { return try body() }
        let former = running.undoneDepth
        running.undoneDepth = running.depth
        defer { running.undoneDepth = former }
        return try nested(body)
    }
}
