// SPDX-License-Identifier: Apache-2.0
// A chart of a run.

import BenchHarness
import Foundation

/// Hornbeam's speed relative to each peer: a bar for each workload and peer, on a logarithmic scale, as SVG. Bars to
/// the right of the line at 1 mean faster, bars to the left slower. Colours follow the reader's light or dark mode.
/// dark mode.
struct Chart {
    private let report: Report
    private let peers: [String]
    private let workloads: [String]

    init(_ report: Report) {
        self.report = report
        let peers = report.peers
        self.peers = peers
        workloads = report.ordinary.filter { workload in
            report.speed(workload, HornbeamEngine.name) != nil && peers.contains { report.speed(workload, $0) != nil }
        }
    }

    private static let style = """
        <style>
        text { fill: #3d3d3a; font: 11px sans-serif } .value { font-size: 9px } .grid { stroke: #d5d4cf }
        .one { stroke: #73726c } .peer0 { fill: #2a78d6 } .peer1 { fill: #1b9e70 } .peer2 { fill: #d98a00 }
        @media (prefers-color-scheme: dark) {
        text { fill: #d5d4cf } .grid { stroke: #3d3d3a } .one { stroke: #a3a29b }
        .peer0 { fill: #5598e7 } .peer1 { fill: #2fb988 } .peer2 { fill: #e8a93a } }
        </style>
        """
    private static let barHeight = 9
    private static let gap = 9
    private static let left = 120.0
    private static let right = 790.0
    private static let top = 52
    /// Ratios outside of the scale are drawn to the edge; their figure is beside the bar.
    private static let scale = 0.1...1_000.0

    private func place(_ ratio: Double) -> Double {
        let clamped = min(Self.scale.upperBound, max(Self.scale.lowerBound, ratio))
        let share = log10(clamped / Self.scale.lowerBound) / log10(Self.scale.upperBound / Self.scale.lowerBound)
        return Self.left + share * (Self.right - Self.left)
    }

    var svg: String {
        let tops = rowTops
        let bottom = (tops.last ?? Self.top) - Self.gap / 2
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 830 \(bottom + 12)\" width=\"830\" "
                + "height=\"\(bottom + 12)\" role=\"img\">",
            "<title>How many times faster Hornbeam is than its peers, by workload</title>", Self.style,
        ]
        lines += legend + grid(to: bottom)
        for (workload, top) in zip(workloads, tops) { lines += bars(workload, top: top) }
        lines.append("</svg>\n")
        return lines.joined(separator: "\n")
    }

    private func rivals(_ workload: String) -> [(index: Int, ratio: Double)] {
        guard let ours = report.speed(workload, HornbeamEngine.name)?.median else { return [] }
        return peers.enumerated().compactMap { index, peer in
            report.speed(workload, peer).map { (index, ours / $0.median) }
        }
    }

    /// The top of each row, and last that of the row after the end.
    private var rowTops: [Int] {
        workloads.reduce(into: [Self.top]) { tops, workload in
            tops.append((tops.last ?? 0) + rivals(workload).count * Self.barHeight + Self.gap)
        }
    }

    private var legend: [String] {
        peers.enumerated().flatMap { index, peer in
            let x = Int(Self.left) + index * 150
            return [
                "<rect class=\"peer\(index % 3)\" x=\"\(x)\" y=\"6\" width=\"10\" height=\"10\" rx=\"2\"/>",
                "<text x=\"\(x + 15)\" y=\"15\">times as fast as \(peer)</text>",
            ]
        }
    }

    private func grid(to bottom: Int) -> [String] {
        [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].flatMap { ratio -> [String] in
            let x = number(place(ratio))
            let line =
                "<line class=\"\(ratio == 1 ? "one" : "grid")\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.top - 10)\" "
                + "y2=\"\(bottom)\"/>"
            let label = ratio < 1 ? String(format: "%.1f", ratio) : "\(Int(ratio))"
            return [line, "<text x=\"\(x)\" y=\"\(Self.top - 14)\" text-anchor=\"middle\">\(label)×</text>"]
        }
    }

    private func bars(_ workload: String, top: Int) -> [String] {
        let rivals = rivals(workload)
        let middle = top + Self.barHeight * rivals.count / 2 + 4
        var lines = ["<text x=\"\(Int(Self.left) - 8)\" y=\"\(middle)\" text-anchor=\"end\">\(workload)</text>"]
        for (row, rival) in rivals.enumerated() {
            let one = place(1)
            let end = place(rival.ratio)
            let y = top + row * Self.barHeight
            let format = rival.ratio < 10 ? "%.2f" : "%.0f"
            lines.append(
                "<rect class=\"peer\(rival.index % 3)\" x=\"\(number(min(one, end)))\" y=\"\(y)\" "
                    + "width=\"\(number(max(1, abs(end - one))))\" height=\"\(Self.barHeight - 2)\" rx=\"1\"/>"
                    + "<text class=\"value\" x=\"\(number(max(one, end) + 4))\" y=\"\(y + 7)\">"
                    + String(format: format, rival.ratio) + "</text>")
        }
        return lines
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
