// SPDX-License-Identifier: Apache-2.0
// Random lives, compared with a model in memory: entities are saved, deleted, restored, purged, inserted and removed
// in a file that is closed and opened again. They have others nested in them, whose keys and delete rules lead back
// to the entity being saved. After each write the whole store is checked, including deleted entities, links and
// indexes.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Node: Equatable {
    @Index<Self>(.updatedAt) private var byUpdate
    @Unique<Self>(\.key, collisions: .replace) private var byKey
    let id: String
    var key: Int
    var text: String?
    @Relationship(deleteRule: .cascade, inverse: \.parent) var children: [Node]?
    @Relationship(inverse: \.children) var parent: Node?
}

/// The expected content of a store.
private struct Expected: Equatable {
    /// An entity's present or former links.
    struct Links: Equatable {
        var children: [String] = []
        var parent: String?

        var isEmpty: Bool { children.isEmpty && parent == nil }
    }

    struct Refused: Error {}

    var stored: [String: Node] = [:]
    var deleted: [String: Node] = [:]
    /// Links by ids, stored or not.
    var links: [String: Links] = [:]
    var formerLinks: [String: Links] = [:]
    /// How often saving a node's nested entities has deleted the node, and how often that never ended. Not part of
    /// the content.
    var (savedAgain, refused) = (0, 0)

    static func == (left: Self, right: Self) -> Bool {
        left.stored == right.stored && left.deleted == right.deleted && left.links == right.links
            && left.formerLinks == right.formerLinks
    }

    // MARK: Saving

    mutating func save(_ node: Node) throws {
        put(node)
        if try saveRelations(of: node, again: false) { return }
        // Saving its nested entities has deleted it.
        savedAgain += 1
        put(node)
        guard try saveRelations(of: node, again: true) else { throw Refused() }
    }

    private mutating func put(_ node: Node) {
        for (id, other) in stored where other.key == node.key && id != node.id { delete(id) }
        stored[node.id] = node.normalized()
        forget(node.id)
    }

    mutating func forget(_ id: String) {
        deleted[id] = nil
        formerLinks[id] = nil
    }

    /// Saves the node's nested entities. Returns whether the node still exists.
    private mutating func saveRelations(of node: Node, again: Bool) throws -> Bool {
        try saveNested(node.$children.entities ?? [], again)
        if stored[node.id] != nil, let ids = node.$children.ids {
            if node.$children.isSlice {
                for id in ids { link(node.id, id) }
            } else {
                setChildren(of: node.id, ids)
            }
        }
        try saveNested(node.$parent.entities ?? [], again)
        guard stored[node.id] != nil else { return false }
        if let parent = node.$parent.id { link(parent, node.id) }
        return true
    }

    private mutating func saveNested(_ nodes: [Node], _ again: Bool) throws {
        for node in nodes where !again || stored[node.id] == nil { try save(node) }
    }

    // MARK: Links

    private mutating func link(_ parent: String, _ child: String) {
        if links[child]?.parent == parent { return }
        unlink(child)
        links[parent, default: Links()].children.append(child)
        links[child, default: Links()].parent = parent
    }

    private mutating func unlink(_ child: String) {
        guard let parent = links[child]?.parent else { return }
        links[parent]?.children.removeAll { $0 == child }
        links[child]?.parent = nil
        tidy(parent, child)
    }

    private mutating func setChildren(of id: String, _ children: [String]) {
        for child in links[id]?.children ?? [] where !children.contains(child) { unlink(child) }
        for child in children { link(id, child) }
        links[id]?.children = children
    }

    private mutating func tidy(_ ids: String...) {
        for id in ids where links[id]?.isEmpty == true { links[id] = nil }
    }

    // MARK: Deleting

    mutating func delete(_ id: String) {
        guard let node = stored[id] else { return }
        let links = links[id] ?? Links()
        setChildren(of: id, [])
        unlink(id)
        stored[id] = nil
        for child in links.children { delete(child) }
        deleted[id] = node
        formerLinks[id] = links
    }

    func restored(_ id: String) -> Node? {
        guard var node = deleted[id] else { return nil }
        let former = formerLinks[id] ?? Links()
        if !former.children.isEmpty { node.$children = .appending(ids: former.children) }
        if let parent = former.parent { node.$parent = .id(parent) }
        return node
    }
}

@Suite("Lives of entities")
struct LifeTests {
    private let ids = (0..<10).map { "n\($0)" }

