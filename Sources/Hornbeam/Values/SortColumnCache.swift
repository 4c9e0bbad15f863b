// SPDX-License-Identifier: Apache-2.0
// Caches the columns of key paths in sorts, by the identity of the key path: a literal is one object for as long as the
// process runs, and looking up `\.score.desc` by its hash and its type takes 3,000 instructions.

import Synchronization

/// The columns of the first few key paths that one entity type was sorted by. Any thread.
package final class SortColumnCache: Sendable {
    /// Retains its key path for good, so that no other one can get its address.
    ///
    /// `@unchecked Sendable`: key paths of sorts are `Sendable`, which their common type doesn't say.
    private final class Entry: @unchecked Sendable {
        let keyPath: AnyKeyPath
        let place: ColumnPlace

        init(_ keyPath: AnyKeyPath, _ place: ColumnPlace) {
            self.keyPath = keyPath
            self.place = place
        }
    }

    private static var capacity: Int { 8 }
    /// Filled from the front.
    private let entries = InlineArray<8, AtomicLazyReference<Entry>> { _ in AtomicLazyReference() }

    package init() {}

    package func place(of keyPath: AnyKeyPath) -> ColumnPlace? {
        for index in 0..<Self.capacity {
            guard let entry = entries[index].load() else { return nil }
            if entry.keyPath === keyPath { return entry.place }
        }
        return nil
    }

    /// Adds a key path. Has no effect if it is there already, or if all slots are taken.
    package func insert(_ keyPath: AnyKeyPath, _ place: ColumnPlace) {
        var made: Entry?
        for index in 0..<Self.capacity {
            if let known = entries[index].load() {
                if known.keyPath === keyPath { return }
                continue
            }
            let entry = made ?? Entry(keyPath, place)
            made = entry
            // Another thread may have filled the slot first, with this key path or another.
            if entries[index].storeIfNil(entry).keyPath === keyPath { return }
        }
    }
}

/// The column and the direction that a key path names.
package struct ColumnPlace {
    package let number: Int
    package let descending: Bool

    package init(number: Int, descending: Bool) {
        self.number = number
        self.descending = descending
    }
}
