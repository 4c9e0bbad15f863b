// SPDX-License-Identifier: Apache-2.0
// The rows of one entity type in one transaction: ids, rows, and the indexes that follow them. A save works out and
// checks everything before it changes anything, so a refused save leaves nothing behind.

import FoundationEssentials
import HornbeamKeys
package import HornbeamPages
import HornbeamText
package import HornbeamTree

/// One entity type in one transaction. Made by `StoreTransaction.store`. It also holds caches of writers, searches and
/// queries, which live as long: a transaction has one store for each type.
package final class EntityStore {
    package let type: EntityType
    // The transaction owns its stores and outlives every use of them.
    package unowned let core: StoreTransaction
    package let transaction: Transaction
    private var nextRowID: UInt64?
    private var nextRowIDChanged = false
    /// Row ids handed out for saves that have not happened yet, by the key of the id. They aren't in the trees, so that
    /// a refused save leaves nothing behind.
    private var reserved: [[UInt8]: RowID] = [:]
    /// The rows that saves in this transaction know to be stored, or not, without a look-up.
    @exclusivity(unchecked) private var known = RowCache()
    /// Entries of unique indexes that their rows have released for others in the same batch. Empty outside of a batch.
    var yielded = ReleasedKeys()
    @exclusivity(unchecked) var unlinked = UnlinkedRows()
    private var textWriters: [TextIndexWriter?]
    /// The searchers of the full-text indexes that were searched.
    @exclusivity(unchecked) private var searchers: [TextSearcher?] = []
    /// The selections of rows that searches were restricted to.
    @exclusivity(unchecked) var selections = RowSelectionCache()
    /// The sides of relations that were used, by their numbers.
    @exclusivity(unchecked) private var sides: [EdgeSide?] = []
    /// Collects the transaction's changes, if there are observers.
    private let capture: RowCapture?
    /// The registered indexes of the type, nil if it has none, as in a read.
    private let registered: TypeIndexes?
    /// The watch over the transaction's queries, nearly always nil. A copy of the transaction's, because each query
    /// reads it.
    let queryWatch: QueryWatch?
    /// Whether these are the rows of a registered index. Rows of entities have other columns and other indexes.
    let isTable: Bool
    /// The registered indexes that queries may use, with the state for which they are valid.
    @exclusivity(unchecked) private var usable: UsableIndexes?

    /// The side of a relation by the number that its model gives it.
    /// - Parameter name: of that relation.
    package func side(_ number: Int, name: () -> String) throws(HornbeamError) -> EdgeSide {
        if number < sides.count, let side = sides[number] { return side }
        let side = try type.relation(name())
        while sides.count <= number { sides.append(nil) }
        sides[number] = side
        return side
    }

    package init(type: EntityType, core: StoreTransaction, isTable: Bool = false) {
        self.type = type
        self.isTable = isTable
        self.core = core
        transaction = core.transaction
        capture = core.capture
        queryWatch = core.queryWatch
        registered = transaction.isWritable ? core.registered?.indexes(of: type.name) : nil
        textWriters = type.textIndexes.map { _ in nil }
    }

    /// The indexes that queries may use: declared ones, and registered ones that are complete in this state.
    package var queryIndexes: [EntityIndex] {
        @inline(__always) get throws {
            guard let registered = queriedIndexes else { return type.queriedIndexes }
            return try usable(of: registered).rows
        }
    }

    /// The indexes of elements of arrays that queries may use.
    package var elementIndexes: [ElementIndex] {
        get throws { try queriedIndexes.map { try usable(of: $0).elements } ?? [] }
    }

    private var queriedIndexes: RegisteredIndexes? { isTable ? nil : core.queriedIndexes }

    private func usable(of registered: RegisteredIndexes) throws -> UsableIndexes {
        if let usable, usable.isCurrent(registered, in: transaction) { return usable }
        let indexes = try UsableIndexes(registered, of: type, in: transaction)
        usable = indexes
        return indexes
    }

    // MARK: Rows

    /// The number of saved entities. O(1).
    package func count() throws -> Int {
        Int(entries: try transaction.count(type.rows))
    }

    /// Whether links may lead to entities that aren't stored.
    func mayMiss() throws -> Bool {
        try transaction.count(type.unsaved) > 0
    }

    package func isSaved(_ rowID: RowID) throws -> Bool {
        try rowBytes(rowID) != nil
    }

    /// Whether the row id belongs to a saved entity, or to one that is only referred to.
    package func isKnown(_ rowID: RowID) throws -> Bool {
        if try isSaved(rowID) { return true }
        return try transaction.get(type.unsaved, rowID) != nil
    }

    /// The row, or nil if there is none. It is valid until the transaction changes or ends.
    package func row(_ rowID: RowID) throws -> RowReader? {
        guard let bytes = try rowBytes(rowID) else { return nil }
        return try RowReader(bytes, of: type)
    }

    @inline(__always)
    private func rowBytes(_ rowID: RowID) throws(StorageError) -> Bytes? {
        try transaction.get(type.rows, rowID)
    }

    /// A writer for a row of this type.
    package func makeRow() -> RowWriter { RowWriter(layout: type.layout) }

    /// Calls `body` with each saved row, in the order of row ids, until it returns false. `body` must not change the
    /// store.
    package func forEachRow(skipping skipped: Int = 0, _ body: (RowID, RowReader) throws -> Bool) throws {
        try forEachRow(from: [], to: [], skipping: skipped, body)
    }

    /// Calls `body` with each row whose key lies in a range, until it returns false. An empty bound is an open end.
    /// Skipped rows are not read.
    func forEachRow(
        from: [UInt8], to: [UInt8], skipping skipped: Int = 0, _ body: (RowID, RowReader) throws -> Bool
    ) throws {
        let end = to.isEmpty ? nil : to.withUnsafeBytes { RowID(key: $0) }
        var cursor = try transaction.cursor(type.rows)
        var isValid = try from.isEmpty ? cursor.first() : cursor.seek(from)
        if skipped > 0, isValid {
            let start = from.isEmpty ? 0 : try transaction.count(type.rows, from: [], to: from)
            // Counts may be damaged.
            let (place, overflow) = start.addingReportingOverflow(UInt64(skipped))
            isValid = overflow ? false : try cursor.seek(index: place)
        }
        while isValid, let entry = try cursor.entry() {
            guard entry.key.count == 8, let rowID = RowID(key: entry.key) else {
                throw corrupt("e:\(type.name)", "a key is no row id")
            }
            if let end, rowID >= end { return }
            guard try body(rowID, try RowReader(entry.value, of: type)) else { return }
            isValid = try cursor.next()
        }
    }

    /// All ids of saved entities, in the order of their row ids.
    package func allIDs() throws -> [Value] {
        var ids: [Value] = []
        try forEachRow { _, row in
            ids.append(try row.value(0))
            return true
        }
        return ids
    }

    package func corrupt(_ tree: String, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: tree, reason: reason))
    }

    // MARK: Saving and deleting

    /// Entities other than `rowID` that hold a unique key of `row`.
    package func uniqueConflicts(
        _ row: [UInt8], rowID: RowID
    ) throws -> [(index: IndexDescription, rowID: RowID)] {
        try row.withUnsafeBytes { bytes in
            let new = try RowReader(bytes, of: type)
            let changes = try IndexChanges(of: type, from: try self.row(rowID), to: new)
            return try conflicts(of: new, rowID, changes)
        }
    }

    /// Inserts or replaces a row and updates its indexes; relations are left alone. If another entity holds one of its
    /// unique keys, throws `.uniqueViolation` and changes nothing. Undeclared columns of a replaced row keep their
    /// values. If the stored row differs only in the time of the save, it is left alone.
    /// - Parameters:
    ///   - hasNoCounterpart: whether it is known that the type's counterpart has no entity of this id.
    ///   - hasLinkedIDs: whether `setLinkedIDs` has written the row; if not, its links stay as they are.
    package func save(
        _ row: [UInt8], _ rowID: RowID, time: SavedTime = .stamped, hasNoCounterpart: Bool = false,
        hasLinkedIDs: Bool = false
    ) throws {
        let held = try saveUnlessHeld(row, rowID, time, hasNoCounterpart, hasLinkedIDs: hasLinkedIDs)
        guard let (index, other) = held else { return }
        throw try row.withUnsafeBytes { try violation(index, of: try RowReader($0, of: type), by: other) }
    }

    /// Saves like `save`, unless another entity holds a unique key of the row: then it changes nothing, and returns the
    /// first such index and that entity.
    package func saveUnlessHeld(
        _ row: [UInt8], _ rowID: RowID, _ time: SavedTime = .stamped, _ hasNoCounterpart: Bool = false,
        hasLinkedIDs: Bool = false
    ) throws -> (index: IndexDescription, rowID: RowID)? {
        var row = row
        // This comes before rows are read: looking at links may move them.
        if !type.linkedIDs.isEmpty, !hasLinkedIDs { row = try withLinkedIDs(row, rowID) }
        let old = try known.isMissing(rowID, in: self) ? nil : self.row(rowID)
        if type.isCounted { row = try counted(row, after: old) }
        if let old, let whole = try keeping(old, row) { row = whole }
        if !type.linkedIDs.isEmpty, time == .stamped, let old, let same = try relinked(row, old) { row = same }
        if let old, try isLeft(row, as: old, time) {
            try endSave(row, rowID, hasNoCounterpart)
            return nil
        }
        if let held = try put(row, rowID, over: old, remembers: !hasNoCounterpart) { return held }
        try endSave(row, rowID, hasNoCounterpart)
        return nil
    }

    /// Replaces a row with another one, and updates its indexes. If another entity holds a unique key of the row,
    /// changes nothing and returns the first such index and that entity.
    /// - Parameter remembers: whether to cache that the row exists.
    func put(
        _ row: [UInt8], _ rowID: RowID, over old: RowReader?, remembers: Bool = true
    ) throws -> (index: IndexDescription, rowID: RowID)? {
        let held: (index: IndexDescription, rowID: RowID)?
        let (changes, newID): (IndexChanges, Value?)
        var followed: RegisteredChanges?
        (held, changes, newID) = try row.withUnsafeBytes { bytes in
            let new = try RowReader(bytes, of: type)
            let changes = try IndexChanges(of: type, from: old, to: new)
            if let held = try conflicts(of: new, rowID, changes).first { return (held, changes, nil) }
            followed = try registered?.changes(rowID, from: old, to: new)
            capture?.note(rowID, in: type.rows, old: old)
            // An id that is its own row id is not in the tree of ids.
            let isNew = try old == nil && (rowID >= RowID.firstAssigned || mayMiss())
            return (nil, changes, isNew ? try new.value(0) : nil)
        }
        if let held { return held }
        try prepareTexts(changes)
        try row.withBytes { (row) throws(StorageError) in
            try transaction.put(type.rows, RowKey(rowID), row)
        }
        core.watch?.note(rowID, in: type.rows)
        // Rows of deleted entities are saved while rows are removed: they are not worth caching.
        known.note(rowID, removals: core.counts.removals, remembers: remembers)
        if let newID { try settle(newID, rowID) }
        try row.withUnsafeBytes { try follow(changes, followed, rowID, $0) }
        return nil
    }

    /// Reports to observers that a row which was just saved counts as changed.
    package func noteTouch(_ rowID: RowID) { capture?.noteTouch(rowID, in: type.rows) }

    /// Brings the ids up to date for an entity that was just saved for the first time.
    private func settle(_ id: Value, _ rowID: RowID) throws {
        if rowID < RowID.firstAssigned {
            _ = try transaction.delete(type.unsaved, RowKey(rowID))
            return
        }
        let key = try idKey(id)
        if reserved.removeValue(forKey: key) != nil {
            try transaction.put(type.ids, key, rowID.stored)
        } else {
            _ = try transaction.delete(type.unsaved, rowID.key)
        }
    }

    /// Removes an entity: row, index entries, links from and to it, and its id. Returns false if it was not saved; even
    /// then its links and its id are removed.
    @discardableResult
    package func delete(_ rowID: RowID) throws -> Bool {
        let id = try self.id(of: rowID)
        let wasSaved = try removeRow(rowID)
        try core.edges.removeAll(of: type, rowID)
        try core.edges.followLinks()
        if let id, RowID(integerID: id) == nil { _ = try transaction.delete(type.ids, try idKey(id)) }
        if !wasSaved, try transaction.delete(type.unsaved, RowKey(rowID)) {
            // A caller may hold its row id to link it.
            core.counts.removals += 1
        }
        return wasSaved
    }

    /// Removes a row and its index entries. Links stay, as links to an entity that is not stored.
    @discardableResult
    package func deleteRow(_ rowID: RowID) throws -> Bool {
        guard let id = try self.id(of: rowID), try removeRow(rowID) else { return false }
        let isAssigned = rowID >= RowID.firstAssigned
        if try core.edges.isLinked(type, rowID) {
            var bytes: [UInt8] = []
            if isAssigned { _ = ValueBytes.append(id, as: type.idType, to: &bytes) }
            try transaction.put(type.unsaved, rowID.key, bytes)
            noteUnsaved()
        } else if isAssigned {
            _ = try transaction.delete(type.ids, try idKey(id))
        }
        return true
    }

    private func removeRow(_ rowID: RowID) throws -> Bool {
        if capture == nil, !type.hasIndexes, registered == nil {
            // The old row is not needed.
            guard try transaction.delete(type.rows, RowKey(rowID)) else { return false }
            core.counts.removals += 1
            core.watch?.note(rowID, in: type.rows)
            return true
        }
        guard let old = try row(rowID) else { return false }
        let changes = try IndexChanges(of: type, from: old, to: nil)
        let followed = try registered?.changes(rowID, from: old, to: nil)
        // This comes before the indexes: a writer of a full-text index may write as it begins, which moves the row.
        capture?.note(rowID, in: type.rows, old: old)
        try prepareTexts(changes)
        core.counts.removals += 1
        _ = try transaction.delete(type.rows, RowKey(rowID))
        core.watch?.note(rowID, in: type.rows)
        try follow(changes, followed, rowID, Bytes(start: nil, count: 0))
        return true
    }

    /// Updates the indexes after a row was put or removed. If that fails, the write can't be committed.
    /// - Parameter row: the new row, if a text is to be read in it.
    private func follow(
        _ changes: IndexChanges, _ followed: RegisteredChanges?, _ rowID: RowID, _ row: Bytes
    ) throws {
        do {
            try apply(changes, rowID, row)
            try followed?.apply(rowID, in: transaction)
        } catch {
            let reason = "an index of \(type.name) can't be updated for \(rowID): \(error)"
            transaction.fail(error as? StorageError ?? .invalid(reason))
            throw error
        }
    }

    /// Checks these changes with the full-text indexes, and throws their errors, before anything is changed.
    private func prepareTexts(_ changes: IndexChanges) throws {
        for change in changes.texts {
            let writer = try textWriter(change.index)
            if let removed = change.removed { try writer.check(removed) }
            switch change.added {
            case .text(let text): try writer.check(text)
            case .place(let place): try writer.check(size: place.count)
            case nil: break
            }
        }
    }

    /// - Parameter row: the new row, if a text is to be read in it.
    private func apply(_ changes: IndexChanges, _ rowID: RowID, _ row: Bytes) throws {
        for change in changes.keys {
            if !change.removed.isNone, yielded.isEmpty || !yielded.remove(change.index, rowID) {
                try change.index.withEntry(change.removed, rowID) { (key, _) throws(StorageError) in
                    _ = try transaction.delete(change.index.tree, key)
                }
            }
            if !change.added.isNone {
                try change.index.withEntry(change.added, rowID) { (key, value) throws(StorageError) in
                    try transaction.put(change.index.tree, key, value)
                }
            }
        }
        for change in changes.texts {
            let writer = try textWriter(change.index)
            switch (change.removed, change.added) {
            case (nil, .text(let text)): try writer.insert(rowID.rawValue, text)
            case (nil, .place(let place)): try writer.insert(rowID.rawValue, utf8: Bytes(rebasing: row[place]))
            case (let text?, nil): try writer.remove(rowID.rawValue, text)
            case (let old?, .text(let new)): try writer.update(rowID.rawValue, from: old, to: new)
            case (let old?, .place(let place)):
                let new = DocumentText(String(decoding: row[place], as: UTF8.self))
                try writer.update(rowID.rawValue, from: old, to: new)
            case (nil, nil): break
            }
        }
    }

    // MARK: Unique keys

    private func conflicts(
        of new: RowReader, _ rowID: RowID, _ changes: IndexChanges
    ) throws -> [(index: IndexDescription, rowID: RowID)] {
        var found: [(index: IndexDescription, rowID: RowID)] = []
        for change in changes.keys where change.index.isUnique {
            guard !change.added.isNone, !change.added.isExempt else { continue }
            if let other = try holder(of: change.added, new, change.index, except: rowID) {
                found.append((change.index.description, other))
            }
        }
        return found
    }

    func holder(
        of key: IndexKeyBytes, _ new: RowReader, _ index: EntityIndex, except rowID: RowID
    ) throws -> RowID? {
        if index.isExclusive(key) {
            guard let value = try transaction.get(index.tree, key.bytes) else { return nil }
            guard let other = RowID(stored: value) else {
                throw corrupt("u:\(type.name):\(index.description.name)", "an entry holds no row id")
            }
            return other == rowID ? nil : other
        }
        let whole = try index.fullKey(of: new).key
        var cursor = try transaction.cursor(index.tree)
        var isValid = try cursor.seek(key.bytes)
        while isValid, cursor.key.starts(with: key.bytes) {
            if let other = index.rowID(key: cursor.key, value: cursor.value), other != rowID,
                let row = try row(other), try index.fullKey(of: row).key == whole
            {
                return other
            }
            isValid = try cursor.next()
        }
        return nil
    }

    func violation(_ index: IndexDescription, of new: RowReader, by other: RowID) throws -> HornbeamError {
        try index.violation(of: new, type, by: try self.id(of: other) ?? .null)
    }

    // MARK: Full text

    /// The writer of one full-text index. It gathers changes until `flush`.
    /// - Parameter position: the index's position among the type's full-text indexes.
    private func textWriter(_ position: Int) throws -> TextIndexWriter {
        if let writer = textWriters[position] { return writer }
        core.hasGathered = true
        let writer = try TextIndexWriter(type.textIndexes[position].index, in: transaction)
        textWriters[position] = writer
        return writer
    }

    /// Brings the full-text trees up to date; searches in the same transaction need it.
    package func flushText() throws {
        for writer in textWriters { try writer?.flush() }
    }

    /// Returns the searcher for the present state, with the changes that wait in the transaction. It is kept for the
    /// next search, also by a read that is resumed.
    func searcher(_ index: EntityTextIndex) throws -> TextSearcher {
        try flushText()
        if searchers.isEmpty { searchers = type.textIndexes.map { _ in nil } }
        if let known = searchers[index.place], known.isCurrent() { return known }
        // The old one is removed first, because it must not stay if making the next one fails.
        searchers[index.place] = nil
        let searcher = try TextSearcher(index.index, in: transaction)
        searchers[index.place] = searcher
        return searcher
    }

    func forgetSearchers() {
        searchers = []
        selections.forgetDocuments()
    }

    /// The state that is in memory and not in the trees, except for texts.
    struct Pending {
        fileprivate var reserved: [[UInt8]: RowID] = [:]
        fileprivate var yielded = ReleasedKeys()
    }

    var pending: Pending { Pending(reserved: reserved, yielded: yielded) }

    /// Drops caches and changes in memory after the transaction went back to the state that `flush` had left.
    func forget(keeping pending: Pending) {
        reserved = pending.reserved
        yielded = pending.yielded
        nextRowID = nil
        nextRowIDChanged = false
        unlinked = UnlinkedRows()
        textWriters = type.textIndexes.map { _ in nil }
        forgetSearchers()
        known = RowCache()
    }

    func flush() throws {
        try flushText()
        guard nextRowIDChanged, let next = nextRowID else { return }
        try SchemaTree.setNextRowID(next, type.name, in: transaction)
        nextRowIDChanged = false
    }
}

