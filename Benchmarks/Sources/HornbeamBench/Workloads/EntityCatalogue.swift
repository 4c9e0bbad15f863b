// SPDX-License-Identifier: Apache-2.0
// Workloads of the Swift library: documents and chats, on disk and in memory, totals, the change log, and the
// encoding of an entity.

/// Workloads without an equivalent in SQLite.
private let ownWorkloads: Set =
    Set(["read", "live", "totals-alone", "totals-beside", "totals-background"] + changeWorkloads.map(\.0))

private let documentWorkloads = [
    ("save-value", "documents with an index of scores and a unique one of keys, all in one transaction"),
    ("save-text", "the same with a full-text index of 20 words each"),
    ("equal", "the documents of one score, about ten of 100,000"),
    ("unique", "the document with a key"),
    ("range-1", "those of one score in a hundred, by score"),
    ("range-10", "those of one score in ten, by score"),
    ("first", "the 20 of the lowest scores, by score"),
    ("last", "the 20 of the highest scores, highest first"),
    ("match-common", "documents with one of two of the 50 commonest words, best first"),
    ("match-middle", "the same with words of ranks 100 to 1,000"),
    ("match-rare", "the same with words of ranks 2,000 to 5,000"),
    ("match-common-10", "the best ten with one of two of the 50 commonest words"),
    ("match-middle-10", "the same with words of ranks 100 to 1,000"),
    ("match-rare-10", "the same with words of ranks 2,000 to 5,000"),
    ("contains-words", "documents with a word, and the end of one before it and the beginning of one behind it"),
    ("contains-part", "documents with a part of a word"),
    ("read", "a read begun and ended, in which nothing is asked"),
    (
        "live",
        "from a save that need not survive power loss to its change in a live list of all documents by score"
    ),
]

private let chatWorkloads = [
    ("graph-save", "chats with ten messages and five users each, all in one transaction"),
    ("nested-authors", "all chats with their messages and these with their authors"),
    ("nested-users", "the same with the ids of the authors' chats, and the chats' users"),
    ("nested-all", "all chats by with(.entities, .entities, .ids)"),
    ("cascade", "a chat deleted with its messages, all of it kept as deleted; a durable transaction for each"),
    ("cascade-gone", "the same without keeping it"),
]

private let totalsWorkloads = [
    ("totals-save", "sales, 10,000 in a transaction"),
    ("totals-build", "an index of them by day, with their sums"),
    ("totals-save-indexed", "more sales, 10,000 in a transaction, once the index is there"),
    ("totals-range", "the sum from one month to another, of ten years"),
    ("totals-months", "the sums of all 120 months"),
    ("totals-alone", "a sale saved in a durable transaction of its own"),
    ("totals-beside", "the same while another index is being built in the background"),
    ("totals-background", "a sale's share of that building"),
]

private let changeWorkloads = [
    ("log-none", "an order saved in a transaction of its own that need not survive power loss, without the change log"),
    ("log-one", "the same with one consumer of orders"),
    ("log-other", "the same with one consumer of another type"),
    ("log-load", "orders, 10,000 in a transaction, with one consumer of them"),
    ("log-read", "100 changes read by the consumer"),
    ("log-acknowledge", "100 changes acknowledged in a transaction of their own"),
]

let mirrorWorkloads: [(name: String, summary: String)] = [
    ("mirror-save-alone", "a package saved in a durable transaction of its own, without a mirror"),
    ("mirror-copy", "the first copy of packages and their maintainers into a PostgreSQL server on this machine"),
    ("mirror-changes", "packages saved, 500 in a transaction, until all are in PostgreSQL"),
    ("mirror-save-beside", "a package saved in a durable transaction of its own, beside a mirror that follows"),
    ("mirror-reach", "such a save until it is in PostgreSQL"),
    ("mirror-reach-standbys", "such a save until PostgreSQL and one of its two standbys have it"),
    ("mirror-get", "a package read by its id from one state of the mirror, in turns with libpq"),
    ("mirror-list", "20 packages of a section by size, in turns with libpq"),
    ("mirror-get-await", "a package read by its id, awaited on its own"),
    ("mirror-restore", "entities of a store that is made from PostgreSQL"),
]

private func scenarios(_ name: String, _ workloads: [(name: String, summary: String)]) -> [Scenario] {
    let needs = { (name: String) in ownWorkloads.contains(name) ? Feature.live : .typed }
    return [
        Scenario(
            name: name,
            workloads: workloads.map { Workload(name: $0.name, summary: $0.summary, needs: needs($0.name)) }),
        Scenario(
            name: name + "-memory",
            workloads: workloads.map {
                Workload(name: "memory-" + $0.name, summary: $0.summary + "; in memory", needs: needs($0.name))
            }),
    ]
}

/// The scenarios of hornbeam-bench-typed.
let entityScenarios: [Scenario] =
    scenarios("documents", documentWorkloads) + scenarios("chats", chatWorkloads)
    + scenarios("totals", totalsWorkloads).prefix(1) + scenarios("changes", changeWorkloads).prefix(1) + [
        Scenario(
            name: "mirror",
            workloads: mirrorWorkloads.map { Workload(name: $0.name, summary: $0.summary, needs: .mirror) }),
        Scenario(
            name: "coding",
            workloads: [
                Workload(name: "encode", summary: "an entity of twelve properties into bytes", needs: .coding),
                Workload(name: "decode", summary: "and back", needs: .coding),
                Workload(name: "column", summary: "one property of it", needs: .coding),
            ]),
    ]
