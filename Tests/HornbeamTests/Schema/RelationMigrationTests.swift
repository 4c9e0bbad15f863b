// SPDX-License-Identifier: Apache-2.0
// Relations whose form changes: to-one or to-many, one-way or mutual, another name. Unambiguous links are kept,
// ambiguous ones are refused.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private func relation(_ name: String, _ target: String, toMany: Bool, inverse: String? = nil) -> RelationDescription {
    RelationDescription(name: name, target: target, toMany: toMany, inverse: inverse)
}

private func whole(_ relations: [RelationDescription]) -> EntityDescription {
    EntityDescription(name: "Whole", columns: [column("id", .int64)], relations: relations)
}

private func part(_ relations: [RelationDescription] = []) -> EntityDescription {
    EntityDescription(name: "Part", columns: [column("id", .string)], relations: relations)
}

private let many = relation("parts", "Part", toMany: true)
private let one = relation("parts", "Part", toMany: false)
private let ownedMany = relation("parts", "Part", toMany: true, inverse: "owner")

/// Returns a store of wholes 1, 2, 3 and parts a, b, c, d with these links.
private func store(_ types: [EntityDescription], _ links: [(Int, [String])]) throws -> CoreStore {
    let store = try CoreStore(types)
    for number in 1...3 { try store.save("Whole", [.int(Int64(number))]) }
    for name in ["a", "b", "c", "d"] { try store.save("Part", [.string(name)]) }
    for (source, targets) in links {
        let rows = try targets.map { try require(store["Part"].rowID(of: .string($0))) }
        try store.core.edges.set(store["Whole"].type.relation("parts"), RowID(rawValue: UInt64(source)), rows)
    }
    return store
}

extension CoreStore {
    /// Returns the ids that an entity is linked to.
    fileprivate func links(_ type: String, _ id: Value, _ name: String) throws -> [Value] {
        let side = try self[type].type.relation(name)
        let row = try require(self[type].rowID(of: id))
        return try core.edges.targets(side, of: row).map { try require(self[side.target].id(of: $0)) }
    }
}

private func refusal(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing thrown"
    } catch {
        return "\(error)"
    }
}

@Suite("Relation migrations")
struct RelationMigrationTests {
    @Test("from one to many every link stays, and from many to one if no entity has several")
    func cardinality() throws {
        let store = try store([whole([one]), part()], [(1, ["a"]), (2, ["b"]), (3, ["a"])])
        try store.reopen([whole([many]), part()])
        #expect(try store.problems() == [])
        #expect(try store.links("Whole", .int(3), "parts") == [.string("a")])
        let row = try require(store["Part"].rowID(of: .string("d")))
        try store.core.edges.append(store["Whole"].type.relation("parts"), RowID(rawValue: 1), row)
        #expect(try store.links("Whole", .int(1), "parts") == [.string("a"), .string("d")])
        let text = refusal { try store.reopen([whole([one]), part()]) }
        #expect(text.contains("Whole 1 has several") && text.contains(".toOne(Whole.self, \\.$parts)"), "\(text)")
        #expect(try store.links("Whole", .int(1), "parts") == [.string("a"), .string("d")])
        try store.reopen([whole([one]), part()], [.toOne(type: "Whole", relation: "parts")])
        #expect(try store.problems() == [])
        #expect(try store.links("Whole", .int(1), "parts") == [.string("a")])
        #expect(try store.links("Whole", .int(2), "parts") == [.string("b")])
    }

    @Test("links that toOne removes are gone on the other side too", arguments: [true, false])
    func trimmedMutual(otherIsMany: Bool) throws {
        let owner = relation("owner", "Whole", toMany: otherIsMany, inverse: "parts")
        let store = try store([whole([ownedMany]), part([owner])], [(1, ["c", "a", "b"]), (2, ["d"])])
        let single = relation("parts", "Part", toMany: false, inverse: "owner")
        try store.reopen([whole([single]), part([owner])], [.toOne(type: "Whole", relation: "parts")])
        #expect(try store.problems() == [])
        #expect(try store.links("Whole", .int(1), "parts") == [.string("c")])
        #expect(try store.links("Part", .string("a"), "owner") == [])
        #expect(try store.links("Part", .string("c"), "owner") == [.int(1)])
    }

