// SPDX-License-Identifier: Apache-2.0
// Conditions along one entity's relation: if an index or a search finds few entities, only these are looked up among
// the links, and still come in the order of linking.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Room {
    let id: Int
    @Relationship(inverse: \.room) var notes: [Note]?
    @Relationship(inverse: \.rooms) var shared: [Note]?
    @Relationship() var read: [Note]?
}

@EntityModel
private struct Note {
    @Index<Self>(\.code) private var byCode
    @Index<Self>(\.number) private var byNumber
    @Unique<Self>(\.key, collisions: .throw) private var byKey
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var code: String
    var number: Int
    var key: String
    var text: String
    @Relationship(inverse: \.notes) var room: Room?
    @Relationship(inverse: \.shared) var rooms: [Room]?
}

@Suite("Conditions along a relation")
struct LinkedPlansTests {
    private let count = 600

    private func note(_ id: Int) -> Note {
        Note(
            id: id, code: "c\(id % 97)", number: id * 31 % 200, key: "k\(id)",
            text: id % 50 == 3 ? "a rare word" : "some common words")
    }

    /// Room 1 has most of the notes and room 2 the rest, each linked in its own order.
    private func fill(_ context: inout Context, _ random: inout SeededGenerator) throws -> [[[Int]]] {
        for id in 0..<count { try note(id).save(to: &context) }
        let all = Array(0..<count).shuffled(using: &random)
        let lists: [[[Int]]] = [
            [
                Array(all.prefix(count - 20)), Array(all.shuffled(using: &random).dropLast(50)),
                all.shuffled(using: &random),
            ],
            [Array(all.suffix(20)), Array(all.prefix(90)), Array(all.suffix(200))],
        ]
        for (place, lists) in lists.enumerated() {
            try Room(id: place + 1, notes: .ids(lists[0]), shared: .ids(lists[1]), read: .ids(lists[2]))
                .save(to: &context)
        }
        return lists
    }

    private struct Condition {
        let name: String
        let predicate: Predicate<Note>
        let holds: (Note) -> Bool
    }

    /// The conditions are added one by one, because the compiler would take long for a single literal.
    private func conditions() -> [Condition] {
        var all: [Condition] = []
        func add(_ name: String, _ predicate: Predicate<Note>, _ holds: @escaping (Note) -> Bool) {
            all.append(Condition(name: name, predicate: predicate, holds: holds))
        }
        add("equal", \.code == "c5") { $0.code == "c5" }
        add("range", \.number > 190) { $0.number > 190 }
        add("key", \.key == "k77") { $0.key == "k77" }
        add("none", \.key == "nobody") { _ in false }
        add("id", \.id == 41) { $0.id == 41 }
        add("ids", \.id <= 9) { $0.id <= 9 }
        add("list of ids", .value(\.id, in: [3, 500, 7, 20])) { [3, 500, 7, 20].contains($0.id) }
        add("search", .string(\.text, matches: "rare")) { $0.text.contains("rare") }
        add("either", \.code == "c5" || \.number == 62) { $0.code == "c5" || $0.number == 62 }
        add("both", \.code == "c5" && \.text != "a rare word") { $0.code == "c5" && $0.text != "a rare word" }
        add("most", \.number >= 0) { _ in true }
        return all
    }

    @Test("give the linked entities, in the order of linking, any part of them, and from any position on", .seeded)
    func answers() throws {
        var random = SeededGenerator()
        var context = Context()
        let lists = try fill(&context, &random)
        var narrowed: Set<String> = []
        for condition in conditions() {
            let name = condition.name
            for room in 1...2 {
                let query = Room.query(room)
                let related = [query.related(\.$notes), query.related(\.$shared), query.related(\.$read)]
                for (number, list) in related.enumerated() {
                    let list = list.filter(condition.predicate)
                    let wanted = lists[room - 1][number].filter { condition.holds(note($0)) }
                    #expect(try list.ids(in: context) == wanted, "\(name) \(number)")
                    #expect(try list.count(in: context) == wanted.count)
                    #expect(try list.last().resolve(in: context)?.id == wanted.last)
                    #expect(try list.limit(3, offset: 1).ids(in: context) == Array(wanted.dropFirst().prefix(3)))
                    let sorted = list.sorted(by: \.number.desc, \.id)
                    let inOrder = wanted.sorted { (note($1).number, $0) < (note($0).number, $1) }
                    #expect(try sorted.ids(in: context) == inOrder)
                    if try list.explain(in: context).access.description.contains("intersection") {
                        narrowed.insert(name)
                    }
                    guard let place = wanted.indices.randomElement(using: &random) else { continue }
                    let behind = list.after(note(wanted[place]))
                    #expect(try behind.ids(in: context) == Array(wanted[(place + 1)...]), "\(name) \(number)")
                }
            }
        }
        #expect(narrowed.isSuperset(of: ["equal", "range", "key", "id", "search", "either", "both"]), "\(narrowed)")
        #expect(!narrowed.contains("most"))
    }

    @Test("continue after an entity that was changed since, if an index finds only one row")
    func behindChanged() throws {
        var context = Context()
        try Room(id: 1, notes: .relation([note(9), note(2)])).save(to: &context)
        let query = Room.query(1).related(\.$notes)
        var last = note(9)
        last.code = note(2).code
        for list in [
            query.filter(\.code == last.code), query.filter(\.code == last.code).filter(\.id > 0),
            query.filter(\.code == last.code).filter(\.id >= 2).filter(\.number >= 0),
        ] {
            // By the entity's former value, its key comes first; but the order is that of linking.
            #expect(try list.after(last).ids(in: context) == [2])
            #expect(try list.after(last).count(in: context) == 1)
        }
        #expect(try query.filter(\.id == 2).after(last).ids(in: context) == [2])
        #expect(try query.filter(\.id == 9).after(last).ids(in: context) == [])
    }

    @Test("are explained, and read the fewer rows")
    func few() throws {
        var context = Context()
        var random = SeededGenerator()
        _ = try fill(&context, &random)
        let notes = Room.query(1).related(\.$notes)
        let plan = try notes.filter(\.code == "c5").explain(in: context)
        #expect(
            "\(plan)"
                == "Note: intersection of (relation Room.notes, 580 targets) "
                + "and (index byCode, one range of 7 entries)"
        )
        #expect(plan.order == .byAccess && plan.candidates == 7)
        let run = try notes.filter(\.code == "c5").explain(.analyze, in: context)
        #expect(run.parts.map(\.found) == [7] && run.rowsRead == run.results && run.results <= 7)
        let all = try notes.explain(.analyze, in: context)
        #expect(all.rowsRead == 580 && all.parts.isEmpty)
    }
}
