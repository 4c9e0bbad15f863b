// SPDX-License-Identifier: Apache-2.0
// Reading many entries of a leaf at once, while the next leaf is prefetched from memory.

package import HornbeamPages

/// The key or the value of an entry: an address and a size, with the layout of the C type.
package struct EntryPart {
    package var start: UnsafeRawPointer?
    package var size: Int

    @inline(__always)
    init(_ start: UnsafeRawPointer?, _ size: Int) {
        self.start = start
        self.size = size
    }
}

/// An entry whose key begins with numbers, big-endian.
package struct NumberedEntry {
    /// The key's first eight bytes.
    package let first: UInt64
    /// The two bytes after them; undefined if the key has no more.
    package let second: UInt16
    package let value: EntryPart
}

/// The common prefix of a leaf's keys, as numbers.
private struct LeadingNumbers {
    let size: Int
    private let first: UInt64
    private let second: UInt16

    init(_ prefix: UnsafeMutableRawPointer?, _ size: Int) {
        var first: UInt64 = 0
        var second: UInt64 = 0
        if let prefix {
            for place in 0..<min(8, size) {
                first = first << 8 | UInt64(prefix.load(fromByteOffset: place, as: UInt8.self))
            }
            for place in 8..<max(8, min(10, size)) {
                second = second << 8 | UInt64(prefix.load(fromByteOffset: place, as: UInt8.self))
            }
        }
        self.size = prefix == nil ? 0 : size
        self.first = size < 8 ? first << UInt64(8 * (8 - self.size)) : first
        self.second = UInt16(truncatingIfNeeded: size == 9 ? second << 8 : second)
    }

    /// The numbers of a key, given its suffix. Reads those of the key's first ten bytes that are after the prefix, and
    /// at least eight bytes if the prefix is shorter than that.
    @inline(__always)
    func numbers(_ suffix: UnsafeRawPointer) -> (UInt64, UInt16) {
        if size < 8 {
            let rest = UInt64(bigEndian: suffix.loadUnaligned(as: UInt64.self))
            let next = suffix.loadUnaligned(fromByteOffset: 8 &- size, as: UInt16.self)
            return (first | rest &>> UInt64(8 &* size), UInt16(bigEndian: next))
        }
        let next = UInt16(bigEndian: suffix.loadUnaligned(as: UInt16.self))
        return (first, size == 8 ? next : size == 9 ? second | next &>> 8 : second)
    }
}

extension Cursor {
    /// Size of the memory for the keys of one `read`: enough for a leaf with a short common prefix, and for the longest
    /// key.
    private static var keyBound: Int { 32 << 10 }

    /// Reads the entry that the cursor stands on and those after it (before it, if not `isForward`): at least one, at
    /// most `capacity`, all from one leaf. Leaves the cursor on the last of them. Returns their number; 0 if the cursor
    /// stands on none. The parts are valid as long as `key`. Takes a fifth of the instructions of a step and a look for
    /// each entry.
    package mutating func read(
        isForward: Bool, keys: UnsafeMutablePointer<EntryPart>, values: UnsafeMutablePointer<EntryPart>, capacity: Int
    ) throws(StorageError) -> Int {
        guard state == .on, capacity > 0 else { return 0 }
        guard tree.pointee.changes == at.seen, let leaf, let slots else { return try readOne(keys, values) }
        let step = isForward ? 1 : -1
        let count = min(capacity, isForward ? leafCount &- index : index &+ 1)
        let prefixSize = at.prefixSize
        var target = prefixSize > 0 ? keyTarget() : nil
        var room = Self.keyBound
        var place = index
        var done = 0
        if ahead == nil { lookAhead(isForward: isForward) }
        var ahead = ahead ?? LeafAhead()
        defer { self.ahead = ahead }
        if !isAtHand { prefetchCells(count, step: step) }
        while done < count {
            ahead.advance()
            let cell = CellView(leaf + slots.read16(NodeLayout.slotSize &* place))
            // Its value is in another page, so it is read alone.
            if cell.isLong { break }
            let suffix = cell.start + NodeLayout.cellHeader
            let suffixSize = cell.suffixSize
            let keySize = prefixSize &+ suffixSize
            if let key = target, let prefix = at.scratch {
                guard room >= keySize else { break }
                key.copyShort(prefix, prefixSize)
                (key + prefixSize).copyShort(suffix, suffixSize)
                keys[done] = EntryPart(key, keySize)
                target = key + keySize
                room &-= keySize
            } else {
                keys[done] = EntryPart(suffix, suffixSize)
            }
            values[done] = EntryPart(suffix + suffixSize, cell.valueSize)
            place &+= step
            done &+= 1
        }
        guard done > 0 else { return try readOne(keys, values) }
        index = place &- step
        _ = try settle()
        // The entries found may be zeros.
        try transaction.checkIsWhole()
        return done
    }

