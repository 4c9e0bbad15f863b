// SPDX-License-Identifier: Apache-2.0
// Optionals and arrays. Nil is a marker below every value, so it comes first, and last in a descending component. Each
// element of an array follows a marker, and a lower marker ends the array: arrays sort item by item, a prefix first.
// Tuples need no encoding of their own: their components follow one another.

extension KeyWriter {
    @inlinable @inline(__always)
    package mutating func appendNil() {
        bytes.append(0)
    }

    /// Appends the marker before the value of an optional that is not nil.
    @inlinable @inline(__always)
    package mutating func appendPresent() {
        bytes.append(1)
    }

    @inlinable
    package mutating func append<Wrapped, Failure: Error>(
        optional value: Wrapped?, _ append: (inout KeyWriter, Wrapped) throws(Failure) -> Void
    ) throws(Failure) {
        guard let value else { return appendNil() }
        appendPresent()
        try append(&self, value)
    }

    @inlinable
    package mutating func append<Elements: Sequence, Failure: Error>(
        array elements: Elements, _ append: (inout KeyWriter, Elements.Element) throws(Failure) -> Void
    ) throws(Failure) {
        try self.append(arrayPrefix: elements, append)
        bytes.append(0)
    }

    /// Appends the bytes with which exactly the arrays begin whose first items are `elements`.
    @inlinable
    package mutating func append<Elements: Sequence, Failure: Error>(
        arrayPrefix elements: Elements, _ append: (inout KeyWriter, Elements.Element) throws(Failure) -> Void
    ) throws(Failure) {
        for element in elements {
            bytes.append(1)
            try append(&self, element)
        }
    }
}

extension KeyReader {
    /// Reads whether a value follows; false means nil.
    @usableFromInline
    package mutating func readPresence() throws(KeyError) -> Bool {
        let start = offset
        let byte = try readByte()
        guard byte <= 1 else { throw .malformed(offset: start, reason: "\(byte) is not a marker of an optional") }
        return byte == 1
    }

    /// Reads whether another element of the array follows.
    @usableFromInline
    package mutating func readElementMarker() throws(KeyError) -> Bool {
        let start = offset
        let byte = try readByte()
        guard byte <= 1 else { throw .malformed(offset: start, reason: "\(byte) is not a marker of an array") }
        return byte == 1
    }

    @inlinable
    package mutating func readOptional<Wrapped>(
        _ read: (inout KeyReader) throws(KeyError) -> Wrapped
    ) throws(KeyError) -> Wrapped? {
        guard try readPresence() else { return nil }
        return try read(&self)
    }

    @inlinable
    package mutating func readArray<Element>(
        _ read: (inout KeyReader) throws(KeyError) -> Element
    ) throws(KeyError) -> [Element] {
        var elements: [Element] = []
        while try readElementMarker() { elements.append(try read(&self)) }
        return elements
    }
}
