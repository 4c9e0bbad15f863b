// SPDX-License-Identifier: Apache-2.0
// A transaction in terms of entity types: the bridge from the typed layer to the untyped core. All typed code reaches
// storage through here, and here the engine's errors become `HornbeamError`.

import HornbeamPages
import HornbeamTree
import Synchronization

/// One open transaction. Belongs to one thread at a time, which `Context` ensures.
package final class TypedTransaction {
    // Without checks of exclusive access: one thread uses these, for every entity that is read or saved.
    @exclusivity(unchecked) private var current: StoreTransaction?
    private var failure: HornbeamError?
    /// Types that may be used, by name.
    @exclusivity(unchecked) private var models: ModelSet
    /// The store of a `Context()`, nil with a database. A session with its own store registers types when they are
    /// used.
    private let ownStore: TreeStore?
    /// A store that was looked up.
    private typealias KnownStore = (type: ObjectIdentifier, generation: Int, store: EntityStore)
    /// The last two of them. The next one is usually among these, even when entities are saved with links to others.
    @exclusivity(unchecked) private var last: KnownStore?
    @exclusivity(unchecked) private var beforeLast: KnownStore?
    /// The thread that may use it: the thread of the closure that got its context. 0 means any thread, one at a time:
    /// the session of a `Context()` sets the thread that is using it now. Atomic, because other threads read it.
    var owner: UInt {
        get { ownerNumber.load(ordering: .relaxed) }
        set { ownerNumber.store(newValue, ordering: .relaxed) }
    }
    private let ownerNumber = Atomic<UInt>(0)
    @exclusivity(unchecked) var running = RunningSave()
    /// Whether deleted entities of all types are kept.
    let keepsDeleted: Bool

    init(_ core: StoreTransaction, models: ModelSet, keepsDeleted: Bool = false) {
        current = core
        self.models = models
        self.keepsDeleted = keepsDeleted
        ownStore = nil
    }

    /// A store in memory with one open transaction that nothing ever commits.
    init() {
        models = ModelSet()
        keepsDeleted = true
        var opened: TreeStore?
        do {
            let store = try TreeStore.inMemory()
            current = StoreTransaction(try store.beginWrite(), schema: Schema(types: []))
            opened = store
        } catch {
            failure = HornbeamError(error)
        }
        ownStore = opened
    }

    deinit {
        if ownStore != nil { current?.transaction.abort() }
    }

    /// Makes every later use fail: the transaction's slices are gone. A read ends with it.
    func end() {
        if let transaction = current?.transaction, !transaction.isWritable { transaction.abort() }
        current = nil
        forgetStores()
    }

    /// Ends a read so that `resume` can begin it again with the stores it has made. Returns false if that is
    /// impossible. The session must have no other users.
    func suspend() -> Bool {
        guard isKnownUniquelyReferenced(&current), let current, current.canBeginAgain else { return false }
        return current.transaction.suspend()
    }

    /// Begins a suspended read again, of the newest state.
    func resume() throws(StorageError) { try current?.resume() }

    /// From now on the read can't be ended early from outside.
    func forgetInterruption() { current?.transaction.interruption = nil }

    /// Throws if a part of what was read may be zeros instead of an unreadable page.
    func checkIsWhole() throws(StorageError) { try current?.transaction.checkIsWhole() }

    /// Throws `.schemaMismatch` unless the schema has the given version.
    func checkSchemaVersion(_ version: UInt64) throws {
        guard let current, try SchemaCatalogue.version(in: current.transaction) != version else { return }
        throw HornbeamError(
            .schemaMismatch, "another process has changed the schema of the file: open the database anew")
    }

    private func forgetStores() {
        last = nil
        beforeLast = nil
    }

    /// The transaction without Swift types.
    package var core: StoreTransaction {
        get throws(HornbeamError) {
            // Checked first: another thread must not even read whether the transaction has ended.
            if owner != 0, owner != ThreadNumber.current { throw foreignUse }
            if let current { return current }
            throw failure
                ?? HornbeamError(
                    .invalid, "the transaction has ended: a context is valid only inside its read or write")
        }
    }

    /// The transaction without Swift types, for queries of a type. Throws as `store` does.
    func core<Entity: EntityModelProtocol>(for _: Entity.Type) throws -> StoreTransaction {
        _ = try store(Entity.self)
        return try core
    }

    private var foreignUse: HornbeamError {
        if ownStore != nil {
            return HornbeamError(
                .invalid,
                "a Context() was used by two threads at once: use it in one at a time, give each its own, or use "
                    + "Database.inMemory, which any number of threads may read and write")
        }
        return HornbeamError(
            .invalid,
            "a context was used outside of its closure, by another thread: use it in the closure that got it, and hand "
                + "values to other tasks, or have them begin a read of their own")
    }

    /// Claims the session of a `Context()` for the calling thread. Returns false if the thread has it already. Throws
    /// if another one has it.
    @inline(never)
    private func claim() throws(HornbeamError) -> Bool {
        let thread = ThreadNumber.current
        let (isFree, holder) = ownerNumber.compareExchange(expected: 0, desired: thread, ordering: .acquiring)
        guard isFree || holder == thread else { throw foreignUse }
        return isFree
    }

    /// Releases the session. The next thread sees all changes of this one.
    private func release() { ownerNumber.store(0, ordering: .releasing) }

    /// Runs `body` and converts the engine's errors to the typed API's. Other errors are passed on. Inlined, because
    /// generic callers would look up the type of the result, which takes 300 instructions.
    @inline(__always)
    package func run<Result>(_ body: (TypedTransaction) throws -> Result) throws -> Result {
        let isClaimed = ownStore == nil ? false : try claim()
        defer { if isClaimed { release() } }
        do {
            return try body(self)
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// Runs a body that changes an entity. In a read it throws an error that names the entity.
    @inline(__always)
    package func change<Result>(
        _ what: String, of entity: @autoclosure () -> String, _ body: (TypedTransaction) throws -> Result
    ) throws -> Result {
        let isClaimed = ownStore == nil ? false : try claim()
        defer { if isClaimed { release() } }
        do {
            return try body(self)
        } catch StorageError.readOnly where current?.transaction.isWritable == false {
            throw readOnly("\(entity()) can't be \(what)")
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    private func readOnly(_ what: String) -> HornbeamError {
        HornbeamError(
            .readOnly,
            "\(what) in the context of a read: do it inside database.write { context in … }, with its context")
    }

    package var isWritable: Bool {
        get throws { try core.transaction.isWritable }
    }

    /// Throws `.readOnly`, with a message that begins with `what`, in a read.
    func requireWrite(_ what: @autoclosure () -> String) throws {
        guard try isWritable else { throw readOnly(what()) }
    }

    /// Returns the error of a save that is refused. If something of it has been stored already, the whole write fails.
    @inline(never)
    func refused(_ message: String, failsWrite: Bool) -> HornbeamError {
        let error = StorageError.invalid(message)
        if failsWrite { current?.transaction.fail(error) }
        return HornbeamError(error)
    }

    /// Runs `body`. If it throws, its changes are undone, and the transaction continues.
    func nested<Result>(_ body: () throws -> Result) throws -> Result {
        let core = try core
        try requireWrite("there are no transactions")
        let former = models
        do {
            return try core.nested(body)
        } catch {
            // A type that was registered meanwhile is unknown again.
            forgetStores()
            models = former
            throw error
        }
    }

    // MARK: - Types

    /// Whether an entity with unique indexes may be saved. Always true in a context without a database, which registers
    /// types when they are used.
    var mayHaveUniqueKeys: Bool { ownStore != nil || models.hasResolvers }

    /// Returns the store of an entity type. Throws `.unregisteredEntity` if the database wasn't opened with it.
    package func store<Entity: EntityModelProtocol>(_: Entity.Type) throws -> EntityStore {
        let core = try core
        if let last, last.type == ObjectIdentifier(Entity.self), last.generation == core.generation {
            return last.store
        }
        if let beforeLast, beforeLast.type == ObjectIdentifier(Entity.self), beforeLast.generation == core.generation {
            return beforeLast.store
        }
        if models.contains(Entity.self) {
            let store = try core.store(Entity.entityName)
            beforeLast = last
            last = (ObjectIdentifier(Entity.self), core.generation, store)
            return store
        }
        guard ownStore != nil else {
            throw HornbeamError(
                .unregisteredEntity,
                "the database was opened without \(Entity.entityName): name it among the models")
        }
        try models.insert(Entity.self)
        try core.flush()
        if let schema = try SchemaCatalogue.open(models.descriptions, in: core.transaction) { try core.adopt(schema) }
        return try core.store(Entity.entityName)
    }

    /// Whether deleted entities of a type are kept.
    func keepsDeleted(ofType name: String) -> Bool { keepsDeleted || models.model(name)?.keepsDeleted == true }

    func side<Entity>(_ relation: DeclaredRelation<Entity>) throws -> EdgeSide {
        try store(Entity.self).type.relation(relation.description.name)
    }

    /// Returns the side of a relation by its number. Without a `DeclaredRelation`, because generic code would look up
    /// its type.
    func side<Entity: EntityModelProtocol>(_ number: Int, of _: Entity.Type) throws -> EdgeSide {
        try store(Entity.self).side(number) { Entity.entityShape.description.relations[number].name }
    }

    /// Whether this is a context without a database, which creates missing types and indexes.
    package var takesAll: Bool { ownStore != nil }

    // MARK: - Rows

    package func id<Entity: EntityModelProtocol>(of row: RowID, _: Entity.Type) throws -> Entity.ID? {
        try id(of: row, in: try store(Entity.self), Entity.self)
    }

    /// Returns the id of a row in a type's store. Inlined, so that a caller that reads many ids looks up the layout of
    /// ids once.
    @inline(__always)
    func id<Entity: EntityModelProtocol>(
        of row: RowID, in store: EntityStore, _: Entity.Type
    ) throws -> Entity.ID? {
        guard let value = try store.id(of: row) else { return nil }
        guard let id = Entity.ID(columnValue: value) else {
            throw HornbeamError(
                .undecodable,
                "\(Entity.entityName) \(value.text): its id is no \(Entity.ID.self), as the model declares it; "
                    + "declare the type that was stored")
        }
        return id
    }

    package func entity<Entity: EntityModelProtocol>(at row: RowID, _: Entity.Type) throws -> Entity? {
        guard let reader = try store(Entity.self).row(row) else { return nil }
        return try Entity(row: reader)
    }

    /// Returns the stored entities of `rows`, in their order.
    /// - Parameter stored: gets their rows, if it isn't nil.
    package func entities<Entity: EntityModelProtocol>(at rows: [RowID], stored: inout [RowID]?) throws -> [Entity] {
        let store = try store(Entity.self)
        stored?.reserveCapacity(rows.count)
        return try Entity._entities(rows.count) { read in
            try store.forEach(rows) { place, row in
                guard let row else { return }
                try read(row)
                stored?.append(rows[place])
            }
        }
    }

    /// Returns the entities of several lists of rows.
    func entities<Entity: EntityModelProtocol>(of lists: LinkLists, stored: inout [RowID]?) throws -> [[Entity]] {
        let store = try store(Entity.self)
        let rows = lists.targets
        stored?.reserveCapacity(rows.count)
        return try Entity._lists(ends: lists.ends) { read in
            try store.forEach(rows) { place, row in
                guard let row else { return }
                try read(place, row)
                stored?.append(rows[place])
            }
        }
    }

    func entity<Entity: EntityModelProtocol>(_ id: Entity.ID, _: Entity.Type) throws -> Entity? {
        let store = try store(Entity.self)
        guard let row = try store.rowID(ofAny: id.columnValue), let reader = try store.row(row) else { return nil }
        return try Entity(row: reader)
    }

    func encode<Entity: EntityModelProtocol>(_ entity: Entity) throws -> [UInt8] {
        let store = try store(Entity.self)
        var writer = store.makeRow()
        entity.write(to: &writer)
        if !store.type.linkedIDs.isEmpty { try setLinkedIDs(of: entity, &writer, in: store) }
        return try writer.finish(of: "\(Entity.entityName) \(entity.id)")
    }

    /// Stores the entity and its index entries. If the save is refused, nothing is changed.
    /// - Parameter isLinked: whether the links of the value are made next.
    func save<Entity: EntityModelProtocol>(
        _ entity: Entity, time: SavedTime = .stamped, isLinked: Bool = true
    ) throws -> RowID {
        let store = try store(Entity.self)
        let (bytes, row) = try row(of: entity, in: store)
        try store.save(bytes, row, time: time, hasLinkedIDs: isLinked)
        return row
    }

    /// Saves an entity and returns its row. Returns nil, with nothing changed, if another entity holds one of its
    /// unique keys.
    func saveUnlessHeld<Entity: EntityModelProtocol>(_ entity: Entity) throws -> RowID? {
        let store = try store(Entity.self)
        let (bytes, row) = try row(of: entity, in: store)
        return try store.saveUnlessHeld(bytes, row, hasLinkedIDs: true) == nil ? row : nil
    }

    @inline(__always)
    private func row<Entity: EntityModelProtocol>(of entity: Entity, in store: EntityStore) throws -> ([UInt8], RowID) {
        var writer = store.makeRow()
        entity.write(to: &writer)
        store.stamp(&writer)
        if !store.type.linkedIDs.isEmpty { try setLinkedIDs(of: entity, &writer, in: store) }
        let bytes = try writer.finish(of: "\(Entity.entityName) \(entity.id)")
        return (bytes, try store.ensureRowID(of: entity.id.columnValue, saving: true))
    }

    /// Writes the ids of related entities that indexes need, as they will be when the value's relations are saved.
    @inline(never)
    private func setLinkedIDs<Entity: EntityModelProtocol>(
        of entity: Entity, _ writer: inout RowWriter, in store: EntityStore
    ) throws {
        let (shape, id) = (Entity.entityShape, entity.id.columnValue)
        let link = running.pendingLink.flatMap { $0.type == store.type.name && $0.entity == id ? $0 : nil }
        try store.setLinkedIDs(&writer, try store.rowID(ofAny: id), pending: link) { side in
            guard let relation = shape.relations.first(where: { $0.description.name == side.name }) else { return nil }
            return relation.access.ids(entity).map { $0.first ?? .null }
        }
    }

    /// Removes entities and their index entries. Their links stay.
    func remove<Entity: EntityModelProtocol>(_ ids: [Entity.ID], _: Entity.Type) throws {
        let store = try store(Entity.self)
        for id in ids {
            if let row = try store.rowID(ofAny: id.columnValue) { try store.deleteRow(row) }
        }
    }

    // MARK: - Links

    /// Returns the distinct rows among `ids` that a relation leads to.
    func linked<Entity, Target: EntityModelProtocol>(
        _ ids: [Target.ID], _: Target.Type, of row: RowID, _ relation: DeclaredRelation<Entity>
    ) throws -> [RowID] {
        let (store, side) = (try store(Target.self), try side(relation))
        var found: [RowID] = []
        var seen: Set<RowID> = []
        for id in ids {
            guard let target = try store.rowID(ofAny: id.columnValue), try core.edges.contains(side, row, target),
                seen.insert(target).inserted
            else { continue }
            found.append(target)
        }
        return found
    }

    /// Returns the ids of rows, including those of entities that aren't stored.
    package func ids<ID: IndexKey>(of rows: [RowID], _ store: EntityStore) throws -> [ID] {
        // A loop: generic code calls `map` through tables of functions.
        var ids: [ID] = []
        ids.reserveCapacity(rows.count)
        for row in rows {
            guard let value = try store.id(of: row) else { continue }
            guard let id = ID(columnValue: value) else {
                throw HornbeamError(
                    .undecodable, "the id \(value.text) of \(store.type.name.withArticle) is no \(ID.self)")
            }
            ids.append(id)
        }
        return ids
    }

    /// Returns row ids for ids that are linked. Their entities need not be stored.
    func rowsToLink<Target: EntityModelProtocol>(_ ids: [Target.ID], _: Target.Type) throws -> [RowID] {
        let store = try store(Target.self)
        // There is nearly always one, and growing a list for it takes three times as long.
        if ids.count == 1 { return [try store.ensureRowID(of: ids[0].columnValue)] }
        var rows: [RowID] = []
        rows.reserveCapacity(ids.count)
        for id in ids { rows.append(try store.rowToLink(id.columnValue, after: rows)) }
        return rows
    }

    /// Returns the rows of ids that are given as values.
    func rowsToLink<Target: EntityModelProtocol>(_ ids: [Value], _: Target.Type) throws -> [RowID] {
        let store = try store(Target.self)
        var rows: [RowID] = []
        for id in ids { rows.append(try store.rowToLink(id, after: rows)) }
        return rows
    }

    /// Returns the row of a stored entity, or nil if none is stored.
    package func storedRow<Entity: EntityModelProtocol>(of id: Value, _: Entity.Type) throws -> RowID? {
        let store = try store(Entity.self)
        return try store.rowID(ofAny: id).flatMap { try store.isSaved($0) ? $0 : nil }
    }

    // MARK: - Queries

    /// Returns the entities of a query that no `PointLookup` answers. They are read while it runs.
    /// - Parameter rows: gets their rows, if it isn't nil.
    func entities<Entity: EntityModelProtocol>(
        _ query: consuming EntityQuery, rows: inout [RowID]?
    ) throws -> [Entity] {
        let store = try store(Entity.self)
        query.placesRows = true
        let executor = try Executor(query, store)
        if let order = try executor.order() {
            if rows != nil { rows = order }
            let entities: [Entity] = try self.entities(placed: order, store)
            guard entities.count == order.count else {
                throw store.corrupt("e:\(store.type.name)", "an index names a row that isn't there")
            }
            return entities
        }
        return try Entity._entities(executor.expectedCount) { read in
            try executor.run(needsRows: true) { row, reader, _ in
                guard let reader else { return true }
                try read(reader)
                rows?.append(row)
                return true
            }
        }
    }

    /// - Parameter asOne: whether rows that are equal in the needed columns may be returned as one.
    func plan<Entity: EntityModelProtocol>(
        _ query: EntityQuery, of _: Entity.Type, asOne: Bool = false
    ) throws -> Plan {
        var query = query
        query.placesRows = !asOne
        return try Planner(query, try store(Entity.self)).explanation(asOne: asOne)
    }
}
