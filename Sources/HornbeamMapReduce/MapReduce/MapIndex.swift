// SPDX-License-Identifier: Apache-2.0
// Map/reduce indexes: a function of the program emits rows (key, value) for each entity. They are stored in order in a
// tree whose branches hold the reduction of the rows below them. Docs/map-reduce.md has the rules.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// Emits rows in a map function: `emit(key: .string(tag), value: post.size)`.
public struct MapEmitter<Value: ColumnValue>: ~Copyable {
    private let collator: Collator
    private let id: [UInt8]?
    private(set) var rows: [IndexEntry] = []
    /// The first row that can't be stored.
    private(set) var failure: HornbeamError?

    init(_ collator: Collator, id: [UInt8]?) {
        self.collator = collator
        self.id = id
    }

    /// Adds a row. May be called any number of times, also with equal keys. If the row can't be stored, the save of the
    /// entity fails with `.invalid` or `.tooLarge`.
    /// - Parameters:
    ///   - key: determines the position of the row in the index.
    ///   - value: stored with the key, so that it is read without the entity.
    ///   - link: the entity that the row points to, instead of the one it is emitted for.
    public mutating func callAsFunction(key: MapKey, value: Value? = nil, link: EntityLink? = nil) {
        guard failure == nil else { return }
        do throws(HornbeamError) {
            rows.append(try entry(key, value, link))
        } catch {
            failure = error
        }
    }

    private func entry(
        _ key: MapKey, _ value: Value?, _ link: EntityLink?
    ) throws(HornbeamError) -> IndexEntry {
        let bytes = try key.bytes(collator)
        var stored: [UInt8]?
        if let value {
            var encoded: [UInt8] = []
            let columnValue = value.columnValue
            if columnValue != .null {
                guard ValueBytes.append(columnValue, as: Value.columnType, to: &encoded) else {
                    throw HornbeamError(
                        .invalid, "an emitted value can't be stored as \(Value.columnType): \("\(value)".shown())")
                }
                stored = encoded
            } else if !value.isNil {
                throw HornbeamError(
                    .invalid,
                    "an emitted value can't be encoded, or is more than \(CodedJSON.maximumDepth) levels deep: "
                        + "\(value)".shown())
            }
        }
        let whole = bytes.count > MapEntryKey.limit ? bytes : nil
        guard let parts = MapEntryValue.bytes(id: id, link: link?.bytes, key: whole, value: stored) else {
            throw HornbeamError(
                .tooLarge, "an emitted row's id or link is longer than 65,535 bytes, or its key than 4 GiB")
        }
        return IndexEntry(key: MapEntryKey.cut(bytes), value: parts)
    }
}

/// An index of rows that a function emits for each entity. The rows are in the order of their keys, and any range of
/// them can be reduced.
///
///     let byTag = MapIndex("byTag", version: "1", reducer: .sum()) { (post: Post, emit: inout MapEmitter<Int>) in
///         for tag in post.tags { emit(key: [.string(tag), .date(post.at)], value: post.size) }
///     }
///     try database.register(byTag)
///
/// The function must always give the same rows for the same entity, and depend on nothing else; it is called from any
/// thread. It sees the entity's stored properties; relations are not loaded. When it or the reducer changes, so must
/// `version`. If it throws, the save of the entity fails with the error.
public struct MapIndex<Entity: EntityModelProtocol, Value, Reduce: Reducer>: RegisteredIndex
where Reduce.Value == Value {
    public let registration: IndexRegistration
    public let reducer: Reduce
    let definition: Definition

    /// The functions that make and read rows. A class, so that queries are small.
    final class Definition: Sendable {
        let collator: Result<Collator, KeyError>
        let map: @Sendable (Entity, inout MapEmitter<Value>) throws -> Void

        init(
            collator: Result<Collator, KeyError>,
            map: @escaping @Sendable (Entity, inout MapEmitter<Value>) throws -> Void
        ) {
            self.collator = collator
            self.map = map
        }

        func usable(_ name: String) throws(HornbeamError) -> Collator {
            switch collator {
            case .success(let collator): return collator
            case .failure(let error):
                throw HornbeamError(.unsupported, "the collation of index “\(name)” is not available: \(error)")
            }
        }
    }

    public init(
        _ name: String, version: String, collation: TextCollation = .unicode, reducer: Reduce,
        map: @escaping @Sendable (Entity, inout MapEmitter<Value>) throws -> Void
    ) {
        let collator = Result { () throws(KeyError) in try Collator(collation.collation) }
        let definition = Definition(collator: collator, map: map)
        let room = reducer.partial(ofRows: 0) == nil ? reducer.room : nil
        let isRoomy = room.map { (0...MapFolder<Reduce>.mostRoom).contains($0) } ?? true
        let collationVersion = (try? collator.get().version) ?? ""
        self.reducer = reducer
        self.definition = definition
        registration = IndexRegistration(
            name: name, version: version, kind: "map",
            settings: [
                "collation": collation.collation.name, "collationVersion": collationVersion,
                "reducer": reducer.name, "value": Value.columnType.description,
            ],
            reduction: room.flatMap { room in
                guard isRoomy else { return nil }
                return (
                    room + MapPartial.overhead + 1,
                    { MapFolder(reducer, collation.collation).target }
                )
            },
            flaw: isRoomy
                ? nil
                : "its reducer “\(reducer.name)” asks for \(room ?? 0) bytes of room: 0 to "
                    + "\(MapFolder<Reduce>.mostRoom) are allowed",
            rewritten: { MapEntryValue($0)?.rewritten(as: Value.self) }
        ) { (entity: Entity, id) in
            var emitter = MapEmitter<Value>(try definition.usable(name), id: id)
            try map(entity, &emitter)
            if let failure = emitter.failure {
                let place = "index “\(name)”, \(Entity.entityName) \("\(entity.id)".shown())"
                throw HornbeamError(failure.code, "\(place): \(failure.message)")
            }
            return emitter.rows
        }
    }

    /// Makes an index whose reducer counts rows.
    public init(
        _ name: String, version: String, collation: TextCollation = .unicode,
        map: @escaping @Sendable (Entity, inout MapEmitter<Value>) throws -> Void
    ) where Reduce == CountReducer<Value> {
        self.init(name, version: version, collation: collation, reducer: .count(), map: map)
    }

    /// Returns a query for all rows, in the order of their keys. Its methods narrow it.
    public func query() -> MapQuery<Entity, Value, Reduce> { MapQuery(index: self) }
}

