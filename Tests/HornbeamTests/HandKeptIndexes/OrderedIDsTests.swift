// SPDX-License-Identifier: Apache-2.0
// Lists of very many ids, lack of room between places, and refusals.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamHandKept

@Suite("Ordered ids")
struct OrderedIDsTests {
    private func cards(_ count: Int) throws -> Database {
        let database = try LibraryTables.inMemory()
        try database.write { context in
            for id in 0..<count { try context.insert(LibraryCard(id: id)) }
        }
        return database
    }

    @Test("keep their order when room runs out", arguments: [0, 1, 2, 3])
    func oneSpot(kind: Int) throws {
        let database = try cards(4)
        var model: [Int] = []
        try database.write { context in
            let list = try context.indexes.cards
            for round in 0..<3_000 {
                let at = [0, model.count, model.count / 2, min(round, 1)][kind]
                try list.insert(round % 4, at: at)
                model.insert(round % 4, at: at)
            }
            // Many at once, into a place without room for them.
            let many = (0..<2_000).map { $0 % 4 }
            try list.insert(contentsOf: many, at: 1)
            model.insert(contentsOf: many, at: 1)
        }
        #expect(try database.read { try $0.indexes.cards.ids } == model)
        #expect(try database.isSound())
    }

    @Test("a million ids; the middle and the end are reached in a few steps, and the order stays")
    func million() throws {
        let count = 1_000_000
        let database = try cards(1_000)
        try database.write { context in
            let list = try context.indexes.cards
            try list.append(contentsOf: (0..<count).map { $0 % 1_000 })
            let clock = ContinuousClock()
            let time = try clock.measure {
                for number in 0..<200 {
                    try list.insert(number, at: 500_000)
                    #expect(try list[500_000] == number)
                    #expect(try list[count + number] == 999)
                    #expect(try list.firstIndex(of: 5) == 5)
                    try list.move(from: 500_000, to: 500_000 + number)
                }
            }
            // O(n) would take longer by orders of magnitude.
            #expect(time < .seconds(20))
        }
        try database.read { (context) throws in
            let list = try context.indexes.cards
            #expect(try list.count == count + 200)
            #expect(try list[0..<3] == [0, 1, 2])
            #expect(try list[(count + 197)..<(count + 200)] == [997, 998, 999])
        }
    }

    @Test("give places between any neighbours, or report that there are none")
    func room() throws {
        let top = 1 << 62
        for (count, left, right) in [
            (1, nil, nil), (5, nil, 3), (3, nil, 3), (4, nil, 3), (1, 5, 6), (1, 5, 7), (3, 5, 9), (4, 5, 9),
            (2, top - 2, nil), (1, top - 2, nil), (1, top - 1, nil), (1 << 30, 1 << 50, nil), (1 << 45, nil, nil),
        ] as [(Int, Int?, Int?)] {
            let low = left ?? -1
            let high = right ?? top
            guard let (first, step) = KeptList.room(for: count, between: left, right) else {
                #expect(high - low - 1 < count)
                continue
            }
            #expect(step > 0 && first > low && first + (count - 1) * step < high, "\(count) \(low) \(high)")
        }
    }

    @Test("refuse missing places, and ids that aren't stored, and stay unchanged")
    func refusals() throws {
        let database = try cards(3)
        try database.write { context in try context.indexes.cards.append(contentsOf: [0, 1, 2]) }
        try database.write { context in
            let list = try context.indexes.cards
            #expect(codeThrown { _ = try list[3] } == .invalid)
            #expect(codeThrown { _ = try list[-1] } == .invalid)
            #expect(codeThrown { _ = try list[1..<4] } == .invalid)
            #expect(codeThrown { try list.insert(0, at: 4) } == .invalid)
            #expect(codeThrown { try list.insert(0, at: -1) } == .invalid)
            #expect(codeThrown { try list.remove(at: 3) } == .invalid)
            #expect(codeThrown { try list.remove(at: .max) } == .invalid)
            #expect(codeThrown { try list.move(from: 0, to: 3) } == .invalid)
            #expect(codeThrown { try list.move(from: 3, to: 0) } == .invalid)
            #expect(codeThrown { try list.append(77) } == .notStored)
            #expect(codeThrown { try list.replaceSubrange(0..<2, with: [1, 77]) } == .notStored)
            #expect(try list.firstIndex(of: 77) == nil)
            #expect(try list.remove(77) == 0)
        }
        let kept = try database.read { context -> OrderedIDs<LibraryCard> in
            let list = try context.indexes.cards
            #expect(codeThrown { try list.append(1) } == .readOnly)
            #expect(codeThrown { try list.removeAll() } == .readOnly)
            #expect(try list.ids == [0, 1, 2])
            #expect(try list.first == 0 && list.last == 2)
            return list
        }
        #expect(codeThrown { _ = try kept.count } == .invalid)
        #expect(codeThrown { _ = try kept.ids } == .invalid)
    }

    @Test("visit the initial entries, despite changes meanwhile")
    func enumeration() throws {
        let database = try cards(100)
        try database.write { context in
            let list = try context.indexes.cards
            try list.append(contentsOf: Array(0..<100))
            var seen: [Int] = []
            try list.forEach { id in
                seen.append(id)
                if id % 10 == 0 { try list.append(id) }
                if id % 10 == 5 { try LibraryCard.delete(id: id + 1, from: &context) }
                try list.remove(id)
            }
            #expect(seen == (0..<100).filter { $0 % 10 != 6 })
        }
        #expect(try database.isSound())
    }
}
