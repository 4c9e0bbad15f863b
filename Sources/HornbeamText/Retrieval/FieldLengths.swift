// SPDX-License-Identifier: Apache-2.0
// The numbers of tokens of documents' fields, for scores with weights. Lengths are cached for 64 documents at a time,
// in bounded memory, since a search and the next ones ask for neighbours.

import HornbeamPages

/// The number of tokens in each field slot, in chunks of 64 documents. Belongs to one search at a time.
final class FieldLengthCache {
    typealias Lengths = SIMD4<UInt16>

    /// Marks a document whose lengths have to be looked up by itself.
    static let unknown = Lengths(repeating: .max)
    /// Marks a document with a single section.
    static let plain = Lengths(.max, 0, 0, 0)
    static let chunkCapacity = Int(SectionTable.chunkCapacity)
    /// Maximum number of chunks. They take at most 2 MiB.
    private static let slots = 4096
    @exclusivity(unchecked) private var chunks: [UnsafeMutablePointer<Lengths>?]
    @exclusivity(unchecked) private var numbers: [UInt32]

    init() {
        chunks = []
        numbers = []
    }

    deinit { for chunk in chunks { chunk?.deallocate() } }

    /// Returns the lengths of the documents of a chunk. Calls `fill` if the chunk isn't cached.
    @inline(__always)
    func chunk(
        _ number: UInt32, fill: (UnsafeMutablePointer<Lengths>) throws(StorageError) -> Void
    ) throws(StorageError) -> UnsafePointer<Lengths> {
        let slot = Int(number) % Self.slots
        if slot < chunks.count, let chunk = chunks[slot], numbers[slot] == number { return UnsafePointer(chunk) }
        if chunks.isEmpty {
            chunks = Array(repeating: nil, count: Self.slots)
            numbers = Array(repeating: 0, count: Self.slots)
        }
        let chunk = chunks[slot] ?? .allocate(capacity: Self.chunkCapacity)
        chunks[slot] = chunk
        numbers[slot] = .max
        chunk.initialize(repeating: Self.unknown, count: Self.chunkCapacity)
        try fill(chunk)
        numbers[slot] = number
        return UnsafePointer(chunk)
    }

    /// Sets the lengths of a document from its stored sections. Lengths that don't fit stay unknown.
    static func note(_ sections: Bytes, _ target: inout Lengths) {
        target = sections.isEmpty ? plain : unknown
        guard !sections.isEmpty else { return }
        var (sums, end): (SIMD4<UInt64>, UInt64) = (SIMD4(), 0)
        let fields = DocumentSections.forEach(in: sections) { field, tokens in
            sums[FieldPlace.of(field)] &+= UInt64(tokens)
            end &+= UInt64(tokens)
        }
        guard fields != nil, end < UInt64(UInt16.max) else { return }
        target = Lengths(truncatingIfNeeded: sums)
    }
}
