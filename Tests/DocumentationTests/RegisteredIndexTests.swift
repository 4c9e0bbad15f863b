// SPDX-License-Identifier: Apache-2.0
// The code of Docs/indexes.md on registered indexes.

import Foundation
import Hornbeam
import HornbeamMapReduce
import Synchronization
import Testing

@EntityModel
struct Hit {
    let id: Int
    var page: String
    var seconds: Int
}

func byPage(_ version: String) -> MapIndex<Hit, Int, IntegerSumReducer<Int>> {
    MapIndex("byPage", version: version, reducer: .sum()) { (hit: Hit, emit: inout MapEmitter<Int>) in
        emit(key: .string(hit.page), value: hit.seconds)
    }
}

@Suite("Registered indexes, as their page shows them")
struct RegisteredIndexTests {
    private func total(_ version: String, _ database: Database) throws -> Int {
        try database.read { context in try byPage(version).query().reduced().resolve(in: context) }
    }

    @Test("Versions, background building and states")
    func life() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("hits.hornbeam").path
        let database = try Database(at: path, models: Hit.self)
        try await database.register(byPage("1"))
        try await database.write { (context) throws in
            for id in 0..<5_000 { try Hit(id: id, page: "p\(id % 40)", seconds: 1).save(to: &context) }
        }
        #expect(try database.registeredIndexes().map(\.state) == [.current])

        let build = try database.register(inBackground: byPage("2"))
        try await database.write { context in try Hit(id: 9_000, page: "late", seconds: 5).save(to: &context) }
        for await progress in build.progress { #expect(progress.done <= progress.total) }
        try await build.value
        #expect(try total("2", database) == 5_005)
        let former = #expect(throws: HornbeamError.self) { try total("1", database) }
        #expect(former?.code == .indexNotReady)

        let reports = Mutex(0)
        try await database.buildIndex(byPage("3")) { progress in
            try Task.checkCancellation()
            reports.withLock { $0 += 1 }
        }
        #expect(reports.withLock { $0 } > 0)
        #expect(try total("3", database) == 5_005)

        // A program that doesn't register the index leaves it as it is.
        try database.close()
        let other = try Database(at: path, models: Hit.self)
        try await other.write { context in try Hit(id: 0, page: "p0", seconds: 2).save(to: &context) }
        #expect(try other.registeredIndexes().map(\.state) == [.unregistered(missed: 1)])
        try await other.register(byPage("3"))
        #expect(try total("3", other) == 5_006)
        #expect(try other.check())
        #expect(try other.unregister("byPage"))
        #expect(try other.registeredIndexes() == [])
        try other.close()
    }
}