// MARK: - Ids

extension EntityStore {
    /// Maximum size of an id's key, in bytes. Longer ids are refused: texts of more than 899 bytes.
    package static let maximumIDSize = 900

    /// The key of an id in the tree of ids.
    func idKey(_ id: Value) throws -> [UInt8] {
        var key = KeyWriter(capacity: 24)
        try KeyCoding.append(id, as: type.idType, to: &key)
        guard key.bytes.count <= Self.maximumIDSize else { throw tooLarge(id, key: key.bytes.count) }
        return key.bytes
    }

    /// The error for an id whose key is too long. It names the size of the id itself: the key has a terminator, and a
    /// second byte for each zero.
    private func tooLarge(_ id: Value, key: Int) -> StorageError {
        let size =
            switch id {
            case .string(let text): text.utf8.count
            case .data(let data): data.count
            default: key
            }
        let limit = Self.maximumIDSize - (key - size)
        return .tooLarge(what: "the id of \(type.name.withArticle)", size: size, limit: limit)
    }

    /// The row id of an entity, or nil for a value that can't be an entity's id.
    package func rowID(ofAny id: Value) throws -> RowID? {
        do {
            return try rowID(of: id)
        } catch StorageError.tooLarge {
            return nil
        }
    }

    private func converted(_ id: Value) throws -> Value {
        guard let converted = id.converted(to: type.idType), converted != .null else {
            throw HornbeamError(
                .invalid, "\(id.text) can't be the id of \(type.name.withArticle): give one of type \(type.idType)")
        }
        return converted
    }

