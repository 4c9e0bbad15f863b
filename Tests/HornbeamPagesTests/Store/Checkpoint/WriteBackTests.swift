// SPDX-License-Identifier: Apache-2.0
// A checkpoint may start writing its pages to the medium before it syncs. It does so only if they are many, because
// each call has a cost, and then for all of them.

import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A checkpoint's write-back")
struct WriteBackTests {
    /// The number of dirty bytes from which write-back starts.
    private static let bound: UInt64 = 8 << 20

    /// Eight commits of a leaf and a long value each, which with the root make `bytes` bytes dirty. Nodes have two
    /// sectors.
    private func makeDirty(_ bytes: UInt64, _ store: PageStore, value: UInt64) throws {
        var sectors = bytes / UInt64(FileFormat.sectorSize) - 2 - 8 * 2
        for cell in 0..<8 {
            let count = sectors / UInt64(8 - cell)
            sectors -= count
            try Toy.commit(ToyChange(cell: cell, value: value, longSectors: UInt32(count)), to: store)
        }
        #expect(store.statistics.dirtyBytes == bytes)
    }

    @Test("is requested from 8 MiB of dirty pages on, and not for a sector less")
    func bound() throws {
        for missing: UInt64 in [UInt64(FileFormat.sectorSize), 0] {
            let file = WrappedDisk(try SimulatedDisk())
            let store = try Toy.open(file)
            try store.checkpoint()
            try makeDirty(Self.bound - missing, store, value: 1)
            #expect(file.writeBack.withLock { $0.isEmpty })
            try store.checkpoint()
            #expect(file.writeBack.withLock { $0.isEmpty } == (missing > 0))
            #expect(store.statistics.dirtyBytes == 0)
            try Toy.expectSound(store)
            try store.close()
        }
    }

    @Test("covers all its new pages, none of the earlier checkpoint, and nothing twice")
    func pages() throws {
        let file = WrappedDisk(try SimulatedDisk())
        let store = try Toy.open(file)
        let extent = UInt32(FileFormat.extentSectors)
        try Toy.commit(ToyChange(cell: 9, value: 1, longSectors: 3 * extent), to: store)
        try store.checkpoint()
        let view = try store.beginRead()
        let old = try #require(try Toy.read(view).pages.last)
        store.endRead(view)
        try makeDirty(Self.bound, store, value: 2)
        try store.checkpoint()
        let asked = file.writeBack.withLock { $0 }.sorted { $0.lowerBound < $1.lowerBound }
        for (range, next) in zip(asked, asked.dropFirst()) { #expect(range.upperBound <= next.lowerBound) }
        let again = try store.beginRead()
        for (page, sectors) in try Toy.read(again).pages where page != old.page {
            for sector in page..<page + UInt64(sectors) {
                #expect(asked.contains { $0.contains(sector << FileFormat.sectorShift) }, "sector \(sector)")
            }
        }
        store.endRead(again)
        // Nothing else is in the middle one of three extents.
        let middle = (old.page + UInt64(old.sectors) / 2) << FileFormat.sectorShift
        #expect(!asked.contains { $0.contains(middle) })
    }

    @Test("isn't requested again by a small checkpoint that follows a large one")
    func small() throws {
        let file = WrappedDisk(try SimulatedDisk())
        let store = try Toy.open(file)
        try makeDirty(Self.bound, store, value: 1)
        try store.checkpoint()
        let asked = file.writeBack.withLock { $0.count }
        #expect(asked > 0)
        try Toy.commit(ToyChange(cell: 9, value: 2), to: store)
        try store.checkpoint()
        #expect(file.writeBack.withLock { $0.count } == asked)
    }
}
