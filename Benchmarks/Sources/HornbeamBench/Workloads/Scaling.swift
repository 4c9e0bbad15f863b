// SPDX-License-Identifier: Apache-2.0
// Does the operations of the table “Cost by size”: equal ones for each size of the store, to compare their costs.

import BenchHarness

func scalingScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .ascending, valueSize: 100, seed: run.seed)
    var random = SplitMix(state: run.seed &+ 1)
    let order = (0..<100_000).map { _ in Int.random(in: 0..<run.count, using: &random) }
    let store = try run.open(StoreSettings(durability: .process))
    try withSession(of: store) { session in
        try inBatches(Array(0..<run.count), of: 100_000) { try session.append(entries, $0) }
        // Read once before, so that the measured pages are warm.
        let sum = entries.sum(order[...])
        try expect(session.get(entries, order[...]), sum)
        try run.look("get", order.count) { _ in try expect(session.get(entries, order[...]), sum) }
        try expect(session.scan(isReverse: false), entries.bytes)
        try run.look("scan", run.count) { _ in try expect(session.scan(isReverse: false), entries.bytes) }
        let counted = stride(from: 0, to: 20_000, by: 2).map {
            (min(order[$0], order[$0 + 1]), max(order[$0], order[$0 + 1]))
        }
        let keys = counted.map { (entries.key($0.0), entries.key($0.1)) }
        try run.look("count", counted.count) { _ in
            for (place, range) in counted.enumerated() {
                try expect(session.count(from: keys[place].0, to: keys[place].1), range.1 - range.0)
            }
        }
        var changed = entries
        try run.look("put", order.count) { _ in
            try inBatches(order, of: 1_000) { batch in
                changed.edition += 1
                try session.put(changed, batch)
            }
        }
        changed.edition += 1
        try run.look("commit", 5_000) { _ in
            for place in 0..<5_000 { try session.put(changed, order[place...place]) }
        }
    }
    try store.close()
}
