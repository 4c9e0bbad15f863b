// SPDX-License-Identifier: Apache-2.0
// Detects drift: the code of a registered index was changed and its version wasn't, so the stored entries come from
// other code. The catalogue doesn't show this. A probe runs the code for a sample of entities and compares the entries.

import HornbeamPages
import HornbeamTree

/// The reaction of registering an index if a sample shows that its code gives other rows than the stored ones.
public enum DriftPolicy: Sendable {
    /// Takes no sample.
    case ignore
    /// Throws `.indexDrift`; the index isn't registered.
    case `throw`
    /// Builds the index anew.
    case rebuild
}

/// Compares entries with those that the code makes now, in both directions: from rows to entries, and from entries to
/// rows.
struct DriftProbe {
    /// Maximum number of samples in each direction, and so of calls of the program's code.
    static let samples = 32

    let index: MaintainedIndex
    let type: EntityType
    let transaction: Transaction

    /// Returns the first difference as an error, or nil if there is none.
    func run() throws -> HornbeamError? {
        let follower = index.registration.emitter.follower(of: [index])
        if let drift = try forEachSample(
            type.rows,
            { key, value in
                guard key.count == 8, let rowID = RowID(key: key) else {
                    throw StorageError.corrupt(Corruption(tree: "e:\(type.name)", reason: "a key is no row id"))
                }
                return try difference(rowID, try RowReader(value, of: type), follower)
            })
        {
            return drift
        }
        let isTable = !index.trees.others.isEmpty
        return try forEachSample(index.tree) { key, value in
            guard let rowID = rowID(key, value) else {
                throw StorageError.corrupt(
                    Corruption(tree: "index “\(index.registration.name)”", reason: "an entry names no row"))
            }
            let whole = (isTable ? [0] : []) + Array(key)
            guard let row = try transaction.get(type.rows, rowID),
                let entries = try? follower.entries(rowID, try RowReader(row, of: type), in: 0),
                let entry = entries.first(where: { $0.key == whole }), index.registration.isSame(value, as: entry.value)
            else { return drift(rowID, "has a row that its code doesn't give any more") }
            return nil
        }
    }

    /// The row of an entry; nil if the entry is damaged.
    private func rowID(_ key: Bytes, _ value: Bytes) -> RowID? {
        if case .rows(let index) = index.planned { return index.rowID(key: key, value: value) }
        return index.trees.rowID(key)
    }

    private func difference(
        _ rowID: RowID, _ row: RowReader, _ follower: any IndexFollower
    ) throws -> HornbeamError? {
        let entries: [IndexEntry]
        do {
            entries = try follower.entries(rowID, row, in: 0)
        } catch let error as HornbeamError {
            return drift(rowID, "can't be made: \(error.message)")
        }
        for entry in entries {
            guard let found = try index.trees.value(of: entry.key, in: transaction) else {
                return drift(rowID, "lacks a row that its code gives")
            }
            if !index.registration.isSame(found, as: entry.value) {
                return drift(rowID, "has another value than its code gives")
            }
        }
        return nil
    }

    private func drift(_ rowID: RowID, _ what: String) -> HornbeamError {
        HornbeamError(
            .indexDrift,
            "index “\(index.registration.name)” of \(type.name) \(what), at \(rowID): its code has changed, and its "
                + "version “\(index.registration.version)” hasn't; give it another version, or repair it")
    }

    /// Calls `body` with entries that are spread evenly over a tree, until it returns an error. Returns that error.
    private func forEachSample(
        _ tree: TreeID, _ body: (_ key: Bytes, _ value: Bytes) throws -> HornbeamError?
    ) throws -> HornbeamError? {
        let count = try transaction.count(tree)
        let samples = min(count, UInt64(Self.samples))
        var cursor = try transaction.cursor(tree)
        for sample in 0..<samples {
            // Calculated without the product of count and sample, which could overflow if the count is damaged.
            let place = count / samples * sample + count % samples * sample / samples
            guard try cursor.seek(index: place) else { return nil }
            if let drift = try body(cursor.key, cursor.value) { return drift }
        }
        return nil
    }
}
