// SPDX-License-Identifier: Apache-2.0
// Reductions of a map index: of all rows of a query, or of each group of them. For branches that are entirely in a
// range, their reduced values are used, so that a reduction reads two paths of nodes, whatever the range. A reduction
// over a prefix of strings reads all rows that may have the prefix.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A reduction of all rows of a query.
public struct MapReduction<Entity: EntityModelProtocol, Value, Reduce: Reducer>: Sendable where Reduce.Value == Value {
    let query: MapQuery<Entity, Value, Reduce>

    /// Returns the reduction of all rows of the query. Without rows it is the result of the reducer's identity. Reads
    /// O(log n) nodes of the tree, whatever the range; over a prefix of strings it reads all rows that may have it.
    /// Throws `.indexNotReady` if the index isn't registered or is still being built, and the errors of the reducer.
    public func resolve(in context: Context) throws -> Reduce.Result {
        try context.session.run { try resolve($0).result }
    }

    /// Returns the result, and the number of nodes of the tree that were read for it.
    func resolve(_ session: TypedTransaction) throws -> (result: Reduce.Result, nodesRead: Int) {
        let scan = try MapScan(query, session)
        let folder = MapFolder(query.index.reducer, scan.collator.collation)
        var nodes = 0
        for range in scan.ranges { nodes += try scan.fold(range, into: folder) }
        return (try folder.result(), nodes)
    }
}

/// A group of rows of a map index, reduced.
public struct MapGroup<Result> {
    /// The key that the group's rows share, or its first items. Null if all rows are one group.
    public let key: MapKey
    public let value: Result

    public init(key: MapKey, value: Result) {
        self.key = key
        self.value = value
    }
}

extension MapGroup: Sendable where Result: Sendable {}
extension MapGroup: Equatable where Result: Equatable {}

/// Reductions of the groups of a query's rows.
public struct MapGroups<Entity: EntityModelProtocol, Value, Reduce: Reducer>: Sendable where Reduce.Value == Value {
    let query: MapQuery<Entity, Value, Reduce>
    /// Number of items of a key that make a group. Nil for the whole key.
    let level: Int?

    /// Limits the result to `limit` groups. Nil means all; a negative limit gives none.
    public func limit(_ limit: Int?) -> Self { Self(query: query.limit(limit), level: level) }
    /// Skips the first `offset` groups.
    public func offset(_ offset: Int) -> Self { Self(query: query.offset(offset), level: level) }
    public func descending() -> Self { Self(query: query.descending(), level: level) }

    /// Returns the groups in the order of their keys. There are none if there are no rows. Throws `.indexNotReady` if
    /// the index isn't registered or is still being built, `.invalid` for a negative level, and the errors of the
    /// reducer.
    public func resolve(in context: Context) throws -> [MapGroup<Reduce.Result>] {
        try context.session.run { try resolve($0) }
    }

    func resolve(_ session: TypedTransaction) throws -> [MapGroup<Reduce.Result>] {
        var groups: [MapGroup<Reduce.Result>] = []
        let scan = try MapScan(query, session)
        var offset = query.offset
        var left = query.limit ?? .max
        guard left > 0 else { return [] }
        let isAskedFor = scan.isAskedOnce(level)
        let folder = MapFolder(query.index.reducer, scan.collator.collation)
        try scan.forEachGroup(level) { group in
            if offset > 0 {
                offset -= 1
                return true
            }
            folder.start()
            // The rows of a group are reduced in the order of the index, in any order of the groups.
            let parts = query.isDescending ? group.parts.reversed() : group.parts
            for part in parts { try scan.fold(part, isAskedFor: isAskedFor, into: folder) }
            groups.append(MapGroup(key: group.key, value: try folder.result()))
            left -= 1
            return left > 0
        }
        return groups
    }

    /// Returns the number of groups. Finds each group, but reduces none.
    public func count(in context: Context) throws -> Int {
        try context.session.run { session in
            var count = 0
            try MapScan(query, session).forEachGroup(level) { _ in
                count += 1
                return true
            }
            return Swift.min(Swift.max(0, count - query.offset), query.limit ?? .max)
        }
    }
}

extension MapQuery {
    /// Reduces all rows of the query to one result, by the index's reducer. Limit and offset have no effect.
    public func reduced() -> MapReduction<Entity, Value, Reduce> { MapReduction(query: self) }

