// SPDX-License-Identifier: Apache-2.0
// The progress line, exactly as users see it.

import Testing

@testable import HornbeamCommand

@Suite("Progress")
struct ProgressTests {
    @Test("a progress line shows progress, speed and remaining time")
    func progress() {
        let state = ProgressState(verb: "importing", unit: "rows", count: 31_200, fraction: 0.52, elapsed: 2)
        #expect(
            state.line(width: 120) == "importing  ████████████░░░░░░░░░░░░  52 %  31,200 rows  15,600 /s  0:02 left")
        #expect(state.line(width: 20) == "importing  ████████…")
    }

    @Test("without a known end there is no bar; at the start there is no guess")
    func openProgress() {
        let endless = ProgressState(verb: "importing", unit: "rows", count: 10, fraction: nil, elapsed: 2)
        #expect(endless.line(width: 80) == "importing  10 rows  5 /s")
        let begun = ProgressState(verb: "importing", unit: "rows", count: 0, fraction: 0, elapsed: 0.01)
        #expect(begun.line(width: 80) == "importing  ░░░░░░░░░░░░░░░░░░░░░░░░  0 %  0 rows")
    }
}
