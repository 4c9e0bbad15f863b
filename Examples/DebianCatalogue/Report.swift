// SPDX-License-Identifier: Apache-2.0
// The demo's output: headings, timings, and a progress bar on a terminal.

import Foundation

/// Collects failures, so that the demo can end with a verdict.
final class Report {
    private(set) var failures: [String] = []
    private(set) var verified: [String] = []

    func heading(_ text: String) {
        print("\n\(text)")
        fflush(nil)
    }

    func line(_ text: String) {
        print("  \(text)")
        fflush(nil)
    }

    /// Records a checked fact. If it doesn't hold, the demo fails.
    func verify(_ fact: String, _ holds: Bool) {
        if holds {
            verified.append(fact)
        } else {
            failures.append(fact)
            line("WRONG: \(fact)")
        }
    }
}

/// Returns the seconds that `body` took, and its result.
func timed<Result>(_ body: () throws -> Result) rethrows -> (seconds: Double, result: Result) {
    let clock = ContinuousClock()
    var result: Result?
    let duration = try clock.measure { result = try body() }
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    guard let result else { preconditionFailure("measure runs its body") }
    return (seconds, result)
}

func milliseconds(_ seconds: Double) -> String {
    String(format: "%.2f ms", seconds * 1_000)
}

/// A bar on standard error, drawn only on a terminal.
struct ProgressBar {
    let title: String
    let total: Int
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now

    init(title: String, total: Int) {
        self.title = title
        self.total = total
    }

    func show(_ done: Int) {
        guard isTerminal else { return }
        let width = 30
        let filled = total == 0 ? width : width * done / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let text = "\r\(title) \(bar) \(done)/\(total)" + (done >= total ? "\n" : "")
        FileHandle.standardError.write(Data(text.utf8))
    }
}
