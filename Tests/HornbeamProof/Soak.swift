// SPDX-License-Identifier: Apache-2.0
// Everything at once, for any length of time: a child process with writers, readers and checkpoints on threads is
// killed at a random moment, again and again. After each kill the file is opened and verified: all commits that the
// child reported are there, the sum of each state is right, `check` finds nothing. Then the next child continues with
// that file.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

package struct Soak {
    private let program: String
    private let folder: TemporaryFolder
    private var random: SeededGenerator
    private let seed: UInt64
    package private(set) var kills = 0
    package private(set) var commits: UInt64 = 0
    private static let writers = 4
    /// When the file has reached this size, a new one is begun.
    private static let largestFile = 512 << 20

    /// `program` is this executable; it is started with `soak-child PATH SEED`, which calls `child`.
    package init(program: String, seed: UInt64) throws {
        self.program = program
        self.seed = seed
        random = SeededGenerator(seed: seed)
        folder = try TemporaryFolder()
    }

    package mutating func run(minutes: Double, progress: (Soak) -> Void) throws {
        let deadline = Date(timeIntervalSinceNow: minutes * 60)
        defer { folder.keep() }
        while Date() < deadline {
            try round()
            if kills % 20 == 0 { progress(self) }
        }
    }

    private var path: String { folder.path("soak.hornbeam") }

    private mutating func round() throws {
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        if size ?? 0 > Self.largestFile { try FileManager.default.removeItem(atPath: path) }
        let child = Process()
        child.executableURL = URL(fileURLWithPath: program)
        child.arguments = ["soak-child", path, "\(random.next() % 1_000_000)"]
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        let killer = Thread { [milliseconds = 50 + random.below(2500), pid = child.processIdentifier] in
            usleep(UInt32(milliseconds) * 1000)
            kill(pid, SIGKILL)
        }
        killer.start()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        child.waitUntilExit()
        kills += 1
        guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
            let words = String(decoding: said.suffix(2000), as: UTF8.self)
            throw ProofFailure("seed \(seed), kill \(kills): the child ended by itself: \(words)")
        }
        try verify(acknowledged: Self.acknowledgements(said))
    }

    /// Returns the newest number that the child reported for each writer. The last line of its output may be
    /// incomplete.
    private static func acknowledgements(_ said: Data) -> [UInt64] {
        var newest = [UInt64](repeating: 0, count: writers)
        let text = String(decoding: said, as: UTF8.self)
        guard let end = text.lastIndex(of: "\n") else { return newest }
        for line in text[..<end].split(separator: "\n") {
            let words = line.split(separator: " ").compactMap { UInt64($0) }
            if words.count == 2, words[0] < writers { newest[Int(words[0])] = max(newest[Int(words[0])], words[1]) }
        }
        return newest
    }

    private mutating func verify(acknowledged: [UInt64]) throws {
        let isNew = !FileManager.default.fileExists(atPath: path)
        try expect(!isNew || acknowledged.allSatisfy { $0 == 0 }, "seed \(seed), kill \(kills): the file is gone")
        let store = try TreeStore.open(at: path)
        let read = try store.beginRead()
        try ConcurrencyProof.checkSum(read)
        for (writer, least) in acknowledged.enumerated() {
            let found = try ConcurrencyProof.lastNumber(of: writer, in: read)
            try expect(
                found >= least,
                "seed \(seed), kill \(kills): writer \(writer) has \(found), but \(least) was acknowledged")
            try ConcurrencyProof.checkNumbers(of: writer, in: read, sample: 200, &random)
            commits += found
        }
        read.abort()
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        try expect(isSound, "seed \(seed), kill \(kills): check: \(problems.joined(separator: "; "))")
        if random.oneIn(2) { try store.close() }
    }

    /// Runs the process that is killed.
    package static func child(path: String, seed: UInt64) throws {
        var options = StoreOptions()
        options.pageSize = 4096
        let store = try TreeStore.open(at: path, options: options)
        let proof = try ConcurrencyProof(store, writers: writers, seed: seed) { writer, number in
            let line = "\(writer) \(number)\n"
            _ = line.withCString { write(1, $0, strlen($0)) }
        }
        try proof.run(seconds: 3600, readers: 2)
    }
}
