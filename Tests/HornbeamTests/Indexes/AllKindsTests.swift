// SPDX-License-Identifier: Apache-2.0
// All kinds of indexes over one type at once: a transaction changes all of them or none, wherever it is cut short; a
// check finds every lost entry; plans name the indexes they read.

import Foundation
import HornbeamHandKept
import HornbeamMapReduce
import HornbeamPages
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@Suite("All kinds of indexes together")
struct AllKindsTests {
    private struct Cancelled: Error {}

    private func expectWhole(_ database: Database, _ place: Comment) throws {
        try database.read { (context) throws in
            #expect(try AllKinds.differences(AllKinds.answers(context), context).isEmpty, place)
        }
        let isClean = try database.check { Issue.record("\($0), \(place)") }
        #expect(isClean, place)
    }

    @Test("One transaction changes all of them, or none", .seeded)
    func atomicity() throws {
        var random = SeededGenerator()
        let database = try AllKinds.inMemory()
        var thrown = 0
        for round in 0..<120 {
            let before = try database.read { context in try AllKinds.answers(context) }
            let isCancelled = Int.random(in: 0..<3, using: &random) == 0
            do {
                try database.write { (context) throws in
                    for _ in 0..<Int.random(in: 1...6, using: &random) { try AllKinds.edit(&context, &random) }
                    if isCancelled { throw Cancelled() }
                }
            } catch is Cancelled {
                thrown += 1
                let after = try database.read { context in try AllKinds.answers(context) }
                #expect(after == before, "round \(round)")
            }
            if round % 10 == 0 { try expectWhole(database, "round \(round)") }
        }
        #expect(thrown > 10)
        try expectWhole(database, "the end")
    }

    @Test("after a power loss at any call all of them are of one commit", .seeded)
    func crashes() throws {
        let first = try SimulatedDisk()
        let database = try AllKinds.open(first)
        var random = SeededGenerator()
        try database.write { (context) throws in
            for _ in 0..<12 { try AllKinds.edit(&context, &random) }
        }
        try database.close()
        let calls = try SimulatedDisk.crashAtEveryCall(of: first.killedImage()) { disk in
            var random = SeededGenerator()
            guard let database = try? AllKinds.open(disk) else { return false }
            do {
                for _ in 0..<3 {
                    try database.write { (context) throws in
                        for _ in 0..<4 { try AllKinds.edit(&context, &random) }
                    }
                }
                try database.close()
                return true
            } catch {
                return false
            }
        } _: { image, _, place in
            let left = try AllKinds.open(try SimulatedDisk(image: image))
            try expectWhole(left, place)
            try left.close()
        }
        #expect(calls > 10)
    }

    /// Returns a file whose indexes all have entries.
    private func image() throws -> DiskImage? {
        let disk = try SimulatedDisk()
        let database = try AllKinds.open(disk)
        try database.write { (context) throws in
            for id in 0..<6 {
                var track = Recording(
                    id: id, title: "blue train", genre: "rock", rating: 5, code: "c\(id)", seconds: 50)
                track.tags = ["live"]
                track.$release = .relation(Release(id: 1))
                try track.save(to: &context)
            }
            _ = try Recording.query(0).delete(from: &context)
            try context[RecordingLists().ofAlbum][1].append(contentsOf: [4, 2])
        }
        try database.close()
        return disk.imageAfterKill()
    }

    /// Expects a check to report an image in which a tree's first entry was replaced by others.
    private func expectProblems(
        _ image: DiskImage?, _ name: String, _ what: String,
        _ change: (_ key: [UInt8], _ value: [UInt8]) -> [([UInt8], [UInt8])]
    ) throws {
        let damaged = try AllKinds.open(try SimulatedDisk(image))
        let transaction = try damaged.store.beginWrite()
        let tree = try #require(try transaction.tree(name))
        var cursor = try transaction.cursor(tree)
        _ = try cursor.first()
        let (key, value) = (Array(cursor.key), Array(cursor.value))
        _ = try transaction.delete(tree, key)
        for (key, value) in change(key, value) { try transaction.put(tree, key, value) }
        try transaction.commit()
        var problems: [String] = []
        let isClean = try damaged.check { problems.append($0) }
        #expect(!isClean && !problems.isEmpty, "\(name) has \(what)")
        // A problem in an index names the index.
        if let index = name.split(separator: ":").dropFirst(2).first, name.first != "t" {
            #expect(problems.contains { $0.contains(index) }, "\(name) has \(what): \(problems)")
        }
        try? damaged.close()
    }

    @Test("A check finds every lost entry of an index")
    func lostEntries() throws {
        let image = try image()
        // A row without indexes, and a member of a set, are recorded nowhere else.
        let names = try treesWithEntries(image).filter {
            !["e:Deleted<Recording>", "m:Recording:starred"].contains($0)
        }
        #expect(names.filter { $0.hasPrefix("m") }.count == 12, "\(names)")
        for name in names { try expectProblems(image, name, "lost an entry") { _, _ in [] } }
    }

    @Test("A check finds every surplus entry of an index")
    func strayEntries() throws {
        let image = try image()
        let (row, other) = ((0..<6).map { RowID(rawValue: $0).key }, RowID(rawValue: 1_000).key)
        var ofOther = 0
        for name in try treesWithEntries(image) where name.first != "e" {
            try expectProblems(image, name, "an entry whose key isn't one") { [($0, $1), ($0 + [0], $1)] }
            // In indexes whose entries name their entity, an entry without an entity.
            var isFound = false
            try expectProblems(image, name, "an entry of an entity that isn't there") { key, value in
                for row in row {
                    let stray = (key.replacing(row, with: other), value.replacing(row, with: other))
                    guard stray != (key, value) else { continue }
                    isFound = true
                    return stray.0 == key ? [stray] : [(key, value), stray]
                }
                return []
            }
            if isFound { ofOther += 1 }
        }
        #expect(ofOther > 15)
    }

