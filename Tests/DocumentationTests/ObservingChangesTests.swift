// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Observing changes”.

import Hornbeam
import Testing

@EntityModel
private struct Chore {
    @Index<Self>(\.due) private var byDue

    let id: Int
    var title: String
    var due: Int
    var isDone = false
}

@EntityModel
private struct Total {
    let id: Int
    var count: Int
}

/// Represents a list on a screen.
@MainActor
private final class Screen {
    var rows: [String] = []

    func show(_ list: LiveList<Chore>) {
        if let changes = list.changes {
            rows = changes.applied(to: rows) { list.entities[$0].title }
        } else {
            rows = list.entities.map(\.title)
        }
    }
}

@Suite("The guide “Observing changes”", .timeLimit(.minutes(30)))
struct ObservingChangesTests {
    private func chores() throws -> Database {
        let database = try Database.inMemory(models: Chore.self, Total.self)
        try database.write { context in
            for id in 1...3 { try Chore(id: id, title: "Chore \(id)", due: id).save(to: &context) }
        }
        return database
    }

    @Test("A list on a screen follows the store")
    @MainActor
    func list() async throws {
        let database = try chores()
        let screen = Screen()
        for try await list in database.observe(Chore.filter(\.isDone == false).sorted(by: \.due)) {
            screen.show(list)
            if list.changes != nil { break }
            try await database.write { context in
                try Chore(id: 1, title: "Last", due: 9).save(to: &context)
                try Chore(id: 2, title: "Chore 2", due: 2, isDone: true).save(to: &context)
            }
        }
        #expect(screen.rows == ["Chore 3", "Last"])
    }

    @Test("One entity, and a count")
    func others() async throws {
        let database = try chores()
        for try await chore in database.observe(Chore.query(1)) {
            if !chore.isLive { break }
            try await database.write { try Chore.delete(id: 1, from: &$0) }
        }
        for try await count in database.observeCount(Chore.filter(\.isDone == false)) {
            if count == 0 { break }
            try await database.write { context in
                _ = try Chore.query().update(in: &context) { $0.isDone = true }
            }
        }
        #expect(try await database.read { try $0.ids(Chore.self) } == [2, 3])
    }

    @Test("A cache forgets what has changed")
    func cache() async throws {
        let database = try chores()
        var cache = [1: "Chore 1", 2: "Chore 2"]
        var elements = 0
        for try await changes in database.observeAll() {
            guard changes.isComplete(for: Chore.self) else {
                cache = [:]
                continue
            }
            for id in changes.deleted(Chore.self) + changes.updated(Chore.self) { cache[id] = nil }
            elements += 1
            if elements == 2 { break }
            try await database.write { try Chore(id: 1, title: "New", due: 1).save(to: &$0) }
        }
        #expect(cache == [2: "Chore 2"])
    }

    @Test("A consumer sends each change, and counts in its own write")
    func consumer() throws {
        let database = try chores()
        let upload = try database.consumer(named: "upload", of: Chore.self)
        var sent: [String] = []
        func send(_ id: Int, _ kind: ChangeKind) throws { sent.append("\(kind) \(id)") }
        try database.write { context in
            try Chore.delete(id: 1, from: &context)
            try Chore(id: 4, title: "Chore 4", due: 4).save(to: &context)
        }
        guard case .batch(let batch) = try upload.next() else {
            Issue.record("there is no batch")
            return
        }
        while case .batch(let batch) = try upload.next(limit: 50) {
            for change in batch.changes {
                guard let id = change.id(of: Chore.self) else { continue }
                try send(id, change.kind)
            }
            try upload.acknowledge(batch)
        }
        #expect(sent == ["inserted 4", "deleted 1"])
        #expect(throws: HornbeamError.self) { try count(batch, database, upload) }

        try database.write { try Chore.delete(id: 4, from: &$0) }
        guard case .batch(let next) = try upload.next() else {
            Issue.record("there is no batch")
            return
        }
        try count(next, database, upload)
        #expect(try database.read { try $0.find(Total.self, 1) }?.count == 1)
        #expect(try database.changeConsumers().map(\.pending) == [0])
    }

    private func count(_ batch: ChangeBatch, _ database: Database, _ upload: ChangeConsumer) throws {
        try database.write { context in
            var total = try context.find(Total.self, 1) ?? Total(id: 1, count: 0)
            total.count += batch.changes.count
            try total.save(to: &context)
            try upload.acknowledge(batch, in: &context)
        }
    }

    @Test("A bounded consumer that was away gets a gap")
    func bound() throws {
        let database = try chores()
        let mirror = try database.consumer(named: "mirror", of: Chore.self, retention: 1000)
        try database.write { context in
            for id in 1...1500 { try Chore(id: id, title: "New", due: id).save(to: &context) }
        }
        switch try mirror.next() {
        case .batch(let batch): try mirror.acknowledge(batch)
        case .gap(_, let last): try mirror.acknowledge(through: last)  // read all entities anew
        case .none: break
        }
        #expect(try database.changeConsumers().map(\.pending) == [1000])
        #expect(try database.unregisterConsumer(named: "mirror"))
    }
}
