// SPDX-License-Identifier: Apache-2.0
// The figures of full text as tables, one for each corpus, and one about the quality of the answers.

import BenchHarness
import Foundation

enum TextTable {
    fileprivate enum Form {
        /// The median and the 99th percentile.
        case latency
        /// The total time.
        case seconds
        /// Operations per second.
        case speed
        case disk, memory
        /// The average number of bytes that an operation gives to calls that write.
        case written
        /// A value; greater is better.
        case value
        /// Bytes per second, and bytes, reported as values.
        case rate, peak
    }

    struct Row {
        let workload: String
        fileprivate let title: String
        fileprivate var form = Form.latency
    }

    static let rows: [Row] = {
        var rows = [
            Row(workload: "build-none", title: "store the texts, without an index", form: .seconds),
            Row(workload: "build-words", title: "store and index them, without positions", form: .seconds),
            Row(workload: "build-positions", title: "store and index them, with positions", form: .seconds),
            Row(workload: "speed-build", title: "text a second that is stored and indexed so", form: .rate),
            Row(workload: "speed-index", title: "the same of what indexing takes beside storing", form: .rate),
            Row(workload: "memory-build", title: "memory at most, building that", form: .peak),
            Row(workload: "size-none", title: "on the disk, without an index", form: .disk),
            Row(workload: "size-words", title: "on the disk, without positions", form: .disk),
            Row(workload: "size-positions", title: "on the disk, with positions", form: .disk),
        ]
        for frequency in ["rare", "medium", "common"] {
            for count in [1, 2, 3, 5] {
                rows.append(
                    Row(
                        workload: "any-\(count)-\(frequency)",
                        title: count == 1 ? "1 \(frequency) word" : "any of \(count) \(frequency) words"))
            }
        }
        for count in [2, 3, 5] {
            rows.append(Row(workload: "any-\(count)-document", title: "any of \(count) words of a document"))
        }
        for frequency in ["rare", "medium", "common"] {
            for count in [2, 3, 5] {
                rows.append(
                    Row(workload: "all-\(count)-\(frequency)", title: "all of \(count) \(frequency) words"))
            }
        }
        return rows + [
            Row(workload: "all-2-document", title: "all of 2 words of a document"),
            Row(workload: "phrase-2", title: "phrase of 2 words"),
            Row(workload: "phrase-3", title: "phrase of 3 words"),
            Row(workload: "prefix-3", title: "prefix of 3 letters"),
            Row(workload: "any-2-common-filter", title: "any of 2 common words, in a tenth of the documents"),
            Row(workload: "any-2-document-filter", title: "any of 2 words of a document, in a tenth"),
            Row(workload: "all-2-common-filter", title: "all of 2 common words, in a tenth"),
            Row(workload: "any-2-rare-filter", title: "any of 2 rare words, in a tenth"),
            Row(workload: "any-2-medium-filter", title: "any of 2 medium words, in a tenth"),
            Row(workload: "phrase-2-filter", title: "phrase of 2 words, in a tenth"),
            Row(workload: "prefix-3-filter", title: "prefix of 3 letters, in a tenth"),
            Row(workload: "near-2", title: "2 words at most 10 words apart"),
            Row(workload: "fuzzy-1", title: "1 word, misspelled"),
            Row(workload: "wildcard-1", title: "2 letters, anything, 2 letters"),
            Row(workload: "weights-1-common", title: "1 common word, five times as much in a title"),
            Row(workload: "weights-2-document", title: "any of 2 words of a document, five times as much in a title"),
            Row(workload: "title-1-common", title: "1 common word, in titles"),
            Row(workload: "title-2-document", title: "any of 2 words of a document, in titles"),
            Row(workload: "count-2-document", title: "number of those with any of 2 words of a document"),
            Row(workload: "texts-2-document", title: "the best ten with their texts"),
            Row(workload: "texts-2-document", title: "memory after the searches", form: .memory),
            Row(workload: "prefix-behind", title: "prefix of 3 letters, behind two changes of a document"),
            Row(workload: "insert-1", title: "insert a document, durable"),
            Row(workload: "insert-bare", title: "a bare write of 4 KiB, durable, in turns with these"),
            Row(workload: "insert-plain", title: "insert the same without an index, durable"),
            Row(workload: "plain-bare", title: "a bare write again, in turns with these"),
            Row(workload: "update-1", title: "change a document, durable"),
            Row(workload: "delete-1", title: "delete a document, durable"),
            Row(workload: "update-many", title: "the same as a change, 10,000 of them"),
            Row(workload: "update-many", title: "memory after these", form: .memory),
            Row(workload: "insert-1", title: "written for an inserted document", form: .written),
            Row(workload: "update-1", title: "written for a changed document", form: .written),
            Row(workload: "delete-1", title: "written for a deleted document", form: .written),
            Row(workload: "update-many", title: "written for one of 10,000 changes", form: .written),
            Row(workload: "after-many", title: "any of 2 common words, after 10,000 such changes"),
            Row(workload: "after-changes", title: "any of 2 words of a document, after that"),
            Row(workload: "beside-search", title: "the same beside a writer of one after the other"),
            Row(workload: "beside-write", title: "what the writer does meanwhile", form: .speed),
        ] + judged
    }()

