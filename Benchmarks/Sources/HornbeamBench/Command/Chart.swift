// SPDX-License-Identifier: Apache-2.0
// A run as a picture.

import BenchHarness
import Foundation

/// How many times faster Hornbeam is than each peer: a bar for each workload and peer, on a logarithmic scale, as SVG.
struct Chart {
    private let report: Report
    private let peers: [String]

    init(_ report: Report) {
        self.report = report
        peers = report.engines.filter { $0 != HornbeamEngine.name }
    }

    private static let colours = ["#3b6ea5", "#c8553d", "#6a994e", "#8d6a9f"]
    private static let barHeight = 9
    private static let left = 130
    private static let width = 760

    /// From a tenth to a hundred times.
    private func place(_ ratio: Double) -> Double {
        let clamped = min(100, max(0.1, ratio))
        return Double(Self.left) + (log10(clamped) + 1) / 3 * Double(Self.width - Self.left - 60)
    }

    var svg: String {
        let workloads = report.workloads.filter { report.speed($0, HornbeamEngine.name) != nil }
        let rowHeight = Self.barHeight * peers.count + 10
        let height = 50 + rowHeight * workloads.count + 20
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Self.width)\" height=\"\(height)\" "
                + "font-family=\"sans-serif\" font-size=\"11\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        ]
        for (index, peer) in peers.enumerated() {
            let x = Self.left + index * 110
            lines.append("<rect x=\"\(x)\" y=\"8\" width=\"10\" height=\"10\" fill=\"\(Self.colours[index % 4])\"/>")
            lines.append("<text x=\"\(x + 14)\" y=\"17\">× \(peer)</text>")
        }
        for ratio in [0.1, 1, 10, 100] {
            let x = place(ratio)
            let dash = ratio == 1 ? "" : " stroke-dasharray=\"2 3\""
            lines.append(
                "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"38\" y2=\"\(height - 14)\" stroke=\"#999\"\(dash)/>"
                    + "<text x=\"\(x)\" y=\"34\" text-anchor=\"middle\">\(ratio < 1 ? "0.1" : "\(Int(ratio))")×</text>")
        }
        for (row, workload) in workloads.enumerated() { lines += bars(workload, top: 46 + row * rowHeight) }
        lines.append("</svg>\n")
        return lines.joined(separator: "\n")
    }

    private func bars(_ workload: String, top: Int) -> [String] {
        let middle = top + Self.barHeight * peers.count / 2 + 4
        var lines = ["<text x=\"\(Self.left - 8)\" y=\"\(middle)\" text-anchor=\"end\">\(workload)</text>"]
        guard let ours = report.speed(workload, HornbeamEngine.name)?.median else { return lines }
        for (index, peer) in peers.enumerated() {
            guard let theirs = report.speed(workload, peer)?.median else { continue }
            let ratio = ours / theirs
            let one = place(1)
            let end = place(ratio)
            let y = top + index * Self.barHeight
            lines.append(
                "<rect x=\"\(min(one, end))\" y=\"\(y)\" width=\"\(abs(end - one))\" height=\"\(Self.barHeight - 1)\" "
                    + "fill=\"\(Self.colours[index % 4])\"/>"
                    + "<text x=\"\(max(one, end) + 3)\" y=\"\(y + 8)\" font-size=\"9\">"
                    + String(format: ratio < 10 ? "%.1f" : "%.0f", ratio) + "</text>")
        }
        return lines
    }
}
