// SPDX-License-Identifier: Apache-2.0
// Commits that outrun a checkpoint wait; no others do.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("The pace of commits")
struct CommitPaceTests {
    /// A pace that has seen a checkpoint of 8 MiB take 200 ms, beside the next one, which is as large.
    private func measured(journal: (used: UInt64, capacity: UInt64) = (0, 0)) -> CommitPace {
        let pace = CommitPace()
        pace.begin(bytes: 8 << 20, bound: 16 << 20)
        usleep(200_000)
        pace.end()
        pace.begin(bytes: 8 << 20, bound: 16 << 20, journal: journal)
        return pace
    }

    @Test("is unlimited without a checkpoint, and as long as they make little during one")
    func free() {
        let pace = CommitPace()
        pace.note(newer: .max)
        pace.wait(made: 1 << 40)
        pace.begin(bytes: 100, bound: 1000)
        pace.note(newer: 500)
        pace.wait(made: 400)
        #expect(pace.isUnderWay)
        pace.end()
        pace.note(newer: .max)
        pace.wait(made: 1 << 40)
        #expect(!pace.isUnderWay)
    }

    @Test("is shared by their sizes: each waits its part of the checkpoint's remaining time")
    func shared() {
        let pace = measured()
        pace.note(newer: 12 << 20)
        // A third of the bytes that may still be made: about 60 ms.
        let start = ContinuousClock.now
        pace.wait(made: 2 << 20)
        #expect(ContinuousClock.now - start > .milliseconds(20))
        // After the time is up commits don't wait, although the checkpoint isn't written.
        usleep(200_000)
        pace.wait(made: 2 << 20)
        #expect(pace.isUnderWay)
        pace.end()
    }

    @Test("is shared by the journal's free part, too, if that fills up sooner")
    func journal() {
        let pace = measured(journal: (used: 300, capacity: 400))
        pace.note(newer: 0, journalUse: 375)
        let start = ContinuousClock.now
        pace.wait(made: 2 << 20)
        #expect(ContinuousClock.now - start > .milliseconds(20))
        pace.end()
    }

    @Test("is unlimited once the checkpoint is written, whichever thread has the turn that ends it")
    func written() throws {
        let store = try Toy.open(SimulatedDisk())
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store)
        _ = store.turn.take()
        let run = try #require(try store.beginCheckpoint())
        store.turn.give()
        let write = try store.beginWrite()
        run.write(to: store)
        // Any amount beyond the bound.
        store.side.pace.note(newer: 1 << 40)
        store.side.pace.wait(made: 1 << 30)
        write.abort()
        try store.checkpoint()
        try Toy.expectSound(store)
    }

    @Test("is that of the checkpoint once they have reached their share")
    func bound() {
        let pace = CommitPace()
        let hasBegun = Atomic(false)
        let hasWaited = Atomic(false)
        pace.begin(bytes: 100, bound: 1000)
        pace.note(newer: 1200)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            hasBegun.store(true, ordering: .sequentiallyConsistent)
            pace.wait(made: 10)
            hasWaited.store(true, ordering: .sequentiallyConsistent)
        }
        while !hasBegun.load(ordering: .sequentiallyConsistent) { usleep(100) }
        usleep(100_000)
        let early = hasWaited.load(ordering: .sequentiallyConsistent)
        #expect(!early)
        pace.end()
        group.wait()
    }
}
