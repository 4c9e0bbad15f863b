// SPDX-License-Identifier: Apache-2.0
// The changes of a view between any two states, compared with the two lists: applied to the older one they give the
// newer, directly and through mappings of every kind.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

extension ViewChanges where Entity == Mail, Group == String {
    /// Returns the lists after these changes; `row` gives the row at a position of the later state.
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

@EntityModel
struct WaterLevel {
    let id: Int
    var height: Double
    var name: String
}

/// A text whose `==` ignores case, although it is stored unchanged.
private struct AnyCase: IndexKey, Hashable {
    let text: String

    static var columnType: ColumnType { .string }
    var columnValue: Value { .string(text) }

    init(text: String) { self.text = text }
    init?(columnValue: Value) {
        guard case .string(let text) = columnValue else { return nil }
        self.text = text
    }

    static func == (left: Self, right: Self) -> Bool { left.text.lowercased() == right.text.lowercased() }
    func hash(into hasher: inout Hasher) { hasher.combine(text.lowercased()) }
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
        // Each entity is reported once, and all positions exist in the two lists.
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
        #expect(changes.moves.count == leastMoves(before, after))
    }

    /// The number of entities that went to another group, plus those outside of a longest ascending sequence in their
    /// group.
    private func leastMoves(_ before: NaiveView, _ after: NaiveView) -> Int {
        var former: [Int: (group: String, index: Int)] = [:]
        for section in before.sections {
            for (index, mail) in section.mails.enumerated() { former[mail.id] = (section.group, index) }
        }
        var moves = 0
        for section in after.sections {
            let kept = section.mails.compactMap { former[$0.id] }
            let within = kept.filter { $0.group == section.group }.map(\.index)
            // For each length, the lowest end of an ascending sequence.
            var ends: [Int] = []
            for index in within {
                if let place = ends.firstIndex(where: { $0 > index }) {
                    ends[place] = index
                } else {
                    ends.append(index)
                }
            }
            moves += kept.count - ends.count
        }
        return moves
    }

    @Test(
        "changes between any two states, applied to the older list, give the newer one",
        arguments: SeededGenerator.seeds(4))
    func model(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        var states: [State] = []
        for _ in 0..<SeededGenerator.commits(30) {
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

    @Test("changes applied to the rows of a mapping give its new rows", arguments: SeededGenerator.seeds(6))
    func mapped(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        for _ in 0..<SeededGenerator.commits(25) {
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
                    // Other windows and directions in one state.
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

    @Test("a mapping of many groups reads nothing of unchanged groups")
    func manyGroups() throws {
        let database = try Database.counting(Mail.self)
        let view = View<Mail, Int>("ranks", version: "1", groupedBy: \.rank, sortedBy: .ascending(\.subject))
        try database.register(view)
        try database.write { context in
            for id in 0..<2000 { try Mail(id: id, folder: "a", rank: id / 2).save(to: &context) }
        }
        var list = ViewMappings(view)
        let reader = try database.longLivedRead()
        try reader.read { try list.load(in: $0) }
        #expect(list.sectionCount == 1000)
        try database.write { context in
            try Mail(id: 7, folder: "a", rank: 500).save(to: &context)
            try Mail(id: 20, folder: "a", rank: 5000).save(to: &context)
            try Mail(id: 21, folder: "a", rank: 5000).save(to: &context)
        }
        var found = SectionChanges()
        let pages = try database.pagesRead { new in
            found = try reader.read { old in try list.move(from: old, to: new) }
        }
        #expect(pages < 100, "\(pages) pages")
        #expect(found.deletedSections == [10])
        #expect(found.insertedSections == [999])
        #expect(found.counts == (0..<1000).map { $0 == 3 ? 1 : $0 == 499 ? 3 : 2 })
        try database.read { context in
            var anew = ViewMappings(view)
            try anew.load(in: context)
            #expect(anew.groups == list.groups)
            #expect((0..<1000).allSatisfy { anew.count(ofSection: $0) == list.count(ofSection: $0) })
        }
    }

    @Test("a group value that isn't equal to itself forms a single group")
    func notANumber() throws {
        let view = View<WaterLevel, Double>("levels", version: "1", groupedBy: \.height, sortedBy: .ascending(\.name))
        let database = try Database.inMemory(models: WaterLevel.self, indexes: [view])
        try database.write { context in
            for (id, height) in [1, .nan, .nan, 2].enumerated() {
                try WaterLevel(id: id, height: height, name: "n\(id)").save(to: &context)
            }
        }
        var list = ViewMappings(view)
        list.setWindow(.fixed(limit: 5), of: .nan)
        var filtered = FilteredView(view) { _ in true }
        let reader = try database.longLivedRead()
        try reader.read { context in
            try list.load(in: context)
            try filtered.load(in: context)
        }
        var shown = ViewMappings(view)
        shown.load(filtered)
        #expect(list.sectionCount == 3 && shown.sectionCount == 3)
        try database.write { context in try WaterLevel(id: 1, height: .nan, name: "z").save(to: &context) }
        let (changes, moved) = try reader.moveForward { step in
            (try list.move(step), shown.move(try filtered.move(step), to: filtered))
        }
        for changes in [changes, moved] {
            #expect(changes.deletedSections == [] && changes.insertedSections == [])
            #expect(changes.moves == [SectionChanges.Move(from: ListPath(2, 0), to: ListPath(2, 1))])
            #expect(changes.updates == [ListPath(2, 1)])
        }
        #expect(list.path(of: ViewPosition(group: .nan, index: 1)) == ListPath(2, 1))
    }

    @Test("group values that are equal but stored differently are separate groups in a filtered view's list")
    func equalGroups() throws {
        let view = View<WaterLevel, AnyCase>(
            "cases", version: "1", groupedBy: { AnyCase(text: $0.name) }, sortedBy: .ascending(\.id))
        let database = try Database.inMemory(models: WaterLevel.self, indexes: [view])
        try database.write { context in
            for (id, name) in ["a", "A", "b"].enumerated() {
                try WaterLevel(id: id, height: 0, name: name).save(to: &context)
            }
        }
        var filtered = FilteredView(view) { _ in true }
        var list = ViewMappings(view)
        let reader = try database.longLivedRead()
        try reader.read { try filtered.load(in: $0) }
        list.load(filtered)
        #expect(list.groups.map(\.text) == ["A", "a", "b"])
        try database.write { context in try WaterLevel(id: 3, height: 0, name: "A").save(to: &context) }
        let changes = try reader.moveForward { step in list.move(try filtered.move(step), to: filtered) }
        #expect(changes.insertions == [ListPath(0, 1)])
        #expect(changes.counts == [2, 1, 1])
    }

    @Test("a count in a damaged file reserves no more memory than the entries need")
    func forgedCounts() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.read { context in
            let scan = try ViewScan(view, context.session)
            #expect(throws: StorageError.self) { try scan.ids(0..<1 << 46) }
            #expect(throws: StorageError.self) { try scan.rows(0..<1 << 46) }
        }
    }

    @Test("an entity deleted and saved again counts once, also in another row")
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

    @Test("a view must exist in both states, and a mapping in the state that it is moved from")
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
        // The mapping stays at its state.
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