    /// Returns a node with others nested in it, all with different ids.
    private func node(_ random: inout SeededGenerator, _ ids: inout [String], levels: Int) -> Node {
        var node = Node(
            id: ids.removeLast(), key: random.below(12), text: random.oneIn(3) ? nil : "text \(random.below(5))")
        let few = Array(ids.prefix(random.below(3)))
        switch random.below(levels > 0 ? 6 : 3) {
        case 0: node.$children = .ids(few)
        case 1: node.$children = .appending(ids: few)
        case 3: node.$children = .relation(nodes(&random, &ids, levels))
        case 4: node.$children = .appending(relation: nodes(&random, &ids, levels))
        default: break
        }
        if random.oneIn(2), !ids.isEmpty {
            let other = ids[0]
            node.$parent =
                levels > 0 && random.oneIn(2)
                ? .relation(self.node(&random, &ids, levels: levels - 1)) : .id(other)
        }
        return node
    }

    private func nodes(_ random: inout SeededGenerator, _ ids: inout [String], _ levels: Int) -> [Node] {
        (0..<random.below(3)).compactMap { _ in
            ids.isEmpty ? nil : node(&random, &ids, levels: levels - 1)
        }
    }

    private func save(
        _ random: inout SeededGenerator, _ context: inout Context, _ expected: inout Expected
    ) throws {
        var rest = ids.shuffled(using: &random)
        let node = self.node(&random, &rest, levels: 2)
        var after = expected
        do {
            try after.save(node)
        } catch is Expected.Refused {
            let error = #expect(throws: HornbeamError.self) { try context.transaction { try node.save(to: &$0) } }
            #expect(error?.code == .invalid)
            expected.refused += 1
            return
        }
        try node.save(to: &context)
        expected = after
    }

    private func step(_ random: inout SeededGenerator, _ context: inout Context, _ expected: inout Expected) throws {
        guard let id = ids.randomElement(using: &random) else { return }
        switch random.below(8) {
        case 0...2: try save(&random, &context, &expected)
        case 3:
            try Node.delete(id: id, from: &context)
            expected.delete(id)
        case 4:
            guard let gone = try context.find(id) as Deleted<Node>?, let node = expected.restored(id) else {
                return
            }
            try gone.restore(in: &context)
            try expected.save(node)
        case 5:
            let node = Node(id: id, key: random.below(12), text: "gone")
            try Deleted(node).save(to: &context)
            expected.delete(id)
            expected.deleted[id] = node
            expected.formerLinks[id] = Expected.Links()
        case 6:
            try context.remove(Node.self, id: id)
            expected.stored[id] = nil
        default:
            if random.oneIn(4) {
                let count = try Deleted<Node>.purge(before: nil, from: &context)
                #expect(count == expected.deleted.count)
                (expected.deleted, expected.formerLinks) = ([:], [:])
            } else {
                try Deleted<Node>.delete(id: id, from: &context)
                expected.forget(id)
            }
        }
    }

    /// Returns a context's content, with the links of stored entities only.
    private func found(_ context: Context) throws -> Expected {
        func links(_ node: Node) -> Expected.Links {
            Expected.Links(children: node.$children.ids ?? [], parent: node.$parent.id)
        }
        var found = Expected()
        for node in try Node.query().with(.ids).resolve(in: context) {
            found.stored[node.id] = node.normalized()
            if !links(node).isEmpty { found.links[node.id] = links(node) }
        }
        for gone in try Deleted<Node>.query().resolve(in: context) {
            found.deleted[gone.id] = gone.entity.normalized()
            found.formerLinks[gone.id] = links(gone.entity)
        }
        return found
    }

    private func seen(_ expected: Expected) -> Expected {
        var seen = expected
        seen.links = expected.links.filter { expected.stored[$0.key] != nil }
        return seen
    }

    @Test("match the operations on them, in memory and in a file that is opened again", .seeded)
    func random() throws {
        struct Refusal: Error {}
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = Database.Options.keepsAll
        options.durability = .process
        var random = SeededGenerator()
        var expected = Expected()
        for _ in 0..<6 {
            let database = try Database(at: folder.path("nodes.hornbeam"), models: Node.self, options: options)
            #expect(try database.read { try found($0) } == seen(expected))
            for _ in 0..<20 {
                let before = expected
                do {
                    try database.write { context in
                        let start = Date()
                        for _ in 0..<random.below(6) { try step(&random, &context, &expected) }
                        #expect(try found(context) == seen(expected))
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
        // With other seeds these cases may not occur.
        if SeededGenerator.seed == 1 {
            #expect(expected.savedAgain > 0 && expected.refused > 0, "\(expected.savedAgain), \(expected.refused)")
        }
    }
}
