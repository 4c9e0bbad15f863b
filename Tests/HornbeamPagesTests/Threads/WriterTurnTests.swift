// SPDX-License-Identifier: Apache-2.0
// Whose turn it is, where one takes it again and again and lets others go first.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("The writer's turn")
struct WriterTurnTests {
    @Test("whoever lets others go first comes behind all who wait, and need not wait for those who come later")
    func behindOthers() {
        for count in 0..<24 {
            let turn = WriterTurn()
            let order = Mutex<[Int]>([])
            let group = DispatchGroup()
            turn.take()
            for number in 0..<count {
                Thread.detachNewThread(in: group) {
                    turn.take()
                    order.withLock { $0.append(number) }
                    turn.give()
                }
            }
            wait { turn.waitingCount == count }
            Thread.detachNewThread(in: group) {
                turn.takeBehindOthers()
                order.withLock { $0.append(-1) }
                turn.give()
            }
            wait { turn.yieldingCount == 1 }
            turn.give()
            group.wait()
            #expect(order.withLock { $0 }.last == -1, "\(count)")
            #expect(order.withLock { $0 }.sorted() == [Int](-1..<count))
        }
    }

    @Test("those who ask without end don't keep it from its turn")
    func busy() {
        let turn = WriterTurn()
        let isDone = Atomic(false)
        let group = DispatchGroup()
        for _ in 0..<4 {
            Thread.detachNewThread(in: group) {
                while !isDone.load(ordering: .relaxed) {
                    turn.take()
                    turn.give()
                }
            }
        }
        for _ in 0..<200 {
            turn.takeBehindOthers()
            turn.give()
        }
        isDone.store(true, ordering: .relaxed)
        group.wait()
    }

    private func wait(_ condition: () -> Bool) {
        while !condition() { usleep(50) }
    }
}

extension Thread {
    fileprivate static func detachNewThread(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
