// SPDX-License-Identifier: Apache-2.0
// The statistics of a database in the text format of Prometheus.

extension Database.Statistics {
    /// Returns the statistics in the text format of Prometheus, version 0.0.4. It is the body of a response with the
    /// content type `text/plain; version=0.0.4`. The names begin with `hornbeam_`, and sizes are in bytes.
    ///
    ///     statistics.prometheus(labels: ["database": "orders"])
    ///
    /// Throws `.invalid` for a label whose name has other characters than letters, digits and underscores, begins with
    /// a digit or two underscores, or is `holder`, which some metrics already have.
    public func prometheus(labels: [String: String] = [:]) throws(HornbeamError) -> String {
        try Self.prometheus([(labels, self)])
    }

    /// Returns the statistics of several databases as one text. Each must have its own labels, because Prometheus
    /// refuses repeated lines.
    public static func prometheus(
        _ databases: [(labels: [String: String], statistics: Database.Statistics)]
    ) throws(HornbeamError) -> String {
        for name in databases.flatMap(\.labels.keys) where !isLabel(name) {
            throw HornbeamError(
                .invalid,
                "“\(name)” can't be a label of figures: take letters, digits and underscores, not “holder”")
        }
        var text = ""
        for metric in metrics {
            text += "# HELP hornbeam_\(metric.name) \(metric.help)\n# TYPE hornbeam_\(metric.name) \(metric.type)\n"
            for database in databases {
                for (holder, value) in metric.values(database.statistics) {
                    var labels = database.labels
                    if let holder { labels["holder"] = holder }
                    text += "hornbeam_\(metric.name)\(written(labels)) \(value)\n"
                }
            }
        }
        return text
    }

    private static func isLabel(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return name != "holder" && !name.hasPrefix("__")
            && name.utf8.allSatisfy {
                letters.contains($0 | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "_")
            }
    }

    private static func written(_ labels: [String: String]) -> String {
        if labels.isEmpty { return "" }
        let written = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }
        return "{\(written.joined(separator: ","))}"
    }

    /// Goes by scalars, not characters, because a line feed may be part of a character.
    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

// MARK: The table

/// A metric: one value, or one for each kind of transaction that uses the cache.
private struct Metric: Sendable {
    let name: String
    let type: String
    let help: String
    let values: @Sendable (Database.Statistics) -> [(holder: String?, value: UInt64)]

    static func gauge(
        _ name: String, _ help: String, _ value: @escaping @Sendable (Database.Statistics) -> UInt64
    ) -> Metric {
        Metric(name: name, type: "gauge", help: help) { [(nil, value($0))] }
    }

    static func counter(
        _ name: String, _ help: String, _ value: @escaping @Sendable (Database.Statistics) -> UInt64
    ) -> Metric {
        Metric(name: name, type: "counter", help: help) { [(nil, value($0))] }
    }

    static func held(
        _ name: String, _ help: String, _ value: @escaping @Sendable (Database.CacheHolders) -> UInt64
    ) -> Metric {
        Metric(name: name, type: "gauge", help: help) {
            [("readers", value($0.cache.readers)), ("writer", value($0.cache.writer))]
        }
    }
}

private let metrics: [Metric] = [
    .gauge("file_bytes", "Size of the file.") { $0.fileBytes },
    .gauge("used_bytes", "Part of the file that holds data.") { $0.usedBytes },
    .gauge("retired_bytes", "Part of the file that only older states or the last checkpoint hold.") {
        $0.retiredBytes
    },
    .gauge("snapshot_bytes", "Part of the file that only open reads hold.") { $0.snapshotBytes },
    .gauge("older_states", "States before the newest one that open reads of this process hold.") {
        UInt64($0.olderStates)
    },
    .gauge("journal_bytes", "Journal since the last checkpoint, which a recovery reads.") { $0.journalBytes },
    .gauge("journal_capacity_bytes", "Size of the journal.") { $0.journalCapacityBytes },
    .gauge("dirty_bytes", "Newest pages that the last checkpoint lacks.") { $0.dirtyBytes },
    .gauge("writer_bytes", "Memory of the open write's pages.") { $0.writerBytes },
    .gauge("transaction", "Number of the newest committed transaction.") { $0.transaction },
    .gauge("checkpoint", "Number of the newest checkpoint.") { $0.checkpoint },
    .gauge("cache_budget_bytes", "Memory that the page cache may use.") { $0.cache.budgetBytes },
    .gauge("cache_resident_bytes", "Memory that the page cache uses.") { $0.cache.residentBytes },
    .counter("cache_hits_total", "Pages found in the cache.") { $0.cache.hits },
    .counter("cache_misses_total", "Pages read into the cache.") { $0.cache.misses },
    .counter("cache_evictions_total", "Pages dropped from the cache for others.") { $0.cache.evictions },
    .held("cache_transactions", "Open transactions that have used the cache.") { UInt64(max(0, $0.transactions)) },
    .held("cache_pinned_bytes", "Cached pages that can't be dropped.") { $0.pinnedBytes },
    .held("cache_copied_bytes", "Copies of values for open transactions.") { $0.copiedBytes },
    .held("cache_private_bytes", "Memory of open transactions beside the cache's budget.") { $0.privateBytes },
]
