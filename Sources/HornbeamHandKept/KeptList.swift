// SPDX-License-Identifier: Apache-2.0
// An ordered list in a section of a counted tree. An entry's key ends in its place, a number that only gives the order:
// a new entry gets one between its neighbours' numbers. If none is left between them, the entries around it are spread
// over the smallest aligned range of numbers that is thin enough; a larger range must be thinner. This is tag-range
// relabelling (M. Bender, R. Cole, E. Demaine, M. Farach-Colton, J. Zito: Two Simplified Algorithms for Maintaining
// Order in a List, ESA 2002), which moves O(log n) entries for each insertion, amortised. The tree's counts give the
// i-th entry, and the number of entries before one.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

struct KeptList: RowList {
    private let trees: KeptTrees
    /// The prefix of all keys of the list.
    let section: [UInt8]
    /// The first key behind the list. Empty for an open end.
    private let end: [UInt8]

    /// Number of bits of a place.
    private static let bits = 62
    /// Distance between the places of entries that are added at an end of the list.
    private static let gap = 1 << 20
    /// A range of 2^i places is thin enough for (2/T)^i entries. A smaller T allows more entries in a list, here 10^11,
    /// but entries are moved more often.
    private static let sparsity = 1.3

    init(_ trees: KeptTrees, section: [UInt8] = []) {
        self.trees = trees
        self.section = section
        end = KeyWriter.successor(ofPrefix: section) ?? []
    }

    var name: String { trees.name }
    private var transaction: Transaction { trees.transaction }

    private func key(_ place: Int) -> [UInt8] {
        section + withUnsafeBytes(of: UInt64(place).bigEndian) { Array($0) }
    }

    private func place(_ key: Bytes) throws(StorageError) -> Int {
        guard key.count == section.count + 8, let place = RowID(key: key, at: section.count),
            place.rawValue < 1 << UInt64(Self.bits)
        else { throw trees.damaged("an entry has no place") }
        return Int(place.rawValue)
    }

    // MARK: Reading

    func count() throws -> Int {
        if section.isEmpty { return Int(entries: try transaction.count(trees.entries)) }
        return Int(entries: try transaction.count(trees.entries, from: section, to: end))
    }

    /// Returns the number of entries of the tree before the list's first.
    private func start() throws -> UInt64 {
        section.isEmpty ? 0 : try transaction.count(trees.entries, from: [], to: section)
    }

    private func entry(_ index: Int) throws -> (place: Int, row: RowID) {
        var cursor = try transaction.cursor(trees.entries)
        let (position, overflow) = try start().addingReportingOverflow(UInt64(index))
        guard !overflow, try cursor.seek(index: position), cursor.key.starts(with: section),
            let row = RowID(stored: cursor.value)
        else { throw trees.damaged("an entry is not where the counts say") }
        return (try place(cursor.key), row)
    }

    func row(_ index: Int) throws -> RowID { try entry(index).row }

    /// Calls `body` with the rows of a range, in their order, until it returns false.
    func forEach(_ range: Range<Int>? = nil, _ body: (RowID) throws -> Bool) throws {
        var left = range?.count ?? .max
        if left == 0 { return }
        let from = try range.map { $0.lowerBound == 0 ? section : key(try entry($0.lowerBound).place) } ?? section
        try trees.forEach(from: from, to: end) { _, row in
            left -= 1
            return try body(row) && left > 0
        }
    }

    func forEach(from index: Int, _ body: (RowID) throws -> Bool) throws {
        if index > 0, try index >= count() { return }
        try forEach(index..<Int.max, body)
    }

