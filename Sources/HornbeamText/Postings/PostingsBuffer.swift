// SPDX-License-Identifier: Apache-2.0
// Postings in memory, one after the other. Runs are encoded from a buffer and decoded into one.

import HornbeamPages

/// Postings with their positions, in ascending order of documents. Grows, reuses its memory and can't be copied.
struct PostingsBuffer: ~Copyable {
    private(set) var docnos = UnsafeMutablePointer<UInt32>.allocate(capacity: 1024)
    private(set) var frequencies = UnsafeMutablePointer<UInt32>.allocate(capacity: 1024)
    /// Number of tokens of each document.
    private(set) var lengths = UnsafeMutablePointer<UInt32>.allocate(capacity: 1024)
    private(set) var count = 0
    private var capacity = 1024
    /// Per-field counts of each posting, once a posting occurs outside the first field. Has room for `fieldCapacity`
    /// postings.
    private var fields: UnsafeMutablePointer<FieldCounts>?
    private var fieldCapacity = 0
    /// Whether a posting may occur outside the first field.
    private(set) var hasFields = false

    /// The positions of the first posting, then those of the next: as many as its frequency. In an index without
    /// positions there may be fewer or none.
    private(set) var positions = UnsafeMutablePointer<UInt32>.allocate(capacity: 2048)
    private(set) var positionCount = 0
    private var positionCapacity = 2048

    deinit {
        docnos.deallocate()
        frequencies.deallocate()
        lengths.deallocate()
        positions.deallocate()
        fields?.deallocate()
    }

    mutating func removeAll() { (count, positionCount, hasFields) = (0, 0, false) }

    /// Appends a posting. The caller appends its positions separately.
    @inline(__always)
    mutating func append(_ docno: UInt32, frequency: UInt32, length: UInt32) {
        if count == capacity { reserve(postings: 1) }
        docnos[count] = docno
        frequencies[count] = frequency
        lengths[count] = length
        if hasFields { setFields(count, FieldCounts(frequency, 0, 0, 0)) }
        count &+= 1
    }

    @inline(__always)
    mutating func append(position: UInt32) {
        if positionCount == positionCapacity { reserve(positions: 1) }
        positions[positionCount] = position
        positionCount &+= 1
    }

    /// Appends positions of postings that were or will be appended.
    mutating func append(positions source: UnsafePointer<UInt32>, count: Int) {
        reserve(positions: count)
        (positions + positionCount).update(from: source, count: count)
        positionCount += count
    }

    /// Sets the frequency of the last posting.
    @inline(__always)
    mutating func setLastFrequency(_ frequency: UInt32) { frequencies[count &- 1] = frequency }

    /// Appends the postings in `range` of another buffer. Their positions in it begin at `start`; with nil no positions
    /// are copied. Returns the number of occurrences of the postings.
    @discardableResult
    mutating func append(_ other: borrowing PostingsBuffer, _ range: Range<Int>, positionsFrom start: Int?) -> Int {
        reserve(postings: range.count)
        (docnos + count).update(from: other.docnos + range.lowerBound, count: range.count)
        (frequencies + count).update(from: other.frequencies + range.lowerBound, count: range.count)
        (lengths + count).update(from: other.lengths + range.lowerBound, count: range.count)
        if other.hasFields { makeFields() }
        if hasFields {
            for place in 0..<range.count { setFields(count + place, other.fieldCounts(range.lowerBound + place)) }
        }
        count += range.count
        var occurrences = 0
        for place in range { occurrences += Int(other.frequencies[place]) }
        if let start { append(positions: other.positions + start, count: occurrences) }
        return occurrences
    }

    /// Makes room for more postings. The caller writes them behind the end and then calls `added`.
    mutating func reserve(postings more: Int) {
        guard count + more > capacity else { return }
        let larger = max(2 * capacity, count + more)
        docnos = Self.grown(docnos, count, larger)
        frequencies = Self.grown(frequencies, count, larger)
        lengths = Self.grown(lengths, count, larger)
        capacity = larger
    }

    mutating func reserve(positions more: Int) {
        guard positionCount + more > positionCapacity else { return }
        let larger = max(2 * positionCapacity, positionCount + more)
        positions = Self.grown(positions, positionCount, larger)
        positionCapacity = larger
    }

    /// Adds the postings that the caller wrote behind the end to the count.
    mutating func added(postings: Int) {
        count += postings
        guard hasFields else { return }
        for place in count - postings..<count { setFields(place, FieldCounts(frequencies[place], 0, 0, 0)) }
    }

    private static func grown(
        _ memory: UnsafeMutablePointer<UInt32>, _ count: Int, _ capacity: Int
    ) -> UnsafeMutablePointer<UInt32> {
        let larger = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
        larger.update(from: memory, count: count)
        memory.deallocate()
        return larger
    }
}

// Fields.
extension PostingsBuffer {
    /// Returns how often a posting occurs in each field slot.
    @inline(__always)
    func fieldCounts(_ place: Int) -> FieldCounts {
        guard hasFields, let fields else { return FieldCounts(frequencies[place], 0, 0, 0) }
        return fields[place]
    }

    /// Begins to keep per-field counts. All postings so far count as being in the first field.
    mutating func makeFields() {
        guard !hasFields else { return }
        hasFields = true
        for place in 0..<count { setFields(place, FieldCounts(frequencies[place], 0, 0, 0)) }
    }

    /// Sets the per-field counts of a posting. `makeFields` must have been called.
    @inline(__always)
    mutating func setFields(_ place: Int, _ counts: FieldCounts) {
        if place >= fieldCapacity { growFields(place) }
        fields?[place] = counts
    }

    /// Sets the per-field counts of the last posting.
    mutating func setLastFields(_ counts: FieldCounts) {
        makeFields()
        setFields(count - 1, counts)
    }

    @inline(never)
    private mutating func growFields(_ place: Int) {
        let larger = max(2 * fieldCapacity, capacity, place + 1)
        let memory = UnsafeMutablePointer<FieldCounts>.allocate(capacity: larger)
        if let fields {
            memory.update(from: fields, count: fieldCapacity)
            fields.deallocate()
        }
        (fields, fieldCapacity) = (memory, larger)
    }
}

/// A growing byte buffer that reuses its memory.
struct ByteSink: ~Copyable {
    private var memory = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16)
    private var capacity = 4096
    private(set) var count = 0

    deinit { memory.deallocate() }

    /// The bytes written so far. Valid until the next change.
    var bytes: Bytes { Bytes(start: memory, count: count) }

    mutating func removeAll() { count = 0 }

    /// Returns the address of the next byte, with room for `size` bytes.
    @inline(__always)
    mutating func end(reserving size: Int) -> UnsafeMutableRawPointer {
        if count &+ size > capacity { grow(size) }
        return memory + count
    }

    /// Sets the end of the written bytes, after the caller wrote at `end(reserving:)`.
    @inline(__always)
    mutating func finish(at end: UnsafeMutableRawPointer) { count = end - memory }

    private mutating func grow(_ size: Int) {
        let larger = max(2 * capacity, count + size)
        let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        new.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        (memory, capacity) = (new, larger)
    }

    @inline(__always)
    mutating func append(varint value: UInt64) {
        let end = end(reserving: 10)
        finish(at: end.storeVarint(value))
    }

    @inline(__always)
    mutating func append(byte: UInt8) {
        end(reserving: 1).storeBytes(of: byte, as: UInt8.self)
        count &+= 1
    }

    mutating func append(_ bytes: Bytes) {
        guard let source = bytes.baseAddress else { return }
        end(reserving: bytes.count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }
}
