// SPDX-License-Identifier: Apache-2.0
// Lines of JSON: exact in both directions, with errors that name the property and the mistake.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models = [
    EntityDescription(
        name: "Thing",
        columns: [
            ColumnDescription(name: "id", type: .uint64), ColumnDescription(name: "big", type: .int64),
            ColumnDescription(name: "ratio", type: .optional(.double)),
            ColumnDescription(name: "at", type: .optional(.date)),
            ColumnDescription(name: "blob", type: .optional(.data)),
            ColumnDescription(name: "uid", type: .optional(.uuid)),
            ColumnDescription(name: "price", type: .optional(.decimal)), ColumnDescription(name: "text", type: .string),
            ColumnDescription(name: "tags", type: .optional(.array(.optional(.string)))),
            ColumnDescription(name: "extra", type: .optional(.json)),
        ],
        relations: [
            RelationDescription(name: "parent", target: "Thing", toMany: false, inverse: "children"),
            RelationDescription(name: "children", target: "Thing", toMany: true, inverse: "parent"),
        ])
]

private func save(_ line: String, _ store: CoreStore) throws {
    try Array(line.utf8).withUnsafeBytes { _ = try JSONRows("Thing", core: store.core).save(line: $0) }
}

private func lines(_ store: CoreStore) throws -> [String] {
    let rows = try JSONRows("Thing", core: store.core)
    var lines: [String] = []
    try store["Thing"].forEachRow { rowID, row in
        lines.append(try rows.line(rowID, row))
        return true
    }
    return lines
}

@Suite("JSON rows")
struct JSONRowsTests {
    @Test("written lines are read back exactly, to the last bit")
    func exact() throws {
        let store = try CoreStore(models)
        let originals = [
            #"{"id":1,"big":-9223372036854775808,"ratio":0.1,"at":"2024-02-29T12:34:56.5Z","text":"a\n\"b\"\\é😀"}"#,
            #"{"id":2,"big":9223372036854775807,"ratio":"NaN","price":12345678901234567890.123456789,"text":""}"#,
            #"{"id":18446744073709551615,"big":0,"ratio":-0.0,"at":0.12345678901234568,"blob":"AP8=","#
                + #""text":"\u0001","tags":["a",null],"extra":{"a":[1,2.50]}}"#,
        ]
        for line in originals { try save(line, store) }
        #expect(try lines(store) == originals)
        #expect(try store.problems() == [])
    }

    @Test("relations are ids, and only those named are changed")
    func relations() throws {
        let store = try CoreStore(models)
        try save(#"{"id":1,"big":0,"text":"","children":[3,2]}"#, store)
        try save(#"{"id":2,"big":0,"text":"x"}"#, store)
        try save(#"{"id":3,"big":0,"text":"x","parent":2}"#, store)
        #expect(
            try lines(store) == [
                #"{"id":1,"big":0,"text":"","children":[2]}"#,
                #"{"id":2,"big":0,"text":"x","parent":1,"children":[3]}"#,
                #"{"id":3,"big":0,"text":"x","parent":2}"#,
            ])
    }

    @Test(
        "a line that is no entity is refused with the reason, and changes nothing",
        arguments: [
            ("[1]", "no JSON object"), (#"{"id":1,"big":0,"text":"","nme":1}"#, "nme"), (#"{"id":1,"text":""}"#, "big"),
            (#"{"id":-1,"big":0,"text":""}"#, "id"), (#"{"id":1,"big":1.5,"text":""}"#, "big"),
            (#"{"id":1,"big":0,"text":"","at":"yesterday"}"#, "at"), (#"{"id":1,"big":0,"text":"}"#, "at character 26"),
            (#"{"id":1,"big":0,"text":"","parent":[1]}"#, "one id"), ("{\"id\":01}", "at character 9"),
            ("", "at character 1"),
            (String(repeating: "[", count: 1000), "nesting"), (#"{"id":1,"big":0,"text":"\ud800"}"#, "surrogate"),
            (#"{"id":1,"big":0,"text":"ä","big":0}"#, "“big” is there twice, at character 34"),
            (#"{"id":1,"big":0,"tex":"ä"}"#, "neither a property nor a relation “tex”; did you mean text?"),
        ])
    func refused(_ line: String, _ reason: String) throws {
        let store = try CoreStore(models)
        #expect {
            try save(line, store)
        } throws: { "\($0)".contains(reason) }
        #expect(try lines(store).isEmpty)
    }

    @Test("a line that is refused for one of its links, or for a unique key, leaves no ids behind")
    func refusedLinks() throws {
        let text = { ColumnDescription(name: $0, type: .string) }
        let note = EntityDescription(
            name: "Note", columns: [text("id"), text("key")],
            indexes: [IndexDescription(name: "key", kind: .unique, components: [.init(column: "key")])],
            relations: [
                RelationDescription(name: "to", target: "Note", toMany: true, inverse: "from"),
                RelationDescription(name: "from", target: "Note", toMany: true, inverse: "to"),
            ])
        let store = try CoreStore([note])
        func save(_ line: String) throws {
            try Array(line.utf8).withUnsafeBytes { _ = try JSONRows("Note", core: store.core).save(line: $0) }
            try store.core.flush()
        }
        try save(#"{"id":"a","key":"1","to":["a"]}"#)
        let long = String(repeating: "l", count: 1_000)
        for (line, code) in [
            (#"{"id":"b","key":"2","to":["c"],"from":["d","\#(long)"]}"#, HornbeamError.Code.tooLarge),
            (#"{"id":"b","key":"1","to":["c"],"from":["d"]}"#, .uniqueViolation),
        ] {
            let error = #expect(throws: (any Error).self) { try save(line) }
            #expect((error.map(HornbeamError.typed) as? HornbeamError)?.code == code)
            try store.core.flush()
            #expect(try store["Note"].count() == 1 && !store["Note"].mayMiss(), "\(line)")
        }
        #expect(try store.problems() == [])
    }

    @Test("random bytes are an error or a value, never a trap", .seeded)
    func garbage() {
        var random = SeededGenerator()
        let valid = Array(#"{"id":1,"b":[1.5e-3,true,null,"\u00e9\n"],"c":{"d":-0}}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...3, using: &random))
            bytes.withUnsafeBytes { _ = try? JSONParser.parse($0) }
        }
    }

    @Test("dates agree with Foundation and are exact or absent", .seeded)
    func dates() {
        let formatter = ISO8601DateFormatter()
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            let seconds = Double(Int.random(in: -60_000_000_000...250_000_000_000, using: &random))
            guard let text = ISODate.text(seconds) else {
                Issue.record("no text for \(seconds)")
                continue
            }
            #expect(ISODate.seconds(text) == seconds)
            if seconds > -10_000_000_000 {
                #expect(text == formatter.string(from: Date(timeIntervalSinceReferenceDate: seconds)))
            }
            let odd = Double.random(in: -1e9...1e9, using: &random)
            if let text = ISODate.text(odd) { #expect(ISODate.seconds(text) == odd) }
        }
        #expect(ISODate.seconds("2001-01-01T02:00:00+02:00") == 0)
        #expect(ISODate.seconds("2001-02-29") == nil)
        #expect(ISODate.text(.nan) == nil)
        #expect(ISODate.text(1e300) == nil)
    }
}