    /// Makes a group of the rows of each key. Limit and offset then count groups.
    public func grouped() -> MapGroups<Entity, Value, Reduce> { MapGroups(query: self, level: nil) }

    /// Makes a group of the rows whose keys are arrays with the same first `level` items. The rows of a key of any
    /// other type, or of an array of fewer items, are a group by themselves. At level 0 all rows are one group.
    public func grouped(level: Int) -> MapGroups<Entity, Value, Reduce> { MapGroups(query: self, level: level) }
}

extension MapScan {
    /// Whether all rows of a group have the same string at the position of the prefix, so that testing one tests all.
    func isAskedOnce(_ level: Int?) -> Bool {
        guard let asked, let level else { return true }
        return level > asked.item ?? 0
    }

    /// Gives the folder the rows of a range. Returns the number of nodes of the tree that were read.
    @discardableResult
    func fold(_ range: Range, isAskedFor: Bool = false, into folder: MapFolder<Reduce>) throws -> Int {
        let target = folder.target
        if asked != nil, !isAskedFor {
            try walk(range, descending: false) { key, value in
                if try isAsked(key) { target.add(key: key, value: value) }
                return true
            }
            return 0
        }
        if query.index.reducer.partial(ofRows: 0) != nil {
            folder.add(rows: try count(range))
            return 0
        }
        var nodes = 0
        for part in parts(range) {
            switch part {
            case .places(let range):
                nodes += try range.from.withBytes { (from) throws(StorageError) in
                    try range.to.withBytes { (to) throws(StorageError) in
                        try transaction.fold(tree, from: from, to: to, into: target)
                    }
                }
            case .run(let prefix, let range):
                for entry in try entries(prefix, range) {
                    entry.whole.withUnsafeBytes { key in
                        entry.value.withUnsafeBytes { value in target.add(key: key, value: value) }
                    }
                }
            }
        }
        return nodes
    }

    /// A group of rows. It has several ranges if several keys are requested.
    struct Group {
        let key: MapKey
        /// The prefix of the keys of its rows.
        let prefix: [UInt8]
        /// In the query's order.
        var parts: [Range]
    }

    /// Calls `body` with each group, in the query's order, until it returns false.
    func forEachGroup(_ level: Int?, _ body: (Group) throws -> Bool) throws {
        if let level, level < 0 {
            throw HornbeamError(
                .invalid,
                "a query of index “\(query.index.registration.name)” has the group level \(level): give 0 or more")
        }
        var pending: Group?
        for range in query.isDescending ? ranges.reversed() : ranges {
            var rest = range
            while let (prefix, key) = try nextGroup(of: rest, level) {
                let end = KeyWriter.successor(ofPrefix: prefix) ?? []
                let part = Range(
                    from: rest.from.lexicographicallyPrecedes(prefix) ? prefix : rest.from,
                    to: end.isEmpty || (!rest.to.isEmpty && rest.to.lexicographicallyPrecedes(end)) ? rest.to : end)
                if pending?.prefix == prefix {
                    pending?.parts.append(part)
                } else {
                    if let pending, try !body(pending) { return }
                    pending = Group(key: key, prefix: prefix, parts: [part])
                }
                let isLast = query.isDescending ? part.from.isEmpty : part.to.isEmpty
                if query.isDescending { rest.to = part.from } else { rest.from = part.to }
                if isLast || rest.isEmpty { break }
            }
        }
        if let pending { _ = try body(pending) }
    }

    /// Returns the prefix of the keys of a range's first group, and the group's key.
    private func nextGroup(of range: Range, _ level: Int?) throws -> (prefix: [UInt8], key: MapKey)? {
        var found: (prefix: [UInt8], key: MapKey)?
        try walk(range) { key, _ in
            guard let emitted = MapEntryKey.emitted(key), let mapKey = MapKey(emitted, collator.collation) else {
                throw corrupt
            }
            // A group exists if one of its rows passes.
            guard try isAsked(key) else { return true }
            found = (Array(emitted), mapKey)
            guard let level else { return false }
            if level == 0 {
                found = ([], .null)
            } else if case .array(let items) = mapKey {
                var reader = KeyReader(emitted)
                if let size = try? reader.skipItems(level, collator.collation) {
                    found = (Array(emitted[..<size]), .array(Array(items.prefix(level))))
                }
            }
            return false
        }
        return found
    }
}
