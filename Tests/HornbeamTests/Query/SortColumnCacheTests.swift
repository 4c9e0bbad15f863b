// SPDX-License-Identifier: Apache-2.0
// Key paths used in sorts are cached, each once, up to eight.

import Testing

@testable import Hornbeam

@EntityModel
private struct Sample {
    let id: Int
    var name: String?
    var size: Int
}

@Suite("Key paths of sorts")
struct SortColumnCacheTests {
    @Test("A sort by an optional takes one slot however often it is used")
    func optional() throws {
        for _ in 0..<20 { _ = Sample.query().sorted(by: \.name) }
        _ = Sample.query().sorted(by: \.size.desc)
        let orders = Sample.entityShape.orders
        #expect(orders.place(of: \Sample.name)?.number == 1)
        let size = try #require(orders.place(of: \Sample.size.desc))
        #expect(size.number == 2 && size.descending)
        #expect(orders.place(of: \Sample.size) == nil)
    }

    @Test("After eight key paths none is added, and the cached ones stay")
    func full() {
        let orders = SortColumnCache()
        let paths =
            [
                \Sample.id, \Sample.size, \Sample.id.words, \Sample.size.words, \Sample.id.byteSwapped,
                \Sample.size.byteSwapped,
                \Sample.id.bigEndian, \Sample.size.bigEndian, \Sample.id.littleEndian, \Sample.size.littleEndian,
            ] as [AnyKeyPath]
        for _ in 0..<2 {
            for (number, path) in paths.enumerated() {
                orders.insert(path, ColumnPlace(number: number, descending: false))
            }
        }
        #expect(paths.map { orders.place(of: $0)?.number } == [0, 1, 2, 3, 4, 5, 6, 7, nil, nil])
    }
}
