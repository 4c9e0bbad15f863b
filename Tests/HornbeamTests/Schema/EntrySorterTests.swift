// SPDX-License-Identifier: Apache-2.0
// Sorting in runs gives the result of sorting in memory, and indexes built by it are right, duplicates included.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Sorting in runs")
struct EntrySorterTests {
    @Test(
        "keys of any length come back in order with their flags and values, for any bound",
        arguments: [1, 200, 5000, 1 << 20])
    func order(bound: Int) throws {
        var random = SeededGenerator(seed: 7)
        let transaction = try TreeStore.inMemory().beginWrite()
        var keys: [[UInt8]: UInt8] = [:]
        for number in 0..<400 { keys[random.bytes(1 + random.below(40)) + [UInt8(number % 3)]] = UInt8(number % 2) }
        // Keys with the same first bytes.
        for number in 0..<100 { keys[[1, 2, 3, 4, 5, 6, 7, 8, UInt8(number)]] = 1 }
        var sorter = EntrySorter(transaction, bound: bound)
        for (key, flag) in keys { try sorter.add(key, flag: flag, value: flag == 1 ? key.reversed() : []) }
        var found: [([UInt8], UInt8)] = []
        try sorter.finish { key, flag, value in
            found.append((key, flag))
            #expect(value == (flag == 1 ? key.reversed() : []))
        }
        #expect(found.map(\.0) == keys.keys.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(found.allSatisfy { keys[$0.0] == $0.1 })
        #expect(try transaction.treeNames().isEmpty, "the runs' trees are gone")
        transaction.abort()
    }

    private func store(_ kind: IndexDescription.Kind, _ rows: Int, twice: Int?) throws -> CoreStore {
        let type = EntityDescription(
            name: "Item", columns: [column("id", .int64), column("text", .optional(.string))],
            indexes: [IndexDescription(name: "byText", kind: kind, components: [.init(column: "text")])])
        var plain = type
        plain.indexes = []
        let store = try CoreStore([plain])
        for number in 0..<rows {
            let text: Value = number % 5 == 0 ? .null : .string("t\(number * 7919 % 1009)")
            try store.save("Item", [.int(Int64(number)), text])
        }
        if let twice { try store.save("Item", [.int(5000), .string("t\(twice * 7919 % 1009)")]) }
        try store.reopen([plain])
        // The empty index with its trees; it is then built with a bound that takes many runs.
        try store.core.transaction.makeEmpty(type)
        return store
    }

    @Test("an index is built from many runs, including nils", arguments: [IndexDescription.Kind.value, .unique])
    func index(kind: IndexDescription.Kind) throws {
        let store = try store(kind, 900, twice: nil)
        let type = try SchemaCatalogue.load(store.core.transaction).type("Item")
        try IndexBuilder(type: type, transaction: store.core.transaction, sortBound: 3000, progress: nil).build([
            "byText"
        ])
        try store.reopen([type.description])
        #expect(try store.problems() == [])
        #expect(try store.entries(kind == .unique ? "u:Item:byText" : "x:Item:byText") == 900)
    }

    @Test("a duplicate is found across runs, and named with both ids and the value")
    func duplicates() throws {
        let store = try store(.unique, 900, twice: 3)
        let type = try SchemaCatalogue.load(store.core.transaction).type("Item")
        #expect {
            try IndexBuilder(type: type, transaction: store.core.transaction, sortBound: 3000, progress: nil)
                .build(["byText"])
        } throws: { error in
            let message = (error as? HornbeamError)?.message ?? ""
            return message.contains("3 and 5000 have the same text \"t\(3 * 7919 % 1009)\"")
        }
    }
}

extension Transaction {
    /// Stores a description with the trees it needs, all new ones empty.
    fileprivate func makeEmpty(_ type: EntityDescription) throws {
        var nextNumber: UInt64?
        try SchemaCatalogue.store(type, nextNumber: &nextNumber, in: self)
    }
}
