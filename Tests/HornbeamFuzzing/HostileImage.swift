// SPDX-License-Identifier: Apache-2.0
// A small store's file that a fuzz target changes at chosen places, and the use of the changed file.

import HornbeamProof
import HornbeamTestSupport

/// The pristine file, made once: trees of several shapes and a journal that is not yet empty.
private let pristine: FileParts = {
    do {
        return try FileParts(seed: 1, isClosed: false)
    } catch {
        preconditionFailure("the pristine store can't be made: \(error)")
    }
}()

/// A hostile variant of the pristine file.
struct HostileImage {
    let parts = pristine
    private var image = pristine.pristine
    private var changedPages: Set<Int> = []

    /// Flips bits in a header slot (0, 1), a journal record (2 to 9) or a page.
    mutating func flip(_ part: Int, _ offset: Int, _ bits: UInt8) {
        switch part {
        case 0, 1: change(UInt64(part), offset % 256, bits)
        case 2...9 where !parts.records.isEmpty:
            let record = parts.records[part % parts.records.count]
            let place = offset % Int(record.sectors * 4096)
            change(record.sector + UInt64(place / 4096), place % 4096, bits)
        default:
            flip(page: part % parts.pages.count, offset, bits)
        }
    }

    /// Flips bits in a page.
    mutating func flip(page index: Int, _ offset: Int, _ bits: UInt8) {
        let page = parts.pages[index]
        let place = offset % Int(page.sectors * 4096)
        changedPages.insert(index)
        change(page.number + UInt64(place / 4096), place % 4096, bits)
    }

    private mutating func change(_ sector: UInt64, _ offset: Int, _ bits: UInt8) {
        var content = image[sector]
        content[offset] ^= bits
        image[sector] = content
    }

    /// Puts `payload` into the journal in place of record `index`, as the last one.
    mutating func replaceRecord(_ index: Int, payload: [UInt8]) {
        guard !parts.records.isEmpty, payload.count < 64 << 10 else { return }
        image.replaceRecord(parts.records[index % parts.records.count], payload: payload)
    }

    /// Corrects all checksums.
    mutating func repair() {
        for index in changedPages { image.seal(parts.pages[index]) }
        for slot in 0..<UInt64(2) { image.sealHeader(slot) }
        image.sealJournal(parts.records)
    }

    /// Opens the file and uses it in every way.
    func use(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        do {
            try HostileProof.use(image, &random)
        } catch let failure as ProofFailure {
            preconditionFailure("\(failure)")
        } catch {
            // A hostile file should give a typed error.
        }
    }
}
