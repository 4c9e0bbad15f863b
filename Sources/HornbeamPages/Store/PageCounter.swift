// SPDX-License-Identifier: Apache-2.0
// Counts the pages that a part of a transaction reads. It costs nothing unless pages are counted: during a count the
// view uses verification bits of which none is set, so that each page takes the path of unverified ones. Leaves of
// compressed trees, which no entity type has, come from the cache and aren't counted.

import Synchronization

/// The set of pages that were looked at.
final class PageCounter {
    private(set) var pages: Set<UInt64> = []
    let noBits: UnsafeMutablePointer<Atomic<UInt64>>
    private let words: Int

    /// - Parameter capacity: number of sectors that have a bit.
    init(capacity: UInt64) {
        words = Int(capacity / 64) + 1
        noBits = .allocate(capacity: words)
        for word in 0..<words { (noBits + word).initialize(to: Atomic(0)) }
    }

    deinit {
        noBits.deinitialize(count: words)
        noBits.deallocate()
    }

    func note(_ page: UInt64) { pages.insert(page) }
}

extension PageView {
    /// Returns the number of different pages that `body` looks at. A count within another counts its pages alone: the
    /// outer one doesn't have them.
    package func countingPages(_ body: () throws -> Void) rethrows -> Int {
        let former = (counter: counter, bits: verified)
        let counter = PageCounter(capacity: capacity)
        self.counter = counter
        verified = counter.noBits
        defer {
            self.counter = former.counter
            verified = former.bits
        }
        try body()
        return counter.pages.count
    }
}