    @Test("toOne of a relation that is its own inverse keeps first links as far as both ends are free", .seeded)
    func trimmedOwnInverse() throws {
        func person(toMany: Bool) -> EntityDescription {
            EntityDescription(
                name: "Person", columns: [column("id", .int64)],
                relations: [relation("friends", "Person", toMany: toMany, inverse: "friends")])
        }
        var random = SeededGenerator()
        // The first migration gives 2 and 3 the same first friend. In the second, 3 and 4 are left once 1 has 5.
        var shapes: [[(Int, Int)]] = [[(1, 3), (2, 3)], [(1, 5), (2, 5), (3, 5), (3, 4), (6, 6)]]
        for _ in 0..<40 {
            shapes.append((0..<random.below(12)).map { _ in (1 + random.below(6), 1 + random.below(6)) })
        }
        for links in shapes {
            let store = try CoreStore([person(toMany: true)])
            for number in 1...6 { try store.save("Person", [.int(Int64(number))]) }
            let side = try store["Person"].type.relation("friends")
            for (one, other) in links {
                try store.core.edges.append(side, RowID(rawValue: UInt64(one)), RowID(rawValue: UInt64(other)))
            }
            var wanted: [Value: Value] = [:]
            for number in (1...6).map({ Value.int(Int64($0)) }) {
                guard let first = try store.links("Person", number, "friends").first else { continue }
                if wanted[number] != nil || wanted[first] != nil { continue }
                wanted[number] = first
                wanted[first] = number
            }
            try store.reopen([person(toMany: false)], [.toOne(type: "Person", relation: "friends")])
            #expect(try store.problems() == [])
            for number in (1...6).map({ Value.int(Int64($0)) }) {
                #expect(try store.links("Person", number, "friends") == (wanted[number].map { [$0] } ?? []), "\(links)")
            }
        }
    }

    @Test("an earlier program leaves the rules of a relation that it doesn't know in the store, and follows none")
    func unknownRules() throws {
        let owner = RelationDescription(
            name: "owner", target: "Whole", toMany: false, required: true, inverse: "parts", deleteRule: .deny)
        let parts = RelationDescription(
            name: "parts", target: "Part", toMany: true, inverse: "owner", deleteRule: .cascade)
        let store = try store([whole([parts]), part([owner])], [(1, ["a", "b"])])
        let indexed = [
            IndexDescription(name: "byID", kind: .value, components: [.init(column: "id")])
        ]
        var (earlierWhole, earlierPart) = (whole([]), part())
        (earlierWhole.indexes, earlierPart.indexes) = (indexed, indexed)
        try store.reopen([earlierWhole, earlierPart])
        store.core.requireRelations()
        try store.save("Part", [.string("new")])
        try store["Whole"].delete(RowID(rawValue: 1))
        #expect(try store["Part"].rowID(of: .string("a")) != nil)
        try store.core.commit()
        let read = try store.store.beginRead()
        let stored = try SchemaCatalogue.load(read)
        #expect(try stored.type("Whole").description.relations == [parts])
        #expect(try stored.type("Part").description.relations == [owner])
        #expect(try stored.type("Part").description.indexes == indexed)
        read.abort()
    }

    @Test("a type that takes the name of an empty one has none of its relations")
    func nameOfAnother() throws {
        let news = relation("news", "New", toMany: false, inverse: "parts")
        let owner = relation("owner", "Whole", toMany: false, inverse: "parts")
        let new = EntityDescription(
            name: "New", columns: [column("id", .int64)],
            relations: [relation("parts", "Part", toMany: true, inverse: "news")])
        let store = try store([whole([ownedMany]), part([owner, news]), new], [(1, ["b", "a"])])
        var renamed = whole([ownedMany])
        renamed.name = "New"
        try store.reopen(
            [renamed, part([relation("owner", "New", toMany: false, inverse: "parts")])],
            [.renameType(from: "Whole", to: "New")])
        #expect(try store.problems() == [])
        #expect(try store.links("New", .int(1), "parts") == [.string("b"), .string("a")])
        #expect(try store.links("Part", .string("a"), "owner") == [.int(1)])
    }

