// SPDX-License-Identifier: Apache-2.0
// Damage by failing media, controllers and copies. Checksums aren't corrected: such a file must give right answers or
// a typed error.

import HornbeamPages
package import HornbeamTestSupport

/// A kind of damage.
package enum MediaDamage: String, CaseIterable, Sendable {
    case bit, byte, manyBytes, zeroedSector, zeroedPart, garbageSector, garbagePart, swappedSectors, duplicatedSector
    case staleSector, stalePage, staleHeader, swappedPages, truncation, truncationWithin, appendedGarbage
    case insertedSector, removedSector, lostHeader, wholeFileOfGarbage
}

extension FileParts {
    /// Returns a damaged copy; `random` chooses the damaged part.
    package func damaged(by damage: MediaDamage, _ random: inout SeededGenerator) -> DiskImage {
        var image = pristine
        let sector = random.oneIn(5) ? used[random.below(used.count)] : needed[random.below(needed.count)]
        let other = used[random.below(used.count)]
        switch damage {
        case .bit: image.change(sector) { $0[random.below(4096)] ^= 1 << UInt8(random.below(8)) }
        case .byte: image.change(sector) { $0[random.below(4096)] ^= UInt8(1 + random.below(255)) }
        case .manyBytes:
            image.change(sector) { for _ in 0..<20 { $0[random.below(4096)] = UInt8(random.below(256)) } }
        case .zeroedSector: image[sector] = DiskImage.zeros
        case .zeroedPart: image.replacePart(of: sector, with: [UInt8](repeating: 0, count: 512), random.below(8))
        case .garbageSector: image[sector] = random.bytes(4096)
        case .garbagePart: image.replacePart(of: sector, with: random.bytes(512), random.below(8))
        case .swappedSectors:
            image[sector] = pristine[other]
            image[other] = pristine[sector]
        case .duplicatedSector: image[sector] = pristine[other]
        case .staleSector:
            let stale = differing[random.below(differing.count)]
            image[stale] = older[stale]
        case .staleHeader: image[UInt64(random.below(2))] = older[UInt64(random.below(2))]
        case .lostHeader: image[UInt64(random.below(2))] = random.oneIn(2) ? DiskImage.zeros : random.bytes(4096)
        case .stalePage, .swappedPages: misplacePage(damage, &image, &random)
        default: changeLength(damage, &image, &random)
        }
        return image
    }

    private func misplacePage(_ damage: MediaDamage, _ image: inout DiskImage, _ random: inout SeededGenerator) {
        let page = pages[random.below(pages.count)]
        if damage == .stalePage {
            guard page.number + page.sectors <= older.sectors else { return }
            return image.write(older.read(page), at: page.number)
        }
        let same = pages.filter { $0.sectors == page.sectors }
        let other = same[random.below(same.count)]
        image.write(pristine.read(other), at: page.number)
        image.write(pristine.read(page), at: other.number)
    }

    private func changeLength(_ damage: MediaDamage, _ image: inout DiskImage, _ random: inout SeededGenerator) {
        let bytes = pristine.bytes
        let place = random.below(bytes.count / 4096) * 4096
        switch damage {
        case .truncation: image.resize(UInt64(random.below(Int(image.sectors))))
        case .truncationWithin:
            // The file's size isn't a multiple of a sector: the rest of the last sector reads as zeros.
            let end = place + random.below(4096)
            image = DiskImage(Array(bytes[..<end]) + [UInt8](repeating: 0, count: (4096 - end % 4096) % 4096))
        case .appendedGarbage:
            image = DiskImage(bytes + random.bytes(4096 * (1 + random.below(20))))
        case .insertedSector: image = DiskImage(Array(bytes[..<place]) + random.bytes(4096) + Array(bytes[place...]))
        case .removedSector: image = DiskImage(Array(bytes[..<place]) + Array(bytes[(place + 4096)...]))
        default: image = DiskImage(random.bytes(4096 * random.below(40)))
        }
    }
}

extension DiskImage {
    mutating func change(_ sector: UInt64, _ body: (inout Sector) -> Void) {
        var content = self[sector]
        body(&content)
        self[sector] = content
    }

    mutating func replacePart(of sector: UInt64, with bytes: [UInt8], _ part: Int) {
        change(sector) { $0.replaceSubrange(part * 512..<(part + 1) * 512, with: bytes) }
    }
}
