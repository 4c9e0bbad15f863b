// SPDX-License-Identifier: Apache-2.0
// The engine's currency: a borrowed run of bytes. The function that returns one documents its lifetime.

public import CHornbeamShims
public import Glibc

/// Borrowed bytes: a key, a value, or a page. Never owns its memory.
@usableFromInline
package typealias Bytes = UnsafeRawBufferPointer

extension UnsafeRawBufferPointer {
    /// The order of all trees: bytewise, a prefix before what it begins. Negative, zero or positive, as `memcmp`.
    @inlinable @inline(__always)
    package func order(_ other: UnsafeRawBufferPointer) -> Int {
        let shared = Swift.min(count, other.count)
        if shared > 0, let left = baseAddress, let right = other.baseAddress {
            let order = left.order(right, shared)
            if order != 0 { return order }
        }
        return count &- other.count
    }
}

extension UnsafeRawPointer {
    /// Asks the processor for the cache line at this address, which may be any.
    @inlinable @inline(__always)
    package func prefetch() { hbs_prefetch(self) }

    /// The order of `count` bytes, at least one, as by `memcmp`.
    ///
    /// Keys are compared word by word and not by libc's `memcmp`: that takes up to 32 bytes in one masked load, which
    /// costs 150 ns if it crosses the end of a page whose successor is not in the page table yet. Prefixes are at the
    /// ends of pages: half the time of a sorted load.
    @inlinable @inline(__always)
    package func order(_ other: UnsafeRawPointer, _ count: Int) -> Int {
        if count >= 8 {
            if count > 64 { return Int(memcmp(self, other, count)) }
            let last = count &- 8
            var place = 0
            while true {
                let left = loadUnaligned(fromByteOffset: place, as: UInt64.self).bigEndian
                let right = other.loadUnaligned(fromByteOffset: place, as: UInt64.self).bigEndian
                if left != right { return left < right ? -1 : 1 }
                if place == last { return 0 }
                // The last word may overlap the one before, which is equal.
                place = Swift.min(place &+ 8, last)
            }
        }
        let left = shortWord(count)
        let right = other.shortWord(count)
        return left == right ? 0 : left < right ? -1 : 1
    }

    /// One to seven bytes as a number that is ordered as they are.
    @inlinable @inline(__always)
    func shortWord(_ count: Int) -> UInt64 {
        if count >= 4 {
            let first = loadUnaligned(as: UInt32.self).bigEndian
            let last = loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self).bigEndian
            return UInt64(first) &<< 32 | UInt64(last)
        }
        let first = load(as: UInt8.self)
        let middle = load(fromByteOffset: count &>> 1, as: UInt8.self)
        let last = load(fromByteOffset: count &- 1, as: UInt8.self)
        return UInt64(first) &<< 16 | UInt64(middle) &<< 8 | UInt64(last)
    }
}

extension UnsafeMutableRawPointer {
    /// Copies a key's few bytes without a call: two loads and stores that may overlap, as libc's memcpy does it.
    @inlinable @inline(__always)
    package func copyShort(_ source: UnsafeRawPointer, _ count: Int) {
        if count > 16 { return copyMemory(from: source, byteCount: count) }
        if count >= 8 { return copyEnds(of: source, count, as: UInt64.self) }
        if count >= 4 { return copyEnds(of: source, count, as: UInt32.self) }
        if count >= 2 { return copyEnds(of: source, count, as: UInt16.self) }
        if count == 1 { storeBytes(of: source.loadUnaligned(as: UInt8.self), as: UInt8.self) }
    }

    /// Copies `count` bytes, one to two times the type's.
    @inlinable @inline(__always)
    func copyEnds<Word: FixedWidthInteger & BitwiseCopyable>(
        of source: UnsafeRawPointer, _ count: Int, as: Word.Type
    ) {
        let rest = count &- MemoryLayout<Word>.size
        let first = source.loadUnaligned(as: Word.self)
        let last = (source + rest).loadUnaligned(as: Word.self)
        storeBytes(of: first, as: Word.self)
        (self + rest).storeBytes(of: last, as: Word.self)
    }
}

extension [UInt8] {
    /// The array's bytes for the length of `body`. (The standard library's `withUnsafeBytes` does not carry typed
    /// errors through.)
    @inlinable @inline(__always)
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }

    /// The array's bytes for the length of `body`, which may write to them.
    package mutating func withMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
