// SPDX-License-Identifier: Apache-2.0
// A view in one transaction: positions in its tree. Everything except the entries that are returned is found by a
// descent by key or by count.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

struct ViewScan<Entity: EntityModelProtocol, Group: IndexKey & Hashable> {
    let view: View<Entity, Group>
    let transaction: Transaction
    let tree: TreeID
    let store: EntityStore

    init(_ view: View<Entity, Group>, _ session: TypedTransaction) throws {
        self.view = view
        store = try session.store(Entity.self)
        let core = try session.core
        transaction = core.transaction
        tree = try core.trees(of: view.registration).first
    }

    func corrupt(_ reason: String) -> StorageError {
        .corrupt(
            Corruption(
                tree: RegisteredCatalogue.treeName(of: view.registration.name, Entity.entityName), reason: reason))
    }

    // MARK: Places

    func count() throws -> Int { Int(entries: try transaction.count(tree)) }

    /// Returns the number of entries with smaller keys.
    func rank(_ key: [UInt8]) throws -> Int {
        Int(entries: try transaction.count(tree, from: [], to: key))
    }

    /// Returns the positions in the tree of the entries whose keys begin with these bytes.
    func places(prefix: [UInt8]) throws -> Range<Int> {
        let start = try rank(prefix)
        let end = try KeyWriter.successor(ofPrefix: prefix).map { try rank($0) } ?? count()
        // A damaged file's counts may say anything.
        return start..<Swift.max(start, end)
    }

    func places(of group: Group) throws -> Range<Int> { try places(prefix: try ViewKey.prefix(of: group)) }

    func sections() throws -> [ViewSection<Group>] {
        var sections: [ViewSection<Group>] = []
        var known: Set<Group> = []
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.first()
        var start = 0
        while isValid {
            guard let (group, size) = ViewKey.group(of: cursor.key, as: Group.self) else {
                throw corrupt("an entry's key has no group")
            }
            guard known.insert(group).inserted else {
                throw corrupt("two of its groups are equal and have different keys")
            }
            let next = KeyWriter.successor(ofPrefix: Array(cursor.key[..<size]))
            let end = try next.map { try rank($0) } ?? count()
            guard end > start else { throw corrupt("the counts of entries are wrong") }
            sections.append(ViewSection(group: group, count: end - start))
            start = end
            guard let next else { break }
            isValid = try cursor.seek(next)
        }
        return sections
    }

    /// Returns an entity's whole key and its group by the view's functions, or nil if the entity isn't in the view.
    func place(of row: RowID) throws -> (key: [UInt8], group: Group)? {
        guard let reader = try store.row(row), let place = try view.definition.place(of: try Entity(row: reader)) else {
            return nil
        }
        return (ViewKey.whole(place.key, row), place.group)
    }

    func position(of id: Value) throws -> ViewPosition<Group>? {
        guard let row = try store.rowID(ofAny: id), let place = try place(of: row) else { return nil }
        try checkEntry(place.key)
        let start = try rank(try ViewKey.prefix(of: place.group))
        return ViewPosition(group: place.group, index: try rank(place.key) - start)
    }

    /// Throws unless the tree has the key that the view's functions give for a stored entity.
    func checkEntry(_ key: [UInt8]) throws {
        guard try transaction.get(tree, key) == nil else { return }
        let row = key.withUnsafeBytes { MapEntryKey.rowID($0) }.map { "\($0)" } ?? "an entity"
        throw HornbeamError(
            .corrupt,
            "view “\(view.registration.name)” lacks the \(Entity.entityName) of \(row), or has it at another place: "
                + "its functions have changed and its version hasn't, or the file is damaged; run check()")
    }

    // MARK: Entries

    /// Maximum capacity that is reserved at once: a damaged file's counts may be any numbers.
    private static var mostExpected: Int { 1 << 16 }

    /// Calls `body` with the row id and the value of the entries at some positions of the tree, in order, until it
    /// returns false.
    func forEach(_ places: Range<Int>, _ body: (RowID, MapEntryValue) throws -> Bool) throws {
        guard !places.isEmpty else { return }
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(index: UInt64(places.lowerBound))
        for _ in places {
            guard isValid, let row = MapEntryKey.rowID(cursor.key), let value = MapEntryValue(cursor.value) else {
                throw corrupt("an entry is no row of a view")
            }
            guard try body(row, value) else { return }
            isValid = try cursor.next()
        }
    }

    /// Returns the ids of the entities at some positions, without reading their rows.
    func ids(_ places: Range<Int>) throws -> [Entity.ID] {
        var ids: [Entity.ID] = []
        ids.reserveCapacity(Swift.min(places.count, Self.mostExpected))
        try forEach(places) { row, value in
            ids.append(try id(row, value))
            return true
        }
        return ids
    }

    /// Returns the id of the entity at a position, or nil if there is none.
    func id(at position: ViewPosition<Group>) throws -> Entity.ID? {
        let places = try places(of: position.group)
        guard position.index >= 0, position.index < places.count else { return nil }
        let place = places.lowerBound + position.index
        return try ids(place..<place + 1).first
    }

    private func id(_ row: RowID, _ value: MapEntryValue) throws -> Entity.ID {
        let stored: Value?
        if let bytes = value.id {
            stored = ValueBytes.decode(bytes, as: store.type.idType)
        } else {
            stored = Value.uint(row.rawValue).converted(to: store.type.idType)
        }
        guard let id = stored.flatMap({ Entity.ID(columnValue: $0) }) else {
            throw corrupt("an entry's id is no \(Entity.ID.self)")
        }
        return id
    }

    func rows(_ places: Range<Int>) throws -> [RowID] {
        var rows: [RowID] = []
        rows.reserveCapacity(Swift.min(places.count, Self.mostExpected))
        try forEach(places) { row, _ in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Returns the entities at some positions, read together.
    func entities(_ places: Range<Int>) throws -> [Entity] {
        let rows = try rows(places)
        var found: [Entity] = []
        found.reserveCapacity(rows.count)
        try store.forEach(rows) { _, row in
            guard let row else { throw corrupt("an entry's entity isn't stored") }
            found.append(try Entity(row: row))
        }
        return found
    }

    /// Returns the first of these positions whose entity `isBehind` accepts, or their end. The accepted entities must
    /// follow all others. Reads O(log n) entities.
    func firstPlace(_ places: Range<Int>, where isBehind: (Entity) throws -> Bool) throws -> Int {
        var low = places.lowerBound
        var high = places.upperBound
        while low < high {
            let middle = low + (high - low) / 2
            guard let entity = try entities(middle..<middle + 1).first else { throw corrupt("an entry is missing") }
            if try isBehind(entity) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Context {
    /// Returns the number of the state that a read sees. Throws `.invalid` for a write, whose state has no number yet.
    func stateNumber() throws -> UInt64 {
        try session.run { (session) throws -> UInt64 in
            let transaction = try session.core.transaction
            guard !transaction.isWritable else {
                throw HornbeamError(
                    .invalid, "a list needs a committed state, and a write has none yet: load the list in a read")
            }
            return transaction.version
        }
    }
}
