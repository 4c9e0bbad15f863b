// SPDX-License-Identifier: Apache-2.0
// Keys of map indexes that are too long for a tree: no save is refused, and every query gives the result of a list of
// rows. Some keys differ only after the kept part, and some end exactly at its end.

import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

private func longIndex(_ collation: TextCollation) -> MapIndex<TaggedNote, Int, IntegerSumReducer<Int>> {
    MapIndex("long", version: "1", collation: collation, reducer: .sum()) {
        (note: TaggedNote, emit: inout MapEmitter<Int>) in
        for (place, word) in note.related.enumerated() { emit(key: key(word), value: place + word.utf8.count) }
    }
}

private func key(_ word: String) -> MapKey {
    word.hasPrefix("[") ? .array([.string(word), .int(word.utf8.count % 3)]) : .string(word)
}

@Suite("Long keys of map indexes")
struct LongKeysTests {
    private struct Row {
        let key: MapKey
        /// The whole key, the row id and the ordinal.
        let bytes: [UInt8]
        let size: Int
        let value: Int
        let source: String
    }

    private func rows(
        _ notes: [String: TaggedNote], _ context: Context, _ collator: Collator
    ) throws -> [Row] {
        let store = try context.session.store(TaggedNote.self)
        var rows: [Row] = []
        for note in notes.values {
            var seen: [[UInt8]: UInt8] = [:]
            let rowID = try #require(try store.rowID(of: .string(note.id)))
            for (place, word) in note.related.enumerated() {
                let bytes = try key(word).bytes(collator)
                let ordinal = seen[bytes] ?? 0
                seen[bytes] = ordinal + 1
                rows.append(
                    Row(
                        key: key(word), bytes: bytes + rowID.key + [0, 0, 0, ordinal], size: bytes.count,
                        value: place + word.utf8.count, source: note.id))
            }
        }
        return rows.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    private func word(_ random: inout SeededGenerator) -> String {
        let letters = ["a", "b", "\u{e9}", "z", "\u{ff}"]
        let end = (0..<random.below(3)).map { _ in letters[random.below(letters.count)] }.joined()
        switch random.below(8) {
        case 0: return end
        case 1: return "[" + String(repeating: "n", count: 1_100) + end
        // Near the limit: a key of binary collation takes a few bytes more than its text.
        case 2: return String(repeating: "x", count: 975 + random.below(30)) + end
        case 3: return String(repeating: "x", count: 975 + random.below(30))
        case 4: return String(repeating: "x", count: 3_000) + end
        case 5: return String(repeating: "क्षि", count: 80) + end
        default: return String(repeating: "x", count: 1_000) + end
        }
    }

    @Test(
        "are answered like others", arguments: [TextCollation.binary, .unicode, .caseInsensitive],
        SeededGenerator.seeds(2))
    func queries(collation: TextCollation, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let index = longIndex(collation)
        let collator = try index.definition.usable("")
        var disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [TaggedNote.self], [])
        try database.register(index)
        var model: [String: TaggedNote] = [:]
        for round in 0..<12 {
            try database.write { (context) throws in
                for _ in 0..<random.below(12) {
                    let id = "n\(random.below(30))"
                    if random.oneIn(5) {
                        _ = try TaggedNote.query(id).delete(from: &context)
                        model[id] = nil
                    } else {
                        let note = TaggedNote(id: id, related: (0..<random.below(5)).map { _ in word(&random) })
                        try note.save(to: &context)
                        model[id] = note
                    }
                }
                try compare(index, try rows(model, context, collator), context, &random)
            }
            try database.read { try compare(index, try rows(model, $0, collator), $0, &random) }
            #expect(try database.isWhole())
            if round % 5 == 4 {
                try database.close()
                disk = try SimulatedDisk(image: disk.killedImage())
                database = try MigratedFile.open(disk, [TaggedNote.self], [])
                try database.register(index, onDrift: .throw)
            }
        }
    }

    private func compare(
        _ index: MapIndex<TaggedNote, Int, IntegerSumReducer<Int>>, _ all: [Row], _ context: Context,
        _ random: inout SeededGenerator
    ) throws {
        let collator = try index.definition.usable("")
        for _ in 0..<8 {
            var rows = all
            var query = index.query()
            func anyKey() -> MapKey {
                all.isEmpty || random.oneIn(6) ? key(word(&random)) : all[random.below(all.count)].key
            }
            switch random.below(4) {
            case 0:
                let keys = (0..<random.below(4)).map { _ in anyKey() }
                query = query.keys(keys)
                let bytes = try keys.map { try $0.bytes(collator) }
                rows = rows.filter { row in bytes.contains { row.bytes.dropLast(12).elementsEqual($0) } }
            case 1, 2:
                let (from, to) = (anyKey(), anyKey())
                let (low, high) = (try from.bytes(collator), try to.bytes(collator))
                let isHalfOpen = random.oneIn(2)
                query = isHalfOpen ? query.range(from: from, below: to) : query.range(from: from, to: to)
                rows = rows.filter { row in
                    let bytes = row.bytes.dropLast(12)
                    if bytes.lexicographicallyPrecedes(low) { return false }
                    return isHalfOpen ? bytes.lexicographicallyPrecedes(high) : !high.lexicographicallyPrecedes(bytes)
                }
            default: break
            }
            #expect(try query.reduced().resolve(in: context) == rows.reduce(0) { $0 + $1.value })
            try compareGroups(query, rows, context, &random)
            if random.oneIn(2) {
                query = query.descending()
                rows.reverse()
            }
            let cursor = try query.resolve(in: context).map(\.cursor)
            #expect(cursor.count == rows.count)
            if let place = rows.indices.randomElement(using: &random), cursor.count == rows.count {
                let rest = try query.after(cursor[place]).resolve(in: context)
                expect(rest, Array(rows.dropFirst(place + 1)))
                let from = try query.from(cursor[place]).resolve(in: context)
                expect(from, Array(rows.dropFirst(place)))
                #expect(try query.after(cursor[place]).count(in: context) == rows.count - place - 1)
            }
            let (offset, limit) = (random.below(rows.count + 2), random.below(rows.count + 2))
            let part = try query.offset(offset).limit(limit).resolve(in: context)
            expect(part, Array(rows.dropFirst(offset).prefix(limit)))
            #expect(try query.count(in: context) == rows.count)
            expect(try query.resolve(in: context), rows)
        }
    }

