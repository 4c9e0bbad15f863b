// SPDX-License-Identifier: Apache-2.0
// The order of turns when one thread takes the turn repeatedly and lets others go first.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("The writer's turn")
struct WriterTurnTests {
    /// The two ways that let others go first.
    private static let yielding: [@Sendable (WriterTurn) -> Void] = [
        { _ = $0.takeBehindOthers() }, { #expect($0.takeInThread() == true) },
    ]

    @Test(
        "a thread that lets others go first follows all threads that wait, and needn't wait for later ones",
        arguments: yielding.indices)
    func behindOthers(way: Int) {
        for count in 0..<24 {
            let turn = WriterTurn()
            let order = Mutex<[Int]>([])
            let group = DispatchGroup()
            _ = turn.take()
            for number in 0..<count {
                Thread.detachNewThread(in: group) {
                    _ = turn.take()
                    order.withLock { $0.append(number) }
                    turn.give()
                }
            }
            wait { turn.waitingCount == count }
            Thread.detachNewThread(in: group) {
                Self.yielding[way](turn)
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

    @Test("threads that ask again and again don't keep it from its turn", arguments: yielding.indices)
    func busy(way: Int) {
        let turn = WriterTurn()
        let isDone = Atomic(false)
        let group = DispatchGroup()
        for _ in 0..<4 {
            Thread.detachNewThread(in: group) {
                while !isDone.load(ordering: .relaxed) {
                    _ = turn.take()
                    turn.give()
                }
            }
        }
        for _ in 0..<200 {
            Self.yielding[way](turn)
            turn.give()
        }
        isDone.store(true, ordering: .relaxed)
        group.wait()
    }

    @Test("the store's thread waits no longer than it says, and not at all once it has to end")
    func inThread() {
        let turn = WriterTurn()
        _ = turn.take()
        #expect(turn.takeInThread(waiting: 5) == nil)
        turn.endThread()
        #expect(turn.takeInThread(waiting: 60_000) == false && turn.takeInThread() == false)
        turn.give()
        #expect(turn.takeInThread() == false)
        _ = turn.take()
    }

    @Test("its holder, and a thread that works for the holder, don't wait for it, and don't get it twice")
    func mine() {
        let turn = WriterTurn()
        #expect(turn.take() && !turn.take() && !turn.takeBehindOthers())
        let group = DispatchGroup()
        Thread.detachNewThread(in: group) {
            turn.helping { #expect(!turn.take() && !turn.takeBehindOthers() && turn.isMine) }
        }
        group.wait()
        turn.give()
        #expect(!turn.isMine && turn.takeBehindOthers() && turn.isMine)
        turn.give()
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
