// SPDX-License-Identifier: Apache-2.0
// SQLite, to run a whole script of statements.

import Foundation
import Testing

/// The SQLite that comes with Python.
enum SQLite {
    private static let program = """
        import json, sqlite3, sys
        base = sqlite3.connect(":memory:")
        answers = []
        for statement in json.load(open(sys.argv[1])):
            rows = base.execute(statement).fetchall()
            if statement.startswith("SELECT"): answers.append([row[0] for row in rows])
        json.dump(answers, open(sys.argv[2], "w"))
        """

    /// Returns the answers to the queries in a script, in their order.
    static func run(_ script: [String]) throws -> [[String]] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "opinion-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (input, output) = (folder.appending(path: "script"), folder.appending(path: "answers"))
        try JSONEncoder().encode(script).write(to: input)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program, input.path(), output.path()]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return try JSONDecoder().decode([[String]].self, from: Data(contentsOf: output))
    }
}
