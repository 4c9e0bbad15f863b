// SPDX-License-Identifier: Apache-2.0
// A count that many threads change at the same time. A single word would send its cache line from processor to
// processor: threads that only read would wait for each other there. So each thread counts in a line of its own, and a
// thread that needs the count adds the lines up.
//
//   holder                                  a thread that waits for holders to go
//   1 adds one to its stripe                1 stores the mark: no holder counts from here on
//   2 looks for the mark: there isn't one,  2 adds up all stripes: if the sum is 0 there is none,
//     or it takes the one away again          otherwise there may be one
//
// No holder is missed. A holder is counted in one stripe: it leaves in the stripe that it entered, whatever thread it
// is in by then. All four steps are sequentially consistent, so they have one order (Dekker's algorithm). If the
// holder's look (2) came before the mark, its count (1) came before that too, and so before each load of the sum,
// including the load of its stripe: that load sees the count unless the holder has left. So the sum is never less than
// the number of holders that were there before the mark and stay until the sum is done. It may be more, because of
// threads that are about to take their one away again; that only makes a thread wait longer.

public import CHornbeamShims
public import Synchronization

/// The stripes of threads: each thread has one of `count` lines of memory. If there are more threads than lines, some
/// share one.
@usableFromInline
package enum Stripes {
    /// Distance between stripes: two cache lines, because the processor fetches them in pairs.
    @inlinable package static var distance: Int { 128 }

    /// Number of stripes, a power of two.
    package static var count: Int { Int(hbs_stripe_count()) }

    /// The calling thread's stripe.
    @inlinable @inline(__always)
    package static var mine: Int { Int(hbs_stripe()) }
}

/// The count. A value like a pointer: its owner deallocates it when no thread may enter it any more.
@usableFromInline
package struct StripedCount: @unchecked Sendable {
    // Sendable: a constant address of atomic words.

    /// The stripe in which a holder is counted.
    @usableFromInline
    package struct Stripe: @unchecked Sendable {
        // Sendable: a constant address of an atomic word.
        @usableFromInline let count: UnsafeMutablePointer<Atomic<Int>>

        @inlinable @inline(__always)
        init(_ count: UnsafeMutablePointer<Atomic<Int>>) { self.count = count }

        @inlinable @inline(__always)
        package func enter() { count.pointee.add(1, ordering: .sequentiallyConsistent) }

        /// Releasing, so that the holder's work happened before others see that it has left.
        @inlinable @inline(__always)
        package func leave() { count.pointee.subtract(1, ordering: .releasing) }
    }

    /// The first stripe's word. Each word is in the middle of its stripe, so that its cache line has no other memory,
    /// however the whole is aligned.
    @usableFromInline let first: UnsafeMutableRawPointer

    /// The memory of a deallocated count, or 0. Kept because each commit makes one count and releases another.
    private static let spare = Atomic<UInt>(0)

    /// A count of zero.
    package init() {
        let memory =
            UnsafeMutableRawPointer(bitPattern: Self.spare.exchange(0, ordering: .acquiring))
            ?? .allocate(byteCount: Stripes.count * Stripes.distance, alignment: 8)
        first = memory + Stripes.distance / 2
        for index in 0..<Stripes.count {
            (first + index * Stripes.distance).initializeMemory(as: Atomic<Int>.self, to: Atomic(0))
        }
    }

    package func deallocate() {
        let memory = first - Stripes.distance / 2
        let former = Self.spare.exchange(UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
        UnsafeMutableRawPointer(bitPattern: former)?.deallocate()
    }

    /// The count with this address.
    @inlinable @inline(__always)
    package init(at address: UnsafeMutableRawPointer) { first = address }

    package var address: UnsafeMutableRawPointer { first }

    @inlinable @inline(__always)
    package subscript(index: Int) -> Stripe {
        Stripe((first + index &* Stripes.distance).assumingMemoryBound(to: Atomic<Int>.self))
    }

    /// The calling thread's stripe.
    @inlinable @inline(__always)
    package var mine: Stripe { self[Stripes.mine] }

    /// Number of holders in all stripes.
    package var total: Int {
        var sum = 0
        for index in 0..<Stripes.count { sum &+= self[index].count.pointee.load(ordering: .sequentiallyConsistent) }
        return sum
    }
}
