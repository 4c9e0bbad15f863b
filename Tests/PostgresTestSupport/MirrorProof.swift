// SPDX-License-Identifier: Apache-2.0
// Lives of a store and its mirror in which both sides die: the program by SIGKILL, the server by SIGKILL, the
// connection before or after a COMMIT; or everything is silent for a while. In some lives the primary dies and a
// standby that has all commits replaces it. A reader beside them must see only states that the store had.

import Foundation
import Hornbeam
import HornbeamPostgres
import HornbeamTestSupport

/// One life.
package final class MirrorProof {
    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// Counts of the disturbances.
    package struct Figures: Sendable {
        package var rounds = 0
        package var workersKilled = 0
        package var serversKilled = 0
        package var connectionsCut = 0
        package var pauses = 0
        package var fullDisks = 0
        package var migrations = 0
        package var failovers = 0
        package var looks = 0
    }

    package private(set) var figures = Figures()
    private let seed: UInt64
    private var random: SeededGenerator
    private var server: PostgresServer
    private var standbys: [PostgresServer] = []
    /// The disk of the server's tables; nil with standbys, or if none can be mounted.
    private let disk: SmallDisk?
    private let proxy: CuttingProxy
    private let database: String
    private let address: String
    private let folder: TemporaryFolder
    private var worker: WorkerProcess
    /// The number of transactions that are in the server, according to the worker.
    private var reached = 0
    /// Whether the worker is the later version of the program.
    private var isLate = false

    /// - Parameter hasStandbys: whether the server has two synchronous standbys, one of which replaces it.
    package init(seed: UInt64, hasStandbys: Bool) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        server = try PostgresServer(settings: ["synchronous_commit": "on"])
        disk = hasStandbys ? nil : try SmallDisk(megabytes: 24)
        let made = try server.makeDatabase(on: disk)
        database = String(made.dropFirst("postgresql://hornbeam@/".count).prefix { $0 != "?" })
        proxy = try CuttingProxy(to: server)
        if hasStandbys {
            standbys = try [server.standby(named: "a"), server.standby(named: "b")]
            try server.psql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (a, b)'")
            try server.psql("SELECT pg_reload_conf()")
            let hosts = ([server] + standbys).map(\.socketFolder).joined(separator: ",")
            address = "host=\(hosts) user=hornbeam dbname=\(database) target_session_attrs=read-write"
                .replacing(" ", with: "&").replacing("host=", with: "postgresql:///?host=")
        } else {
            address = proxy.url(database: database)
        }
        folder = try TemporaryFolder()
        worker = try WorkerProcess("mirror-worker")
        try open()
    }

    private func open() throws {
        try worker.ask("open \(folder.path("store")) \(address) 1 \(random.next()) \(isLate ? "late" : "early")")
    }

    private func failed(_ what: String) -> Failure { Failure(description: "seed \(seed): \(what)") }

    /// Runs a life of some rounds, and compares the final states.
    package func run(rounds: Int) async throws {
        for round in 0..<rounds {
            figures.rounds += 1
            let isFailover = !standbys.isEmpty && round == rounds / 2
            let watch = MirrorWatch(server, database)
            defer { watch.end() }
            try isFailover ? failOver() : disturb()
            let (looks, failure) = watch.end()
            figures.looks += looks
            if let failure { throw failed(failure) }
            let shown = try MirrorWatch.look(server, database)
            if let problem = shown.problem { throw failed(problem) }
            // The worker is idle, and has reported that all transactions are there.
            if shown.transactions != reached {
                throw failed("the mirror has \(shown.transactions) transactions, \(reached) were reached")
            }
        }
        try await compareEnd()
        figures.connectionsCut += proxy.cuts
        folder.keep()
        proxy.keep()
        disk?.keep()
    }

    // MARK: Disturbances

    private func disturb() throws {
        worker.send("steps \(Int.random(in: 1...20, using: &random))")
        worker.send("reach")
        usleep(UInt32.random(in: 0...20_000, using: &random))
        let kinds = !standbys.isEmpty ? 3 : disk == nil ? 6 : 7
        switch Int.random(in: 0..<kinds, using: &random) {
        case 0, 1: return try replaceWorker()
        case 2:
            server.kill()
            figures.serversKilled += 1
            usleep(UInt32.random(in: 0...50_000, using: &random))
            try server.start()
        case 3:
            let count = Int.random(in: 1...3, using: &random)
            if Bool.random(using: &random) {
                proxy.cut(behind: "COMMIT", after: count)
            } else {
                proxy.cut(before: Bool.random(using: &random) ? "COMMIT" : "", after: count)
            }
        case 4:
            proxy.cutAll()
            figures.connectionsCut += 1
        case 6:
            try disk?.fill()
            figures.fullDisks += 1
            usleep(UInt32.random(in: 0...300_000, using: &random))
            disk?.makeRoom()
        default:
            server.pause()
            figures.pauses += 1
            usleep(UInt32.random(in: 0...1_500_000, using: &random))
            server.resume()
        }
        _ = try worker.answer()
        try noteReached(try worker.answer())
        proxy.disarm()
    }

    /// Kills the program, whatever it has answered by then, and starts another one, sometimes of another version,
    /// which migrates the store.
    private func replaceWorker() throws {
        worker.kill()
        figures.workersKilled += 1
        if (try? worker.answer()) != nil, let count = try? worker.answer() { try noteReached(count) }
        worker = try WorkerProcess("mirror-worker")
        if Bool.random(using: &random) {
            isLate.toggle()
            figures.migrations += 1
        }
        try open()
        try noteReached(try worker.ask("reach"))
    }

    private func noteReached(_ answer: String) throws {
        guard let count = Int(answer), count >= reached else {
            throw failed("the store has lost transactions: \(answer) after \(reached)")
        }
        reached = count
    }

    /// Kills the primary for good, and promotes a standby that has all acknowledged commits.
    private func failOver() throws {
        worker.send("steps 20")
        usleep(UInt32.random(in: 0...20_000, using: &random))
        server.kill()
        let received = try standbys.map {
            try $0.psql("SELECT pg_last_wal_receive_lsn() - '0/0'::pg_lsn")
        }.map { Int($0) ?? 0 }
        server = standbys[received[0] >= received[1] ? 0 : 1]
        standbys = []
        try server.promote()
        figures.failovers += 1
        _ = try worker.answer()
        try noteReached(try worker.ask("reach"))
    }

    // MARK: What must hold

    private func compareEnd() async throws {
        try worker.ask("close")
        let there = folder.path("restored")
        _ = try await Database.restore(to: there, from: server.url(database: database)) { _, _ in }
        let (old, new) = try (exported(folder.path("store")), exported(there))
        if old["Counter"]?.isEmpty != false || old != new { throw failed("the mirror isn't the store: \(old) \(new)") }
    }

    private func exported(_ path: String) throws -> [String: [String]] {
        let database = try Database(at: path, models: [])
        defer { try? database.close() }
        return try exportedEntities(of: database)
    }
}

