// SPDX-License-Identifier: Apache-2.0
// Finding a key in a node: the prefix once, then a branch-free binary search over the key heads, then whole suffixes
// among equal heads only (usually one). Touches the header, a few lines of heads, one slot and one cell.

import HornbeamPages

extension NodeView {
    /// The first entry of a leaf whose key is not less than `key`, and whether it is equal.
    @inline(__always)
    func find(_ key: Bytes) -> (index: Int, found: Bool) { search(key, first: 0) }

    /// The child of a branch whose range holds `key`.
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
        var low = first
        var remaining = count &- first
        while remaining > 1 {
            let half = remaining &>> 1
            low = head(low &+ half &- 1) < wanted ? low &+ half : low
            remaining &-= half
        }
        if remaining == 1 && head(low) < wanted { low &+= 1 }
        if low == count || head(low) != wanted { return (low, false) }
        if low &+ 1 == count || head(low &+ 1) != wanted {
            let order = compare(low, rest)
            return order < 0 ? (low &+ 1, false) : (low, order == 0)
        }
        return searchEqualHeads(rest, head: wanted, from: low)
    }

    /// Several entries share the head: compares whole suffixes.
    private func searchEqualHeads(_ rest: Bytes, head wanted: UInt32, from first: Int) -> (index: Int, found: Bool) {
        var low = first
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = head(middle) > wanted ? 1 : compare(middle, rest)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The entry's suffix against a key without the prefix.
    @inline(__always)
    private func compare(_ index: Int, _ rest: Bytes) -> Int { cell(index).suffix.order(rest) }
}
