// SPDX-License-Identifier: Apache-2.0
// Saves entities, finds them, and loads related ones.

import BenchHarness
import Synchronization

func typedScenario(_ run: Run) throws {
    var samples = Samples(count: max(100, run.count / 5), seed: run.seed)
    let store = try open(run)
    try store.save(samples.maintainers[...])
    try run.change("entity-load", samples.packages.count) { latencies in
        try batches(samples.packages) { batch in try latencies.time { try store.save(batch) } }
    }
    run.awaitRest()
    try readings(run, samples, store)
    try changes(run, &samples, store)
    try store.close()
}

private func open(_ run: Run) throws -> any TypedStore {
    switch run.engine {
    case "hornbeam": return try HornbeamTyped(path: run.storePath)
    #if PEER_SQLITE
        case "sqlite": return try SQLiteTyped(path: run.storePath)
    #endif
    default: throw BenchError("\(run.engine) has no entities")
    }
}

private func batches(
    _ packages: [PackageSample], _ body: (ArraySlice<PackageSample>) throws -> Void
) throws {
    for start in stride(from: 0, to: packages.count, by: 1_000) {
        try body(packages[start..<min(start + 1_000, packages.count)])
    }
}

private func expect(_ found: Int, _ expected: Int) throws {
    guard found == expected else { throw BenchError("read \(found), expected \(expected)") }
}

private func readings(_ run: Run, _ samples: Samples, _ store: any TypedStore) throws {
    let packages = samples.packages
    var random = SplitMix(state: run.seed &+ 1)
    let chosen = (0..<max(100, packages.count / 4)).map { _ in Int.random(in: 0..<packages.count, using: &random) }
    try measure(run, "entity-get", chosen.map { ($0, packages[$0].sum) }) { try store.package($0) }

    let bySource = Dictionary(grouping: packages, by: \.source).mapValues { $0.reduce(0) { $0 &+ $1.sum } }
    let sources = chosen.map { packages[$0].source }
    try measure(run, "entity-equal", sources.map { ($0, bySource[$0] ?? 0) }) { try store.packages(ofSource: $0) }

    let bySection = Dictionary(grouping: packages, by: \.section)
        .mapValues { $0.sorted { ($0.installedSize, $0.id) < ($1.installedSize, $1.id) } }
    let ranges = chosen.prefix(chosen.count / 10 + 1).map { index in
        let size = packages[index].installedSize
        return SectionRange(section: packages[index].section, sizes: size..<size + 2_500)
    }
    let ranged = ranges.map { range in
        (bySection[range.section] ?? []).drop { $0.installedSize < range.sizes.lowerBound }.prefix(50)
            .prefix { range.sizes.contains($0.installedSize) }.reduce(0) { $0 &+ $1.sum }
    }
    try measure(run, "entity-range", Array(zip(ranges, ranged))) { try store.packages($0, limit: 50) }

    let byMaintainer = Dictionary(grouping: packages, by: \.maintainer)
        .mapValues { $0.reduce(0) { $0 &+ $1.sum } }
    let some = samples.maintainers.count
    let groups = chosen.prefix(chosen.count / 50 + 1).map { index -> Range<Int> in
        let first = index % max(1, some - 10)
        return first..<min(first + 10, some)
    }
    let sums = groups.map { $0.reduce(0) { $0 &+ samples.maintainers[$1].sum &+ (byMaintainer[$1] ?? 0) } }
    try measure(run, "entity-nested", Array(zip(groups, sums))) { try store.maintainers($0) }
}

/// Asks each question once for the answer, which also warms the store, and then with the clock.
private func measure<Question>(
    _ run: Run, _ name: String, _ questions: [(Question, sum: Int)], _ ask: (Question) throws -> Int
) throws {
    guard run.wants(name) else { return }
    for (question, sum) in questions { try expect(ask(question), sum) }
    try run.look(name, questions.count) { latencies in
        for (question, sum) in questions { try latencies.time { try expect(ask(question), sum) } }
    }
}

private func changes(_ run: Run, _ samples: inout Samples, _ store: any TypedStore) throws {
    var random = SplitMix(state: run.seed &+ 2)
    var changed = samples.packages.shuffled(using: &random)
    for index in changed.indices {
        changed[index].version += "+1"
        changed[index].installedSize += 1
    }
    let updated = Array(changed.prefix(max(1, changed.count / 4)))
    try run.look("entity-update", updated.count) { latencies in
        try batches(updated) { batch in try latencies.time { try store.save(batch) } }
    }
    let single = changed.suffix(min(1_000, changed.count / 4))
    try run.look("entity-save", single.count) { latencies in
        for place in single.indices { try latencies.time { try store.save(single[place...place]) } }
    }
    let threads = 8
    let several = Array(changed.dropLast(single.count).suffix(single.count))
    try run.look("entity-save-8t", several.count) { latencies in
        let sum = Mutex(Latencies())
        try run.onThreads(threads) { thread in
            let mine = try store.another()
            var times = Latencies()
            for place in stride(from: thread, to: several.count, by: threads) {
                try times.time { try mine.save(several[place...place]) }
            }
            sum.withLock { $0.add(times) }
        }
        latencies.add(sum.withLock { $0 })
    }
    for package in (run.wants("entity-save-8t") ? several : []) + (run.wants("entity-save") ? Array(single) : []) {
        try expect(store.package(package.id), package.sum)
    }
    // Comes last, because it changes packages again.
    if let live = store as? any LiveStore {
        try run.look("entity-live", single.count) { try live.follow(single, &$0) }
    }
}
