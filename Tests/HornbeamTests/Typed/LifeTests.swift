// SPDX-License-Identifier: Apache-2.0
// Random lives: entities saved, deleted, restored, purged, inserted and removed in a file that is closed and opened
// again, against a model in memory. After each write the whole store is checked, tombstones and indexes included.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Node: Equatable {
    @Index<Self>(.updatedAt) private var byUpdate
    @Unique<Self>(\.key) private var byKey
    let id: String
    var key: Int
    var text: String?
    @Relationship(deleteRule: .cascade, inverse: \.parent) var children: [Node]?
    @Relationship(inverse: \.children) var parent: Node?
}

/// What a store should hold.
private struct Expected: Equatable {
    var stored: [String: Node] = [:]
    var deleted: [String: Node] = [:]

    mutating func save(_ node: Node) {
        for (id, other) in stored where other.key == node.key && id != node.id { delete(id) }
        stored[node.id] = node.normalized()
        deleted[node.id] = nil
    }

    mutating func delete(_ id: String) {
        if let node = stored.removeValue(forKey: id) { deleted[id] = node }
    }
}

@Suite("Lives of entities")
struct LifeTests {
    private let ids = (0..<10).map { "n\($0)" }

    private func step(_ random: inout SeededGenerator, _ context: inout Context, _ expected: inout Expected) throws {
        guard let id = ids.randomElement(using: &random) else { return }
        let node = Node(id: id, key: random.below(12), text: random.oneIn(3) ? nil : "text \(random.below(5))")
        switch random.below(8) {
        case 0...2:
            try node.save(to: &context)
            expected.save(node)
        case 3:
            try Node.delete(id: id, from: &context)
            expected.delete(id)
        case 4:
            guard let gone = try context.find(id) as Deleted<Node>? else { return }
            try gone.restore(in: &context)
            expected.save(gone.entity)
        case 5:
            let gone = Deleted(node)
            try gone.save(to: &context)
            expected.delete(id)
            expected.deleted[id] = node
        case 6:
            try context.remove(Node.self, id: id)
            expected.stored[id] = nil
        default:
            if random.oneIn(4) {
                let count = try Deleted<Node>.purge(before: nil, from: &context)
                #expect(count == expected.deleted.count)
                expected.deleted = [:]
            } else {
                try Deleted<Node>.delete(id: id, from: &context)
                expected.deleted[id] = nil
            }
        }
    }

    private func found(_ context: Context) throws -> Expected {
        var found = Expected()
        for node in try Node.query().resolve(in: context) { found.stored[node.id] = node }
        for gone in try Deleted<Node>.query().resolve(in: context) { found.deleted[gone.id] = gone.entity }
        return found
    }

    @Test("are what was done to them, in memory and in a file that is opened again", .seeded)
    func random() throws {
        struct Refusal: Error {}
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = Database.Options()
        options.durability = .process
        var random = SeededGenerator()
        var expected = Expected()
        for _ in 0..<6 {
            let database = try Database(at: folder.path("nodes.hornbeam"), models: Node.self, options: options)
            #expect(try database.read { try found($0) } == expected)
            for _ in 0..<20 {
                let before = expected
                do {
                    try database.write { context in
                        let start = Date()
                        for _ in 0..<random.below(6) { try step(&random, &context, &expected) }
                        #expect(try found(context) == expected)
                        let saved = try Node.filter(.updated(within: start...Date())).ids(in: context)
                        #expect(Set(saved).isSubset(of: Set(expected.stored.keys)))
                        if random.oneIn(5) { throw Refusal() }
                    }
                } catch is Refusal {
                    expected = before
                }
                #expect(try database.check { Issue.record("\($0)") })
            }
            let order = try database.read { try Node.query().sorted(by: .updatedAt).resolve(in: $0).map(\.id) }
            #expect(Set(order) == Set(expected.stored.keys))
            try database.close()
        }
    }
}
