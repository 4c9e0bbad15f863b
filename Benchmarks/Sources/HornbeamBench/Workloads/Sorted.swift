// SPDX-License-Identifier: Apache-2.0
// A store that was loaded in order.

import BenchHarness

func sortedScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .ascending, valueSize: 100, seed: run.seed)
    let order = Array(0..<run.count)
    let store = try run.open()
    try withSession(of: store) { session in
        try run.change("load-seq", run.count) { _ in try session.put(entries, order[...]) }
        try run.look("scan-full", run.count) { _ in try expect(session.scan(isReverse: false), entries.bytes) }
        try run.look("scan-reverse", run.count) { _ in try expect(session.scan(isReverse: true), entries.bytes) }
        let lower = entries.key(run.count / 4)
        let upper = entries.key(run.count / 4 * 3)
        // Engines without counts walk the range, and can't do that often.
        let rounds = try run.has(.counts) ? 10_000 : 5
        try run.look("count-half", rounds) { latencies in
            for _ in 0..<rounds {
                try latencies.time {
                    try expect(session.count(from: lower, to: upper), run.count / 4 * 3 - run.count / 4)
                }
            }
        }
        try run.look("entry-at", rounds) { latencies in
            for _ in 0..<rounds { try latencies.time { try expect(session.entry(at: run.count / 2), entries.keySize) } }
        }
        try besideMemory(run, entries, session)
    }
    try store.close()
}

/// Reads all entries, alternating with memcpy of as many bytes between two places that were written before.
private func besideMemory(_ run: Run, _ entries: Entries, _ session: any Session) throws {
    guard run.wants("scan-memcpy") else { return }
    let source = [UInt8](repeating: 1, count: entries.bytes)
    var target = [UInt8](repeating: 2, count: entries.bytes)
    try run.beside("scan-memcpy", rounds: 15) { _ in
        try expect(session.scan(isReverse: false), entries.bytes)
    } _: { _ in
        target.withUnsafeMutableBytes { target in source.withUnsafeBytes { target.copyMemory(from: $0) } }
        try expect(Int(target[entries.bytes - 1]), 1)
    }
}

func appendScenario(_ run: Run) throws {
    let entries = Entries(count: run.count, keys: .ascending, valueSize: 100, seed: run.seed)
    let order = Array(0..<run.count)
    let store = try run.open()
    try withSession(of: store) { session in
        try run.change("append", run.count) { _ in
            try inBatches(order, of: 10_000) { try session.append(entries, $0) }
        }
        try expect(session.scan(isReverse: false), entries.bytes)
    }
    try store.close()
}

/// Runs the body with a session that is released when this returns, because an engine can't be closed before.
func withSession(of store: any Engine, _ body: (any Session) throws -> Void) throws {
    let session = try store.session()
    try body(session)
}

func inBatches(_ order: [Int], of size: Int, _ body: (ArraySlice<Int>) throws -> Void) rethrows {
    for start in stride(from: 0, to: order.count, by: size) { try body(order[start..<min(start + size, order.count)]) }
}

/// Throws if an engine's result is wrong: then it has no figures.
func expect(_ found: Int, _ expected: Int) throws {
    guard found == expected else { throw BenchError("read \(found), expected \(expected)") }
}
