// SPDX-License-Identifier: Apache-2.0
// The figures of entities as tables: Hornbeam compared with SQLite used directly, on disk and in memory, and with the
// in-memory model that its API follows, whose figures come from another machine.

import BenchHarness
import Foundation

enum EntityTable {
    /// The in-memory model's time of a row in seconds: a median, or the whole if no median was published.
    fileprivate struct Row {
        let workload: String
        let title: String
        /// The lower one of two published times.
        var model: Double?
        /// Whether the time is that of 100,000 operations, not of one.
        var isWhole = false
        /// Whether the model's time was extrapolated from smaller ones.
        var isEstimate = false
    }

    fileprivate static let rows = [
        Row(workload: "save-value", title: "save: value, unique index", model: 857, isWhole: true),
        Row(
            workload: "save-text", title: "save: value, unique, full-text index", model: 4_300, isWhole: true,
            isEstimate: true),
        Row(workload: "equal", title: "equality on `@Index`", model: 20e-6),
        Row(workload: "unique", title: "equality on `@Unique`", model: 149e-3),
        Row(workload: "range-1", title: "range of 1 %, sorted", model: 64e-3),
        Row(workload: "range-10", title: "range of 10 %, sorted", model: 92e-3),
        Row(workload: "first", title: "sorted, limit 20", model: 130e-3),
        Row(workload: "last", title: "sorted, descending, limit 20", model: 889e-3),
        Row(workload: "match-common", title: "match, common words", model: 135e-3),
        Row(workload: "match-middle", title: "match, middle words", model: 17e-3),
        Row(workload: "match-rare", title: "match, rare words", model: 9e-3),
        Row(workload: "match-common-10", title: "match, common words, limit 10", model: 125e-3),
        Row(workload: "match-middle-10", title: "match, middle words, limit 10", model: 8e-3),
        Row(workload: "match-rare-10", title: "match, rare words, limit 10", model: 5e-3),
        Row(workload: "contains-words", title: "contains, a word and parts of two"),
        Row(workload: "contains-part", title: "contains, part of a word"),
        Row(workload: "read", title: "a read that asks nothing"),
        Row(workload: "live", title: "from a save to its change in a live list of all documents"),
        Row(workload: "graph-save", title: "save the chats", model: 6, isWhole: true),
        Row(workload: "nested-authors", title: "chats → messages → author", model: 47e-3),
        Row(workload: "nested-users", title: "the same, author's chat ids, users", model: 180e-3),
        Row(workload: "nested-all", title: "`with(.entities, .entities, .ids)`", model: 2.3),
        Row(workload: "cascade", title: "cascade of a chat, kept as deleted", model: 53e-3),
        Row(workload: "cascade-gone", title: "the same, nothing kept"),
    ]

    private static let coding = ["encode", "decode", "column"]

    /// The workloads in these tables, as opposed to the table of all others.
    static let workloads = Set(rows.flatMap { [$0.workload, "memory-" + $0.workload] } + coding)

    /// The model's figures are for this number of documents and chats, and can't be compared with others.
    fileprivate static let modelCount = 1_000_000

    /// - Parameter isSummary: for a document: SQLite and the model as ratios alone.
    fileprivate static func times(_ report: Report, isSummary: Bool) -> Table {
        let own = ["row", "hornbeam"]
        var table = [
            isSummary
                ? own + ["× sqlite", "in memory: hornbeam", "× sqlite", "× in-memory model"]
                : own + ["sqlite", "×", "in memory: hornbeam", "sqlite", "×", "in-memory model", "×"]
        ]
        for row in rows where report.workloads.contains(row.workload) || report.workloads.contains(row.memory) {
            let ours = report.time(row, row.workload, HornbeamEngine.name)
            let model = report.count == modelCount ? row.model : nil
            let mark = model != nil && row.isEstimate ? "≈ " : ""
            var disk = report.pair(row, row.workload)
            var memory = report.pair(row, row.memory)
            var last = [model.map { mark + seconds($0) } ?? "–", ratio(model, ours)]
            if isSummary {
                disk.remove(at: 1)
                memory.remove(at: 1)
                last = [mark + ratio(model, ours)]
            }
            table.append([row.title] + disk + memory + last)
        }
        return Table(rows: table)
    }