    private func expect(
        _ found: [MapRow<TaggedNote, Int>], _ rows: [Row], _ location: SourceLocation = #_sourceLocation
    ) {
        let isSame = found.elementsEqual(rows) { $0.key == $1.key && $0.value == $1.value && $0.source == $1.source }
        #expect(isSame, "\(found.count) rows, \(rows.count) expected", sourceLocation: location)
    }

    private func compareGroups(
        _ query: MapQuery<TaggedNote, Int, IntegerSumReducer<Int>>, _ rows: [Row], _ context: Context,
        _ random: inout SeededGenerator
    ) throws {
        for level in [nil, 0, 1, 2] {
            var groups: [(key: MapKey, sum: Int)] = []
            for row in rows {
                var key = row.key
                if level == 0 { key = .null }
                if let level, level > 0, case .array(let items) = key { key = .array(Array(items.prefix(level))) }
                if let last = groups.last, last.key == key {
                    groups[groups.count - 1].sum += row.value
                } else {
                    groups.append((key, row.value))
                }
            }
            let grouped = level.map { query.grouped(level: $0) } ?? query.grouped()
            let found = try grouped.resolve(in: context)
            let isSame = found.elementsEqual(groups) { $0.key == $1.key && $0.value == $1.sum }
            #expect(isSame, "level \(level ?? -1): \(found.count) groups, \(groups.count) expected")
            let backwards = try grouped.descending().limit(3).resolve(in: context)
            #expect(backwards.elementsEqual(groups.reversed().prefix(3)) { $0.key == $1.key && $0.value == $1.sum })
            #expect(try grouped.count(in: context) == groups.count)
        }
    }

    @Test(
        "any text can be saved, in every script",
        arguments: ["x", "aB", "ế", "щЖ", "設備", "각", "ก็", "😀", "ÄÉ", "क्षि"])
    func scripts(_ unit: String) throws {
        let index = longIndex(.unicode)
        let database = try Database.inMemory(models: TaggedNote.self, indexes: [index])
        let texts = [1, 61, 141, 500, 5_000].map { String(String(repeating: unit, count: $0).prefix($0)) }
        try database.write { context in
            for text in texts { try TaggedNote(id: "\(text.count)", related: [text]).save(to: &context) }
        }
        try database.read { (context) throws in
            for text in texts {
                #expect(try index.query().key(.string(text)).resolve(in: context).map(\.source) == ["\(text.count)"])
            }
            #expect(try index.query().resolve(in: context).map { Int($0.source) } == texts.map(\.count))
        }
        #expect(try database.isWhole())
    }

    @Test("are built, show no drift, and wake live queries of their ranges", .timeLimit(.minutes(1)))
    func living() async throws {
        let database = try Database.inMemory(models: TaggedNote.self)
        let text = String(repeating: "x", count: 2_000)
        try await database.write { context in
            for number in 0..<300 { try TaggedNote(id: "n\(number)", related: [text + "\(number)"]).save(to: &context) }
        }
        let index = longIndex(.unicode)
        try await database.buildIndex(index)
        try database.register(index, onDrift: .throw)
        #expect(try index.query().key(.string(text + "7")).keys(in: database) == [.string(text + "7")])
        var live = database.observe(index.query().range(from: .string(text + "7"), to: .string(text + "8")))
            .makeAsyncIterator()
        let count = try await live.next()?.rows.count
        #expect(count == 12)
        try await database.write { context in try TaggedNote(id: "new", related: [text + "79a"]).save(to: &context) }
        let next = try await live.next()?.rows.count
        #expect(next == 13)
        let distinct = MapIndex("distinct", version: "1", reducer: .distinctEstimate()) {
            (note: TaggedNote, emit: inout MapEmitter<NoValue>) in
            for word in note.related { emit(key: .string(word)) }
        }
        try await database.register(distinct)
        let estimate = try await database.read { try distinct.query().reduced().resolve(in: $0) }
        #expect(abs(estimate - 301) < 60)
        #expect(try database.isWhole())
    }
}
