// SPDX-License-Identifier: Apache-2.0
// Entries of map indexes whose emitted keys are too long for a tree. Entries with the same kept part are a run: they
// are adjacent in the tree, and are read together and sorted by their whole keys.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The runs of one tree in one transaction.
final class LongKeys {
    struct Entry {
        /// The emitted key, which isn't cut here, then row id and ordinal.
        let whole: [UInt8]
        let value: [UInt8]
    }

    private let transaction: Transaction
    private let tree: TreeID
    private let registration: IndexRegistration
    /// The run that was read last: groups of long keys ask for the same one several times.
    private var last: (prefix: [UInt8], entries: [Entry])?

    init(_ transaction: Transaction, _ tree: TreeID, of registration: IndexRegistration) {
        self.transaction = transaction
        self.tree = tree
        self.registration = registration
    }

    /// Whether an entry of the tree may be one of a run.
    static func isLong(_ key: Bytes) -> Bool { key.count > MapEntryKey.keptSize + MapEntryKey.suffix }

    /// Returns the entries whose keys begin with a kept part, in the order of their whole keys.
    func run(_ prefix: [UInt8]) throws -> [Entry] {
        if let last, last.prefix == prefix { return last.entries }
        var entries: [Entry] = []
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            entries.append(Entry(whole: try whole(cursor.key, cursor.value), value: Array(cursor.value)))
            isValid = try cursor.next()
        }
        entries.sort { $0.whole.lexicographicallyPrecedes($1.whole) }
        last = (prefix, entries)
        return entries
    }

    private func whole(_ key: Bytes, _ value: Bytes) throws -> [UInt8] {
        guard key.count == MapEntryKey.cutSize + MapEntryKey.suffix else { return Array(key) }
        guard let emitted = MapEntryValue(value)?.key, emitted.count > MapEntryKey.limit,
            emitted.starts(with: key.prefix(MapEntryKey.keptSize))
        else {
            throw StorageError.corrupt(
                Corruption(
                    tree: RegisteredCatalogue.treeName(of: registration.name, registration.entity),
                    reason: "the entry of a shortened key lacks the whole key"))
        }
        return Array(emitted) + key.suffix(MapEntryKey.suffix)
    }
}

extension MapScan {
    /// A part of a range.
    enum Part {
        /// Adjacent entries of the tree. Neither bound is longer than the kept part of a key.
        case places(Range)
        /// The entries of the run with a prefix whose whole keys are in a range.
        case run(prefix: [UInt8], Range)
    }

    /// Returns the parts of a range, in the order of their keys.
    func parts(_ range: Range) -> [Part] {
        func kept(_ bound: [UInt8]) -> [UInt8]? {
            bound.count > MapEntryKey.keptSize ? Array(bound[..<MapEntryKey.keptSize]) : nil
        }
        let (low, high) = (kept(range.from), kept(range.to))
        guard low != nil || high != nil else { return [.places(range)] }
        if let low, low == high { return [.run(prefix: low, range)] }
        var parts: [Part] = []
        var middle = range
        if let low {
            parts.append(.run(prefix: low, Range(from: range.from, to: [])))
            guard let end = KeyWriter.successor(ofPrefix: low) else { return parts }
            middle.from = end
        }
        if let high { middle.to = high }
        if !middle.isEmpty { parts.append(.places(middle)) }
        if let high { parts.append(.run(prefix: high, Range(from: [], to: range.to))) }
        return parts
    }

    /// Returns the entries of a run that are in a range.
    func entries(_ prefix: [UInt8], _ range: Range) throws -> ArraySlice<LongKeys.Entry> {
        let run = try longKeys.run(prefix)
        func place(_ bound: [UInt8]) -> Int {
            var (low, high) = (0, run.count)
            while low < high {
                let middle = (low + high) / 2
                if run[middle].whole.lexicographicallyPrecedes(bound) { low = middle + 1 } else { high = middle }
            }
            return low
        }
        let start = place(range.from)
        return run[start..<(range.to.isEmpty ? run.count : Swift.max(start, place(range.to)))]
    }

    /// Calls `body` with the entries of a run until it returns false. Returns false if it did.
    func walk(
        _ entries: ArraySlice<LongKeys.Entry>, _ isDescending: Bool,
        _ body: (_ key: Bytes, _ value: Bytes) throws -> Bool
    ) throws -> Bool {
        for place in 0..<entries.count {
            let entry = entries[isDescending ? entries.endIndex - 1 - place : entries.startIndex + place]
            let goesOn = try entry.whole.withUnsafeBytes { key in
                try entry.value.withUnsafeBytes { value in try body(key, value) }
            }
            guard goesOn else { return false }
        }
        return true
    }
}
