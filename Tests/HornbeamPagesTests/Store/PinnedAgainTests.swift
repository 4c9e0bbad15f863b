// SPDX-License-Identifier: Apache-2.0
// Views that have ended and begin again: each pins the state that it sees, like a view that begins for the first time.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A view that begins again")
struct PinnedAgainTests {
    /// Returns a view that has ended; the newest state is the one it saw.
    private func endedView(of store: PageStore) throws -> PageView {
        try Toy.commit(ToyChange(cell: 1, value: 10, longSectors: 3), to: store)
        let view = try store.beginRead()
        store.endRead(view)
        return view
    }

    private func rootBytes(_ view: PageView) throws -> [UInt8] {
        let start = try view.page(view.root.page, birth: view.root.birth, kind: .branch, level: 1)
        // Without the checksum, which is made only when the page is written.
        return Array(Bytes(start: start, count: view.pageSize)[8...])
    }

    @Test("pins the state that it sees, despite later commits and checkpoints")
    func pins() throws {
        for file in try PageStoreTests.files() {
            let store = try Toy.open(file)
            let view = try endedView(of: store)
            #expect(try store.beginRead(again: view))
            let root = try rootBytes(view)
            for value in 11...60 {
                try Toy.commit(ToyChange(cell: 1, value: UInt64(value), longSectors: 3), to: store)
                if value % 20 == 0 { try store.checkpoint() }
            }
            #expect(try rootBytes(view) == root)
            #expect(try Toy.read(view).cells[1] == ToyCell(value: 10, longSectors: 3))
            #expect(view.transaction == 1)
            #expect(store.statistics.olderSnapshots == 1)
            #expect(throws: StorageError.busy("read transactions are open")) { try store.close() }

            store.endRead(view)
            #expect(try !store.beginRead(again: view))
            #expect(view.transaction == 51)
            #expect(try Toy.read(view).cells[1] == ToyCell(value: 60, longSectors: 3))
            try Toy.commit(ToyChange(cell: 2, value: 1), to: store)
            #expect(try Toy.read(view).cells[2] == ToyCell())
            // The newest state but one is pinned, and no older one.
            #expect(store.statistics.olderSnapshots == 1)
            store.endRead(view)
            try Toy.commit(ToyChange(cell: 2, value: 2), to: store)
            #expect(store.statistics.olderSnapshots == 0)
            try Toy.expectSound(store)
            try store.close()
        }
    }

    @Test("sees the newest state after it has seen the one at opening")
    func openedWith() throws {
        for file in try PageStoreTests.files() {
            let store = try Toy.open(file)
            let view = try store.beginRead()
            store.endRead(view)
            #expect(try store.beginRead(again: view))
            store.endRead(view)
            try Toy.commit(ToyChange(cell: 1, value: 10), to: store)
            #expect(try !store.beginRead(again: view))
            #expect(try Toy.read(view).cells[1].value == 10)
            store.endRead(view)
            try store.close()
        }
    }

    @Test("keeps the store from closing while it sees the newest state, and doesn't begin once the store is closed")
    func closing() throws {
        for file in try PageStoreTests.files() {
            let store = try Toy.open(file)
            let view = try endedView(of: store)
            #expect(try store.beginRead(again: view))
            #expect(throws: StorageError.busy("read transactions are open")) { try store.close() }
            store.endRead(view)
            // The failed attempt to close has no effect on the store.
            #expect(try store.beginRead(again: view))
            #expect(try Toy.read(view).cells[1] == ToyCell(value: 10, longSectors: 3))
            store.endRead(view)
            try store.close()
            #expect(throws: StorageError.invalid("the store is closed")) { try store.beginRead(again: view) }
            // The refused view holds nothing open.
            try store.close()
        }
    }

    @Test("sees one whole state, never an older one than before, beside a writer that reuses pages")
    func threads() throws {
        let store = try Toy.open(MemoryFile())
        try Rereading.commit(1, to: store)
        let rereading = Rereading(store)
        // In separate threads: each reader blocks its thread until the end, and there are only as many task threads
        // as processors.
        let readers = (0..<4).map { _ in Thread { rereading.readUntilOver() } }
        for reader in readers { reader.start() }
        for number: UInt64 in 2...4000 { try Rereading.commit(number, to: store) }
        rereading.isOver.store(true, ordering: .relaxed)
        while !readers.allSatisfy(\.isFinished) { usleep(1000) }
        let found = rereading.found.withLock { $0 }
        #expect(found.problems.isEmpty)
        #expect(found.same > 0 && found.others > 0)
        try Rereading.commit(4001, to: store)
        #expect(store.statistics.olderSnapshots == 0)
        // Abandoned pins don't hold back the pages that the commits freed.
        #expect(store.statistics.retiredBytes <= 1 << 20)
        try Toy.expectSound(store)
        try store.close()
    }
}

/// Threads that end and begin their views all the time, while each commit writes its number to two cells. Pages are
/// reused as soon as they are no longer pinned.
private final class Rereading: Sendable {
    let store: PageStore
    let isOver = Atomic<Bool>(false)
    /// The numbers of views that began again on their former state and on another state, and the first problems.
    let found = Mutex((same: 0, others: 0, problems: [String]()))

    init(_ store: PageStore) { self.store = store }

    static func commit(_ number: UInt64, to store: PageStore) throws {
        let writer = try store.beginWrite()
        for cell in 0..<2 { try Toy.apply(ToyChange(cell: cell, value: number, longSectors: 2), writer) }
        try writer.commit(redo: nil, durability: .none)
    }

    func readUntilOver() {
        do {
            let view = try store.beginRead()
            var rounds = 0
            var same = 0
            while !isOver.load(ordering: .relaxed) {
                let last = view.transaction
                store.endRead(view)
                let isSame = try store.beginRead(again: view)
                rounds += 1
                if isSame { same += 1 }
                // Mostly short reads, which often meet a commit as they begin.
                if rounds % 32 == 0 { try look(view, after: last, isSame: isSame) } else { try glance(view) }
            }
            store.endRead(view)
            found.withLock { (found) in
                found.same += same
                found.others += rounds - same
            }
        } catch {
            note("\(error)")
        }
    }

    /// Throws if the root's page now belongs to another transaction.
    private func glance(_ view: PageView) throws {
        _ = try view.page(view.root.page, birth: view.root.birth, kind: .branch, level: 1)
    }

    /// Reads repeatedly: pages that aren't pinned would change meanwhile.
    private func look(_ view: PageView, after last: UInt64, isSame: Bool) throws {
        let number = view.transaction
        if number < last || isSame != (number == last) { note("\(number) after \(last), told \(isSame)") }
        for _ in 0..<3 {
            let cells = try Toy.read(view).cells
            if cells[0].value != number || cells[1].value != number {
                note("\(cells[0].value) and \(cells[1].value) in state \(number)")
            }
        }
    }

    private func note(_ problem: String) {
        found.withLock { if $0.problems.count < 5 { $0.problems.append(problem) } }
    }
}
