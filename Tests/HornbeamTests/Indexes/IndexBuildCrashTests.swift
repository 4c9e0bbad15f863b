// SPDX-License-Identifier: Apache-2.0
// Background builds cut short at any call to the disk, by a crash or by a disk that fails or is full: the index is
// absent, or the build continues where it was, and it is never half readable.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("Background builds cut short")
struct IndexBuildCrashTests {
    private static let limits = BackgroundBuilder.Limits(
        threads: 1, runSize: 1_500, sliceSize: 1_000, rowsAtOnce: 8, catchUpRows: 8)

    private func open(_ disk: SimulatedDisk) throws -> Database {
        try MigratedFile.open(disk, [TaggedPost.self], [])
    }

    private func post(_ id: Int, _ tags: [String]) -> TaggedPost {
        TaggedPost(id: id, title: "t\(id)", tags: tags, size: id)
    }

    /// Returns a file with entities, and with an index of the former version of the code.
    private func image() throws -> [UInt8]? {
        let disk = try SimulatedDisk()
        let database = try open(disk)
        try database.write { (context) throws in
            for id in 0..<30 { try post(id, ["a\(id % 7)", "b\(id % 3)"]).save(to: &context) }
        }
        try database.register(postsByTag("1"))
        try database.close()
        return disk.killedImage()
    }

    /// Builds the new version beside writes, cancels another build, and drops a third index.
    private func live(_ disk: SimulatedDisk) -> Bool {
        guard let database = try? open(disk) else { return false }
        do {
            try database.register(postsByTag("1"))
            let steps = Mutex(0)
            var limits = Self.limits
            limits.whenFree = { _ in
                let step = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                try database.write { (context) throws in
                    try post(step * 13 % 36, ["during", "a\(step)"]).save(to: &context)
                    if step % 5 == 0 { _ = try TaggedPost.query(step).delete(from: &context) }
                }
            }
            if let failure = database.build(postsByTag("2"), limits).failure { throw failure }
            let other = MapIndex("other", version: "1") { (post: TaggedPost, emit: inout MapEmitter<NoValue>) in
                emit(key: .int(post.id))
            }
            let build = IndexBuild(other.registration)
            // After the first of several slices, when a part of the entries is stored.
            limits.sliceSize = 400
            limits.whenFree = { phase in if phase == .loading { build.cancel() } }
            if let failure = database.run(build, other.registration, limits).failure { throw failure }
            try database.close()
            return true
        } catch {
            return false
        }
    }

    /// Returns the state of an image: the versions of its index, and of its builds with a `+`. It must be sound, and
    /// a build must continue to a complete index.
    private func outcome(_ image: [UInt8]?, _ place: Comment) throws -> String {
        let database = try open(try SimulatedDisk(image: image))
        let indexes = try database.registeredIndexes()
        #expect(try database.check { Issue.record("\($0), \(place)") }, place)
        var words: [String] = []
        for index in indexes {
            if case .building(let done, let total) = index.state {
                #expect(done <= total, place)
                words.append("+\(index.name == "byTag" ? index.version : index.name)")
            } else {
                words.append(index.version)
            }
        }
        // An incomplete index can't be queried.
        if !words.contains("2") {
            let error = #expect(throws: HornbeamError.self, place) {
                try database.read { context in try postsByTag("2").query().count(in: context) }
            }
            #expect(error?.code == .indexNotReady, place)
        }
        let counter = CallCounter()
        #expect(database.build(postsByTag("2", counter: counter), Self.limits).isFinished, place)
        if words.contains("2") { #expect(counter.count == 0, place) }
        #expect(try database.check { Issue.record("\($0), \(place)") }, place)
        // Other builds that were begun can be dropped.
        #expect(try database.unregister("other") == words.contains("+other"), place)
        #expect(try database.registeredIndexes().map(\.version) == ["2"], place)
        let read = try database.store.beginRead()
        let names = try read.treeNames().filter { ["m:", "c:", "r:"].contains($0.prefix(2)) }
        read.abort()
        #expect(names == ["m:TaggedPost:byTag"], place)
        try database.close()
        return words.joined(separator: " ")
    }

    @Test("a crash at any call leaves no index, or a build that continues", .seeded)
    func crashes() throws {
        var seen: Set<String> = []
        let calls = try SimulatedDisk.crashAtEveryCall(of: try image(), live) { image, isDone, place in
            let outcome = try outcome(image, place)
            if isDone { #expect(outcome == "2", place) }
            seen.insert(outcome)
        }
        #expect(seen == ["1", "1 +2", "2", "2 +other"])
        #expect(calls > 50)
    }

    @Test("a disk that fails or is full leaves the former index, or a build that continues", arguments: [EIO, ENOSPC])
    func faults(code: Int32) throws {
        try SimulatedDisk.failAtEveryCall(of: try image(), code, live) { image, isDone, place in
            let outcome = try outcome(image, place)
            if isDone { #expect(outcome == "2", place) }
        }
    }
}
