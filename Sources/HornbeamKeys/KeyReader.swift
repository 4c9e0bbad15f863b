// SPDX-License-Identifier: Apache-2.0
// Reads a key back, component by component, in the order and with the types in which it was written: a key does not
// describe itself. Every byte may come from a damaged file: each read checks bounds and form, and throws a `KeyError`
// with the position. No read may trap, run past the end, or take memory out of proportion to the number of bytes.

/// A position in a key's bytes. Borrows them: they must outlive the reader.
@usableFromInline
package struct KeyReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// Number of bytes that were read. Never above `bytes.count`.
    @usableFromInline package internal(set) var offset = 0
    /// 0xFF inside descending components, otherwise 0. Each byte read is combined with it.
    @usableFromInline var mask: UInt8 = 0

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inlinable package var isAtEnd: Bool { offset == bytes.count }

    /// Number of bytes that are left.
    @inlinable package var remaining: Int { bytes.count - offset }

    /// Throws `.malformed` unless the whole key was read.
    package func expectEnd() throws(KeyError) {
        guard isAtEnd else {
            throw .malformed(offset: offset, reason: "\(remaining) bytes follow the last component")
        }
    }

    /// Reads components that were written in `KeyWriter.descending`.
    @inlinable
    package mutating func descending<Result>(
        _ body: (inout KeyReader) throws(KeyError) -> Result
    ) throws(KeyError) -> Result {
        mask = ~mask
        defer { mask = ~mask }
        return try body(&self)
    }
}

// MARK: - Bytes

extension KeyReader {
    /// Returns the next byte without reading it.
    func peek() throws(KeyError) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        return bytes[offset] ^ mask
    }

    mutating func readByte() throws(KeyError) -> UInt8 {
        let byte = try peek()
        offset += 1
        return byte
    }

    /// Skips `count` bytes.
    mutating func skip(bytes count: Int) throws(KeyError) {
        guard count >= 0, count <= remaining else { throw .truncated(offset: offset) }
        offset += count
    }

    /// Skips a component that a zero byte ends. Returns the range of its bytes, without that zero.
    mutating func skipTerminated() throws(KeyError) -> Range<Int> {
        let start = offset
        var end = start
        while end < bytes.count, bytes[end] != mask { end += 1 }
        guard end < bytes.count else { throw .truncated(offset: start) }
        offset = end + 1
        return start..<end
    }
}

// MARK: - Skipping

/// The layout of a component, as far as it is needed to find the component's end.
package indirect enum KeyShape: Equatable, Sendable {
    /// A number of bytes: Booleans, integers, floats, UUIDs.
    case fixed(Int)
    /// Up to a zero byte: strings, raw bytes, sort keys.
    case terminated
    case decimal
    case dynamic(Collation)
    case optional(KeyShape)
    case array(KeyShape)
    case descending(KeyShape)
}

extension KeyReader {
    /// Skips one component. Checks no more of it than is needed to find its end.
    package mutating func skip(_ shape: KeyShape) throws(KeyError) {
        switch shape {
        case .fixed(let count):
            try skip(bytes: count)
        case .terminated:
            _ = try skipTerminated()
        case .decimal:
            _ = try readDecimal()
        case .dynamic(let collation):
            try skipDynamic(collation)
        case .optional(let wrapped):
            if try readPresence() { try skip(wrapped) }
        case .array(let element):
            while try readElementMarker() { try skip(element) }
        case .descending(let inner):
            try descending { (reader) throws(KeyError) in try reader.skip(inner) }
        }
    }
}
