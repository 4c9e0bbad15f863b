// SPDX-License-Identifier: Apache-2.0
// Relations as JSON: three forms, and the information left in each of them.

import Foundation
import Hornbeam
import Testing

/// All properties but the id may be missing.
@EntityModel
private struct Label: Codable {
    let id: Int
    var title: String?
    var weight: Int?
}

@EntityModel
private struct Tag: Codable {
    let id: String
    var text: String
}

@Suite("Relations as JSON")
struct RelationCodingTests {
    private func json(_ value: some Encodable, _ strategy: RelationEncodingStrategy) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.relationEncodingStrategy = strategy
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func decoded<Value: Decodable>(_ json: String, _ forms: RelationDecodingStrategy) throws -> Value {
        let decoder = JSONDecoder()
        decoder.relationDecodingStrategy = forms
        return try decoder.decode(Value.self, from: Data(json.utf8))
    }

    private typealias Author = ToOneRelation<User, Relations.OneWay, Relations.Optional>
    private typealias Chats = ToManyRelation<Chat, Relations.Mutual, Relations.Required>

    @Test(
        "an id, an entity, null and an unset relation, in each form",
        arguments: [
            (
                RelationEncodingStrategy.plain, #"{"id":"1"}"#,
                #"{"adminOf":null,"age":0,"chats":null,"id":"1","name":"Bob"}"#, "null"
            ),
            (
                .keyedContainer, #"{"id":"1"}"#,
                #"{"object":{"adminOf":null,"age":0,"chats":null,"id":"1","name":"Bob"}}"#, #"{"id":null}"#
            ),
            (
                .exact, #"{"id":"1"}"#, #"{"object":{"adminOf":null,"age":0,"chats":null,"id":"1","name":"Bob"}}"#,
                #"{"id":null}"#
            ),
            (
                .explicitKeyedContainer, #"{"id":"1"}"#,
                #"{"object":{"adminOf":null,"age":0,"chats":null,"id":"1","name":"Bob"}}"#, #"{"id":null}"#
            ),
        ])
    func toOne(_ strategy: RelationEncodingStrategy, _ id: String, _ entity: String, _ null: String) throws {
        #expect(try json(Author.id("1"), strategy) == id)
        #expect(try json(Author.relation(User(id: "1", name: "Bob")), strategy) == entity)
        #expect(try json(Author.null, strategy) == null)
        #expect(try json(Author.none, strategy) == "null")
    }

    @Test("ids and entities of a to-many relation; only the explicit form preserves a slice")
    func toMany() throws {
        #expect(try json(Chats.ids(["1", "2"]), .plain) == #"[{"id":"1"},{"id":"2"}]"#)
        #expect(try json(Chats.ids(["1", "2"]), .keyedContainer) == #"{"ids":["1","2"]}"#)
        #expect(try json(Chats.appending(ids: ["1"]), .keyedContainer) == #"{"ids":["1"]}"#)
        #expect(try json(Chats.appending(ids: ["1"]), .explicitKeyedContainer) == #"{"slice_ids":["1"]}"#)
        let objects = #"[{"admins":null,"id":"1","messages":null,"users":null}]"#
        #expect(try json(Chats.relation([Chat(id: "1")]), .plain) == objects)
        #expect(try json(Chats.relation([Chat(id: "1")]), .keyedContainer) == #"{"objects":\#(objects)}"#)
        #expect(
            try json(Chats.appending(fragment: [Chat(id: "1")]), .explicitKeyedContainer) == #"{"slice":\#(objects)}"#)
    }

    @Test("the keyed forms give back the original")
    func roundTrips() throws {
        func check<D, C, K>(_ relation: Relation<Chat, D, C, K>, _ location: SourceLocation = #_sourceLocation) throws {
            let text = try json(relation, .explicitKeyedContainer)
            let back: Relation<Chat, D, C, K> = try decoded(text, .explicitKeyedContainer)
            #expect(back == relation, sourceLocation: location)
            #expect(back.isNone == relation.isNone && back.isId == relation.isId, sourceLocation: location)
            #expect(back.isSlice == relation.isSlice, sourceLocation: location)
            #expect(back.entities?.map(\.id) == relation.entities?.map(\.id), sourceLocation: location)
            #expect(try json(back, .explicitKeyedContainer) == text, sourceLocation: location)
        }
        for many: Chats in [
            .none, .ids([]), .ids(["1", "2"]), .relation([Chat(id: "1")]), .appending(ids: ["3"]),
            .appending(relation: [Chat(id: "3")]),
        ] { try check(many) }
        typealias One = ToOneRelation<Chat, Relations.Mutual, Relations.Optional>
        for one: One in [.none, .null, .id("1"), .relation(Chat(id: "1"))] { try check(one) }
    }

