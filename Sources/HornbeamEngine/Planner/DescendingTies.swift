// SPDX-License-Identifier: Apache-2.0
// Walks a range of an index by descending row ids within each key. A backward walk reads all entries in reverse. A
// forward walk reads each key's entries from the last to the first.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// A scan in ascending or descending order of whole keys, with descending row ids within a key.
struct DescendingTies {
    let scan: IndexScan
    let isReversed: Bool
    /// Entries with this key are skipped unless they are before this place.
    let last: IndexPlace?

    /// - Parameter skipped: number of entries to skip. A forward walk reads only those that share the key of the first
    ///   wanted entry.
    func run(skipping skipped: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        guard skipped > 0 else { return try run(passing: 0, body) }
        let rest = try scan.rest(skipping: skipped, isReversed: isReversed) { key in
            if scan.isLong(key) { return IndexKeyBytes.keptSize }
            return isReversed ? nil : scan.index.keySize(key)
        }
        guard let rest else { return }
        try DescendingTies(scan: rest.scan, isReversed: isReversed, last: last).run(passing: rest.skipped, body)
    }

    /// - Parameter passed: number of entries of the first group to skip.
    private func run(passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        try isReversed ? backward(passing: passed, body) : forward(passing: passed, body)
    }

    private func backward(passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        var passed = passed
        let (from, to) = (scan.range.from, scan.range.to)
        var cursor = try scan.transaction.cursor(scan.index.tree)
        var isValid = try to.isEmpty ? cursor.last() : scan.before(to, &cursor)
        while isValid, let entry = try cursor.entry(), from.withUnsafeBytes({ entry.key.order($0) >= 0 }) {
            if scan.isLong(entry.key) {
                let kept = Array(entry.key.prefix(IndexKeyBytes.keptSize))
                guard try scan.longGroup(kept, descending: true, passing: passed, rowsDescend: true, body) else {
                    return
                }
                passed = 0
                isValid = try scan.before(kept, &cursor)
                continue
            }
            guard let rowID = scan.index.rowID(key: entry.key, value: entry.value) else { throw scan.damaged() }
            guard try body(rowID, entry.key) else { return }
            isValid = try cursor.previous()
        }
    }

    private func forward(passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws {
        var passed = passed
        let (from, to) = (scan.range.from, scan.range.to)
        var cursor = try scan.transaction.cursor(scan.index.tree)
        var isValid = from.isEmpty ? try cursor.first() : try cursor.seek(from)
        while isValid, let entry = try cursor.entry(),
            to.isEmpty || to.withUnsafeBytes({ entry.key.order($0) < 0 })
        {
            if scan.isLong(entry.key) {
                let kept = Array(entry.key.prefix(IndexKeyBytes.keptSize))
                guard try scan.longGroup(kept, descending: false, passing: passed, rowsDescend: true, body) else {
                    return
                }
                passed = 0
                // This key is after all of the group: 32 more bytes of 0xFF make it longer than any key.
                isValid = try cursor.seek(kept + [UInt8](repeating: 0xFF, count: 32))
                continue
            }
            guard let size = scan.index.keySize(entry.key), size > 0,
                let rowID = scan.index.rowID(key: entry.key, value: entry.value)
            else { throw scan.damaged() }
            let key = Array(entry.key.prefix(size))
            isValid = try cursor.next()
            if isValid, scan.isEntry(cursor.key, of: key) {
                guard try group(key, passing: passed, body) else { return }
                isValid = try KeyWriter.successor(ofPrefix: key).map { try cursor.seek($0) } ?? false
            } else if passed == 0, last?.row(of: key).map({ rowID < $0 }) ?? true {
                guard try key.withUnsafeBytes({ try body(rowID, $0) }) else { return }
            }
            passed = 0
        }
    }

    /// Calls `body` with all entries of one key, from the last to the first. Returns false if `body` did.
    private func group(_ key: [UInt8], passing passed: Int, _ body: (RowID, Bytes?) throws -> Bool) throws -> Bool {
        var passed = passed
        var cursor = try scan.transaction.cursor(scan.index.tree)
        let end = last?.row(of: key).map { key + $0.key } ?? KeyWriter.successor(ofPrefix: key) ?? []
        var isValid = try end.isEmpty ? cursor.last() : scan.before(end, &cursor)
        while isValid, let entry = try cursor.entry(), scan.isEntry(entry.key, of: key) {
            guard let rowID = scan.index.rowID(key: entry.key, value: entry.value) else { throw scan.damaged() }
            if passed > 0 {
                passed -= 1
            } else if try !body(rowID, entry.key) {
                return false
            }
            isValid = try cursor.previous()
        }
        return true
    }
}
