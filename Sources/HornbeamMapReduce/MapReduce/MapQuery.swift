// SPDX-License-Identifier: Apache-2.0
// Queries of a map index for its rows: by key, keys, range or prefix, in either direction, from any position. A query
// is a value. One scan of the index's tree answers it; counting and skipping use the tree's counts.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A row of a map index.
public struct MapRow<Entity: EntityModelProtocol, Value: ColumnValue>: Sendable {
    public let key: MapKey
    /// The value of the row, nil if none was emitted.
    public let value: Value?
    /// The entity that the row was emitted for.
    public let source: Entity.ID
    /// The link that was emitted with the row. Nil if there was none.
    public let link: EntityLink?
    /// The row's position, for continuing after it.
    public let cursor: MapCursor

    /// Returns the id of the entity that the row points to: the linked entity, or the source if there is no link.
    /// Returns nil if that entity is of another type.
    public func target<Target: EntityModelProtocol>(_: Target.Type) -> Target.ID? {
        if let link { return link.id(of: Target.self) }
        // Ids of another type may look the same, but they are ids of other entities.
        guard Target.entityName == Entity.entityName else { return nil }
        return source as? Target.ID
    }
}

/// A position in a map index.
public struct MapCursor: Sendable, Hashable, Codable {
    /// The entry's key.
    let key: [UInt8]
}

/// A query of a map index. It is a value without a context; `resolve` runs it in one.
public struct MapQuery<Entity: EntityModelProtocol, Value, Reduce: Reducer>: Sendable where Reduce.Value == Value {
    let index: MapIndex<Entity, Value, Reduce>
    var selection = Selection.all
    var isDescending = false
    var limit: Int?
    var offset = 0
    /// The row after which the result begins, or with which it begins if `isFromCursor` is true.
    var cursor: MapCursor?
    var isFromCursor = false

    /// The requested keys.
    enum Selection: Sendable {
        case all
        case keys([MapKey])
        case range(from: MapKey?, to: MapKey?, isHalfOpen: Bool)
        case prefix(MapKey)
        /// Arrays with these first items, then a string that begins so.
        case items([MapKey], prefix: String)
    }

