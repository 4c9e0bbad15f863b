// SPDX-License-Identifier: Apache-2.0
// The command for long runs: the property to prove, the number of runs, and the seed. A failure names the seed that
// reproduces it.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

package enum ProofCommand {
    /// Runs one proof and returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        if arguments.count == 3, arguments[0] == "soak-child" { return child(arguments[1], arguments[2]) }
        guard arguments.count >= 2, let amount = Int(arguments[1]), amount > 0 else { return usage() }
        let seed = arguments.count > 2 ? UInt64(arguments[2]) : SeededGenerator.seed
        guard let seed else { return usage() }
        do {
            switch arguments[0] {
            case "crash": try crash(amount, seed)
            case "hostile": try hostile(amount, seed)
            case "faults": try faults(amount, seed)
            case "readers": try readers(amount, seed)
            case "soak": try soak(minutes: amount, seed)
            case "threads": try threads(rounds: amount, seed)
            default: return usage()
            }
            return 0
        } catch {
            say("FAILED: \(arguments[0]) \(amount) \(seed): \(error)")
            return 1
        }
    }

    /// Prints a line and flushes it, so that it is visible at once in a pipe too.
    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func usage() -> Int32 {
        say(
            "usage: hornbeam-proof crash|hostile|faults|readers|threads|soak HOW-MANY-OR-MINUTES [SEED]"
        )
        return 64
    }

    private static func crash(_ states: Int, _ seed: UInt64) throws {
        let proof = CrashProof(seed: seed)
        var shown = 0
        try proof.run(states: states) { proof in
            guard proof.total - shown >= 50_000 else { return }
            shown = proof.total
            say("seed \(seed): \(proof.total) of \(states) crash states, \(proof.lives) lives")
        }
        say(
            "seed \(seed): \(proof.total) crash states \(proof.states) of \(proof.lives) lives, \(proof.salvages) "
                + "salvaged, none wrong")
    }

    private static func readers(_ snapshots: Int, _ seed: UInt64) throws {
        let proof = try ReaderProof(seed: seed)
        try proof.run(snapshots: snapshots) { _ in alarm(60) }
        alarm(0)
        say(
            "seed \(seed): \(proof.snapshots) snapshots of other processes, \(proof.heldAgain) looks at held ones, "
                + "\(proof.deaths) dead writers, \(proof.lives) lives, none wrong")
    }

    private static func faults(_ faults: Int, _ seed: UInt64) throws {
        let proof = try FaultProof(seed: seed)
        var shown = 0
        try proof.run(faults: faults) { proof in
            alarm(60)
            guard proof.total - shown >= 10_000 else { return }
            shown = proof.total
            say("seed \(seed): \(proof.total) of \(faults) faults, \(proof.lives) lives")
        }
        alarm(0)
        let counts = SimulatedDisk.Operation.allCases.compactMap { operation in
            proof.struck[operation].map { "\(operation) \($0) (\(proof.failed[operation] ?? 0) refused writes after)" }
        }
        say(
            "seed \(seed): \(proof.total) faults in \(proof.lives) lives, none wrong: \(counts.joined(separator: ", "))"
        )
    }

    /// Runs threads on a file, in memory and on a simulated disk, with a mapping and without.
    private static func threads(rounds: Int, _ seed: UInt64) throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        for round in 0..<rounds {
            var options = StoreOptions()
            options.pageSize = 4096
            options.checkpointBytes = 64 << 10
            options.access = round % 2 == 0 ? .mapped : .read
            options.cacheBytes = 1 << 20
            let stores = [
                try TreeStore.open(at: folder.path("\(round).hornbeam"), options: options),
                try TreeStore.inMemory(options: options),
                try TreeStore.open(file: try SimulatedDisk(), options: options),
            ]
            for store in stores {
                let proof = try ConcurrencyProof(store, writers: 4, seed: seed &+ UInt64(round))
                try proof.run(seconds: 60, readers: 3, limit: 100)
                guard try store.check(report: { say($0) }) else { throw ProofFailure("check found something") }
                try store.close()
            }
            let images = try ThreadCrashProof(seed: seed &+ UInt64(round), images: 100).run(commitsOfAWriter: 100)
            say("seed \(seed): round \(round + 1) of \(rounds), \(images) crash images of threads")
        }
    }

    private static func soak(minutes: Int, _ seed: UInt64) throws {
        var soak = try Soak(program: "/proc/self/exe", seed: seed)
        try soak.run(minutes: Double(minutes)) {
            say("seed \(seed): \($0.kills) kills, \($0.commits) numbers found again")
        }
        say("seed \(seed): \(soak.kills) kills in \(minutes) minutes, \(soak.commits) numbers found again, none lost")
    }

    /// Runs until it is killed, or prints the reason of its end.
    private static func child(_ path: String, _ seed: String) -> Int32 {
        do {
            try Soak.child(path: path, seed: UInt64(seed) ?? 1)
        } catch {
            say("\(error)")
        }
        return 1
    }

    private static func hostile(_ mutations: Int, _ seed: UInt64) throws {
        var proof = HostileProof(seed: seed)
        try proof.run(mutations: mutations) { number in
            // This signal ends the process if it hangs.
            alarm(60)
            if number % 10_000 == 0, number > 0 { say("seed \(seed): \(number) of \(mutations) mutations") }
        }
        alarm(0)
        say("seed \(seed): \(proof.mutations) hostile files, \(proof.refusals) refused, none wrong")
    }
}
