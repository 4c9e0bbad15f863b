// SPDX-License-Identifier: Apache-2.0
// `hornbeam check`: every page, every tree, and everything that entities promise: rows, ids, indexes, links, full text.

import Hornbeam
import HornbeamPages
import HornbeamTree

enum CheckCommand {
    static let declaration = CommandDeclaration(
        path: ["check"],
        summary: "verify a store",
        discussion: "Reads everything: checksums, the structure of all trees and their counts, free space; then rows, "
            + "ids, index entries, unique keys, both sides of relations, full text. Of indexes made at run time those "
            + "over stored properties are verified; the entries of others only their program knows. Of indexes by a "
            + "collation that is of another version here, entries are counted. Each problem is a line; the last line "
            + "says what was verified. Exit code 1 if there is a problem. Ctrl-C ends it.",
        operands: [.store],
        options: [.flag("structure", "s", "only pages and trees, not the entities")],
        examples: ["hornbeam check packages.hornbeam"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let problems = ProblemList(console)
        let withEntities = !arguments.has("structure")
        let start = ContinuousClock.now
        var (unverified, otherwise): ([String], [String]) = ([], [])
        Interruption.watch()
        let verified: String?
        do {
            verified = try OpenStore.reading(arguments.file) { store in
                // Entities can't be judged while the trees below them are damaged.
                guard try checkTrees(store, problems, console) else { return nil }
                if Interruption.isRequested { throw StorageError.cancelled }
                return try store.reading { transaction in
                    guard withEntities else { return try summary(transaction, withEntities: false) }
                    let core = try StoreTransaction(reading: transaction)
                    try checkEntities(core, problems, console)
                    unverified = core.indexesOfCode
                    otherwise = core.indexesOfOtherOrders
                    return try summary(transaction, withEntities: true)
                }
            }
        } catch StorageError.cancelled {
            console.remark("interrupted: \(Spelling.counted(problems.count, "problem")) found until then")
            return .interrupted
        }
        if let failure = problems.failure { throw failure }
        if !unverified.isEmpty {
            let count = Spelling.counted(unverified.count, "index", "indexes")
            try console.print(
                "only the program that has made them can tell the entries of \(count): "
                    + unverified.joined(separator: ", "))
        }
        if !otherwise.isEmpty {
            let count = Spelling.counted(otherwise.count, "index", "indexes")
            try console.print(
                "in the order of another version of a collation, so that only entries were counted, and no query uses "
                    + "it until the file is opened for writing, \(count): " + otherwise.joined(separator: ", "))
        }
        let found = Spelling.counted(problems.count, "problem")
        guard let verified else {
            try console.print("\(found) in pages and trees; the entities were not checked")
            return .failure
        }
        if problems.count > 0 {
            try console.print("\(found): \(verified) read")
            return .failure
        }
        try console.print("no problems: \(verified) verified in \(Spelling.time(start.duration(to: .now)))")
        return .ok
    }

    private static func checkTrees(_ store: TreeStore, _ problems: ProblemList, _ console: Console) throws -> Bool {
        let progress = problems.begin(Progress("checking pages", unit: "bytes", console: console))
        defer { progress.clear() }
        return try store.check(report: problems.add) { figures in
            let fraction = Double(figures.checkedBytes) / Double(max(figures.totalBytes, 1))
            progress.update(count: figures.checkedBytes, fraction: fraction)
            return !Interruption.isRequested
        }
    }

    private static func checkEntities(
        _ core: StoreTransaction, _ problems: ProblemList, _ console: Console
    ) throws {
        let progress = problems.begin(Progress("checking entities", unit: "entries", console: console))
        defer { progress.clear() }
        try Interruption.ending(core.transaction) {
            _ = try EntityCheck(core).run(report: problems.add) { done, total in
                progress.update(count: done, fraction: Double(done) / Double(max(total, 1)))
            }
        }
    }

    private static func summary(_ transaction: Transaction, withEntities: Bool) throws -> String {
        var entries: UInt64 = 0
        let names = try transaction.treeNames()
        for name in names {
            if let tree = try transaction.tree(name) { entries &+= try transaction.count(tree) }
        }
        var text = "\(Spelling.counted(names.count, "tree")) with \(Spelling.counted(entries, "entry", "entries"))"
        guard withEntities else { return text }
        let types = try SchemaCatalogue.load(transaction).descriptions
        var entities: UInt64 = 0
        for type in types {
            if let tree = try transaction.tree("e:\(type.name)") { entities &+= try transaction.count(tree) }
        }
        text += ", \(Spelling.counted(entities, "entity", "entities")) of \(Spelling.counted(types.count, "type"))"
        return text + ", \(Spelling.counted(types.reduce(0) { $0 + $1.indexes.count }, "index", "indexes"))"
    }
}

/// Prints problems as they come. Reporting can't throw, so a failed write is kept for later.
private final class ProblemList {
    private let console: Console
    private var progress: Progress?
    private(set) var count: UInt64 = 0
    private(set) var failure: (any Error)?

    init(_ console: Console) { self.console = console }

    /// Sets the progress line that each problem clears from now on, and returns it.
    func begin(_ progress: Progress) -> Progress {
        self.progress = progress
        return progress
    }

    func add(_ problem: String) {
        count += 1
        progress?.clear()
        do { try console.print(DisplayWidth.printable(problem)) } catch { failure = failure ?? error }
    }
}
