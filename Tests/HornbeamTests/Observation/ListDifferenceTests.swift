// SPDX-License-Identifier: Apache-2.0
// Differences of lists: they lead from one to the other, with no more moves than are needed.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Differences of lists")
struct ListDifferenceTests {
    private func items(_ ids: [Int], fingerprint: Int = 0) -> [ListItem<Int>] {
        ids.map { ListItem(id: $0, fingerprint: fingerprint) }
    }

    private func changes(_ old: [Int], _ new: [Int]) -> ListChanges {
        ListDifference.changes(from: items(old), to: items(new))
    }

    @Test("One element that moves is one move, near or far")
    func moves() {
        #expect(changes([1, 2, 3, 4, 5], [5, 1, 2, 3, 4]).moves == [ListChanges.Move(from: 4, to: 0)])
        #expect(changes([1, 2, 3, 4, 5], [2, 3, 4, 5, 1]).moves == [ListChanges.Move(from: 0, to: 4)])
        #expect(changes([1, 2, 3], [1, 2, 3]).isEmpty)
        #expect(changes([1, 2, 3], [3, 2, 1]).moves.count == 2)
    }

    @Test("Inserted and deleted elements move no others")
    func insertions() {
        let made = changes([1, 2, 3, 4], [0, 1, 3, 9, 4])
        #expect(made.deletions == [1])
        #expect(made.insertions == [0, 3])
        #expect(made.moves.isEmpty)
        #expect(made.updates.isEmpty)
    }

    @Test("An element that comes several times is identified by its occurrence")
    func repeats() {
        let made = changes([1, 1, 2], [1, 2, 1, 1])
        #expect(made.applied(to: [1, 1, 2]) { [1, 2, 1, 1][$0] } == [1, 2, 1, 1])
        #expect(made.insertions.count == 1)
        #expect(made.deletions.isEmpty)
    }

    @Test("Random lists: the change-set leads from one to the other with the least moves", .seeded)
    func random() {
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            let bound = 1 + random.below(12)
            let old = Array(Set((0..<random.below(9)).map { _ in random.below(bound) })).shuffled(using: &random)
            let new = Array(Set((0..<random.below(9)).map { _ in random.below(bound) })).shuffled(using: &random)
            let made = changes(old, new)
            #expect(made.applied(to: old) { new[$0] } == new)
            #expect(made.deletions == old.indices.filter { !new.contains(old[$0]) })
            #expect(made.insertions == new.indices.filter { !old.contains(new[$0]) })
            // The longest kept sequence, found by trying all.
            let kept = old.filter(new.contains).compactMap(new.firstIndex)
            #expect(made.moves.count == kept.count - longestRise(kept))
        }
    }

    @Test("The least number of rows moves, whichever rows have changed keys", .seeded)
    func keys() {
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            var keys: [Int: Int] = [:]
            for id in 0..<random.below(9) { keys[id] = random.below(12) }
            func list() -> [Int] { keys.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key) }
            let old = list()
            var changed: [Int] = []
            for id in 0..<10 where random.oneIn(2) {
                keys[id] = random.oneIn(4) ? nil : random.below(12)
                changed.append(id)
            }
            let new = list()
            var made = ListChanges()
            made.deletions = old.indices.filter { keys[old[$0]] == nil }
            made.insertions = new.indices.filter { !old.contains(new[$0]) }
            var pairs: [ListChanges.Move] = []
            for id in changed.shuffled(using: &random) {
                guard let from = old.firstIndex(of: id), let to = new.firstIndex(of: id) else { continue }
                pairs.append(ListChanges.Move(from: from, to: to))
            }
            made.moves = ListDifference.moves(pairs, made.deletions, made.insertions)
            #expect(made.applied(to: old) { new[$0] } == new)
            #expect(made.moves == made.moves.sorted { $0.to < $1.to })
            let kept = old.filter(new.contains).compactMap(new.firstIndex)
            #expect(made.moves.count == kept.count - longestRise(kept))
        }
    }

    @Test("Many rows with changed keys take little time", .timeLimit(.minutes(1)))
    func manyKeys() {
        let count = 100_000
        let pairs = (0..<count).map { ListChanges.Move(from: $0 + 1, to: $0) }
        #expect(ListDifference.moves(pairs, [], []) == [ListChanges.Move(from: 0, to: count)])
        let reversed = (0..<count).map { ListChanges.Move(from: $0, to: count - 1 - $0) }
        #expect(ListDifference.moves(reversed, [], []).count == count - 1)
    }

    private func longestRise(_ numbers: [Int]) -> Int {
        var best = 0
        for subset in 0..<(1 << numbers.count) {
            let chosen = numbers.indices.filter { subset & 1 << $0 != 0 }.map { numbers[$0] }
            if chosen == chosen.sorted() { best = max(best, chosen.count) }
        }
        return best
    }

    @Test("Other content is an update, at the new position")
    func updates() {
        let old = items([1, 2, 3, 4])
        var new = items([2, 3, 1, 4])
        for place in [0, 2] { new[place] = ListItem(id: new[place].id, fingerprint: 1) }
        let made = ListDifference.changes(from: old, to: new)
        #expect(made.moves == [ListChanges.Move(from: 0, to: 2)])
        #expect(made.updates == [0, 2])
    }
}
