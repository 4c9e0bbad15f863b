// SPDX-License-Identifier: Apache-2.0
// The text of the API's values: errors under Foundation, and statistics as a report.

import Foundation
import HornbeamPages
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Stone {
    let id: Int
    @FullTextIndex<Self>(\.name) private var search
    var name = ""
}

@Suite("As text")
struct DescriptionTests {
    @Test("an error's message is also its localized description in Foundation, however its type is known")
    func localized() throws {
        let database = try Database.inMemory(models: Stone.self)
        let error = #expect(throws: (any Error).self) {
            try database.read { context in
                var context = context
                try Stone(id: 1).save(to: &context)
            }
        }
        let message = try #require(error as? HornbeamError).message
        #expect(error?.localizedDescription == message && !message.isEmpty)
        #expect((error as? HornbeamError)?.localizedDescription == message)
        #expect(error.map { ($0 as NSError).localizedDescription } == message)
        let syntax = #expect(throws: SearchSyntaxError.self) { try SearchQuery<Stone>(parsing: "(stone") }
        #expect(syntax?.localizedDescription == syntax?.description)
    }

    @Test("an engine's error names the fault, without a word for its kind before it")
    func kinds() {
        for error in [
            StorageError.invalid("it is so"), .busy("it is so"), .readOnly("it is so"), .unsupported("it is so"),
        ] { #expect(error.description == "it is so" && HornbeamError(error).message == "it is so") }
    }

    @Test("an error about a row without an id, such as an index's row, names only the type")
    func withoutId() throws {
        let columns = [
            ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string),
        ]
        let layout = RowLayout(columns: columns, type: "Stone")
        defer { withExtendedLifetime(layout) {} }
        for (id, owner) in [(nil, "Stone: "), (7, "Stone 7: ")] as [(Int?, String)] {
            var writer = RowWriter(layout: layout)
            id?.write(to: &writer, column: 0)
            "granite".write(to: &writer, column: 1)
            let bytes = try writer.finish()
            try bytes.withUnsafeBytes { raw in
                let error = try RowReader(raw, layout: layout).undecodable(1, as: "Kind")
                #expect(error.message.hasPrefix("\(owner)property “name” can't be read as Kind"), "\(error.message)")
            }
        }
    }

    @Test("statistics are a report, with a line for each figure and its unit")
    func statistics() throws {
        let database = try Database.inMemory(models: Stone.self)
        try database.write { context in try Stone(id: 1, name: "granite").save(to: &context) }
        let lines = "\(database.statistics)".split(separator: "\n").map(String.init)
        let names = [
            "file", "retired", "journal", "page size", "transaction", "dirty", "open write", "cache", "readers",
            "writers",
        ]
        #expect(lines.map { String($0.prefix(13)).trimmingCharacters(in: .whitespaces) } == names)
        #expect(lines.allSatisfy { $0.dropFirst(11).hasPrefix("  ") && !$0.dropFirst(13).hasPrefix(" ") })
        #expect(lines[0].wholeMatch(of: /file +[0-9.]+ [kM]B, [0-9.]+ [kM]B used/) != nil, "\(lines[0])")
        #expect(lines[3] == "page size    8,192 bytes")
        #expect("\(database.statistics.cache)".hasPrefix("cache    0 bytes of "))
        #expect(
            "\(database.statistics.cache.readers)"
                == "0 transactions: 0 bytes pinned, 0 bytes copied, 0 bytes beside the cache")
    }
}
