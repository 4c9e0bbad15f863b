// SPDX-License-Identifier: Apache-2.0
// Entries in memory, one behind the other in one block of bytes: what sorting and merging of indexes moves about.

import HornbeamPages

/// Keys, each with a value and a byte of the caller's behind it, and where each one lies.
struct EntryBuffer: Sendable {
    private struct Place {
        /// The key's first bytes, big-endian, so that most comparisons don't look at the key.
        let head: UInt64
        let start: Int
        let size: UInt32
        let valueSize: UInt32
        let flag: UInt8
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []

    /// In memory, in bytes.
    var size: Int { bytes.count + places.count * MemoryLayout<Place>.stride }
    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    mutating func add(_ key: [UInt8], flag: UInt8 = 0, value: [UInt8] = []) {
        var head: UInt64 = 0
        for place in 0..<8 { head = head << 8 | (place < key.count ? UInt64(key[place]) : 0) }
        places.append(
            Place(
                head: head, start: bytes.count, size: UInt32(key.count), valueSize: UInt32(value.count), flag: flag))
        bytes.append(contentsOf: key)
        bytes.append(contentsOf: value)
    }

    /// Brings the entries into the order of their keys.
    mutating func sort() {
        var places = places
        self.places = []
        bytes.withUnsafeBytes { bytes in
            func key(_ place: Place) -> Bytes {
                Bytes(rebasing: bytes[place.start..<place.start + Int(place.size)])
            }
            places.sort { $0.head != $1.head ? $0.head < $1.head : key($0).order(key($1)) < 0 }
        }
        self.places = places
    }

    /// Calls `body` with each entry, in the order they are in.
    func forEach<Failure: Error>(
        _ body: (_ key: Bytes, _ flag: UInt8, _ value: Bytes) throws(Failure) -> Void
    ) throws(Failure) {
        try bytes.withBytes { (bytes) throws(Failure) in
            for place in places {
                let end = place.start + Int(place.size)
                try body(
                    Bytes(rebasing: bytes[place.start..<end]), place.flag,
                    Bytes(rebasing: bytes[end..<end + Int(place.valueSize)]))
            }
        }
    }

    /// Adds the entries of another one behind its own.
    mutating func append(_ other: EntryBuffer) {
        let start = bytes.count
        bytes.append(contentsOf: other.bytes)
        for place in other.places {
            places.append(
                Place(
                    head: place.head, start: start + place.start, size: place.size, valueSize: place.valueSize,
                    flag: place.flag))
        }
    }

    func key(_ index: Int) -> ArraySlice<UInt8> {
        let place = places[index]
        return bytes[place.start..<place.start + Int(place.size)]
    }

    func value(_ index: Int) -> ArraySlice<UInt8> {
        let place = places[index]
        let end = place.start + Int(place.size)
        return bytes[end..<end + Int(place.valueSize)]
    }

    mutating func removeAll(keepingCapacity: Bool) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        places.removeAll(keepingCapacity: keepingCapacity)
    }
}