/// Reduces rows and reduced values of a map index, as values of Swift types.
final class MapFolder<Reduce: Reducer>: ReductionFolder {
    /// The largest room that a reducer may ask for.
    static var mostRoom: Int { 250 }

    private let reducer: Reduce
    private let collation: Collation
    private var partial: Reduce.Partial
    /// The first failure to read something.
    private var failure: HornbeamError?
    /// The folder that stands for the reducer, if this one folds rows in their stored form.
    private let stored: (reducer: any StoredReducer, folder: any StoredFolder)?
    let needsKeys: Bool

    init(_ reducer: Reduce, _ collation: Collation) {
        self.reducer = reducer
        self.collation = collation
        partial = reducer.identity
        needsKeys = reducer.needsKeys
        if let storedReducer = reducer as? any StoredReducer, let folder = storedReducer.makeFolder() {
            stored = (reducer: storedReducer, folder: folder)
        } else {
            stored = nil
        }
    }

    /// The folder to add rows and reduced values to. `result` returns their reduction.
    var target: any ReductionFolder {
        if let stored { return stored.folder }
        return self
    }

    func start() {
        partial = reducer.identity
        failure = nil
        stored?.folder.start()
    }

    func add(key: Bytes, value: Bytes) {
        guard failure == nil else { return }
        do throws(HornbeamError) {
            guard let parts = MapEntryValue(value) else {
                throw HornbeamError(.corrupt, "corrupt data: an entry of a map index is no row")
            }
            var mapKey = MapKey.null
            if needsKeys {
                guard let emitted = parts.key ?? MapEntryKey.emitted(key), let key = MapKey(emitted, collation) else {
                    throw HornbeamError(.corrupt, "corrupt data: a key of a map index can't be read")
                }
                mapKey = key
            }
            let emittedValue = try parts.value(as: Reduce.Value.self)
            reducer.combine(&partial, with: reducer.map(key: mapKey, value: emittedValue))
        } catch {
            failure = error
        }
    }

    func add(reduced: Bytes) {
        guard failure == nil else { return }
        guard let bytes = MapPartial.read(reduced), let next = reducer.decode(bytes) else {
            failure = MapPartial.unreadable
            return
        }
        reducer.combine(&partial, with: next)
    }

    /// Adds rows whose number alone determines their partial.
    func add(rows count: Int) {
        guard let next = reducer.partial(ofRows: count) else { return }
        reducer.combine(&partial, with: next)
    }

    func write(to target: UnsafeMutableRawBufferPointer) -> Bool {
        failure == nil && MapPartial.write(reducer.encode(partial), to: target)
    }

    func result() throws -> Reduce.Result {
        if let failure = failure ?? stored?.folder.failure { throw failure }
        if let stored, let partial = try Self.partial(stored.reducer, stored.folder) {
            return try reducer.finish(partial)
        }
        return try reducer.finish(partial)
    }

    /// Returns the partial of a folder, from the reducer under another type. A box holds the partial, because a cast of
    /// the value itself would unwrap optionals.
    private static func partial<Stored: StoredReducer>(
        _ reducer: Stored, _ folder: any StoredFolder
    ) throws -> Reduce.Partial? {
        let box: AnyObject = PartialBox(try reducer.partial(of: folder))
        return (box as? PartialBox<Reduce.Partial>)?.partial
    }
}

private final class PartialBox<Partial> {
    let partial: Partial
    init(_ partial: Partial) { self.partial = partial }
}
