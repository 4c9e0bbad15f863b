// SPDX-License-Identifier: Apache-2.0
// The time for which a database keeps deleted entities, and the purge at its end.

import FoundationEssentials
import HornbeamPages
import Synchronization

extension Database {
    /// The time for which deleted entities are kept, each as a `Deleted` of its type.
    public struct DeletedRetention: Sendable, Equatable {
        private enum Rule: Equatable {
            case never
            case forever
            case duration(Duration)
        }

        private let rule: Rule

        /// Keeps no deleted entities, except for types with `keepsDeleted`.
        public static let never = Self(rule: .never)

        /// Keeps deleted entities until the program purges them.
        public static let forever = Self(rule: .forever)

        /// Keeps deleted entities for a time. Later writes purge them, including those of types with `keepsDeleted`. A
        /// pass over all kept entities begins after opening, and again when the oldest one is due, but at most once an
        /// hour. In a pass each write that changes something examines 1,000 of them.
        public static func duration(_ duration: Duration) -> Self { Self(rule: .duration(duration)) }

        /// Keeps deleted entities for this number of days of 24 hours. See `duration(_:)`.
        public static func days(_ days: Int) -> Self {
            let (seconds, overflow) = Int64(days).multipliedReportingOverflow(by: 86_400)
            return .duration(.seconds(overflow ? (days < 0 ? Int64.min : Int64.max) : seconds))
        }

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

/// Purges deleted entities whose time is over, some in each write, in passes over all kept ones.
///
/// The position of a pass is only in memory: if the process ends, the next one begins a new pass.
final class DeletedPurge: Sendable {
    struct Position: Sendable {
        /// Index in `types`.
        fileprivate var type = 0
        /// The first row that has not been examined.
        fileprivate var row: RowID?
        fileprivate var passBegins = Date.distantPast
        /// The time of the last save of the oldest row that stays, in seconds since the reference date.
        fileprivate var oldest = TimeInterval.infinity
    }

    private static let rowsPerWrite = 1000
    private static let secondsBetweenPasses: TimeInterval = 3600

    private let seconds: TimeInterval
    private let types: [String]
    /// Used only by the holder of the write transaction.
    private let position = Mutex(Position())

    init(after duration: Duration, models: ModelSet) {
        seconds = duration / .seconds(1)
        types = models.descriptions.map(\.name).filter { EntityDescription.isTombstone($0) }.sorted()
    }

    /// Continues the pass, if it is time, in a write that has changed something. Returns the position to pass to
    /// `proceed` once the write is committed, or nil if nothing was read.
    func run(in core: StoreTransaction, now: Date = .now) throws -> Position? {
        var position = position.withLock { $0 }
        guard now >= position.passBegins, try core.hasChanged() else { return nil }
        let end = now.timeIntervalSinceReferenceDate - seconds
        var left = Self.rowsPerWrite
        while left > 0, position.type < types.count {
            let found = try core.store(types[position.type])
                .purge(before: end, from: position.row, looks: &left)
            position.row = found.next
            position.oldest = min(position.oldest, found.oldest)
            if found.next == nil { position.type += 1 }
        }
        if position.type == types.count {
            // Entities that are deleted from now on are due later than those that are kept already.
            let due = Date(timeIntervalSinceReferenceDate: min(position.oldest, end + seconds) + seconds)
            position = Position(passBegins: max(due, now.addingTimeInterval(Self.secondsBetweenPasses)))
        }
        return position
    }

    func proceed(to position: Position) { self.position.withLock { $0 = position } }
}
