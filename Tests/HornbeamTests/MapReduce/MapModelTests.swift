// SPDX-License-Identifier: Apache-2.0
// Map indexes compared with a list of rows: random entities, changes of every kind, rollbacks, reopenings with and
// without the indexes; and every kind of query with every group level.

import Foundation
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

/// The expected content of an index, computed directly.
private struct NaiveRows {
    struct Row {
        let key: MapKey
        let bytes: [UInt8]
        let value: Int?
        let source: String
        let place: RowID
    }

    let rows: [Row]

    init(_ notes: [TaggedNote], _ rowIDs: [String: RowID], _ collator: Collator) throws {
        var rows: [Row] = []
        for note in notes {
            for (key, value) in emitted(by: note) {
                let place = try #require(rowIDs[note.id])
                rows.append(Row(key: key, bytes: try key.bytes(collator), value: value, source: note.id, place: place))
            }
        }
        // A stable sort: equal keys of one entity stay in the order in which they were emitted.
        self.rows = rows.enumerated().sorted { left, right in
            if left.element.bytes != right.element.bytes {
                return left.element.bytes.lexicographicallyPrecedes(right.element.bytes)
            }
            if left.element.place != right.element.place { return left.element.place < right.element.place }
            return left.offset < right.offset
        }.map(\.element)
    }
}

/// Keys of all types, some of them repeated.
private func emitted(by note: TaggedNote) -> [(MapKey, Int?)] {
    note.related.enumerated().map { place, word in
        let value = place % 5 == 4 ? nil : word.count + place
        switch word.first {
        case "n": return (.null, value)
        case "i": return (.int(word.count), value)
        case "d": return (.double(Double(word.count) / 2), value)
        case "a": return (.array(word.map { .string(String($0)) }), value)
        case "y": return (.array([.int(word.count % 3), .string(word)]), value)
        case "b": return (.bool(word.count % 2 == 0), value)
        default: return (.string(word), value)
        }
    }
}

private func index<Reduce: Reducer>(
    _ name: String, _ reducer: Reduce, _ collation: TextCollation = .unicode
) -> MapIndex<TaggedNote, Int, Reduce> where Reduce.Value == Int {
    MapIndex(name, version: "1", collation: collation, reducer: reducer) {
        (note: TaggedNote, emit: inout MapEmitter<Int>) in
        for (key, value) in emitted(by: note) { emit(key: key, value: value) }
    }
}

/// A reducer whose result depends on the order, and is large for many values.
private struct Trail: Reducer {
    typealias Value = Int
    var name: String { "trail" }
    var identity: String { "" }
    func map(key: MapKey, value: Int?) -> String { "\(value ?? -1)," }
    func combine(_ partial: inout String, with next: String) { partial += next }
    func finish(_ partial: String) -> String { partial }
}

@Suite("Map indexes against a list of rows")
struct MapModelTests {
    private let sums = index("sums", .sum())
    private let trails = index("trails", Trail())
    private let counts = index("counts", .count(), .binary)

    private func note(_ id: String, _ random: inout SeededGenerator) -> TaggedNote {
        let letters = Array("nidayb\u{e9}A")
        var words = (0..<[0, 0, 1, 2, 3, 8][random.below(6)]).map { _ in
            String((0...random.below(3)).map { _ in letters[random.below(letters.count)] })
        }
        if random.oneIn(3), let first = words.first { words.append(first) }
        return TaggedNote(id: id, text: "t\(random.below(3))", related: words)
    }

