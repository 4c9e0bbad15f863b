// SPDX-License-Identifier: Apache-2.0
// Entries in memory, one after the other in one block of bytes. Index builds sort and merge them, and lists sort their
// rows by them.

package import HornbeamKeys
package import HornbeamPages

/// Keys, each with a number and a value that the caller chooses.
package struct EntryBuffer: Sendable {
    /// The position of a key in `keys`. Its value follows it.
    package struct Place {
        let start: Int
        let size: UInt32
        let valueSize: UInt32
        let number: UInt64
    }

    /// All keys and values. The caller may write the next key after the last entry.
    package var keys = KeyWriter()
    /// The end of the last entry.
    private var end = 0
    private var places: [Place] = []
    /// Whether each number is greater than the one before.
    private var isAscending = true

    package init() {}

    /// Size in memory, in bytes.
    package var size: Int { end + places.count * MemoryLayout<Place>.stride }
    package var count: Int { places.count }
    package var isEmpty: Bool { places.isEmpty }

    package mutating func add(_ key: [UInt8], flag: UInt8 = 0, value: [UInt8] = []) {
        keys.bytes.append(contentsOf: key)
        value.withUnsafeBytes { addWritten(number: UInt64(flag), value: $0) }
    }

    /// Adds the entry whose key was written after the others.
    package mutating func addWritten(number: UInt64, value: Bytes = Bytes(start: nil, count: 0)) {
        let size = keys.bytes.count - end
        if let last = places.last, last.number >= number { isAscending = false }
        places.append(
            Place(start: end, size: UInt32(size), valueSize: UInt32(value.count), number: number))
        if !value.isEmpty { keys.bytes.append(contentsOf: value) }
        end = keys.bytes.count
    }

    /// Forgets the key that was written after the others.
    mutating func removeWritten() {
        keys.truncate(to: end)
    }

    /// Calls `body` with the key that was written after the others.
    @inline(__always)
    func withWritten<Result, Failure: Error>(_ body: (Bytes) throws(Failure) -> Result) throws(Failure) -> Result {
        try keys.bytes.withBytes { (bytes) throws(Failure) in try body(Bytes(rebasing: bytes[end...])) }
    }

    /// Sorts the entries by their keys, and entries with equal keys by their numbers.
    package mutating func sort() {
        guard places.count > 1 else { return }
        places = keys.bytes.withUnsafeBytes { bytes in
            places.withUnsafeBufferPointer { KeySort(bytes, $0, isAscending: isAscending).sorted() }
        }
        isAscending = false
    }

    /// Replaces the number of each entry with the one that `body` returns. Removes entries for which it returns nil.
    package mutating func renumber(_ body: (UInt64) throws -> UInt64?) rethrows {
        var kept = EntryBuffer()
        kept.places.reserveCapacity(places.count)
        for place in places {
            guard let number = try body(place.number) else { continue }
            let value = place.start + Int(place.size)
            kept.keys.bytes.append(contentsOf: keys.bytes[place.start..<value])
            keys.bytes.withUnsafeBytes { bytes in
                let value = Bytes(rebasing: bytes[value..<value + Int(place.valueSize)])
                kept.addWritten(number: number, value: value)
            }
        }
        self = kept
    }

    /// Calls `body` with each entry, in the order they are in.
    package func forEach<Failure: Error>(
        _ body: (_ key: Bytes, _ flag: UInt8, _ value: Bytes) throws(Failure) -> Void
    ) throws(Failure) {
        try keys.bytes.withBytes { (bytes) throws(Failure) in
            for place in places {
                let end = place.start + Int(place.size)
                try body(
                    Bytes(rebasing: bytes[place.start..<end]), UInt8(truncatingIfNeeded: place.number),
                    Bytes(rebasing: bytes[end..<end + Int(place.valueSize)]))
            }
        }
    }

    /// Calls `body` with the number and value of each entry from `first` on, until it returns false.
    func forEachValue(from first: Int, _ body: (_ number: UInt64, _ value: Bytes) throws -> Bool) rethrows {
        try keys.bytes.withUnsafeBytes { bytes in
            for index in Swift.min(first, places.count)..<places.count {
                // After a sort the next value may be anywhere in memory.
                if index + Self.ahead < places.count, let base = bytes.baseAddress {
                    let next = places[index + Self.ahead]
                    base.advanced(by: next.start + Int(next.size)).prefetch()
                }
                let place = places[index]
                let start = place.start + Int(place.size)
                let value = Bytes(rebasing: bytes[start..<start + Int(place.valueSize)])
                guard try body(place.number, value) else { return }
            }
        }
    }

    /// Number of values between the one in use and the one that is prefetched.
    private static let ahead = 8

    /// Adds the entries of another buffer after its own.
    mutating func append(_ other: EntryBuffer) {
        let start = end
        keys.bytes.append(contentsOf: other.keys.bytes[..<other.end])
        end = keys.bytes.count
        isAscending = false
        for place in other.places {
            places.append(
                Place(
                    start: start + place.start, size: place.size, valueSize: place.valueSize, number: place.number))
        }
    }

    package func number(_ index: Int) -> UInt64 { places[index].number }

    package func key(_ index: Int) -> ArraySlice<UInt8> {
        let place = places[index]
        return keys.bytes[place.start..<place.start + Int(place.size)]
    }

    package func value(_ index: Int) -> ArraySlice<UInt8> {
        let place = places[index]
        let end = place.start + Int(place.size)
        return keys.bytes[end..<end + Int(place.valueSize)]
    }

    package mutating func removeAll(keepingCapacity: Bool) {
        keys.bytes.removeAll(keepingCapacity: keepingCapacity)
        places.removeAll(keepingCapacity: keepingCapacity)
        end = 0
        isAscending = true
    }
}

extension Array {
    /// The elements, sorted by the keys that `write` appends for them. Elements with equal keys keep their order.
    package func sorted(byKey write: (Element, inout KeyWriter) throws -> Void) rethrows -> [Element] {
        var entries = EntryBuffer()
        for (place, element) in enumerated() {
            try write(element, &entries.keys)
            entries.addWritten(number: UInt64(place))
        }
        entries.sort()
        return (0..<entries.count).map { self[Int(entries.number($0))] }
    }
}
