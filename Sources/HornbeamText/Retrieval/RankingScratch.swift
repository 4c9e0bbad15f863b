// SPDX-License-Identifier: Apache-2.0
// Scratch memory of rankings. It is kept from one ranking to the next, because touching fresh memory from the system
// costs more than a search.

import Synchronization

/// Sums of a window's documents, zero between windows. Belongs to one ranking at a time.
final class RankingScratch: Sendable {
    nonisolated(unsafe) let sums: UnsafeMutablePointer<Float>
    /// Uninitialised between uses.
    nonisolated(unsafe) let bits: UnsafeMutablePointer<UInt64>
    /// Uninitialised between uses. Has room for 32-bit numbers, lengths or contributions of postings, of a window's
    /// documents and three more.
    nonisolated(unsafe) let lengths: UnsafeMutablePointer<UInt32>
    /// Uninitialised between uses. Have room for postings of a window's documents, and for three more frequencies.
    nonisolated(unsafe) let docnos: UnsafeMutablePointer<UInt32>
    nonisolated(unsafe) let frequencies: UnsafeMutablePointer<UInt32>
    /// Uninitialised between uses. Has room for the offsets of a window's documents.
    nonisolated(unsafe) let candidates: UnsafeMutablePointer<UInt16>
    nonisolated(unsafe) let limits = LengthLimits()

    private static let idle = Mutex<[RankingScratch]>([])
    private static let idleLimit = 8

    private init() {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: DocumentWindow.size * MemoryLayout<Float>.stride, alignment: 64)
        bits = .allocate(capacity: DocumentWindow.words)
        candidates = .allocate(capacity: DocumentWindow.size)
        docnos = .allocate(capacity: DocumentWindow.size)
        frequencies = .allocate(capacity: DocumentWindow.size + 3)
        frequencies.initialize(repeating: 0, count: DocumentWindow.size + 3)
        let shares = UnsafeMutableRawPointer.allocate(
            byteCount: (DocumentWindow.size + 3) * MemoryLayout<Float>.stride, alignment: 64)
        lengths = shares.initializeMemory(as: UInt32.self, repeating: 0, count: DocumentWindow.size + 3)
        sums = memory.initializeMemory(as: Float.self, repeating: 0, count: DocumentWindow.size)
    }

    deinit {
        UnsafeMutableRawPointer(sums).deallocate()
        UnsafeMutableRawPointer(lengths).deallocate()
        bits.deallocate()
        candidates.deallocate()
        docnos.deallocate()
        frequencies.deallocate()
        limits.end()
    }

    static func take() -> RankingScratch { idle.withLock { $0.popLast() } ?? RankingScratch() }

    /// Returns the memory for reuse. The sums must be zero.
    func give() {
        Self.idle.withLock { (idle) in
            if idle.count < Self.idleLimit { idle.append(self) }
        }
    }

    /// Returns the number of rows of 16 sums for this many documents.
    static func rows(_ documents: Int) -> Int { (documents + 15) / 16 }

    /// Returns four sums of a row less `least`. The sign bit is clear for a sum that isn't less.
    @inline(__always)
    private func signs(_ offset: Int, _ least: SIMD4<Float>) -> SIMD4<UInt32> {
        let values = UnsafeRawPointer(sums).loadUnaligned(fromByteOffset: 4 &* offset, as: SIMD4<Float>.self)
        return unsafeBitCast(values - least, to: SIMD4<UInt32>.self)
    }

    /// Returns the sums of a row of 16 that are not less than `least`, a bit for each.
    @inline(__always)
    private func places(_ row: Int, atLeast least: SIMD4<Float>) -> UInt32 {
        let offset = 16 &* row
        let (first, second) = (signs(offset, least), signs(offset &+ 4, least))
        let (third, fourth) = (signs(offset &+ 8, least), signs(offset &+ 12, least))
        // In most rows all sums are less.
        let all = unsafeBitCast(first & second & third & fourth, to: SIMD2<UInt64>.self)
        guard all[0] & all[1] & 0x8000_0000_8000_0000 != 0x8000_0000_8000_0000 else { return 0 }
        let sign = SIMD4<UInt32>(repeating: 1 &<< 31)
        let less =
            (first & sign) &>> 31 | (second & sign) &>> 27 | (third & sign) &>> 23 | (fourth & sign) &>> 19
        // Lane n holds the bits of the sums whose indexes are n more than a multiple of four.
        let halves = unsafeBitCast(less, to: SIMD2<UInt64>.self)
        let bits = halves[0] | halves[0] &>> 31 | halves[1] &<< 2 | halves[1] &>> 29
        return UInt32(truncatingIfNeeded: ~bits) & 0xFFFF
    }

    /// Puts the indexes of the sums of the first `rows` rows that are not less than `least` into `candidates`,
    /// ascending. Returns their number. Stops once it is greater than `limit`.
    func find(rows: Int, atLeast least: Float, limit: Int) -> Int {
        let least = SIMD4<Float>(repeating: least)
        var count = 0
        for row in 0..<rows {
            var places = places(row, atLeast: least)
            while places != 0 {
                candidates[count] = UInt16(truncatingIfNeeded: 16 &* row &+ places.trailingZeroBitCount)
                count &+= 1
                places &= places &- 1
            }
            guard count <= limit else { break }
        }
        return count
    }

    /// Copies the postings whose offsets from `base` are in `bits` to `docnos` and `frequencies`. Returns their number.
    @inline(__always)
    func keep(
        _ docnos: UnsafePointer<UInt32>, _ frequencies: UnsafePointer<UInt32>, count: Int, base: UInt32
    ) -> Int {
        let (bits, keptDocnos, keptFrequencies) = (bits, self.docnos, self.frequencies)
        var kept = 0
        for place in 0..<count {
            let offset = Int(docnos[place] &- base)
            // No branch: it would be mispredicted half of the time.
            keptDocnos[kept] = docnos[place]
            keptFrequencies[kept] = frequencies[place]
            kept &+= Int(truncatingIfNeeded: bits[offset &>> 6] &>> UInt64(truncatingIfNeeded: offset & 63) & 1)
        }
        return kept
    }

    /// Sets the sums of these rows to zero.
    func clear(rows: Int) { sums.update(repeating: 0, count: 16 * rows) }
}
