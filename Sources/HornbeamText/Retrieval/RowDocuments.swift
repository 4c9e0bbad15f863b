// SPDX-License-Identifier: Apache-2.0
// Finds the documents of many rows at once. Rows and the table of rows by document both ascend, so they are merged;
// looking up each row would need a binary search with a descent of the tree at each step. Exceptions and pending
// documents are searched separately. Document numbers are never reused, so the result may include documents that have
// left; they have no postings.

import HornbeamPages
import HornbeamTree

extension DocumentMap {
    /// Number of table entries, with the rows of 256 documents each, that are read in the time of one look-up.
    private static let entriesOfLookup = 32

    /// Returns the documents that have or had these rows, ascending. `rows` ascend strictly.
    func documents(of rows: [UInt64], _ pending: PendingPart) throws(StorageError) -> [UInt32] {
        var found: [UInt32] = []
        found.reserveCapacity(rows.count)
        if rows.count > Int(nextDocno >> Self.chunkShift) / Self.entriesOfLookup {
            try addSorted(rows, to: &found)
            if statistics.exceptionCount > 0 { try addExceptions(rows, to: &found) }
        } else {
            for row in rows {
                if let docno = try docno(of: row) { found.append(docno) }
            }
        }
        for segment in pending.segments {
            for document in segment.documents where rows.holds(document.row) { found.append(document.docno) }
        }
        return found.ascends ? found : Set(found).sorted()
    }

    /// Appends the documents of rows that were the largest when they arrived.
    private func addSorted(_ rows: [UInt64], to found: inout [UInt32]) throws(StorageError) {
        let docnos = UnsafeMutablePointer<UInt32>.allocate(capacity: max(rows.count, 1))
        defer { docnos.deallocate() }
        var (next, count) = (0, 0)
        var cursor = try transaction.cursor(tree)
        var isThere = try cursor.seek(Self.key(chunk: 0))
        while isThere, next < rows.count, let entry = try cursor.entry(), let number = Self.chunk(ofKey: entry.key) {
            guard let chunk = RowChunk(entry.value), number <= nextDocno >> Self.chunkShift else { throw unreadable() }
            rows.withUnsafeBufferPointer {
                chunk.addDocuments(of: $0, from: &next, first: number << Self.chunkShift, to: docnos, &count)
            }
            isThere = try cursor.next()
        }
        found.append(contentsOf: UnsafeBufferPointer(start: docnos, count: count))
    }

    /// Appends the documents of the other rows.
    private func addExceptions(_ rows: [UInt64], to found: inout [UInt32]) throws(StorageError) {
        guard statistics.exceptionCount > UInt64(rows.count) else {
            var cursor = try transaction.cursor(tree)
            var isThere = try cursor.seek(Self.key(exception: 0))
            var next = 0
            while isThere, let entry = try cursor.entry(), entry.key.count == 9, entry.key[0] == DocumentKey.exception,
                let row = entry.key.bigEndian(at: 1, as: UInt64.self)
            {
                while next < rows.count, rows[next] < row { next += 1 }
                guard next < rows.count else { return }
                if rows[next] == row { found.append(try exception(entry.value)) }
                isThere = try cursor.next()
            }
            return
        }
        for row in rows {
            if let docno = try exception(row) { found.append(docno) }
        }
    }
}

extension RowChunk {
    /// Writes its documents that have one of the rows from index `next` on behind the first `count` of `found`.
    /// Afterwards `next` is the index of the first row that may belong to a later document.
    fileprivate func addDocuments(
        of rows: UnsafeBufferPointer<UInt64>, from next: inout Int, first docno: UInt32,
        to found: UnsafeMutablePointer<UInt32>, _ count: inout Int
    ) {
        guard let low = row(places.lowerBound), let high = row(places.upperBound - 1) else { return }
        var (row, size) = (next, count)
        defer { (next, count) = (row, size) }
        if !hasExceptions, high &- low == UInt64(places.count - 1) {
            // The rows are consecutive.
            while row < rows.count, rows[row] < low { row &+= 1 }
            let shift = docno &+ UInt32(places.lowerBound) &- UInt32(truncatingIfNeeded: low)
            while row < rows.count, rows[row] <= high {
                found[size] = UInt32(truncatingIfNeeded: rows[row]) &+ shift
                row &+= 1
                size &+= 1
            }
            return
        }
        for place in places where !isException(place) {
            guard row < rows.count, let wanted = self.row(place) else { return }
            while rows[row] < wanted {
                row &+= 1
                if row == rows.count { return }
            }
            guard rows[row] == wanted else { continue }
            found[size] = docno &+ UInt32(place)
            row &+= 1
            size &+= 1
        }
    }
}

extension [UInt32] {
    fileprivate var ascends: Bool {
        withUnsafeBufferPointer { numbers in
            for place in 1..<Swift.max(numbers.count, 1) where numbers[place] <= numbers[place &- 1] { return false }
            return true
        }
    }
}

extension [UInt64] {
    /// Whether the array, which must ascend, contains a number.
    func holds(_ number: UInt64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low &+ high) / 2
            if self[middle] == number { return true }
            if self[middle] < number { low = middle &+ 1 } else { high = middle }
        }
        return false
    }
}
