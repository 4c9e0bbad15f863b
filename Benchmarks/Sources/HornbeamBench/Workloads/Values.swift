// SPDX-License-Identifier: Apache-2.0
// Long values, and values that compress.

import BenchHarness

func longScenario(_ run: Run) throws {
    let count = max(2, run.count / 5_000)
    let entries = Entries(count: count, keys: .random, valueSize: 1 << 20, seed: run.seed)
    let all = Array(0..<count)
    let store = try run.open(StoreSettings(hasLongValues: true))
    try withSession(of: store) { session in
        try run.change("long-write", count) { latencies in
            for place in all { try latencies.time { try session.put(entries, all[place...place]) } }
        }
        try run.look("long-read", count) { latencies in
            for place in all { try latencies.time { _ = try session.copy(entries, all[place...place]) } }
        }
    }
    try store.close()
}

func textScenario(_ run: Run) throws {
    let text = proseLike(bytes: 4 << 20, seed: run.seed)
    let entries = Entries(count: run.count, keys: .random, valueSize: 200, text: text, seed: run.seed)
    let all = Array(0..<run.count)
    var random = SplitMix(state: run.seed &+ 1)
    let order = all.map { _ in Int.random(in: 0..<run.count, using: &random) }
    let store = try run.open(StoreSettings(isCompressed: try run.has(.compression)))
    try withSession(of: store) { session in
        try run.change("text-load", run.count) { _ in try inBatches(all, of: 1_000) { try session.put(entries, $0) } }
        run.awaitRest()
        let sum = entries.sum(order[...])
        try expect(session.get(entries, order[...]), sum)
        try run.look("text-get", order.count) { _ in try expect(session.get(entries, order[...]), sum) }
        try run.look("text-scan", run.count) { _ in try expect(session.scan(isReverse: false), entries.bytes) }
    }
    try store.close()
}

/// Returns words of an invented language with the frequencies of a real one (Zipf's law): LZ4 compresses them about
/// as well as prose.
private func proseLike(bytes: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix(state: seed &+ 3)
    let syllables = [
        "ba", "ri", "son", "te", "mel", "ka", "dor", "in", "lu", "ver", "tan", "o", "pre", "shi", "ment", "al",
    ]
    let words = (0..<5_000).map { _ in
        (0..<Int.random(in: 1...4, using: &random)).map { _ in syllables.randomElement(using: &random) ?? "" }.joined()
    }
    let zipf = Zipf(count: words.count)
    var text: [UInt8] = []
    while text.count < bytes {
        text += Array(words[zipf.rank(&random)].utf8)
        text.append(Int.random(in: 0..<12, using: &random) == 0 ? UInt8(ascii: ".") : UInt8(ascii: " "))
    }
    return text
}
