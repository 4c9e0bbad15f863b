// SPDX-License-Identifier: Apache-2.0
// YapDatabase's views, row by row of the project's table of features: each test is named after its row.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@Suite("Views, as YapDatabase has them")
struct YapViewsTests {
    @Test("Y20: index in a group and entity are told of each other in O(log n), of 100,000 entities")
    func y20() throws {
        let view = mailView()
        let database = try Database.counting(Mail.self)
        let count = 100_000
        try database.write { context in
            for id in 0..<count {
                try Mail(id: id, folder: ["a", "b"][id % 2], rank: id * 7919 % count).save(to: &context)
            }
        }
        try database.register(view)
        let wanted = try database.read { try view["b"].id(at: 31_415, in: $0) }
        let id = try #require(wanted)
        // One more than the least that are of higher rank.
        let higher = (0..<count).filter { $0 % 2 == 1 && $0 * 7919 % count > id * 7919 % count }.count
        #expect(higher == 31_415)
        // The catalogue, the view, the rows: a few descents of three or four pages each. All are 600 pages and more.
        let bound = 60
        func pages<Answer: Equatable>(_ wanted: Answer, _ body: (Context) throws -> Answer) throws -> Int {
            var answer: Answer?
            let pages = try database.pagesRead { context in answer = try body(context) }
            #expect(answer == wanted)
            return pages
        }
        #expect(try pages(id) { try view["b"].id(at: 31_415, in: $0) } < bound)
        #expect(try pages(ViewPosition(group: "b", index: 31_415)) { try view.position(of: id, in: $0) } < bound)
        #expect(try pages(count / 2) { try view["a"].count(in: $0) } < bound)
        #expect(try pages(["a", "b"]) { try view.groups(in: $0) } < bound)
        #expect(try pages(250) { try view["a"].indexes(of: 500..<1_000, in: $0).count } < bound)
        #expect(try pages(10) { try view["a"].entities(40_000..<40_010, in: $0).count } < bound + 40)
        #expect(try pages(count / 2) { try view["a"].ids(in: $0).count } > 2 * bound)
    }

    @Test("Y21: a contiguous range of a group is found by halving")
    func y21() throws {
        let view = mailView()
        let database = try Database.counting(Mail.self)
        try database.write { context in
            for id in 0..<5_000 { try Mail(id: id, folder: "a", rank: id / 10).save(to: &context) }
        }
        try database.register(view)
        var ranges: [Range<Int>] = []
        let pages = try database.pagesRead { context in
            ranges = [
                try view["a"].indexes(in: context) { mail in
                    mail.rank >= 300 ? .orderedAscending : mail.rank < 200 ? .orderedDescending : .orderedSame
                },
                try view["a"].indexes(of: 200..<300, in: context), try view["a"].indexes(of: 200...299, in: context),
            ]
        }
        #expect(ranges == [2_000..<3_000, 2_000..<3_000, 2_000..<3_000])
        #expect(pages < 600)
    }
}
