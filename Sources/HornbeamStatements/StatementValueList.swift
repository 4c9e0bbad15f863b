// SPDX-License-Identifier: Apache-2.0
// A list after IN that is the same for all rows. Looking for a value takes a few hashes, however long the list is:
// equal items have the same key. A text also equals the date, the UUID or the data that it spells, so these have keys
// too.

import FoundationEssentials
import Synchronization

/// The values of an IN list. A class, so that copies of an expression share it.
final class StatementValueList: Sendable {
    let items: [StatementValue]
    let hasUnknown: Bool
    /// Made when it is first used: the planner answers most lists without it.
    private let index = Mutex<Index?>(nil)
    /// Shorter lists are searched from front to back.
    private static let fewest = 8

    init(_ items: [StatementValue]) {
        self.items = items
        hasUnknown = items.contains(where: \.isUnknown)
    }

    /// Whether one of the items equals the value.
    /// - Parameter value: neither null nor missing.
    func contains(_ value: StatementValue) -> Bool {
        if items.count < Self.fewest { return items.contains { !$0.isUnknown && value.equals($0) } }
        let index = index.withLock { index in
            let found = index ?? Index(items)
            index = found
            return found
        }
        return index.contains(value)
    }

    private struct Index: Sendable {
        private var keys: Set<[UInt8]> = []
        /// The keys of the dates, UUIDs and data that texts of the list spell.
        private var spelled: Set<[UInt8]> = []
        /// An item of each kind in the list that texts may spell.
        private var samples: [StatementValue] = []

        private static let kinds: [StatementValue] = [
            .value(.date(0)), .value(.uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))),
            .value(.data(Data())),
        ]

        init(_ items: [StatementValue]) {
            for item in items where !item.isUnknown {
                keys.insert(item.key)
                if let text = item.text {
                    for kind in Self.kinds {
                        if let read = kind.read(text) { spelled.insert(read.key) }
                    }
                }
            }
            samples = Self.kinds.filter { kind in items.contains { $0.kindPrefix == kind.kindPrefix } }
        }

        func contains(_ value: StatementValue) -> Bool {
            if keys.contains(value.key) { return true }
            if let text = value.text {
                return samples.contains { sample in sample.read(text).map { keys.contains($0.key) } ?? false }
            }
            return !spelled.isEmpty && spelled.contains(value.key)
        }
    }
}

extension StatementValueList: Equatable {
    static func == (left: StatementValueList, right: StatementValueList) -> Bool {
        left === right || left.items == right.items
    }
}
