// SPDX-License-Identifier: Apache-2.0
// Damage to single entries of links: the check finds each of them, and reading or changing links meanwhile gives
// values or errors.

import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let rows = (1...3).map { RowID(rawValue: $0) }

/// The kind of damage to an entry.
private enum Damage: CaseIterable {
    case gone, otherRow, otherPlace, shortValue, moved, otherList, unknownList, shortKey, greatestPlace

    func `do`(_ tree: TreeID, _ entry: (key: [UInt8], value: [UInt8]), in transaction: Transaction) throws {
        var (key, value) = entry
        switch self {
        case .gone: break
        case .otherRow: value[0] ^= 4
        case .otherPlace: value[8] ^= 8
        case .shortValue: value.removeLast()
        case .moved: key[17] ^= 16
        // The relation with the next number.
        case .otherList: key[9] ^= 4
        case .unknownList: key[8] = 0x70
        case .shortKey: key.removeLast()
        case .greatestPlace: key.replaceSubrange(10..<18, with: repeatElement(0xFF, count: 8))
        }
        _ = try transaction.delete(tree, entry.key)
        if self != .gone { try transaction.put(tree, key, value) }
    }
}

@Suite("Damaged links")
struct DamagedLinksTests {
    private func store() throws -> CoreStore {
        let store = try CoreStore(edgeModels)
        for type in ["A", "B"] { for row in rows { try store.save(type, [.int(Int64(row.rawValue))]) } }
        for type in ["A", "B"] {
            for (number, side) in try store[type].type.relations.enumerated() {
                try store.core.edges.set(side, rows[number % 3], side.isToMany ? [rows[1], rows[0]] : [rows[2]])
            }
        }
        #expect(try store.problems() == [])
        return store
    }

    private func entries(_ tree: TreeID, _ transaction: Transaction) throws -> [(key: [UInt8], value: [UInt8])] {
        var found: [(key: [UInt8], value: [UInt8])] = []
        var cursor = try transaction.cursor(tree)
        while try cursor.next() { found.append((Array(cursor.key), Array(cursor.value))) }
        return found
    }

    /// Reads and changes links in every way.
    private func use(_ store: CoreStore) throws {
        let edges = store.core.edges
        for type in ["A", "B"] {
            for side in try store[type].type.relations {
                _ = try? edges.links(side, ofEach: rows)
                for row in rows {
                    _ = try? edges.targets(side, of: row)
                    _ = try? edges.count(side, of: row, behind: rows[0])
                    _ = try? edges.contains(side, row, rows[1])
                    try? edges.forEachSource(side, of: row) { _ in true }
                    try? edges.append(side, row, rows[1])
                    try? edges.remove(side, row, rows[0])
                    try? edges.set(side, row, [rows[2], rows[1], rows[0]])
                }
            }
            for row in rows { _ = try? store[type].delete(row) }
        }
    }

    @Test("are found by the check, in any entry, and other reads give values or errors")
    func entries() throws {
        struct Undo: Error {}
        let store = try store()
        for type in ["A", "B"] {
            let tree = try store[type].type.links
            for entry in try entries(tree, store.core.transaction) {
                for damage in Damage.allCases {
                    #expect(throws: Undo.self) {
                        try store.core.nested {
                            try damage.do(tree, entry, in: store.core.transaction)
                            #expect(try store.problems() != [], "\(damage) of \(entry.key) → \(entry.value)")
                            try use(store)
                            throw Undo()
                        }
                    }
                }
            }
        }
        #expect(try store.problems() == [])
    }
}
