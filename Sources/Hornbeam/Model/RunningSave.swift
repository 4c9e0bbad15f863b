// SPDX-License-Identifier: Apache-2.0
// The saves and deletions that a transaction is in the middle of. Hooks and collision resolvers save and delete within
// the save that called them: code that sets something here sets it back when it is done, or has failed.

/// The state that nested saves and deletions of one transaction share.
struct RunningSave {
    /// Number of saves and deletions that are under way, one inside the other: each was asked for by a hook or a
    /// resolver of the one before. Entities nested in a value, and those that a cascade leads to, are part of theirs.
    var depth = 0
    /// The depth of the save or deletion that is undone as a whole if it throws; -1 if there is none.
    fileprivate var undoneDepth = -1
    /// Nesting depth of the values that are being saved or looked at. The values that a hook saves lie deeper than the
    /// one whose hook it is.
    var nesting = 0
    /// The entities that the innermost save stores, if unique keys change hands among them.
    var batch: UniqueBatch?
    /// The entities that the innermost deletion takes, where a delete rule may deny it.
    var deleting = EntityRows()
    /// The entities of which the innermost deletion leaves no `Deleted`.
    var purging = EntityRows()
    /// Gets the relations of the entity whose fingerprint is being computed; nil at any other time.
    var fingerprint: Fingerprint?
}

extension TypedTransaction {
    /// The largest number of saves and deletions inside one another: no chain of hooks and resolvers uses up a
    /// thread's stack, which may be as small as 512 KiB.
    static let maximumDepth = 32

    /// Counts a save or deletion. The caller takes one from `running.depth` when it is done. Throws `.invalid` if there
    /// are too many, which are all undone then: the write can't be committed, except for a part of it that goes back to
    /// its start.
    @inline(__always)
    func descend(_ what: String, of entity: @autoclosure () -> String) throws(HornbeamError) {
        guard running.depth < Self.maximumDepth else { throw tooDeep("\(entity()) can't be \(what)") }
        running.depth += 1
    }

    @inline(never)
    private func tooDeep(_ what: String) -> HornbeamError {
        refused(
            "\(what): it would be done within \(Self.maximumDepth) saves and deletions, each asked for by a hook or a "
                + "collision resolver of the one before; look for one that comes back to where it began, or that moves "
                + "entities along one by one", failsWrite: true)
    }

    /// Goes down one level in a value that is saved or looked at; the caller takes one from `running.nesting` when it
    /// is done. `.invalid` if there are too many.
    /// - Parameter failsWrite: whether something of the value has been stored already. Then the write can't be
    ///   committed, except for a part of it that goes back to its start.
    @inline(__always)
    func descend(into what: @autoclosure () -> String, failsWrite: Bool = false) throws(HornbeamError) {
        guard running.nesting < Nesting.most else { throw refused(Nesting.tooDeep(what()), failsWrite: failsWrite) }
        running.nesting += 1
    }

    /// Runs `body` as a whole within the save or deletion that is under way. Nobody catches what throws in it but hooks
    /// and resolvers, whose own saves and deletions are deeper: so it needs no savepoint if it has one already.
    func whole<Result>(_ body: () throws -> Result) throws -> Result {
        if running.undoneDepth == running.depth { return try body() }
        let former = running.undoneDepth
        running.undoneDepth = running.depth
        defer { running.undoneDepth = former }
        return try nested(body)
    }
}
