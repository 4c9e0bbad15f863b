// SPDX-License-Identifier: Apache-2.0
// Indexes defined in the file itself are used after opening it; an index that can't be used doesn't prevent opening.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Value indexes at opening")
struct RegisteredAtOpeningTests {
    @Test("An unreadable entity leaves an outdated index waiting, and the file opens")
    func damagedEntity() throws {
        let disk = try SimulatedDisk()
        let database = try MigratedFile.open(disk, [IndexedThing.self], [])
        try database.write { context in
            for id in 0..<5 { try IndexedThing(id: id, name: "n\(id)").save(to: &context) }
        }
        try database.register(ValueIndex("byName", \IndexedThing.name))
        let transaction = try database.store.beginWrite()
        let rows = try #require(try transaction.tree("e:IndexedThing"))
        var cursor = try transaction.cursor(rows)
        _ = try cursor.first()
        try transaction.put(rows, Array(cursor.key), [0xFF])
        try RegisteredCatalogue.outdate("IndexedThing", in: transaction)
        try transaction.commit()
        try database.close()

        let again = try MigratedFile.open(try SimulatedDisk(image: disk.killedImage()), [IndexedThing.self], [])
        try again.registerStored(nil)
        guard case .unregistered? = try again.index(withName: "byName")?.state else {
            Issue.record("\(String(describing: try again.index(withName: "byName")))")
            return
        }
        let error = #expect(throws: HornbeamError.self) {
            try again.register(ValueIndex("byName", \IndexedThing.name))
        }
        #expect(error?.code == .corrupt)
        #expect(try again.read { context in try IndexedThing.query(3).resolve(in: context)?.name } == "n3")
        #expect(try again.deleteIndex(withName: "byName"))
        try again.close()
    }
}
