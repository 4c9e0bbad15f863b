// SPDX-License-Identifier: Apache-2.0
// Finding a key in a node: compares the prefix once, then does a branch-free binary search over the key heads, then
// compares whole suffixes among equal heads only (usually one). Reads the header, a few lines of heads, one slot and
// one cell.

import HornbeamPages

extension NodeView {
    /// The first entry of a leaf whose key is not less than `key`, and whether the keys are equal.
    @inline(__always)
    func find(_ key: Bytes) -> (index: Int, found: Bool) { search(key, first: 0) }

    /// Searches like `find` in a leaf whose cells are not decoded yet: `load` decodes a range of bytes of the page
    /// before they are read. If it can't, the result is that the key isn't here.
    func find(_ key: Bytes, loading load: (Range<Int>) -> Bool) -> (index: Int, found: Bool) {
        guard let start = key.baseAddress, key.count >= prefixSize,
            prefixSize == 0 || start.order(base + (size &- prefixSize), prefixSize) == 0
        else { return (0, false) }
        let rest = Bytes(rebasing: key[prefixSize...])
        let wanted = keyHead(start + prefixSize, rest.count)
        let low = firstHead(wanted, from: 0, to: count)
        guard low < count, head(low) == wanted else { return (low, false) }
        return searchEqualHeads(head: wanted, from: low) { load(cellRange($0, load)) ? compare($0, rest) : 1 }
    }

    /// The range of an entry's cell in the page; empty if its sizes can't be loaded.
    private func cellRange(_ index: Int, _ load: (Range<Int>) -> Bool) -> Range<Int> {
        let start = slot(index)
        guard load(start..<start &+ NodeLayout.cellHeader) else { return 0..<0 }
        return start..<start &+ cell(index).size
    }

    /// The child of a branch whose range has `key`.
    @inline(__always)
    func childIndex(_ key: Bytes) -> Int {
        let (index, found) = search(key, first: 1)
        return found ? index : index &- 1
    }

    /// The first entry from `first` on that is not less than `key`.
    @inline(__always)
    private func search(_ key: Bytes, first: Int) -> (index: Int, found: Bool) {
        let count = count
        guard let start = key.baseAddress, key.count > 0 else { return (first, false) }
        let prefixSize = prefixSize
        if prefixSize > 0 {
            let order = start.order(base + (size &- prefixSize), min(prefixSize, key.count))
            if order < 0 || (order == 0 && key.count < prefixSize) { return (first, false) }
            if order > 0 { return (count, false) }
        }
        let rest = Bytes(start: start + prefixSize, count: key.count &- prefixSize)
        let wanted = keyHead(start + prefixSize, rest.count)
        let low = firstHead(wanted, from: first, to: count)
        if low == count || head(low) != wanted { return (low, false) }
        if low &+ 1 == count || head(low &+ 1) != wanted {
            let order = compare(low, rest)
            return order < 0 ? (low &+ 1, false) : (low, order == 0)
        }
        return searchEqualHeads(rest, head: wanted, from: low)
    }

    /// The first entry from `first` on whose head is not less than `wanted`; `count` if there is none.
    @inline(__always)
    private func firstHead(_ wanted: UInt32, from first: Int, to count: Int) -> Int {
        var low = first
        var remaining = count &- first
        while remaining > 1 {
            let half = remaining &>> 1
            low = head(low &+ half &- 1) < wanted ? low &+ half : low
            remaining &-= half
        }
        if remaining == 1 && head(low) < wanted { low &+= 1 }
        return low
    }

    /// Compares whole suffixes, because several entries have this head.
    private func searchEqualHeads(_ rest: Bytes, head wanted: UInt32, from first: Int) -> (index: Int, found: Bool) {
        searchEqualHeads(head: wanted, from: first) { compare($0, rest) }
    }

