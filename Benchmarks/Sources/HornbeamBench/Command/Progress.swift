// SPDX-License-Identifier: Apache-2.0
// The progress of a run.

import Foundation

/// A bar on the error output, if that is a terminal.
struct Progress {
    private let steps: Int
    private var done = 0
    private let isShown = isatty(2) == 1

    init(steps: Int) { self.steps = max(1, steps) }

    func show(_ what: String) {
        guard isShown else { return }
        let width = 24
        let filled = done * width / steps
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        put("\r\u{1B}[K\(bar) \(done * 100 / steps) % \(what)")
    }

    mutating func step() { done += 1 }

    func end() {
        if isShown { put("\r\u{1B}[K") }
    }

    private func put(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
