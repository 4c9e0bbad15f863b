// SPDX-License-Identifier: Apache-2.0
// The key paths that mean a column: only stored properties, even if other properties have the same offset in a value.

import Hornbeam
import Testing
@testable import HornbeamEngine

private struct Deep: Codable, Sendable {
    var number: Int
}

private struct Outer: Codable, Sendable {
    var deep: Deep
    var other: Int
}

private struct Nothing: Codable, Sendable, Equatable {}

@EntityModel
private struct Layered {
    @Index<Self>(\.count) private var byCount

    let id: Int
    var outer: Outer
    var nothing: Nothing
    var count: Int
    var flag: Bool
    var name: String?

    var double: Int { count * 2 }
}

@Suite("Key paths")
struct KeyPathTests {
    private func stored() throws -> Database {
        let database = try Database.inMemory(models: Layered.self)
        try database.write { context in
            for id in 0..<20 {
                let outer = Outer(deep: Deep(number: id % 3), other: id % 4)
                try Layered(
                    id: id, outer: outer, nothing: Nothing(), count: id % 5, flag: id % 2 == 0,
                    name: id % 7 == 0 ? nil : "n\(id % 7)"
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("give the same order each time they are used in a sort, however many there are")
    func sorts() throws {
        try stored().read { context throws in
            func expect(_ list: QueryList<Layered>, _ precedes: (Int, Int) -> Bool) throws {
                let expected = (0..<20).sorted { precedes($0, $1) || !precedes($1, $0) && $0 < $1 }
                #expect(try list.ids(in: context) == expected)
            }
            // The entities without a name come first.
            func name(_ id: Int) -> Int { id % 7 }
            let all = Layered.query()
            for _ in 0..<3 {
                try expect(all.sorted(by: \.count)) { $0 % 5 < $1 % 5 }
                try expect(all.sorted(by: \.count.desc)) { $0 % 5 > $1 % 5 }
                try expect(all.sorted(by: \.double)) { $0 % 5 < $1 % 5 }
                try expect(all.sorted(by: \.double.desc)) { $0 % 5 > $1 % 5 }
                try expect(all.sorted(by: \.flag.asc)) { $0 % 2 > $1 % 2 }
                try expect(all.sorted(by: \.flag.desc)) { $0 % 2 < $1 % 2 }
                try expect(all.sorted(by: \.name.asc)) { name($0) < name($1) }
                try expect(all.sorted(by: \.name.desc)) { name($0) > name($1) }
                try expect(all.sorted(by: \.id)) { $0 < $1 }
                try expect(all.sorted(by: \.id.desc)) { $0 > $1 }
                try expect(all.sorted(by: \.outer.other)) { $0 % 4 < $1 % 4 }
                try expect(all.sorted(by: \.outer.deep.number)) { $0 % 3 < $1 % 3 }
                try expect(all.sorted(by: \.count.desc, \.flag.asc)) {
                    ($1 % 5, $1 % 2) < ($0 % 5, $0 % 2)
                }
            }
        }
    }

    @Test("of stored properties compare columns; nested and computed ones test the entity, in any place")
    func columns() throws {
        try stored().read { context throws in
            func expect(_ predicate: Predicate<Layered>, _ filter: String?, _ test: (Int) -> Bool) throws {
                let list = Layered.filter(predicate)
                #expect(try list.ids(in: context) == (0..<20).filter(test))
                if let filter { #expect(try list.explain(in: context).filter == filter) }
            }
            // Both have the offset of `outer`.
            try expect(\.outer.deep.number == 1, nil) { $0 % 3 == 1 }
            try expect(\.outer.other == 2, nil) { $0 % 4 == 2 }
            try expect(\.double == 4, nil) { $0 % 5 == 2 }
            try expect(\.flag == true, "flag == true") { $0 % 2 == 0 }
            try expect(\.name == "n3", "name == \"n3\"") { $0 % 7 == 3 }
            try expect(\.name == nil, "name == nil") { $0 % 7 == 0 }
            try expect(\.nothing == Nothing(), nil) { _ in true }
            let count = try Layered.filter(\.count == 3).explain(in: context)
            #expect(count.access == .index(name: "byCount", ranges: 1, entries: 4, reversed: false))
            let nested = try Layered.filter(\.outer.deep.number == 1).explain(in: context)
            #expect(nested.access == .rowScan(rows: 20) && nested.filter != nil)
        }
    }

    @Test("in either direction give the order of their column")
    func orders() throws {
        try stored().read { context throws in
            let ascending = try Layered.query().sorted(by: \.count).ids(in: context)
            #expect(ascending == (0..<20).sorted { ($0 % 5, $0) < ($1 % 5, $1) })
            let descending = try Layered.query().sorted(by: \.count.desc).ids(in: context)
            #expect(descending == (0..<20).sorted { ($1 % 5, $0) < ($0 % 5, $1) })
        }
    }

    @Test("in steps don't change the list that a step was applied to, however conditions were joined")
    func steps() throws {
        try stored().read { context throws in
            let all = Layered.query()
            let some = all.filter(\.count >= 1 && \.count < 4)
            let fewer = some.filter(\.flag == true).sorted(by: \.count.desc).limit(3)
            let behind = fewer.filter(\.count == 3)
            let joined = all.filter(\.count >= 1 && (\.count < 4 && \.flag == true))
            #expect(try all.count(in: context) == 20)
            #expect(try some.ids(in: context) == (0..<20).filter { (1..<4).contains($0 % 5) })
            #expect(try fewer.ids(in: context) == [8, 18, 2])
            #expect(try behind.ids(in: context) == [8, 18])
            #expect(try joined.ids(in: context) == (0..<20).filter { (1..<4).contains($0 % 5) && $0 % 2 == 0 })
            // With so few rows, a scan is cheapest.
            let filter = try joined.explain(in: context).filter
            #expect(filter == "(count >= 1 && count < 4 && flag == true)")
        }
    }
}
