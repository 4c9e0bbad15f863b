// SPDX-License-Identifier: Apache-2.0
// A forged parent names a page, whole and with a right checksum, in a place where no tree's page can be. Such a page
// used to be verified and trusted, and the journal or the next allocation wrote over it under its readers.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Sectors that are not a tree's")
struct ForeignSectorsTests {
    /// A store's image, its root page, and the leaf of cell 0.
    private func store() throws -> (image: DiskImage, root: UInt64, leaf: UInt64, entry: Int, free: UInt64) {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, options)
        try Toy.commit(ToyChange(cell: 0, value: 7), to: store)
        try store.close()
        let again = try Toy.open(disk, options)
        let view = try again.beginRead()
        let pages = try Toy.read(view).pages
        let free = try #require((5..<256).last { !again.side.space.isLive(SectorRun(start: $0, count: 1)) })
        return (try #require(disk.imageAfterKill()), pages[0].page, pages[1].page, 32, free)
    }

    private func seal(_ page: inout [UInt8], _ number: UInt64) {
        page.withUnsafeMutableBytes { PageHeader.seal($0, number: number) }
    }

    /// Returns the file with the leaf copied to `place`, and the root naming it there.
    private func forged(
        _ image: DiskImage, _ root: UInt64, _ leaf: UInt64, _ entry: Int, at place: UInt64
    ) -> DiskImage {
        var image = image
        var page = image[leaf]
        seal(&page, place)
        image[place] = page
        var parent = image[root]
        parent.withUnsafeMutableBytes { $0.storeBytes(of: place.littleEndian, toByteOffset: entry, as: UInt64.self) }
        seal(&parent, root)
        image[root] = parent
        return image
    }

    @Test("are refused as pages: in the journal ring, and free ones")
    func refused() throws {
        let (image, root, leaf, entry, free) = try store()
        for place in [300, 510, free] {
            let disk = try SimulatedDisk(forged(image, root, leaf, entry, at: place))
            let store = try Toy.open(disk)
            let reason = "a tree refers to it, but its sectors are free or hold the store's own data"
            #expect(throws: StorageError.corrupt(Corruption(page: place, reason: reason))) {
                try Toy.cells(of: store)
            }
        }
    }

    @Test("are removed once a page is made there")
    func allocated() throws {
        let (image, _, _, _, _) = try store()
        let disk = try SimulatedDisk(image)
        let store = try Toy.open(disk)
        for value: UInt64 in 1...40 {
            try Toy.commit(ToyChange(cell: Int(value % 12), value: value, longSectors: UInt32(value % 4)), to: store)
        }
        try Toy.expectSound(store)
    }

    @Test("are distinguished from others at every border of words")
    func borders() {
        let foreign = ForeignSectors()
        var space = SpaceMap(pageSize: 4096)
        space.grow(to: 512)
        space.take(SectorRun(start: 0, count: 512))
        foreign.fill(from: space, own: [SectorRun(start: 62, count: 70)])
        #expect(!foreign.containsAny(of: SectorRun(start: 0, count: 62)))
        #expect(foreign.containsAny(of: SectorRun(start: 0, count: 63)))
        #expect(foreign.containsAny(of: SectorRun(start: 131, count: 1)))
        #expect(!foreign.containsAny(of: SectorRun(start: 132, count: 1000)))
        foreign.remove(SectorRun(start: 62, count: 69))
        #expect(!foreign.containsAny(of: SectorRun(start: 0, count: 131)))
        #expect(foreign.containsAny(of: SectorRun(start: 100, count: 32)))
        foreign.insert(SectorRun(start: 500, count: 100))
        #expect(foreign.containsAny(of: SectorRun(start: 511, count: 4)))
    }
}
