// SPDX-License-Identifier: Apache-2.0
// A random but repeatable life of a store: commits of every durability, large ones, aborts, checkpoints, snapshots
// held for a while. It keeps the history, with which a recovered store is compared.

import HornbeamPages
import HornbeamTestSupport
import Testing

/// Runs steps on a store and remembers the acknowledged ones.
struct ToyScript {
    /// `history[k]` are the cells after k commits, and `numbers[k]` is the newest transaction at that point.
    private(set) var history: [[ToyCell]] = [[ToyCell](repeating: ToyCell(), count: Toy.cells)]
    private var numbers: [UInt64] = [0]
    /// The cells that the last commit would leave, if its outcome is unknown.
    private(set) var candidate: [ToyCell]?
    /// Number of commits that must survive a power failure; `written` is that of commits that must survive the
    /// process's end.
    private(set) var durable = 0
    private(set) var written = 0
    /// Errors seen, in order.
    private(set) var errors: [StorageError] = []

    private var generator: SeededGenerator
    private var held: [(view: PageView, cells: [ToyCell])] = []

    /// Maximum number of sectors of a long value.
    private let longest: UInt32

    init(seed: UInt64, longest: UInt32 = 6) {
        generator = SeededGenerator(seed: seed)
        self.longest = longest
    }

    var committed: Int { history.count - 1 }

    /// Runs `count` steps; continues after errors unless `stopsAtError`.
    mutating func run(_ count: Int, on store: PageStore, stopsAtError: Bool = true) throws {
        for _ in 0..<count {
            do {
                try step(store)
            } catch let error as StorageError {
                errors.append(error)
                if stopsAtError { break }
            }
        }
        for snapshot in held { try check(snapshot, store) }
        held.removeAll()
    }

    private mutating func step(_ store: PageStore) throws {
        let change = ToyChange(
            cell: Int.random(in: 0..<Toy.cells, using: &generator), value: UInt64(committed + 1),
            longSectors: Bool.random(using: &generator) ? 0 : UInt32.random(in: 1...longest, using: &generator),
            padding: [0, 100, 9000, 90_000].randomElement(using: &generator) ?? 0)
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<7: try commit(change, store, .full)
        case 7..<10: try commit(change, store, .process)
        case 10..<13: try commit(change, store, .none)
        case 13: try commit(change, store, .full, large: true)
        case 14:
            let writer = try store.beginWrite()
            defer { writer.abort() }
            try Toy.apply(change, writer)
        case 15:
            try store.checkpoint()
            durable = committed
        case 16, 17:
            let view = try store.beginRead()
            held.append((view, history[committed]))
        default:
            if !held.isEmpty { try check(held.remove(at: 0), store) }
        }
    }

    private func check(_ snapshot: (view: PageView, cells: [ToyCell]), _ store: PageStore) throws {
        #expect(try Toy.read(snapshot.view).cells == snapshot.cells)
        store.endRead(snapshot.view)
    }

    private mutating func commit(
        _ change: ToyChange, _ store: PageStore, _ durability: Durability, large: Bool = false
    ) throws {
        var next = history[committed]
        next[change.cell] = ToyCell(value: change.value, longSectors: change.longSectors)
        do {
            try Toy.commit(change, to: store, durability, large: large)
        } catch {
            // Only `.failed` leaves the outcome open; any other error means that the change was not made.
            if case .failed = error, candidate == nil { candidate = next }
            #expect(try Toy.cells(of: store) == history[committed])
            throw error
        }
        history.append(next)
        numbers.append(store.statistics.transaction)
        if large || durability == .full { durable = committed }
        if large || durability != .none { written = committed }
    }

    /// Checks a reopened store: it must have a prefix of the history with at least the first `atLeast` commits.
    func expectPrefix(
        _ store: PageStore, atLeast: Int, _ comment: String, _ place: SourceLocation = #_sourceLocation
    ) throws {
        let number = store.statistics.transaction
        let all = history + (candidate.map { [$0] } ?? [])
        let isLater = candidate != nil && number > numbers[committed]
        guard let commits = isLater ? history.count : numbers.firstIndex(of: number) else {
            Issue.record("transaction \(number) was never committed: \(comment)", sourceLocation: place)
            return
        }
        #expect(commits >= atLeast, "\(comment)", sourceLocation: place)
        #expect(try Toy.cells(of: store) == all[commits], "\(comment)", sourceLocation: place)
        try Toy.expectSound(store, place)
    }
}
