// SPDX-License-Identifier: Apache-2.0
// Builds of registered indexes of each kind, beside writes, and cut short at calls to the disk: the index answers as
// the entities do, continues its build or is absent, and no tree is left over.

import HornbeamHandKept
import HornbeamMapReduce
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("All kinds of indexes built in the background")
struct AllKindsBuildTests {
    /// The indexes that queries must name. The planner chooses the others, which may be absent.
    private static let asked: Set = ["byTag", "charts", "shelves"]

    @Test(
        "an index of any kind is right when it appears, after any writes between the steps", .seeded,
        arguments: RecordingIndexes.names.sorted())
    func model(name: String) throws {
        let random = Mutex(SeededGenerator())
        let database = try Database.inMemory(models: Release.self, Recording.self)
        try random.withLock { random in
            try database.write { (context) throws in
                for _ in 0..<400 { try AllKinds.edit(&context, &random, of: 300) }
            }
        }
        let phases = Mutex<Set<IndexBuild.Progress.Phase>>([])
        let limits = BackgroundBuilder.Limits.small(threads: 2) { phase in
            _ = phases.withLock { $0.insert(phase) }
            let isLookedAt = try random.withLock { random in
                // Sometimes more than one round catches up with.
                let edits = random.oneIn(10) ? 40 : random.below(4)
                try database.write { (context) throws in
                    for _ in 0..<edits { try AllKinds.edit(&context, &random, of: 320) }
                }
                return random.oneIn(6)
            }
            guard isLookedAt else { return }
            try expectRefusal(database, AllKinds.first, [name], "\(phase)")
            try expectAgreement(database, ready: [], "\(phase)")
        }
        #expect(database.build(AllKinds.first.named(name), limits).isFinished)
        #expect(phases.withLock { $0 } == [.reading, .loading, .catchingUp])
        try expectAgreement(database, ready: [name], "built")
        #expect(try database.isWhole())
        // From now on the index is kept up to date.
        try random.withLock { random in
            try database.write { (context) throws in
                for _ in 0..<60 { try AllKinds.edit(&context, &random, of: 320) }
            }
        }
        try expectAgreement(database, ready: [name], "followed")
        #expect(try database.isWhole())
        #expect(try database.registeredIndexes().map(\.state) == [.current])
        #expect(try indexTrees(database).allSatisfy { $0.first == "m" })
    }

    // MARK: Cut short

    private static let lists = ["added", "coded", "grouped", "ofAlbum", "starred"]
    private static let second = RecordingIndexes(version: "2")
    private static let limits = BackgroundBuilder.Limits(
        threads: 1, runSize: 900, sliceSize: 600, rowsAtOnce: 8, catchUpRows: 4)

    /// A file with entities, and with lists, which no code can build.
    private func image() throws -> DiskImage? {
        let disk = try SimulatedDisk()
        let database = try AllKinds.openBare(disk)
        try database.register(RecordingLists())
        AllKinds.keep(database)
        var random = SeededGenerator()
        try database.write { (context) throws in
            for _ in 0..<40 { try AllKinds.edit(&context, &random) }
        }
        try database.close()
        return disk.imageAfterKill()
    }

    /// Registers all kinds, builds another version of each beside writes, and drops everything.
    private func live(_ disk: SimulatedDisk) -> Bool {
        guard let database = try? AllKinds.openBare(disk) else { return false }
        do {
            try database.register(RecordingLists())
            AllKinds.keep(database)
            for index in AllKinds.first.all { try database.register(index) }
            let random = Mutex(SeededGenerator())
            var limits = Self.limits
            limits.whenFree = { _ in
                try random.withLock { random in
                    try database.write { (context) throws in
                        for _ in 0..<2 { try AllKinds.edit(&context, &random) }
                    }
                }
            }
            for index in Self.second.all {
                if let failure = database.build(index, limits).failure { throw failure }
            }
            for name in RecordingIndexes.names.sorted() + Self.lists { try database.unregister(name) }
            try database.close()
            return true
        } catch {
            return false
        }
    }

