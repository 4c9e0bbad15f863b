// SPDX-License-Identifier: Apache-2.0
// Saves a graph of chats, users and messages, reads it with related entities, and deletes a part; on disk or in
// memory.

import BenchHarness

func chatScenario(_ run: Run, isInMemory: Bool) throws {
    let samples = ChatSamples(count: max(50, run.count / 1_000), seed: run.seed)
    let part = Part(run, isInMemory)
    try warmUp(run)
    let store = try open(run, isInMemory)
    try part.change("graph-save", samples.chats.count) { _ in try store.save(samples) }
    for (depth, times) in [(ChatDepth.authors, 20), (.users, 20), (.all, 5)] {
        let name = "nested-\(depth.rawValue)"
        guard run.wants(part.name(name)) else { continue }
        let (found, expected) = (try store.chats(depth, sum: true), samples.sum(depth))
        guard found == expected else { throw BenchError("\(part.name(name)): read \(found), expected \(expected)") }
        try part.change(name, times) { latencies in
            for _ in 0..<times {
                let count = try latencies.timed { try store.chats(depth, sum: false) }
                guard count == samples.chats.count else { throw BenchError("\(name): \(count) chats") }
            }
        }
    }
    try deletions(part, samples, store)
    try store.close()
}

/// Saves a small graph in a store that is discarded: the first use of types and symbols in a process takes some 5 ms,
/// a quarter of the time for saving 1,000 chats, and isn't the store's work.
private func warmUp(_ run: Run) throws {
    let store = try open(run, true)
    try store.save(ChatSamples(count: 20, seed: run.seed))
    try store.close()
}

private func open(_ run: Run, _ isInMemory: Bool) throws -> any ChatStore {
    let path = isInMemory ? nil : run.storePath
    switch run.engine {
    case "hornbeam": return try HornbeamChats(path: path)
    #if PEER_SQLITE
        case "sqlite": return try SQLiteChats(path: path)
    #endif
    default: throw BenchError("\(run.engine) has no entities")
    }
}

/// Deletes some chats that are kept as deleted, and then as many that aren't, each in a transaction of its own.
private func deletions(_ part: Part, _ samples: ChatSamples, _ store: any ChatStore) throws {
    var random = SplitMix(state: part.run.seed &+ 1)
    var chats = samples.chats.map(\.id).shuffled(using: &random)
    let count = min(200, chats.count / 4)
    var expected = (stored: chats.count * 10, kept: 0)
    for (name, isKept) in [("cascade", true), ("cascade-gone", false)] {
        let some = chats.prefix(count)
        chats.removeFirst(count)
        guard part.run.wants(part.name(name)) else { continue }
        try part.change(name, count) { latencies in
            for chat in some { try latencies.time { try store.delete(chat: chat, keeping: isKept) } }
        }
        expected.stored -= count * 10
        if isKept { expected.kept += count * 10 }
        let found = try store.messages()
        guard found == expected else { throw BenchError("\(part.name(name)): \(found) messages, not \(expected)") }
    }
}
