// SPDX-License-Identifier: Apache-2.0
// A program with a store and its mirror. It executes the commands on its standard input, one a line, and answers each
// with a line: "ok …" or "error …". Tests start it, send it commands, and kill it.
//
// `mirror-worker lives COUNT SEED` runs the lives of `MirrorProof` instead.

import Foundation
import Hornbeam
import HornbeamPostgres
import HornbeamTestSupport
import PostgresTestSupport

/// Accounts whose amounts always sum up to nothing, and their owners.
@EntityModel
struct Account {
    let id: Int
    var amount: Int
    @Relationship(inverse: \.accounts) var owner: Owner?
}

@EntityModel
struct Owner {
    let id: Int
    var name: String
    @Relationship(inverse: \.owner) var accounts: [Account]?
}

/// Counts the transactions.
@EntityModel
struct Counter {
    let id: Int
    var count: Int
}

struct MirrorWorker {
    private var database: Database?
    private var mirror: PostgresMirror?
    private var running: Task<Void, any Error>?
    private var random = SeededGenerator(seed: 1)
    /// Whether it is the later version of the program.
    private var isLate = false

    private struct Problem: Error { let description: String }

    mutating func run(_ words: [String]) async throws -> String {
        switch words.first {
        case "open":
            random = SeededGenerator(seed: UInt64(words[4]) ?? 1)
            isLate = words[5] == "late"
            try open(words[1], words[2], words[3])
        case "steps": for _ in 0..<(Int(words[1]) ?? 1) { try await step() }
        case "reach": return try await reach()
        case "close": try await close()
        default: throw Problem(description: "unknown command")
        }
        return ""
    }

    private mutating func open(_ path: String, _ address: String, _ timeout: String) throws {
        let models: [any EntityModelProtocol.Type] = [Account.self, Owner.self, Counter.self]
        let database = try Database(
            at: path, models: models + (isLate ? [Late.Entry.self] : [Early.Log.self]),
            migrations: isLate ? Late.migrations : Early.migrations)
        var options = PostgresMirror.Options()
        options.timeout = .seconds(Int(timeout) ?? 30)
        let mirror = try PostgresMirror(of: database, named: "proof", to: address, options: options)
        (self.database, self.mirror) = (database, mirror)
        running = Task { try await mirror.run() }
    }

    /// Makes a transfer, or adds, removes and hands over accounts. Sometimes it is rolled back.
    private mutating func step() async throws {
        struct Rollback: Error {}
        var random = random
        defer { self.random = random }
        // The closure runs in another task and gets its own copies.
        let (seed, isLate) = (random.next(), isLate)
        do {
            try await database?.write { context in
                var random = SeededGenerator(seed: seed)
                for _ in 0..<Int.random(in: 1...3, using: &random) { try Self.change(&context, &random) }
                let count = try Counter.query(1).resolve(in: context)?.count ?? 0
                try Counter(id: 1, count: count + 1).save(to: &context)
                let line = Int.random(in: 0..<20, using: &random)
                if isLate {
                    try Late.Entry(id: line, body: count).save(to: &context)
                } else {
                    try Early.Log(id: line, text: "\(count)").save(to: &context)
                }
                if Int.random(in: 0..<8, using: &random) == 0 { throw Rollback() }
            }
        } catch is Rollback {}
    }

    private static func change(_ context: inout Context, _ random: inout SeededGenerator) throws {
        let (first, second) = (Int.random(in: 0..<40, using: &random), Int.random(in: 40..<80, using: &random))
        let amount = Int.random(in: 1...100, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            // Both accounts are deleted; their amounts go to another one.
            let sum = try [first, second].reduce(0) { try $0 + (Account.query($1).resolve(in: context)?.amount ?? 0) }
            for id in [first, second] { try Account.delete(id: id, from: &context) }
            let heir = try Account.query(99).resolve(in: context)?.amount ?? 0
            try Account(id: 99, amount: heir + sum).save(to: &context)
        case 1: try Owner.delete(id: first % 8, from: &context)
        default:
            for (id, change) in [(first, -amount), (second, amount)] {
                let amount = try Account.query(id).resolve(in: context)?.amount ?? 0
                let owner = Int.random(in: 0..<8, using: &random)
                try Account(
                    id: id, amount: amount + change, owner: .relation(Owner(id: owner, name: "O\(owner)"))
                ).save(to: &context)
            }
        }
    }

    /// Waits until the server has all transactions. Returns their number.
    private func reach() async throws -> String {
        guard let database, let mirror else { throw Problem(description: "nothing is open") }
        let count = try await database.read { try Counter.query(1).resolve(in: $0)?.count ?? 0 }
        try await mirror.reach(database.version)
        return String(count)
    }

    private mutating func close() async throws {
        running?.cancel()
        try await running?.value
        try database?.close()
    }
}

/// Answers commands until the input ends. Each answer is written at once, because `print` buffers output to a pipe.
func serve() async {
    var worker = MirrorWorker()
    while let line = readLine() {
        let answer: String
        do {
            answer = "ok \(try await worker.run(line.split(separator: " ").map(String.init)))"
        } catch {
            answer = "error \(error)".replacing("\n", with: " ")
        }
        FileHandle.standardOutput.write(Data("\(answer)\n".utf8))
    }
}

let arguments = CommandLine.arguments
if arguments.dropFirst().first == "lives" {
    let count = arguments.count > 2 ? UInt64(arguments[2]) ?? 100 : 100
    let seed = arguments.count > 3 ? UInt64(arguments[3]) ?? 1 : 1
    exit(try await MirrorProof.run(seeds: seed..<(seed + count)) ? 0 : 1)
}
await serve()
