// SPDX-License-Identifier: Apache-2.0
// How long a database keeps what was deleted, and the purge that keeps to it.

import FoundationEssentials
import HornbeamPages
import Synchronization

extension Database {
    /// How long deleted entities are kept, each as a `Deleted` of its type.
    public struct DeletedRetention: Sendable, Equatable {
        private enum Rule: Equatable {
            case never
            case forever
            case duration(Duration)
        }

        private let rule: Rule

        /// Nothing is kept, but for the types that say `keepsDeleted`.
        public static let never = Self(rule: .never)

        /// Kept until the program purges them.
        public static let forever = Self(rule: .forever)

        /// Kept for that long, then purged by later writes: beginning with the first write after opening, and then each
        /// hour, all kept entities are looked at, 1,000 in each write that changes something. Those of types that say
        /// `keepsDeleted` are purged too.
        public static func duration(_ duration: Duration) -> Self { Self(rule: .duration(duration)) }

        /// Kept for so many times 24 hours; see `duration(_:)`.
        public static func days(_ days: Int) -> Self { .duration(.seconds(Double(days) * 86_400)) }

        var duration: Duration? {
            if case .duration(let duration) = rule { return duration }
            return nil
        }

        func check() throws(StorageError) {
            guard let duration, duration < .zero else { return }
            throw .invalid("keepsDeleted is \(duration): it can't be negative, give .never to keep nothing")
        }
    }
}

/// Purges deleted entities whose time is over, a few in each write. Passes over all that are kept follow each other at
/// an interval.
///
/// Where a pass is stays in memory alone: a pass that an end of the process cuts short begins anew with the next
/// process.
final class DeletedPurge: Sendable {
    private struct Position {
        /// Of the type's name in `types`.
        var type = 0
        /// The first row that has not been looked at.
        var row: RowID?
        var passBegins = Date.distantPast
    }

    private static let rowsPerWrite = 1000
    private static let secondsBetweenPasses: TimeInterval = 3600

    private let seconds: TimeInterval
    private let types: [String]
    /// Used by the holder of the write transaction alone.
    private let position = Mutex(Position())

    init(after duration: Duration, models: ModelSet) {
        seconds = TimeInterval(duration.components.seconds) + TimeInterval(duration.components.attoseconds) * 1e-18
        types = models.descriptions.map(\.name).filter { EntityDescription.isTombstone($0) }.sorted()
    }

    /// Goes on with the pass, if it is time, in a write that has changed something.
    func run(in core: StoreTransaction, now: Date = .now) throws {
        try position.withLock { position in
            guard now >= position.passBegins, try core.hasChanged() else { return }
            let end = now.timeIntervalSinceReferenceDate - seconds
            var left = Self.rowsPerWrite
            while left > 0, position.type < types.count {
                position.row = try core.store(types[position.type]).purge(before: end, from: position.row, looks: &left)
                if position.row == nil { position.type += 1 }
            }
            if position.type == types.count {
                position = Position(passBegins: now.addingTimeInterval(Self.secondsBetweenPasses))
            }
        }
    }
}
