// SPDX-License-Identifier: Apache-2.0
// The pending changes in one state of the store. A batch takes all of them: rows are read in that state, so with fewer
// changes the tables would show a state that the store never had.

import FoundationEssentials
import Hornbeam
import HornbeamPages
import HornbeamTree

/// The changes of one batch.
struct PendingBatch {
    /// The ids of the entities that were changed, by type. An update may have changed links too.
    let entities: [String: Set<Value>]
    /// Types whose entities must all be compared.
    let missed: Set<String>
    /// The number of the last change, and the number of changes.
    let last: UInt64
    let count: Int
    let digest: String

    /// Maximum number of changes, whose ids are held in memory. Beyond it, comparing all entities takes less.
    private static let limit = 500_000

    init(_ log: ChangeLog, _ consumer: StoredConsumer, _ schema: Schema) throws {
        last = consumer.next - 1
        count = Int(clamping: last - consumer.acknowledged)
        let isTooMuch = consumer.next - consumer.first > Self.limit
        missed = Set(isTooMuch ? consumer.wanted : consumer.missed)
        var digest = BatchDigest(consumer)
        var entities: [String: Set<Value>] = [:]
        try log.forEachChange(of: consumer, before: consumer.next) { [missed] sequence, change in
            digest.add(sequence, change)
            let name = consumer.types[change.type].name
            // A removed type has no table.
            if let type = schema.types[name], !missed.contains(name) {
                guard let id = change.id.withUnsafeBytes({ ValueBytes.decode($0, as: type.idType) }) else {
                    throw ChangeLog.damaged("change \(sequence) of a mirror has an id that is not readable")
                }
                entities[name, default: []].insert(id)
            }
            return !isTooMuch || !digest.isFull
        }
        self.entities = entities
        self.digest = digest.text
    }

    /// Returns the digest of a consumer's changes up to one of them.
    static func digest(_ log: ChangeLog, _ consumer: StoredConsumer, through last: UInt64) throws -> String {
        var digest = BatchDigest(consumer)
        if last >= consumer.first {
            try log.forEachChange(of: consumer, before: last + 1) { sequence, change in
                digest.add(sequence, change)
                return !digest.isFull
            }
        }
        return digest.text
    }
}

/// A digest of the changes of a batch. It differs for a copy of the store that has changed since. Types count by their
/// numbers, which renamed types keep.
private struct BatchDigest {
    private var bytes: [UInt8] = []
    private var count = 0

    /// Maximum number of changes that it is made of: the first ones.
    private static let limit = 10_000

    init(_ consumer: StoredConsumer) { add(consumer.acknowledged, consumer.first) }

    var isFull: Bool { count == Self.limit }
    var text: String { IndexKeyBytes.hashedText(bytes) }

    mutating func add(_ sequence: UInt64, _ change: StoredChange) {
        if isFull { return }
        count += 1
        add(sequence, change.version, UInt64(change.kind.rawValue), UInt64(change.type), UInt64(change.id.count))
        bytes.append(contentsOf: change.id)
    }

    private mutating func add(_ numbers: UInt64...) {
        for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
    }
}
