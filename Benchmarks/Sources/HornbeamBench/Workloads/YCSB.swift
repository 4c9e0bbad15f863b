// SPDX-License-Identifier: Apache-2.0
// The core workloads of the Yahoo! Cloud Serving Benchmark (Cooper et al., 2010): records of 1 KB, each operation a
// transaction of its own, values copied out.

import BenchHarness

func ycsbScenario(_ run: Run, durability: Durability) throws {
    let operations = max(100, run.count / (durability == .full ? 50 : 4))
    // Workloads D and E insert.
    let entries = Entries(count: run.count + 2 * operations, keys: .random, valueSize: 1_000, seed: run.seed)
    let store = try run.open(StoreSettings(durability: durability, hasLongValues: true))
    try withSession(of: store) { session in
        let all = Array(0..<run.count)
        try run.change("ycsb-load", run.count) { _ in try inBatches(all, of: 1_000) { try session.put(entries, $0) } }
        run.awaitRest()
        var mix = YCSB(entries: entries, session: session, count: run.count, seed: run.seed)
        if durability == .full {
            return try run.look("ycsb-a-durable", operations) { _ in try mix.readAndUpdate(operations, reads: 0.5) }
        }
        try run.look("ycsb-a", operations) { _ in try mix.readAndUpdate(operations, reads: 0.5) }
        try run.look("ycsb-b", operations) { _ in try mix.readAndUpdate(operations, reads: 0.95) }
        try run.look("ycsb-c", operations) { _ in try mix.readAndUpdate(operations, reads: 1) }
        try run.change("ycsb-d", operations) { _ in try mix.readNewest(operations) }
        try run.change("ycsb-e", operations) { _ in try mix.scan(operations) }
        try run.look("ycsb-f", operations) { _ in try mix.modify(operations) }
    }
    try store.close()
}

/// The operations on records 0 ..< count.
private struct YCSB {
    var entries: Entries
    let session: any Session
    var count: Int
    var random: SplitMix
    let zipf: Zipf
    /// 0, 1, 2 …: an operation names its record by a slice of this array, and so allocates none.
    private let numbers: [Int]

    init(entries: Entries, session: any Session, count: Int, seed: UInt64) {
        self.entries = entries
        self.session = session
        self.count = count
        random = SplitMix(state: seed &+ 2)
        zipf = Zipf(count: count)
        numbers = Array(0..<entries.count)
    }

    private func read(_ index: Int) throws { _ = try session.copy(entries, numbers[index...index]) }

    private mutating func update(_ index: Int) throws {
        entries.edition += 1
        try session.put(entries, numbers[index...index])
    }

    private mutating func insert() throws {
        try session.put(entries, numbers[count...count])
        count += 1
    }

    private mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }

    mutating func readAndUpdate(_ operations: Int, reads: Double) throws {
        for _ in 0..<operations {
            let index = zipf.next(&random)
            if chance(reads) { try read(index) } else { try update(index) }
        }
    }

    mutating func readNewest(_ operations: Int) throws {
        for _ in 0..<operations {
            if chance(0.95) { try read(count - 1 - min(count - 1, zipf.rank(&random))) } else { try insert() }
        }
    }

    mutating func scan(_ operations: Int) throws {
        for _ in 0..<operations {
            guard chance(0.95) else {
                try insert()
                continue
            }
            let length = Int.random(in: 1...100, using: &random)
            let first = zipf.next(&random)
            _ = try session.scan(entries, from: numbers[first...first], length: length)
        }
    }

    mutating func modify(_ operations: Int) throws {
        for _ in 0..<operations {
            let index = zipf.next(&random)
            try read(index)
            if chance(0.5) { try update(index) }
        }
    }
}
