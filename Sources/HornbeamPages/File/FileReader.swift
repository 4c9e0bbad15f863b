// SPDX-License-Identifier: Apache-2.0
// Pieces of a file, whether it is mapped or not: for the few readers of bytes that aren't pages of a tree. Header slots
// and journal are always read by calls: see `PageStore.fileReader`.

/// Used by one thread at a time.
final class FileReader {
    private let file: any StoreFile
    /// Nil if it reads by `StoreFile.read`.
    private let mapping: Mapping?
    private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The bytes that `sector` has read ahead, and their place.
    private var window = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var windowPlace: Range<UInt64> = 0..<0

    init(_ file: any StoreFile, mapping: Mapping?) {
        self.file = file
        self.mapping = mapping
    }

    deinit {
        buffer.deallocate()
        window.deallocate()
    }

    /// The slot's header, as far as it is one.
    func header(slot: UInt64, _ cipher: (any PageCipher)?) throws(StorageError) -> HeaderSlot.Reading {
        HeaderSlot.read(try bytes(at: slot << FileFormat.sectorShift, count: FileFormat.sectorSize), cipher)
    }

    /// The header slots as they are, and the error of the last one that can't be read: it counts as damaged.
    static func headers(
        of file: any StoreFile, _ cipher: (any PageCipher)?, size: UInt64
    ) -> (slots: [HeaderSlot.Reading], failure: StorageError?) {
        let reader = FileReader(file, mapping: nil)
        var slots: [HeaderSlot.Reading] = []
        var failure: StorageError?
        for slot in 0..<FileFormat.headerSlotCount {
            let offset = slot << FileFormat.sectorShift
            guard offset + UInt64(FileFormat.sectorSize) <= size else {
                slots.append(.absent)
                continue
            }
            do throws(StorageError) {
                slots.append(try reader.header(slot: slot, cipher))
            } catch {
                slots.append(.damaged)
                failure = error
            }
        }
        return (slots, failure)
    }

    /// Whole sectors, which must be in the file. The bytes are valid until the next call, and no longer than the
    /// reader.
    func bytes(at offset: UInt64, count: Int) throws(StorageError) -> Bytes {
        if let mapping { return mapping.bytes(at: offset, count: count) }
        if buffer.count < count {
            buffer.deallocate()
            buffer = .allocate(byteCount: count, alignment: FileFormat.sectorSize)
        }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        try file.read(into: piece, at: offset)
        return Bytes(piece)
    }

    /// All of these bytes will be read soon. A hint.
    func startRead(at offset: UInt64, count: UInt64) { file.startRead(at: offset, count: count) }

    /// Bytes that `sector` reads at once.
    private static var windowSize: Int { 1 << 18 }

    /// One sector, read together with the next ones, up to `end`: for callers that read them in succession. An
    /// unreadable sector is an error for those before it, too. Valid until the next call of this method.
    func sector(at offset: UInt64, upTo end: UInt64) throws(StorageError) -> Bytes {
        if !windowPlace.contains(offset) {
            if window.isEmpty { window = .allocate(byteCount: Self.windowSize, alignment: FileFormat.sectorSize) }
            let count = Int(Swift.min(UInt64(Self.windowSize), end - offset))
            windowPlace = 0..<0
            try file.read(into: UnsafeMutableRawBufferPointer(rebasing: window[..<count]), at: offset)
            windowPlace = offset..<offset + UInt64(count)
        }
        let start = Int(offset - windowPlace.lowerBound)
        return Bytes(rebasing: window[start..<start + FileFormat.sectorSize])
    }
}

extension StoreFile {
    /// Whether these bytes are there, read by a call; nil if they can't be read.
    func has(_ content: Bytes, at offset: UInt64) -> Bool? {
        withUnsafeTemporaryAllocation(byteCount: content.count, alignment: 8) { buffer in
            do throws(StorageError) { try read(into: buffer, at: offset) } catch { return nil }
            return Bytes(buffer).order(content) == 0
        }
    }
}
