// SPDX-License-Identifier: Apache-2.0
// Memory in which a token is built. It grows, is reused, and is passed on without copying.

import HornbeamPages

/// Bytes that one tokenizer appends and clears, token after token.
struct ByteBuffer: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0

    init() {
        capacity = 256
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// The bytes appended so far. Valid until the next change.
    var bytes: Bytes { Bytes(start: start, count: count) }

    @inline(__always)
    mutating func removeAll() { count = 0 }

    /// Removes all bytes behind the first `count`.
    @inline(__always)
    mutating func shorten(to count: Int) { self.count = min(count, self.count) }

    @inline(__always)
    mutating func append(byte: UInt8) {
        if count == capacity { grow(by: 1) }
        start[count] = byte
        count &+= 1
    }

    /// Appends a scalar as UTF-8.
    @inline(__always)
    mutating func append(_ scalar: UInt32) {
        if capacity - count < 4 { grow(by: 4) }
        UTF8Scalars.append(scalar, start, &count)
    }

    mutating func append(_ bytes: Bytes) {
        if capacity - count < bytes.count { grow(by: bytes.count) }
        for byte in bytes {
            start[count] = byte
            count &+= 1
        }
    }

    /// Replaces the content by these bytes, each mapped by a table of 256.
    mutating func replace(by bytes: UnsafeBufferPointer<UInt8>, mapped table: [UInt8]) {
        count = 0
        if capacity < bytes.count { grow(by: bytes.count) }
        for place in bytes.indices { start[place] = table[Int(bytes[place])] }
        count = bytes.count
    }

    private mutating func grow(by size: Int) {
        let larger = max(capacity * 2, count + size)
        let new = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        new.update(from: start, count: count)
        start.deallocate()
        (start, capacity) = (new, larger)
    }
}
