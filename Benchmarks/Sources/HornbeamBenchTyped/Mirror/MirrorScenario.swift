// SPDX-License-Identifier: Apache-2.0
// A mirror in a PostgreSQL server on this machine: the first copy, changes, the time until a save is in the mirror,
// the mirror's cost for a writer, reads compared with the same SQL by libpq, and a store restored from it.

import BenchHarness

#if PEER_POSTGRES
    import Dispatch
    import Foundation
    import Hornbeam
    import HornbeamPostgres
    import Synchronization

    func mirrorScenario(_ run: Run) throws {
        let server = try BenchServer()
        let standbys = ["a", "b"]
        defer { server.remove(standbys: standbys) }
        let samples = Samples(count: max(100, min(run.count, 100_000)), seed: run.seed)
        let store = try HornbeamTyped(path: run.storePath)
        try store.save(samples.maintainers[...])
        try store.save(samples.packages[...])
        run.awaitRest()
        let single = samples.packages.prefix(max(50, min(1_000, samples.packages.count / 10)))
        try run.look("mirror-save-alone", single.count) { try saveEach(single, growingBy: 1, store, &$0) }
        var options = PostgresMirror.Options()
        options.indexes = .declared
        let mirror = try PostgresMirror(
            of: store.database, named: "bench", to: server.address, schema: "bench", options: options)
        try run.change("mirror-copy", samples.packages.count + samples.maintainers.count) { _ in
            _ = try waiting { try await mirror.update() }
        }
        let following = Task { try await mirror.run() }
        try changes(run, samples, store, mirror, single)
        for name in run.wants("mirror-reach-standbys") ? standbys : [] { try server.addStandby(name) }
        try run.look("mirror-reach-standbys", single.count) { try reachEach(single, growingBy: 4, store, mirror, &$0) }
        following.cancel()
        try waiting { try await following.value }
        try waiting { try await mirror.verify() }
        try reads(run, samples, server)
        try run.look("mirror-restore", samples.packages.count + samples.maintainers.count) { _ in
            let path = run.folder + "/restored"
            _ = try waiting { try await Database.restore(to: path, from: server.address, schema: "bench") { _, _ in } }
            try FileManager.default.removeItem(atPath: path)
        }
        try store.close()
    }

    private func changes(
        _ run: Run, _ samples: Samples, _ store: HornbeamTyped, _ mirror: PostgresMirror,
        _ single: ArraySlice<PackageSample>
    ) throws {
        var packages = samples.packages
        for index in packages.indices { packages[index].version += "+1" }
        try run.look("mirror-changes", packages.count) { _ in
            for start in stride(from: 0, to: packages.count, by: 500) {
                try store.save(packages[start..<min(start + 500, packages.count)])
            }
            try waiting { try await mirror.reach(store.database.version) }
        }
        try run.look("mirror-save-beside", single.count) { try saveEach(single, growingBy: 2, store, &$0) }
        try waiting { try await mirror.reach(store.database.version) }
        try run.look("mirror-reach", single.count) { try reachEach(single, growingBy: 3, store, mirror, &$0) }
    }

    /// Saves packages one by one, each with a new size.
    private func saveEach(
        _ packages: ArraySlice<PackageSample>, growingBy growth: Int, _ store: HornbeamTyped,
        _ latencies: inout Latencies
    ) throws {
        for var package in packages {
            package.installedSize += growth
            try latencies.time { try store.save([package]) }
        }
    }

    /// Saves packages one by one, each once the previous one is in PostgreSQL.
    private func reachEach(
        _ packages: ArraySlice<PackageSample>, growingBy growth: Int, _ store: HornbeamTyped,
        _ mirror: PostgresMirror, _ latencies: inout Latencies
    ) throws {
        for var package in packages {
            package.installedSize += growth
            try latencies.time {
                try store.save([package])
                try waiting { try await mirror.reach(store.database.version) }
            }
        }
    }

    // MARK: Reads

    private func reads(_ run: Run, _ samples: Samples, _ server: BenchServer) throws {
        var options = PostgresReader.Options()
        options.connections = 1
        let reader = try PostgresReader(
            server.address, schema: "bench", models: Package.self, Maintainer.self, options: options)
        let peer = try LibpqPackages(server.address)
        var random = SplitMix(state: run.seed &+ 3)
        let chosen = (0..<5_000).compactMap { _ in samples.packages.randomElement(using: &random) }
        try compare(
            run, "mirror-get", chosen.map(\.id), reader, { try $0.find(Package.self, $1)?.sum ?? 0 }, peer.package)
        try compare(
            run, "mirror-list", chosen.prefix(500).map(\.section), reader,
            { snapshot, section in
                let list = Package.filter(\.section == section).sorted(by: \.installedSize).limit(20)
                return try snapshot.resolve(list).reduce(0) { $0 &+ $1.sum }
            }, { try peer.packages(ofSection: $0, limit: 20) })
        guard run.wants("mirror-get-await") else { return }
        let single = try waiting {
            var latencies = Latencies()
            for id in chosen.map(\.id) { _ = try await latencies.timed { try await reader.find(Package.self, id) } }
            return latencies
        }
        try run.tell("mirror-get-await", single)
    }

    /// Queries both alternately, so that other work on the machine affects both alike, after a few queries that warm
    /// both.
    private func compare<Question: Sendable>(
        _ run: Run, _ name: String, _ questions: [Question], _ reader: PostgresReader,
        _ ask: @escaping @Sendable (PostgresReader.Snapshot, Question) throws -> Int,
        _ askPeer: @escaping @Sendable (Question) throws -> Int
    ) throws {
        guard run.wants(name) else { return }
        let (ours, theirs) = try waiting {
            try await reader.read { snapshot in
                for question in questions.prefix(100) { _ = try (ask(snapshot, question), askPeer(question)) }
                var (ours, theirs) = (Latencies(), Latencies())
                for question in questions {
                    let found = try ours.timed { try ask(snapshot, question) }
                    let expected = try theirs.timed { try askPeer(question) }
                    guard found == expected else {
                        throw BenchError("\(name): found \(found), expected \(expected)")
                    }
                }
                return (ours, theirs)
            }
        }
        try run.tell(name, ours)
        try run.tell(name, theirs, engine: "libpq")
    }

    /// Waits for asynchronous work on a thread of its own.
    @discardableResult
    private func waiting<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Swift.Result<Result, any Error>?>(nil)
        Task.detached {
            do {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch { result.withLock { $0 = .failure(error) } }
            done.signal()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else { throw BenchError("no result") }
        return try result.get()
    }
#else
    func mirrorScenario(_ run: Run) throws { throw BenchError("this build has no libpq") }
#endif
