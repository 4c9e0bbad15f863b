// SPDX-License-Identifier: Apache-2.0
// Caches the rows of documents with consecutive rows, which is usual for entities that were inserted in the order of
// their rows. The row of each hit of a search is needed, so a number is cached for each chunk of documents.

import Glibc

/// The first row of each such chunk that was asked for, in one state of an index.
final class RowTable {
    private struct Chunk {
        /// The row at index 0. If there is none, the row it would have.
        var firstRow: UInt64
        /// The range of indexes that have rows. Empty if nothing is known.
        var first: UInt16
        var end: UInt16
    }

    /// The chunks, nil until there is one. Zeroed memory of a large table that is never touched takes no physical
    /// memory.
    private var chunks: UnsafeMutablePointer<Chunk>?
    private let count: Int

    /// Makes a table for documents below `docnoLimit`.
    init(docnoLimit: UInt32) { count = Int(docnoLimit >> DocumentMap.chunkShift) + 1 }

    deinit { free(chunks) }

    /// Returns the row of a document, or nil if it isn't cached.
    @inline(__always)
    subscript(docno: UInt32) -> UInt64? {
        let number = Int(docno &>> DocumentMap.chunkShift)
        guard let chunks, number < count else { return nil }
        let chunk = chunks[number]
        let place = UInt16(truncatingIfNeeded: docno & UInt32(DocumentMap.chunkCapacity - 1))
        guard place >= chunk.first, place < chunk.end else { return nil }
        return chunk.firstRow &+ UInt64(place)
    }

    /// Adds a chunk if its rows are consecutive.
    func note(_ rows: RowChunk, number: UInt32) {
        guard let firstRow = rows.firstRow, Int(number) < count,
            !firstRow.addingReportingOverflow(UInt64(DocumentMap.chunkCapacity)).overflow
        else { return }
        if chunks == nil {
            chunks = calloc(count, MemoryLayout<Chunk>.stride)?.bindMemory(to: Chunk.self, capacity: count)
        }
        chunks?[Int(number)] = Chunk(
            firstRow: firstRow, first: UInt16(rows.places.lowerBound), end: UInt16(rows.places.upperBound))
    }
}
