// SPDX-License-Identifier: Apache-2.0
// An `or` of conditions that each have a path reads only the rows that its branches find.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Member: Equatable {
    @Unique<Self>(\.email, collisions: .replace) private var byEmail

    let id: String
    var email: String
    var born: Int
    @Relationship(inverse: \.author) var posts: [Post]?
}

@EntityModel
private struct Post {
    @Index<Self>(\.year) private var byYear

    let id: Int
    var year: Int
    var text: String
    @Relationship(inverse: \.posts) var author: Member?
    @Relationship() var answers: [Post]?
}

@Suite("Unions of paths")
struct UnionPlansTests {
    private static func database() throws -> Database {
        let database = try Database.counting(Member.self, Post.self)
        try database.write { context in
            for number in 0..<2_000 {
                try Member(id: "m\(number)", email: "\(number)@x", born: number % 90).save(to: &context)
            }
            for id in 0..<4_000 {
                try Post(
                    id: id, year: id / 4, text: "t\(id)", author: .id("m\(id % 2_000)"),
                    answers: .ids(id == 7 ? [1, 2, 9_999] : [])
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("ids, lists and ranges of them, relations and joins beside an index: a few pages, and no index is missed")
    func paths() throws {
        let database = try Self.database()
        func posts(_ name: String, by access: String = "union of", _ predicate: Predicate<Post>, _ ids: [Int]) throws {
            let query = Post.filter(predicate)
            let run = try database.read { try query.explain(.analyze, in: $0) }
            #expect(run.plan.access.description.hasPrefix(access), "\(name): \(run)")
            #expect(!run.plan.access.description.contains("scan"), "\(name): \(run)")
            #expect(run.rowsRead <= ids.count + 4, "\(name): \(run)")
            try check(database, name) { (context) throws in
                #expect(try query.ids(in: context) == ids, "\(name)")
                #expect(try query.requiringIndex().count(in: context) == ids.count, "\(name)")
                #expect(try query.sorted(by: \.year.desc, \.id.desc).ids(in: context) == ids.reversed(), "\(name)")
            }
        }
        // Alternatives of one property are a list of values.
        try posts("ids", by: "look-up of", \.id == 5 || \.id == 3_000 || \.id == 70_000, [5, 3_000])
        try posts("list", .value(\.id, in: [9, 8, 70_000]) || \.year == 0, [0, 1, 2, 3, 8, 9])
        try posts("range", \.id < 2 || \.id >= 3_998 || \.year == 1, [0, 1, 4, 5, 6, 7, 3_998, 3_999])
        try posts("two joins", \.$author.id == "m3" || \.$author.id == "m7", [3, 7, 2_003, 2_007])
        try posts("join and id", .has(\.$author, \.email == "9@x") || \.id == 1, [1, 9, 2_009])
        try posts("within an and", (\.id == 5 || \.year == 0) && \.id > 2, [3, 5])
        try posts("an or in an and in an or", (\.id == 5 || \.id == 6) && \.year == 1 || \.id == 1, [1, 5, 6])
        try posts("narrowed", \.id == 5 && \.text == "t5" || \.id == 6 && \.text == "t5", [5])
        try check(database, "texts") { (context) throws in
            let query = Member.filter(\.id == "m17" || \.email == "19@x" || \.id == "nobody").requiringIndex()
            #expect(try query.ids(in: context) == ["m17", "m19"])
            let run = try query.explain(.analyze, in: context)
            #expect(run.plan.filter == nil && run.rowsRead <= 3, "\(run)")
            #expect(try Member.filter(\.id > "m998" || \.email == "1@x").ids(in: context) == ["m1", "m999"])
        }
    }

    private func check(_ database: Database, _ name: String, _ body: (Context) throws -> Void) throws {
        let pages = try database.pagesReadAgain(body)
        #expect(pages <= 250, "\(name): \(pages) pages")
    }

    @Test("entities related to one entity, beside an index: unstored ones are left out")
    func related() throws {
        try Self.database().read { (context) throws in
            let answers = Filter.related(RelationSource(type: "Post", relation: "answers", source: .int(7)))
            var query = EntityQuery(
                type: "Post",
                filter: .or([answers, .compare(column: 1, .equal, .int(3)), .ids([.int(0), .int(60_000)])]))
            query.requiresIndex = true
            try context.session.run { session in
                let found = try session.core(for: Post.self).rowIDs(query).map(\.rawValue)
                #expect(found == [0, 1, 2, 12, 13, 14, 15])
                let plan = try session.plan(query, of: Post.self)
                guard case .union(let parts) = plan.access else {
                    Issue.record("\(plan)")
                    return
                }
                #expect(parts.first == .relation(name: "Post.answers", targets: 3))
                #expect(parts.last == .ids(count: 2))
            }
        }
    }
}
