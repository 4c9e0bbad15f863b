// SPDX-License-Identifier: Apache-2.0
// The counts of an analysed plan, and queries that are refused if they would scan.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Part {
    @Index<Self>(\.kind, \.price) private var byKind
    @Index<Self>(\.weight) private var byWeight
    @FullTextIndex<Self>(\.text) private var search

    let id: Int
    var kind: Int
    var price: Int
    var weight: Int
    var text: String
    @Relationship(inverse: \.parts) var box: Box?
}

@EntityModel
private struct Box {
    let id: Int
    var size: Int
    @Relationship(inverse: \.box) var parts: [Part]?
}

/// An entity that leads to others of its own type.
@EntityModel
private struct Film {
    @Index<Self>(\.year) private var byYear
    let id: Int
    var title: String
    var year: Int
    @Relationship(inverse: \.before) var sequels: [Film]?
    @Relationship(inverse: \.sequels) var before: Film?
}

@Suite("Plans that are carried out")
struct PlanRunTests {
    private let context: Context

    init() throws {
        var context = Context()
        for id in 0..<200 {
            try Part(
                id: id, kind: id % 10, price: id, weight: id % 50, text: id % 20 == 0 ? "brass screw" : "steel nail"
            ).save(to: &context)
        }
        try Box(id: 1, size: 5, parts: .ids(Array(0..<100))).save(to: &context)
        self.context = context
    }

    @Test("report the rows read, the rows passed, and the results")
    func counts() throws {
        let range = Part.filter(\.kind == 3).filter(\.weight > 20).sorted(by: \.price).limit(4)
        let run = try range.explain(.analyze, in: context)
        #expect(run.plan == (try range.explain(in: context)))
        // Rows 3, 13, 23, 33, 43, 53, 63, 73 have the weights 3, 13, 23, 33, 43, 3, 13, 23.
        #expect(run.rowsPassed == 4 && (8...20).contains(run.rowsRead) && run.results == 4 && run.parts.isEmpty)
        #expect(run.duration > .zero)
        #expect(run.steps.map(\.text) == run.plan.steps().map(\.text))
        #expect(run.steps.map(\.rows) == [run.rowsRead, 4, 4] && run.steps[1].read == run.rowsRead)
        #expect(run.steps[0].read == run.entriesRead && (run.rowsRead...20).contains(run.entriesRead))
        #expect("\(run)" == (run.steps.lines + ["  4 results"]).joined(separator: "\n"))

        let scan = try Part.filter(\.price != 7).explain(.analyze, in: context)
        #expect(scan.rowsRead == 200 && scan.rowsPassed == 199 && scan.results == 199)

        let sorted = try Part.filter(\.price > 190).sorted(by: \.text).limit(2).explain(.analyze, in: context)
        #expect(sorted.rowsRead == 200 && sorted.rowsPassed == 9 && sorted.results == 2)

        let both = try Part.filter(\.kind == 3 && \.weight == 13).explain(.analyze, in: context)
        #expect(both.results == 4 && both.rowsRead <= 20)

        let either = try Part.filter(\.weight == 3 || \.weight == 4).explain(.analyze, in: context)
        #expect(either.parts.map(\.found) == [8] && either.rowsRead == 8 && either.results == 8)
        #expect("\(either)".contains("\n  gathered by index byWeight, 2 ranges of 8 entries → 8 rows\n"))

        let ranked = try Part.filter(.string(\.text, matches: "brass")).filter(\.price < 60).limit(2)
            .explain(.analyze, in: context)
        // Rows 0, 20, …, 180 have the word; three of them have a price below 60.
        #expect(ranked.results == 2 && (2...3).contains(ranked.rowsPassed) && ranked.rowsRead <= 10)

        let along = try Box.query(1).related(\.$parts).limit(3, offset: 5).explain(.analyze, in: context)
        #expect(along.rowsRead == 3 && along.results == 3)
    }

    @Test("of a part of a list report the counts of only that part")
    func lists() throws {
        let some = Part.query([5, 6, 7, 8, 1000]).filter(\.price != 6)
        let run = try some.limit(1, offset: 1).explain(.analyze, in: context)
        #expect(run.results == 1 && run.plan.limit == 1 && run.plan.offset == 1)
        #expect(try Part.query().limit(10).filter(\.price > 4).explain(.analyze, in: context).results == 5)
        #expect(try Part.query().limit(0).explain(.analyze, in: context).results == 0)
    }

    @Test("are refused if they would come from all entities that a relation may lead to, and an index is required")
    func refusedJoins() throws {
        var context = context
        for id in 0..<50 { try Film(id: id, title: "t\(id)", year: id).save(to: &context) }
        try Film(id: 1, title: "t1", year: 1, sequels: .ids([7, 8])).save(to: &context)
        let byTitle = Film.filter(.any(\.$sequels, where: \.title == "t8"))
        let byYear = Film.filter(.any(\.$sequels, where: \.year == 8))
        let twice = Film.filter(.any(\.$sequels, where: .any(\.$before, where: \.title == "t1")))
        for query in [byTitle, byYear, twice] { #expect(try query.ids(in: context) == [1]) }
        #expect(try byYear.requiringIndex().ids(in: context) == [1])
        for query in [byTitle, twice] {
            let error = #expect(throws: HornbeamError.self) { try query.requiringIndex().ids(in: context) }
            #expect(error?.code == .needsIndex)
        }
        // If the join would read less than a scan, the join is what the plan has, and it is refused.
        try Box(id: 1, size: 5, parts: .ids([1, 2, 3])).save(to: &context)
        let few = Part.filter(.any(\.$box, where: \.size == 5))
        #expect(try few.ids(in: context) == [1, 2, 3])
        let error = #expect(throws: HornbeamError.self) { try few.requiringIndex().ids(in: context) }
        #expect(error?.message.contains("all entities that its relation “box” may lead to") == true)
        #expect(error?.message.contains("join along box") == true, "\(error?.message ?? "")")
    }

    @Test("are refused if they would look at everything and an index is required")
    func refusals() throws {
        let refused: [QueryList<Part>] = [
            .filter(\.price > 7), .filter(\.price > 7).limit(3), Part.query().sorted(by: \.text),
            .filter(\.text != ""), .filter(\.kind == 1 || \.price == 7),
        ]
        for query in refused {
            let wanted = try query.ids(in: context)
            #expect {
                try query.requiringIndex().resolve(in: context)
            } throws: { error in
                guard let error = error as? HornbeamError else { return false }
                return error.code == .needsIndex && error.message.contains("Part: scan of 200 rows")
            }
            #expect(throws: HornbeamError.self) { try query.requiringIndex().explain(in: context) }
            #expect(try query.ids(in: context) == wanted)
        }
        let served: [QueryList<Part>] = [
            Part.query(), .filter(\.kind == 1), .filter(\.kind != 1).sorted(by: \.weight), .filter(\.id > 40),
            .filter(.value(\.id, in: [4, 2])), .filter(\.weight == 3 || \.weight == 4), Part.query([3, 4]),
            .filter(.string(\.text, matches: "brass")), Box.query(1).related(\.$parts).filter(\.price > 7),
            .filter(.any(\.$box, where: \.id == 1)), Part.query().limit(50).filter(\.price > 7),
            .filter(\.kind == 77),
        ]
        for query in served {
            #expect(try query.requiringIndex().ids(in: context) == query.ids(in: context))
            #expect(try query.requiringIndex().count(in: context) == query.count(in: context))
        }
    }
}