    @Test("a link of an unknown list is damage, and stays")
    func unknownList() throws {
        let store = try store([whole([one]), part()], [(1, ["a"])])
        let links = try store["Whole"].type.links
        try store.core.settleLinks()
        let entry = try {
            var cursor = try store.core.transaction.cursor(links)
            let isThere = try cursor.next()
            #expect(isThere)
            return (Array(cursor.key), Array(cursor.value))
        }()
        var key = entry.0
        key[8] = 0x70
        try store.core.transaction.put(links, key, entry.1)
        #expect {
            try store.reopen([whole([many]), part()])
        } throws: { error in
            guard case StorageError.corrupt = error else { return false }
            return true
        }
        let kept = try store.core.transaction.get(store["Whole"].type.links, key).map { Array($0) }
        #expect(kept == entry.1)
    }

    @Test("a migration of links reports progress over all of them, and can be ended on the way")
    func progress() throws {
        let store = try store([whole([many]), part()], [(1, ["a", "b"]), (2, ["b"])])
        var steps: [MigrationProgress] = []
        try store.reopen(
            [whole([many]), part([relation("wholes", "Whole", toMany: true, inverse: "parts")])],
            progress: { steps.append($0) })
        #expect(steps.allSatisfy { $0.step == .migratingLinks && $0.done == $0.total && $0.total > 0 })
        #expect(steps.map { "\($0.entity).\($0.name) \($0.total)" }.starts(with: ["Part. 3", "Whole. 3"]))
        struct Ended: Error {}
        for place in 1...3 {
            var count = 0
            #expect(throws: Ended.self) {
                try store.reopen(
                    [whole([many]), part([relation("wholes", "Whole", toMany: true)])], [],
                    progress: { _ in
                        count += 1
                        if count == place { throw Ended() }
                    })
            }
            #expect(try store.links("Part", .string("b"), "wholes") == [.int(1), .int(2)])
        }
    }

    @Test(
        "a one-way relation with links gains its other side: all links are there from both", arguments: [true, false])
    func gainsInverse(toMany: Bool) throws {
        let store = try store([whole([many]), part()], [(1, ["b", "a"]), (3, ["c"])])
        let owner = relation("owner", "Whole", toMany: toMany, inverse: "parts")
        try store.reopen([whole([many]), part([owner])])
        #expect(try store.problems() == [])
        #expect(try store.links("Part", .string("a"), "owner") == [.int(1)])
        #expect(try store.links("Part", .string("c"), "owner") == [.int(3)])
        #expect(try store.links("Part", .string("d"), "owner") == [])
        #expect(try store.links("Whole", .int(1), "parts") == [.string("b"), .string("a")])
        try store.reopen()
        #expect(try store.problems() == [])
    }

    @Test("a to-one inverse is refused if two entities lead there, with the ids of all three; a to-many one is allowed")
    func ambiguous() throws {
        let store = try store([whole([many]), part()], [(1, ["a"]), (2, ["a"])])
        let text = refusal {
            try store.reopen([whole([many]), part([relation("owner", "Whole", toMany: false, inverse: "parts")])])
        }
        #expect(text.contains("Whole 1 and Whole 2 both lead to Part \"a\""), "\(text)")
        #expect(try store.problems() == [])
        try store.reopen([whole([many]), part([relation("owner", "Whole", toMany: true, inverse: "parts")])])
        #expect(try store.links("Part", .string("a"), "owner") == [.int(1), .int(2)])
        #expect(try store.problems() == [])
    }

    @Test("two one-way relations with links can't become sides of one")
    func both() throws {
        let store = try store([whole([many]), part([relation("owner", "Whole", toMany: true)])], [(1, ["a"])])
        let row = try require(store["Part"].rowID(of: .string("b")))
        try store.core.edges.append(store["Part"].type.relation("owner"), row, RowID(rawValue: 2))
        let text = refusal {
            try store.reopen([whole([many]), part([relation("owner", "Whole", toMany: true, inverse: "parts")])])
        }
        #expect(text.contains("has links, and so has"), "\(text)")
        #expect(try store.problems() == [])
    }

    @Test("both sides of a mutual relation become relations of their own, with the links each has")
    func apart() throws {
        let owner = relation("owner", "Whole", toMany: false, inverse: "parts")
        let store = try store([whole([ownedMany]), part([owner])], [(1, ["b", "a"]), (2, ["c"])])
        try store.reopen([whole([many]), part([relation("owner", "Whole", toMany: false)])])
        #expect(try store.problems() == [])
        let row = try require(store["Part"].rowID(of: .string("a")))
        try store.core.edges.clear(store["Part"].type.relation("owner"), row)
        #expect(try store.links("Whole", .int(1), "parts") == [.string("b"), .string("a")])
        try store["Part"].delete(row)
        #expect(try store.links("Whole", .int(1), "parts") == [.string("b")])
        #expect(try store.problems() == [])
    }

    @Test("a side that the models drop stays in the store, and agrees; forget removes it, and the other stays")
    func leftOverSide() throws {
        let owner = relation("owner", "Whole", toMany: false, inverse: "parts")
        let store = try store([whole([ownedMany]), part([owner])], [(1, ["b", "a"])])
        try store.reopen([whole([many]), part()])
        let row = try require(store["Part"].rowID(of: .string("d")))
        try store.core.edges.append(store["Whole"].type.relation("parts"), RowID(rawValue: 2), row)
        try store.reopen([whole([many]), part()])
        #expect(try store.problems() == [])
        #expect(try store.links("Part", .string("d"), "owner") == [.int(2)])
        try store.reopen([whole([many]), part()], [.forget(type: "Part", name: "owner")])
        #expect(try store.problems() == [])
        #expect(try store["Part"].type.relations.isEmpty)
        #expect(try store.links("Whole", .int(1), "parts") == [.string("b"), .string("a")])
        try store["Part"].delete(row)
        #expect(try store.links("Whole", .int(2), "parts") == [])
    }

    @Test("a relation keeps its links under another name, and its other side has the new name")
    func renamed() throws {
        let owner = relation("owner", "Whole", toMany: false, inverse: "parts")
        let store = try store([whole([ownedMany]), part([owner])], [(1, ["b", "a"])])
        let pieces = relation("pieces", "Part", toMany: true, inverse: "owner")
        let step = MigrationStep.rename(type: "Whole", from: "parts", to: "pieces", isRelation: true)
        try store.reopen(
            [whole([pieces]), part([relation("owner", "Whole", toMany: false, inverse: "pieces")])], [step])
        #expect(try store.problems() == [])
        #expect(try store.links("Whole", .int(1), "pieces") == [.string("b"), .string("a")])
        #expect(try store["Whole"].type.relations.map(\.name) == ["pieces"])
    }

    @Test("another target is refused while there are links, and allowed without")
    func retargeted() throws {
        let store = try store([whole([many]), part()], [(1, ["a"])])
        let other = EntityDescription(name: "Other", columns: [column("id", .int64)])
        let types = [whole([relation("parts", "Other", toMany: true)]), part(), other]
        let text = refusal { try store.reopen(types) }
        #expect(text.contains("leads to Other instead of Part") && text.contains(".forget("), "\(text)")
        try store.core.edges.clear(store["Whole"].type.relation("parts"), RowID(rawValue: 1))
        try store.reopen(types)
        #expect(try store.problems() == [])
    }

    @Test("a renamed type keeps its links, from and to it")
    func renamedType() throws {
        let owner = relation("owner", "Whole", toMany: false, inverse: "parts")
        let store = try store([whole([ownedMany]), part([owner])], [(1, ["b", "a"])])
        var item = part([owner])
        item.name = "Item"
        let items = relation("parts", "Item", toMany: true, inverse: "owner")
        try store.reopen([whole([items]), item], [.renameType(from: "Part", to: "Item")])
        #expect(try store.problems() == [])
        #expect(try store.links("Whole", .int(1), "parts") == [.string("b"), .string("a")])
        try store.save("Item", [.string("new")])
        #expect(try store.problems() == [])
    }

    @Test("links that are to-many on both sides keep both orders, despite other migrations")
    func manyOnBothSides() throws {
        let parts = relation("parts", "Part", toMany: true, inverse: "wholes")
        let wholes = relation("wholes", "Whole", toMany: true, inverse: "parts")
        let spare = relation("spare", "Part", toMany: true)
        let store = try store(
            [whole([spare, parts]), part([wholes])], [(2, ["a", "c"]), (1, ["b", "a"]), (3, ["a", "b"])])
        let row = try require(store["Part"].rowID(of: .string("c")))
        try store.core.edges.append(store["Whole"].type.relation("spare"), RowID(rawValue: 1), row)
        func expect(_ type: String, _ name: String) throws {
            #expect(try store.problems() == [])
            #expect(try store.links("Whole", .int(1), name) == [.string("b"), .string("a")])
            #expect(try store.links(type, .string("a"), "wholes") == [.int(2), .int(1), .int(3)])
        }
        // The names of the two sides sort in the other order.
        let pieces = relation("pieces", "Atom", toMany: true, inverse: "wholes")
        var atom = part([relation("wholes", "Whole", toMany: true, inverse: "pieces")])
        atom.name = "Atom"
        let spareAtoms = relation("spare", "Atom", toMany: true)
        try store.reopen(
            [whole([spareAtoms, pieces]), atom],
            [
                .renameType(from: "Part", to: "Atom"),
                .rename(type: "Whole", from: "parts", to: "pieces", isRelation: true),
            ])
        try expect("Atom", "pieces")
        #expect(try store.links("Whole", .int(1), "spare") == [.string("c")])
        try store.core.edges.remove(store["Whole"].type.relation("pieces"), RowID(rawValue: 2), row)
        #expect(try store.links("Atom", .string("c"), "wholes") == [])
        try store.reopen([whole([pieces]), atom], [.forget(type: "Whole", name: "spare")])
        try expect("Atom", "pieces")
        #expect(try store["Whole"].type.relations.map(\.name) == ["pieces"])
    }
}
