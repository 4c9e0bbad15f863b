// SPDX-License-Identifier: Apache-2.0
// A bar on standard error for long work, with its progress, rate and time left. It appears only on a terminal and not
// with --quiet, is redrawn at most ten times a second, and is replaced by one line or nothing when the work is done.

import Hornbeam

/// The content of a progress line. Pure, so that tests can read it.
struct ProgressState {
    /// For example `importing`.
    var verb: String
    /// For example `rows`.
    var unit: String
    /// Number of units done, for the count and the rate.
    var count: UInt64
    /// 0 to 1, or nil if the end isn't known.
    var fraction: Double?
    /// Seconds since the beginning.
    var elapsed: Double

    private static let barWidth = 24

    /// The line, at most `width` columns.
    func line(width: Int) -> String {
        let rate = elapsed > 0 ? Double(count) / elapsed : 0
        var parts = [verb]
        if let fraction {
            let part = min(max(fraction, 0), 1)
            let filled = Int((part * Double(Self.barWidth)).rounded(.down))
            parts.append(
                String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled))
            parts.append("\(Int(part * 100)) %")
        }
        parts.append("\(Spelling.grouped(count)) \(unit)")
        if elapsed >= 0.5 { parts.append("\(Spelling.grouped(Int(min(rate, 1e15)))) /s") }
        if let fraction, fraction > 0.01, fraction < 1, elapsed >= 1 {
            parts.append("\(Spelling.clock(elapsed / fraction - elapsed)) left")
        }
        return DisplayWidth.truncate(parts.joined(separator: "  "), to: width)
    }
}

/// Draws a `ProgressState`. Belongs to one thread.
final class Progress {
    private static let interval = Duration.milliseconds(100)

    private let console: Console
    private let verb: String
    private let unit: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var drawn: ContinuousClock.Instant?

    init(_ verb: String, unit: String, console: Console) {
        self.verb = verb
        self.unit = unit
        self.console = console
        isShown = console.isErrorTerminal && !console.isQuiet
    }

    deinit { clear() }

    /// Time since the beginning.
    var elapsed: Duration { start.duration(to: .now) }

    /// Redraws the bar if it was last drawn long enough ago. Cheap enough to be called for every row.
    func update(count: UInt64, fraction: Double?) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let drawn, drawn.duration(to: now) < Self.interval { return }
        drawn = now
        let parts = start.duration(to: now).components
        let state = ProgressState(
            verb: verb, unit: unit, count: count, fraction: fraction,
            elapsed: Double(parts.seconds) + Double(parts.attoseconds) * 1e-18)
        console.drawStatus(state.line(width: console.errorWidth - 1))
    }

    /// Replaces the bar by a last line.
    func finish(_ line: String) {
        clear()
        if isShown { console.remark(line) }
    }

    /// Takes the line away, so that results can be printed.
    func clear() {
        guard drawn != nil else { return }
        drawn = nil
        console.drawStatus("")
    }
}
