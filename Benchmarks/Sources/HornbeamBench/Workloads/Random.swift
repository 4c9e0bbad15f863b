// SPDX-License-Identifier: Apache-2.0
// A store that was loaded in random order, read and changed at random.

import BenchHarness
import Synchronization

func randomScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .random, valueSize: 100, seed: run.seed)
    let all = Array(0..<run.count)
    var random = SplitMix(state: run.seed &+ 1)
    let order = all.map { _ in Int.random(in: 0..<run.count, using: &random) }
    let store = try run.open()
    try withSession(of: store) { session in
        try run.change("load-rand", run.count) { latencies in
            try inBatches(all, of: 1_000) { batch in try latencies.time { try session.put(entries, batch) } }
        }
        try readings(run, entries, order, session)
        try twoThreads(run, entries, order, store)
        try changes(run, entries, order, session)
        try commits(run, entries, order, session, store)
        try mixed(run, entries, order, store)
    }
    let first = try store.session().get(entries, order.prefix(1))
    try store.close()
    try openings(run, entries, order, first)
}

private func readings(_ run: Run, _ entries: Entries, _ order: [Int], _ session: any Session) throws {
    run.awaitRest()
    // Reads everything once, so that every engine begins warm.
    let sum = entries.sum(order[...])
    try expect(session.get(entries, order[...]), sum)
    try run.look("get-rand", order.count) { _ in try expect(session.get(entries, order[...]), sum) }
    try run.look("get-txn", order.count) { _ in try expect(session.getEach(entries, order[...]), sum) }
    if try run.has(.getMany) {
        try run.look("get-many", order.count) { _ in try expect(session.getMany(entries, order[...], batch: 64), sum) }
    }
    let starts = order.prefix(max(1, run.count / 20))
    try run.look("scan-100", starts.count) { _ in
        let bytes = try session.scan(entries, from: starts, length: 100)
        // Only scans that begin near the last key find less.
        let most = starts.count * min(100, run.count) * (entries.keySize + entries.valueSize)
        guard bytes <= most, bytes > most / 2 else { throw BenchError("scans read \(bytes) of \(most) bytes") }
    }
}

private func twoThreads(_ run: Run, _ entries: Entries, _ order: [Int], _ store: any Engine) throws {
    let sum = entries.sum(order[...])
    try run.look("get-2t", 2 * order.count) { _ in
        try run.onThreads(2) { _ in try expect(store.session().get(entries, order[...]), sum) }
    }
}

private func changes(_ run: Run, _ entries: Entries, _ order: [Int], _ session: any Session) throws {
    let share = max(1, run.count / 4)
    let changed = entries.edition(1)
    try run.change("update-rand", share) { latencies in
        try inBatches(Array(order.prefix(share)), of: 1_000) { batch in
            try latencies.time { try session.put(changed, batch) }
        }
    }
    // Each entry once, because a deleted entry can't be deleted again. The numbers of entries are in random key
    // order.
    let victims = Array(run.count / 2..<run.count / 2 + share)
    try run.change("delete-rand", share) { latencies in
        try inBatches(victims, of: 1_000) { batch in try latencies.time { try session.delete(entries, batch) } }
    }
    try expect(session.scan(isReverse: false), entries.bytes - share * (entries.keySize + entries.valueSize))
    try run.change("reinsert-rand", share) { latencies in
        try inBatches(victims, of: 1_000) { batch in try latencies.time { try session.put(entries, batch) } }
    }
    try expect(session.scan(isReverse: false), entries.bytes)
}

