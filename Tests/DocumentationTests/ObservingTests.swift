// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Live queries” (Docs/observation.md).

import Foundation
import Hornbeam
import Testing

@EntityModel
struct Contact {
    @Index<Self>(\.name) private var byName

    let id: Int
    var name: String
    var age: Int

    @Relationship(inverse: \.contacts) var circles: [Circle]?
}

@EntityModel
struct Circle {
    let id: Int
    var title: String

    @Relationship(inverse: \.circles) var contacts: [Contact]?
}

/// Represents a table on a screen.
@MainActor
private final class Table {
    var rows: [String] = []
    var log: [String] = []

    func show(_ list: LiveList<Contact>) {
        guard let changes = list.changes else {
            rows = list.entities.map(\.name)
            return
        }
        let leaving = changes.deletions + changes.moves.map(\.from)
        for position in leaving.sorted(by: >) { rows.remove(at: position) }
        let arriving = changes.insertions + changes.moves.map(\.to)
        for position in arriving.sorted() { rows.insert(list.entities[position].name, at: position) }
        for position in changes.updates { rows[position] = list.entities[position].name }
        log.append("+\(changes.insertions.count) -\(changes.deletions.count) ↕\(changes.moves.count)")
    }
}

@Suite("Live queries, as the guide shows them", .timeLimit(.minutes(30)))
struct ObservingTests {
    private func contacts() throws -> Database {
        let database = try Database.inMemory(models: Contact.self, Circle.self)
        try database.write { context in
            for (id, name) in ["Ada", "Bob", "Cleo"].enumerated() {
                try Contact(id: id, name: name, age: 20 + id).save(to: &context)
            }
            try Circle(id: 1, title: "Chess", contacts: .ids([0, 2])).save(to: &context)
        }
        return database
    }

    @Test("A list follows its change-sets, on the main actor")
    @MainActor
    func list() async throws {
        let database = try contacts()
        let table = Table()
        for try await list in database.observe(Contact.filter(\.age > 18).sorted(by: \.name)) {
            table.show(list)
            if list.changes == nil {
                try await database.write { try Contact(id: 0, name: "Zoe", age: 30).save(to: &$0) }
            } else if list.entities.count == 3 {
                #expect(table.rows == ["Bob", "Cleo", "Zoe"])
                try await database.write { context in
                    try Contact.delete(id: 1, from: &context)
                    try Contact(id: 9, name: "Eve", age: 40).save(to: &context)
                    try Contact(id: 10, name: "Fay", age: 40).save(to: &context)
                }
            } else {
                break
            }
        }
        #expect(table.rows == ["Cleo", "Eve", "Fay", "Zoe"])
        #expect(table.log == ["+0 -0 ↕1", "+2 -1 ↕0"])
    }

    @Test("The changes alone")
    func changes() async throws {
        let database = try contacts()
        for try await element in database.changes(of: Contact.query()) {
            guard let changes = element.changes else {
                #expect(element.count == 3)
                try await database.write { try Contact(id: 7, name: "Gil", age: 3).save(to: &$0) }
                continue
            }
            for (position, contact) in zip(changes.insertions, element.inserted) {
                #expect(position == 3)
                #expect(contact.name == "Gil")
            }
            break
        }
    }

    @Test("One entity, a count, groups")
    func others() async throws {
        let database = try contacts()
        for try await contact in database.observe(Contact.query(1)) {
            if !contact.isLive {
                #expect(contact.entity?.name == "Bob")
                break
            }
            try await database.write { try Contact.delete(id: 1, from: &$0) }
        }
        for try await count in database.observeCount(Contact.filter(\.age >= 20)) {
            if count == 1 { break }
            try await database.write { try Contact.delete(id: 0, from: &$0) }
        }
        for try await group in database.observe(Circle.query().related(\.$contacts)) {
            guard let changes = group.changes else {
                #expect(group.sections.map { $0.map(\.name) } == [["Cleo"]])
                try await database.write { context in
                    try Circle(id: 2, title: "Go", contacts: .ids([2])).save(to: &context)
                    try Contact(id: 2, name: "Cleopatra", age: 22).save(to: &context)
                }
                continue
            }
            #expect(changes.insertions == [1])
            #expect(changes.sections.map(\.position) == [0])
            #expect(changes.sections[0].changes.updates == [0])
            break
        }
    }

    @Test("Groups with aggregates, and aggregates")
    func aggregates() async throws {
        let database = try contacts()
        let byAge = Contact.query().grouped(by: \.age).aggregate(.count)
        var sizes: [Int] = []
        for try await groups in database.observe(byAge) {
            sizes.append(groups.rows.count)
            if groups.changes != nil { break }
            try await database.write { context in try Contact(id: 77, name: "Zoe", age: 117).save(to: &context) }
        }
        #expect(sizes.count == 2 && sizes[1] == sizes[0] + 1)
        var oldest: [Int?] = []
        for try await (_, age) in database.observe(Contact.query(), aggregating: .count, .max(\.age)) {
            oldest.append(age)
            if oldest.count == 2 { break }
            try await database.write { context in try Contact.delete(id: 77, from: &context) }
        }
        #expect(oldest.first == 117 && oldest.last != 117)
    }

    @Test("All committed changes")
    func everything() async throws {
        let database = try contacts()
        var cache: [Int: String] = [1: "Bob"]
        var isFirst = true
        for try await changes in database.observeAll() {
            if isFirst {
                isFirst = false
                try await database.write { context in
                    try Contact.delete(id: 1, from: &context)
                    try Contact(id: 0, name: "Zoe", age: 30).save(to: &context)
                }
                continue
            }
            for id in changes.deleted(Contact.self) { cache[id] = nil }
            for id in changes.inserted(Contact.self) + changes.updated(Contact.self) {
                cache[id] = try await database.read { try $0.find(id).map { (contact: Contact) in contact.name } }
            }
            break
        }
        #expect(cache == [0: "Zoe"])
    }
}
