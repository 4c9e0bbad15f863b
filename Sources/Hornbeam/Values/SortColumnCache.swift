// SPDX-License-Identifier: Apache-2.0
// Key paths that a sort has gone by before, found by which object they are: a literal is one and the same for as long
// as the process runs, and `\.score.desc` takes 3,000 instructions by its hash and by what its type can do.

import Synchronization

/// The columns of the first few key paths that one entity type was sorted by. Any thread.
package final class SortColumnCache: Sendable {
    /// Keeps its key path for good, so that no other one can come to lie where it was.
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
    /// Filled from the first one on.
    private let entries = InlineArray<8, AtomicLazyReference<Entry>> { _ in AtomicLazyReference() }

    package init() {}

    package func place(of keyPath: AnyKeyPath) -> ColumnPlace? {
        for index in 0..<Self.capacity {
            guard let entry = entries[index].load() else { return nil }
            if entry.keyPath === keyPath { return entry.place }
        }
        return nil
    }

    /// Without effect if it is there, or once all places are taken: the others are looked up as ever.
    package func insert(_ keyPath: AnyKeyPath, _ place: ColumnPlace) {
        var made: Entry?
        for index in 0..<Self.capacity {
            if let known = entries[index].load() {
                if known.keyPath === keyPath { return }
                continue
            }
            let entry = made ?? Entry(keyPath, place)
            made = entry
            // Another thread may have been faster, with the same one or another.
            if entries[index].storeIfNil(entry).keyPath === keyPath { return }
        }
    }
}

/// A column as a key path names it.
package struct ColumnPlace {
    package let number: Int
    package let descending: Bool

    package init(number: Int, descending: Bool) {
        self.number = number
        self.descending = descending
    }
}
