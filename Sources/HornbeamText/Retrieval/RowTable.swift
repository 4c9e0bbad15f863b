// SPDX-License-Identifier: Apache-2.0
// The rows of documents where they follow each other, as they do wherever entities were put in the order of their rows:
// each hit of a search is looked up, so what was found once of a chunk of documents is kept as a number.

import Glibc

/// The first row of each such chunk that was asked for, in one state of an index.
final class RowTable {
    private struct Chunk {
        /// The row at place 0. If place 0 has none: the row it would have.
        var firstRow: UInt64
        /// The places that have rows; none if nothing is known.
        var first: UInt16
        var end: UInt16
    }

    /// The chunks, nil until there is something to keep. In a large table, zeroes that were never looked at take no
    /// memory.
    private var chunks: UnsafeMutablePointer<Chunk>?
    private let count: Int

    /// Makes a table for documents below `docnoLimit`.
    init(docnoLimit: UInt32) { count = Int(docnoLimit >> DocumentMap.chunkShift) + 1 }

    deinit { free(chunks) }

    /// The row of a document, nil if it isn't known here.
    @inline(__always)
    subscript(docno: UInt32) -> UInt64? {
        let number = Int(docno &>> DocumentMap.chunkShift)
        guard let chunks, number < count else { return nil }
        let chunk = chunks[number]
        let place = UInt16(truncatingIfNeeded: docno & UInt32(DocumentMap.chunkCapacity - 1))
        guard place >= chunk.first, place < chunk.end else { return nil }
        return chunk.firstRow &+ UInt64(place)
    }

    /// Keeps a chunk whose rows follow each other.
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