    /// Titles of the rows that Docs/performance.md has.
    fileprivate static let documented: Set = [
        "store and index them, with positions", "memory at most, building that", "on the disk, without an index",
        "on the disk, with positions", "1 rare word", "1 medium word", "1 common word", "any of 2 common words",
        "any of 2 words of a document", "all of 2 common words", "all of 5 common words", "phrase of 2 words",
        "prefix of 3 letters", "any of 2 common words, in a tenth of the documents",
        "2 words at most 10 words apart", "1 word, misspelled",
        "any of 2 words of a document, five times as much in a title",
        "number of those with any of 2 words of a document", "insert a document, durable",
        "a bare write of 4 KiB, durable, in turns with these", "change a document, durable",
        "delete a document, durable", "written for an inserted document", "written for a changed document",
        "any of 2 common words, after 10,000 such changes",
    ]

    static let judged = [("", ""), ("-stems", ", of stems")].flatMap { kind, words in
        [("ndcg-10", "nDCG@10"), ("map", "MAP"), ("mrr", "MRR")].map { name, title in
            Row(workload: name + kind, title: title + words, form: .value)
        }
    }

    /// Returns the child that measures a row, besides `text-build`, which all of them need.
    static func scenario(of workload: String) -> String {
        func begins(_ heads: String...) -> Bool { heads.contains { workload.hasPrefix($0) } }
        if begins("build-", "size-", "speed-", "memory-") { return "text-build" }
        if begins("prefix-behind", "insert-", "plain-", "update-", "delete-", "after-", "beside-") {
            return "text-change"
        }
        if begins("weights-", "title-") { return "text-fields" }
        return judged.contains { $0.workload == workload } ? "text-judge" : "text-search"
    }
}

extension TextTable.Row {
    fileprivate func value(_ figure: Figure) -> Double? {
        switch form {
        case .latency: figure.latency.map { Double($0.p50) * 1e-9 }
        case .seconds: figure.seconds
        case .speed: figure.perSecond
        case .disk: Double(figure.diskBytes)
        case .memory: figure.anonymousBytes > 0 ? Double(figure.anonymousBytes) : nil
        case .written: figure.writtenBytes > 0 ? Double(figure.writtenBytes) / Double(figure.operations) : nil
        case .value, .rate, .peak: figure.value
        }
    }

    fileprivate func told(_ value: Double) -> String {
        switch form {
        case .latency, .seconds: EntityTable.seconds(value)
        case .speed: String(format: "%.0f/s", value)
        case .rate: String(format: "%.0f MB", value / 1e6)
        case .disk, .memory, .peak: String(format: value < 1e7 ? "%.2f MB" : "%.1f MB", value / 1e6)
        case .written: String(format: "%.0f KB", value / 1e3)
        case .value: String(format: "%.4f", value)
        }
    }

    /// Returns how many times better the first one is.
    fileprivate func ratio(_ ours: Double?, _ theirs: Double?) -> String {
        switch form {
        case .speed, .value, .rate: EntityTable.ratio(ours, theirs)
        case .latency, .seconds, .disk, .memory, .written, .peak: EntityTable.ratio(theirs, ours)
        }
    }
}

extension Report {
    var hasFullText: Bool { figures.contains { $0.corpus != nil } }

    private var corpora: [String] {
        var names: [String] = []
        for case let name? in figures.map(\.corpus) where !names.contains(name) { names.append(name) }
        return names
    }

