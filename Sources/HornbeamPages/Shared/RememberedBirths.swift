// SPDX-License-Identifier: Apache-2.0
// "Verified in this process", for readers beside a writer in another process: the birth that each page had when it was
// verified. The writer reuses a page's number without telling them, but never gives two pages of one number the same
// birth within a life of the file.
//
// Stale reads are harmless: a birth that a reader misses is verified once more. The birth of a page that is no longer
// there equals no birth that a parent can name.

import Glibc
import Synchronization

/// The births of verified pages by number; 0: not verified.
final class RememberedBirths: Sendable {
    let memory: Mapping
    private let count: UInt64

    init(mapping: Mapping, path: String) throws(StorageError) {
        count = UInt64(mapping.capacity / FileFormat.sectorSize)
        let bytes = Int(count) * MemoryLayout<UInt64>.size
        memory = try Mapping(descriptor: -1, wanted: bytes, minimum: bytes, path: path)
    }

    private var births: UnsafeMutablePointer<Atomic<UInt64>> {
        memory.base.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    func holds(_ birth: UInt64, of page: UInt64) -> Bool {
        birth != 0 && page < count && births[Int(page)].load(ordering: .acquiring) == birth
    }

    func remember(_ birth: UInt64, of page: UInt64) { births[Int(page)].store(birth, ordering: .releasing) }

    /// The memory goes back to the system and reads as zeros.
    func forgetAll() { madvise(memory.base, memory.capacity, MADV_DONTNEED) }
}
