// SPDX-License-Identifier: Apache-2.0
// Walks one range of an index, forwards or backwards, in the order of the rows' whole keys. Rows with equal keys have
// ascending row ids in both directions. Keys that are too long for the tree are cut (see IndexEntries.swift), so
// entries that share the kept part are sorted by the keys of their rows.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A scan of a range. It calls its bodies with each entry's row id and key, which begins with the row's key. The key is
/// nil if it is cut.
struct IndexScan {
    let index: EntityIndex
    let range: EntryRange
    let store: EntityStore
    let transaction: Transaction

    init(_ index: EntityIndex, _ range: EntryRange, _ store: EntityStore) {
        self.index = index
        self.range = range
        self.store = store
        transaction = store.transaction
    }

    func damaged() -> StorageError {
        store.corrupt("index \(index.description.name)", "an entry names no row")
    }

    /// Calls `body` with all entries in the order of the tree, which is that of the keys except for cut keys, until it
    /// returns false.
    func entries(_ body: (RowID, Bytes?) throws -> Bool) throws {
        let isUnique = index.isUnique
        var cursor = try transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        try range.to.withUnsafeBytes { end in
            // Uses `entry`, not `key`, which copies the whole cursor in a closure.
            while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                guard let rowID = EntityIndex.rowID(key: entry.key, value: entry.value, isUnique: isUnique) else {
                    throw damaged()
                }
                guard try body(rowID, entry.key) else { return }
                isValid = try cursor.next()
            }
        }
    }

    /// Appends the row ids of all entries in the order of the tree.
    func addRowIDs(to found: inout [UInt64]) throws {
        guard !index.isUnique else {
            return try entries { rowID, _ in
                found.append(rowID.rawValue)
                return true
            }
        }
        let numbers = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.entriesOfRead)
        defer { numbers.deallocate() }
        var cursor = try transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        // The tree has given the number of entries, so only the last key and the one after it are compared.
        var left = range.count
        while isValid, left > 0 {
            let capacity = min(left, Self.entriesOfRead)
            guard let count = try cursor.readNumbers(numbers, capacity: capacity), count > 0 else { throw damaged() }
            found.append(contentsOf: UnsafeBufferPointer(start: numbers, count: count))
            left -= count
            if left == 0, !isInRange(cursor.key) { throw miscounted() }
            isValid = try cursor.next()
        }
        if left > 0 || isValid && isInRange(cursor.key) { throw miscounted() }
    }

    private static let entriesOfRead = 512

    private func isInRange(_ key: Bytes) -> Bool {
        range.to.isEmpty || range.to.withUnsafeBytes { key.order($0) < 0 }
    }

    private func miscounted() -> StorageError {
        store.corrupt("index \(index.description.name)", "it has not as many entries as it counts")
    }

    /// - Parameter skipped: number of entries to skip, without reading them.
    func forward(skipping skipped: Int = 0, _ body: (RowID, Bytes?) throws -> Bool) throws {
        guard skipped == 0 else {
            let rest = try rest(skipping: skipped, isReversed: false) { isLong($0) ? IndexKeyBytes.keptSize : nil }
            if let rest { try rest.scan.forward(passing: rest.skipped, body) }
            return
        }
        try forward(passing: 0, body)
    }

    /// - Parameter passed: number of entries of the first group of cut keys to skip.
    private func forward(passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        var passed = passed
        var cursor = try transaction.cursor(index.tree)
        var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
        let isUnique = index.isUnique
        try range.to.withUnsafeBytes { end in
            while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                if entry.key.count >= IndexKeyBytes.keptSize, isLong(entry.key) {
                    let kept = Array(entry.key.prefix(IndexKeyBytes.keptSize))
                    guard try longGroup(kept, descending: false, passing: passed, body) else { return }
                    passed = 0
                    // This key is after all of the group: 32 more bytes of 0xFF make it longer than any key.
                    let beyond = kept + [UInt8](repeating: 0xFF, count: 32)
                    isValid = try cursor.seek(beyond)
                    continue
                }
                guard let rowID = EntityIndex.rowID(key: entry.key, value: entry.value, isUnique: isUnique) else {
                    throw damaged()
                }
                guard try body(rowID, entry.key) else { return }
                isValid = try cursor.next()
            }
        }
    }

    /// Calls `body` with the entries in reverse order of keys, until it returns false. Entries of one key are stored by
    /// ascending row ids, so they are collected on the way back and reversed. If they are many, they are read forwards
    /// from the first one instead.
    /// - Parameter last: entries with its key are skipped unless they are after it.
    func backward(behind last: IndexPlace, _ body: (RowID, Bytes?) throws -> Bool) throws {
        try backward(passing: 0, behind: last, body)
    }

    /// - Parameter skipped: number of entries to skip, without reading them.
    func backward(skipping skipped: Int = 0, _ body: (RowID, Bytes?) throws -> Bool) throws {
        guard skipped > 0 else { return try backward(passing: 0, behind: nil, body) }
        let rest = try rest(skipping: skipped, isReversed: true) { key in
            index.keySize(key).map { min($0, IndexKeyBytes.keptSize) }
        }
        guard let rest else { return }
        if rest.group.count >= IndexKeyBytes.keptSize || rest.skipped == 0 {
            return try rest.scan.backward(passing: rest.skipped, behind: nil, body)
        }
        // The entries of one key have stored order, so the wanted ones are after the last skipped one.
        var cursor = try transaction.cursor(index.tree)
        guard try cursor.seek(index: rest.first + UInt64(rest.skipped - 1)),
            let rowID = index.rowID(key: cursor.key, value: cursor.value)
        else { throw damaged() }
        try rest.scan.backward(passing: 0, behind: IndexPlace(key: rest.group, rowID: rowID), body)
    }

    private func backward(
        passing passed: Int, behind last: IndexPlace?, _ body: (RowID, Bytes?) throws -> Bool
    ) throws {
        try withUnsafeTemporaryAllocation(byteCount: IndexKeyBytes.keptSize, alignment: 8) { memory in
            try range.from.withUnsafeBytes {
                try backward(from: $0, Run(memory), passing: passed, behind: last, body)
            }
        }
    }

    private func backward(
        from start: Bytes, _ run: consuming Run, passing passed: Int, behind last: IndexPlace?,
        _ body: (RowID, Bytes?) throws -> Bool
    ) throws {
        var passed = passed
        var cursor = try transaction.cursor(index.tree)
        var isValid = try range.to.isEmpty ? cursor.last() : before(range.to, &cursor)
        while isValid, let entry = try cursor.entry(), entry.key.order(start) >= 0 {
            // A key has at least one byte: an empty one would look like no run at all.
            guard let size = index.keySize(entry.key), size > 0,
                let rowID = index.rowID(key: entry.key, value: entry.value)
            else { throw damaged() }
            if run.takes(entry.key) {
                if run.others.count < Run.bound {
                    run.others.append(rowID)
                    isValid = try cursor.previous()
                } else {
                    let key = Array(run.key)
                    run.clear()
                    guard try group(key, behind: last?.row(of: key), body) else { return }
                    isValid = try before(key, &cursor)
                }
                continue
            }
            guard try finish(&run, behind: last, body) else { return }
            if size >= IndexKeyBytes.keptSize {
                let kept = Array(entry.key.prefix(IndexKeyBytes.keptSize))
                guard try longGroup(kept, descending: true, passing: passed, body) else { return }
                passed = 0
                isValid = try before(kept, &cursor)
                continue
            }
            if size == entry.key.count {
                guard try body(rowID, entry.key) else { return }
            } else {
                run.begin(Bytes(rebasing: entry.key[..<size]), rowID)
            }
            isValid = try cursor.previous()
        }
        _ = try finish(&run, behind: last, body)
    }

    /// Entries of one key that were read on the way back.
    private struct Run: ~Copyable {
        /// Maximum number of collected entries.
        static let bound = 64
        private let memory: UnsafeMutableRawBufferPointer
        /// Size of the key; 0 if there is none, because a key has at least one byte.
        private var size = 0
        private(set) var first = RowID(rawValue: 0)
        /// The rows that were read after the first one, which descend. There is nearly always none.
        var others: [RowID] = []

        init(_ memory: UnsafeMutableRawBufferPointer) {
            self.memory = memory
        }

        var isEmpty: Bool { size == 0 }
        var key: Bytes { Bytes(start: memory.baseAddress, count: size) }

        /// Begins with a key that is shorter than the kept part of long keys.
        @inline(__always)
        mutating func begin(_ key: Bytes, _ rowID: RowID) {
            if let target = memory.baseAddress, let source = key.baseAddress { target.copyShort(source, key.count) }
            size = key.count
            first = rowID
        }

        /// Whether the entry is one of the same key.
        @inline(__always)
        func takes(_ entry: Bytes) -> Bool {
            !isEmpty && entry.count == size + 8 && Bytes(rebasing: entry[..<size]).order(key) == 0
        }

        mutating func clear() {
            size = 0
            if !others.isEmpty { others.removeAll(keepingCapacity: true) }
        }
    }

    /// Calls `body` with the entries of one key and forgets them. Returns false if `body` did.
    @inline(__always)
    private func finish(
        _ run: inout Run, behind last: IndexPlace?, _ body: (RowID, Bytes?) throws -> Bool
    ) throws -> Bool {
        if run.isEmpty { return true }
        if last == nil, run.others.isEmpty {
            guard try body(run.first, run.key) else { return false }
            run.clear()
            return true
        }
        let start = last.flatMap { $0.row(of: Array(run.key)) }
        var place = run.others.count
        while place >= 0 {
            let rowID = place == 0 ? run.first : run.others[place - 1]
            place -= 1
            if let start, rowID <= start { continue }
            guard try body(rowID, run.key) else { return false }
        }
        run.clear()
        return true
    }

    /// Moves to the last entry before `key`. Returns false if there is none.
    func before(_ key: [UInt8], _ cursor: inout Cursor) throws -> Bool {
        try cursor.seek(key) ? try cursor.previous() : try cursor.last()
    }

    func isEntry(_ entry: Bytes, of key: [UInt8]) -> Bool {
        entry.count == key.count + 8 && entry.starts(with: key)
    }

    /// Calls `body` with all entries of one key, or those after one row, in the order of row ids. Returns false if
    /// `body` did.
    private func group(_ key: [UInt8], behind last: RowID?, _ body: (RowID, Bytes?) throws -> Bool) throws -> Bool {
        var cursor = try transaction.cursor(index.tree)
        var isValid = try cursor.seek(last.flatMap(\.next).map { key + $0.key } ?? key)
        while isValid, let entry = try cursor.entry(), isEntry(entry.key, of: key) {
            guard let rowID = index.rowID(key: entry.key, value: entry.value) else { throw damaged() }
            guard try body(rowID, entry.key) else { return false }
            isValid = try cursor.next()
        }
        return true
    }

    // MARK: Passing over entries

    /// The rest of a scan after skipped entries: the scan from the group of the first wanted entry on, and the number
    /// of entries of this group to skip.
    struct Rest {
        let scan: IndexScan
        /// The bytes with which the group's keys begin.
        let group: [UInt8]
        /// The number of the group's first entry in the index.
        let first: UInt64
        let skipped: Int
    }

    /// Finds the rest by counted trees, without reading the skipped entries. Returns nil if there are no more than
    /// `skipped` entries.
    /// - Parameter size: gives the size of the leading part of an entry's key that makes its group; nil if the entry
    ///   belongs to no group. The entries of a group aren't read in stored order, or not all in the same direction.
    func rest(skipping skipped: Int, isReversed: Bool, group size: (Bytes) -> Int?) throws -> Rest? {
        let all = try transaction.count(index.tree)
        let begin = range.from.isEmpty ? 0 : try transaction.count(index.tree, from: [], to: range.from)
        let end = range.to.isEmpty ? all : try transaction.count(index.tree, from: [], to: range.to)
        guard begin < end, UInt64(skipped) < end - begin else { return nil }
        let place = isReversed ? end - 1 - UInt64(skipped) : begin + UInt64(skipped)
        var cursor = try transaction.cursor(index.tree)
        guard try cursor.seek(index: place) else { throw miscounted() }
        let key = cursor.key
        guard let groupSize = size(key) else {
            var left = range
            if isReversed {
                left.to = Array(key) + [0]
                left.count = Int(entries: place + 1 - begin)
            } else {
                left.from = Array(key)
                left.count = Int(entries: end - place)
            }
            return Rest(scan: IndexScan(index, left, store), group: Array(key), first: place, skipped: 0)
        }
        let group = Array(key.prefix(groupSize))
        let next = KeyWriter.successor(ofPrefix: group) ?? []
        // Ranges begin and end between groups.
        let first = max(begin, try transaction.count(index.tree, from: [], to: group))
        let behind = next.isEmpty ? end : min(end, try transaction.count(index.tree, from: [], to: next))
        guard first <= place, place < behind else { throw miscounted() }
        var left = range
        if isReversed {
            if behind < end { left.to = next }
            left.count = Int(entries: behind - begin)
        } else {
            if first > begin { left.from = group }
            left.count = Int(entries: end - first)
        }
        return Rest(
            scan: IndexScan(index, left, store), group: group, first: first,
            skipped: Int(entries: isReversed ? behind - 1 - place : place - first))
    }

    // MARK: Long keys

    /// Whether the entry's key may be cut, so that it doesn't give the order.
    func isLong(_ entry: Bytes) -> Bool {
        entry.count >= IndexKeyBytes.keptSize && (index.keySize(entry) ?? 0) >= IndexKeyBytes.keptSize
    }

    /// Calls `body` with all entries that begin with `kept`, in the order of their rows' keys. Ranges never end within
    /// such a group: their bounds are no longer than the kept part. Returns false if `body` did.
    /// - Parameters:
    ///   - passed: number of entries to skip.
    ///   - rowsDescend: whether entries of one key have descending row ids.
    func longGroup(
        _ kept: [UInt8], descending: Bool, passing passed: Int, rowsDescend: Bool = false,
        _ body: (RowID, Bytes?) throws -> Bool
    ) throws -> Bool {
        var found: [(key: [UInt8], rowID: RowID)] = []
        var cursor = try transaction.cursor(index.tree)
        var isValid = try cursor.seek(kept)
        while isValid, cursor.key.starts(with: kept) {
            guard let rowID = index.rowID(key: cursor.key, value: cursor.value), let row = try store.row(rowID) else {
                throw damaged()
            }
            found.append((try index.fullKey(of: row).key, rowID))
            isValid = try cursor.next()
        }
        found.sort { left, right in
            if left.key == right.key { return (left.rowID < right.rowID) != rowsDescend }
            return left.key.lexicographicallyPrecedes(right.key) != descending
        }
        for entry in found.dropFirst(passed) where try !body(entry.rowID, nil) { return false }
        return true
    }
}
