// SPDX-License-Identifier: Apache-2.0
// Random sequences of schema changes and writes, compared with a model of the store as a table of values: after a
// sequence of openings the store must agree with the model and be sound.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// The store as tables: the values of each row in each column known to the store.
private struct Table {
    var name = "Thing0"
    var columns: [ColumnDescription] = [column("id", .int64), column("c0", .optional(.int64))]
    /// The columns that the model declares, by name.
    var declared: Set<String> = ["id", "c0"]
    var indexes: [IndexDescription] = []
    var rows: [Int64: [String: Value]] = [:]
    private var made = 1

    var description: EntityDescription {
        EntityDescription(name: name, columns: columns.filter { declared.contains($0.name) }, indexes: indexes)
    }

    /// Changes the table by one random step, and returns the migration for it.
    mutating func change(_ random: inout SeededGenerator) -> [MigrationStep] {
        made += 1
        let fresh = "c\(made)"
        let place = columns.count > 1 ? 1 + random.below(columns.count - 1) : 0
        let old = columns[place]
        switch random.below(9) {
        case 0, 1:
            columns.append(column(fresh, .optional(random.oneIn(2) ? .int64 : .string)))
            declared.insert(fresh)
        case 2 where place > 0:
            hide(old.name)
        case 3 where place > 0:
            declared.insert(old.name)
        case 4 where declared.contains(old.name):
            rename(place, to: fresh)
            return [.rename(type: name, from: old.name, to: fresh, isRelation: false)]
        case 5 where place > 0:
            hide(old.name)
            columns.remove(at: place)
            for id in rows.keys { rows[id]?[old.name] = nil }
            return [.forget(type: name, name: old.name)]
        case 6 where place > 0 && old.type == .optional(.int64):
            let new = column(old.name, .optional(.string))
            columns[place] = new
            declared.insert(old.name)
            for (id, row) in rows {
                if case .int(let number)? = row[old.name] { rows[id]?[old.name] = .string("n\(number)") }
            }
            return [
                .convert(
                    MigrationStep.Conversion(type: name, column: new, from: .int64) { value in
                        guard case .int(let number) = value else { return .null }
                        return .string("n\(number)")
                    })
            ]
        case 7:
            let new = "Thing\(made)"
            defer { name = new }
            return [.renameType(from: name, to: new)]
        default:
            let over = columns.filter { declared.contains($0.name) }.randomElement(using: &random)
            indexes = [
                IndexDescription(name: fresh, kind: .value, components: [.init(column: over?.name ?? "id")])
            ]
        }
        return []
    }

    private mutating func hide(_ name: String) {
        declared.remove(name)
        indexes.removeAll { $0.components.contains { $0.column == name } }
    }

    private mutating func rename(_ place: Int, to new: String) {
        let old = columns[place].name
        columns[place].name = new
        declared.remove(old)
        declared.insert(new)
        for index in indexes.indices where indexes[index].components[0].column == old {
            indexes[index].components[0].column = new
        }
        for (id, row) in rows {
            rows[id]?[old] = nil
            rows[id]?[new] = row[old]
        }
    }
}

@Suite("Sequences of migrations")
struct MigrationSequencesTests {
    @Test("any sequence of changes leaves the right values", arguments: SeededGenerator.seeds(12))
    func sequences(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var table = Table()
        let store = try CoreStore([table.description])
        for round in 0..<40 {
            for _ in 0..<random.below(6) { try write(&table, store, &random) }
            let steps = table.change(&random)
            try store.reopen([table.description], steps)
            try compare(table, store, "seed \(seed), round \(round), \(steps)")
        }
    }

    /// Saves or deletes one row, as a program that knows the declared columns does.
    private func write(_ table: inout Table, _ store: CoreStore, _ random: inout SeededGenerator) throws {
        let id = Int64(random.below(12))
        if random.oneIn(5) {
            try store[table.name].delete(RowID(rawValue: UInt64(id)))
            table.rows[id] = nil
            return
        }
        var row = table.rows[id] ?? [:]
        let values = table.description.columns.map { column -> Value in
            if column.name == "id" || column.type == .int64 { return .int(id) }
            if random.oneIn(4) { return .null }
            return column.type.unwrapped == .int64 ? .int(Int64(random.below(50))) : .string("s\(random.below(50))")
        }
        for (column, value) in zip(table.description.columns, values) { row[column.name] = value }
        try store.save(table.name, values)
        table.rows[id] = row
    }

    private func compare(_ table: Table, _ store: CoreStore, _ place: Comment) throws {
        #expect(try store.problems() == [], place)
        let type = try store[table.name].type
        #expect(Set(type.description.columns.map(\.name)) == Set(table.columns.map(\.name)), place)
        var found: [Int64: [String: Value]] = [:]
        try store[table.name].forEachRow { rowID, row in
            let values = try row.values()
            var named: [String: Value] = [:]
            for (column, value) in zip(type.description.columns, values) where value != .null {
                named[column.name] = value
            }
            found[Int64(rowID.rawValue)] = named
            return true
        }
        #expect(found == table.rows.mapValues { $0.filter { $0.value != .null } }, place)
    }
}
