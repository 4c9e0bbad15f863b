// SPDX-License-Identifier: Apache-2.0
// The difference between two lists whose elements have an identity and a fingerprint of their content. The elements
// that stay are a longest subsequence in the old order, so there are as few moves as possible.

/// An element of a result, without its content.
package struct ListItem<ID: Hashable & Sendable>: Sendable {
    package let id: ID
    /// The fingerprint of the content, equal for equal content.
    package let fingerprint: Int

    package init(id: ID, fingerprint: Int) {
        self.id = id
        self.fingerprint = fingerprint
    }
}

extension Array {
    /// Returns the list with other fingerprints for these elements, so that they count as changed.
    package func asChanged<ID>(_ ids: Set<ID>) -> Self where Element == ListItem<ID> {
        if ids.isEmpty { return self }
        return map { ids.contains($0.id) ? ListItem(id: $0.id, fingerprint: ~$0.fingerprint) : $0 }
    }
}

package enum ListDifference {
    /// Finds the changes between two lists. If an identity occurs several times, its first occurrence in the old list
    /// is paired with its first in the new list, the second with the second, and so on.
    package static func changes<ID>(from old: [ListItem<ID>], to new: [ListItem<ID>]) -> ListChanges {
        var changes = ListChanges()
        var start = 0
        let shorter = min(old.count, new.count)
        while start < shorter, old[start].id == new[start].id {
            if old[start].fingerprint != new[start].fingerprint { changes.updates.append(start) }
            start += 1
        }
        var end = 0
        while end < shorter - start, old[old.count - 1 - end].id == new[new.count - 1 - end].id { end += 1 }
        between(old, new, start, end, &changes)
        for position in (new.count - end)..<new.count
        where old[position + old.count - new.count].fingerprint != new[position].fingerprint {
            changes.updates.append(position)
        }
        return changes
    }

    /// Compares the lists without the `start` elements at the beginning and the `end` elements at the end, which are
    /// equal.
    private static func between<ID>(
        _ old: [ListItem<ID>], _ new: [ListItem<ID>], _ start: Int, _ end: Int, _ changes: inout ListChanges
    ) {
        let origins = start..<(old.count - end)
        // The first position of each identity, and for each position the next one with the same identity.
        var first: [ID: Int] = [:]
        first.reserveCapacity(origins.count)
        var following = [Int?](repeating: nil, count: origins.count)
        for place in origins.reversed() {
            following[place - start] = first.updateValue(place, forKey: old[place].id)
        }
        var pairs: [ListChanges.Move] = []
        for place in start..<(new.count - end) {
            guard let origin = first[new[place].id] else {
                changes.insertions.append(place)
                continue
            }
            first[new[place].id] = following[origin - start]
            pairs.append(ListChanges.Move(from: origin, to: place))
            if old[origin].fingerprint != new[place].fingerprint { changes.updates.append(place) }
        }
        let matched = Set(pairs.map(\.from))
        changes.deletions = origins.filter { !matched.contains($0) }
        changes.moves = outOfOrder(pairs)
    }

    /// Returns the pairs that are not in a longest subsequence in the order of the origins. `pairs` are in the order of
    /// their destinations.
    static func outOfOrder(_ pairs: [ListChanges.Move]) -> [ListChanges.Move] {
        if zip(pairs, pairs.dropFirst()).allSatisfy({ $0.from < $1.from }) { return [] }
        // For each length, the pair with the least origin that ends such a subsequence; and for each pair the one
        // before it.
        var tails: [Int] = []
        var before = [Int?](repeating: nil, count: pairs.count)
        for (index, pair) in pairs.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if pairs[tails[middle]].from < pair.from { low = middle + 1 } else { high = middle }
            }
            before[index] = low > 0 ? tails[low - 1] : nil
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var stays = [Bool](repeating: false, count: pairs.count)
        var last = tails.last
        while let index = last {
            stays[index] = true
            last = before[index]
        }
        return pairs.indices.filter { !stays[$0] }.map { pairs[$0] }
    }

    /// Returns the smallest set of moves between two lists. `pairs` are the rows whose keys changed. All other rows are
    /// in the same order in both lists. If there is a choice, a row whose key changed moves. O(k · log k) for k changed
    /// rows, however long the lists are.
    package static func moves(
        _ pairs: [ListChanges.Move], _ deletions: [Int], _ insertions: [Int]
    ) -> [ListChanges.Move] {
        if pairs.isEmpty { return [] }
        let taken = (deletions + pairs.map(\.from)).sorted()
        let put = (insertions + pairs.map(\.to)).sorted()
        // Counts of a damaged file can have any value.
        var parts = pairs.map { pair in
            OrderedPart(
                before: max(0, pair.from - taken.countBelow(pair.from)),
                beforeNow: max(0, pair.to - put.countBelow(pair.to)), pair: pair, count: 1)
        }
        if parts.allSatisfy({ $0.before == $0.beforeNow }) { return outOfOrder(pairs.sorted { $0.to < $1.to }) }
        // The unchanged rows between two of these places stay or move together.
        let cuts = Set(parts.map(\.before) + parts.map(\.beforeNow)).sorted()
        for (start, end) in zip(cuts, cuts.dropFirst()) {
            parts.append(OrderedPart(before: start, beforeNow: start, pair: nil, count: end - start))
        }
        parts.sort { $0.placeNow < $1.placeNow }
        var moves: [ListChanges.Move] = []
        for (part, stays) in zip(parts, OrderedPart.staying(parts)) where !stays {
            if let pair = part.pair {
                moves.append(pair)
            } else {
                for number in part.before..<part.before + part.count {
                    moves.append(ListChanges.Move(from: taken.place(of: number), to: put.place(of: number)))
                }
            }
        }
        return moves.sorted { $0.to < $1.to }
    }
}

