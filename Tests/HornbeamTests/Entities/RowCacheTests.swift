// SPDX-License-Identifier: Apache-2.0
// Rows that a transaction knows to be stored without reading them: it forgets a row that is deleted or undone.

import Testing

@testable import Hornbeam

@EntityModel
private struct Knot {
    let id: Int
    @Relationship(inverse: \.from) var to: [Knot]?
    @Relationship(inverse: \.to) var from: [Knot]?
    func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }
}

@Suite("Rows known to be stored")
struct RowCacheTests {
    private struct Stop: Error {}

    @Test("don't include deleted or undone ones: links to them count when they are stored again")
    func forgotten() throws {
        let database = try Database.inMemory(models: Knot.self)
        try database.write { context in
            for id in 1...10 { try Knot(id: id).save(to: &context) }
            try Knot(id: 1, to: .ids(Array(2...10))).save(to: &context)
            try Knot.delete(id: 3, from: &context)
            #expect(throws: Stop.self) {
                try context.transaction { context in
                    for id in 11...20 { try Knot(id: id).save(to: &context) }
                    throw Stop()
                }
            }
            try Knot(id: 2, to: .ids([1, 3, 11, 4])).save(to: &context)
            let linked = Knot.query(2).related(\.$to)
            #expect(try linked.count(in: context) == 2)
            #expect(try linked.ids(in: context) == [1, 4])
            #expect(try Knot.filter(\.$to.count == 2).ids(in: context) == [2])
            #expect(try context.isWhole())
            try Knot(id: 3).save(to: &context)
            #expect(try linked.count(in: context) == 3)
            #expect(try Knot.filter(\.$to.count == 3).ids(in: context) == [2])
            #expect(try context.isWhole())
        }
        #expect(try database.check())
    }
}
