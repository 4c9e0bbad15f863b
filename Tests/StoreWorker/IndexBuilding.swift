// SPDX-License-Identifier: Apache-2.0
// A database whose index is built in the background, during writes, until the process is killed; another process
// continues.

import Foundation
import Hornbeam
import HornbeamMapReduce
import Synchronization

@EntityModel
struct Sheet {
    let id: Int
    var number: Int
}

/// Commands: "index PATH" opens the database and reports the state of the index, and, for an unfinished build, the
/// number of sheets already read; "build PHASE N" begins or continues the build, and writes until N thousandths of a
/// phase are done; "built" waits for the end; "verify" compares the index with the sheets.
final class IndexBuilding: Sendable {
    private static let count = 8_000

    private let database: Database
    private let build = Mutex<IndexBuild?>(nil)

    init(path: String) throws {
        var options = Database.Options()
        options.durability = .process
        options.lockWaitMilliseconds = 5_000
        database = try Database(at: path, models: Sheet.self, options: options)
        if try database.read({ context in try Sheet.query().count(in: context) }) > 0 { return }
        try database.write { (context) throws in
            for id in 0..<Self.count { try Sheet(id: id, number: id).save(to: &context) }
        }
    }

    /// An index with more rows than a build sorts at once.
    private var index: MapIndex<Sheet, String, CountReducer<String>> {
        MapIndex("byNumber", version: "1") { (sheet: Sheet, emit: inout MapEmitter<String>) in
            // Slow, so that the process can be killed during the build.
            usleep(100)
            emit(key: .int(sheet.number), value: String(repeating: "a", count: 8_000))
        }
    }

    func state() throws -> String {
        let states = try database.registeredIndexes().map(\.state)
        guard let state = states.first, states.count == 1 else { return states.isEmpty ? "absent" : "\(states)" }
        guard case .building(let done, _) = state else { return "\(state)" }
        // An incomplete index can't be queried.
        do {
            _ = try database.read { context in try index.query().count(in: context) }
            return "readable"
        } catch let error as HornbeamError where error.code == .indexNotReady {
            return "\(done)"
        }
    }

    /// Writes until the build has come this far. Returns the number of writes.
    func build(until phase: String, _ thousandths: Int) throws -> String {
        let build = try database.register(inBackground: index)
        self.build.withLock { $0 = build }
        var writes = 0
        while case .building(let progress) = build.state {
            // The total is unknown until the build has begun.
            let hasBegun = progress.total > 0 || thousandths == 0
            if hasBegun, progress.phase.rawValue == phase, progress.done * 1_000 >= thousandths * progress.total {
                break
            }
            try database.write { (context) throws in
                let id = writes * 37 % (Self.count + 50)
                if writes % 5 == 0 {
                    try Sheet.delete(id: id, from: &context)
                } else {
                    try Sheet(id: id, number: -writes).save(to: &context)
                }
            }
            writes += 1
            usleep(1_000)
        }
        return "\(writes)"
    }

    func finish() throws { try build.withLock({ $0 })?.wait() }

    /// Returns the first problem, or an empty text.
    func problem() throws -> String {
        var problems: [String] = []
        _ = try database.check { problems.append($0) }
        let (rows, numbers) = try database.read { (context) throws in
            (try index.query().resolve(in: context).map(\.key), try (context.all() as [Sheet]).map(\.number))
        }
        if rows != numbers.sorted().map({ MapKey.int($0) }) { problems.append("the index has other rows") }
        try database.close()
        return problems.first ?? ""
    }
}
