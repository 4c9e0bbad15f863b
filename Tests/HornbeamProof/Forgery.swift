// SPDX-License-Identifier: Apache-2.0
// Files made by an attacker who knows the format: harmful values in the most harmful places, under right checksums.
// Such a file may give wrong answers; it must not trap, run for ever, or make the engine read or write outside its
// memory or file.

import HornbeamPages
package import HornbeamTestSupport

/// A kind of forgery.
package enum Forgery: String, CaseIterable, Sendable {
    case header, bothHeaders, node, nodeFields, child, longReference, catalogue, spaceMap, spaceDirectory, journal
    case journalPayload, pageHeader, several
}

extension FileParts {
    private static let journalChecksum = 48

    /// A forged copy.
    package func forged(by forgery: Forgery, _ random: inout SeededGenerator) -> DiskImage {
        var image = pristine
        if forgery == .several {
            let kinds = Forgery.allCases.filter { $0 != .several }
            for _ in 0..<2 + random.below(4) { forge(kinds[random.below(kinds.count)], &image, &random) }
        } else {
            forge(forgery, &image, &random)
        }
        return image
    }

    private func forge(_ forgery: Forgery, _ image: inout DiskImage, _ random: inout SeededGenerator) {
        switch forgery {
        case .header: forgeHeader(&image, slots: [random.below(2)], &random)
        case .bothHeaders: forgeHeader(&image, slots: [0, 1], &random)
        case .node: forgePage([1, 2], &image, &random, mutateAnywhere)
        case .nodeFields: forgePage([1, 2], &image, &random, mutateFields)
        case .child: forgePage([2], &image, &random, mutateReference)
        case .longReference: forgePage([1], &image, &random, mutateReference)
        case .catalogue: forgeCatalogue(&image, &random)
        case .spaceMap: forgePage([4], &image, &random, mutateBits)
        case .spaceDirectory: forgePage([5], &image, &random, mutateAnywhere)
        case .pageHeader: forgePage([1, 2, 3, 4, 5], &image, &random, mutatePageHeader)
        case .journal: forgeJournal(&image, 4..<64, &random)
        case .journalPayload: forgeJournal(&image, 64..<4096, &random)
        case .several: break
        }
    }

    // MARK: Values

    /// A number harmful to bounds, sums and products; page numbers that belong to no tree.
    private func harmful(_ old: UInt64, _ random: inout SeededGenerator) -> UInt64 {
        switch random.below(16) {
        case 0: return 0
        case 1: return .max
        case 2: return old &+ 1
        case 3: return old &- 1
        case 4: return 1 << UInt64(random.below(64))
        case 5: return (1 << UInt64(random.below(64))) &- 1
        case 6: return UInt64(random.below(5))
        case 7: return 256 + UInt64(random.below(256))
        case 8: return pristine.sectors - UInt64(random.below(3))
        case 9: return UInt64(Int64.max) - UInt64(random.below(2))
        case 10...13: return pages[random.below(pages.count)].number
        case 14: return UInt64(random.below(Int(pristine.sectors)))
        default: return random.next()
        }
    }

    private func mutateAnywhere(_ page: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0...random.below(4) {
            // Half of the changes are at the beginning, where sizes and offsets are.
            let offset = 24 + (random.oneIn(2) ? random.below(120) : random.below(page.count - 32))
            switch random.below(4) {
            case 0: page[offset] = UInt8(random.below(256))
            case 1: page[offset] ^= 1 << UInt8(random.below(8))
            case 2: page.set(UInt16(truncatingIfNeeded: harmful(UInt64(page[offset]), &random)), at: offset)
            default: page.set(harmful(page.number(at: offset), &random), at: offset)
            }
        }
    }

    /// Counts, sizes, heads and slots.
    private func mutateFields(_ page: inout [UInt8], _ random: inout SeededGenerator) {
        let count = Int(page.number(at: 24, as: UInt16.self))
        for _ in 0...random.below(2) {
            let offset = random.oneIn(2) ? 24 + 2 * random.below(8) : 40 + 2 * random.below(max(1, count * 3))
            guard offset + 2 <= page.count else { continue }
            let old: UInt16 = page.number(at: offset)
            let new: UInt16 =
                switch random.below(5) {
                case 0: old &+ 1
                case 1: old &- 1
                case 2: UInt16(random.below(page.count))
                case 3: [0, .max, 1, 24, 40, 4095, 4096][random.below(7)]
                default: old ^ (1 << UInt16(random.below(16)))
                }
            page.set(new, at: offset)
        }
    }

    /// A reference to one of the file's pages gets another page number, or another size or birth.
    private func mutateReference(_ page: inout [UInt8], _ random: inout SeededGenerator) {
        let known = Set(pages.map(\.number))
        let places = (40..<page.count - 24).filter { known.contains(page.number(at: $0)) }
        guard !places.isEmpty else { return mutateAnywhere(&page, &random) }
        let place = places[random.below(places.count)] + (random.oneIn(3) ? 8 * (1 + random.below(2)) : 0)
        page.set(harmful(page.number(at: place), &random), at: place)
    }

    private func mutateBits(_ page: inout [UInt8], _ random: inout SeededGenerator) {
        let word = 24 + 8 * random.below(40)
        switch random.below(4) {
        case 0: page.set(UInt64(0), at: word)
        case 1: page.set(UInt64.max, at: word)
        case 2: page.set(page.number(at: word) ^ (UInt64(1) << UInt64(random.below(64))), at: word)
        default: for place in 32..<page.count { page[place] = random.oneIn(2) ? 0 : 255 }
        }
    }

