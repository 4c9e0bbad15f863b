// SPDX-License-Identifier: Apache-2.0
// A set of sectors whose memory depends on its content, not on the size of the file: one bit a sector, in pieces of 16
// MiB of the file. A transaction remembers in it which pages it has written before its commit.

struct SectorSet {
    private static let wordsInChunk = 64
    private static let chunkShift: UInt64 = 12

    private var chunks: [UInt64: [UInt64]] = [:]
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ run: SectorRun) {
        Self.forEachWord(of: run) { chunk, word, mask in
            let before = chunks[chunk]?[word] ?? 0
            chunks[chunk, default: [UInt64](repeating: 0, count: Self.wordsInChunk)][word] = before | mask
            count += (before | mask).nonzeroBitCount - before.nonzeroBitCount
        }
    }

    mutating func remove(_ run: SectorRun) {
        Self.forEachWord(of: run) { chunk, word, mask in
            guard let before = chunks[chunk]?[word], before & mask != 0 else { return }
            chunks[chunk]?[word] = before & ~mask
            count -= (before & mask).nonzeroBitCount
        }
    }

    /// Whether all sectors of the run are in it.
    func contains(_ run: SectorRun) -> Bool {
        guard count >= run.count, run.count > 0 else { return false }
        var isWhole = true
        Self.forEachWord(of: run) { chunk, word, mask in
            if (chunks[chunk]?[word] ?? 0) & mask != mask { isWhole = false }
        }
        return isWhole
    }

    mutating func formUnion(_ other: SectorSet) {
        if isEmpty {
            self = other
        } else {
            other.forEachRun { insert($0) }
        }
    }

    /// Passes its sectors to `body`, ascending, in runs of no particular length.
    func forEachRun(_ body: (SectorRun) -> Void) {
        if isEmpty { return }
        for (chunk, words) in chunks.sorted(by: { $0.key < $1.key }) {
            for (word, bits) in words.enumerated() {
                SectorRun.forEach(in: bits, from: chunk << Self.chunkShift + UInt64(word) << 6, body)
            }
        }
    }

    private static func forEachWord(of run: SectorRun, _ body: (_ chunk: UInt64, _ word: Int, _ mask: UInt64) -> Void) {
        var sector = run.start
        while sector < run.end {
            let low = sector & 63
            let count = min(64 - low, run.end - sector)
            let mask = SpaceMap.mask(low: Int(low), count: Int(count))
            body(sector >> chunkShift, Int(sector >> 6) & (wordsInChunk - 1), mask)
            sector += count
        }
    }
}