/// A row whose key changed, or a run of unchanged rows between such rows.
private struct OrderedPart {
    /// Number of unchanged rows before it, in the old list and in the new one.
    let before: Int
    let beforeNow: Int
    /// The move of the row, nil for a run.
    let pair: ListChanges.Move?
    let count: Int

    /// Its order in the old list, and in the new one: a run comes after the changed rows at its beginning.
    private var place: (Int, Int, Int) { (before, pair == nil ? 1 : 0, pair?.from ?? 0) }
    var placeNow: (Int, Int, Int) { (beforeNow, pair == nil ? 1 : 0, pair?.to ?? 0) }

    /// Parts that are in the same order in both lists.
    private struct Chain {
        var rows = 0
        /// Number of unchanged rows among them.
        var unchanged = 0
        /// The last part, -1 for none.
        var last = -1

        func isLess(than other: Chain) -> Bool { (rows, unchanged) < (other.rows, other.unchanged) }
    }

    /// Returns whether each part stays: the parts of a chain with the most rows do. The parts are in the order of the
    /// new list.
    static func staying(_ parts: [OrderedPart]) -> [Bool] {
        var ranks = [Int](repeating: 0, count: parts.count)
        for (rank, index) in parts.indices.sorted(by: { parts[$0].place < parts[$1].place }).enumerated() {
            ranks[index] = rank
        }
        // A Fenwick tree of the heaviest chains by the ranks of their last parts.
        var tree = [Chain](repeating: Chain(), count: parts.count + 1)
        func heaviest(below rank: Int) -> Chain {
            var (best, place) = (Chain(), rank)
            while place > 0 {
                if best.isLess(than: tree[place]) { best = tree[place] }
                place &= place - 1
            }
            return best
        }
        var previous: [Int] = []
        for (index, part) in parts.enumerated() {
            var chain = heaviest(below: ranks[index])
            previous.append(chain.last)
            chain.rows &+= part.count
            if part.pair == nil { chain.unchanged &+= part.count }
            chain.last = index
            var place = ranks[index] + 1
            while place <= parts.count {
                if tree[place].isLess(than: chain) { tree[place] = chain }
                place += place & -place
            }
        }
        var stays = [Bool](repeating: false, count: parts.count)
        var last = heaviest(below: parts.count).last
        while last >= 0 {
            stays[last] = true
            last = previous[last]
        }
        return stays
    }
}

extension [Int] {
    /// Returns how many of the ascending numbers are less than `number`.
    package func countBelow(_ number: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the position with `number` positions before it, not counting the positions in this ascending array.
    fileprivate func place(of number: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] - middle <= number { low = middle + 1 } else { high = middle }
        }
        return number &+ low
    }
}
