// SPDX-License-Identifier: Apache-2.0
// Builds a key: components are appended one after another, and the order of the bytes is the order of the tuple. Each
// component shows where it ends, so the bytes of a compound key's first components are a prefix of its bytes.
// Docs/keys.md specifies the bytes of each type. Each type has a file with its writer and reader. A component's
// encoding must never change, because keys are stored on disk.

/// A key under construction. Owns its bytes and refers to nothing else.
@usableFromInline
package struct KeyWriter: Sendable {
    /// The key so far.
    @usableFromInline package var bytes: [UInt8]

    @inlinable
    package init() {
        bytes = []
    }

    /// An empty key with room for `capacity` bytes.
    @inlinable
    package init(capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Empties the key and keeps its memory.
    @inlinable
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Keeps the first `count` bytes, to return to a common prefix of several keys.
    @inlinable
    package mutating func truncate(to count: Int) {
        bytes.removeLast(bytes.count - count)
    }

    /// Reverses the order of the components that `body` appends: inverts their bytes, including nil markers and
    /// terminators.
    @inlinable
    package mutating func descending<Failure: Error>(
        _ body: (inout KeyWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let start = bytes.count
        try body(&self)
        invert(from: start)
    }

    /// Inverts the bytes appended since the key had `start` bytes.
    @inlinable
    package mutating func invert(from start: Int) {
        for index in start..<bytes.count {
            bytes[index] = ~bytes[index]
        }
    }

    /// Returns the smallest byte string above all that begin with `prefix`: the exclusive end of the prefix's range.
    /// Returns nil if there is none (`prefix` is empty or all 0xFF), which means an open end.
    package static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var end = prefix.count
        while end > 0, prefix[end - 1] == 0xFF { end -= 1 }
        guard end > 0 else { return nil }
        var successor = prefix
        successor[end - 1] += 1
        if end < successor.count { successor.removeLast(successor.count - end) }
        return successor
    }
}
