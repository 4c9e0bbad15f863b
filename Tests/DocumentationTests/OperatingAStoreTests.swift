// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Operating a store”.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Parcel {
    @Index<Self>(\.state) private var byState

    let id: Int
    var state: String
}

@Suite("The guide “Operating a store”")
struct OperatingAStoreTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("parcels.hornbeam")
        let database = try Database(at: path, models: Parcel.self)
        try database.write { context in
            for id in 1...1000 { try Parcel(id: id, state: "waiting").save(to: &context) }
        }
        try database.close()
    }

    @Test("A store that is open elsewhere is busy, and closes when nobody uses it")
    func opening() throws {
        var options = Database.Options()
        options.lockWaitMilliseconds = 5_000
        let database = try Database(at: path, models: Parcel.self, options: options)
        let busy = #expect(throws: HornbeamError.self) { try Database(at: path, models: Parcel.self) }
        #expect(busy?.code == .busy)
        try database.read { _ in
            let error = #expect(throws: HornbeamError.self) { try database.close() }
            #expect(error?.code == .busy)
        }
        try database.close()
    }

    @Test("A backup is a sound store, and never replaces a file")
    func backup() throws {
        let database = try Database(at: path, models: Parcel.self)
        try database.backup(to: folder.path("parcels-monday.hornbeam"))
        let error = #expect(throws: HornbeamError.self) {
            try database.backup(to: folder.path("parcels-monday.hornbeam"))
        }
        #expect(error?.code == .invalid)
        let copy = try Database(at: folder.path("parcels-monday.hornbeam"), models: Parcel.self)
        #expect(try copy.check())
        #expect(try copy.read { try Parcel.query().count(in: $0) } == 1000)
    }

    @Test("A check finds no problem, an index is built anew, and the file gets shorter")
    func upkeep() throws {
        let database = try Database(at: path, models: Parcel.self)
        let isSound = try database.check { problem in print(problem) }
        #expect(isSound)
        try database.repair(index: "byState", of: Parcel.self)
        try database.write { _ = try Parcel.filter(\.id > 10).delete(from: &$0) }
        let done = try database.compact()
        #expect(done.bytesAfter <= done.bytesBefore)
        let figures = database.statistics
        let alarm = figures.snapshotBytes > figures.usedBytes / 2
        #expect(!alarm && figures.fileBytes == done.bytesAfter)
    }

    @Test("A store that is open for reading refuses writes")
    func reading() throws {
        var options = Database.Options()
        options.isReadOnly = true
        let reader = try Database(at: path, models: Parcel.self, options: options)
        #expect(try reader.read { try Parcel.query().count(in: $0) } == 1000)
        let error = #expect(throws: HornbeamError.self) {
            try reader.write { try Parcel.delete(id: 1, from: &$0) }
        }
        #expect(error?.code == .readOnly)
    }
}
