// SPDX-License-Identifier: Apache-2.0
// The changes that the log holds for the mirror in the state that a transaction reads. A batch takes all of them: rows
// are read in that state, so with fewer changes the tables would show a state that the store never had.

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
    let digest: String

    /// Changes beyond which it takes less to look at everything: their ids are held in memory.
    private static let limit = 500_000

    init(_ log: ChangeLog, _ consumer: StoredConsumer, _ schema: Schema) throws {
        last = consumer.next - 1
        count = Int(clamping: last - consumer.acknowledged)
        digest = try Self.digest(log, consumer, through: last)
        guard consumer.next - consumer.first <= Self.limit else {
            missed = Set(consumer.wanted)
            return
        }
        missed = Set(consumer.missed)
        for (sequence, change) in try log.changes(of: consumer, limit: .max) {
            let name = consumer.types[change.type].name
            // A type that has gone takes its table with it.
            guard let type = schema.types[name], !missed.contains(name) else { continue }
            guard let id = change.id.withUnsafeBytes({ ValueBytes.decode($0, as: type.idType) }) else {
                throw ChangeLog.damaged("change \(sequence) of a mirror has an id that is none")
            }
            entities[name, default: []].insert(id)
        }
    }

    /// Tells the changes up to one of them from those of a copy of the store that went its own way: by the first of
    /// them, with their numbers, versions and ids. A type counts by its place, which it keeps under another name.
    static func digest(
        _ log: ChangeLog, _ consumer: StoredConsumer, through last: UInt64
    ) throws -> String {
        var bytes: [UInt8] = []
        func add(_ numbers: UInt64...) {
            for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        }
        add(consumer.acknowledged, consumer.first)
        let count = min(last &+ 1 &- min(consumer.first, last &+ 1), UInt64(digested))
        for (sequence, change) in try log.changes(of: consumer, limit: Int(count)) {
            add(sequence, change.version, UInt64(change.kind.rawValue), UInt64(change.type), UInt64(change.id.count))
            bytes.append(contentsOf: change.id)
        }
        return IndexKeyBytes.hashed(bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Changes that a digest is made of.
    private static let digested = 10_000
}
