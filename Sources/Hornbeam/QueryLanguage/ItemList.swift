// SPDX-License-Identifier: Apache-2.0
// A list behind IN that is the same for all rows. Whether a value is in it takes one look, however long it is: equal
// items have the same key. Texts say dates, UUIDs and data too, so what they say is kept beside them.

import FoundationEssentials
import Synchronization

/// The values behind an IN. A class, because expressions that are copied share it.
final class ItemList: Sendable {
    let items: [Item]
    let hasUnknown: Bool
    /// Made when the first value is looked for: most lists are the planner's to answer.
    private let index = Mutex<Index?>(nil)
    /// Shorter lists are gone through.
    private static let fewest = 8

    init(_ items: [Item]) {
        self.items = items
        hasUnknown = items.contains(where: \.isUnknown)
    }

    /// Whether a value that is known equals one of the items.
    func contains(_ value: Item) -> Bool {
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
        /// The keys of what texts of the list say.
        private var said: Set<[UInt8]> = []
        /// One of each kind in the list that texts may say.
        private var samples: [Item] = []

        private static let kinds: [Item] = [
            .value(.date(0)), .value(.uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))),
            .value(.data(Data())),
        ]

        init(_ items: [Item]) {
            for item in items where !item.isUnknown {
                keys.insert(Item.key([item]))
                if let text = item.text {
                    for kind in Self.kinds {
                        if let read = kind.read(text) { said.insert(Item.key([read])) }
                    }
                }
            }
            samples = Self.kinds.filter { kind in items.contains { $0.kindPrefix == kind.kindPrefix } }
        }

        func contains(_ value: Item) -> Bool {
            if keys.contains(Item.key([value])) { return true }
            if let text = value.text {
                return samples.contains { sample in sample.read(text).map { keys.contains(Item.key([$0])) } ?? false }
            }
            return !said.isEmpty && said.contains(Item.key([value]))
        }
    }
}

extension ItemList: Equatable {
    static func == (left: ItemList, right: ItemList) -> Bool { left === right || left.items == right.items }
}
