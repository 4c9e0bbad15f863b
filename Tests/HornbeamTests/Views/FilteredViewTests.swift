// SPDX-License-Identifier: Apache-2.0
// Views over views: filters and searches that change while they are shown, compared with lists that are made by hand.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("Filtered views")
struct FilteredViewTests {
    typealias Filtered = FilteredView<Mail, String>

    private func expectSame(_ filtered: Filtered, _ naive: NaiveView, _ context: Context) throws {
        try #require(
            filtered.sections == naive.sections.map { ViewSection(group: $0.group, count: $0.mails.count) })
        for (group, mails) in naive.sections {
            try #require(try filtered.entities(of: group, in: context) == mails)
            #expect(filtered.ids(of: group, 1..<3) == mails.map(\.id).dropFirst().prefix(2).map(\.self))
            for (index, mail) in mails.enumerated() {
                let position = ViewPosition(group: group, index: index)
                #expect(filtered.id(at: position) == mail.id)
                #expect(try filtered.position(of: mail.id, in: context) == position)
            }
            #expect(filtered.id(at: ViewPosition(group: group, index: mails.count)) == nil)
            #expect(filtered.ids(of: group, -9 ..< -3) == [])
        }
        #expect(filtered.count == naive.sections.map(\.mails.count).reduce(0, +))
        #expect(filtered.count(of: "none") == 0)
    }

    /// Returns a filter of each kind, and its results.
    private func filter(_ random: inout SeededGenerator) -> (filter: Result<QueryList<Mail>, Plain>, Plain) {
        switch random.below(4) {
        case 0:
            let word = ["red", "green", "blue", "none"][random.below(4)]
            return (
                .success(.filter(.string(\.subject, matches: word))),
                Plain { $0.subject.lowercased().split(separator: " ").contains { $0 == word } }
            )
        case 1:
            let rank = random.below(4)
            return (.success(Mail.filter(\.rank >= rank).sorted(by: \.size)), Plain { $0.rank >= rank })
        default:
            let size = Double(random.below(5))
            let plain = Plain { ($0.size ?? 9) >= size }
            return (.failure(plain), plain)
        }
    }

    private struct Plain: Error {
        let accepts: @Sendable (Mail) -> Bool
        init(_ accepts: @escaping @Sendable (Mail) -> Bool) { self.accepts = accepts }
    }

    @Test(
        "moves and other filters give the filtered list, and change-sets that lead there",
        arguments: SeededGenerator.seeds(4))
    func model(seed: UInt64) throws {
        var writes = MailWrites(seed: seed)
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        let reader = try database.longLivedRead()
        var (chosen, plain) = filter(&writes.random)
        var filtered: Filtered
        switch chosen {
        case .success(let query): filtered = Filtered(view, matching: query)
        case .failure(let function): filtered = Filtered(view, where: function.accepts)
        }
        var list = ViewMappings(view, sortedBy: { $0 > $1 })
        list.setWindow(.fixed(limit: 3, offset: 1), of: "a")
        try reader.read { try filtered.load(in: $0) }
        list.load(filtered)
        func naive() -> NaiveView { NaiveView(writes.mails.values.filter(plain.accepts)) }
        func rows() -> [[Int]] {
            (0..<list.sectionCount).map { section in
                (0..<list.count(ofSection: section)).compactMap { row in
                    list.position(of: ListPath(section, row)).flatMap { filtered.id(at: $0) }
                }
            }
        }
        var before = naive()
        for _ in 0..<60 {
            let shown = rows()
            let changes: ViewChanges<Mail, String>
            if writes.random.oneIn(3) {
                (chosen, plain) = filter(&writes.random)
                changes = try reader.read { (context) throws in
                    switch chosen {
                    case .success(let query): try filtered.setQuery(query, in: context)
                    case .failure(let function): try filtered.setFilter(function.accepts, in: context)
                    }
                }
                // The smallest possible change-set.
                #expect(changes.moves.isEmpty && changes.updates.isEmpty)
                let ids = [before, naive()].map { Set($0.sections.flatMap { $0.mails.map(\.id) }) }
                #expect(Set(changes.deletions.map(\.id)) == ids[0].subtracting(ids[1]))
                #expect(Set(changes.insertions.map(\.id)) == ids[1].subtracting(ids[0]))
            } else {
                for _ in 0..<writes.random.below(3) {
                    try writes.write(database, changes: [1, 3, 20][writes.random.below(3)])
                }
                changes = try reader.moveForward { try filtered.move($0) }
            }
            let after = naive()
            try reader.read { (context) throws in
                try expectSame(filtered, after, context)
                let applied = try changes.applied(to: before) { try filtered.entity(at: $0, in: context) }
                try #require(applied == Dictionary(uniqueKeysWithValues: after.sections.map { ($0.group, $0.mails) }))
            }
            let mapped = list.move(changes, to: filtered)
            let now = rows()
            #expect(
                try mapped.applied(to: shown) { path in
                    try #require(list.position(of: path).flatMap { filtered.id(at: $0) })
                } == now)
            before = after
        }
    }

    @Test("another filter gives the least changes, and a search keeps groups and order")
    func y22() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for (id, subject) in ["tea", "coffee", "black tea", "green tea", "milk"].enumerated() {
                try Mail(id: id, folder: id == 3 ? "b" : "a", rank: id, subject: subject).save(to: &context)
            }
        }
        let reader = try database.longLivedRead()
        var found = Filtered(view, matching: .filter(.string(\.subject, matches: "tea")))
        try reader.read { try found.load(in: $0) }
        #expect(found.sections == [ViewSection(group: "a", count: 2), ViewSection(group: "b", count: 1)])
        #expect(found.ids(of: "a") == [2, 0])
        let changes = try reader.read {
            try found.setQuery(.filter(.string(\.subject, matches: "green")), in: $0)
        }
        #expect(changes.deletions.map(\.id) == [2, 0])
        #expect(changes.deletedGroups == ["a"])
        #expect(changes.insertions.isEmpty && changes.moves.isEmpty && changes.updates.isEmpty)
        // Saved entities enter and leave by the query.
        try database.write { context in
            try Mail(id: 4, folder: "a", rank: 4, subject: "green milk tea").save(to: &context)
            try Mail(id: 3, folder: "b", rank: 3, subject: "tea").save(to: &context)
        }
        let moved = try reader.moveForward { try found.move($0) }
        #expect(moved.insertions.map(\.id) == [4])
        #expect(moved.deletions.map(\.id) == [3])
    }

    @Test("a filter that throws changes nothing, and another state is refused")
    func refusals() throws {
        struct Refused: Error {}
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in
            for id in 0..<3 { try Mail(id: id, folder: "a", rank: id).save(to: &context) }
        }
        let reader = try database.longLivedRead()
        var filtered = Filtered(view) { $0.rank > 0 }
        let early = #expect(throws: HornbeamError.self) { try reader.moveForward { _ = try filtered.move($0) } }
        #expect(early?.code == .invalid)
        try reader.read { try filtered.load(in: $0) }
        #expect(throws: Refused.self) {
            try reader.read { _ = try filtered.setFilter({ _ in throw Refused() }, in: $0) }
        }
        #expect(filtered.ids(of: "a") == [2, 1])
        try database.write { context in _ = try Mail.query(1).delete(from: &context) }
        let other = #expect(throws: HornbeamError.self) {
            try database.read { _ = try filtered.entity(at: ViewPosition(group: "a", index: 0), in: $0) }
        }
        #expect(other?.code == .invalid)
        #expect(try reader.moveForward { try filtered.move($0) }.deletions.map(\.id) == [1])
    }

    @Test("a write has no state for a list")
    func writes() throws {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in try Mail(id: 1, folder: "a", rank: 1).save(to: &context) }
        var filtered = Filtered(view) { _ in true }
        var list = ViewMappings(view)
        try database.read { context in
            try filtered.load(in: context)
            try list.load(in: context)
        }
        let (former, formerList) = (filtered, list)
        var codes: [HornbeamError.Code?] = []
        try database.write { context in
            try Mail(id: 2, folder: "a", rank: 2).save(to: &context)
            do { try filtered.load(in: context) } catch { codes.append((error as? HornbeamError)?.code) }
            do { try list.load(in: context) } catch { codes.append((error as? HornbeamError)?.code) }
        }
        #expect(codes == [.invalid, .invalid])
        #expect(filtered.ids(of: "a") == former.ids(of: "a"))
        #expect(list.count(ofSection: 0) == formerList.count(ofSection: 0))
    }

    /// Returns a view of one mail, with another entry for the mail.
    private func damaged(_ folder: String, _ key: ([UInt8]) -> [UInt8]) throws -> (Database, MailView) {
        let view = mailView()
        let database = try Database.inMemory(models: Mail.self, indexes: [view])
        try database.write { context in try Mail(id: 1, folder: folder, rank: 1).save(to: &context) }
        let write = try database.store.beginWrite()
        let tree = try #require(try write.tree("m:Mail:inbox"))
        var cursor = try write.cursor(tree)
        #expect(try cursor.first())
        try write.put(tree, key(Array(cursor.key)), Array(cursor.value))
        try write.commit()
        return (database, view)
    }

    @Test("two entries of one entity are damage, and so is a group that has two keys")
    func damage() throws {
        let (twice, view) = try damaged("a") { Array($0.dropLast()) + [1] }
        var filtered = Filtered(view) { _ in true }
        let error = #expect(throws: HornbeamError.self) { try twice.read { try filtered.load(in: $0) } }
        #expect(error?.code == .corrupt)
        #expect(filtered.count == 0)
        // One text in composed and decomposed form.
        let (split, other) = try damaged("\u{E9}") { key in
            let place = key.firstIndex(of: 0xC3) ?? 0
            return Array(key[..<place]) + [0x65, 0xCC, 0x81] + Array(key[(place + 2)...])
        }
        var list = ViewMappings(other)
        let groups = #expect(throws: HornbeamError.self) { try split.read { try list.load(in: $0) } }
        #expect(groups?.code == .corrupt)
        #expect(list.sectionCount == 0)
    }
}
