// SPDX-License-Identifier: Apache-2.0
// Continuing after a deleted entity: it isn't recorded whether entities that are equal in the order came before or
// after it. So a page is refused rather than repeating or omitting entities silently.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Entry {
    @Index<Self>(\.day) private var byDay

    let id: String
    var day: Int
    var size: Int
}

@Suite("Positions of entities that are gone")
struct PositionTests {
    @Test("among equal ones are an error with a remedy; by themselves they are valid", .seeded)
    func gone() throws {
        var random = SeededGenerator()
        var context = Context()
        var entries = (0..<80).map { Entry(id: "e\($0)", day: random.below(30), size: random.below(30)) }
        for entry in entries { try entry.save(to: &context) }
        for _ in 0..<40 {
            let gone = entries.remove(at: random.below(entries.count))
            try gone.delete(from: &context)
            let isByDay = Bool.random(using: &random)
            let order = isByDay ? Entry.query().sorted(by: \.day) : Entry.query().sorted(by: \.size.desc)
            let query = order.filter(\.size != 3).limit(5).after(gone)
            let rest = entries.filter { $0.size != 3 }
            let isTold = !rest.contains { isByDay ? $0.day == gone.day : $0.size == gone.size }
            if isTold {
                let behind = rest.filter { isByDay ? $0.day > gone.day : $0.size < gone.size }
                #expect(try query.count(in: context) == min(5, behind.count))
                #expect(try Set(query.ids(in: context)).isSubset(of: behind.map(\.id)))
            } else {
                #expect { try query.resolve(in: context) } throws: { error in
                    let error = error as? HornbeamError
                    return error?.code == .invalid && "\(error?.description ?? "")".contains("sort by the id as well")
                }
                #expect(throws: HornbeamError.self) { try query.count(in: context) }
                // With the id in the order, no entities are equal.
                let whole = order.filter(\.size != 3)
                let sorted = isByDay ? whole.sorted(by: \.day, \.id) : whole.sorted(by: \.size.desc, \.id)
                let all = try sorted.resolve(in: context)
                let behind = all.filter {
                    isByDay ? ($0.day, $0.id) > (gone.day, gone.id) : (gone.size, $0.id) > ($0.size, gone.id)
                }
                #expect(try sorted.after(gone).ids(in: context) == behind.map(\.id))
            }
        }
    }
}
