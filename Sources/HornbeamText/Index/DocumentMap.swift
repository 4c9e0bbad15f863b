// SPDX-License-Identifier: Apache-2.0
// Maps document numbers to rows and rows to document numbers. Rows usually arrive in ascending order. Then the table of
// rows by document is sorted by row, too, and a row is found by binary search. Rows that arrive after a larger one are
// exceptions, with entries of their own. 256 documents share an entry, which takes a few bytes if their rows are
// consecutive.
//
//   key    3, document / 256 u32 big-endian
//   value     1  flags: 1 a document's index among the 256 is added to its row, 2 some rows are exceptions, 4 there are
//                rows before
//          2  2  index of the first document among the 256 · documents − 1
//          0-10  varint: the largest row of the documents before that is no exception, if there are rows before
//          1-10  varint: base
//             1  bytes of an offset, 0 to 8
//          0-32  bits: the exceptions, by index
//           0-…  for each document, little-endian: its row − base (− its index)
//   key    4, row u64 big-endian: an exception
//   value  varint document
//
// A document that has left keeps its row here until all of the 256 have left. Its length tells whether it is present.

import HornbeamPages
import HornbeamTree

/// One entry of rows. Borrows its bytes.
struct RowChunk {
    let isPredicted: Bool
    /// The indexes that have a row.
    let places: Range<Int>
    let before: UInt64?
    private let base: UInt64
    private let width: Int
    private let exceptions: Bytes
    private let offsets: Bytes

    static let predicted: UInt8 = 1
    static let hasExceptions: UInt8 = 2
    static let hasBefore: UInt8 = 4