extension MirrorProof {
    /// Runs lives of many seeds, a third of them with standbys. Prints each failure, and returns whether there was
    /// none.
    package static func run(seeds: Range<UInt64>) async throws -> Bool {
        var failures = 0
        var all = Figures()
        for seed in seeds {
            do {
                let life = try MirrorProof(seed: seed, hasStandbys: seed % 3 == 0)
                try await life.run(rounds: 12)
                all.add(life.figures)
                if (seed - seeds.lowerBound) % 50 == 49 { print("\(seed - seeds.lowerBound + 1) lives") }
            } catch {
                failures += 1
                print("FAILED: seed \(seed): \(error)")
            }
            // If the output is a file, it would get everything only at the end.
            fflush(nil)
        }
        print(
            "\(seeds.count) lives, \(failures) failed; \(all.rounds) rounds, \(all.workersKilled) programs and "
                + "\(all.serversKilled) servers killed, \(all.connectionsCut) connections cut, \(all.pauses) pauses, "
                + "\(all.fullDisks) full disks, \(all.migrations) migrations, \(all.failovers) failovers, "
                + "\(all.looks) looks beside them")
        return failures == 0
    }
}

extension MirrorProof.Figures {
    fileprivate mutating func add(_ other: Self) {
        rounds += other.rounds
        workersKilled += other.workersKilled
        serversKilled += other.serversKilled
        connectionsCut += other.connectionsCut
        pauses += other.pauses
        fullDisks += other.fullDisks
        migrations += other.migrations
        failovers += other.failovers
        looks += other.looks
    }
}
