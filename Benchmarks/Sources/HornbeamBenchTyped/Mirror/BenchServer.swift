// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL server for a run, started by Scripts/postgres.sh.

#if PEER_POSTGRES
    import BenchHarness
    import Foundation

    struct BenchServer {
        let folder: String
        let address: String

        /// Creates and starts a server.
        init() throws {
            folder = "/tmp/hornbeam-bench-\(getpid())"
            address = try Self.run("start", folder)
        }

        /// Adds a standby. Commits wait for it, unless another standby is faster.
        func addStandby(_ name: String) throws { _ = try Self.run("standby", folder + "-" + name, folder) }

        func remove(standbys: [String]) {
            for name in standbys { _ = try? Self.run("remove", folder + "-" + name) }
            _ = try? Self.run("remove", folder)
        }

        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../../Scripts/postgres.sh").standardized.path

        private static func run(_ words: String...) throws -> String {
            let output = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: output) }
            let command = ([script] + words).map { "'\($0)'" }.joined(separator: " ")
            // Not `Process`: it waits for all processes that a command leaves running, and the server is one.
            guard system("\(command) > '\(output)'") == 0 else { throw BenchError("failed: \(command)") }
            return try String(contentsOfFile: output, encoding: .utf8).trimmingCharacters(in: .newlines)
        }
    }
#endif
