// SPDX-License-Identifier: Apache-2.0
// Live queries, views, filtered views and sections report the smallest number of moves for entities whose keys changed.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@EntityModel
private struct Runner {
    let id: Int
    var place: Int
}

@Suite("Least moves")
struct LeastMovesTests {
    @Test("an element that all others overtake is the one that moves, in lists, views, filtered views and sections")
    func overtaken() throws {
        let view = View<Runner, SoleGroup>("byPlace", version: "1", sortedBy: .ascending(\.place))
        let database = try Database.inMemory(models: Runner.self, indexes: [view])
        try database.write { context in
            for id in 0..<10 { try Runner(id: id, place: 10 + id).save(to: &context) }
        }
        let live = Observation(ListResult(Runner.query().sorted(by: \.place)), of: database)
        live.start()
        defer { live.finish() }
        _ = try live.poll()
        let read = try database.longLivedRead()
        var filtered = FilteredView(view) { _ in true }
        var sections = ViewMappings(view)
        try read.read { (context) throws in
            try filtered.load(in: context)
            try sections.load(in: context)
        }
        try database.write { context in
            for id in 1..<10 { try Runner(id: id, place: id).save(to: &context) }
        }
        let told = try #require(try live.poll()?.changes)
        #expect(told.moves == [ListChanges.Move(from: 0, to: 9)] && told.updates == Array(0..<9))
        try read.moveForward { (step) throws in
            let changes = try step.changes(of: view)
            let mover = ViewChanges<Runner, SoleGroup>.Change(
                id: 0, from: ViewPosition(group: .all, index: 0), to: ViewPosition(group: .all, index: 9))
            #expect(changes.moves == [mover] && changes.updates.map(\.id) == Array(1..<10))
            #expect(try filtered.move(step).moves == [mover])
            let rows = try sections.move(step)
            #expect(rows.moves == [SectionChanges.Move(from: ListPath(0, 0), to: ListPath(0, 9))])
        }
    }

    @Test("of two elements that change places the saved one moves")
    func neighbours() throws {
        let database = try Database.inMemory(models: Runner.self)
        try database.write { context in
            for id in 0..<4 { try Runner(id: id, place: 10 * id).save(to: &context) }
        }
        let live = Observation(ListResult(Runner.query().sorted(by: \.place)), of: database)
        live.start()
        defer { live.finish() }
        _ = try live.poll()
        try database.write { context in try Runner(id: 1, place: 25).save(to: &context) }
        #expect(try live.poll()?.changes?.moves == [ListChanges.Move(from: 1, to: 2)])
        try database.write { context in try Runner(id: 3, place: 22).save(to: &context) }
        #expect(try live.poll()?.changes?.moves == [ListChanges.Move(from: 3, to: 2)])
    }
}