    init(index: MapIndex<Entity, Value, Reduce>) { self.index = index }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var query = self
        change(&query)
        return query
    }

    // MARK: Choosing keys. The last choice counts.

    /// Selects the rows of one key.
    public func key(_ key: MapKey) -> Self { keys([key]) }
    /// Selects the rows of some keys, in the order of the index, whatever the order of the list and however often a key
    /// is in it. An empty list selects no rows.
    public func keys(_ keys: [MapKey]) -> Self { with { $0.selection = .keys(keys) } }
    /// Selects the rows from one key through another. Nil means an open end. A descending query has the same bounds.
    public func range(from: MapKey? = nil, to: MapKey? = nil) -> Self {
        with { $0.selection = .range(from: from, to: to, isHalfOpen: false) }
    }
    /// Selects the rows from one key up to another, without the latter.
    public func range(from: MapKey? = nil, below: MapKey) -> Self {
        with { $0.selection = .range(from: from, to: below, isHalfOpen: true) }
    }
    /// Selects the rows whose keys are arrays with these first items, or strings with this prefix, as by Swift's
    /// `hasPrefix`. A prefix of any other type selects the rows of that key.
    public func prefix(_ prefix: MapKey) -> Self { with { $0.selection = .prefix(prefix) } }
    /// Selects the rows whose keys are arrays with these first items, followed by a string with a prefix:
    /// `prefix(["book"], then: "sw")` selects `["book", "swift"]` and `["book", "swing", 3]`.
    public func prefix(_ items: [MapKey], then prefix: String) -> Self {
        with { $0.selection = .items(items, prefix: prefix) }
    }

    // MARK: Order and part

    public func descending() -> Self { with { $0.isDescending = true } }
    /// Limits the result to `limit` rows, or groups if it is grouped. Nil means all; a negative limit gives none.
    public func limit(_ limit: Int?) -> Self { with { $0.limit = limit.map { Swift.max(0, $0) } } }
    /// Skips the first `offset` rows, or groups if the result is grouped. A negative offset gives none.
    public func offset(_ offset: Int) -> Self { with { $0.offset = offset < 0 ? .max : offset } }
    /// Begins after a row, in the query's direction. Pages stay right while rows before them are inserted and deleted.
    /// Nil begins with the first row.
    public func after(_ cursor: MapCursor?) -> Self { with { ($0.cursor, $0.isFromCursor) = (cursor, false) } }
    /// Begins with a row, or with the next one if it is gone. Among rows with equal keys it begins with this one. Nil
    /// begins with the first row.
    public func from(_ cursor: MapCursor?) -> Self { with { ($0.cursor, $0.isFromCursor) = (cursor, true) } }

    // MARK: Answers

    /// Returns the rows. Doesn't read their entities. Throws `.indexNotReady` if the index isn't registered or is still
    /// being built, and `.invalid` for a key that the index can't have.
    public func resolve(in context: Context) throws -> [MapRow<Entity, Value>] {
        try context.session.run { session in
            var rows: [MapRow<Entity, Value>] = []
            try MapScan(self, session).forEachRow { rows.append($0) }
            return rows
        }
    }

    /// Returns the first row, or nil if there is none.
    public func first(in context: Context) throws -> MapRow<Entity, Value>? {
        try limit(Swift.min(limit ?? 1, 1)).resolve(in: context).first
    }

    /// Returns the number of rows. O(log n) by the tree's counts, except for prefixes of strings, whose rows are read.
    public func count(in context: Context) throws -> Int {
        try context.session.run { try MapScan(self, $0).count() }
    }

    /// Returns a query for the rows with the entities that they point to. An entity that isn't stored is nil.
    public func with<Target: EntityModelProtocol>(_: Target.Type) -> MapQueryWithEntities<Entity, Value, Reduce, Target>
    {
        MapQueryWithEntities(query: self)
    }

    /// Returns a query for the rows with the entities of the source's type that they point to.
    public func withEntities() -> MapQueryWithEntities<Entity, Value, Reduce, Entity> { with(Entity.self) }

    /// Describes the ranges that are read and their numbers of rows.
    public func explain(in context: Context) throws -> String {
        try context.session.run { try MapScan(self, $0).explanation() }
    }
}

/// A query of a map index for rows and the entities that they point to.
public struct MapQueryWithEntities<Entity: EntityModelProtocol, Value, Reduce: Reducer, Target: EntityModelProtocol>:
    Sendable
where Reduce.Value == Value {
    public typealias Row = (row: MapRow<Entity, Value>, entity: Target?)

    let query: MapQuery<Entity, Value, Reduce>

    /// Returns the rows with the entities that they point to. Each entity is read once.
    public func resolve(in context: Context) throws -> [Row] {
        let rows = try query.resolve(in: context)
        return try context.session.run { session in
            let store = try session.store(Target.self)
            let targets = try rows.map { row -> RowID? in
                guard let id = row.target(Target.self) else { return nil }
                return try store.rowID(ofAny: id.columnValue)
            }
            // Each entity is read once, however many rows point to it, and in the order of the entities' tree: entities
            // in one leaf, except the first, are then found without a page access.
            let wanted = Set(targets.compactMap(\.self)).sorted()
            var entities: [RowID: Target] = [:]
            entities.reserveCapacity(wanted.count)
            try store.forEach(wanted) { place, row in
                if let row { entities[wanted[place]] = try Target(row: row) }
            }
            return zip(rows, targets).map { row, target in (row, target.flatMap { entities[$0] }) }
        }
    }
}

/// One run of a query: its ranges of bytes in the tree of a transaction.
struct MapScan<Entity: EntityModelProtocol, Value, Reduce: Reducer> where Reduce.Value == Value {
    /// The keys from one up to another, without the latter. An empty key is an open end. Both keys are whole, however
    /// long they are.
    struct Range {
        var from: [UInt8]
        var to: [UInt8]

        var isEmpty: Bool { !to.isEmpty && !from.lexicographicallyPrecedes(to) }
    }

