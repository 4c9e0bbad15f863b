// SPDX-License-Identifier: Apache-2.0
// Registered indexes that are built in one transaction, by calling their function in several threads.

import Foundation
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("Indexes built in one transaction")
struct ParallelBuildTests {
    private func filled(_ count: Int) throws -> Database {
        let database = try Database.inMemory(models: TaggedPost.self)
        try database.write { (context) throws in
            for id in 0..<count {
                try TaggedPost(id: id, title: "t\(id)", tags: ["a\(id % 7)", "b\(id % 3)"], size: id).save(to: &context)
            }
        }
        return database
    }

    @Test("building in one transaction calls the function in several threads, with the same result")
    func parallel() throws {
        let database = try filled(3_000)
        let threads = Mutex<Set<UInt>>([])
        let isParallel = ProcessInfo.processInfo.activeProcessorCount > 1
        let deadline = ContinuousClock.now + .seconds(20)
        let index = MapIndex("parallel", version: "1", reducer: .sum()) {
            (post: TaggedPost, emit: inout MapEmitter<Int>) in
            _ = threads.withLock { $0.insert(UInt(pthread_self())) }
            // The first thread waits for another one, however busy the machine is.
            while isParallel, threads.withLock({ $0.count }) < 2, ContinuousClock.now < deadline {
                Thread.sleep(forTimeInterval: 0.001)
            }
            for tag in post.tags { emit(key: .string(tag), value: post.size) }
        }
        try database.register(index)
        if isParallel { #expect(threads.withLock { $0.count } > 1) }
        #expect(try database.isWhole())
        // The number of threads doesn't change the result.
        var trees: [[[UInt8]]] = []
        try database.store.register(try #require(postsByTag().registration.reduction))
        for threads in [1, 2, 5] {
            let transaction = try database.store.beginWrite()
            defer { transaction.abort() }
            let registering = IndexRegistering(
                registration: postsByTag().registration, transaction: transaction, schema: database.schema,
                threads: threads)
            let tree = try registering.run(.building).1.tree
            var cursor = try transaction.cursor(tree)
            var entries: [[UInt8]] = []
            while try cursor.next() { entries.append(Array(cursor.key) + Array(cursor.value)) }
            trees.append(entries)
        }
        #expect(trees[0].count == 6_000)
        #expect(trees[1] == trees[0] && trees[2] == trees[0])
    }

    @Test("a function that writes gets an error, in whichever thread it is called", arguments: [10, 500])
    func writing(count: Int) throws {
        let database = try filled(count)
        let errors = Mutex<[HornbeamError.Code: Int]>([:])
        let writing = MapIndex("writing", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            do {
                try database.write { _ in }
            } catch let error as HornbeamError {
                errors.withLock { $0[error.code, default: 0] += 1 }
            }
            emit(key: .int(post.id), value: 1)
        }
        try database.register(writing)
        let found = errors.withLock { $0 }
        #expect(found.keys.elementsEqual([.invalid]) && found.values.allSatisfy { $0 >= count }, "\(found)")
        #expect(try database.read { try writing.query().count(in: $0) } == count)
        // The function was called only during the registration.
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            #expect(throws: Never.self) { try database.write { _ in } }
        }
    }

    @Test("the error names the first entity that can't be indexed, with any number of threads")
    func firstFailure() throws {
        let database = try filled(2_000)
        let refusing = MapIndex("refusing", version: "1") { (post: TaggedPost, emit: inout MapEmitter<Int>) in
            if post.id == 1_100 { Thread.sleep(forTimeInterval: 0.01) }
            guard post.id < 1_100 else { throw HornbeamError(.invalid, "\(post.id)") }
            emit(key: .int(post.id), value: 1)
        }
        for _ in 0..<5 {
            let error = #expect(throws: HornbeamError.self) { try database.register(refusing) }
            #expect(error?.message.hasSuffix(": 1100") == true, "\(error?.message ?? "")")
        }
        #expect(try database.registeredIndexes().isEmpty)
    }
}
