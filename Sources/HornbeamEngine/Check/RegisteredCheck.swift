// SPDX-License-Identifier: Apache-2.0
// Checks registered indexes against the entities. If the program has given an index's code, each entry is checked. The
// other indexes are compared with the catalogue. The reduced values in branches are checked by the trees' own check.

import HornbeamPages
import HornbeamTree

struct RegisteredCheck {
    let core: StoreTransaction
    let registered: RegisteredIndexes

    func run(_ problem: (String) -> Void) throws {
        let transaction = core.transaction
        let unreadable = try RegisteredCatalogue.unreadable(transaction)
        for name in unreadable {
            problem("index “\(name)”: its entry in the catalogue is not readable: drop it with unregister")
        }
        for (tree, index) in try RegisteredCatalogue.lostTrees(transaction) where !unreadable.contains(index) {
            let tree = tree.filter { $0 != "\u{1}" }
            problem("index “\(index)”: the file has its tree \(tree), and no record of it: drop it with unregister")
        }
        for stored in try RegisteredCatalogue.read(transaction) {
            let kind = stored.record.build == nil ? "index" : "build of index"
            let name = "\(kind) “\(stored.publicName)” of \(stored.record.entity)"
            guard let type = core.schema.types[stored.record.entity] else {
                problem("\(name): the store has no such entity type")
                continue
            }
            guard let trees = try trees(of: stored, name, problem) else { continue }
            if stored.handKept != nil {
                try KeptCheck(index: stored, core: core).run(problem)
                continue
            }
            let missed = try transaction.tree(stored.missedName)
            if let missed { try checkMissed(missed, stored, type, name, problem) }
            if let build = stored.record.build {
                if missed == nil { problem("\(name): it lacks the tree of missed changes") }
                for run in 0..<build.runs where try transaction.tree(stored.runName(run)) == nil {
                    problem("\(name): run \(run) of \(build.runs) is missing")
                }
            }
            if let maintained = registered.maintained[stored.name], maintained.trees == trees, missed == nil,
                maintained.registration.identity == stored.identity
            {
                try check(maintained, type, name, problem)
            }
        }
    }

    /// Returns the trees of an index. Reports a problem and returns nil if one is missing or damaged, which concerns
    /// only this index.
    private func trees(
        of stored: StoredIndex, _ name: String, _ problem: (String) -> Void
    ) throws(StorageError) -> IndexTrees? {
        do throws(StorageError) {
            if let trees = try IndexTrees(of: stored, in: core.transaction) { return trees }
            problem("\(name): it lacks a tree")
        } catch {
            guard case .corrupt(let corruption) = error else { throw error }
            problem("\(name): \(corruption): drop it with unregister")
        }
        return nil
    }

    private func check(
        _ index: MaintainedIndex, _ type: EntityType, _ name: String, _ problem: (String) -> Void
    ) throws {
        let transaction = core.transaction
        let follower = index.registration.emitter.follower(of: [index])
        var expected: UInt64 = 0
        try core.store(type.name).forEachRow { rowID, row in
            do {
                for entry in try follower.entries(rowID, row, in: 0) {
                    expected += 1
                    guard let found = try index.trees.value(of: entry.key, in: transaction) else {
                        problem("\(name): an entry for \(rowID) is missing")
                        continue
                    }
                    if !index.registration.isSame(found, as: entry.value) {
                        problem("\(name): an entry for \(rowID) has another value")
                    }
                }
            } catch let error as StorageError {
                throw error
            } catch {
                // The error comes from the row, or is any that the map function throws.
                problem("\(name): \(rowID): \((error as? HornbeamError)?.message ?? "\(error)")")
            }
            return true
        }
        let entries = try index.trees.count(in: transaction)
        if entries != expected { problem("\(name) has \(entries) rows, the entities give \(expected)") }
    }

    private func checkMissed(
        _ missed: TreeID, _ index: StoredIndex, _ type: EntityType, _ name: String, _ problem: (String) -> Void
    ) throws {
        // Rows with other columns are not read: the index has to be rebuilt anyway.
        let isRead = index.record.columns == RegisteredCatalogue.fingerprint(type.description)
        var cursor = try core.transaction.cursor(missed)
        while try cursor.next() {
            do {
                guard cursor.key.count == 8 else { throw MissedRow.unreadable }
                let former = try MissedRow.row(Array(cursor.value))
                if isRead { try former?.withUnsafeBytes { _ = try RowReader($0, of: type) } }
            } catch {
                problem("\(name): a row that it has missed is not readable")
            }
        }
    }
}
