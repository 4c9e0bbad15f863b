// SPDX-License-Identifier: Apache-2.0
// Merges the sorted entries of a background build, slice by slice, from memory and from trees of the file. Between two
// slices it has no transaction open.

import HornbeamPages
import HornbeamTree

/// Sorted entries of several sources as one list. No key is in it twice.
struct BuildMerge {
    let store: TreeStore
    /// Entries in memory, each buffer sorted.
    let buffers: [EntryBuffer]
    /// Names of trees with sorted entries, which no longer change.
    let runs: [String]
    /// The last key that was returned, or that must not be returned.
    private(set) var last: [UInt8]?
    /// The position of the merge in each buffer.
    private var places: [Int]

    init(_ store: TreeStore, buffers: [EntryBuffer], runs: [String] = [], after last: [UInt8]? = nil) {
        self.store = store
        self.buffers = buffers
        self.runs = runs
        self.last = last
        places = buffers.map { buffer in
            guard let last else { return 0 }
            // The first one after it.
            var (low, high) = (0, buffer.count)
            while low < high {
                let middle = (low + high) / 2
                if last.lexicographicallyPrecedes(buffer.key(middle)) { high = middle } else { low = middle + 1 }
            }
            return low
        }
    }

    /// Whether all entries are known to be merged. Always false with trees, whose ends are found by the next slice.
    private var isThrough: Bool { runs.isEmpty && zip(places, buffers).allSatisfy { $0 >= $1.count } }

    /// Reads the next entries until they exceed a size in bytes. Returns whether they are the last ones.
    mutating func next(into slice: inout EntryBuffer, size: Int) throws -> Bool {
        slice.removeAll(keepingCapacity: true)
        guard !isThrough else { return true }
        let read = try store.beginRead()
        defer { read.abort() }
        var sources: [SortedEntries] = []
        for (place, buffer) in zip(places, buffers) where place < buffer.count {
            sources.append(BufferedEntries(buffer, at: place))
        }
        for name in runs {
            guard let tree = try read.tree(name) else { throw BackgroundBuilder.Superseded() }
            if let entries = try StoredEntries(try read.cursor(tree), after: last) { sources.append(entries) }
        }
        while slice.size < size {
            guard var least = sources.indices.first else { break }
            for place in sources.indices.dropFirst() where sources[place].precedes(sources[least]) { least = place }
            let source = sources[least]
            slice.add(source.key, value: source.value)
            if try !source.advance() { sources.remove(at: least) }
        }
        if slice.count > 0 { last = Array(slice.key(slice.count - 1)) }
        advancePlaces()
        return sources.isEmpty
    }

    private mutating func advancePlaces() {
        guard let last else { return }
        for place in places.indices {
            while places[place] < buffers[place].count,
                !last.lexicographicallyPrecedes(buffers[place].key(places[place]))
            {
                places[place] += 1
            }
        }
    }
}

/// The position of a merge in one list of entries.
private class SortedEntries {
    fileprivate(set) var key: [UInt8] = []
    fileprivate(set) var value: [UInt8] = []

    /// Goes to the next entry. Returns false at the end.
    func advance() throws -> Bool { false }

    final func precedes(_ other: SortedEntries) -> Bool { key.lexicographicallyPrecedes(other.key) }

    fileprivate final func take(_ key: some Collection<UInt8>, _ value: some Collection<UInt8>) {
        self.key.removeAll(keepingCapacity: true)
        self.key.append(contentsOf: key)
        self.value.removeAll(keepingCapacity: true)
        self.value.append(contentsOf: value)
    }
}

private final class BufferedEntries: SortedEntries {
    private let buffer: EntryBuffer
    private var place: Int

    /// Begins at an entry.
    init(_ buffer: EntryBuffer, at place: Int) {
        self.buffer = buffer
        self.place = place
        super.init()
        take(buffer.key(place), buffer.value(place))
    }

    override func advance() -> Bool {
        place += 1
        guard place < buffer.count else { return false }
        take(buffer.key(place), buffer.value(place))
        return true
    }
}

private final class StoredEntries: SortedEntries {
    private var cursor: Cursor

    /// Begins at the first entry after a key. Returns nil if there is none.
    init?(_ cursor: consuming Cursor, after last: [UInt8]?) throws {
        var isThere = try last.map { try cursor.seek($0) } ?? cursor.first()
        if isThere, let last, cursor.key.elementsEqual(last) { isThere = try cursor.next() }
        self.cursor = cursor
        super.init()
        guard isThere else { return nil }
        take(self.cursor.key, self.cursor.value)
    }

    override func advance() throws -> Bool {
        guard try cursor.next() else { return false }
        take(cursor.key, cursor.value)
        return true
    }
}