    @Test("the indexes follow any changes, by any function", arguments: SeededGenerator.seeds(4))
    func changes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var disk = try SimulatedDisk()
        func open(_ registers: Bool) throws -> Database {
            let database = try MigratedFile.open(disk, [TaggedNote.self], [])
            if registers {
                try database.register(sums)
                try database.register(trails)
                try database.register(counts)
            }
            return database
        }
        var database = try open(true)
        var isRegistered = true
        var model: [String: TaggedNote] = [:]
        for round in 0..<60 {
            let before = model
            struct Undone: Error {}
            do {
                try database.write { (context) throws in
                    for _ in 0..<random.below(30) { try change(&context, &model, &random) }
                    let kept = model
                    if random.oneIn(4) {
                        do {
                            try context.transaction { context in
                                for _ in 0..<10 { try change(&context, &model, &random) }
                                if random.oneIn(2) { throw Undone() }
                            }
                        } catch is Undone { model = kept }
                    }
                    if isRegistered, random.oneIn(4) { try compare(context, model, &random) }
                    if random.oneIn(6) { throw Undone() }
                }
            } catch is Undone { model = before }
            if isRegistered { try database.read { context in try compare(context, model, &random) } }
            if round % 10 == 9 { #expect(try database.isWhole()) }
            if random.oneIn(5) {
                if random.oneIn(2) { try database.close() }
                disk = try SimulatedDisk(image: disk.killedImage())
                isRegistered = random.oneIn(2)
                database = try open(isRegistered)
            } else if !isRegistered, random.oneIn(3) {
                try database.register(sums)
                try database.register(counts)
                try database.register(trails)
                isRegistered = true
                #expect(try database.isWhole())
            }
        }
    }

    private func change(
        _ context: inout Context, _ model: inout [String: TaggedNote], _ random: inout SeededGenerator
    ) throws {
        let id = "n\(random.below(60))"
        switch random.below(12) {
        case 0...6:
            let note = note(id, &random)
            try note.save(to: &context)
            model[id] = note
        case 7, 8:
            _ = try TaggedNote.query(id).delete(from: &context)
            model[id] = nil
        case 9:
            _ = try TaggedNote.filter(\.text == "t1").update(in: &context) { $0.related.append("i") }
            for (id, note) in model where note.text == "t1" { model[id]?.related = note.related + ["i"] }
        case 10:
            _ = try TaggedNote.filter(\.text == "t2").limit(3).delete(from: &context)
            model = try Dictionary(uniqueKeysWithValues: TaggedNote.query().resolve(in: context).map { ($0.id, $0) })
        default:
            // Saving an unchanged note changes nothing.
            if let note = model[id] { try note.save(to: &context) }
        }
    }

    private func compare(_ context: Context, _ model: [String: TaggedNote], _ random: inout SeededGenerator) throws {
        let store = try context.session.store(TaggedNote.self)
        var rowIDs: [String: RowID] = [:]
        for id in model.keys { rowIDs[id] = try store.rowID(of: .string(id)) }
        let unicode = try NaiveRows(Array(model.values), rowIDs, Collator(.unicode(locale: nil)))
        let binary = try NaiveRows(Array(model.values), rowIDs, .binary)
        try compare(sums, unicode, context, &random) { rows in rows.reduce(0) { $0 + ($1.value ?? 0) } }
        try compare(trails, unicode, context, &random) { rows in rows.map { "\($0.value ?? -1)," }.joined() }
        try compare(counts, binary, context, &random) { $0.count }
    }

