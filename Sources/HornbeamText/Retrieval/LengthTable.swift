// SPDX-License-Identifier: Apache-2.0
// The lengths of documents where they lie: scoring reads one for each posting, so what was found once of a chunk of
// documents is kept as an address: for one search, or where pages don't change for all searches of a transaction, and
// beyond its suspension if they lie where they stay.

/// Where each chunk of lengths is. Belongs to one search at a time, and lives no longer than the bytes it points to.
final class LengthTable {
    let chunkCount: Int
    private let chunks: UnsafeMutablePointer<UnsafeRawPointer?>
    private var owned: [UnsafeMutablePointer<UInt16>] = []
    /// Chunks that are of no meaning once the transaction is suspended.
    private var movable: [Int] = []

    /// A chunk without documents: one for all tables, never freed.
    nonisolated(unsafe) static let empty: UnsafeRawPointer = {
        let memory = UnsafeMutablePointer<UInt16>.allocate(capacity: DocumentLengths.chunkCapacity)
        memory.initialize(repeating: 0, count: DocumentLengths.chunkCapacity)
        return UnsafeRawPointer(memory)
    }()

    /// For documents below `docnoLimit`.
    init(docnoLimit: UInt32) {
        chunkCount = Int(docnoLimit) / DocumentLengths.chunkCapacity + 1
        chunks = .allocate(capacity: chunkCount)
        chunks.initialize(repeating: nil, count: chunkCount)
    }

    deinit {
        chunks.deallocate()
        for memory in owned { memory.deallocate() }
    }

    /// The lengths of chunk `number`, which is less than `chunkCount`: as many u16 as a chunk has documents, not
    /// aligned. Nil if nobody has asked for them yet.
    @inline(__always)
    subscript(number: Int) -> UnsafeRawPointer? { chunks[number] }

    /// Keeps where a chunk is.
    func keep(_ number: Int, _ lengths: UnsafeRawPointer) { chunks[number] = lengths }

    /// What is kept of a chunk lives no longer than the transaction goes on.
    func noteMovable(_ number: Int) { movable.append(number) }

    /// Lets go of all such chunks.
    func forgetMovable() {
        for number in movable { chunks[number] = nil }
        movable.removeAll(keepingCapacity: true)
    }

    /// Memory for a chunk that lies nowhere as it is needed. The caller fills it.
    func makeRoom() -> UnsafeMutablePointer<UInt16> {
        let memory = UnsafeMutablePointer<UInt16>.allocate(capacity: DocumentLengths.chunkCapacity)
        owned.append(memory)
        return memory
    }
}