private func commits(
    _ run: Run, _ entries: Entries, _ order: [Int], _ session: any Session, _ store: any Engine
) throws {
    let rounds = min(2_000, run.count)
    try run.look("commit", rounds) { latencies in
        let changed = entries.edition(2)
        for place in 0..<rounds { try latencies.time { try session.put(changed, order[place...place]) } }
    }
    let threads = 8
    try run.look("commit-8t", rounds) { latencies in
        let changed = entries.edition(3)
        let sum = Mutex(Latencies())
        try run.onThreads(threads) { thread in
            let session = try store.session()
            var mine = Latencies()
            for place in stride(from: thread, to: rounds, by: threads) {
                try mine.time { try session.put(changed, order[place...place]) }
            }
            sum.withLock { $0.add(mine) }
        }
        latencies.add(sum.withLock { $0 })
    }
    let bare = try BareFile(path: run.folder + "/bare")
    try run.beside("commit-disk", rounds: rounds) { round in
        try session.put(entries.edition(4), order[round...round])
    } _: { _ in
        try bare.writeThrough()
    }
}

/// Runs a reader beside a writer, as long as the writer needs for its part.
private func mixed(_ run: Run, _ entries: Entries, _ order: [Int], _ store: any Engine) throws {
    guard run.wants("mixed-read") || run.wants("mixed-write") else { return }
    let batches = max(1, min(500, run.count / 1_000))
    let chunks = stride(from: 0, to: order.count, by: 1_000).map { order[$0..<min($0 + 1_000, order.count)] }
    let changed = entries.edition(5)
    let isWriting = Atomic(true)
    let reads = Atomic(0)
    let writing = Atomic<UInt64>(0)
    try run.onThreads(2) { thread in
        let session = try store.session()
        guard thread == 0 else {
            var place = 0
            while isWriting.load(ordering: .relaxed) {
                _ = try session.get(entries, chunks[place])
                reads.add(chunks[place].count, ordering: .relaxed)
                place = (place + 1) % chunks.count
            }
            return
        }
        defer { isWriting.store(false, ordering: .relaxed) }
        let start = nanoseconds()
        for batch in 0..<batches {
            let first = batch * 100 % max(1, order.count - 100)
            try session.put(changed, order[first..<min(first + 100, order.count)])
        }
        writing.store(nanoseconds() - start, ordering: .relaxed)
    }
    let seconds = Double(writing.load(ordering: .relaxed)) * 1e-9
    try run.tell("mixed-read", operations: reads.load(ordering: .relaxed), seconds: seconds)
    try run.tell("mixed-write", operations: batches * 100, seconds: seconds)
}

/// `first` is the expected result of reading the first entry.
private func openings(_ run: Run, _ entries: Entries, _ order: [Int], _ first: Int) throws {
    let rounds = 20
    let opening = {
        let store = try run.open()
        try withSession(of: store) { try expect($0.get(entries, order.prefix(1)), first) }
        return store
    }
    try run.look("open-warm", rounds) { latencies in
        for _ in 0..<rounds {
            var store: (any Engine)?
            try latencies.time { store = try opening() }
            try store?.close()
        }
    }
    guard run.wants("open-cold"), Machine.dropCaches() else { return }
    var latencies = Latencies()
    for _ in 0..<5 {
        _ = Machine.dropCaches()
        var store: (any Engine)?
        try latencies.time { store = try opening() }
        try store?.close()
    }
    try run.tell("open-cold", latencies)
}

func processScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .random, valueSize: 100, seed: run.seed)
    let all = Array(0..<run.count)
    let store = try run.open(StoreSettings(durability: .process))
    try withSession(of: store) { session in
        try session.put(entries, all[...])
        let rounds = min(50_000, run.count)
        try run.look("commit-process", rounds) { latencies in
            let changed = entries.edition(1)
            for place in 0..<rounds { try latencies.time { try session.put(changed, all[place...place]) } }
        }
    }
    try store.close()
}

func integerScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .integer, valueSize: 100, seed: run.seed)
    let all = Array(0..<run.count)
    var random = SplitMix(state: run.seed &+ 1)
    let order = all.map { _ in Int.random(in: 0..<run.count, using: &random) }
    let store = try run.open()
    try withSession(of: store) { session in
        try run.change("load-int", run.count) { _ in try inBatches(all, of: 1_000) { try session.put(entries, $0) } }
        let sum = entries.sum(order[...])
        try expect(session.get(entries, order[...]), sum)
        try run.look("get-int", order.count) { _ in try expect(session.get(entries, order[...]), sum) }
    }
    try store.close()
}
