// SPDX-License-Identifier: Apache-2.0
// Finds out whether a registered index can be used in a state of the file; if not, gives the reason and the remedy.

import HornbeamPages
import HornbeamTree

extension IndexRegistration {
    /// The index's trees in a state. Throws `.indexNotReady`, with the cause, if the index can't be used in this state.
    func trees(in transaction: Transaction) throws -> IndexTrees {
        if let trees = try readyTrees(in: transaction) { return trees }
        throw try notReady(in: transaction)
    }

    /// The index's trees in a state; nil if the state lacks the index or has another version of it, or if the index has
    /// missed changes.
    func readyTrees(in transaction: Transaction) throws -> IndexTrees? {
        guard let record = try RegisteredCatalogue.held(by: self, in: transaction),
            let trees = try IndexTrees(record.treeName, record.otherNames, in: transaction),
            try transaction.tree(record.missedName) == nil
        else { return nil }
        return trees
    }

    private func notReady(in transaction: Transaction) throws -> HornbeamError {
        let cause = try Self.cause(self, in: transaction)
        return HornbeamError(.indexNotReady, "\(kind) index “\(name)” of \(entity) can't answer: \(cause)")
    }

    private static func cause(_ asked: IndexRegistration, in transaction: Transaction) throws -> String {
        let build = try RegisteredCatalogue.readBuild(of: asked.name, in: transaction)
        let isBuilding = build?.identity == asked.identity
        guard let stored = try RegisteredCatalogue.read(asked.name, in: transaction) else {
            if isBuilding { return building }
            return
                "this state of the database doesn't have it: register it with database.register(…), and query it in a "
                + "read that begins later"
        }
        let record = stored.record
        guard record.kind == asked.kind, record.entity == asked.entity else {
            return
                "its name is that of a stored \(record.kind) index over \(record.entity): give it another name, or "
                + "drop the stored one with database.unregister(…)"
        }
        guard stored.identity == asked.identity else {
            if isBuilding { return building }
            return difference(asked, stored) + ": register it with database.register(…), which builds it anew"
        }
        if let missed = try transaction.tree(stored.missedName) {
            return "it has missed the changes of \(try transaction.count(missed)) entities, which were saved without "
                + "its code: register it with database.register(…), which catches up with them"
        }
        return "the file lacks a part of it, and may be damaged: register it with database.register(…), which "
            + "builds it anew"
    }

    private static let building =
        "it is being built in the background: wait for the value of its IndexBuild or, if the program that built it "
        + "has ended, register it again"

    /// The difference between the stored index and the requested one.
    private static func difference(_ asked: IndexRegistration, _ stored: StoredIndex) -> String {
        if stored.record.version != asked.version {
            return "the database has its version “\(stored.record.version)”, and not “\(asked.version)”"
        }
        let names = Set(stored.record.settings.keys).union(asked.settings.keys).sorted()
        for name in names {
            let (here, wanted) = (stored.record.settings[name], asked.settings[name])
            guard here != wanted else { continue }
            return "the database has it with \(name) “\((here ?? "").shown())”, and not “\((wanted ?? "").shown())”"
        }
        return "a migration has changed the entities that it was built from"
    }
}