    /// Returns the state of each index in an image: versions, and builds with a `+`. All indexes must agree with the
    /// entities, also after a program has changed these; builds must continue to whole indexes; and dropping must
    /// remove everything.
    private func outcome(_ image: DiskImage?, _ place: Comment) throws -> Set<String> {
        let database = try AllKinds.openBare(try SimulatedDisk(image))
        try expectWhole(database, place)
        let indexes = try database.registeredIndexes()
        let names = Set(indexes.map(\.name))
        let hasLists = names.isSuperset(of: Self.lists)
        if hasLists {
            try database.register(RecordingLists())
            AllKinds.keep(database)
        }
        let builds = Set(indexes.filter { $0.isBuilt }.map(\.name))
        let ready = Dictionary(
            uniqueKeysWithValues: indexes.filter { !$0.isBuilt && !Self.lists.contains($0.name) }.map {
                ($0.name, $0.version == "1" ? AllKinds.first : Self.second)
            })
        try edit(database)
        for (name, indexes) in ready { try database.register(indexes.named(name)) }
        for indexes in [AllKinds.first, Self.second] {
            let own = Set(
                ready.filter { $0.value.byTag.registration.version == indexes.byTag.registration.version }.keys)
            try expectAgreement(database, of: indexes, ready: own, lists: hasLists, place)
            try expectRefusal(database, indexes, RecordingIndexes.names.subtracting(own), place)
        }
        try edit(database)
        for name in builds { #expect(database.build(Self.second.named(name), Self.limits).isFinished, place) }
        try expectAgreement(database, of: Self.second, ready: builds, lists: hasLists, place)
        try expectWhole(database, place)
        for name in names { #expect(try database.unregister(name), place) }
        #expect(try indexTrees(database).isEmpty, place)
        try database.close()
        return Set(
            RecordingIndexes.names.map { name in
                let words = indexes.filter { $0.name == name }.map { ($0.isBuilt ? "+" : "") + $0.version }
                return ([name] + words.sorted { $0.suffix(1) < $1.suffix(1) }).joined(separator: " ")
            })
    }

    @Test("a crash while they are registered, built and dropped leaves none half-built", .seeded)
    func crashes() throws {
        let image = try image()
        let whole = try SimulatedDisk(image)
        #expect(live(whole))
        var seen: Set<String> = []
        var random = SeededGenerator()
        // Only some calls, because all of them would take a minute. Other seeds choose others.
        let stride = max(1, whole.calls / 24)
        var call = 1 + random.below(stride)
        while call <= whole.calls {
            let disk = try SimulatedDisk(image)
            disk.plan = SimulatedDisk.Plan(call: call, fault: .crash)
            // The store's own thread makes some calls: a life can end before the call that was to crash.
            let isWhole = live(disk)
            #expect(isWhole || disk.hasCrashed)
            let seed = UInt64(call) &+ SeededGenerator.seed
            let left = random.oneIn(2) ? disk.image(after: PowerLoss(seed: seed)) : disk.imageAfterKill()
            seen.formUnion(try outcome(left, "call \(call) of \(whole.calls)"))
            call += stride / 2 + 1 + random.below(stride)
        }
        // For each of these states, some index was in it.
        for state in [[], ["1"], ["1", "+2"], ["2"]] as [[Substring]] {
            #expect(seen.contains { $0.split(separator: " ").dropFirst().elementsEqual(state) }, "\(seen.sorted())")
        }
    }

    // MARK: Parts

    private func edit(_ database: Database) throws {
        var random = SeededGenerator()
        try database.write { (context) throws in
            for _ in 0..<4 { try AllKinds.edit(&context, &random) }
        }
    }

    private func expectAgreement(
        _ database: Database, of indexes: RecordingIndexes = AllKinds.first, ready: Set<String>, lists: Bool = false,
        _ place: Comment
    ) throws {
        try database.read { (context) throws in
            let answers = try AllKinds.answers(context, of: indexes, ready: ready, lists: lists)
            #expect(try AllKinds.differences(answers, context).isEmpty, place)
        }
    }

    /// An incomplete index, or one of another version, can't be queried.
    private func expectRefusal(
        _ database: Database, _ indexes: RecordingIndexes, _ names: Set<String>, _ place: Comment
    ) throws {
        for name in names.intersection(Self.asked) {
            let error = #expect(throws: HornbeamError.self, place) {
                try database.read { (context) throws in
                    try AllKinds.answers(context, of: indexes, ready: [name], lists: false)
                }
            }
            #expect(error?.code == .indexNotReady, place)
        }
    }

    private func expectWhole(_ database: Database, _ place: Comment) throws {
        #expect(try database.check { Issue.record("\($0), \(place)") }, place)
    }

    private func indexTrees(_ database: Database) throws -> [String] {
        let read = try database.store.beginRead()
        defer { read.abort() }
        return try read.treeNames().filter { name in
            ["m", "c", "p", "r"].contains { name.hasPrefix($0) }
        }
    }
}

extension RegisteredIndexDescription {
    fileprivate var isBuilt: Bool { if case .building = state { true } else { false } }
}
