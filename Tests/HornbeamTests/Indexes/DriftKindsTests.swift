// SPDX-License-Identifier: Apache-2.0
// If code was changed but its version was not, the probe and the check notice it for every kind of registered index.
// The reported size of an index is the space that the file gets back when it is dropped.

import Foundation
import HornbeamPages
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

/// Whether the later program's code runs.
private let isLater = Mutex(false)

@EntityModel
private struct Drifting {
    let id: Int
    var name = ""
    var parts: [String] = []

    var key: String { isLater.withLock { $0 } ? name.uppercased() : name }
    var pieces: [String] { isLater.withLock { $0 } ? parts.map { $0.uppercased() } : parts }
    var isIn: Bool { isLater.withLock { $0 } ? false : true }
}

@Suite("Drift and sizes of all kinds", .serialized)
struct DriftKindsTests {
    private static let column = IndexColumn<String>("key")

    private static let indexes: [any RegisteredIndex] = [
        ValueIndex("value", \Drifting.key), ArrayIndex("array", \Drifting.pieces),
        MapIndex<Drifting, NoValue, CountReducer<NoValue>>("map", version: "1") { drifting, emit in
            emit(key: .string(drifting.key))
        },
        SecondaryIndex("secondary", version: "1", columns: [DriftKindsTests.column]) {
            (drifting: Drifting, row: inout IndexRowWriter) in row[DriftKindsTests.column] = drifting.key
        },
        View<Drifting, String>("view", version: "1", groupedBy: \.key),
        View<Drifting, Bool>("filtered", version: "1", groupedBy: \.isIn, where: { $0.isIn }),
    ]

    private func database(_ count: Int) throws -> Database {
        let database = try Database.inMemory(models: Drifting.self)
        try database.write { (context) throws in
            try context.saveAll((0..<count).map { Drifting(id: $0, name: "n\($0)", parts: ["p\($0)", "q"]) })
        }
        return database
    }

    @Test("changed code is noticed, refused or followed", arguments: indexes.indices)
    func drift(_ place: Int) throws {
        let index = Self.indexes[place]
        defer { isLater.withLock { $0 = false } }
        let database = try database(40)
        try database.register(index)
        #expect(codeThrown { try database.register(index, onDrift: .throw) } == nil)
        isLater.withLock { $0 = true }
        #expect(codeThrown { try database.register(index, onDrift: .throw) } == .indexDrift)
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems.contains { $0.contains(index.registration.name) }, "\(problems)")
        try database.register(index, onDrift: .rebuild)
        #expect(try database.isSound())
        #expect(codeThrown { try database.register(index, onDrift: .throw) } == nil)
        isLater.withLock { $0 = false }
        try database.repair(index: index.registration.name)
        #expect(try database.isSound())
    }

    @Test("bytes are those of the pages that dropping frees", arguments: indexes.indices)
    func bytes(_ place: Int) throws {
        let index = Self.indexes[place]
        let database = try MigratedFile.open(try SimulatedDisk(), [Drifting.self], [])
        try database.write { (context) throws in
            try context.saveAll((0..<4_000).map { Drifting(id: $0, name: "name \($0)", parts: ["part \($0)", "q"]) })
        }
        /// Returns the bytes in use, without those held by older states.
        func used() throws -> Int {
            for _ in 0..<3 { try database.checkpoint() }
            let statistics = database.statistics
            return Int(statistics.usedBytes) - Int(statistics.retiredBytes)
        }
        try database.register(index)
        let told = try #require(try database.registeredIndexes().first)
        let with = try used()
        #expect(try database.unregister(told.name))
        let without = try used()
        // The catalogue loses a record, too.
        let slack = 4 * database.statistics.pageSize
        #expect(told.bytes > 0 && abs(with - without - told.bytes) <= slack, "\(told.bytes), \(with) to \(without)")
        #expect(try database.isSound())
    }
}
