// SPDX-License-Identifier: Apache-2.0
// Reads pieces of a file, mapped or not. For the few readers of bytes that aren't pages of a tree. Header slots and
// journal are always read with system calls: see `PageStore.fileReader`.

/// Used by one thread at a time.
final class FileReader {
    private let file: any StoreFile
    /// Nil if it reads with `StoreFile.read`.
    private let mapping: Mapping?
    private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The bytes that `sector` has read ahead, and their range in the file.
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

    /// Reads a header slot.
    func header(slot: UInt64, _ cipher: (any PageCipher)?) throws(StorageError) -> HeaderSlot.Reading {
        HeaderSlot.read(try bytes(at: slot << FileFormat.sectorShift, count: FileFormat.sectorSize), cipher)
    }

    /// The header slots of a file.
    struct Headers {
        var readings: [HeaderSlot.Reading] = []
        /// The error of the last slot that can't be read, which counts as damaged.
        var failure: StorageError?

        /// Returns the newest slot. If none can be used, throws the error of reading, if there is one.
        func newest(path: String, fileBytes: UInt64) throws(StorageError) -> HeaderSlot {
            do throws(StorageError) {
                return try HeaderSlot.choose(readings, path: path, fileBytes: fileBytes)
            } catch {
                throw failure ?? error
            }
        }
    }

    /// Reads the header slots of a file of `size` bytes.
    static func headers(of file: any StoreFile, _ cipher: (any PageCipher)?, size: UInt64) -> Headers {
        let reader = FileReader(file, mapping: nil)
        var headers = Headers()
        headers.readings.reserveCapacity(Int(FileFormat.headerSlotCount))
        for slot in 0..<FileFormat.headerSlotCount {
            let offset = slot << FileFormat.sectorShift
            guard offset + UInt64(FileFormat.sectorSize) <= size else {
                headers.readings.append(.absent)
                continue
            }
            do throws(StorageError) {
                headers.readings.append(try reader.header(slot: slot, cipher))
            } catch {
                headers.readings.append(.damaged)
                headers.failure = error
            }
        }
        return headers
    }

    /// Returns whole sectors, which must be in the file. The bytes are valid until the next call and as long as the
    /// reader lives.
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

    /// Hints that all of these bytes will be read soon.
    func startRead(at offset: UInt64, count: UInt64) { file.startRead(at: offset, count: count) }

    /// Number of bytes that `sector` reads at once.
    private static var windowSize: Int { 1 << 18 }

    /// Returns one sector, for callers that read sectors in succession: it is read together with the next ones, up to
    /// `end`. So an unreadable sector is also an error for those before it. Valid until the next call of this method.
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
    /// Whether the file has these bytes there, read with a system call; nil if they can't be read.
    func has(_ content: Bytes, at offset: UInt64) -> Bool? {
        withUnsafeTemporaryAllocation(byteCount: content.count, alignment: 8) { buffer in
            do throws(StorageError) { try read(into: buffer, at: offset) } catch { return nil }
            return Bytes(buffer).order(content) == 0
        }
    }
}
