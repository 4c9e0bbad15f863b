// SPDX-License-Identifier: Apache-2.0
// Groups by an enum's values, with an index over the property and without: if the type is no column value, an index
// alone doesn't determine its values.

import Hornbeam
import Testing

@EntityModel
private struct Task {
    @Index<Self>(\.state) private var byState
    @Index<Self>(\.kind, \.effort) private var byKind

    let id: Int
    var state: State
    var kind: State?
    var effort: Int
    var plain: State

    enum State: String, Codable { case open, done, dropped }
}

@Suite("Groups of an enum's values")
struct EnumGroupsTests {
    private static let states: [Task.State] = [.open, .done, .dropped]

    private func stored() throws -> Context {
        var context = Context()
        for id in 0..<30 {
            let state = Self.states[id % 3]
            try Task(id: id, state: state, kind: id % 4 == 0 ? nil : state, effort: id, plain: state).save(
                to: &context)
        }
        return context
    }

    @Test("are the same with an index over the property as without")
    func groups() throws {
        let context = try stored()
        let plain = try Task.query().grouped(by: \.plain).aggregate(.count).resolve(in: context)
        #expect(plain.map(\.key) == [.done, .dropped, .open] && plain.map(\.values) == [10, 10, 10])
        let counts = try Task.query().grouped(by: \.state).aggregate(.count).resolve(in: context)
        #expect(counts.map(\.key) == plain.map(\.key) && counts.map(\.values) == plain.map(\.values))
        let kinds = try Task.query().grouped(by: \.kind).aggregate(.count, .sum(\.effort)).resolve(in: context)
        #expect(kinds.map(\.key) == [nil, .done, .dropped, .open])
        #expect(kinds.map(\.values.0) == [8, 7, 8, 7])
        #expect(kinds.map(\.values.1) == [112, 97, 127, 99])
        let both = try Task.query().grouped(by: \.state, \.effort).aggregate(.count).resolve(in: context)
        #expect(both.count == 30)
    }

    @Test("are found as different values, and their first entities")
    func distinct() throws {
        let context = try stored()
        #expect(try Task.query().distinct(\.state, in: context) == [.done, .dropped, .open])
        #expect(try Task.query().distinct(\.kind, in: context) == [.done, .dropped, .open])
        #expect(try Task.query().aggregate(.countDistinct(\.state), in: context) == 3)
        #expect(try Task.query().aggregate(.countDistinct(\.kind), in: context) == 3)
        let first = try Task.query().sorted(by: \.effort.desc).first(ofEach: \.state).resolve(in: context)
        #expect(Set(first.map(\.id)) == [27, 28, 29])
    }
}
