// SPDX-License-Identifier: Apache-2.0
// A pristine store file, an older version of it, and the positions of its parts, found by the file format's own
// marks. With them, damage hits used bytes, and a forger can correct checksums.

import CXXHash
import HornbeamPages
package import HornbeamTestSupport
import HornbeamTree

/// A store's file taken apart.
package struct FileParts: Sendable {
    package struct Page: Sendable {
        package var number: UInt64
        package var sectors: UInt64
        package var kind: UInt8
    }

    package struct Record: Sendable {
        package var sector: UInt64
        package var sectors: UInt64
        package var transaction: UInt64
    }

    package let pristine: DiskImage
    /// This file some commits and a checkpoint earlier.
    package let older: DiskImage
    /// Digests of the possible states of the file.
    package let digests: Set<UInt64>
    /// Every page with a right checksum.
    package let pages: [Page]
    /// Sectors with anything in them.
    package let used: [UInt64]
    /// The sectors that the newest state needs: header slots, journal records, pages in use.
    package let needed: [UInt64]
    /// Used sectors with other content than in the older file.
    package let differing: [UInt64]
    /// The newest journal records, oldest first.
    package let records: [Record]

    /// If `isClosed`, the journal is empty. Otherwise the journal has commits that are nowhere else.
    package init(seed: UInt64, isClosed: Bool) throws {
        let disk = try SimulatedDisk()
        var options = StoreOptions()
        options.pageSize = 4096
        if Workload.isEncrypted || seed % 4 == 0 { options.encryption = Workload.key }
        let store = try Workload.open(disk, options)
        let workload = Workload(seed: seed)
        for _ in 0..<60 { try workload.step(store) }
        try workload.finish()
        try store.checkpoint()
        let older = try Self.image(of: disk)
        for _ in 0..<10 { try workload.step(store) }
        try workload.finish()
        try store.checkpoint()
        for _ in 0..<4 { try workload.putDurably(store) }
        // If the newest record is damaged, it can't be distinguished from one that a crash cut off.
        var digests = [workload.digests[workload.committed], workload.digests[workload.committed - 1]]
        if isClosed {
            try store.close()
            digests.removeLast()
        }
        let image = try Self.image(of: disk)
        pristine = image
        self.older = older
        self.digests = Set(digests)
        used = (0..<image.sectors).filter { image[$0] != DiskImage.zeros }
        differing = used.filter { $0 < older.sectors && image[$0] != older[$0] }
        pages = used.compactMap { Self.page(in: image, $0) }
        records = Self.records(in: image, used)
        let inRecords = Set(records.flatMap { $0.sector..<$0.sector + $0.sectors })
        let inUse = try Self.sectorsInUse(image)
        needed = used.filter { $0 < 2 || inRecords.contains($0) || inUse.contains($0) }
    }

    /// The sectors in use by the newest space map, without the journal ring.
    private static func sectorsInUse(_ image: DiskImage) throws -> Set<UInt64> {
        let file = try Workload.damagedFile(try SimulatedDisk(image))
        return Set((4..<image.sectors).filter { file.standing(of: $0, sectors: 1) == .current && !file.isJournal($0) })
    }

    private static func image(of disk: SimulatedDisk) throws -> DiskImage {
        guard let image = disk.imageAfterKill() else { throw ProofFailure("no file") }
        return image.flattened()
    }

    private static func page(in image: DiskImage, _ number: UInt64) -> Page? {
        let header = image[number].withUnsafeBytes { page in
            (kind: page[16], sectors: UInt64(page.loadUnaligned(fromByteOffset: 20, as: UInt32.self)))
        }
        guard number > 3, header.sectors > 0, header.sectors <= 64, number + header.sectors <= image.sectors else {
            return nil
        }
        let page = Page(number: number, sectors: header.sectors, kind: header.kind)
        let bytes = image.read(page)
        let stored = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        return stored == checksum(bytes[8...], seed: number) ? page : nil
    }

    /// The records of the newest transactions: those of the newest one's generation.
    private static func records(in image: DiskImage, _ used: [UInt64]) -> [Record] {
        let all = used.compactMap { sector -> (generation: UInt64, record: Record)? in
            image[sector].withUnsafeBytes { header in
                guard header.loadUnaligned(as: UInt32.self) == 0x524A_4248 else { return nil }
                let payload = header.loadUnaligned(fromByteOffset: 8, as: UInt64.self) & 0xFF_FFFF
                let record = Record(
                    sector: sector, sectors: (payload + 64 + 4095) / 4096,
                    transaction: header.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
                return (header.loadUnaligned(fromByteOffset: 16, as: UInt64.self), record)
            }
        }
        let newest = all.max { $0.record.transaction < $1.record.transaction }
        return all.filter { $0.generation == newest?.generation }.map(\.record)
            .filter { $0.sector + $0.sectors <= image.sectors }.sorted { $0.transaction < $1.transaction }
    }

    static func checksum(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
    }
}

extension DiskImage {
    /// The bytes of a page.
    func read(_ page: FileParts.Page) -> [UInt8] { read(page.number, page.sectors) }

    func read(_ sector: UInt64, _ count: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        for sector in sector..<sector + count { bytes += self[sector] }
        return bytes
    }

    /// Writes whole sectors.
    mutating func write(_ bytes: [UInt8], at sector: UInt64) {
        for index in 0..<bytes.count / Self.sectorSize {
            let start = index * Self.sectorSize
            self[sector + UInt64(index)] = Array(bytes[start..<start + Self.sectorSize])
        }
    }
}

extension [UInt8] {
    func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type = Number.self) -> Number {
        withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }

    mutating func set<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self) }
    }
}