    let query: MapQuery<Entity, Value, Reduce>
    let transaction: Transaction
    let tree: TreeID
    let collator: Collator
    /// The ranges to read, ascending. They don't overlap, and none is empty.
    let ranges: [Range]
    /// The prefix that each string must have: the key, or an item of it. Equal bytes don't prove that it has it.
    let asked: (item: Int?, prefix: String)?
    let longKeys: LongKeys
    private let type: EntityType

    init(_ query: MapQuery<Entity, Value, Reduce>, _ session: TypedTransaction) throws {
        self.query = query
        let registration = query.index.registration
        type = try session.store(Entity.self).type
        let core = try session.core
        transaction = core.transaction
        tree = try core.trees(of: registration).first
        longKeys = LongKeys(transaction, tree, of: registration)
        collator = try query.index.definition.usable(registration.name)
        switch query.selection {
        case .prefix(.string(let prefix)): asked = (nil, prefix)
        case .items(let items, let prefix): asked = (items.count, prefix)
        default: asked = nil
        }
        ranges = try Self.ranges(query, collator)
    }

    private static func ranges(
        _ query: MapQuery<Entity, Value, Reduce>, _ collator: Collator
    ) throws -> [Range] {
        func wholePrefix(_ bytes: [UInt8]) -> Range {
            Range(from: bytes, to: KeyWriter.successor(ofPrefix: bytes) ?? [])
        }
        var ranges: [Range] = []
        switch query.selection {
        case .all: ranges = [Range(from: [], to: [])]
        case .keys(let keys):
            let sorted = try keys.map { try $0.bytes(collator) }.sorted { $0.lexicographicallyPrecedes($1) }
            for key in sorted where ranges.last?.from != key { ranges.append(wholePrefix(key)) }
        case .range(let from, let to, let isHalfOpen):
            let start = try from?.bytes(collator) ?? []
            let end = try to.map { try $0.bytes(collator) }
            ranges = [Range(from: start, to: end.map { isHalfOpen ? $0 : wholePrefix($0).to } ?? [])]
        case .prefix(let prefix): ranges = [wholePrefix(try bytes([prefix], collator))]
        case .items(let items, let prefix):
            ranges = [wholePrefix(try bytes([.array(items), .string(prefix)], collator))]
        }
        if let cursor = query.cursor?.key {
            let behind = cursor + [0]
            let (start, end) = query.isFromCursor ? (cursor, behind) : (behind, cursor)
            guard cursor.count > MapEntryKey.suffix else {
                throw HornbeamError(.invalid, "the cursor is not that of a row of a map index")
            }
            for place in ranges.indices {
                if query.isDescending {
                    if ranges[place].to.isEmpty || end.lexicographicallyPrecedes(ranges[place].to) {
                        ranges[place].to = end
                    }
                } else if ranges[place].from.lexicographicallyPrecedes(start) {
                    ranges[place].from = start
                }
            }
        }
        return ranges.filter { !$0.isEmpty }
    }

    /// Returns the bytes with which all keys begin that have these prefixes one after the other.
    private static func bytes(_ prefixes: [MapKey], _ collator: Collator) throws(HornbeamError) -> [UInt8] {
        var writer = KeyWriter()
        for prefix in prefixes {
            do throws(KeyError) {
                try writer.append(prefix: prefix.dynamic, collator: collator)
            } catch {
                throw HornbeamError(.invalid, "\("\(prefix)".shown()) can't be a prefix: \(error)")
            }
        }
        return writer.bytes
    }

    var corrupt: StorageError {
        .corrupt(
            Corruption(
                tree: RegisteredCatalogue.treeName(of: query.index.registration.name, Entity.entityName),
                reason: "an entry is no row of a map index"))
    }

    // MARK: Counting

    func count(_ range: Range) throws -> Int {
        try parts(range).reduce(0) { sum, part in
            let (sum, overflow) = sum.addingReportingOverflow(try count(part))
            return overflow ? .max : sum
        }
    }

