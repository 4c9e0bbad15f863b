// SPDX-License-Identifier: Apache-2.0
// The different values of an optional property don't include nil, whichever overload the compiler chooses.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

private enum Colour: String, Codable, Sendable {
    case red, green
}

@EntityModel
private struct Gauge {
    @Index<Self>(\.indexed) private var byIndexed

    let id: Int
    var plain: Double?
    var indexed: Double?
    var colour: Colour?

    var computed: Double? { plain.map { $0 * 2 } }
}

@Suite("Different values without nil")
struct DistinctNilTests {
    private func asked<Entity: EntityModelProtocol, Property: Hashable & Sendable>(
        _ keyPath: any KeyPath<Entity, Property> & Sendable, _ context: Context
    ) throws -> [Int] {
        let query = Entity.query()
        let groups = try query.grouped(by: \Entity.id).aggregate(.countDistinct(keyPath)).resolve(in: context)
        return [
            try query.distinct(keyPath, in: context).count,
            try query.aggregate(.countDistinct(keyPath), in: context),
            try query.limit(100).aggregate(.countDistinct(keyPath), in: context),
            try query.limit(100).distinct(keyPath, in: context).count,
            groups.reduce(0) { $0 + $1.1 },
        ]
    }

    @Test("nil is no value for distinct and countDistinct, by any overload")
    func overloads() throws {
        var context = Context()
        for (id, value) in ([nil, nil, 1, 2, 2] as [Double?]).enumerated() {
            try context.insert(
                Gauge(id: id, plain: value, indexed: value, colour: value.map { $0 == 1 ? .red : .green }))
        }
        let all = Gauge.query()
        let values: [Double] = try all.distinct(\.plain, in: context)
        let optionals: [Double?] = try all.distinct(\.plain, in: context)
        let indexed: [Double?] = try all.distinct(\.indexed, in: context)
        let colours: [Colour?] = try all.distinct(\.colour, in: context)
        let computed: [Double?] = try all.distinct(\.computed, in: context)
        #expect(values == [1, 2] && optionals == [1, 2] && indexed == [1, 2] && computed == [2, 4])
        #expect(colours == [.green, .red])
        #expect(try asked(\Gauge.plain, context) == [2, 2, 2, 2, 3])
        #expect(try asked(\Gauge.indexed, context) == [2, 2, 2, 2, 3])
        #expect(try asked(\Gauge.colour, context) == [2, 2, 2, 2, 3])
        #expect(try asked(\Gauge.computed, context) == [2, 2, 2, 2, 3])
        #expect(try asked(\Gauge.id, context) == [5, 5, 5, 5, 5])
    }
}
