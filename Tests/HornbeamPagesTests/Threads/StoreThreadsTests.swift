// SPDX-License-Identifier: Apache-2.0
// The process's threads for its stores: never more than allowed, and in the end each store gets one.

import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("Threads for stores")
struct StoreThreadsTests {
    /// Records how many stores are served at the same time.
    private final class Figures: Sendable {
        private let counts = Mutex((now: 0, most: 0, served: [Int]()))

        func serve(_ number: Int, microseconds: UInt32) {
            counts.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
                $0.served.append(number)
            }
            usleep(microseconds)
            counts.withLock { $0.now -= 1 }
        }

        var most: Int { counts.withLock { $0.most } }
        var served: [Int] { counts.withLock { $0.served } }
    }

    private final class Work: StoreWork {
        private let figures: Figures
        private let number: Int
        private let microseconds: UInt32

        init(_ figures: Figures, _ number: Int, microseconds: UInt32) {
            self.figures = figures
            self.number = number
            self.microseconds = microseconds
        }

        func serve() { figures.serve(number, microseconds: microseconds) }
    }

    @Test("are few, and serve each store once")
    func few() {
        let threads = StoreThreads(most: 3)
        let figures = Figures()
        for number in 0..<50 {
            let answer = threads.take(Work(figures, number, microseconds: 2000))
            #expect(answer != .noThread)
        }
        eventually("some wait for ever") { figures.served.count == 50 }
        #expect(figures.most <= 3 && figures.served.sorted() == Array(0..<50))
        #expect(!threads.isAnyWaiting)
        // The threads have ended or are ending: there is one for the next store.
        #expect(threads.take(Work(figures, 50, microseconds: 0)) != .noThread)
        eventually("the last waits for ever") { figures.served.count == 51 }
    }

    @Test("don't serve stores that wait no longer")
    func removed() {
        let threads = StoreThreads(most: 1)
        let figures = Figures()
        #expect(threads.take(Work(figures, 0, microseconds: 50_000)) == .begun)
        let works = (1...4).map { Work(figures, $0, microseconds: 0) }
        for work in works { #expect(threads.take(work) == .waits) }
        #expect(threads.isAnyWaiting)
        threads.remove(works[0])
        threads.remove(works[2])
        eventually("some wait for ever") { figures.served.count == 3 }
        usleep(10_000)
        #expect(figures.served == [0, 2, 4])
    }

    @Test("of more stores than threads checkpoint all of them, and can be ended while they wait")
    func manyStores() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = StoreOptions.withLargeRing
        options.idleMilliseconds = 20
        let stores = try (0..<80).map { (number) in
            let store = try PageStore.open(
                path: folder.path("\(number).toy"), options: options, structure: Toy.structure, replay: Toy.replay)
            store.worker.uselessMilliseconds = 60_000
            try Toy.commit(ToyChange(cell: 1, value: UInt64(number)), to: store)
            return store
        }
        for store in stores.suffix(20) { try store.close() }
        let open = stores.dropLast(20)
        eventually("a store was not checkpointed") { open.allSatisfy { $0.statistics.journalBytes == 0 } }
        for (number, store) in open.enumerated() {
            try Toy.commit(ToyChange(cell: 2, value: 7), to: store)
            #expect(try Toy.cells(of: store)[1].value == UInt64(number))
            try store.close()
        }
    }
}