    private func compare<Reduce: Reducer>(
        _ index: MapIndex<TaggedNote, Int, Reduce>, _ naive: NaiveRows, _ context: Context,
        _ random: inout SeededGenerator, _ reduce: ([NaiveRows.Row]) -> Reduce.Result
    ) throws where Reduce.Result: Equatable {
        let collator = try index.definition.usable("")
        for _ in 0..<6 {
            var query = index.query()
            var rows = naive.rows
            func anyKey() -> MapKey { rows.isEmpty || random.oneIn(8) ? "d" : rows[random.below(rows.count)].key }
            switch random.below(5) {
            case 0:
                let keys = (0..<random.below(5)).map { _ in anyKey() }
                query = query.keys(keys)
                rows = rows.filter { keys.contains($0.key) }
            case 1, 2:
                let from: MapKey? = random.oneIn(4) ? nil : anyKey()
                let to: MapKey? = random.oneIn(4) ? nil : anyKey()
                let isHalfOpen = to != nil && random.oneIn(2)
                if isHalfOpen, let to {
                    query = query.range(from: from, below: to)
                } else {
                    query = query.range(from: from, to: to)
                }
                let (low, high) = (try from?.bytes(collator), try to?.bytes(collator))
                rows = rows.filter { row in
                    if let low, row.bytes.lexicographicallyPrecedes(low) { return false }
                    guard let high else { return true }
                    return isHalfOpen
                        ? row.bytes.lexicographicallyPrecedes(high) : !high.lexicographicallyPrecedes(row.bytes)
                }
            case 3:
                let prefix = anyKey()
                query = query.prefix(prefix)
                rows = rows.filter { isPrefix(prefix, of: $0.key) }
            default: break
            }
            #expect(try query.reduced().resolve(in: context) == reduce(rows))
            #expect(try query.descending().reduced().resolve(in: context) == reduce(rows))
            for level in [nil, 0, 1, 2, 5] { try compareGroups(query, level, rows, context, reduce) }
            let isDescending = random.oneIn(2)
            if isDescending {
                query = query.descending()
                rows.reverse()
            }
            let offset = random.oneIn(2) ? 0 : random.below(rows.count + 3)
            let limit = random.oneIn(2) ? nil : random.below(rows.count + 3)
            query = query.offset(offset).limit(limit)
            rows = Array(rows.dropFirst(offset).prefix(limit ?? .max))
            let found = try query.resolve(in: context)
            #expect(found.map(\.key) == rows.map(\.key))
            #expect(found.map(\.value) == rows.map(\.value))
            #expect(found.map(\.source) == rows.map(\.source))
            #expect(try query.count(in: context) == rows.count)
            if offset == 0, limit == nil, !found.isEmpty {
                let place = random.below(found.count)
                let rest = try query.after(found[place].cursor).resolve(in: context)
                #expect(rest.map(\.source) == rows.dropFirst(place + 1).map(\.source))
            }
        }
    }

    private func isPrefix(_ prefix: MapKey, of key: MapKey) -> Bool {
        switch (prefix, key) {
        case (.string(let prefix), .string(let text)): text.hasPrefix(prefix)
        case (.array(let prefix), .array(let items)): items.starts(with: prefix)
        default: prefix == key
        }
    }

    private func compareGroups<Reduce: Reducer>(
        _ query: MapQuery<TaggedNote, Int, Reduce>, _ level: Int?, _ rows: [NaiveRows.Row], _ context: Context,
        _ reduce: ([NaiveRows.Row]) -> Reduce.Result
    ) throws where Reduce.Result: Equatable {
        var groups: [(key: MapKey, rows: [NaiveRows.Row])] = []
        for row in rows {
            var key = row.key
            if level == 0 {
                key = .null
            } else if let level, case .array(let items) = key, items.count >= level {
                key = .array(Array(items.prefix(level)))
            }
            if let last = groups.last, last.key == key {
                groups[groups.count - 1].rows.append(row)
            } else {
                groups.append((key, [row]))
            }
        }
        let grouped = level.map { query.grouped(level: $0) } ?? query.grouped()
        let found = try grouped.resolve(in: context)
        #expect(found.map(\.key) == groups.map(\.key))
        #expect(found.map(\.value) == groups.map { reduce($0.rows) })
        let part = try grouped.descending().offset(1).limit(2).resolve(in: context)
        #expect(part.map(\.key) == groups.reversed().dropFirst().prefix(2).map(\.key))
        // The groups are in reverse order, but not the rows of each group.
        #expect(part.map(\.value) == groups.reversed().dropFirst().prefix(2).map { reduce($0.rows) })
        #expect(try grouped.count(in: context) == groups.count)
    }
}
