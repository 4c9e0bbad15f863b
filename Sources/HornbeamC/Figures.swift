// SPDX-License-Identifier: Apache-2.0
// hb_figures_of: a store's figures. The caller's struct may be older or newer than this library's: fields that the
// struct doesn't have are left out, fields that the library doesn't have are zero.

public import CHornbeam
import HornbeamPages
import HornbeamTree

extension hb_figures {
    init(_ figures: PageStatistics) {
        self.init()
        file_bytes = figures.fileBytes
        used_bytes = figures.usedBytes
        retired_bytes = figures.retiredBytes
        journal_bytes = figures.journalBytes
        journal_capacity_bytes = figures.journalCapacityBytes
        page_size = UInt64(figures.pageSize)
        transaction = figures.transaction
        checkpoint = figures.checkpoint
        older_snapshots = UInt64(figures.olderSnapshots)
        cache_budget_bytes = figures.cache.budgetBytes
        cache_resident_bytes = figures.cache.residentBytes
        cache_hits = figures.cache.hits
        cache_misses = figures.cache.misses
        cache_evictions = figures.cache.evictions
        writer_bytes = figures.writerBytes
        pinned_bytes = figures.cache.readers.pinnedBytes + figures.cache.writers.pinnedBytes
        copied_bytes = figures.cache.readers.copiedBytes + figures.cache.writers.copiedBytes
        private_bytes = figures.cache.readers.privateBytes + figures.cache.writers.privateBytes
        dirty_bytes = figures.dirtyBytes
        checkpoint_retired_bytes = figures.checkpointRetiredBytes
        reader_pinned_bytes = figures.cache.readers.pinnedBytes
        reader_copied_bytes = figures.cache.readers.copiedBytes
        reader_private_bytes = figures.cache.readers.privateBytes
        snapshot_bytes = figures.snapshotBytes
    }
}

@c @implementation
public func hb_figures_of(_ store: OpaquePointer?, _ figures: UnsafeMutablePointer<hb_figures>?) -> Int32 {
    guard let figures else { return Failure.invalid("hb_figures_of needs a place for the figures") }
    let target = UnsafeMutableRawPointer(figures)
    // Only the size field is certain to be there.
    let size = target.loadUnaligned(as: Int.self)
    guard size >= MemoryLayout<Int>.size, size <= 4096 else {
        return Failure.invalid("hb_figures.struct_size is \(UInt(bitPattern: size)): set it to sizeof(hb_figures)")
    }
    let rest = size - MemoryLayout<Int>.size
    (target + MemoryLayout<Int>.size).initializeMemory(as: UInt8.self, repeating: 0, count: rest)
    return inStore(store) { (store) throws(StorageError) in
        var ours = hb_figures(store.trees.statistics)
        ours.struct_size = size
        withUnsafeBytes(of: &ours) { bytes in
            UnsafeMutableRawBufferPointer(start: target, count: size)
                .copyMemory(from: Bytes(rebasing: bytes[..<min(size, bytes.count)]))
        }
        return Result.ok
    }
}
