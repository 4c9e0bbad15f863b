// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, stored as a base that many images share and the sectors in which this image differs, so that
// thousands of possible files cost only their differences. It is a value: changing a copy changes nothing else.

import CHornbeamShims
import Glibc

/// A file's content. Sectors of 4,096 bytes.
package struct DiskImage: Sendable {
    package typealias Sector = [UInt8]

    /// Bytes in anonymous memory with a file descriptor, so that it can be mapped privately any number of times.
    final class Base: Sendable {
        let descriptor: Int32
        let sectors: UInt64
        private let mapping: UnsafeSendableAddress

        init?(_ bytes: UnsafeRawBufferPointer) {
            // An unnamed file, in memory if the system has a folder for that.
            let inMemory = hbs_open_unnamed("/dev/shm", 0o600)
            let descriptor = inMemory >= 0 ? inMemory : hbs_open_unnamed("/tmp", 0o600)
            guard descriptor >= 0 else { return nil }
            var done = 0
            while done < bytes.count {
                let written = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, done)
                guard written > 0 else { break }
                done += written
            }
            let address = mmap(nil, max(bytes.count, DiskImage.sectorSize), PROT_READ, MAP_SHARED, descriptor, 0)
            guard done == bytes.count, let address, address != MAP_FAILED else {
                Glibc.close(descriptor)
                return nil
            }
            self.descriptor = descriptor
            sectors = UInt64(bytes.count / DiskImage.sectorSize)
            mapping = UnsafeSendableAddress(value: address)
        }

        deinit {
            munmap(mapping.value, max(Int(sectors) * DiskImage.sectorSize, DiskImage.sectorSize))
            close(descriptor)
        }

        func address(_ sector: UInt64) -> UnsafeRawPointer {
            UnsafeRawPointer(mapping.value) + Int(sector) * DiskImage.sectorSize
        }
    }

    private struct UnsafeSendableAddress: @unchecked Sendable {
        // Sendable: constant, and its memory is never written to.
        let value: UnsafeMutableRawPointer
    }

    package static let sectorSize = 4096
    package static let zeros = Sector(repeating: 0, count: sectorSize)

    let base: Base
    /// Number of valid sectors of the base: the rest was cut off and reads as zeros since then.
    private(set) var baseSectors: UInt64
    private(set) var changed: [UInt64: Sector] = [:]
    /// Number of sectors of the file.
    package private(set) var sectors: UInt64

    package init(_ bytes: [UInt8]) {
        guard let base = bytes.withUnsafeBytes({ Base($0) }) else {
            preconditionFailure("no memory for an image of \(bytes.count) bytes")
        }
        self.base = base
        baseSectors = base.sectors
        sectors = base.sectors
    }

    package var sectorCount: Int { Int(sectors) }

    /// The sector's bytes.
    package subscript(sector: UInt64) -> Sector {
        get {
            if let own = changed[sector] { return own }
            guard sector < baseSectors else { return Self.zeros }
            return Self.copy(base.address(sector))
        }
        set { if sector < sectors { changed[sector] = newValue } }
    }

    /// Makes the file `count` sectors long; new sectors read as zeros.
    package mutating func resize(_ count: UInt64) {
        if count < sectors {
            baseSectors = min(baseSectors, count)
            changed = changed.filter { $0.key < count }
        }
        sectors = count
    }

    /// All bytes.
    package var bytes: [UInt8] {
        let size = Int(sectors) * Self.sectorSize
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            if let start = buffer.baseAddress { fill(start) }
            initialized = size
        }
    }

    /// Returns a copy with all content in the base, which is cheaper to copy.
    package func flattened() -> DiskImage { DiskImage(bytes) }

    /// Copies the content to memory of at least its size.
    private func fill(_ target: UnsafeMutableRawPointer) {
        let fromBase = Int(min(baseSectors, sectors)) * Self.sectorSize
        memcpy(target, base.address(0), fromBase)
        memset(target + fromBase, 0, Int(sectors) * Self.sectorSize - fromBase)
        for (sector, bytes) in changed { Self.store(bytes, at: target + Int(sector) * Self.sectorSize) }
    }

    /// Maps the content at `target`, privately and writable. The caller owns that range of addresses.
    func map(at target: UnsafeMutableRawPointer) {
        let fromBase = Int(min(baseSectors, sectors)) * Self.sectorSize
        let rest = Int(sectors) * Self.sectorSize - fromBase
        let access = PROT_READ | PROT_WRITE
        if fromBase > 0 {
            let mapped = mmap(target, fromBase, access, MAP_PRIVATE | MAP_FIXED, base.descriptor, 0)
            precondition(mapped != MAP_FAILED, "no memory to map an image")
        }
        if rest > 0 { mprotect(target + fromBase, rest, access) }
        for (sector, bytes) in changed { Self.store(bytes, at: target + Int(sector) * Self.sectorSize) }
    }

    static func store(_ sector: Sector, at target: UnsafeMutableRawPointer) {
        sector.withUnsafeBytes { source in
            if let from = source.baseAddress { _ = memcpy(target, from, source.count) }
        }
    }

    /// Copies a sector by one memcpy, in optimized and in debug builds.
    static func copy(_ source: UnsafeRawPointer) -> Sector {
        Sector(unsafeUninitializedCapacity: sectorSize) { buffer, initialized in
            if let target = buffer.baseAddress { memcpy(target, source, sectorSize) }
            initialized = sectorSize
        }
    }
}
