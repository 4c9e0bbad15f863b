// SPDX-License-Identifier: Apache-2.0
// The content of an ordered index, or of a group: a list of ids.

import HornbeamTree

/// A list of ids in a transaction, in an order of the program's own. An id may be in it several times.
///
/// It is a view: all copies are of the same list, and are valid as long as the transaction is open. O(log n) below is
/// the time for each affected position, where n is the number of ids in the whole index.
public struct OrderedIDs<Entity: EntityModelProtocol> {
    private let access: KeptAccess<Entity>
    /// The list. Nil for a group whose entity isn't stored.
    private let list: KeptList?
    /// The error that changes of the list throw in that case.
    private let lack: HornbeamError?

    init(_ context: Context, _ list: KeptList) {
        access = KeptAccess(context: context, name: list.name)
        self.list = list
        lack = nil
    }

    init(_ context: Context, _ name: String, lacking lack: HornbeamError) {
        access = KeptAccess(context: context, name: name)
        list = nil
        self.lack = lack
    }

    private func change<Result>(_ body: (KeptList, TypedTransaction) throws -> Result) throws -> Result {
        try access.change { session in
            if let lack { throw lack }
            guard let list else { throw access.outOfRange("list", count: 0) }
            return try body(list, session)
        }
    }

    // MARK: Reading

    /// The number of entries. O(log n).
    public var count: Int {
        get throws { try access.read { _ in try list?.count() ?? 0 } }
    }

    public var isEmpty: Bool {
        get throws { try count == 0 }
    }

    /// The id at a position, from 0. Throws `.invalid` if there is none. O(log n).
    public subscript(index: Int) -> Entity.ID {
        get throws {
            try access.read { session in
                let count = try list?.count() ?? 0
                guard let list, index >= 0, index < count else {
                    throw access.outOfRange("place \(index)", count: count)
                }
                return try access.id(try list.row(index), session)
            }
        }
    }

    /// The ids at a range of positions. Throws `.invalid` if one of them doesn't exist.
    public subscript(range: Range<Int>) -> [Entity.ID] {
        get throws { try access.read { try access.ids(try rows(range), $0) } }
    }

    /// All ids, in order.
    public var ids: [Entity.ID] {
        get throws { try access.read { try access.ids(try rows(), $0) } }
    }

    public var first: Entity.ID? {
        get throws { try access.read { _ in try list?.count() ?? 0 } > 0 ? try self[0] : nil }
    }

    public var last: Entity.ID? {
        get throws {
            let count = try count
            return count > 0 ? try self[count - 1] : nil
        }
    }

    /// Calls `body` with each id, in order. The ids are collected first, eight bytes each, so changes that `body` makes
    /// don't affect them.
    public func forEach(_ body: (Entity.ID) throws -> Void) throws {
        try access.forEach(try access.read { _ in try rows() }, body)
    }

    /// Returns the first position of an id, or nil if it isn't in the list. O(log n).
    public func firstIndex(of id: Entity.ID) throws -> Int? { try indices(of: id, limit: 1).first }

    /// Returns all positions of an id, in ascending order. O(log n) for each.
    public func indices(of id: Entity.ID) throws -> [Int] { try indices(of: id, limit: .max) }

    private func indices(of id: Entity.ID, limit: Int) throws -> [Int] {
        try access.read { session in
            guard let list, let row = try access.row(id, session) else { return [] }
            return try list.indices(of: row, limit: limit)
        }
    }

    public func contains(_ id: Entity.ID) throws -> Bool { try firstIndex(of: id) != nil }

    /// Returns the entities at a range of positions, or all, in order. An entity that is listed twice comes twice.
    public func entities(_ range: Range<Int>? = nil) throws -> [Entity] {
        try access.read { try access.entities(try rows(range), $0) }
    }

    /// Returns the entities as a query, in the order of the list. An entity that is listed twice comes twice. `limit`
    /// with an offset goes to its positions at once, `filter` reads until the limit is full or uses an index, and
    /// `sorted` uses an index's order if that is cheaper. `resolve()` reads in this transaction; in a later one the
    /// query reads the list as it is then.
    public func query() -> QueryList<Entity> {
        let (name, section) = (access.name, list?.section)
        return QueryList(context: access.context, list: name) { session in
            guard let section else { return RowArray([]) }
            return KeptList(try session.keptTrees(named: name, over: Entity.self), section: section)
        }
    }

    /// The list as rows for the planner. Empty for a group whose entity isn't stored.
    var rowList: any RowList { list.map { $0 as any RowList } ?? RowArray([]) }

    func rows(_ range: Range<Int>? = nil) throws -> [RowID] {
        if let range { try check(range) }
        return try list?.rows(range) ?? []
    }

    private func check(_ range: Range<Int>) throws {
        let count = try list?.count() ?? 0
        guard range.lowerBound >= 0, range.upperBound <= count else {
            throw access.outOfRange("places \(range)", count: count)
        }
    }

    // MARK: Changing

    /// Appends an id. Throws `.notStored` if no such entity is stored, as all insertions do. O(log n).
    public func append(_ id: Entity.ID) throws { try append(contentsOf: CollectionOfOne(id)) }

    public func append(contentsOf ids: some Collection<Entity.ID>) throws {
        try change { list, session in try list.insert(try access.rows(ids, session), at: try list.count()) }
    }

    /// Inserts an id before the one at a position, or at the end. Throws `.invalid` if there is no such position. O(log
    /// n).
    public func insert(_ id: Entity.ID, at index: Int) throws {
        try insert(contentsOf: CollectionOfOne(id), at: index)
    }

    public func insert(contentsOf ids: some Collection<Entity.ID>, at index: Int) throws {
        try replaceSubrange(index..<index, with: ids)
    }

    /// Replaces the ids at a range of positions. Throws `.invalid` if one of them doesn't exist. The time depends on
    /// the number of old and new ids, not on the size of the list.
    public func replaceSubrange(_ range: Range<Int>, with ids: some Collection<Entity.ID>) throws {
        try change { list, session in
            try check(range)
            let rows = try access.rows(ids, session)
            try list.remove(range)
            try list.insert(rows, at: range.lowerBound)
        }
    }

    /// Replaces the id at a position.
    public func replace(at index: Int, with id: Entity.ID) throws {
        try replaceSubrange(try place(index), with: CollectionOfOne(id))
    }

    private func place(_ index: Int) throws -> Range<Int> {
        guard index >= 0, index < .max else { throw access.outOfRange("place \(index)", count: try count) }
        return index..<index + 1
    }

    /// Removes the id at a position, and returns it. O(log n).
    @discardableResult
    public func remove(at index: Int) throws -> Entity.ID {
        try change { list, session in
            let range = try place(index)
            try check(range)
            let id = try access.id(try list.row(index), session)
            try list.remove(range)
            return id
        }
    }

    public func removeSubrange(_ range: Range<Int>) throws {
        try replaceSubrange(range, with: EmptyCollection())
    }

    /// Removes an id from all of its positions. Returns their number. O(log n) for each.
    @discardableResult
    public func remove(_ id: Entity.ID) throws -> Int {
        try change { list, session in try access.row(id, session).map { try list.removeAll(of: $0) } ?? 0 }
    }

    public func removeAll() throws {
        try access.change { _ in try list?.removeAll() }
    }

    /// Moves the id at one position so that it is at another one afterwards. O(log n).
    public func move(from index: Int, to target: Int) throws {
        try change { list, _ in
            for place in [index, target] { try check(try self.place(place)) }
            guard index != target else { return }
            let row = try list.row(index)
            try list.remove(index..<index + 1)
            try list.insert([row], at: target)
        }
    }
}
