// SPDX-License-Identifier: Apache-2.0
// A run as tables, for a terminal and for a document.

import BenchHarness
import Foundation

/// Cells by rows; the first row is the header.
struct Table {
    var rows: [[String]]

    /// Aligned columns, the first one to the left, the others to the right.
    var text: String { aligned(rows) }

    var markdown: String {
        guard let head = rows.first else { return "" }
        let rule = head.indices.map { $0 == 0 ? "---" : "---:" }
        let lines = ([head] + rows.dropFirst()).map { "| " + $0.joined(separator: " | ") + " |" }
        return ([lines[0], "|" + rule.joined(separator: "|") + "|"] + lines.dropFirst()).joined(separator: "\n")
    }
}

extension Report {
    var peers: [String] {
        engines.filter { engine in
            engine != HornbeamEngine.name && ordinary.contains { !figures($0, engine).isEmpty }
        }
    }

    /// Whether there are other figures than those of entities.
    var hasOrdinary: Bool { !ordinary.isEmpty || !bare.isEmpty }

    /// The workloads compared with other engines or with none, as opposed to those compared with the machine.
    var ordinary: [String] {
        workloads.filter { workload in
            figures(workload, Figure.machine).isEmpty && !EntityTable.workloads.contains(workload)
                && !mirrorWorkloads.contains { $0.name == workload }
                && figures.contains { $0.workload == workload && $0.corpus == nil }
        }
    }
    private var bare: [String] { workloads.filter { !figures($0, Figure.machine).isEmpty } }

    var text: String {
        let head =
            "\(count) entries, seed \(seed), medians of \(rounds) rounds; ×: how many times faster Hornbeam is; "
            + "from p50 on: Hornbeam's last round"
        var parts = [head, Table(rows: comparison).text]
        if !bare.isEmpty { parts.append(machine.text) }
        return parts.joined(separator: "\n")
    }

    var markdown: String {
        var parts = [
            "Taken on \(date) by `\(command)`.",
            summary.markdown,
        ]
        if !bare.isEmpty { parts += ["Beside the machine itself:", machine.markdown] }
        return parts.joined(separator: "\n\n")
    }

    /// Returns a line for each workload: Hornbeam's median, and how many times faster it is than each peer.
    private var comparison: [[String]] {
        var rows: [[String]] = [
            ["workload", "hornbeam/s", "±"] + peers.flatMap { ["\($0)/s", "×"] }
                + ["p50", "p99", "p99.9", "disk", "written/op", "memory", "allocs/op"]
        ]
        for workload in ordinary {
            guard let ours = speed(workload, HornbeamEngine.name) else { continue }
            var row = [workload, number(ours.median), percent(ours.spread)]
            for peer in peers {
                let theirs = speed(workload, peer)
                row.append(theirs.map { number($0.median) } ?? "–")
                row.append(theirs.map { String(format: "%.2f", ours.median / $0.median) } ?? "–")
            }
            row += details(figures(workload, HornbeamEngine.name).last)
            rows.append(row)
        }
        return rows
    }

    /// The columns of a document: peers as ratios alone, since absolute figures don't carry over to other machines.
    private var summary: Table {
        var rows = [["workload", "hornbeam/s", "±"] + peers.map { "× \($0)" } + ["p50", "p99", "written/op"]]
        for workload in ordinary {
            guard let ours = speed(workload, HornbeamEngine.name) else { continue }
            let ratios = peers.map { peer in
                speed(workload, peer).map { String(format: "%.2f", ours.median / $0.median) } ?? "–"
            }
            let last = figures(workload, HornbeamEngine.name).last
            let written = last.map { size($0.writtenBytes / max(1, $0.operations)) } ?? "–"
            rows.append(
                ["`\(workload)`", number(ours.median), percent(ours.spread)] + ratios
                    + [time(last?.latency?.p50), time(last?.latency?.p99), written])
        }
        return Table(rows: rows)
    }

    /// Medians of single operations that were done alternately.
    private var machine: Table {
        var rows = [["workload", "hornbeam p50", "machine p50", "times as long"]]
        for workload in bare {
            guard let ours = latency(workload, HornbeamEngine.name), let theirs = latency(workload, Figure.machine)
            else { continue }
            rows.append([workload, time(ours), time(theirs), String(format: "%.2f", Double(ours) / Double(theirs))])
        }
        return Table(rows: rows)
    }

    /// The mirror's figures: those without a peer, and reads alternating with libpq.
    private var mirror: Table? {
        var rows = [["workload", "operations/s", "p50", "p99", "libpq p50", "times as long"]]
        for (workload, _) in mirrorWorkloads {
            guard let ours = speed(workload, HornbeamEngine.name) else { continue }
            let late = median(workload, HornbeamEngine.name) { $0.latency.map { Double($0.p99) } }
            var row = [
                "`\(workload)`", number(ours.median), time(latency(workload, HornbeamEngine.name)),
                time(late.map { UInt64($0) }),
            ]
            if let median = latency(workload, HornbeamEngine.name), let theirs = latency(workload, "libpq") {
                row += [time(theirs), String(format: "%.2f", Double(median) / Double(theirs))]
            } else {
                row += ["–", "–"]
            }
            rows.append(row)
        }
        return rows.count > 1 ? Table(rows: rows) : nil
    }

    var mirrorText: String? { mirror?.text }

    var mirrorMarkdown: String? { mirror.map { "Taken on \(date) by `\(command)`.\n\n\($0.markdown)" } }

    private func details(_ figure: Figure?) -> [String] {
        guard let figure else { return [] }
        let operations = Double(max(1, figure.operations))
        return [
            time(figure.latency?.p50), time(figure.latency?.p99), time(figure.latency?.p999), size(figure.diskBytes),
            size(Int(Double(figure.writtenBytes) / operations)), size(figure.anonymousBytes),
            String(format: "%.2f", Double(figure.allocations) / operations),
        ]
    }

    private func number(_ value: Double) -> String {
        switch value {
        case 1e7...: String(format: "%.1fM", value / 1e6)
        case 1e6...: String(format: "%.2fM", value / 1e6)
        case 1e4...: String(format: "%.0fk", value / 1e3)
        default: String(format: "%.0f", value)
        }
    }

    private func percent(_ share: Double) -> String { String(format: "%.0f %%", share * 100) }

    private func time(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "–" }
        return nanoseconds < 10_000
            ? "\(nanoseconds) ns"
            : nanoseconds < 10_000_000 ? "\(nanoseconds / 1_000) µs" : "\(nanoseconds / 1_000_000) ms"
    }

    private func size(_ bytes: Int) -> String {
        bytes < 10_000 ? "\(bytes) B" : bytes < 10_000_000 ? "\(bytes / 1_000) kB" : "\(bytes / 1_000_000) MB"
    }
}

/// Returns aligned columns, the first one to the left, the others to the right.
func aligned(_ rows: [[String]]) -> String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
        row.enumerated().map { column, cell in
            let padding = String(repeating: " ", count: widths[column] - cell.count)
            return column == 0 ? cell + padding : padding + cell
        }.joined(separator: "  ")
    }.joined(separator: "\n")
}