    func rows(_ range: Range<Int>? = nil) throws -> [RowID] {
        var rows: [RowID] = []
        try forEach(range) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Returns the indices of a row, in ascending order, up to `limit` of them.
    func indices(of row: RowID, limit: Int = .max) throws -> [Int] {
        var found: [Int] = []
        try trees.forEachKey(of: row, in: section) { key in
            guard found.count < limit else { return false }
            _ = try place(key)
            found.append(Int(entries: try transaction.count(trees.entries, from: section, to: Array(key))))
            return true
        }
        return found
    }

    // MARK: Changing

    /// Inserts rows before the entry that is at `index`.
    func insert(_ rows: [RowID], at index: Int) throws {
        guard !rows.isEmpty else { return }
        let count = try count()
        let left = index > 0 ? try entry(index - 1).place : nil
        let right = index < count ? try entry(index).place : nil
        guard let (first, step) = Self.room(for: rows.count, between: left, right) else {
            return try spread(rows, at: index, around: left ?? right ?? 0)
        }
        try put(rows, from: first, step: step)
    }

    /// Maximum number of rows that are put one by one, which is faster for few rows.
    private static var fewRows: Int { 8 }

    /// Puts rows at places in equal steps.
    private func put(_ rows: [RowID], from first: Int, step: Int) throws {
        let size = section.count + 8
        guard rows.count > Self.fewRows, let places = trees.places, size + 8 <= EntryRun.maximumSize else {
            for (number, row) in rows.enumerated() { try trees.put(key(first + number * step), row) }
            return
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rows.count * (size + 8))
        for (number, row) in rows.enumerated() {
            bytes += key(first + number * step)
            bytes += row.stored
        }
        try transaction.put(trees.entries, bytes, keySize: size, valueSize: 8)
        bytes.removeAll(keepingCapacity: true)
        for number in rows.indices.sorted(by: { (rows[$0], $0) < (rows[$1], $1) }) {
            bytes += rows[number].key
            bytes += key(first + number * step)
        }
        try transaction.put(places, bytes, keySize: size + 8, valueSize: 0)
    }

    /// Finds places for `count` entries between two neighbours, which are nil at an end of the list. Returns the first
    /// place and the distance between places, or nil if there isn't enough room.
    static func room(for count: Int, between left: Int?, _ right: Int?) -> (first: Int, step: Int)? {
        let (length, overflow) = count.multipliedReportingOverflow(by: gap)
        switch (left, right) {
        case (nil, nil):
            if !overflow, length < 1 << (bits - 1) { return ((1 << (bits - 1)) - length / 2, gap) }
        case (let left?, nil):
            if !overflow, length < (1 << bits) - left { return (left + gap, gap) }
        case (nil, let right?):
            if !overflow, length <= right { return (right - length, gap) }
        default: break
        }
        let low = left ?? -1
        let step = ((right ?? 1 << bits) - low) / (count + 1)
        return step > 0 ? (low + step, step) : nil
    }

    /// Inserts rows where there is no room for them, and moves their neighbours to other places.
    private func spread(_ rows: [RowID], at index: Int, around anchor: Int) throws {
        for power in 1...Self.bits {
            let base = power == Self.bits ? 0 : (anchor >> power) << power
            let (from, to) = (key(base), power == Self.bits ? end : key(base + (1 << power)))
            let present = Int(entries: try transaction.count(trees.entries, from: from, to: to))
            let total = present + rows.count
            guard pow(2 / Self.sparsity, power) >= Double(total) else { continue }
            let before = Int(entries: try transaction.count(trees.entries, from: section, to: from))
            var all: [RowID] = []
            try trees.forEach(from: from, to: to) { _, row in
                all.append(row)
                return true
            }
            // The number of entries must be the one that the room was computed for.
            guard all.count == present, case 0...present = index - before else {
                throw trees.damaged("an entry is not where the counts say")
            }
            all.insert(contentsOf: rows, at: index - before)
            try trees.removeAll(from: from, to: to)
            let step = (1 << power) / total
            return try put(all, from: base + step / 2, step: step)
        }
        throw StorageError.tooLarge(
            what: "number of ids in index “\(trees.name)”", size: try count() + rows.count, limit: 1 << 36)
    }

    /// Removes the entries of a range, which must be within the list.
    func remove(_ range: Range<Int>) throws {
        guard !range.isEmpty else { return }
        let from = key(try entry(range.lowerBound).place)
        let isToEnd = try range.upperBound == count()
        try trees.removeAll(from: from, to: isToEnd ? end : key(try entry(range.upperBound).place))
    }

    func removeAll() throws { try trees.removeAll(from: section, to: end) }

    /// Removes all entries of a row. Returns their number.
    func removeAll(of row: RowID) throws -> Int {
        var keys: [[UInt8]] = []
        try trees.forEachKey(of: row, in: section) { key in
            keys.append(Array(key))
            return true
        }
        for key in keys { try trees.remove(key, row) }
        return keys.count
    }
}

extension Transaction {
    /// Puts ascending entries, whose keys all have one size and whose values all have one size. The search for each
    /// entry starts from the position of the one before.
    fileprivate func put(_ tree: TreeID, _ entries: [UInt8], keySize: Int, valueSize: Int) throws(StorageError) {
        try entries.withBytes { (bytes) throws(StorageError) in
            guard let start = bytes.baseAddress else { return }
            let count = bytes.count / (keySize + valueSize)
            try put(tree, EntryRun(start, count: count, keySize: keySize, valueSize: valueSize))
        }
    }
}

/// A power with a whole exponent.
private func pow(_ base: Double, _ exponent: Int) -> Double { (0..<exponent).reduce(1) { power, _ in power * base } }