    private func count(_ part: Part) throws -> Int {
        switch part {
        case .places(let range):
            Int(
                clamping: try range.from.withBytes { (from) throws(StorageError) in
                    try range.to.withBytes { (to) throws(StorageError) in
                        try transaction.count(tree, from: from, to: to)
                    }
                })
        case .run(let prefix, let range): try entries(prefix, range).count
        }
    }

    /// The count of all ranges. In a damaged file it may be any number.
    private func countOfRanges() throws -> Int {
        try ranges.reduce(0) { sum, range in
            let (sum, overflow) = sum.addingReportingOverflow(try count(range))
            return overflow ? .max : sum
        }
    }

    func count() throws -> Int {
        if asked != nil {
            var count = 0
            try forEachEntry { _, _ in
                count += 1
                return true
            }
            return count
        }
        let all = try countOfRanges()
        return Swift.min(Swift.max(0, all - query.offset), query.limit ?? .max)
    }

    // MARK: Walking

    /// Calls `body` with the entries of the query's result, in its order, until it returns false.
    func forEachEntry(_ body: (_ key: Bytes, _ value: Bytes) throws -> Bool) throws {
        var offset = query.offset
        var left = query.limit ?? .max
        guard left > 0 else { return }
        for range in query.isDescending ? ranges.reversed() : ranges {
            // Whole ranges are skipped without a look at their entries.
            if asked == nil, offset > 0 {
                let count = try count(range)
                if offset >= count {
                    offset -= count
                    continue
                }
            }
            let skipped = asked == nil ? offset : 0
            if asked == nil { offset = 0 }
            var goesOn = true
            try walk(range, skipping: skipped) { key, value in
                guard try isAsked(key) else { return true }
                if offset > 0 {
                    offset -= 1
                    return true
                }
                left -= 1
                goesOn = try body(key, value) && left > 0
                return goesOn
            }
            if !goesOn { return }
        }
    }

    /// Calls `body` with the entries of a range, with their whole keys, until it returns false. The order is the
    /// query's unless `descending` says otherwise.
    func walk(
        _ range: Range, descending: Bool? = nil, skipping skipped: Int = 0,
        _ body: (_ key: Bytes, _ value: Bytes) throws -> Bool
    ) throws {
        let isDescending = descending ?? query.isDescending
        let parts = parts(range)
        var skipped = skipped
        for part in isDescending ? parts.reversed() : parts {
            if skipped > 0, parts.count > 1 {
                let count = try count(part)
                if skipped >= count {
                    skipped -= count
                    continue
                }
            }
            let goesOn =
                switch part {
                case .places(let range): try walk(places: range, isDescending, skipping: skipped, body)
                case .run(let prefix, let range):
                    try walk(rest(of: try entries(prefix, range), skipped, isDescending), isDescending, body)
                }
            if !goesOn { return }
            skipped = 0
        }
    }

    /// A run's entries without the skipped ones, which come first in the given direction.
    private func rest(
        of entries: ArraySlice<LongKeys.Entry>, _ skipped: Int, _ isDescending: Bool
    ) -> ArraySlice<LongKeys.Entry> {
        isDescending ? entries.dropLast(skipped) : entries.dropFirst(skipped)
    }

