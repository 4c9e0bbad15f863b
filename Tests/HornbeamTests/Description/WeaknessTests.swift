// SPDX-License-Identifier: Apache-2.0
// The weaknesses of the described entity model: each has a test, which is named after the right behaviour.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@EntityModel
private struct Paper: Equatable {
    @Index<Self>(\.version) private var byVersion
    @HashIndex<Self>(\.label) private var byLabel
    @Unique<Self>(\.code, collisions: .throw) private var byCode
    @Unique<Self>(\.place, collisions: .throw) private var byPlace
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var version = 0
    var label: String?
    var code: String?
    var place: String?
    var text = ""
    /// A property without an index, while `text` has one.
    var plain = ""

    init(
        _ id: Int, version: Int = 0, label: String? = nil, code: String? = nil, place: String? = nil, text: String = ""
    ) {
        (self.id, self.version, self.label) = (id, version, label)
        (self.code, self.place, self.text, self.plain) = (code, place, text, text)
    }
}

@EntityModel
private struct Login {
    @Unique<Self>(\.isCurrent, collisions: .keepingBoth) private var byCurrent
    let id: Int
    var isCurrent: Bool
}

extension CollisionResolver where Entity == Login {
    fileprivate static var keepingBoth: Self {
        CollisionResolver { (existing: Int, new: Int, index, context) in }
    }
}

extension Context {
    /// Returns the total number of an index's entries.
    fileprivate func entries<Entity: EntityModelProtocol>(_ index: String, of _: Entity.Type) throws -> UInt64? {
        let core = try session.core
        let indexes = try core.store(Entity.entityName).type.indexes
        return try indexes.first { $0.description.name == index }.map { try core.transaction.count($0.tree) }
    }

    fileprivate func papers(_ predicate: Predicate<Paper>) throws -> [Int] {
        try Paper.filter(predicate).ids(in: self).sorted()
    }
}

extension Database {
    // Uses the blocking forms, even where the others could be awaited.

    fileprivate func save(_ entity: some EntityModelProtocol) throws { try write { try entity.save(to: &$0) } }
    fileprivate func look(_ body: (Context) throws -> Void) throws { try read(body) }
}

@Suite("Where the described model is weak")
struct WeaknessTests {
    @Test("a message taken by another chat leaves the first, set from the container's side")
    func inverseOfMany() throws {
        var context = Context()
        try Chat(id: "1", messages: .relation([Message(id: "m", text: "")])).save(to: &context)
        try Chat(id: "2", messages: .ids(["m"])).save(to: &context)
        #expect(try Chat.query("1").id(\.$messages).resolve(in: context)?.$messages.ids == [])
        #expect(try Chat.query("2").id(\.$messages).resolve(in: context)?.$messages.ids == ["m"])
        #expect(try Message.query("m").id(\.$chat).resolve(in: context)?.$chat.id == "2")
    }

    @Test("an attachment taken by another message leaves the first without one")
    func inverseOfOne() throws {
        var context = Context()
        try Message(id: "1", text: "", attachment: .relation(Attachment(id: "a"))).save(to: &context)
        try Message(id: "2", text: "", attachment: .id("a")).save(to: &context)
        #expect(try Message.query("1").id(\.$attachment).resolve(in: context)?.$attachment.id == nil)
        #expect(try Message.query("2").id(\.$attachment).resolve(in: context)?.$attachment.id == "a")
        #expect(try Attachment.query("a").id(\.$message).resolve(in: context)?.$message.id == "2")
    }

