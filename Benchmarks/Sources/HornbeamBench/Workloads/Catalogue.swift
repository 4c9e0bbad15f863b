// SPDX-License-Identifier: Apache-2.0
// Every workload, by scenario: workloads of one scenario share a store, and run in the order of this list.

import BenchHarness

struct Workload: Sendable {
    let name: String
    let summary: String
    /// The feature that an engine needs to take part.
    var needs: Feature?
}

struct Scenario: Sendable {
    let name: String
    let workloads: [Workload]
    /// Nil if hornbeam-bench-typed runs it, because a process can't have both Hornbeam's C library and its Swift
    /// library.
    var run: (@Sendable (Run) throws -> Void)?

    var isTyped: Bool { run == nil }
}

private let ordinaryScenarios: [Scenario] = [
    Scenario(
        name: "sorted",
        workloads: [
            Workload(name: "load-seq", summary: "ascending keys, all in one transaction"),
            Workload(name: "scan-full", summary: "all entries in order"),
            Workload(name: "scan-reverse", summary: "all entries in reverse order"),
            Workload(name: "count-half", summary: "number of entries in the middle half"),
            Workload(name: "entry-at", summary: "the entry in the middle, by its position"),
            Workload(
                name: "scan-memcpy", summary: "all entries in order, in turns with memcpy of as many bytes",
                needs: .machine),
        ], run: sortedScenario),
    Scenario(
        name: "append",
        workloads: [
            Workload(name: "append", summary: "ascending keys by the call that asks for them, 10,000 a transaction")
        ], run: appendScenario),
    Scenario(
        name: "random",
        workloads: [
            Workload(name: "load-rand", summary: "keys in random order, 1,000 a durable transaction"),
            Workload(name: "get-rand", summary: "random keys in one transaction"),
            Workload(name: "get-txn", summary: "random keys, a transaction for each"),
            Workload(name: "get-2t", summary: "random keys in a transaction for each of two threads"),
            Workload(name: "get-many", summary: "random keys, 64 in a call", needs: .getMany),
            Workload(name: "scan-100", summary: "100 entries from a random key on; operations are scans"),
            Workload(name: "update-rand", summary: "random entries overwritten, 1,000 a durable transaction"),
            Workload(name: "delete-rand", summary: "random entries deleted, 1,000 a durable transaction"),
            Workload(name: "reinsert-rand", summary: "and put back, 1,000 a durable transaction"),
            Workload(name: "commit", summary: "durable transactions of one put"),
            Workload(name: "commit-8t", summary: "the same by eight threads"),
            Workload(
                name: "commit-disk",
                summary: "durable transactions of one put, in turns with pwrite and fdatasync of 4 KiB",
                needs: .machine),
            Workload(name: "mixed-read", summary: "random keys beside a writer of durable transactions of 100"),
            Workload(name: "mixed-write", summary: "that writer's puts"),
            Workload(name: "open-warm", summary: "opening and reading one entry"),
            Workload(name: "open-cold", summary: "the same with nothing in memory; only root can measure it"),
        ], run: randomScenario),
    Scenario(
        name: "process",
        workloads: [
            Workload(name: "commit-process", summary: "transactions of one put that survive the end of the process")
        ], run: processScenario),
    Scenario(
        name: "integer",
        workloads: [
            Workload(name: "load-int", summary: "random integer keys of 8 bytes, 1,000 a durable transaction"),
            Workload(name: "get-int", summary: "random ones of them in one transaction"),
        ], run: integerScenario),
    Scenario(
        name: "ycsb",
        workloads: [
            Workload(name: "ycsb-load", summary: "records of 1 KB, 1,000 a transaction that survives the process"),
            Workload(name: "ycsb-a", summary: "half reads, half updates; each a transaction, Zipf's popularity"),
            Workload(name: "ycsb-b", summary: "19 of 20 reads, the rest updates"),
            Workload(name: "ycsb-c", summary: "reads"),
            Workload(name: "ycsb-d", summary: "19 of 20 reads of the newest, the rest inserts"),
            Workload(name: "ycsb-e", summary: "19 of 20 scans of up to 100, the rest inserts"),
            Workload(name: "ycsb-f", summary: "half reads, half reads with an update"),
        ], run: { try ycsbScenario($0, durability: .process) }),
    Scenario(
        name: "ycsb-durable",
        workloads: [
            Workload(name: "ycsb-a-durable", summary: "workload A with updates that survive power loss")
        ], run: { try ycsbScenario($0, durability: .full) }),
    Scenario(
        name: "long",
        workloads: [
            Workload(name: "long-write", summary: "values of 1 MB, a durable transaction for each"),
            Workload(name: "long-read", summary: "random ones of them, copied"),
        ], run: longScenario),
    Scenario(
        name: "text",
        workloads: [
            Workload(
                name: "text-load", summary: "texts of 200 bytes with LZ4 where the engine has it, 1,000 a transaction"),
            Workload(name: "text-get", summary: "random ones of them in one transaction"),
            Workload(name: "text-scan", summary: "all of them in order"),
        ], run: textScenario),
    Scenario(
        name: "typed",
        workloads: [
            Workload(
                name: "entity-load", summary: "packages with two indexes and a maintainer, 1,000 a durable transaction",
                needs: .typed),
            Workload(name: "entity-get", summary: "a package by its id, as a Swift struct", needs: .typed),
            Workload(name: "entity-equal", summary: "the packages of one source, by an index", needs: .typed),
            Workload(
                name: "entity-range", summary: "packages of a section in a range of sizes, by size, at most 50",
                needs: .typed),
            Workload(name: "entity-nested", summary: "ten maintainers with all their packages", needs: .typed),
            Workload(
                name: "entity-update", summary: "packages changed in an indexed property, 1,000 a durable transaction",
                needs: .typed),
            Workload(name: "entity-save", summary: "the same, a durable transaction for each", needs: .typed),
            Workload(name: "entity-save-8t", summary: "the same by eight threads", needs: .typed),
            Workload(
                name: "entity-live",
                summary: "from a save that need not survive power loss to its change in a live list of all packages",
                needs: .live),
        ]),
]

let allScenarios = ordinaryScenarios + entityScenarios

/// Not in the list, because its stores have many sizes. See ScalingCommand.
let scaling = Scenario(
    name: "scaling",
    workloads: [
        Workload(name: "get", summary: "random keys in one transaction"),
        Workload(name: "put", summary: "random entries overwritten, 1,000 a transaction that survives the process"),
        Workload(name: "commit", summary: "transactions of one put that survive the process"),
        Workload(name: "count", summary: "number of entries in a random range"),
        Workload(name: "scan", summary: "all entries in order; an operation is an entry"),
    ], run: scalingScenario)
