// SPDX-License-Identifier: Apache-2.0
// A count whose holders come and go in many threads, and which misses none of them.

import Foundation
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A striped count")
struct StripedCountTests {
    private let count = StripedCount()

    /// Runs `body` in `threads` threads, with the number of each, and waits for all of them.
    private func inThreads(_ threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let group = DispatchGroup()
        for number in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                body(number)
                group.leave()
            }
        }
        group.wait()
    }

    @Test("has a power of two of stripes, and each thread keeps one of them")
    func stripes() {
        #expect(2...64 ~= Stripes.count && Stripes.count.nonzeroBitCount == 1)
        #expect(Stripes.count == 64 || Stripes.count >= ProcessInfo.processInfo.activeProcessorCount)
        let seen = Mutex<Set<Int>>([])
        inThreads(4 * Stripes.count) { _ in
            let mine = Stripes.mine
            #expect(0..<Stripes.count ~= mine && (0..<100).allSatisfy { _ in Stripes.mine == mine })
            seen.withLock { _ = $0.insert(mine) }
        }
        // (Threads of other tests take some of them meanwhile.)
        #expect(seen.withLock { $0.count } > 1)
        count.deallocate()
    }

    @Test("counts holders that entered in any thread, until they have left in any other one")
    func elsewhere() {
        let count = count
        let entered = Mutex<[StripedCount.Stripe]>([])
        inThreads(100) { _ in
            let stripe = count.mine
            stripe.enter()
            entered.withLock { $0.append(stripe) }
        }
        #expect(count.total == 100)
        inThreads(70) { _ in entered.withLock { $0.removeLast() }.leave() }
        #expect(count.total == 30)
        for stripe in entered.withLock({ $0 }) { stripe.leave() }
        #expect(count.total == 0)
        count.deallocate()
    }

    @Test("is never less than the number of staying holders, while others come and go in other threads")
    func never() {
        let count = count
        for index in 0..<10 { count[index % Stripes.count].enter() }
        let isOver = Atomic<Bool>(false)
        let handedOver = Mutex<[StripedCount.Stripe]>([])
        inThreads(5) { number in
            if number == 0 {
                for _ in 0..<20_000 { #expect(count.total >= 10) }
                isOver.store(true, ordering: .relaxed)
            }
            while !isOver.load(ordering: .relaxed) {
                let stripe = count.mine
                stripe.enter()
                let other = handedOver.withLock { (stripes) in
                    stripes.append(stripe)
                    return stripes.count > 8 ? stripes.removeFirst() : nil
                }
                other?.leave()
            }
        }
        for stripe in handedOver.withLock({ $0 }) { stripe.leave() }
        #expect(count.total == 10)
        count.deallocate()
    }

    @Test("shows each holder that looked before the mark to a thread that sets it and adds up")
    func mark() {
        let count = count
        let mark = Atomic<Bool>(false)
        // The number of counted holders inside. Only these and threads that found no holder read it.
        let inside = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let alone = Atomic<Int>(0)
        let entered = Atomic<Int>(0)
        inThreads(3) { number in
            if number == 0 {
                let end = ContinuousClock.now + .seconds(1)
                while ContinuousClock.now < end {
                    mark.store(true, ordering: .sequentiallyConsistent)
                    if count.total == 0 {
                        #expect(inside.load(ordering: .relaxed) == 0)
                        alone.add(1, ordering: .relaxed)
                        #expect(inside.load(ordering: .relaxed) == 0)
                    }
                    mark.store(false, ordering: .sequentiallyConsistent)
                }
                isOver.store(true, ordering: .relaxed)
            }
            while !isOver.load(ordering: .relaxed) {
                let stripe = count.mine
                stripe.enter()
                if !mark.load(ordering: .sequentiallyConsistent) {
                    inside.add(1, ordering: .relaxed)
                    entered.add(1, ordering: .relaxed)
                    inside.subtract(1, ordering: .relaxed)
                }
                stripe.leave()
            }
        }
        #expect(alone.load(ordering: .relaxed) > 0 && entered.load(ordering: .relaxed) > 0)
        #expect(count.total == 0)
        count.deallocate()
    }
}
