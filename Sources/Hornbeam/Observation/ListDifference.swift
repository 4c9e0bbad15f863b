// SPDX-License-Identifier: Apache-2.0
// The difference between two lists whose elements have an identity and a fingerprint of their content. The elements
// that stay are a longest subsequence in the old order, so that no smaller number of moves would do.

/// An element of a result, without its content.
struct ListItem<ID: Hashable & Sendable>: Sendable {
    let id: ID
    /// The same for the same content.
    let print: Int
}

extension Array {
    /// The same with other fingerprints of some, so that they count as changed.
    func asChanged<ID>(_ ids: Set<ID>) -> Self where Element == ListItem<ID> {
        if ids.isEmpty { return self }
        return map { ids.contains($0.id) ? ListItem(id: $0.id, print: ~$0.print) : $0 }
    }
}

enum ListDifference {
    /// An identity that comes several times stands for its first, second … occurrence in both lists.
    static func changes<ID>(from old: [ListItem<ID>], to new: [ListItem<ID>]) -> ListChanges {
        var changes = ListChanges()
        var start = 0
        let shorter = min(old.count, new.count)
        while start < shorter, old[start].id == new[start].id {
            if old[start].print != new[start].print { changes.updates.append(start) }
            start += 1
        }
        var end = 0
        while end < shorter - start, old[old.count - 1 - end].id == new[new.count - 1 - end].id { end += 1 }
        between(old, new, start, end, &changes)
        for position in (new.count - end)..<new.count
        where old[position + old.count - new.count].print != new[position].print {
            changes.updates.append(position)
        }
        return changes
    }

    /// Of the lists without `start` elements in front and `end` behind, which are the same.
    private static func between<ID>(
        _ old: [ListItem<ID>], _ new: [ListItem<ID>], _ start: Int, _ end: Int, _ changes: inout ListChanges
    ) {
        let origins = start..<(old.count - end)
        // The first place of each identity, and for each place the next one of the same.
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
            if old[origin].print != new[place].print { changes.updates.append(place) }
        }
        let matched = Set(pairs.map(\.from))
        changes.deletions = origins.filter { !matched.contains($0) }
        changes.moves = outOfOrder(pairs)
    }

    /// Those of `pairs`, which are in the order of their destinations, without a longest subsequence that is in the
    /// order of the origins too.
    static func outOfOrder(_ pairs: [ListChanges.Move]) -> [ListChanges.Move] {
        if zip(pairs, pairs.dropFirst()).allSatisfy({ $0.from < $1.from }) { return [] }
        // By length, the pair that ends such a subsequence with the least origin; and for each pair the one before it.
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

    /// Those of `pairs` that are moves: rows whose key changed, unless they still lie between the same unchanged rows,
    /// and in the same order there.
    static func moves(
        _ pairs: [ListChanges.Move], _ deletions: [Int], _ insertions: [Int]
    ) -> [ListChanges.Move] {
        let taken = (deletions + pairs.map(\.from)).sorted()
        let put = (insertions + pairs.map(\.to)).sorted()
        var moves: [ListChanges.Move] = []
        var near: [ListChanges.Move] = []
        for pair in pairs.sorted(by: { $0.to < $1.to }) {
            // Unchanged rows before it, then and now.
            let isNear = pair.from - taken.countBelow(pair.from) == pair.to - put.countBelow(pair.to)
            if isNear { near.append(pair) } else { moves.append(pair) }
        }
        moves += outOfOrder(near)
        return moves.sorted { $0.to < $1.to }
    }
}

extension [Int] {
    /// Of ascending numbers, how many are less.
    func countBelow(_ number: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
