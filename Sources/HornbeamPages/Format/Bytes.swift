// SPDX-License-Identifier: Apache-2.0
// The unit that the engine works with: a borrowed run of bytes. Each function that returns one documents its lifetime.

public import CHornbeamShims
public import Glibc

/// Borrowed bytes: a key, a value, or a page. Never owns its memory.
@usableFromInline
package typealias Bytes = UnsafeRawBufferPointer

extension UnsafeRawBufferPointer {
    /// The order of all trees: bytewise, a prefix before all longer keys. Negative, zero or positive, as with `memcmp`.
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
    /// Asks the processor for the cache line at this address. Any address will do.
    @inlinable @inline(__always)
    package func prefetch() { hbs_prefetch(self) }

    /// Compares `count` bytes (at least one), with a result as of `memcmp`.
    ///
    /// Short keys are compared word by word and not with libc's `memcmp`. That loads up to 32 bytes with one masked
    /// load, which costs 150 ns if it crosses the end of a page whose successor is not in the page table yet. Prefixes
    /// are at the ends of pages: this took half of the time of a sorted load.
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
                // The last word may overlap the one before, whose bytes are equal.
                place = Swift.min(place &+ 8, last)
            }
        }
        let left = shortWord(count)
        let right = other.shortWord(count)
        return left == right ? 0 : left < right ? -1 : 1
    }

    /// One to seven bytes as a number that has their order.
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
    /// Copies a short key without a call: with two loads and stores that may overlap, as in libc's memcpy.
    @inlinable @inline(__always)
    package func copyShort(_ source: UnsafeRawPointer, _ count: Int) {
        if count > 16 { return copyMemory(from: source, byteCount: count) }
        if count >= 8 { return copyEnds(of: source, count, as: UInt64.self) }
        if count >= 4 { return copyEnds(of: source, count, as: UInt32.self) }
        if count >= 2 { return copyEnds(of: source, count, as: UInt16.self) }
        if count == 1 { storeBytes(of: source.loadUnaligned(as: UInt8.self), as: UInt8.self) }
    }

    /// Copies `count` bytes: at least the size of the type, at most twice as many.
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
    /// Passes the array's bytes to `body`; they are valid until it returns. (The standard library's `withUnsafeBytes`
    /// does not carry typed errors through.)
    @inlinable @inline(__always)
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }

    /// Passes the array's bytes to `body`, which may write to them.
    package mutating func withMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
