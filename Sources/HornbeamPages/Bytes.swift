// SPDX-License-Identifier: Apache-2.0
// The engine's currency: a borrowed run of bytes. Whoever hands one out says how long it lives.

public import Glibc

/// Borrowed bytes: a key, a value, or a page. Never owns its memory.
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
