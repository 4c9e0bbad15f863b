// SPDX-License-Identifier: Apache-2.0
// The sectors in which no page of a tree can be: the sectors that the space map had as free when the store was opened,
// and the store's own (header, shared area, journal, space pages). A hostile parent may name a page there that has a
// right checksum. If that page were verified once and trusted from then on, the journal or the next page would
// overwrite it under its readers. Allocation takes sectors out of the set again. The set is only asked on the first
// touch of a page.

import Synchronization

/// A set of sectors. Any thread may use it. It is empty in a new store, and in a store that is opened read-only, which
/// never changes pages under its readers.
final class ForeignSectors: Sendable {
    /// 64 sectors to a word; sectors beyond are not in the set.
    private let words = Mutex<[UInt64]>([])

    /// Makes the set all sectors that the map has as free, and `own`.
    func fill(from space: SpaceMap, own: [SectorRun]) {
        words.withLock { $0 = space.words.map { ~$0.live } }
        for run in own { insert(run) }
    }

    func insert(_ run: SectorRun) { change(run) { $0 | $1 } }

    /// Removes sectors: from now on a page of a tree may be there.
    func remove(_ run: SectorRun) { change(run) { $0 & ~$1 } }

    /// Whether any of the run's sectors is in the set.
    func containsAny(of run: SectorRun) -> Bool {
        words.withLock { words in
            var found = false
            Self.forEachPart(of: run, words.count) { word, mask in found = found || words[word] & mask != 0 }
            return found
        }
    }

    private func change(_ run: SectorRun, _ combine: (UInt64, UInt64) -> UInt64) {
        words.withLock { words in
            Self.forEachPart(of: run, words.count) { word, mask in words[word] = combine(words[word], mask) }
        }
    }

    private static func forEachPart(of run: SectorRun, _ count: Int, _ body: (Int, UInt64) -> Void) {
        let end = min(run.end, UInt64(count) * 64)
        var sector = run.start
        while sector < end {
            let low = sector & 63
            let part = min(64 - low, end - sector)
            body(Int(sector >> 6), SpaceMap.mask(low: Int(low), count: Int(part)))
            sector += part
        }
    }
}