    @Test("a copy of a context never disagrees with it, in rows or in indexes; a transaction undoes changes")
    func copies() throws {
        var context = Context()
        try Paper(1, version: 1).save(to: &context)
        var copy = context
        try Paper(1, version: 2).save(to: &copy)
        for view in [context, copy] {
            #expect(try view.find(1).map { (paper: Paper) in paper.version } == 2)
            #expect(try view.papers(\.version == 1) == [])
            #expect(try view.papers(\.version == 2) == [1])
        }
        struct Back: Error {}
        #expect(throws: Back.self) {
            try context.transaction { part in
                try Paper(1, version: 3).save(to: &part)
                throw Back()
            }
        }
        #expect(try context.find(1).map { (paper: Paper) in paper.version } == 2)
        #expect(try context.papers(\.version == 3) == [])
        #expect(try context.papers(\.version == 2) == [1])
        #expect(try context.isWhole())
    }

    @Test("a save refused by the second of two unique indexes leaves nothing in the first")
    func atomicity() throws {
        var context = Context()
        try Paper(1, code: "a", place: "x").save(to: &context)
        let error = #expect(throws: HornbeamError.self) { try Paper(2, code: "b", place: "x").save(to: &context) }
        #expect(error?.code == .uniqueViolation)
        // The refused save left no entry with this code.
        try Paper(3, code: "b", place: "y").save(to: &context)
        #expect(try context.papers(\.code == "b") == [3])
        #expect(try context.isWhole())
    }

    @Test("indexes hold the merged value, not a rejected one, and not the nil of a fragment")
    func mergedValue() throws {
        var context = Context()
        try Paper(1, version: 5, label: "l").save(to: &context)
        try Paper(1, version: 3, label: "m").save(to: &context, options: .lastWriteWins(comparedBy: \.version))
        #expect(try context.papers(\.version == 3) == [])
        #expect(try context.papers(\.version == 5) == [1])
        try Paper(1, version: 6).save(to: &context, options: .fragment)
        #expect(try context.papers(\.label == "l") == [1])
        #expect(try context.papers(\.label == nil) == [])
        #expect(try context.isWhole())
    }

    @Test("deleted entities take no place in ranked results under a limit, and don't count in the scores")
    func deletedText() throws {
        func scores(_ ids: Set<Int>, deleting: Set<Int>) throws -> [Double] {
            var context = Context()
            for id in ids.union(deleting).sorted() { try Paper(id, text: "hornbeam \(id)").save(to: &context) }
            for id in deleting { try Paper.delete(id: id, from: &context) }
            let query = Paper.filter(.string(\.text, matches: "hornbeam"))
            #expect(try query.limit(1).ids(in: context).count == 1)
            #expect(try query.limit(2).ids(in: context).count == min(2, ids.count))
            return try query.ranked(in: context).map(\.score)
        }
        #expect(try scores([3], deleting: [1, 2]) == scores([3], deleting: []))
        #expect(try scores([1, 4, 5], deleting: [2, 3]) == scores([1, 4, 5], deleting: []))
    }

    @Test("contains, prefix and suffix find the same with a full-text index, also with short words")
    func shortParts() throws {
        var context = Context()
        for (id, text) in ["we go to it", "a b", "Go", "", "no"].enumerated() {
            try Paper(id, text: text).save(to: &context)
        }
        for part in ["go", "o to", "b", " ", "G", "it", "we", "no", "x"] {
            #expect(
                try context.papers(.string(\.text, contains: part))
                    == context.papers(.string(\.plain, contains: part)), "\(part)")
            #expect(
                try context.papers(.string(\.text, hasPrefix: part))
                    == context.papers(.string(\.plain, hasPrefix: part)), "\(part)")
            #expect(
                try context.papers(.string(\.text, hasSuffix: part))
                    == context.papers(.string(\.plain, hasSuffix: part)), "\(part)")
        }
        #expect(try context.papers(.string(\.text, contains: "go")) == [0, 2])
        #expect(try context.papers(.string(\.text, contains: "o to")) == [0])
    }

    @Test("matches finds the same with and without an index, in any case")
    func matchesAlike() throws {
        var context = Context()
        for (id, text) in ["HELLO there", "say hello", "nothing", "Ça va", "ça"].enumerated() {
            try Paper(id, text: text).save(to: &context)
        }
        for text in ["hello", "HELLO", "There hello", "ÇA", "va", "none", ""] {
            let found = try context.papers(.string(\.text, matches: text))
            #expect(try found == context.papers(.string(\.plain, matches: text)), "\(text)")
        }
        #expect(try context.papers(.string(\.text, matches: "hello")) == [0, 1])
    }

    @Test("the indexed text is unchanged: line breaks, quotes and backslashes are not escaped in it")
    func plainText() throws {
        var context = Context()
        try Paper(1, text: "first\nnext \"quoted\" back\\slash").save(to: &context)
        for word in ["first", "next", "quoted", "back", "slash"] {
            #expect(try context.papers(.string(\.text, matches: word)) == [1], "\(word)")
        }
        for word in ["nnext", "n", "nquoted", "firstnnext"] {
            #expect(try context.papers(.string(\.text, matches: word)) == [], "\(word)")
        }
    }

    @Test("regular expressions find text after emoji")
    func textBehindEmoji() throws {
        var context = Context()
        try Paper(1, text: "👩‍👩‍👧‍👦👩‍👩‍👧‍👦🇩🇪 and the end").save(to: &context)
        #expect(try context.papers(.string(\.text, matches: /the end$/)) == [1])
        #expect(try context.papers(.string(\.text, notMatching: /end/)) == [])
        #expect(try context.papers(.string(\.text, contains: "end")) == [1])
    }

    @Test("deleted entities leave no entry in an index")
    func noLeftovers() throws {
        var context = Context()
        for id in 0..<50 { try Paper(id, version: id % 5, label: "l", code: "\(id)", text: "t").save(to: &context) }
        for id in 0..<50 where id > 2 { try Paper.delete(id: id, from: &context) }
        for index in ["byVersion", "byLabel", "byCode"] {
            #expect(try context.entries(index, of: Paper.self) == 3, "\(index)")
        }
        for id in 0..<3 { try Paper.delete(id: id, from: &context) }
        for index in ["byVersion", "byLabel", "byCode"] {
            #expect(try context.entries(index, of: Paper.self) == 0, "\(index)")
        }
        #expect(try context.isWhole())
    }

    @Test("after a resolver left two entities with one key, changing the first leaves the second its entry")
    func keptDuplicate() throws {
        var context = Context()
        try Login(id: 1, isCurrent: true).save(to: &context)
        try Login(id: 2, isCurrent: true).save(to: &context)
        try Login(id: 1, isCurrent: false).save(to: &context)
        #expect(try Login.filter(\.isCurrent == true).ids(in: context) == [2])
        #expect(try Login.filter(\.isCurrent == false).ids(in: context) == [1])
        try Login.delete(id: 1, from: &context)
        #expect(try Login.filter(\.isCurrent == true).ids(in: context) == [2])
        #expect(try context.isWhole())
    }

    @Test("saved entities are there after reopening, commits are observed, errors have codes")
    func persistence() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        func open() throws -> Database {
            var options = Database.Options()
            options.requiresRelations = true
            return try Database(at: folder.path("chats"), models: [Chat.self, Paper.self], options: options)
        }
        let first = try open()
        try first.save(Paper(1, text: "kept"))
        var papers = first.observe(Paper.query()).makeAsyncIterator()
        #expect(try await papers.next()?.entities.map(\.id) == [1])
        try first.save(Paper(2))
        #expect(try await papers.next()?.entities.map(\.id) == [1, 2])
        let missing = #expect(throws: HornbeamError.self) {
            try first.save(Message(id: "1", text: "", chat: .id("none")))
        }
        #expect(missing?.code == .missingRelation)
        try first.close()
        let second = try open()
        try second.look { context throws in
            #expect(try context.papers(.string(\.text, matches: "kept")) == [1])
            #expect(try context.ids(Paper.self) == [1, 2])
            #expect(try context.ids(Message.self) == [])
        }
        #expect(try second.check { Issue.record("\($0)") })
        try second.close()
    }
}