    /// Reads the entry that the cursor stands on and those after it, at most `capacity`, all from one leaf, whose keys
    /// begin with numbers. Stops before an entry that must be read alone. Leaves the cursor on the last entry read.
    /// Returns their number; 0 if the first must be read alone, or if the cursor stands on none. Doesn't join the parts
    /// of keys, which is most of the work in leaves with prefixes.
    package mutating func read(
        numbers target: UnsafeMutablePointer<NumberedEntry>, capacity: Int
    ) throws(StorageError) -> Int {
        guard state == .on, tree.pointee.changes == at.seen, let leaf, let slots else { return 0 }
        let count = min(capacity, leafCount &- index)
        let prefix = LeadingNumbers(at.scratch, at.prefixSize)
        var done = 0
        if ahead == nil { lookAhead(isForward: true) }
        var ahead = ahead ?? LeafAhead()
        defer { self.ahead = ahead }
        if !isAtHand { prefetchCells(count, step: 1) }
        while done < count {
            ahead.advance()
            let cell = CellView(leaf + slots.read16(NodeLayout.slotSize &* (index &+ done)))
            let suffix = cell.start + NodeLayout.cellHeader
            let (suffixSize, valueSize) = (cell.suffixSize, cell.valueSize)
            // The cell ends at the prefix, which is at the page's end, or before it. So if prefix, suffix and value
            // have ten bytes together, all bytes that are read belong to the page.
            guard !cell.isLong, prefix.size &+ suffixSize >= 8, prefix.size &+ suffixSize &+ valueSize >= 10 else {
                break
            }
            let (first, second) = prefix.numbers(suffix)
            target[done] = NumberedEntry(
                first: first, second: second, value: EntryPart(suffix + suffixSize, valueSize))
            done &+= 1
        }
        guard done > 0 else { return 0 }
        index &+= done &- 1
        _ = try settle()
        // The entries found may be zeros.
        try transaction.checkIsWhole()
        return done
    }

    /// Reads the last eight bytes of keys as big-endian numbers, for the entry that the cursor stands on and those
    /// after it: at least one, at most `capacity`, all from one leaf. Leaves the cursor on the last of them. Returns
    /// their number: 0 if the cursor stands on none, nil if a key is shorter than eight bytes. Doesn't join the parts
    /// of keys.
    package mutating func readNumbers(
        _ numbers: UnsafeMutablePointer<UInt64>, capacity: Int
    ) throws(StorageError) -> Int? {
        guard state == .on, capacity > 0 else { return 0 }
        guard tree.pointee.changes == at.seen, let leaf, let slots else {
            guard let key = try entry()?.key else { return 0 }
            guard key.count >= 8 else { return nil }
            numbers[0] = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self))
            return 1
        }
        // The part of a number that is in the common prefix of the leaf's keys.
        var common: UInt64 = 0
        if let prefix = at.scratch {
            for place in max(0, at.prefixSize - 8)..<at.prefixSize {
                common = common &<< 8 | UInt64(prefix.load(fromByteOffset: place, as: UInt8.self))
            }
        }
        let count = min(capacity, leafCount &- index)
        for done in 0..<count {
            let cell = CellView(leaf + slots.read16(NodeLayout.slotSize &* (index &+ done)))
            let suffix = cell.start + NodeLayout.cellHeader
            let size = cell.suffixSize
            guard at.prefixSize &+ size >= 8 else {
                // Such keys also come from a page of zeros, in a file that was cut off.
                try transaction.checkIsWhole()
                return nil
            }
            if size >= 8 {
                numbers[done] = UInt64(
                    bigEndian: suffix.loadUnaligned(fromByteOffset: size &- 8, as: UInt64.self))
                continue
            }
            // At least eight bytes follow, because the prefix is at the page's end.
            let bits = 8 &* size
            let bytes = UInt64(bigEndian: suffix.loadUnaligned(as: UInt64.self))
            numbers[done] = common << UInt64(bits) | bytes >> UInt64(64 &- bits)
        }
        index = index &+ count &- 1
        _ = try settle()
        // The entries found may be zeros.
        try transaction.checkIsWhole()
        return count
    }

    /// Prefetches the cells of a leaf that wasn't prefetched. They are scattered in it; if all prefetches start
    /// together, their waits are one.
    private func prefetchCells(_ count: Int, step: Int) {
        guard let leaf, let slots else { return }
        var place = index
        for _ in 0..<count {
            (leaf + slots.read16(NodeLayout.slotSize &* place)).prefetch()
            place &+= step
        }
    }

    private mutating func keyTarget() -> UnsafeMutableRawPointer {
        if let keyMemory { return keyMemory }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.keyBound, alignment: 8)
        keyMemory = memory
        return memory
    }

    private mutating func readOne(
        _ keys: UnsafeMutablePointer<EntryPart>, _ values: UnsafeMutablePointer<EntryPart>
    ) throws(StorageError) -> Int {
        guard let entry = try entry() else { return 0 }
        keys[0] = EntryPart(entry.key.baseAddress, entry.key.count)
        values[0] = EntryPart(entry.value.baseAddress, entry.value.count)
        return 1
    }
}
