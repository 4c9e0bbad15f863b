// SPDX-License-Identifier: Apache-2.0
// The addresses of document lengths. Scoring reads a length for each posting, so the address of each chunk of lengths
// is cached: for one search; for all searches of a transaction if its pages don't change; or beyond a suspension of the
// transaction if the chunk doesn't move.

/// The address of each chunk of lengths. Belongs to one search at a time. Valid no longer than the bytes it points to.
final class LengthTable {
    let chunkCount: Int
    private let chunks: UnsafeMutablePointer<UnsafeRawPointer?>
    private var owned: [UnsafeMutablePointer<UInt16>] = []
    /// Chunks whose addresses become invalid when the transaction is suspended.
    private var movable: [Int] = []

    /// A chunk without documents: one for all tables, never freed.
    nonisolated(unsafe) static let empty: UnsafeRawPointer = {
        let memory = UnsafeMutablePointer<UInt16>.allocate(capacity: DocumentLengths.chunkCapacity)
        memory.initialize(repeating: 0, count: DocumentLengths.chunkCapacity)
        return UnsafeRawPointer(memory)
    }()

    /// Makes a table for documents below `docnoLimit`.
    init(docnoLimit: UInt32) {
        chunkCount = Int(docnoLimit) / DocumentLengths.chunkCapacity + 1
        chunks = .allocate(capacity: chunkCount)
        chunks.initialize(repeating: nil, count: chunkCount)
    }

    deinit {
        chunks.deallocate()
        for memory in owned { memory.deallocate() }
    }

    /// Returns the lengths of chunk `number`, which is less than `chunkCount`: a u16 for each document, unaligned.
    /// Returns nil if they aren't cached.
    @inline(__always)
    subscript(number: Int) -> UnsafeRawPointer? { chunks[number] }

    /// Caches the address of a chunk.
    func keep(_ number: Int, _ lengths: UnsafeRawPointer) { chunks[number] = lengths }

    /// Marks a chunk whose address is valid only until the transaction is suspended.
    func noteMovable(_ number: Int) { movable.append(number) }

    /// Removes all chunks that were marked.
    func forgetMovable() {
        for number in movable { chunks[number] = nil }
        movable.removeAll(keepingCapacity: true)
    }

    /// Allocates memory for a chunk that isn't stored in the required form. The caller fills it.
    func makeRoom() -> UnsafeMutablePointer<UInt16> {
        let memory = UnsafeMutablePointer<UInt16>.allocate(capacity: DocumentLengths.chunkCapacity)
        owned.append(memory)
        return memory
    }
}
