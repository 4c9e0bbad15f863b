// SPDX-License-Identifier: Apache-2.0
// The only compression of the format: LZ4 blocks. Decoding trusts nothing: it stays within its bounds whatever the
// bytes are, and succeeds only if it fills its target exactly.

import CLZ4

enum LZ4 {
    /// Decodes a block. Returns whether `source` was a block of exactly the target's size. `dictionary` must be the one
    /// that the block was made with.
    static func decompress(
        _ source: Bytes, into target: UnsafeMutableRawBufferPointer, dictionary: Bytes = Bytes(start: nil, count: 0)
    ) -> Bool {
        guard let from = source.baseAddress, let to = target.baseAddress,
            let count = Int32(exactly: source.count), let room = Int32(exactly: target.count),
            let dictionarySize = Int32(exactly: dictionary.count)
        else { return false }
        return LZ4_decompress_safe_usingDict(
            from.assumingMemoryBound(to: CChar.self), to.assumingMemoryBound(to: CChar.self), count, room,
            dictionary.baseAddress?.assumingMemoryBound(to: CChar.self), dictionarySize) == room
    }
}

/// The state of an encoder, which is too large to be allocated for each block.
final class LZ4Encoder {
    private let stream: UnsafeMutablePointer<LZ4_stream_t>
    /// The state of a stream that has just read the dictionary.
    private let prepared: UnsafeMutablePointer<LZ4_stream_t>
    /// The dictionary, and room for a block behind it: LZ4 is fastest if they are side by side.
    private let window: UnsafeMutableRawBufferPointer
    private var dictionarySize = 0

    /// `capacity`: bytes of a dictionary and a block together.
    init(capacity: Int) {
        stream = .allocate(capacity: 1)
        prepared = .allocate(capacity: 1)
        window = .allocate(byteCount: capacity, alignment: 16)
        LZ4_initStream(stream, MemoryLayout<LZ4_stream_t>.size)
        LZ4_initStream(prepared, MemoryLayout<LZ4_stream_t>.size)
    }

    deinit {
        stream.deallocate()
        prepared.deallocate()
        window.deallocate()
    }

    /// Sets the dictionary of the blocks that follow. An empty one means no dictionary.
    func use(_ dictionary: Bytes) {
        window.copyMemory(from: dictionary)
        dictionarySize = dictionary.count
        LZ4_loadDict(prepared, window.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(dictionarySize))
    }

    /// Returns the compressed size, or nil if that is more than `target` holds. `isLast`: the next block comes after
    /// another `use`.
    func compress(_ source: Bytes, into target: UnsafeMutableRawBufferPointer, isLast: Bool = false) -> Int? {
        guard let start = window.baseAddress, let to = target.baseAddress,
            let count = Int32(exactly: source.count), let room = Int32(exactly: target.count)
        else { return nil }
        UnsafeMutableRawBufferPointer(rebasing: window[dictionarySize..<dictionarySize + source.count])
            .copyMemory(from: source)
        // A copy costs less than reading the dictionary again.
        if !isLast { stream.update(from: prepared, count: 1) }
        let size = LZ4_compress_fast_continue(
            isLast ? prepared : stream, (start + dictionarySize).assumingMemoryBound(to: CChar.self),
            to.assumingMemoryBound(to: CChar.self), count, room, 1)
        return size > 0 ? Int(size) : nil
    }
}