    /// Returns nil if the bytes can't be an entry.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard let flags = reader.byte(), flags < 8, let first = reader.byte(), let more = reader.byte(),
            Int(first) + Int(more) < DocumentMap.chunkCapacity
        else { return nil }
        isPredicted = flags & Self.predicted != 0
        places = Int(first)..<Int(first) + Int(more) + 1
        var before: UInt64?
        if flags & Self.hasBefore != 0 {
            guard let row = reader.varint() else { return nil }
            before = row
        }
        self.before = before
        guard let base = reader.varint(), let width = reader.byte(), width <= 8,
            let exceptions = reader.slice(flags & Self.hasExceptions == 0 ? 0 : UInt64(DocumentMap.chunkCapacity / 8)),
            let offsets = reader.slice(UInt64(places.count * Int(width))), reader.isAtEnd
        else { return nil }
        (self.base, self.width, self.exceptions, self.offsets) = (base, Int(width), exceptions, offsets)
    }

    var hasExceptions: Bool { !exceptions.isEmpty }

    /// The row at index 0, present or not, if the rows are consecutive; otherwise nil.
    var firstRow: UInt64? { isPredicted && width == 0 && !hasExceptions ? base : nil }

    /// Whether the row at an index, which must be one of `places`, is an exception.
    @inline(__always)
    func isException(_ place: Int) -> Bool {
        hasExceptions && exceptions[place >> 3] >> UInt8(place & 7) & 1 == 1
    }

    /// Returns the row at an index. Returns nil if the index has no row or the row overflows.
    @inline(__always)
    func row(_ place: Int) -> UInt64? {
        guard places.contains(place) else { return nil }
        var offset: UInt64 = 0
        let start = (place &- places.lowerBound) &* width
        for byte in 0..<width { offset |= UInt64(offsets[start &+ byte]) &<< UInt64(8 &* byte) }
        let (sum, overflows) = base.addingReportingOverflow(offset)
        guard isPredicted else { return overflows ? nil : sum }
        let (row, overflowsAgain) = sum.addingReportingOverflow(UInt64(place))
        return overflows || overflowsAgain ? nil : row
    }

    /// Returns the index of a row. Ignores exceptions.
    func place(of row: UInt64) -> Int? {
        guard !hasExceptions else { return places.first { !isException($0) && self.row($0) == row } }
        var (low, high) = (places.lowerBound, places.upperBound)
        while low < high {
            let middle = (low + high) / 2
            guard let found = self.row(middle) else { return nil }
            if found == row { return middle }
            if found < row { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Encodes an entry. `rows` isn't empty and `exceptions` has as many elements.
    static func encoded(
        first: Int, rows: ArraySlice<UInt64>, exceptions: ArraySlice<Bool>, before: UInt64?
    ) -> [UInt8] {
        // The index is subtracted from each row if no difference is negative.
        let isPredicted = rows.enumerated().allSatisfy { $0.element >= UInt64(first + $0.offset) }
        let parts = rows.enumerated().map { isPredicted ? $0.element - UInt64(first + $0.offset) : $0.element }
        let base = parts.min() ?? 0
        let span = (parts.max() ?? 0) - base
        let width = (64 - span.leadingZeroBitCount + 7) / 8
        let hasException = exceptions.contains(true)
        var flags = isPredicted ? predicted : 0
        if hasException { flags |= hasExceptions }
        if before != nil { flags |= hasBefore }
        var bytes = [flags, UInt8(first), UInt8(rows.count - 1)]
        if let before { bytes.appendVarint(before) }
        bytes.appendVarint(base)
        bytes.append(UInt8(width))
        if hasException {
            var bits = [UInt8](repeating: 0, count: DocumentMap.chunkCapacity / 8)
            for (place, isException) in exceptions.enumerated() where isException {
                bits[(first + place) >> 3] |= 1 << UInt8((first + place) & 7)
            }
            bytes += bits
        }
        for part in parts {
            for byte in 0..<width { bytes.append(UInt8(truncatingIfNeeded: (part - base) >> UInt64(8 * byte))) }
        }
        return bytes
    }
}

/// Finds documents by row and rows by document, in one state of a transaction.
struct DocumentMap {
    static let chunkCapacity = 256
    static let chunkShift: UInt32 = 8

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex
    let statistics: TextStatistics

    init(_ index: TextIndex, _ trees: TextTrees, _ statistics: TextStatistics, in transaction: Transaction) {
        self.index = index
        tree = trees.documents
        self.statistics = statistics
        self.transaction = transaction
    }

    /// The number of the next document. All existing ones are smaller.
    var nextDocno: UInt32 { statistics.nextDocno }

    private var lengths: DocumentLengths { DocumentLengths(transaction: transaction, tree: tree, index: index) }

    /// Returns the row of a document of the index. The caller must know that the document is there.
    func row(of docno: UInt32) throws(StorageError) -> UInt64 {
        if let chunk = try chunk(docno >> Self.chunkShift), let row = chunk.row(Int(docno) % Self.chunkCapacity) {
            return row
        }
        throw index.corrupt(index.documentsName, "the row of document \(docno) is missing")
    }

    /// Returns the entry of the rows of documents from 256 · `number` on. Returns nil if none was added or all have
    /// left. Valid until the next change.
    func chunk(_ number: UInt32) throws(StorageError) -> RowChunk? {
        let found = try DocumentKey.withBytes(DocumentKey.rows, number) { (key) throws(StorageError) in
            try transaction.get(tree, key)
        }
        guard let bytes = found else { return nil }
        guard let chunk = RowChunk(bytes) else { throw unreadable() }
        return chunk
    }

    /// Returns the document of a row, or nil if the index has none.
    func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        guard let largest = statistics.largestRow, row <= largest else { return nil }
        if statistics.exceptionCount > 0, let docno = try exception(row) { return docno }
        guard let docno = try sortedDocno(of: row), try lengths.length(of: docno) != nil else { return nil }
        return docno
    }

    func exception(_ row: UInt64) throws(StorageError) -> UInt32? {
        guard let bytes = try transaction.get(tree, Self.key(exception: row)) else { return nil }
        return try exception(bytes)
    }

    /// Returns the document that the entry of an exception names.
    func exception(_ bytes: Bytes) throws(StorageError) -> UInt32 {
        var reader = ByteReader(bytes)
        guard let docno = reader.varint32(), reader.isAtEnd, docno < nextDocno else { throw unreadable() }
        return docno
    }

    /// Returns the document, present or not, that had the row when it arrived as the largest so far.
    private func sortedDocno(of row: UInt64) throws(StorageError) -> UInt32? {
        guard nextDocno > 0 else { return nil }
        var cursor = try transaction.cursor(tree)
        var low: Int64 = 0
        var high = Int64((nextDocno - 1) >> Self.chunkShift)
        var found: UInt32?
        while low <= high {
            let middle = low + (high - low) / 2
            // A chunk whose documents have all left has no entry. Then this is the chunk before.
            guard try cursor.seekLast(Self.key(chunk: UInt32(middle))), let number = Self.chunk(ofKey: cursor.key),
                Int64(number) >= low
            else {
                low = middle + 1
                continue
            }
            // The search ends only because `number` isn't above `middle`.
            guard Int64(number) <= middle, let chunk = RowChunk(cursor.value) else { throw unreadable() }
            if chunk.before.map({ $0 < row }) ?? true {
                found = number
                low = middle + 1
            } else {
                high = Int64(number) - 1
            }
        }
        guard let found, let place = try chunk(found)?.place(of: row) else { return nil }
        return found << Self.chunkShift | UInt32(place)
    }

    static func key(chunk: UInt32) -> [UInt8] { DocumentKey.bytes(DocumentKey.rows, chunk) }
    static func key(exception row: UInt64) -> [UInt8] { DocumentKey.bytes(DocumentKey.exception, row) }

    /// Returns the chunk number in this key, or nil if it is not the key of a chunk.
    static func chunk(ofKey key: Bytes) -> UInt32? {
        guard key.count == 5, key.first == DocumentKey.rows else { return nil }
        return key.bigEndian(at: 1, as: UInt32.self)
    }

    func unreadable() -> StorageError {
        index.corrupt(index.documentsName, "an entry of rows is not readable")
    }
}

// Changing the map.
extension DocumentMap {
    /// Assigns rows to the new documents from number `first` on. `rows` are in the order of the documents, up to the
    /// last one. `isThere` tells for each document whether it is still present. Updates the counts in `statistics`.
    func append(
        from first: UInt32, rows: [UInt64], isThere: [Bool], _ statistics: inout TextStatistics
    ) throws(StorageError) {
        var place = 0
        while place < rows.count {
            let docno = first + UInt32(place)
            let number = docno >> Self.chunkShift
            let end = min(rows.count, place + Self.chunkCapacity - Int(docno) % Self.chunkCapacity)
            var chunk = try open(number, at: Int(docno) % Self.chunkCapacity, largest: statistics.largestRow)
            for (row, isThere) in zip(rows[place..<end], isThere[place..<end]) {
                let isSorted = isThere && statistics.largestRow.map { row > $0 } ?? true
                if isSorted {
                    statistics.largestRow = row
                } else if isThere {
                    var value: [UInt8] = []
                    value.appendVarint(UInt64(number << Self.chunkShift) + UInt64(chunk.first + chunk.rows.count))
                    try transaction.put(tree, Self.key(exception: row), value)
                    statistics.exceptionCount += 1
                }
                chunk.rows.append(row)
                chunk.exceptions.append(!isSorted)
            }
            let value = RowChunk.encoded(
                first: chunk.first, rows: chunk.rows[...], exceptions: chunk.exceptions[...], before: chunk.before)
            try transaction.put(tree, Self.key(chunk: number), value)
            place = end
        }
    }

    /// A chunk to which rows are appended.
    private struct OpenChunk {
        var first: Int
        var before: UInt64?
        var rows: [UInt64] = []
        var exceptions: [Bool] = []
    }

    private func open(_ number: UInt32, at place: Int, largest: UInt64?) throws(StorageError) -> OpenChunk {
        // A new chunk, or one whose documents have all left.
        guard let chunk = try chunk(number) else { return OpenChunk(first: place, before: largest) }
        guard chunk.places.upperBound == place else { throw unreadable() }
        var open = OpenChunk(first: chunk.places.lowerBound, before: chunk.before)
        for place in chunk.places {
            guard let row = chunk.row(place) else { throw unreadable() }
            open.rows.append(row)
            open.exceptions.append(chunk.isException(place))
        }
        return open
    }

    /// Removes a document's row from the exceptions if it is one.
    func remove(_ docno: UInt32, row: UInt64, _ statistics: inout TextStatistics) throws(StorageError) {
        guard statistics.exceptionCount > 0, try exception(row) == docno else { return }
        _ = try transaction.delete(tree, Self.key(exception: row))
        statistics.exceptionCount -= 1
    }

    /// Removes the rows of 256 documents that have all left.
    func removeChunk(_ number: UInt32) throws(StorageError) {
        _ = try transaction.delete(tree, Self.key(chunk: number))
    }
}
