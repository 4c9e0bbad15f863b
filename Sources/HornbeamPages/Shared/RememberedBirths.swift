// SPDX-License-Identifier: Apache-2.0
// "Verified in this process", for readers beside a writer in another process: the birth that each page had when it was
// verified. The writer reuses a page's number without telling the readers, but within a life of the file it never gives
// two pages with one number equal births.
//
// Stale reads are harmless: if a reader misses a birth, it verifies the page once more. The birth of a page that is
// gone equals no birth that a parent can name.

import Glibc
import Synchronization

/// The births of verified pages by number; 0 for other pages.
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

    /// Forgets all births: the memory goes back to the system and reads as zeros.
    func forgetAll() { madvise(memory.base, memory.capacity, MADV_DONTNEED) }
}
