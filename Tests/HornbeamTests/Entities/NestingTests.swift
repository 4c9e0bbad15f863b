// SPDX-License-Identifier: Apache-2.0
// Deeply nested values: up to the allowed number of levels they are saved, coded, described and compared on the
// smallest stacks; beyond it there is an error, not a crash.

import Foundation
import Testing

@testable import Hornbeam

/// An entity of more than a few words, so that each level has a large copy on the stack.
@EntityModel
private struct Reply: Codable {
    @Unique<Self>(\.subject, collisions: .replace) private var bySubject
    let id: Int
    var subject: String
    var text: String
    var author = "nobody"
    var language = "en"
    var mood: String?
    var sentAt: Double?
    @Relationship(inverse: \.answers) var to: Reply?
    @Relationship(inverse: \.to) var answers: [Reply]?
}

/// An entity that saves a chain of its own when it is saved.
@EntityModel
private struct Opener {
    let id: Int
    var levels: Int
    func didSave(to context: inout Context) throws {
        if id < 20 { try Opener(id: id + 1, levels: levels).save(to: &context) }
        if id == 20 { try chain(levels).save(to: &context) }
    }
}

/// Returns a reply to a reply and so on: `levels` replies, each nested in the one before.
private func chain(_ levels: Int, subject: String = "s") -> Reply {
    var reply = Reply(id: 0, subject: "\(subject) 0", text: "the first")
    for id in 1..<max(1, levels + 1) {
        reply = Reply(id: id, subject: "\(subject) \(id)", text: "an answer", to: .relation(reply))
    }
    return reply
}

/// Returns a chain whose links are lists.
private func lists(_ levels: Int) -> Reply {
    var reply = Reply(id: 0, subject: "0", text: "the first")
    for id in 1..<(levels + 1) {
        reply = Reply(id: id, subject: "\(id)", text: "an answer", answers: .relation([reply]))
    }
    return reply
}

@Suite("Values deep in one another")
struct NestingTests {
    private func refusal(_ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: HornbeamError.self, sourceLocation: location) { try body() }
        #expect(error?.code == .invalid, sourceLocation: location)
        for part in ["can't be", "\(Nesting.most)", "by their ids"] {
            #expect(error?.message.contains(part) == true, "\(part)", sourceLocation: location)
        }
    }

    @Test("are saved, whichever entity makes room at each level, within hooks too")
    func saved() async throws {
        try await inSmallThread {
            var context = Context()
            try chain(Nesting.most).save(to: &context)
            #expect(try context.ids(Reply.self).count == Nesting.most + 1)
            // Each reply takes the unique key of another one.
            var other = Reply(id: 1_000, subject: "s 0", text: "")
            for id in 1...Nesting.most {
                other = Reply(id: 1_000 + id, subject: "s \(id)", text: "", to: .relation(other))
            }
            try other.save(to: &context)
            #expect(try context.ids(Reply.self).first == 1_000)
            #expect(try context.ids(Reply.self).count == Nesting.most + 1)
            try Opener(id: 0, levels: Nesting.most).save(to: &context)
            #expect(try context.isWhole())
        }
    }

    @Test("are refused beyond that, with nothing stored")
    func refused() async throws {
        try await inSmallThread {
            let database = try Database.inMemory(models: Reply.self, Opener.self)
            let value = chain(Nesting.most + 1)
            refusal { try database.write { try value.save(to: &$0) } }
            refusal { try database.write { try $0.saveAll([value]) } }
            refusal { try database.write { try value.save(\.$to, inverse: \.$answers, to: &$0) } }
            refusal { try database.write { try Opener(id: 0, levels: Nesting.most + 1).save(to: &$0) } }
            #expect(try database.read { try $0.ids(Reply.self) + $0.ids(Opener.self) } == [])
            // The release of a chain of thousands needs a large stack.
            let long = chain(400)
            refusal { try database.write { try long.save(to: &$0) } }
        }
    }

    @Test("are compared like observers compare them")
    func fingerprints() async throws {
        try await inSmallThread {
            let context = Context()
            _ = try context.session.store(Reply.self)
            let print = try Fingerprint.of(chain(Nesting.most), context.session)
            #expect(try Fingerprint.of(chain(Nesting.most), context.session) == print)
            #expect(try Fingerprint.of(chain(Nesting.most, subject: "t"), context.session) != print)
            refusal { _ = try Fingerprint.of(chain(Nesting.most + 1), context.session) }
        }
    }

    @Test(
        "are encoded and decoded, in each form",
        arguments: [RelationEncodingStrategy.plain, .keyedContainer, .explicitKeyedContainer])
    func coded(_ strategy: RelationEncodingStrategy) async throws {
        try await inSmallThread {
            let encoder = JSONEncoder()
            encoder.relationEncodingStrategy = strategy
            encoder.outputFormatting = .sortedKeys
            let decoder = JSONDecoder()
            decoder.relationDecodingStrategy = [.plain, .keyedContainer, .explicitKeyedContainer]
            for inLists in [false, true] {
                let make: (Int) -> Reply = { inLists ? lists($0) : chain($0) }
                let data = try encoder.encode(make(Nesting.most))
                let again = try encoder.encode(try decoder.decode(Reply.self, from: data))
                #expect(again == data)
                refusal { _ = try encoder.encode(make(Nesting.most + 1)) }
                let most = nested(Nesting.most, strategy, inLists: inLists)
                _ = try decoder.decode(Reply.self, from: Data(most.utf8))
                let more = nested(Nesting.most + 1, strategy, inLists: inLists)
                refusal { _ = try decoder.decode(Reply.self, from: Data(more.utf8)) }
            }
            #expect(chain(Nesting.most + 1).prettyDescription() == nil)
            #expect(chain(20).prettyDescription()?.contains("the first") == true)
        }
    }

    @Test("are described as deep as possible")
    func described() async throws {
        try await inSmallThread {
            #expect(String(describing: chain(10)).contains("the first"))
            let text = String(describing: chain(Nesting.most + 1))
            #expect(text.contains("…") && !text.contains("the first"))
        }
    }
}

/// Returns JSON of `levels` levels, nested in one another directly or in lists of one element.
private func nested(_ levels: Int, _ strategy: RelationEncodingStrategy, inLists: Bool) -> String {
    let isPlain = strategy == .plain
    let name = inLists ? "answers" : "to"
    var text = #"{"id":0,"subject":"s","text":"t","author":"a","language":"en"}"#
    for id in 1...levels {
        let coded = inLists ? "[\(text)]" : text
        let value = isPlain ? coded : #"{"\#(inLists ? "objects" : "object")":\#(coded)}"#
        text = #"{"id":\#(id),"subject":"s","text":"t","author":"a","language":"en","\#(name)":\#(value)}"#
    }
    return text
}
