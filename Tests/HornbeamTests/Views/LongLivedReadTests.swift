// SPDX-License-Identifier: Apache-2.0
// Reads that stay at one state until they are moved: their state, their cost, and how they end.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@Suite("Long-lived reads")
struct LongLivedReadTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Mail.self)
        try database.write { context in
            for id in 0..<10 { try Mail(id: id, folder: "a", rank: id).save(to: &context) }
        }
        return database
    }

    private func code(_ body: () throws -> Void) -> HornbeamError.Code? {
        #expect(throws: HornbeamError.self) { try body() }?.code
    }

    private func expect(_ wanted: HornbeamError.Code, _ body: () throws -> Void) {
        let found = code(body)
        #expect(found == wanted)
    }

    @Test("a read sees its state until it is moved, and then the changes")
    func moving() throws {
        let database = try database()
        let read = try database.longLivedRead()
        try database.write { context in
            try Mail(id: 3, folder: "b", rank: 33).save(to: &context)
            _ = try Mail.query(4).delete(from: &context)
            try Mail(id: 11, folder: "a", rank: 11).save(to: &context)
        }
        try database.write { context in
            try Mail(id: 12, folder: "a", rank: 12).save(to: &context)
            _ = try Mail.query(12).delete(from: &context)
            _ = try Mail.query(5).delete(from: &context)
        }
        #expect(try read.read { try Mail.query(3).resolve(in: $0)?.rank } == 3)
        #expect(try read.read { try Mail.query().count(in: $0) } == 10)
        let changes = try read.moveForward { try $0.changes(of: Mail.self) }
        #expect(changes.inserted == [11])
        #expect(changes.updated == [3])
        #expect(changes.deleted == [4, 5])
        #expect(try read.read { try Mail.query(3).resolve(in: $0)?.rank } == 33)
        #expect(try !read.moveForward())
        #expect(try read.moveForward { try $0.changes(of: Mail.self) }.isEmpty)
    }

    @Test("a move that throws leaves the read where it was")
    func throwing() throws {
        let database = try database()
        let read = try database.longLivedRead()
        try database.write { context in _ = try Mail.query(1).delete(from: &context) }
        struct Refused: Error {}
        #expect(throws: Refused.self) { try read.moveForward { _ in throw Refused() } }
        #expect(try read.read { try Mail.query().count(in: $0) } == 10)
        #expect(try read.moveForward())
        #expect(try read.read { try Mail.query().count(in: $0) } == 9)
    }

    @Test("a closed read refuses uses, a nested use is refused too, and the database closes after all reads")
    func ends() throws {
        let database = try database()
        let read = try database.longLivedRead()
        expect(.invalid) { try read.read { _ in try read.read { _ in } } }
        expect(.invalid) { _ = try read.read { _ in try read.moveForward() } }
        // The refused uses don't hold the turn.
        #expect(try read.read { try Mail.query().count(in: $0) } == 10)
        expect(.busy) { try database.close() }
        try read.close()
        try read.close()
        #expect(!read.isOpen)
        expect(.invalid) { try read.read { _ in } }
        expect(.invalid) { _ = try read.moveForward() }
        expect(.invalid) { try read.restart() }
        #expect(database.longLivedReads.isEmpty)
        try database.close()
        expect(.invalid) { _ = try database.longLivedRead() }
        expect(.invalid) { _ = try database.longLivedRead(maximumAge: .zero) }
    }

    @Test("a read without references ends")
    func forgotten() throws {
        let database = try database()
        do {
            let read = try database.longLivedRead()
            #expect(database.longLivedReads.map(\.version) == [read.version])
        }
        #expect(database.longLivedReads.isEmpty)
        try database.close()
    }

    @Test("any number of threads share one read, in turn")
    func threads() async throws {
        let database = try database()
        let read = try database.longLivedRead()
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        if task == 0 {
                            try database.write { context in
                                try Mail(id: 100 + round, folder: "a", rank: 0).save(to: &context)
                            }
                            try read.moveForward()
                        }
                        let (count, again) = try read.read { context in
                            (try Mail.query().count(in: context), try Mail.query().resolve(in: context).count)
                        }
                        #expect(count == again)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try read.read { try Mail.query().count(in: $0) } == 60)
    }

    @Test("an old read releases its state when unused, and can begin again")
    func expiry() throws {
        let database = try database()
        let read = try database.longLivedRead(maximumAge: .milliseconds(50))
        // It doesn't expire while it is in use.
        let count = try read.read { context in
            usleep(120_000)
            return try Mail.query().count(in: context)
        }
        #expect(count == 10)
        for _ in 0..<100 where !read.hasExpired { usleep(10_000) }
        expect(.snapshotExpired) { try read.read { _ in } }
        expect(.snapshotExpired) { _ = try read.moveForward() }
        #expect(database.longLivedReads.isEmpty)
        try read.restart()
        #expect(try read.read { try Mail.query().count(in: $0) } == 10)
        try read.close()
        // A move restarts its age.
        let moved = try database.longLivedRead(maximumAge: .seconds(100))
        let version = moved.version
        try database.write { context in _ = try Mail.query(1).delete(from: &context) }
        try moved.moveForward()
        #expect(moved.version > version)
        #expect(moved.age < .seconds(50))
        // The expiry of the earlier state doesn't end the present one.
        moved.expire(0)
        #expect(moved.isOpen)
    }
}
