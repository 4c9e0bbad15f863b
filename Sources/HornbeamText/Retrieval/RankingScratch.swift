// SPDX-License-Identifier: Apache-2.0
// Memory that every ranking needs: kept from one to the next, because memory that is fresh from the system costs more
// to touch than a search.

import Synchronization

/// Sums of a window's documents, zero between windows. Belongs to one ranking at a time.
final class RankingScratch: Sendable {
    nonisolated(unsafe) let sums: UnsafeMutablePointer<Float>
    /// Of any content.
    nonisolated(unsafe) let bits: UnsafeMutablePointer<UInt64>
    nonisolated(unsafe) let limits = LengthLimits()

    private static let idle = Mutex<[RankingScratch]>([])
    private static let idleLimit = 8

    private init() {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: DocumentWindow.size * MemoryLayout<Float>.stride, alignment: 64)
        bits = .allocate(capacity: DocumentWindow.words)
        sums = memory.initializeMemory(as: Float.self, repeating: 0, count: DocumentWindow.size)
    }

    deinit {
        UnsafeMutableRawPointer(sums).deallocate()
        bits.deallocate()
        limits.end()
    }

    static func take() -> RankingScratch { idle.withLock { $0.popLast() } ?? RankingScratch() }

    /// Gives it back: the sums must be zero.
    func give() {
        Self.idle.withLock { (idle) in
            if idle.count < Self.idleLimit { idle.append(self) }
        }
    }

    /// Rows of 16 sums that so many documents need.
    static func rows(_ documents: Int) -> Int { (documents + 15) / 16 }

    /// Sums less `least`, four of a row at a time: one that isn't less has no sign.
    @inline(__always)
    private func signs(_ offset: Int, _ least: SIMD4<Float>) -> SIMD4<UInt32> {
        let values = UnsafeRawPointer(sums).loadUnaligned(fromByteOffset: 4 &* offset, as: SIMD4<Float>.self)
        return unsafeBitCast(values - least, to: SIMD4<UInt32>.self)
    }

    /// Whether any sum of a row is not less than `least`.
    @inline(__always)
    func has(_ row: Int, atLeast least: Float) -> Bool {
        let least = SIMD4<Float>(repeating: least)
        let offset = 16 &* row
        let all =
            signs(offset, least) & signs(offset &+ 4, least) & signs(offset &+ 8, least)
            & signs(offset &+ 12, least)
        let halves = unsafeBitCast(all, to: SIMD2<UInt64>.self)
        return halves[0] & halves[1] & 0x8000_0000_8000_0000 != 0x8000_0000_8000_0000
    }

    /// How many of the sums of the first `rows` rows are not less than `least`.
    func count(rows: Int, atLeast least: Float) -> Int {
        let least = SIMD4<Float>(repeating: least)
        var less = SIMD4<UInt32>()
        for place in 0..<4 &* rows { less = less &+ (signs(4 &* place, least) &>> 31) }
        return 16 * rows - Int(less[0] &+ less[1] &+ less[2] &+ less[3])
    }

    /// Sets those sums to zero.
    func clear(rows: Int) { sums.update(repeating: 0, count: 16 * rows) }
}
