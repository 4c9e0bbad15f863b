// SPDX-License-Identifier: Apache-2.0
// All kinds of indexes over one type at once: a transaction changes all of them or none, whatever cuts it short; a
// check misses no lost entry; plans name what they read.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@Suite("All kinds of indexes together")
struct AllKindsTests {
    private struct Cancelled: Error {}

    /// Each kind says what the entities say.
    private func expectAgreement(_ context: Context, _ place: Comment) throws {
        let tracks: [Recording] = try context.all()
        // Asked from the other side of the relation.
        let ofRelease = try Release.query(1).resolve(in: context).map { _ in
            try Recording.query().id(\.$release).resolve(in: context).filter { $0.$release.id == 1 }.map(\.id)
        }
        let (answers, model) = (try AllKinds.answers(context), AllKinds.model(tracks, ofRelease: ofRelease))
        for kind in Set(answers.keys).union(model.keys).sorted() {
            #expect(answers[kind] == model[kind], "\(kind), \(place)")
        }
    }

    private func expectWhole(_ database: Database, _ place: Comment) throws {
        try database.read { context in try expectAgreement(context, place) }
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
                try database.write { context in
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

    @Test("C23, E17: whatever call to the disk a power loss comes at, all of them are of one commit", .seeded)
    func crashes() throws {
        let first = try SimulatedDisk()
        let database = try AllKinds.open(first)
        var random = SeededGenerator()
        try database.write { context in
            for _ in 0..<12 { try AllKinds.edit(&context, &random) }
        }
        try database.close()
        let image = first.killedImage()
        var (call, crashes) = (1, 0)
        while true {
            let disk = try SimulatedDisk(image: image)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            var random = SeededGenerator()
            if let database = try? AllKinds.open(disk) {
                _ = try? { () throws in
                    for _ in 0..<3 {
                        try database.write { context in
                            for _ in 0..<4 { try AllKinds.edit(&context, &random) }
                        }
                    }
                    try database.close()
                }()
            }
            let images = [disk.powerLossImage(seed: UInt64(call) &+ SeededGenerator.seed), disk.killedImage()]
            for image in images {
                let left = try AllKinds.open(try SimulatedDisk(image: image))
                try expectWhole(left, "call \(call)")
                try left.close()
            }
            if !disk.hasCrashed { break }
            crashes += 1
            call += 1
        }
        #expect(crashes > 10)
    }

    @Test("A check misses no entry that an index has lost")
    func lostEntries() throws {
        let disk = try SimulatedDisk()
        let database = try AllKinds.open(disk)
        try database.write { context in
            for id in 0..<6 {
                var track = Recording(
                    id: id, title: "blue train", genre: "rock", rating: 5, code: "c\(id)", seconds: 50)
                track.tags = ["live"]
                track.$release = .relation(Release(id: 1))
                try track.save(to: &context)
            }
            _ = try Recording.query(0).delete(from: &context)
        }
        try database.close()
        let image = disk.killedImage()
        let read = try database.treesWithEntries(of: image)
        #expect(read.filter { $0.hasPrefix("m") }.count == 11, "\(read)")
        for name in read {
            let damaged = try AllKinds.open(try SimulatedDisk(image: image))
            let transaction = try damaged.store.beginWrite()
            let tree = try #require(try transaction.tree(name))
            var cursor = try transaction.cursor(tree)
            _ = try cursor.first()
            let key = Array(cursor.key)
            _ = try transaction.delete(tree, key)
            try transaction.commit()
            var problems: [String] = []
            let isClean = try damaged.check { problems.append($0) }
            #expect(!isClean && !problems.isEmpty, "\(name) has lost an entry")
            // Of an index its name is said.
            if let index = name.split(separator: ":").dropFirst(2).first, name.first != "t" {
                #expect(problems.contains { $0.contains(index) }, "\(name): \(problems)")
            }
            try? damaged.close()
        }
    }

    @Test("Plans name the index that they read, of each kind")
    func explanations() throws {
        let database = try AllKinds.inMemory()
        try database.write { context in
            for id in 0..<200 {
                var track = Recording(id: id, title: "blue train", genre: "g\(id % 50)", code: "c\(id)", seconds: id)
                track.rating = Double(id)
                track.tags = ["t\(id % 60)"]
                if id % 5 == 0 { track.genre = "rock" }
                try track.save(to: &context)
            }
        }
        try database.read { context in
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
                ("byTag", try AllKinds.byTag.query().key("t7").explain(in: context)),
                ("charts", "\(try AllKinds.charts.query(AllKinds.rating > 195.0).explain(in: context))"),
                ("shelves", try AllKinds.shelves["rock"].explain(in: context)),
                ("shelves", try AllKinds.shelves.explain(in: context)),
                ("added", "\(try Recording.query(in: RecordingLists().added).explain(in: context))"),
            ]
            for (name, plan) in plans { #expect(plan.contains(name), "\(plan)") }
        }
    }

    @Test("Dropped, all of them leave no tree behind")
    func dropping() throws {
        let database = try AllKinds.inMemory()
        var random = SeededGenerator()
        try database.write { context in
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
}

extension Database {
    /// The trees of an image that have entries which something else tells too.
    fileprivate func treesWithEntries(of image: [UInt8]?) throws -> [String] {
        let database = try AllKinds.open(try SimulatedDisk(image: image))
        defer { try? database.close() }
        let read = try database.store.beginRead()
        defer { read.abort() }
        return try read.treeNames().filter { name in
            guard let tree = try read.tree(name), try read.count(tree) > 0 else { return false }
            // Nothing else tells a row that no index has, nor a member of a set.
            return name != "schema" && name != "e:Deleted<Recording>" && name != "m:Recording:starred"
        }
    }
}