    /// The row id of an entity that is saved or referred to; nil if there is none. An integer id that can be a row id
    /// has one even if its entity is neither.
    package func rowID(of id: Value) throws -> RowID? {
        if type.hasIntegerIDs, let rowID = RowID(integerID: id) { return rowID }
        let id = try converted(id)
        if let rowID = RowID(integerID: id) { return rowID }
        let key = try idKey(id)
        guard let stored = try transaction.get(type.ids, key) else { return reserved[key] }
        guard let rowID = RowID(stored: stored) else { throw corrupt("i:\(type.name)", "an entry holds no row id") }
        return rowID
    }

    /// The row id of an entity, assigned now if it has none.
    /// - Parameter saving: whether the entity's row is saved right after this; until then nothing is written. An id
    ///   that is only referred to is stored with its row id, so that it can be read without a row, and so that it is
    ///   known whether there are links to entities that aren't stored.
    package func ensureRowID(of id: Value, saving: Bool = false) throws -> RowID {
        if type.hasIntegerIDs, let rowID = RowID(integerID: id) { return try ensure(rowID, saving: saving) }
        let id = try converted(id)
        if let rowID = RowID(integerID: id) { return try ensure(rowID, saving: saving) }
        let key = try idKey(id)
        if let rowID = try rowID(of: id), saving || reserved[key] == nil { return rowID }
        core.hasGathered = true
        let rowID = try reserved[key] ?? handOut()
        if saving {
            reserved[key] = rowID
            return rowID
        }
        reserved[key] = nil
        try transaction.put(type.ids, key, rowID.stored)
        var bytes: [UInt8] = []
        _ = ValueBytes.append(id, as: type.idType, to: &bytes)
        try transaction.put(type.unsaved, rowID.key, bytes)
        noteUnsaved()
        return rowID
    }

    /// Makes sure that an id which is its own row id is known.
    private func ensure(_ rowID: RowID, saving: Bool) throws -> RowID {
        if saving || known.isStored(rowID, removals: core.counts.removals) { return rowID }
        if try isSaved(rowID) {
            known.note(rowID, removals: core.counts.removals)
        } else {
            try transaction.put(type.unsaved, RowKey(rowID), Bytes(start: nil, count: 0))
            noteUnsaved()
        }
        return rowID
    }

    private func handOut() throws -> RowID {
        let next = try nextRowID ?? SchemaTree.nextRowID(type.name, in: transaction)
        nextRowID = next + 1
        nextRowIDChanged = true
        return RowID(rawValue: next)
    }
}
