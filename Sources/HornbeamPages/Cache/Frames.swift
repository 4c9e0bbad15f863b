// SPDX-License-Identifier: Apache-2.0
// The write transaction's own pages in memory, seen by the writer alone until commit writes them to their place.
// Frames come from chunks in the order of allocation, so pages that are neighbours in the file are neighbours here and
// go out in one write.

import Glibc

/// One page born in the open transaction.
struct Frame {
    var run: SectorRun
    var bytes: UnsafeMutableRawPointer
    /// False once the page was freed again; a node page's place and memory then serve the next one.
    var isLive: Bool

    var buffer: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: bytes, count: run.byteCount) }
}

/// All frames of the open transaction, by page number. Addresses are stable until `removeAll`.
final class FrameTable {
    private(set) var frames: [Frame] = []
    /// Node frames that were freed.
    private var reusable: [Int] = []
    /// Open addressing: index of the frame plus one, 0 for empty. A power of two, at most half full.
    private var slots: [Int32]
    private let memory = FrameMemory()
    private(set) var liveBytes = 0

    private static let initialSlots = 128

    init() { slots = [Int32](repeating: 0, count: Self.initialSlots) }

    /// The live frame of a page.
    func find(_ number: UInt64) -> Frame? {
        guard let index = index(of: number) else { return nil }
        return frames[index].isLive ? frames[index] : nil
    }

    /// A frame for a new page at `run`, its bytes undefined.
    func add(_ run: SectorRun) -> UnsafeMutableRawPointer {
        let bytes = memory.take(run.byteCount)
        liveBytes += run.byteCount
        let frame = Frame(run: run, bytes: bytes, isLive: true)
        if let index = index(of: run.start) {
            // The place of a long value that this transaction freed.
            frames[index] = frame
        } else {
            frames.append(frame)
            insert(frames.count - 1)
        }
        return bytes
    }

    /// A freed node page to use again, its bytes undefined.
    func reuse() -> Frame? {
        guard let index = reusable.popLast() else { return nil }
        frames[index].isLive = true
        liveBytes += frames[index].run.byteCount
        return frames[index]
    }

    /// Marks a live page as freed; with `keepPlace` its number is kept for `reuse`.
    func free(_ number: UInt64, keepPlace: Bool) {
        guard let index = index(of: number), frames[index].isLive else { return }
        frames[index].isLive = false
        liveBytes -= frames[index].run.byteCount
        if keepPlace { reusable.append(index) }
    }

    /// Places that are kept for `reuse` and were not used; they are kept no longer.
    func takeUnusedPlaces() -> [SectorRun] {
        defer { reusable.removeAll(keepingCapacity: true) }
        return reusable.map { frames[$0].run }
    }

    /// Live frames in the order of their places in the file.
    func inFileOrder() -> [Frame] {
        frames.filter(\.isLive).sorted { $0.run.start < $1.run.start }
    }

    func removeAll() {
        frames.removeAll(keepingCapacity: frames.count < 4096)
        reusable.removeAll(keepingCapacity: true)
        if slots.count > 16 * Self.initialSlots {
            slots = [Int32](repeating: 0, count: Self.initialSlots)
        } else {
            for index in slots.indices { slots[index] = 0 }
        }
        liveBytes = 0
        memory.reset()
    }

    private func slot(_ number: UInt64) -> Int {
        let shift = UInt64(slots.count.leadingZeroBitCount + 1)
        return Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> shift)
    }

    private func index(of number: UInt64) -> Int? {
        var place = slot(number)
        while slots[place] != 0 {
            let index = Int(slots[place]) - 1
            if frames[index].run.start == number { return index }
            place = (place + 1) & (slots.count - 1)
        }
        return nil
    }

    private func insert(_ index: Int) {
        if frames.count * 2 > slots.count {
            slots = [Int32](repeating: 0, count: slots.count * 2)
            for earlier in 0..<index { place(earlier) }
        }
        place(index)
    }

    private func place(_ index: Int) {
        var place = slot(frames[index].run.start)
        while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
        slots[place] = Int32(index + 1)
    }
}

/// Chunks of memory that frames are cut from, kept from one transaction to the next up to a bound.
private final class FrameMemory {
    private static let chunkSize = 1 << 20
    private static let keptChunks = 8

    private var chunks: [UnsafeMutableRawPointer] = []
    private var large: [UnsafeMutableRawPointer] = []
    /// The chunk being filled and the bytes used of it.
    private var current = 0
    private var used = 0

    deinit {
        for chunk in chunks + large { chunk.deallocate() }
    }

    func take(_ size: Int) -> UnsafeMutableRawPointer {
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
            chunks.append(.allocate(byteCount: Self.chunkSize, alignment: FileFormat.sectorSize))
        }
        defer { used += size }
        return chunks[current] + used
    }

    func reset() {
        for bytes in large { bytes.deallocate() }
        large.removeAll()
        while chunks.count > Self.keptChunks { chunks.removeLast().deallocate() }
        current = 0
        used = 0
    }
}