    /// Searches among entries that have this head, with any comparison of an entry with the wanted key.
    @inline(__always)
    private func searchEqualHeads(
        head wanted: UInt32, from first: Int, _ compare: (Int) -> Int
    ) -> (index: Int, found: Bool) {
        var low = first
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = head(middle) > wanted ? 1 : compare(middle)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    /// Compares the entry's suffix with a key without the prefix.
    @inline(__always)
    private func compare(_ index: Int, _ rest: Bytes) -> Int { cell(index).suffix.order(rest) }

    // MARK: Keys of eight bytes

    // The keys are given as the big-endian numbers that they are. Only for speed: for row ids, which have nearly all
    // their bytes in common, this halves the instructions.

    @inline(__always)
    func find(number: UInt64) -> (index: Int, found: Bool) { search(number, first: 0) }

    @inline(__always)
    func childIndex(number: UInt64) -> Int {
        let (index, found) = search(number, first: 1)
        return found ? index : index &- 1
    }

    /// As the search for bytes.
    @inline(__always)
    private func search(_ number: UInt64, first: Int) -> (index: Int, found: Bool) {
        switch rest(of: number, first: first) {
        case .outside(let index): return (index, false)
        case .whole: return withUnsafeBytes(of: number.bigEndian) { search($0, first: first) }
        case .rest(let rest, let size):
            return search(rest, size, from: firstHead(UInt32(truncatingIfNeeded: rest &>> 32), from: first, to: count))
        }
    }

    /// The index of the entry of that number by the key heads alone: reads no cell, which may be far away.
    /// `find(number:from:)` continues from there.
    @inline(__always)
    func place(number: UInt64) -> Int {
        guard case .rest(let rest, _) = rest(of: number, first: 0) else { return 0 }
        return firstHead(UInt32(truncatingIfNeeded: rest &>> 32), from: 0, to: count)
    }

    /// `find(number:)`, given the result of `place(number:)`.
    @inline(__always)
    func find(number: UInt64, from place: Int) -> (index: Int, found: Bool) {
        guard case .rest(let rest, let size) = rest(of: number, first: 0) else { return search(number, first: 0) }
        return search(rest, size, from: place)
    }

    /// The part of a number to look for in a node.
    private enum Rest {
        /// The number is less or greater than all in the node.
        case outside(Int)
        /// The prefix has eight bytes or more.
        case whole
        /// The bytes after the prefix, padded with zeros, and their size in bytes.
        case rest(UInt64, Int)
    }

    @inline(__always)
    private func rest(of number: UInt64, first: Int) -> Rest {
        let prefixSize = prefixSize
        if prefixSize == 0 { return .rest(number, 8) }
        guard prefixSize < 8 else { return .whole }
        // The prefix is at the page's end, within its last eight bytes.
        let bits = UInt64(truncatingIfNeeded: prefixSize &* 8)
        let last = UInt64(bigEndian: (base + (size &- 8)).loadUnaligned(as: UInt64.self))
        let prefix = last & (1 &<< bits &- 1)
        let start = number &>> (64 &- bits)
        if start != prefix { return .outside(start < prefix ? first : count) }
        return .rest(number &<< bits, 8 &- prefixSize)
    }

    /// Searches from `low` on, the first entry whose head is not less.
    @inline(__always)
    private func search(_ rest: UInt64, _ size: Int, from low: Int) -> (index: Int, found: Bool) {
        let count = count
        let wanted = UInt32(truncatingIfNeeded: rest &>> 32)
        if low == count || head(low) != wanted { return (low, false) }
        if low &+ 1 == count || head(low &+ 1) != wanted {
            let order = compare(low, rest, size)
            return order < 0 ? (low &+ 1, false) : (low, order == 0)
        }
        return searchEqualHeads(rest, size, head: wanted, from: low)
    }

    /// Compares whole suffixes, because several entries have this head.
    private func searchEqualHeads(
        _ rest: UInt64, _ size: Int, head wanted: UInt32, from first: Int
    ) -> (index: Int, found: Bool) {
        searchEqualHeads(head: wanted, from: first) { compare($0, rest, size) }
    }

    /// Compares the entry's suffix with the first `size` bytes of `rest`, which is padded with zeros. Its first eight
    /// bytes, or all with zeros after them, are compared as numbers. If these are equal, the shorter key is a prefix of
    /// the longer one.
    @inline(__always)
    private func compare(_ index: Int, _ rest: UInt64, _ size: Int) -> Int {
        let suffix = cell(index).suffix
        var word = UInt64(head(index)) &<< 32
        if suffix.count >= 8 {
            word = UInt64(bigEndian: suffix.loadUnaligned(as: UInt64.self))
        } else if suffix.count > 4 {
            let last = UInt32(bigEndian: suffix.loadUnaligned(fromByteOffset: suffix.count &- 4, as: UInt32.self))
            let behind = UInt64(truncatingIfNeeded: (8 &- suffix.count) &* 8)
            word |= (UInt64(last) &<< behind) & 0xFFFF_FFFF
        }
        if word != rest { return word < rest ? -1 : 1 }
        return suffix.count &- size
    }
}
