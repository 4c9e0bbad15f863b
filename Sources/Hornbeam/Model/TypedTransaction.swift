// SPDX-License-Identifier: Apache-2.0
// A transaction in terms of entity types: the bridge from the typed layer to the untyped core. All typed code reaches
// storage through here, and here the engine's errors become `HornbeamError`.

import HornbeamPages
import HornbeamTree
import Synchronization

/// One open transaction. Belongs to one thread at a time; `Context` says how that is kept.
package final class TypedTransaction {
    // Without checks of exclusive access: one thread, and these are looked at for every entity that is asked for or
    // saved.
    @exclusivity(unchecked) private var core: StoreTransaction?
    private var failure: HornbeamError?
    /// Types that may be used, by name.
    @exclusivity(unchecked) private var models: ModelSet
    /// The store of a `Context()`, which no database keeps; such a session takes in types as they come.
    private let ownStore: TreeStore?
    /// A store that was asked for.
    private typealias KnownStore = (type: ObjectIdentifier, generation: Int, store: EntityStore)
    /// The last two of them: mostly the next one is among these, also where entities are saved with links to others.
    @exclusivity(unchecked) private var last: KnownStore?
    @exclusivity(unchecked) private var beforeLast: KnownStore?
    /// The thread that may use it: that of the closure which has its context. 0 is any, one at a time: a session of its
    /// own has the thread here that uses it just now. Atomic, for that is what others look at.
    var owner: UInt {
        get { ownerNumber.load(ordering: .relaxed) }
        set { ownerNumber.store(newValue, ordering: .relaxed) }
    }
    private let ownerNumber = Atomic<UInt>(0)
    /// Saves and deletions that are under way, one inside the other: each was asked for by a hook or a resolver of the
    /// one before. Entities nested in a value, and those that a cascade leads to, are part of theirs.
    @exclusivity(unchecked) var depth = 0
    /// The depth of the save or deletion that is undone as a whole if it throws; -1 if there is none.
    @exclusivity(unchecked) private var undoneDepth = -1
    /// How deep in one another the values lie that are being saved or looked at. Those that a hook saves lie deeper
    /// than the one whose hook it is.
    @exclusivity(unchecked) var nesting = 0
    /// What the save that is under way stores, if unique keys change hands in it.
    @exclusivity(unchecked) var batch: UniqueBatch?
    /// What the deletion that is under way takes, where a delete rule may deny it.
    @exclusivity(unchecked) var deleting = EntityRows()
    /// Of which entities the deletion that is under way leaves no `Deleted`.
    @exclusivity(unchecked) var purging = EntityRows()
    /// Takes in what would be checked before a save; nil but while an entity's fingerprint is taken.
    @exclusivity(unchecked) var fingerprint: Fingerprint?

    init(_ core: StoreTransaction, models: ModelSet) {
        self.core = core
        self.models = models
        ownStore = nil
    }

    /// A store in memory with one open transaction that nothing ever commits.
    init() {
        models = ModelSet()
        var opened: TreeStore?
        do {
            let store = try TreeStore.inMemory()
            core = StoreTransaction(try store.beginWrite(), schema: Schema(types: []))
            opened = store
        } catch {
            failure = HornbeamError(error)
        }
        ownStore = opened
    }

    deinit {
        if ownStore != nil { core?.transaction.abort() }
    }

    /// Makes every later use fail: the transaction's slices are gone. A read ends with it.
    func end() {
        if let transaction = core?.transaction, !transaction.isWritable { transaction.abort() }
        core = nil
        forgetStores()
    }

    /// Ends a read so that `resume` can begin it again with the stores it has made; false if it can't. Nobody else may
    /// have the session.
    func suspend(in store: TreeStore) -> Bool {
        guard isKnownUniquelyReferenced(&core), let core, core.canBeginAgain else { return false }
        return store.suspend(core.transaction)
    }

    /// Begins a read anew, of the newest state.
    func resume() throws(StorageError) {
        (depth, undoneDepth, nesting) = (0, -1, 0)
        try core?.resume()
    }

    /// Throws if something that was read may have been zeros in place of a page that can't be read.
    func checkIsWhole() throws(StorageError) { try core?.transaction.checkIsWhole() }

    /// `.schemaMismatch` unless the schema's version is the one given.
    func checkSchemaVersion(_ version: UInt64) throws {
        guard let core, try SchemaCatalogue.version(in: core.transaction) != version else { return }
        throw HornbeamError(
            .schemaMismatch, "another process has changed the schema of the file: open the database anew")
    }

    private func forgetStores() {
        last = nil
        beforeLast = nil
    }

    private func open() throws(HornbeamError) -> StoreTransaction {
        // First: another thread must not even look whether the transaction has ended.
        if owner != 0, owner != ThreadNumber.current { throw foreignUse }
        if let core { return core }
        throw failure
            ?? HornbeamError(.invalid, "the transaction has ended: a context is only good inside its read or write")
    }

    private var foreignUse: HornbeamError {
        if ownStore != nil {
            return HornbeamError(
                .invalid,
                "a Context() was used by two threads at once: let one at a time have it, give each its own, or use "
                    + "Database.inMemory, which any number of threads may read and write")
        }
        return HornbeamError(
            .invalid,
            "a context was used outside of its closure, by another thread: use it in the closure that got it, and hand "
                + "values to other tasks, or have them begin a read of their own")
    }

    /// Takes a session of its own for the calling thread. False if that has it already; throws if another one has.
    @inline(never)
    private func claim() throws(HornbeamError) -> Bool {
        let thread = ThreadNumber.current
        let (isFree, holder) = ownerNumber.compareExchange(expected: 0, desired: thread, ordering: .acquiring)
        guard isFree || holder == thread else { throw foreignUse }
        return isFree
    }

    /// The next thread sees all that this one did.
    private func release() { ownerNumber.store(0, ordering: .releasing) }

    /// The transaction without Swift types.
    package func entities() throws(HornbeamError) -> StoreTransaction { try open() }

    /// Runs `body` and turns the engine's errors into the typed API's; others pass. Inlined, because generic callers
    /// would look up the type of what `body` gives: 300 instructions.
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

    /// Runs a body that changes an entity: in a read the error names it.
    @inline(__always)
    package func change<Result>(
        _ what: String, of entity: @autoclosure () -> String, _ body: (TypedTransaction) throws -> Result
    ) throws -> Result {
        let isClaimed = ownStore == nil ? false : try claim()
        defer { if isClaimed { release() } }
        do {
            return try body(self)
        } catch StorageError.readOnly where core?.transaction.isWritable == false {
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

    var isWritable: Bool {
        get throws { try open().transaction.isWritable }
    }

    /// `.readOnly`, which begins with `what`, in a read.
    func requireWrite(_ what: @autoclosure () -> String) throws {
        guard try isWritable else { throw readOnly(what()) }
    }

    /// More saves and deletions are never under way, one inside the other: no chain of hooks and resolvers uses up a
    /// thread's stack, which may be as small as 512 KiB.
    static let maximumDepth = 32

    /// Counts a save or deletion; who asked for it takes one from `depth` when it is done. `.invalid` if there are too
    /// many, which are all undone then: the write can't be committed, but for a part of it that goes back to its start.
    @inline(__always)
    func descend(_ what: String, of entity: @autoclosure () -> String) throws(HornbeamError) {
        guard depth < Self.maximumDepth else { throw tooDeep("\(entity()) can't be \(what)") }
        depth += 1
    }

    @inline(never)
    private func tooDeep(_ what: String) -> HornbeamError {
        let error = StorageError.invalid(
            "\(what): it would be done within \(Self.maximumDepth) saves and deletions, each asked for by a hook or a "
                + "collision resolver of the one before; look for one that comes back to where it began, or that moves "
                + "entities along one by one")
        core?.transaction.fail(error)
        return HornbeamError(error)
    }

    /// Goes down one level in a value that is saved or looked at; who asked for it takes one from `nesting` when it is
    /// done. `.invalid` if there are too many.
    /// - Parameter failsWrite: whether something of the value has been stored already. Then the write can't be
    ///   committed, but for a part of it that goes back to its start.
    @inline(__always)
    func descend(into what: @autoclosure () -> String, failsWrite: Bool = false) throws(HornbeamError) {
        guard nesting < Nesting.most else { throw tooNested(what(), failsWrite) }
        nesting += 1
    }

    @inline(never)
    private func tooNested(_ what: String, _ failsWrite: Bool) -> HornbeamError {
        let error = StorageError.invalid(Nesting.tooDeep(what))
        if failsWrite { core?.transaction.fail(error) }
        return HornbeamError(error)
    }

    /// Runs `body`; if it throws, undoes what it did, and the transaction goes on.
    func nested<Result>(_ body: () throws -> Result) throws -> Result {
        let core = try open()
        try requireWrite("there are no transactions")
        let former = models
        do {
            return try core.nested(body)
        } catch {
            // A type that was taken in meanwhile is unknown again.
            forgetStores()
            models = former
            throw error
        }
    }

    /// Runs `body` as a whole within the save or deletion that is under way. Nobody catches what throws in it but hooks
    /// and resolvers, whose own saves and deletions are deeper: so it needs no savepoint if it has one already.
    func whole<Result>(_ body: () throws -> Result) throws -> Result {
        if undoneDepth == depth { return try body() }
        let former = undoneDepth
        undoneDepth = depth
        defer { undoneDepth = former }
        return try nested(body)
    }

    // MARK: - Types

    /// Whether an entity with unique indexes can be saved: one that a context without a database takes in as they come
    /// may have some.
    var mayHaveUniqueKeys: Bool { ownStore != nil || models.hasResolvers }

    /// The store of an entity type. `.unregisteredEntity` if the database wasn't opened with it.
    package func store<Entity: EntityModelProtocol>(_: Entity.Type) throws -> EntityStore {
        let core = try open()
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

    private func side<Entity>(_ relation: DeclaredRelation<Entity>) throws -> EdgeSide {
        try store(Entity.self).type.relation(relation.description.name)
    }

    /// The side of a relation by its number. Without a `DeclaredRelation`, which generic code looks the type up for.
    func side<Entity: EntityModelProtocol>(_ number: Int, of _: Entity.Type) throws -> EdgeSide {
        try store(Entity.self).side(number) { Entity.entityShape.description.relations[number].name }
    }

    /// Takes a type in, or throws as `store` does.
    package func take(_ model: (some EntityModelProtocol).Type) throws { _ = try store(model) }

    /// Whether this is a context without a database, which makes what it is asked for.
    package var takesAll: Bool { ownStore != nil }

    // MARK: - Rows

    /// The row of an id; nil also for what can be no id, so that it finds nothing, as by a filter.
    func row<Entity: EntityModelProtocol>(of id: Value, _: Entity.Type) throws -> RowID? {
        try store(Entity.self).rowID(ofAny: id)
    }

    package func id<Entity: EntityModelProtocol>(of row: RowID, _: Entity.Type) throws -> Entity.ID? {
        try id(of: row, in: try store(Entity.self), Entity.self)
    }

    /// The id of a row in a type's store. In line: who asks for many ids asks for the layout of theirs once.
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

    /// A stored row as it is.
    func rowBytes<Entity: EntityModelProtocol>(_ row: RowID, _: Entity.Type) throws -> [UInt8]? {
        try store(Entity.self).row(row).map { Array($0.bytes) }
    }

    func idValue<Entity: EntityModelProtocol>(of row: RowID, _: Entity.Type) throws -> Value? {
        try store(Entity.self).id(of: row)
    }

    package func isStored<Entity: EntityModelProtocol>(_ id: Value, _: Entity.Type) throws -> Bool {
        try storedRow(of: id, Entity.self) != nil
    }

    package func isStored<Entity: EntityModelProtocol>(_ row: RowID, _: Entity.Type) throws -> Bool {
        try store(Entity.self).isSaved(row)
    }

    package func entity<Entity: EntityModelProtocol>(at row: RowID, _: Entity.Type) throws -> Entity? {
        guard let reader = try store(Entity.self).row(row) else { return nil }
        return try Entity(row: reader)
    }

    /// The stored ones of `rows`, in their order.
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

    /// The entities of several lists of rows.
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

    func allIds<Entity: EntityModelProtocol>(_: Entity.Type) throws -> [Entity.ID] {
        try store(Entity.self).allIDs().compactMap { Entity.ID(columnValue: $0) }
    }

    func encode<Entity: EntityModelProtocol>(_ entity: Entity) throws -> [UInt8] {
        var writer = try store(Entity.self).makeRow()
        entity.write(to: &writer)
        return try writer.finish(of: "\(Entity.entityName) \(entity.id)")
    }

    /// Stores the entity and its index entries. Refused saves leave nothing behind.
    func save<Entity: EntityModelProtocol>(_ entity: Entity, time: SavedTime = .stamped) throws -> RowID {
        let store = try store(Entity.self)
        let (bytes, row) = try row(of: entity, in: store)
        try store.save(bytes, row, time: time)
        return row
    }

    /// Saves an entity, unless another one holds one of its unique keys: then it changes nothing and returns nil.
    func saveUnlessHeld<Entity: EntityModelProtocol>(_ entity: Entity) throws -> RowID? {
        let store = try store(Entity.self)
        let (bytes, row) = try row(of: entity, in: store)
        return try store.saveUnlessHeld(bytes, row) == nil ? row : nil
    }

    @inline(__always)
    private func row<Entity: EntityModelProtocol>(of entity: Entity, in store: EntityStore) throws -> ([UInt8], RowID) {
        var writer = store.makeRow()
        entity.write(to: &writer)
        store.stamp(&writer)
        let bytes = try writer.finish(of: "\(Entity.entityName) \(entity.id)")
        return (bytes, try store.ensureRowID(of: entity.id.columnValue, saving: true))
    }

    /// Removes the entity with its index entries and all links from and to it.
    func delete<Entity: EntityModelProtocol>(_ row: RowID, _: Entity.Type) throws {
        try store(Entity.self).delete(row)
    }

    /// Removes the entity and its index entries, and leaves its links.
    func remove<Entity: EntityModelProtocol>(_ ids: [Entity.ID], _: Entity.Type) throws {
        let store = try store(Entity.self)
        for id in ids {
            if let row = try store.rowID(ofAny: id.columnValue) { try store.deleteRow(row) }
        }
    }

    // MARK: - Links

    func linkedRows<Entity>(of row: RowID, _ relation: DeclaredRelation<Entity>) throws -> [RowID] {
        try open().edges.targets(try side(relation), of: row)
    }

    /// The linked rows of several rows, a list for each.
    func links<Entity>(ofEach rows: [RowID], _ relation: DeclaredRelation<Entity>) throws -> LinkLists {
        try open().edges.links(try side(relation), ofEach: rows)
    }

    /// A part of each list of linked rows, of stored entities alone.
    func storedLinks<Entity>(
        ofEach rows: [RowID], _ relation: DeclaredRelation<Entity>, limit: Int, offset: Int
    ) throws -> LinkLists {
        try open().edges.storedLinks(try side(relation), ofEach: rows, offset: offset, limit: limit)
    }

    /// Whether each target has one source at most.
    func isUnshared<Entity>(_ relation: DeclaredRelation<Entity>) throws -> Bool {
        let edges = try open().edges
        return try edges.inverse(of: try side(relation)).map { !$0.isToMany } ?? false
    }

    /// The rows of those among `ids` that a relation leads to, each once.
    func linked<Entity, Target: EntityModelProtocol>(
        _ ids: [Target.ID], _: Target.Type, of row: RowID, _ relation: DeclaredRelation<Entity>
    ) throws -> [RowID] {
        let (store, side) = (try store(Target.self), try side(relation))
        var found: [RowID] = []
        var seen: Set<RowID> = []
        for id in ids {
            guard let target = try store.rowID(ofAny: id.columnValue), try open().edges.contains(side, row, target),
                seen.insert(target).inserted
            else { continue }
            found.append(target)
        }
        return found
    }

    /// The ids of rows, of entities that aren't stored too.
    package func ids<ID: IndexKey>(of rows: [RowID], _ store: EntityStore) throws -> [ID] {
        // A loop: what maps in generic code goes through tables of functions.
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

    /// Row ids for ids that are linked, stored or not.
    func rowsToLink<Target: EntityModelProtocol>(_ ids: [Target.ID], _: Target.Type) throws -> [RowID] {
        let store = try store(Target.self)
        // Nearly always one: to grow a list for it takes three times as long.
        if ids.count == 1 { return [try store.ensureRowID(of: ids[0].columnValue)] }
        var rows: [RowID] = []
        rows.reserveCapacity(ids.count)
        for id in ids { rows.append(try store.rowToLink(id.columnValue, after: rows)) }
        return rows
    }

    /// The rows of ids that are given as values.
    func rowsToLink<Target: EntityModelProtocol>(_ ids: [Value], _: Target.Type) throws -> [RowID] {
        let store = try store(Target.self)
        var rows: [RowID] = []
        for id in ids { rows.append(try store.rowToLink(id, after: rows)) }
        return rows
    }

    /// The row of an entity that is stored; nil if none is.
    func storedRow<Entity: EntityModelProtocol>(of id: Value, _: Entity.Type) throws -> RowID? {
        let store = try store(Entity.self)
        return try store.rowID(ofAny: id).flatMap { try store.isSaved($0) ? $0 : nil }
    }

    func setLinks<Entity>(_ rows: [RowID], of row: RowID, _ relation: DeclaredRelation<Entity>) throws {
        try setLinks(rows, of: row, try side(relation))
    }

    func setLinks(_ rows: [RowID], of row: RowID, _ side: EdgeSide) throws {
        try open().edges.set(side, row, rows)
    }

    func appendLinks(_ rows: [RowID], of row: RowID, _ side: EdgeSide) throws {
        for target in rows { try open().edges.append(side, row, target) }
    }

    func removeLinks<Entity>(_ rows: [RowID], of row: RowID, _ relation: DeclaredRelation<Entity>) throws {
        let side = try side(relation)
        for target in rows { try open().edges.remove(side, row, target) }
    }

    // MARK: - Queries

    func rows<Entity: EntityModelProtocol>(_ query: EntityQuery, of _: Entity.Type) throws -> [RowID] {
        _ = try store(Entity.self)
        return try open().rowIDs(query)
    }

    /// The entities of a query that isn't one for a `PointLookup`, read while it runs.
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

    func ranked<Entity: EntityModelProtocol>(
        _ query: EntityQuery, of _: Entity.Type
    ) throws -> [(rowID: RowID, score: Double)] {
        _ = try store(Entity.self)
        return try open().ranked(query)
    }

    func count<Entity: EntityModelProtocol>(_ query: EntityQuery, of _: Entity.Type) throws -> Int {
        _ = try store(Entity.self)
        return try open().count(query)
    }

    func lastRow<Entity: EntityModelProtocol>(_ query: EntityQuery, of _: Entity.Type) throws -> RowID? {
        _ = try store(Entity.self)
        return try open().lastRow(query)
    }

    func analysis<Entity: EntityModelProtocol>(_ query: EntityQuery, of _: Entity.Type) throws -> PlanRun {
        _ = try store(Entity.self)
        return try open().analysis(query)
    }

    /// - Parameter asOne: whether rows that are equal in what is needed of them may come as one.
    func plan<Entity: EntityModelProtocol>(
        _ query: EntityQuery, of _: Entity.Type, asOne: Bool = false
    ) throws -> Plan {
        var query = query
        query.placesRows = !asOne
        return try Planner(query, try store(Entity.self)).explanation(asOne: asOne)
    }

    func check(registered: RegisteredIndexes? = nil, report: (String) -> Void) throws -> Bool {
        try EntityCheck(try open(), registered: registered).run(report: report)
    }
}
