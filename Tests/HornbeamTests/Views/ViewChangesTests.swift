// SPDX-License-Identifier: Apache-2.0
// What has become of a view between any two states, against the two lists: applied to the one it gives the other, by
// itself and through mappings of every kind.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

extension ViewChanges where Entity == Mail, Group == String {
    /// The lists that these changes make of others; `row` gives what is at a position of the later state.
    func applied(to old: NaiveView, row: (ViewPosition<String>) throws -> Mail?) throws -> [String: [Mail]] {
        var lists = Dictionary(uniqueKeysWithValues: old.sections.map { ($0.group, $0.mails) })
        var moving: [Int: Mail] = [:]
        for move in moves { moving[move.id] = lists[move.from.group]?[move.from.index] }
        let taken = deletions.map(\.position) + moves.map(\.from)
        for position in taken.sorted(by: { $0.index > $1.index }) { lists[position.group]?.remove(at: position.index) }
        let put = insertions.map { ($0.position, try? row($0.position)) } + moves.map { ($0.to, moving[$0.id]) }
        for (position, mail) in put.sorted(by: { $0.0.index < $1.0.index }) {
            lists[position.group, default: []].insert(try #require(mail), at: position.index)
        }
        for update in updates { lists[update.to.group]?[update.to.index] = try #require(try row(update.to)) }
        return lists.filter { !$0.value.isEmpty }
    }
}

@Suite("Changes of views")
struct ViewChangesTests {
    private typealias State = (read: LongLivedRead, mails: [Int: Mail])

    private func expectExact(_ view: MailView, from old: State, to new: State) throws {
        let (before, after) = (NaiveView(old.mails.values), NaiveView(new.mails.values))
        let changes = try old.read.read { (old) throws in
            try new.read.read { (new) throws in
                let changes = try view.changes(from: old, to: new)
                let applied = try changes.applied(to: before) { try view.entity(at: $0, in: new) }
                try #require(applied == Dictionary(uniqueKeysWithValues: after.sections.map { ($0.group, $0.mails) }))
                return changes
            }
        }
        let (groupsBefore, groupsAfter) = (before.sections.map(\.group), after.sections.map(\.group))
        #expect(changes.deletedGroups == groupsBefore.filter { !groupsAfter.contains($0) })
        #expect(changes.insertedGroups == groupsAfter.filter { !groupsBefore.contains($0) })
        // Each entity is told of once, and all positions are those of the two lists.
        func ids(_ view: NaiveView) -> Set<Int> { Set(view.sections.flatMap { $0.mails.map(\.id) }) }
        #expect(Set(changes.deletions.map(\.id)) == ids(before).subtracting(ids(after)))
        #expect(Set(changes.insertions.map(\.id)) == ids(after).subtracting(ids(before)))
        for change in changes.updates + changes.moves {
            let from = before.sections.first { $0.group == change.from.group }
            let to = after.sections.first { $0.group == change.to.group }
            #expect(from?.mails[change.from.index].id == change.id)
            #expect(to?.mails[change.to.index].id == change.id)
        }
        let changed = ids(before).intersection(ids(after)).filter { old.mails[$0] != new.mails[$0] }
        #expect(Set(changes.updates.map(\.id)).isSuperset(of: changed))
        #expect(Set(changes.updates.map(\.id)).isSuperset(of: changes.moves.map(\.id)))
        let sameKey = ids(before).intersection(ids(after)).filter { id in
            guard let old = old.mails[id], let new = new.mails[id] else { return false }
            return (old.folder, old.rank, old.subject) == (new.folder, new.rank, new.subject)
        }
        #expect(Set(changes.moves.map(\.id)).isDisjoint(with: sameKey))
    }

    @Test(
        "between any two states, applied to the one list they give the other", .seeded,
        arguments: SeededGenerator.seeds(4))
    func model(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        var states: [State] = []
        for _ in 0..<30 {
            try writes.write(database, changes: [1, 2, 10, 40][writes.random.below(4)])
            states.append((try database.longLivedRead(), writes.mails))
            if states.count > 5 { states.remove(at: writes.random.below(5)) }
            guard let newest = states.last else { continue }
            for state in states.dropLast() {
                try expectExact(view, from: state, to: newest)
                try expectExact(view, from: newest, to: state)
            }
        }
    }

    private func mappings(_ view: MailView, _ random: inout SeededGenerator) -> ViewMappings<Mail, String> {
        var list: ViewMappings<Mail, String>
        switch random.below(4) {
        case 0: list = ViewMappings(view, groups: ["d", "a", "none"])
        case 1: list = ViewMappings(view, groups: ["a", "b", "ç", "d"])
        case 2: list = ViewMappings(view)
        default: list = ViewMappings(view, sortedBy: { $0 > $1 }) { $0 != "b" }
        }
        list.hidesEmptySections = random.oneIn(2)
        for group in ["a", "b", "ç", "d"] {
            list.setReversed(random.oneIn(3), of: group)
            let (limit, offset) = (random.below(6), random.below(4))
            let edge: ViewWindow.Edge = random.oneIn(2) ? .start : .end
            switch random.below(4) {
            case 0: list.setWindow(.fixed(limit: limit, offset: offset, from: edge), of: group)
            case 1, 2: list.setWindow(.growing(limit: limit, offset: offset, from: edge), of: group)
            default: break
            }
        }
        return list
    }

    private func rows(_ list: ViewMappings<Mail, String>, _ context: Context) throws -> [[Mail]] {
        try (0..<list.sectionCount).map { try list.entities(ofSection: $0, in: context) }
    }

    @Test("applied to the rows of a mapping they give its new rows", .seeded, arguments: SeededGenerator.seeds(6))
    func mapped(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        for _ in 0..<25 {
            var list = mappings(view, &writes.random)
            let reader = try database.longLivedRead()
            var shown = try reader.read { (context) throws in
                try list.load(in: context)
                return try rows(list, context)
            }
            for _ in 0..<6 {
                for _ in 0..<writes.random.below(4) {
                    try writes.write(database, changes: [1, 1, 3, 20][writes.random.below(4)])
                }
                try reader.moveForward { (step) throws in
                    let changes = try list.move(step)
                    let now = try rows(list, step.after)
                    shown = try changes.applied(to: shown) { try #require(try list.entity(at: $0, in: step.after)) }
                    try #require(shown == now)
                    #expect(list.rowCount == now.map(\.count).reduce(0, +))
                }
                try reader.read { (context) throws in
                    for (section, mails) in shown.enumerated() {
                        for (row, mail) in mails.enumerated() {
                            #expect(try list.path(of: mail.id, in: context) == ListPath(section, row))
                        }
                    }
                }
                if writes.random.oneIn(3) {
                    // Other windows and directions, in the same state.
                    let group = ["a", "b", "ç", "d"][writes.random.below(4)]
                    list.setWindow(writes.random.oneIn(3) ? nil : .growing(limit: writes.random.below(9)), of: group)
                    list.setReversed(writes.random.oneIn(2), of: group)
                    shown = try reader.read { (context) throws in
                        let changes = try list.refresh(in: context)
                        let now = try rows(list, context)
                        let applied = try changes.applied(to: shown) {
                            try #require(try list.entity(at: $0, in: context))
                        }
                        try #require(applied == now)
                        return now
                    }
                }
            }
        }
    }

    @Test("an entity that went and was saved again is one, also where it got another row")
    func again() throws {
        let view = View<Consignment, SoleGroup>("byWeight", version: "1", sortedBy: .ascending(\.weight))
        let database = try Database.inMemory(models: Consignment.self, indexes: [view])
        try database.write { context in
            for (id, weight) in [("x", 1), ("y", 2), ("z", 3)] {
                try Consignment(id: id, weight: weight).save(to: &context)
            }
        }
        let reader = try database.longLivedRead()
        var filtered = FilteredView(view) { _ in true }
        try reader.read { try filtered.load(in: $0) }
        for (id, weight) in [("x", 9), ("y", 2)] {
            try database.write { context in _ = try Consignment.query(id).delete(from: &context) }
            try database.write { context in try Consignment(id: id, weight: weight).save(to: &context) }
        }
        let all = try reader.moveForward { step in
            [try step.changes(of: view), try filtered.move(step)]
        }
        for changes in all {
            #expect(changes.deletions.isEmpty && changes.insertions.isEmpty)
            #expect(changes.moves.map(\.id) == ["x"])
            #expect(changes.updates.map(\.id) == ["y", "x"])
            #expect(changes.updates.map(\.from.index) == [1, 0])
            #expect(changes.updates.map(\.to.index) == [0, 2])
        }
        #expect(filtered.ids(of: .all) == ["y", "z", "x"])
    }

    @Test("a view must be there in both states, and a mapping in the state that it is moved from")
    func refusals() throws {
        let database = try Database.inMemory(models: Mail.self)
        let view = mailView()
        let before = try database.longLivedRead()
        try database.register(view)
        let after = try database.longLivedRead()
        func code(_ body: () throws -> Void) -> HornbeamError.Code? {
            #expect(throws: HornbeamError.self) { try body() }?.code
        }
        func expect(_ wanted: HornbeamError.Code, _ body: () throws -> Void) {
            let found = code(body)
            #expect(found == wanted)
        }
        expect(.indexNotReady) { try before.moveForward { _ = try $0.changes(of: view) } }
        // It stays where it was.
        #expect(before.version < after.version)
        try before.moveForward()
        #expect(before.version == after.version)
        var list = ViewMappings(view)
        expect(.invalid) { try after.moveForward { _ = try list.move($0) } }
        try after.read { try list.load(in: $0) }
        try database.write { context in try Mail(id: 1, folder: "a", rank: 1).save(to: &context) }
        expect(.invalid) { _ = try database.read { try list.entity(at: ListPath(0, 0), in: $0) } }
        try after.moveForward { _ = try list.move($0) }
        #expect(list.groups == ["a"])
        let other = try Database.inMemory(models: Mail.self, indexes: [view])
        expect(.invalid) { try other.read { new in _ = try after.read { try view.changes(from: $0, to: new) } } }
        let write = code {
            try database.write { new in _ = try after.read { try view.changes(from: $0, to: new) } }
        }
        #expect(write == .invalid)
    }
}
