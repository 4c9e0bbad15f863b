// SPDX-License-Identifier: Apache-2.0
// The one compression of the format: LZ4 blocks. Decoding trusts nothing: it reads and writes within its bounds
// whatever the bytes say, and is right only when it fills its target exactly.

import CLZ4

enum LZ4 {
    /// The compressed size; nil if it would be more than `target` holds.
    static func compress(_ source: Bytes, into target: UnsafeMutableRawBufferPointer) -> Int? {
        guard let from = source.baseAddress, let to = target.baseAddress,
            let count = Int32(exactly: source.count), let room = Int32(exactly: target.count)
        else { return nil }
        let size = LZ4_compress_default(
            from.assumingMemoryBound(to: CChar.self), to.assumingMemoryBound(to: CChar.self), count, room)
        return size > 0 ? Int(size) : nil
    }

    /// Whether `source` was a block of exactly the target's size.
    static func decompress(_ source: Bytes, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard let from = source.baseAddress, let to = target.baseAddress,
            let count = Int32(exactly: source.count), let room = Int32(exactly: target.count)
        else { return false }
        return LZ4_decompress_safe(
            from.assumingMemoryBound(to: CChar.self), to.assumingMemoryBound(to: CChar.self), count, room) == room
    }
}
