// SPDX-License-Identifier: Apache-2.0
// A writable mapping of a small part of a file, through which records are added to the journal without a system call.
// It is small so that a stray pointer of the program can't reach much of the file.

import CHornbeamShims
import Glibc

/// Belongs to one thread at a time.
final class FileWindow {
    private let base: UnsafeMutableRawPointer
    private let start: UInt64
    private let faultGuard: Int32
    /// Where the guard notes faults that no thread watches. There are none.
    private let lost: UnsafeMutablePointer<UInt32>

    private static var size: UInt64 { 256 << 10 }

    /// Maps the part of the file with this offset. Returns nil if the system refuses it, or can't guard it.
    init?(_ descriptor: Int32, at offset: UInt64) {
        start = offset / Self.size * Self.size
        guard let base = hbs_map_window(descriptor, Int64(start), Int(Self.size)) else { return nil }
        self.base = base
        lost = .allocate(capacity: 1)
        lost.initialize(to: 0)
        faultGuard = hbs_guard_add(base, Int(Self.size), lost)
        if faultGuard < 0 { return nil }
    }

    deinit {
        hbs_guard_remove(faultGuard)
        munmap(base, Int(Self.size))
        lost.deallocate()
    }

    func contains(_ offset: UInt64) -> Bool { offset >= start && offset - start < Self.size }

    /// Writes a sector in the window from byte `first` on. Returns false if that fails, or if the bytes before it are
    /// not there: the kernel forgets bytes that it could not write to the medium.
    func writeRest(of sector: Bytes, from first: Int, at offset: UInt64) -> Bool {
        guard let source = sector.baseAddress else { return true }
        let target = base + Int(offset - start)
        hbs_guard_watch(target, sector.count)
        let isBegun = memcmp(target, source, first) == 0
        if isBegun { (target + first).copyMemory(from: source + first, byteCount: sector.count - first) }
        return hbs_guard_unwatch() == 0 && isBegun
    }
}