    private func mutatePageHeader(_ page: inout [UInt8], _ random: inout SeededGenerator) {
        switch random.below(5) {
        case 0: page.set(harmful(page.number(at: 8), &random), at: 8)
        case 1: page[16] = UInt8(random.below(8))
        case 2: page[17] = UInt8(random.below(256))
        case 3: page.set(UInt16(random.below(4)), at: 18)
        default: page.set(UInt32(truncatingIfNeeded: harmful(page.number(at: 20), &random)), at: 20)
        }
    }

    // MARK: Places

    private func forgePage(
        _ kinds: Set<UInt8>, _ image: inout DiskImage, _ random: inout SeededGenerator,
        _ mutate: (inout [UInt8], inout SeededGenerator) -> Void
    ) {
        let candidates = pages.filter { kinds.contains($0.kind) }
        guard !candidates.isEmpty else { return }
        forge(candidates[random.below(candidates.count)], &image, &random, mutate)
    }

    private func forge(
        _ page: Page, _ image: inout DiskImage, _ random: inout SeededGenerator,
        _ mutate: (inout [UInt8], inout SeededGenerator) -> Void
    ) {
        var bytes = image.read(page)
        mutate(&bytes, &random)
        // Sometimes the page is put in another page's place, with the right checksum for that place.
        let target = random.oneIn(10) ? pages[random.below(pages.count)].number : page.number
        bytes.set(Self.checksum(bytes[8...], seed: target), at: 0)
        image.write(bytes, at: target)
    }

    /// The page that the header names as the catalogue's root.
    private func forgeCatalogue(_ image: inout DiskImage, _ random: inout SeededGenerator) {
        let root: UInt64 = pristine[0].number(at: 64)
        guard let page = pages.first(where: { $0.number == root }) else { return }
        forge(page, &image, &random, random.oneIn(2) ? mutateReference : mutateAnywhere)
    }

    private func forgeHeader(_ image: inout DiskImage, slots: [Int], _ random: inout SeededGenerator) {
        let offset = random.oneIn(4) ? 16 + random.below(240) : 16 + 4 * random.below(44)
        let isWide = random.oneIn(2)
        let value = harmful(image[0].number(at: offset), &random)
        for slot in slots {
            image.change(UInt64(slot)) { sector in
                if isWide { sector.set(value, at: offset) } else { sector[offset] = UInt8(truncatingIfNeeded: value) }
                sector.set(Self.checksum(sector[16...], seed: 0), at: 8)
            }
        }
    }

    /// Changes one record, and corrects it and later ones.
    private func forgeJournal(_ image: inout DiskImage, _ places: Range<Int>, _ random: inout SeededGenerator) {
        guard !records.isEmpty else { return }
        let chosen = random.below(records.count)
        var previous: UInt64 = 0
        for index in chosen..<records.count {
            let record = records[index]
            var bytes = image.read(record.sector, record.sectors)
            if index == chosen {
                let end = min(places.upperBound, places.lowerBound + 200, bytes.count - 8)
                for _ in 0...random.below(2) where end > places.lowerBound {
                    let offset = places.lowerBound + random.below(end - places.lowerBound)
                    let value = harmful(bytes.number(at: offset), &random)
                    if random.oneIn(2) { bytes.set(value, at: offset) } else { bytes[offset] = UInt8(value & 255) }
                }
            } else {
                bytes.set(previous, at: 40)
            }
            previous = Self.seal(record: &bytes)
            image.write(bytes, at: record.sector)
        }
    }
}

// MARK: - Seals

extension FileParts {
    /// Corrects a record's checksum and returns it.
    static func seal(record bytes: inout [UInt8]) -> UInt64 {
        let size = Int(truncatingIfNeeded: min(bytes.number(at: 8, as: UInt64.self), UInt64(bytes.count - 64)))
        bytes.set(UInt64(0), at: journalChecksum)
        let header = checksum(bytes[..<64], seed: 0)
        let sum = checksum(bytes[64..<64 + size], seed: header)
        bytes.set(sum, at: journalChecksum)
        return sum
    }

    /// Whether the newest state needs the page.
    package func isNeeded(_ page: Int) -> Bool { needed.contains(pages[page].number) }
}

extension DiskImage {
    /// Corrects a page's checksum.
    package mutating func seal(_ page: FileParts.Page) {
        var bytes = read(page)
        bytes.set(FileParts.checksum(bytes[8...], seed: page.number), at: 0)
        write(bytes, at: page.number)
    }

    /// Corrects a header slot's checksum.
    package mutating func sealHeader(_ slot: UInt64) {
        change(slot) { $0.set(FileParts.checksum($0[16...], seed: 0), at: 8) }
    }

    /// Corrects the records' checksums, and in each record the checksum of the one before it.
    package mutating func sealJournal(_ records: [FileParts.Record]) {
        var previous: UInt64?
        for record in records {
            var bytes = read(record.sector, record.sectors)
            if let previous { bytes.set(previous, at: 40) }
            previous = FileParts.seal(record: &bytes)
            write(bytes, at: record.sector)
        }
    }

    /// Puts another payload into a record, with a right checksum. The overwritten bytes after it are lost.
    package mutating func replaceRecord(_ record: FileParts.Record, payload: [UInt8]) {
        var bytes = Array(self[record.sector][..<64]) + payload
        bytes += [UInt8](repeating: 0, count: (4096 - bytes.count % 4096) % 4096)
        bytes.set(UInt64(payload.count), at: 8)
        _ = FileParts.seal(record: &bytes)
        write(bytes, at: record.sector)
    }
}
