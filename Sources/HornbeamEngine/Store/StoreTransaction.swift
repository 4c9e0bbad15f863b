// SPDX-License-Identifier: Apache-2.0
// One transaction with its schema. It has the stores of entity types and the links. It holds data that a write
// transaction gathers before its commit (counters of row ids, buffered postings); `flush` must come before the commit.

package import HornbeamPages
package import HornbeamTree

/// A transaction over entities. It belongs to one thread at a time, as its `Transaction` does.
package final class StoreTransaction {
    /// Counters of changes. Code that caches something about rows compares them with their earlier values.
    struct Counts {
        /// Grows whenever the stores that were handed out become invalid.
        var generation = 0
        /// Number of times that a row was removed, or may have been. A row that was saved is stored while this doesn't
        /// change.
        var removals = 0
        /// Number of times that a row was saved, or may have been, except for what deletions leave behind.
        var saves = 0
        /// Number of times that a row has given up a unique key for another one.
        var yields = 0
    }

    package let transaction: Transaction
    // No checks of exclusive access: there is one thread, and every query reads these properties.
    @exclusivity(unchecked) package private(set) var schema: Schema
    /// In the order of first use. They are few, so a linear search takes less than hashing.
    @exclusivity(unchecked) private var stores: [EntityStore] = []
    @exclusivity(unchecked) var counts = Counts()
    /// Whether a store has ever gathered data, or the links keep a cursor or cached data of a side. In a read only a
    /// refused save does that. Such a transaction can't begin again.
    @exclusivity(unchecked) var hasGathered = false
    /// Whether links wait to be put into their trees, or to be taken out of them.
    @exclusivity(unchecked) var hasWaitingLinks = false
    /// Whether links have changed that the related ids in rows don't follow yet.
    @exclusivity(unchecked) var hasMovedIDs = false
    /// Whether a save of several entities is running, at whose end unique keys are checked.
    @exclusivity(unchecked) var defersKeys = false
    /// Whether a store has noted ids that may have lost their last link.
    @exclusivity(unchecked) var hasUnlinked = false
    /// The trees of registered indexes that this read has looked up.
    @exclusivity(unchecked) private var askedIndexes: [(registration: IndexRegistration, trees: IndexTrees)] = []
    /// The watch of the innermost bulk change that is running; nil if there is none.
    @exclusivity(unchecked) package var watch: RowWatch?
    @exclusivity(unchecked) private var givenWatch: QueryWatch?
    /// The required relations to check at the commit, nil if a write may leave entities without them.
    private(set) var required: RequiredRelations?
    /// Number of times that the schema was changed.
    private var adoptions = 0
    package private(set) lazy var edges = EdgeTrees(core: self, limits: linkLimits)
    /// Gathers the changes, if there are observers or the log has consumers.
    let capture: RowCapture?
    /// The registered indexes that the caller has given, nil for those of the schema, which have no code.
    private let givenIndexes: RegisteredIndexes?
    /// The registered indexes that queries use, of the database that the transaction reads.
    private let planned: PlannedIndexes?
    /// The limits of the links' trees. Only tests change the default ones.
    private let linkLimits: EdgeTrees.Limits
    /// The registered indexes that changes of rows have to maintain.
    package var registered: RegisteredIndexes? { givenIndexes ?? schema.registered }

    // Computed properties, because access to a stored one from another module is checked for exclusivity, which takes a
    // hundred instructions.
    package var generation: Int { counts.generation }
    package var removals: Int { counts.removals }
    package var saves: Int { counts.saves }
    package var canBeginAgain: Bool { !hasGathered }
    /// The watch over the queries; nil if nobody watches them.
    package var queryWatch: QueryWatch? { givenWatch }

    package convenience init(
        _ transaction: Transaction, schema: Schema, linkLimits: EdgeTrees.Limits = EdgeTrees.Limits()
    ) {
        self.init(transaction, schema: schema, capture: nil, linkLimits: linkLimits)
    }

    /// Makes the transaction of a write to a file that no database has open. Its changes are logged if the log has
    /// consumers for them.
    package convenience init(writing transaction: Transaction, schema: Schema) throws {
        let logged = try ChangeLog(in: transaction)?.trees(schema)
        self.init(transaction, schema: schema, capture: logged.map { RowCapture(logging: $0) })
    }

    /// Makes the transaction of a read of an open database.
    package convenience init(_ transaction: Transaction, schema: Schema, planned: PlannedIndexes) {
        self.init(transaction, schema: schema, capture: nil, planned: planned)
    }

    package init(
        _ transaction: Transaction, schema: Schema, capture: RowCapture?, registered: RegisteredIndexes? = nil,
        planned: PlannedIndexes? = nil, linkLimits: EdgeTrees.Limits = EdgeTrees.Limits()
    ) {
        self.linkLimits = linkLimits
        self.transaction = transaction
        self.schema = schema
        self.capture = capture
        givenIndexes = registered
        self.planned = planned
    }

    /// Sets the watch over the transaction's queries. Must be called before the first store is used.
    package func watchQueries(by watch: QueryWatch?) { givenWatch = watch }

    /// Resumes a read that was suspended. If it sees another state now, search caches are released: the read may never
    /// search again, and an index's tables are large.
    package func resume() throws(StorageError) {
        let version = transaction.version
        try transaction.resume()
        guard transaction.version != version else { return }
        for store in stores { store.forgetSearchers() }
        edges.missing = []
        askedIndexes = []
    }

    /// The registered indexes that queries may use, provided that their trees are complete.
    @inline(__always)
    var queriedIndexes: RegisteredIndexes? { planned.map(\.current) ?? givenIndexes }

    /// The store of one entity type. Throws `.unregisteredEntity` if the database doesn't know the type.
    package func store(_ name: String) throws(HornbeamError) -> EntityStore {
        for store in stores where store.type.name == name { return store }
        let store = EntityStore(type: try schema.type(name), core: self)
        stores.append(store)
        return store
    }

    /// The trees of a registered index of this program. Throws `.indexNotReady` if the index isn't complete in this
    /// state of the file.
    package func trees(of registration: IndexRegistration) throws -> IndexTrees {
        // Within a write, a tree can pass from one index to another.
        guard !transaction.isWritable else { return try registration.trees(in: transaction) }
        for asked in askedIndexes where asked.registration === registration { return asked.trees }
        let trees = try registration.trees(in: transaction)
        // Bounded, because a program may make a new index for each query.
        if askedIndexes.count == 16 { askedIndexes.removeFirst() }
        askedIndexes.append((registration, trees))
        return trees
    }

    /// Adds or changes types within this write transaction. Stores that were handed out before become invalid: call
    /// `store` again.
    package func adopt(_ schema: Schema) throws {
        try flush()
        adoptions += 1
        self.schema = schema
        if let capture, capture.logged != nil { capture.follow(try ChangeLog(in: transaction)?.trees(schema)) }
        dropStores()
    }

    private func dropStores() {
        stores = []
        counts.generation += 1
        hasWaitingLinks = false
        edges = EdgeTrees(core: self, limits: linkLimits)
    }

    /// Writes all gathered data to the trees, also if the transaction's reads are interrupted meanwhile: half a flush
    /// would leave links at one end alone.
    package func flush() throws {
        guard transaction.interruption != nil else { return try flushAll() }
        try uninterrupted { try flushAll() }
    }

    /// Runs `body` to its end, also if the transaction's reads are interrupted meanwhile.
    package func uninterrupted<Result>(_ body: () throws -> Result) rethrows -> Result {
        let interruption = transaction.interruption
        transaction.interruption = nil
        defer { transaction.interruption = interruption }
        return try body()
    }

    private func flushAll() throws {
        if hasMovedIDs { try edges.followLinks() }
        try settleLinks()
        if hasUnlinked {
            for store in stores { try store.forgetUnlinked() }
            hasUnlinked = false
        }
        for store in stores { try store.flush() }
    }

    /// Puts links that wait into their trees, or removes them. This ends borrowed slices of entries, so a caller that
    /// reads links while it holds some must call this first.
    @inline(__always)
    package func settleLinks() throws {
        if hasWaitingLinks { try edges.settle() }
    }

    /// Runs `body`. If it throws, its changes are undone, and the transaction continues.
    package func nested<Result>(_ body: () throws -> Result) throws -> Result {
        try flush()
        let pending = Dictionary(uniqueKeysWithValues: stores.map { ($0.type.name, $0.pending) })
        let touched = required?.count ?? 0
        let captured = capture?.place
        let former = (schema: schema, adoptions: adoptions)
        let savepoint = try transaction.savepoint()
        do {
            let result = try body()
            try transaction.release(savepoint)
            return result
        } catch {
            counts.removals += 1
            counts.saves += 1
            try transaction.rollback(to: savepoint)
            try transaction.release(savepoint)
            if adoptions != former.adoptions {
                schema = former.schema
                dropStores()
            }
            edges.forget()
            for store in stores { store.forget(keeping: pending[store.type.name] ?? EntityStore.Pending()) }
            required?.forget(downTo: touched)
            if let captured { capture?.goBack(to: captured) }
            throw error
        }
    }

    /// Lets the commit check required relations. From now on the transaction notes the entities to check.
    package func requireRelations() { required = RequiredRelations() }

    /// Throws `.uniqueViolation` if a row that released a unique key still has that key, and another row has got it in
    /// the index.
    /// - Parameter yields: number of rows that had released a key before. They are not checked: they may get their keys
    ///   back later.
    package func checkNothingYielded(since yields: Int) throws {
        for store in stores {
            if let violation = try store.takeBack(since: yields) { throw violation }
        }
    }

    /// Flushes and commits. The transaction ends, even if that fails.
    package func commit() throws { try beginCommit().wait() }

    /// Adds the changes to the log, for consumers that want them. Must be called once, when all is flushed.
    package func logChanges() throws {
        guard let capture, capture.hasLogged else { return }
        try ChangeLog(in: transaction)?.append(try StoreChanges(capture, in: self, withLinks: true), in: self)
    }

    /// Flushes and begins the commit. The caller waits until it is durable.
    /// - Parameter tell: gets the changes, before any other transaction can see them.
    package func beginCommit(telling tell: (CommitChanges) -> Void = { _ in }) throws -> CommitInFlight {
        do {
            try required?.check(self)
            try flush()
            try logChanges()
        } catch {
            transaction.abort()
            throw error
        }
        capture?.changes(of: transaction).map(tell)
        return try transaction.beginCommit()
    }
}

extension StoreTransaction {
    /// Whether the write has changed anything. Flushes first.
    package func hasChanged() throws -> Bool {
        try flush()
        return !transaction.treesChanged.isEmpty
    }
}
