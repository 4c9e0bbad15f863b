// SPDX-License-Identifier: Apache-2.0
// Merging of incomplete and of older values, hooks and their order, and indexes, which follow the merged values.

import Hornbeam
import Testing
@testable import HornbeamEngine

@EntityModel
private struct Document: Equatable {
    @Index<Self>(\.version) private var byVersion
    @Index<Self>(\.title) private var byTitle

    let id: Int
    var version = 0
    var title: String?
    var note: String?
    var tags: [String] = []
    var marks: [Int]?
}

extension Document {
    static var latest: MergeStrategy<Self> { .lastWriteWins(.patch(\.note), comparedBy: \.version) }
}

@Suite("Merging and hooks")
struct MergeTests {
    @Test("replace is the default; a fragment keeps values that it lacks")
    func fragments() throws {
        var context = Context()
        try Document(id: 1, version: 1, title: "a", note: "n").save(to: &context)
        try Document(id: 1, version: 2, note: "m").save(to: &context, options: .fragment)
        #expect(try context.find(1) == Document(id: 1, version: 2, title: "a", note: "m"))
        try Document(id: 1, version: 3).save(to: &context)
        #expect(try context.find(1) == Document(id: 1, version: 3))
        var chat = Chat(id: "1", users: .relation([User(id: "1", name: "Bob", profile: .init(about: "x"))]))
        try chat.save(to: &context)
        chat.$users = .fragment([User(id: "1", name: "Bobby")])
        try chat.save(to: &context)
        #expect(try context.find("1").map { (user: User) in user.profile?.about } == "x")
        #expect(try context.find("1").map { (user: User) in user.name } == "Bobby")
    }

    @Test("strategies fold over the new value: append, patch, custom, the last write")
    func strategies() throws {
        let old = Document(id: 1, version: 2, title: "a", note: "n", tags: ["x"], marks: [1])
        let new = Document(id: 1, version: 1, title: "b", tags: ["y"], marks: [2])
        let joined = MergeStrategy<Document>(.append(\.tags), .append(\.marks), .patch(\.note)).merge(old, new: new)
        #expect(joined == Document(id: 1, version: 1, title: "b", note: "n", tags: ["x", "y"], marks: [1, 2]))
        #expect(MergeStrategy<Document>.append(\.marks).merge(Document(id: 1), new: Document(id: 1)).marks == nil)
        let own = MergeStrategy<Document> { old, new in old.version > new.version ? old : new }
        #expect(own.merge(old, new: new) == old)
        #expect(Document.latest.merge(old, new: new) == old)
        #expect(Document.latest.merge(new, new: Document(id: 1, version: 1, note: "z")).note == "z")
        #expect(MergeStrategy<Int?>.patch().merge(3, new: nil) == 3)
        #expect(MergeStrategy<Int>.lastWriteWins().merge(3, new: 2) == 3)
    }

    @Test("indexes follow the merged value, not the given one")
    func indexesFollow() throws {
        var context = Context()
        try Document(id: 1, version: 5, title: "kept").save(to: &context)
        try Document(id: 1, version: 4, title: "lost").save(to: &context, options: Document.latest)
        #expect(try Document.filter(\.title == "lost").count(in: context) == 0)
        #expect(try Document.filter(\.version == 5).ids(in: context) == [1])
        try Document(id: 1, version: 6).save(to: &context, options: .fragment)
        #expect(try Document.filter(\.title == "kept").ids(in: context) == [1])
        #expect(try Document.filter(\.title == nil).count(in: context) == 0)
    }

    @Test("a strategy that changes the id is refused")
    func changedId() throws {
        var context = Context()
        try Document(id: 1).save(to: &context)
        let wrong = MergeStrategy<Document> { _, _ in Document(id: 2) }
        #expect(throws: HornbeamError.self) { try Document(id: 1).save(to: &context, options: wrong) }
        #expect(try context.ids(Document.self) == [1])
    }

    @Test("hooks run around saving and deleting, and may change and save in turn")
    func hooks() throws {
        var context = Context()
        var thing = Hooked(id: 1, name: " padded ")
        thing.$child = .relation(Hooked(id: 2, name: "child"))
        try thing.save(to: &context)
        #expect(try context.find(1).map { (found: Hooked) in found.name } == "padded")
        #expect(try logged(context) == ["willSave 1", "willSave 2", "didSave 2", "didSave 1"])
        #expect(thing.name == " padded ")
        try Hooked.delete(id: 1, from: &context)
        #expect(try logged(context).dropFirst(4) == ["willDelete 1", "willDelete 2", "didDelete 2", "didDelete 1"])
        try Hooked.delete(id: 1, from: &context)
        #expect(try logged(context).count == 8)
        try Hooked(id: 3, name: "unsaved").delete(from: &context)
        #expect(try logged(context).suffix(2) == ["willDelete 3", "didDelete 3"])
        #expect(throws: Hooked.Refused.self) { try Hooked(id: 4, name: "refused").save(to: &context) }
        #expect(try context.ids(Hooked.self) == [])
    }

    private func logged(_ context: Context) throws -> [String] {
        try LogLine.query().resolve(in: context).map(\.text)
    }
}

@EntityModel
private struct LogLine {
    let id: Int
    let text: String
}

@EntityModel
private struct Hooked {
    let id: Int
    var name: String
    @Relationship(deleteRule: .cascade) var child: Hooked? = nil

    struct Refused: Error {}

    init(id: Int, name: String) {
        self.id = id
        self.name = name
    }

    private func log(_ event: String, _ context: inout Context) throws {
        try LogLine(id: try LogLine.query().count(in: context), text: "\(event) \(id)").save(to: &context)
    }

    mutating func willSave(to context: inout Context) throws {
        if name == "refused" { throw Refused() }
        if name == " padded " { name = "padded" }
        try log("willSave", &context)
    }

    func didSave(to context: inout Context) throws { try log("didSave", &context) }
    func willDelete(from context: inout Context) throws { try log("willDelete", &context) }
    func didDelete(from context: inout Context) throws { try log("didDelete", &context) }
}