    @Test("Plans name the index that they read, of each kind")
    func explanations() throws {
        let database = try AllKinds.inMemory()
        try database.write { (context) throws in
            for id in 0..<200 {
                var track = Recording(id: id, title: "blue train", genre: "g\(id % 50)", code: "c\(id)", seconds: id)
                track.rating = Double(id)
                track.tags = ["t\(id % 60)"]
                if id % 5 == 0 { track.genre = "rock" }
                try track.save(to: &context)
            }
        }
        try database.read { (context) throws in
            let plans: [(name: String, plan: String)] = [
                ("byRating", "\(try Recording.filter(\.rating > 195).explain(in: context))"),
                (
                    "byGenreAndLength",
                    "\(try Recording.filter(\.genre == "g7").sorted(by: \.seconds).explain(in: context))"
                ),
                ("byCode", "\(try Recording.filter(\.code == "c7").explain(in: context))"),
                (
                    "index search",
                    "\(try Recording.filter(.string(\.title, matches: "train")).limit(2).explain(in: context))"
                ),
                ("lengths", "\(try Recording.filter(\.rating != nil && \.seconds > 197).explain(in: context))"),
                ("tags", "\(try Recording.filter(.any(\.tags) { $0 == "t7" }).explain(in: context))"),
                ("byTag", try AllKinds.first.byTag.query().key("t7").explain(in: context)),
                ("charts", "\(try AllKinds.first.charts.query(RecordingIndexes.rating > 195.0).explain(in: context))"),
                ("shelves", try AllKinds.first.shelves["rock"].explain(in: context)),
                ("shelves", try AllKinds.first.shelves.explain(in: context)),
                // The limit matters: for all rows of a genre the planner takes the other index, which leaves no
                // condition to test.
                ("index byGenre,", "\(try Recording.filter(\.genre == "g7").limit(1).explain(in: context))"),
                ("tags", "\(try Recording.query().unnest(\.tags).filter { $0 == "t7" }.explain(in: context))"),
                ("tracks", "\(try Release.query(1).related(\.$tracks).explain(in: context))"),
            ]
            for (name, plan) in plans { #expect(plan.contains(name), "\(plan)") }
        }
    }

    @Test("Plans name the list, the group, the set and the key that they begin with; a part of a view names its view")
    func explanationsOfLists() throws {
        let database = try AllKinds.inMemory()
        try database.write { (context) throws in
            try Release(id: 1).save(to: &context)
            for id in 0..<20 {
                var track = Recording(id: id, title: "blue train", genre: "rock", code: "c\(id)", seconds: id)
                track.rating = Double(id)
                try track.save(to: &context)
            }
            try context.indexes(of: RecordingLists.self).ofAlbum[1].append(contentsOf: [3, 1])
        }
        let lists = RecordingLists()
        try database.read { (context) throws in
            let queries: [(name: String, query: QueryList<Recording>, count: Int)] = [
                ("added", Recording.query(in: lists.added), 20),
                ("grouped", Recording.query(in: lists.grouped, group: "rock"), 20),
                ("ofAlbum", Recording.query(in: lists.ofAlbum, group: 1), 2),
                ("coded", Recording.query(in: lists.coded, key: "c7"), 1),
                ("coded", Recording.query(in: lists.coded, key: "none"), 0),
                ("starred", Recording.query(in: lists.starred), 1),
            ]
            for (name, query, count) in queries {
                let plan = try query.explain(in: context)
                #expect(plan.list == name && "\(plan)".contains("of list “\(name)”"), "\(plan)")
                #expect(plan.candidates == count, "\(plan)")
                #expect(try query.count(in: context) == count, "\(name)")
            }
            #expect(try Recording.query(in: lists.coded, key: "c7").resolve(in: context).map(\.id) == [7])
            #expect(try Recording.query(in: lists.coded, key: "c7").filter(\.seconds > 7).count(in: context) == 0)

            var part = FilteredView(AllKinds.first.shelves, where: { $0.seconds > 15 })
            try part.load(in: context)
            let plan = try part.explain(in: context)
            #expect(plan.contains("4 entries") && plan.contains("“shelves”"), "\(plan)")
            var found = FilteredView(AllKinds.first.shelves, matching: .filter(\.rating > 17))
            try found.load(in: context)
            #expect(try found.explain(in: context).contains("this finds:\nRecording: "))
        }
    }

    @Test("Dropping all of them leaves no tree behind")
    func dropping() throws {
        let database = try AllKinds.inMemory()
        var random = SeededGenerator()
        try database.write { (context) throws in
            for _ in 0..<20 { try AllKinds.edit(&context, &random) }
        }
        let names = try database.registeredIndexes().map(\.name)
        #expect(names.count == 10, "\(names)")
        for name in names { #expect(try database.unregister(name)) }
        let read = try database.store.beginRead()
        defer { read.abort() }
        let left = try read.treeNames().filter { name in ["m", "c", "p", "r"].contains { name.hasPrefix($0) } }
        #expect(left.isEmpty)
        #expect(try database.registeredIndexes().isEmpty)
    }

    /// Returns the trees of an image whose entries are also recorded elsewhere.
    private func treesWithEntries(_ image: DiskImage?) throws -> [String] {
        let database = try AllKinds.open(try SimulatedDisk(image))
        defer { try? database.close() }
        let read = try database.store.beginRead()
        defer { read.abort() }
        return try read.treeNames().filter { name in
            guard name != "schema", let tree = try read.tree(name) else { return false }
            return try read.count(tree) > 0
        }
    }
}