    /// Calls `body` with adjacent entries until it returns false. Returns false if it did.
    private func walk(
        places range: Range, _ isDescending: Bool, skipping skipped: Int,
        _ body: (_ key: Bytes, _ value: Bytes) throws -> Bool
    ) throws -> Bool {
        var cursor = try transaction.cursor(tree)
        var isValid: Bool
        // The position of the first entry in the tree, if some are skipped.
        var first: UInt64?
        if isDescending || skipped > 0 {
            // A descending query begins with the entry before the end, in range or not.
            let bound = try isDescending ? place(of: range.to) ?? transaction.count(tree) : place(of: range.from) ?? 0
            let (index, overflow) =
                isDescending
                ? bound.subtractingReportingOverflow(UInt64(skipped) + 1)
                : bound.addingReportingOverflow(UInt64(skipped))
            isValid = try !overflow && cursor.seek(index: index)
            if skipped > 0 { first = index }
        } else {
            isValid = try range.from.isEmpty ? cursor.first() : cursor.seek(range.from)
        }
        while isValid {
            if isDescending {
                if cursor.key.lexicographicallyPrecedes(range.from) { return true }
            } else if !range.to.isEmpty, !cursor.key.lexicographicallyPrecedes(range.to) {
                return true
            }
            if LongKeys.isLong(cursor.key) {
                let prefix = Array(cursor.key.prefix(MapEntryKey.keptSize))
                var run = try longKeys.run(prefix)[...]
                // The first entry may be inside the run: as many entries of the run are skipped as precede it in the
                // tree.
                if let first {
                    let start = try place(of: prefix) ?? 0
                    let before = Int(clamping: first - Swift.min(first, start))
                    run = isDescending ? run.prefix(before + 1) : run.dropFirst(before)
                }
                guard try walk(run, isDescending, body) else { return false }
                if isDescending {
                    isValid = try cursor.seek(prefix) && cursor.previous()
                } else {
                    isValid = try KeyWriter.successor(ofPrefix: prefix).map { try cursor.seek($0) } ?? false
                }
            } else {
                guard try body(cursor.key, cursor.value) else { return false }
                isValid = try isDescending ? cursor.previous() : cursor.next()
            }
            first = nil
        }
        return true
    }

    /// Returns the number of entries before a key, or nil for an open end.
    private func place(of key: [UInt8]) throws -> UInt64? {
        if key.isEmpty { return nil }
        return try key.withBytes { (key) throws(StorageError) in
            try transaction.count(tree, from: Bytes(start: nil, count: 0), to: key)
        }
    }

    func isAsked(_ key: Bytes) throws -> Bool {
        guard let asked else { return true }
        guard let emitted = MapEntryKey.emitted(key), var key = MapKey(emitted, collator.collation) else {
            throw corrupt
        }
        if let item = asked.item {
            guard case .array(let items) = key, items.indices.contains(item) else { return false }
            key = items[item]
        }
        guard case .string(let text) = key else { return false }
        return text.hasPrefix(asked.prefix)
    }

    func forEachRow(_ body: (MapRow<Entity, Value>) throws -> Void) throws {
        try forEachEntry { key, value in
            try body(try row(key, value))
            return true
        }
    }

    func row(_ key: Bytes, _ value: Bytes) throws -> MapRow<Entity, Value> {
        guard let emitted = MapEntryKey.emitted(key), let mapKey = MapKey(emitted, collator.collation),
            let rowID = MapEntryKey.rowID(key), let parts = MapEntryValue(value)
        else { throw corrupt }
        let id: Hornbeam.Value?
        if rowID < RowID.firstAssigned {
            id = Hornbeam.Value.uint(rowID.rawValue).converted(to: type.idType)
        } else {
            id = parts.id.flatMap { ValueBytes.decode($0, as: type.idType) }
        }
        guard let source = id.flatMap({ Entity.ID(columnValue: $0) }) else { throw corrupt }
        var link: EntityLink?
        if let bytes = parts.link {
            guard let read = EntityLink(bytes) else { throw corrupt }
            link = read
        }
        return MapRow(
            key: mapKey, value: try parts.value(as: Value.self), source: source, link: link,
            cursor: MapCursor(key: Array(key)))
    }

    // MARK: In words

    func explanation() throws -> String {
        let rows = try countOfRanges()
        let all = Int(clamping: try transaction.count(tree))
        let what =
            switch query.selection {
            case .all: "all rows"
            case .keys(let keys): keys.count == 1 ? "one key" : "\(keys.count) keys"
            case .range: "a range"
            case .prefix, .items: "a prefix"
            }
        var text = "\(what) of map index “\(query.index.registration.name)” of \(Entity.entityName): "
        text += "\(rows) of \(all) rows\(query.isDescending ? ", descending" : "")"
        if asked != nil { text += ", each asked for its prefix" }
        if query.offset > 0 { text += ", \(query.offset) skipped" }
        if let limit = query.limit { text += ", \(limit) at most" }
        return text
    }
}
