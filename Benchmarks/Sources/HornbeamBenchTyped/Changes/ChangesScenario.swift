// SPDX-License-Identifier: Apache-2.0
// The cost of the change log: commits without a consumer, with one, and with one of another type; and reading and
// acknowledging changes.

import BenchHarness
import Hornbeam

@EntityModel
private struct Order {
    let id: Int
    var customer: String
    var cents: Int
}

/// A type for a consumer, of which nothing is changed.
@EntityModel
private struct Shelf {
    let id: Int
    var name: String
}

func changesScenario(_ run: Run) throws {
    guard run.engine == "hornbeam" else { throw BenchError("\(run.engine) has no change log") }
    let database = try Database(at: run.storePath, models: Order.self, Shelf.self)
    let commits = max(200, run.count / 50)
    let batch = max(1_000, min(10_000, run.count / 10))
    var next = 0
    func orders(_ count: Int) -> [Order] {
        defer { next += count }
        return (next..<next + count).map { Order(id: $0, customer: "customer \($0 % 97)", cents: $0) }
    }
    func commitEach(_ name: String) throws {
        let some = orders(commits)
        try run.look(name, commits) { latencies in
            for order in some {
                try latencies.time { try database.write(durability: .process) { try order.save(to: &$0) } }
            }
        }
    }
    try commitEach("log-none")
    _ = try database.consumer(named: "shelves", of: Shelf.self)
    try commitEach("log-other")
    try database.unregisterConsumer(named: "shelves")
    let consumer = try database.consumer(named: "orders", of: Order.self)
    try commitEach("log-one")
    let load = orders(batch)
    try run.change("log-load", batch) { _ in
        try database.write { context in for order in load { try order.save(to: &context) } }
    }
    // The load is always logged, the commits only if they were requested.
    let first = try database.changeConsumers()[0].pending - batch
    try consumer.acknowledge(through: UInt64(first))
    try readChanges(run, consumer, batch, from: next - batch)
    try database.close()
}

/// Reads and acknowledges the pending changes, alternately.
private func readChanges(_ run: Run, _ consumer: ChangeConsumer, _ count: Int, from first: Int) throws {
    var (reading, acknowledging) = (Latencies(), Latencies())
    var expected = first
    while case .batch(let batch) = try reading.timed({ try consumer.next(limit: 100) }) {
        for change in batch.changes {
            guard change.id(of: Order.self) == expected else { throw BenchError("a wrong change") }
            expected += 1
        }
        try acknowledging.time { try consumer.acknowledge(batch) }
    }
    guard expected == first + count else { throw BenchError("changes are missing") }
    try run.tell("log-read", reading)
    try run.tell("log-acknowledge", acknowledging)
}
