// SPDX-License-Identifier: Apache-2.0
// What the log has for the mirror in the state that a transaction reads. A batch takes all of it: rows are read in the
// same state, so with less the tables would show one that the store never had.

import FoundationEssentials
import Hornbeam
import HornbeamPages
import HornbeamTree

/// The changes of one batch.
struct PendingBatch {
    /// The ids of the entities that were changed, by type. An update may have changed links too.
    private(set) var entities: [String: Set<Value>] = [:]
    /// Types of which all entities must be looked at.
    private(set) var missed: Set<String> = []
    /// The number of the last change, and how many there are.
    let last: UInt64
    let count: Int
    private(set) var digest = ""

    /// Changes beyond which it takes less to look at everything: their ids are held in memory.
    static let limit = 500_000

    init(_ log: ChangeLog, _ consumer: StoredConsumer, _ schema: Schema) throws {
        last = consumer.next - 1
        count = Int(clamping: last - consumer.acknowledged)
        guard consumer.next - consumer.first <= Self.limit else {
            missed = Set(consumer.wanted)
            return
        }
        missed = Set(consumer.missed)
        let changes = try log.changes(of: consumer, limit: .max)
        if !consumer.hasGap { digest = Self.digest(changes, consumer) }
        for (sequence, change) in changes {
            let name = consumer.types[change.type].name
            // A type that has gone takes its table with it.
            guard let type = schema.types[name], !missed.contains(name) else { continue }
            guard let id = change.id.withUnsafeBytes({ ValueBytes.decode($0, as: type.idType) }) else {
                throw ChangeLog.damaged("change \(sequence) of a mirror has an id that is none")
            }
            entities[name, default: []].insert(id)
        }
    }

    /// Tells a store's changes from those of a copy that went its own way.
    static func digest(_ changes: [(sequence: UInt64, change: StoredChange)], _ consumer: StoredConsumer) -> String {
        var bytes: [UInt8] = []
        for (sequence, change) in changes {
            for number in [sequence, change.version, UInt64(change.kind.rawValue), UInt64(change.id.count)] {
                withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
            }
            bytes.append(contentsOf: consumer.types[change.type].name.utf8)
            bytes.append(contentsOf: change.id)
        }
        return IndexKeyBytes.hashed(bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