    private func of(_ corpus: String) -> Report {
        var part = self
        part.figures = figures.filter { $0.corpus == corpus }
        return part
    }

    /// Returns the table of one corpus, for a terminal.
    private func table(_ rows: [TextTable.Row]) -> Table {
        let engines = engines
        let ours = HornbeamEngine.name
        var table = [
            ["row"] + engines.flatMap { $0 == ours ? ["\($0)", "p99"] : ["\($0)", "p99", "×"] }
        ]
        for row in rows where engines.contains(where: { median(row.workload, $0, row.value) != nil }) {
            let own = median(row.workload, ours, row.value)
            table.append(
                [row.title]
                    + engines.flatMap { engine -> [String] in
                        let cells = cells(row, engine)
                        guard engine != ours else { return cells }
                        return cells + [row.ratio(own, median(row.workload, engine, row.value))]
                    })
        }
        return Table(rows: table)
    }

    /// Of one corpus; for a document: peers as ratios alone, and only the rows that it has.
    private func summary(_ rows: [TextTable.Row]) -> Table {
        let ours = HornbeamEngine.name
        let peers = engines.filter { $0 != ours }
        var table = [["row", ours, "p99"] + peers.map { "× \($0)" }]
        for row in rows where TextTable.documented.contains(row.title) {
            guard let own = median(row.workload, ours, row.value) else { continue }
            let ratios = peers.map { row.ratio(own, median(row.workload, $0, row.value)) }
            table.append([row.title] + cells(row, ours) + ratios)
        }
        return Table(rows: table)
    }

    /// An engine's median, and the slowest of a hundred.
    private func cells(_ row: TextTable.Row, _ engine: String) -> [String] {
        let value = median(row.workload, engine, row.value)
        let slowest = median(row.workload, engine) { $0.latency.map { Double($0.p99) * 1e-9 } }
        return [
            value.map(row.told) ?? (engine == HornbeamEngine.name ? "not yet" : "–"),
            row.form == .latency ? slowest.map(EntityTable.seconds) ?? "–" : "",
        ]
    }

    private func textTables(isSummary: Bool) -> [(head: String, table: Table)] {
        let judged = Set(TextTable.judged.map(\.workload))
        let rows = TextTable.rows.filter { !judged.contains($0.workload) }
        var tables: [(String, Table)] = []
        for corpus in corpora where of(corpus).workloads.contains(where: { !judged.contains($0) }) {
            let part = of(corpus)
            tables.append(("On `\(corpus)`:", isSummary ? part.summary(rows) : part.table(rows)))
        }
        for corpus in corpora where of(corpus).workloads.contains(where: judged.contains) {
            let measures = TextTable.judged.filter { !isSummary || !$0.workload.hasPrefix("mrr") }
            tables.append(("How well documents are found in `\(corpus)`:", of(corpus).relevance(measures)))
        }
        return tables
    }

    /// The table of one corpus, without ratios, because its values are no times. After a peer's value comes the
    /// probability of such a difference between equally good engines.
    private func relevance(_ measures: [TextTable.Row]) -> Table {
        var table = [["measure"] + engines]
        for row in measures where engines.contains(where: { median(row.workload, $0, row.value) != nil }) {
            let own = values(row.workload, HornbeamEngine.name)
            table.append(
                [row.title]
                    + engines.map { engine in
                        guard let value = median(row.workload, engine, row.value) else { return "–" }
                        let others = values(row.workload, engine)
                        guard engine != HornbeamEngine.name, others.count == own.count, !own.isEmpty else {
                            return row.told(value)
                        }
                        let chance = PairedTest.chance(own, others)
                        let told = chance < 0.01 ? "p < 0.01" : String(format: "p = %.2f", chance)
                        return "\(row.told(value)) (\(told))"
                    })
        }
        return Table(rows: table)
    }

    private func values(_ workload: String, _ engine: String) -> [Double] {
        figures(workload, engine).lazy.compactMap(\.values).first ?? []
    }

    var fullText: String {
        textTables(isSummary: false).map { "\n\($0.head)\n\n\($0.table.text)" }.joined(separator: "\n")
    }

    var fullTextMarkdown: String {
        (["Taken on \(date) by `\(command)`."]
            + textTables(isSummary: true).flatMap { [$0.head, $0.table.markdown] })
            .joined(separator: "\n\n")
    }
}
