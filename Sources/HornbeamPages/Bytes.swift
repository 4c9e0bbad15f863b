// SPDX-License-Identifier: Apache-2.0
// The engine's currency: a borrowed run of bytes. Whoever hands one out says how long it lives.

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
            let order = memcmp(left, right, shared)
            if order != 0 { return Int(order) }
        }
        return count &- other.count
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

    /// The same, to write.
    mutating func withMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
