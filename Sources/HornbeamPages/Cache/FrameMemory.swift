// SPDX-License-Identifier: Apache-2.0
// Memory for frames. Frames are cut from chunks in the order of allocation, so that pages that are neighbours in the
// file are neighbours in memory. Large pages have blocks of their own.

import Glibc

/// Chunks are kept from one transaction to the next, up to a bound that the owner sets.
final class FrameMemory {
    private static let chunkSize = 1 << 20

    /// Bytes of chunks that stay for the next transaction.
    private let keptBound: Int
    @exclusivity(unchecked) private var chunks: [UnsafeMutableRawPointer] = []
    @exclusivity(unchecked) private var large: [UnsafeMutableRawPointer] = []
    /// The chunk being filled, and the number of bytes used in it.
    @exclusivity(unchecked) private var current = 0
    @exclusivity(unchecked) private var used = 0
    /// Bytes handed out since the last `reset`.
    @exclusivity(unchecked) private(set) var takenBytes = 0

    /// Bytes of the chunks, handed out or not.
    var keptBytes: Int { chunks.count * Self.chunkSize }

    init(keptBound: Int) { self.keptBound = keptBound }

    deinit {
        for chunk in chunks + large { chunk.deallocate() }
    }

    /// Returns memory for a page. It has zeros or bytes of former pages; if it is too large for a node, any bytes, all
    /// of which the caller overwrites.
    func take(_ size: Int) -> UnsafeMutableRawPointer {
        takenBytes += size
        if size > Self.chunkSize / 4 {
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: FileFormat.sectorSize)
            large.append(bytes)
            return bytes
        }
        if used + size > Self.chunkSize {
            current += 1
            used = 0
        }
        if current == chunks.count {
            let chunk = UnsafeMutableRawPointer.allocate(
                byteCount: Self.chunkSize, alignment: FileFormat.sectorSize)
            // A node is copied without its free space. What the program had in this memory must not reach the file.
            memset(chunk, 0, Self.chunkSize)
            chunks.append(chunk)
        }
        defer { used += size }
        return chunks[current] + used
    }

    /// Takes all memory back. With `keepsChunks` all chunks stay, for more frames of the same transaction.
    func reset(keepsChunks: Bool) {
        #if HORNBEAM_CHECKS
            // Overwrites the chunks, so that a read of a frame that has gone is noticed.
            for chunk in chunks.prefix(current + 1) { memset(chunk, 0xDB, Self.chunkSize) }
        #endif
        for bytes in large { bytes.deallocate() }
        large.removeAll()
        while !keepsChunks, keptBytes > keptBound { chunks.removeLast().deallocate() }
        current = 0
        used = 0
        takenBytes = 0
    }
}
