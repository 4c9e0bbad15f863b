// SPDX-License-Identifier: Apache-2.0
// The rows of documents where they follow each other, as they do wherever entities were put in the order of their rows:
// each hit of a search is looked up, so what was found once of a chunk of documents is kept as a number.

/// What each such chunk's rows begin with, as far as somebody asked. Of one state of an index.
struct RowTable {
    private struct Chunk {
        /// What a row is more than its document's place in the chunk.
        var shift: UInt64 = 0
        /// The places that have rows; none if nothing is known.
        var first: UInt16 = 0
        var end: UInt16 = 0
    }

    private var chunks: [Chunk] = []
    private let count: Int

    /// For documents below `docnoLimit`.
    init(docnoLimit: UInt32) { count = Int(docnoLimit >> DocumentMap.chunkShift) + 1 }

    /// The row of a document, nil if it isn't known here.
    @inline(__always)
    subscript(docno: UInt32) -> UInt64? {
        let number = Int(docno &>> DocumentMap.chunkShift)
        guard number < chunks.count else { return nil }
        let chunk = chunks[number]
        let place = UInt16(truncatingIfNeeded: docno & UInt32(DocumentMap.chunkCapacity - 1))
        guard place >= chunk.first, place < chunk.end else { return nil }
        return chunk.shift &+ UInt64(place)
    }

    /// Keeps a chunk whose rows follow each other.
    mutating func note(_ rows: RowChunk, number: UInt32) {
        guard let shift = rows.shift, Int(number) < count,
            !shift.addingReportingOverflow(UInt64(DocumentMap.chunkCapacity)).overflow
        else { return }
        if chunks.isEmpty { chunks = [Chunk](repeating: Chunk(), count: count) }
        chunks[Int(number)] = Chunk(
            shift: shift, first: UInt16(rows.places.lowerBound), end: UInt16(rows.places.upperBound))
    }
}
