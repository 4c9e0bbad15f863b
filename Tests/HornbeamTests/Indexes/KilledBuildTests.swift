// SPDX-License-Identifier: Apache-2.0
// A process that builds an index in the background is killed: another one continues the build.

import HornbeamTestSupport
import Testing

@Suite("Index builds of processes that are killed")
struct KilledBuildTests {
    @Test("a build continues after kill -9 at any point, and its index is complete when it appears")
    func killed() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("sheets.hornbeam")
        // When three quarters are read, each thread has sorted and stored some of the sheets.
        for (number, phase) in ["reading 750", "loading 300", "loading 700"].enumerated() {
            let worker = try WorkerProcess()
            try expectState(worker, path, killed: number)
            let writes = Int(try worker.ask("build \(phase)"))
            #expect(writes != nil && (number > 0 || writes != 0), "\(phase)")
            worker.kill()
        }
        let worker = try WorkerProcess()
        try expectState(worker, path, killed: 3)
        try worker.ask("build catchingUp 0")
        try worker.ask("built")
        #expect(try worker.ask("verify") == "")
        #expect(try WorkerProcess().ask("index \(path)") == "unregistered(missed: 0)")
    }

    /// - Parameter killed: the number of kills. A build that has all rows may be done before it can be killed.
    private func expectState(_ worker: WorkerProcess, _ path: String, killed: Int) throws {
        let state = try worker.ask("index \(path)")
        switch killed {
        case 0: #expect(state == "absent")
        case 1: #expect(Int(state) ?? 0 > 1_000, "\(state)")
        default: #expect(Int(state) ?? 0 > 1_000 || state.hasPrefix("unregistered"), "\(state)")
        }
    }
}