    /// Processor times and maxima of these rows.
    fileprivate static func details(_ report: Report) -> Table {
        var table = [
            [
                "row", "p99: hornbeam", "sqlite", "in memory: hornbeam", "sqlite", "CPU: hornbeam", "sqlite", "×",
                "in memory: hornbeam", "sqlite", "×",
            ]
        ]
        for row in rows where report.workloads.contains(row.workload) || report.workloads.contains(row.memory) {
            let slowest = [row.workload, row.memory].flatMap { workload in
                [HornbeamEngine.name, "sqlite"].map { engine in
                    report.median(workload, engine) { $0.latency.map { Double($0.p99) * 1e-9 } }.map(seconds) ?? "–"
                }
            }
            let worked = [row.workload, row.memory].flatMap { workload -> [String] in
                let each = [HornbeamEngine.name, "sqlite"].map { engine in
                    report.median(workload, engine) { figure in
                        figure.processorSeconds.map { row.isWhole ? $0 : $0 / Double(figure.operations) }
                    }
                }
                return each.map { $0.map(seconds) ?? "–" } + [ratio(each[1], each[0])]
            }
            table.append([row.title] + slowest + worked)
        }
        return Table(rows: table)
    }

    /// Nanoseconds and bytes of an entity.
    fileprivate static func coding(_ report: Report) -> Table? {
        let names = coding.filter(report.workloads.contains)
        guard let first = names.first else { return nil }
        let engines = report.engines.filter { !report.figures(first, $0).isEmpty }
        let peers = engines.filter { $0 != HornbeamEngine.name }
        var table = [["row", "hornbeam"] + peers.flatMap { [$0, "×"] }]
        for name in names {
            let each = { report.median(name, $0) { $0.seconds / Double($0.operations) } }
            let ours = each(HornbeamEngine.name)
            table.append(
                [name, ours.map(seconds) ?? "–"]
                    + peers.flatMap { [each($0).map(seconds) ?? "–", ratio(each($0), ours)] })
        }
        let bytes = { report.median(first, $0) { $0.encodedBytes.map(Double.init) } }
        table.append(
            ["bytes", bytes(HornbeamEngine.name).map { "\(Int($0))" } ?? "–"]
                + peers.flatMap {
                    [bytes($0).map { "\(Int($0))" } ?? "–", ratio(bytes($0), bytes(HornbeamEngine.name))]
                })
        return Table(rows: table)
    }

    static func seconds(_ value: Double) -> String {
        switch value {
        case ..<1e-6: String(format: "%.0f ns", value * 1e9)
        case ..<1e-4: String(format: "%.1f µs", value * 1e6)
        case ..<1e-3: String(format: "%.0f µs", value * 1e6)
        case ..<1e-1: String(format: "%.1f ms", value * 1e3)
        case ..<1: String(format: "%.0f ms", value * 1e3)
        default: String(format: value < 100 ? "%.2f s" : "%.0f s", value)
        }
    }

    static func ratio(_ theirs: Double?, _ ours: Double?) -> String {
        guard let theirs, let ours, ours > 0 else { return "–" }
        let ratio = theirs / ours
        return String(format: ratio < 100 ? "%.2f" : "%.0f", ratio)
    }
}

extension EntityTable.Row {
    fileprivate var memory: String { "memory-" + workload }
}

extension Report {
    var hasEntities: Bool { workloads.contains { EntityTable.workloads.contains($0) } }

    /// - Parameter isDetailed: for a terminal: with peers' times, the slowest queries and the processor's time.
    private func entityTables(isDetailed: Bool) -> [(head: String, table: Table)] {
        var tables: [(String, Table)] = []
        let times = EntityTable.times(self, isSummary: !isDetailed)
        if times.rows.count > 1 {
            tables.append(("Medians of single queries, of saves the whole:", times))
        }
        if times.rows.count > 1, isDetailed {
            let head = "The slowest of a hundred, and the processor's time of a query, of saves the whole:"
            tables.append((head, EntityTable.details(self)))
        }
        if let coding = EntityTable.coding(self) {
            tables.append(("An entity by the row format and by Foundation's coders:", coding))
        }
        return tables
    }

    var entityText: String {
        entityTables(isDetailed: true).map { "\n\($0.head)\n\n\($0.table.text)" }.joined(separator: "\n")
    }

    var entityMarkdown: String {
        let tables = entityTables(isDetailed: false).flatMap { [$0.head, $0.table.markdown] }
        return (["Taken on \(date) by `\(command)`."] + tables).joined(separator: "\n\n")
    }

    /// Returns seconds: of the whole, or the median of single operations.
    fileprivate func time(_ row: EntityTable.Row, _ workload: String, _ engine: String) -> Double? {
        median(workload, engine) { figure in
            row.isWhole ? figure.seconds : figure.latency.map { Double($0.p50) * 1e-9 }
        }
    }

    /// Returns Hornbeam's time, SQLite's, and how many times faster Hornbeam is.
    fileprivate func pair(_ row: EntityTable.Row, _ workload: String) -> [String] {
        let (ours, theirs) = (time(row, workload, HornbeamEngine.name), time(row, workload, "sqlite"))
        return [
            ours.map(EntityTable.seconds) ?? "–", theirs.map(EntityTable.seconds) ?? "–",
            EntityTable.ratio(theirs, ours),
        ]
    }
}