    @Test("a decoder takes its configured forms; anything else is an error with the expected form")
    func strategies() throws {
        let plain: Chats = try decoded(#"[{"id":"1"}]"#, [.plain, .explicitKeyedContainer])
        #expect(plain.ids == ["1"])
        let keyed: Chats = try decoded(#"{"ids":["1"]}"#, [.plain, .keyedContainer])
        #expect(keyed.isId && keyed.ids == ["1"])
        let slice: Chats = try decoded(#"{"slice_ids":["1"]}"#, [.explicitKeyedContainer])
        #expect(slice.isSlice)
        #expect(throws: DecodingError.self) { try decoded(#"{"slice_ids":["1"]}"#, .keyedContainer) as Chats }
        #expect(throws: DecodingError.self) { try decoded(#"{"ids":["1"]}"#, .plain) as Chats }
        #expect { try decoded(#"[{"id":"1"}]"#, .keyedContainer) as Chats } throws: { "\($0)".contains("objects") }
        // The keyed form distinguishes an entity with only an id from an id.
        let object: ToOneRelation<Chat, Relations.Mutual, Relations.Optional> = try decoded(
            #"{"object":{"id":"1"}}"#, [.plain, .keyedContainer])
        #expect(object.entities?.count == 1)
    }

    @Test("whole entities, with a required relation that can't be null")
    func entities() throws {
        let message = Message(id: "1", text: "hi", author: .id("2"), attachment: .null, replies: .appending(ids: ["3"]))
        let text = try json(message, .explicitKeyedContainer)
        let back: Message = try decoded(text, .explicitKeyedContainer)
        #expect(back.$author.id == "2" && back.$replies.isSlice && !back.$attachment.isNone)
        let required: Message = try decoded(#"{"id":"1","text":"","chat":{"id":null}}"#, .keyedContainer)
        #expect(required.$chat.isNone)
    }

    @Test("in the plain form an object with only an id stays an id, even if an entity needs no more")
    func bareIds() throws {
        typealias Main = ToOneRelation<Label, Relations.OneWay, Relations.Optional>
        typealias Labels = ToManyRelation<Label, Relations.OneWay, Relations.Required>
        for strategy in [RelationEncodingStrategy.plain, .keyedContainer, .explicitKeyedContainer] {
            let main: Main = try decoded(try json(Main.id(1), strategy), [.plain, .explicitKeyedContainer])
            #expect(main.isId && main.id == 1)
            let ids = try json(Labels.ids([1, 2]), strategy)
            let labels: Labels = try decoded(ids, [.plain, .explicitKeyedContainer])
            #expect(labels.isId && labels.ids == [1, 2])
        }
        // This holds for types with only an id and relations, too.
        typealias One = ToOneRelation<Chat, Relations.OneWay, Relations.Optional>
        let chat: One = try decoded(#"{"id":"1"}"#, .plain)
        #expect(chat.isId && chat.id == "1")
        let chats: Chats = try decoded(#"[{"id":"1"},{"id":"2"}]"#, [.plain, .keyedContainer])
        #expect(chats.isId && chats.ids == ["1", "2"])
        let message: Message = try decoded(#"{"id":"1","text":"","chat":{"id":"2"}}"#, .plain)
        #expect(message.$chat.isId && message.$chat.id == "2")
        let entity: One = try decoded(try json(One.relation(Chat(id: "1")), .plain), .plain)
        #expect(entity.entities?.map(\.id) == ["1"], "an entity says something of its relations")
        let whole: Main = try decoded(#"{"id":1,"title":"important"}"#, .plain)
        #expect(whole.entities?.first?.title == "important")
        let some: Labels = try decoded(#"[{"id":1},{"id":2,"weight":3}]"#, .plain)
        #expect(some.entities?.map(\.weight) == [nil, 3])
    }

    @Test("in the plain form an incomplete entity is its id, and then all elements of a list are")
    func idsOfMalformed() throws {
        typealias Main = ToOneRelation<Tag, Relations.OneWay, Relations.Optional>
        typealias Tags = ToManyRelation<Tag, Relations.OneWay, Relations.Required>
        // A missing property, one of another type, an unknown one.
        for text in [#"{"id":"1","text":5}"#, #"{"id":"1","size":5}"#, #"{"id":"1","text":null}"#] {
            #expect((try decoded(text, .plain) as Main).id == "1", "\(text)")
            let list: Tags = try decoded("[\(text),\(text)]", .plain)
            #expect(list.entities == nil && list.ids == ["1", "1"], "\(text)")
        }
        for text in [#"[{"id":"1"},{"id":"2","text":"x"}]"#, #"[{"id":"1","text":"x"},{"id":"2"}]"#] {
            let list: Tags = try decoded(text, .plain)
            #expect(list.entities == nil && list.ids == ["1", "2"], "\(text)")
        }
        // Errors in other forms name the form.
        #expect(throws: DecodingError.self) {
            try decoded(#"{"object":{"id":"1"}}"#, .keyedContainer) as Main
        }
    }

    @Test("in the plain form JSON without an id that is no entity is the entity's error")
    func malformed() throws {
        typealias Main = ToOneRelation<Tag, Relations.OneWay, Relations.Optional>
        typealias Tags = ToManyRelation<Tag, Relations.OneWay, Relations.Required>
        for text in [
            // Another id; no id; an id that is no object; an object that is no list.
            #"[{"id":1,"text":"x"}]"#, #"[{"text":"x"}]"#, #"[{"id":"1","text":"x"},{"text":"y"}]"#, #"["1"]"#,
            #"{"id":"1"}"#,
        ] {
            #expect(throws: DecodingError.self, "\(text)") { try decoded(text, .plain) as Tags }
        }
        #expect { try decoded(#"[{"id":"1","text":"x"},{"text":"y"}]"#, .plain) as Tags } throws: { error in
            guard case .keyNotFound(let key, let place) = error as? DecodingError else { return false }
            return key.stringValue == "id" && place.codingPath.first?.intValue == 1
        }
        for text in [#"{"id":1,"text":"x"}"#, #"{"text":"x"}"#, #"{"id":1}"#, #""1""#] {
            #expect(throws: DecodingError.self, "\(text)") { try decoded(text, .plain) as Main }
        }
        #expect((try decoded(#"[{"id":"1","text":"x","more":1}]"#, .plain) as Tags).entities?.map(\.text) == ["x"])
    }

    @Test("readable JSON is indented and sorted; unencodable values give nil")
    func pretty() throws {
        #expect(
            Attachment(id: "a").prettyDescription()?.hasPrefix("{\n  \"id\" : \"a\",\n  \"kind\" : \"file\"") == true)
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        #expect(Refusing().prettyDescription() == nil)
    }
}
